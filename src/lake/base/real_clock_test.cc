#include <time.h>

#include <chrono>

#include <gtest/gtest.h>

#include "lake/base/clock.h"
#include "lake/base/mutex.h"
#include "lake/base/thread.h"

namespace lake {
namespace {

using std::chrono::milliseconds;

TEST(RealClock, IsTheBootTimeClock) {
  const RealClock clock;
  const Instant first = clock.Now();
  timespec boot{};
  ASSERT_EQ(clock_gettime(CLOCK_BOOTTIME, &boot), 0);
  const Instant second = clock.Now();
  const Instant between(std::chrono::seconds(boot.tv_sec) + std::chrono::nanoseconds(boot.tv_nsec));
  EXPECT_LE(first, between);
  EXPECT_LE(between, second);
}

TEST(RealClock, KnowsTheCivilTimeInMilliseconds) {
  const RealClock clock;
  const std::chrono::sys_days built(std::chrono::January / 1 / 2025);
  EXPECT_GT(clock.WallNow(), built);
  EXPECT_LT(clock.WallNow(), built + std::chrono::years(200));
}

TEST(RealClock, DoesNotWaitForADeadlineThatHasCome) {
  RealClock clock;
  Mutex mutex;
  CondVar cv;
  const MutexLock lock(mutex);
  clock.WaitUntil(cv, mutex, clock.Now());
  clock.WaitUntil(cv, mutex, Instant());
  clock.WaitUntil(cv, mutex, Instant::min());
}

TEST(RealClock, WaitsUntilTheDeadline) {
  RealClock clock;
  Mutex mutex;
  CondVar cv;
  const MutexLock lock(mutex);
  const Deadline deadline = clock.Now() + milliseconds(5);
  while (clock.Now() < deadline) {
    clock.WaitUntil(cv, mutex, deadline);
  }
  EXPECT_GE(clock.Now(), deadline);
}

TEST(RealClock, LetsANotificationEndAWait) {
  RealClock clock;
  Mutex mutex;
  CondVar cv;
  bool told = false;
  Thread teller("teller", [&] {
    const MutexLock lock(mutex);
    told = true;
    cv.NotifyAll();
  });
  {
    const MutexLock lock(mutex);
    while (!told) {
      clock.WaitUntil(cv, mutex, Instant::max());
    }
  }
  teller.Join();
}

}  // namespace
}  // namespace lake
