#include "lake/testing/time_lapse.h"

#include <chrono>
#include <cstddef>

#include <gtest/gtest.h>

#include "lake/base/mutex.h"
#include "lake/base/time.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/run_together.h"

namespace lake::testing {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

void WaitFor(ManualClock& clock, Duration time) {
  Mutex mutex;
  CondVar nobody;
  const Deadline deadline = clock.Now() + time;
  const MutexLock lock(mutex);
  while (clock.Now() < deadline) {
    clock.WaitUntil(nobody, mutex, deadline);
  }
}

TEST(TimeLapse, MovesExactlyToTheDeadlineThatIsWaitedFor) {
  ManualClock clock;
  const Instant begin = clock.Now();
  {
    const TimeLapse lapse(clock);
    WaitFor(clock, minutes(9));
    WaitFor(clock, hours(1));
  }
  EXPECT_EQ(clock.Now(), begin + minutes(69));
}

TEST(TimeLapse, LeavesTimeAloneWhenNobodyWaits) {
  ManualClock clock;
  const Instant begin = clock.Now();
  {
    const TimeLapse lapse(clock);
  }
  EXPECT_EQ(clock.Now(), begin);
  EXPECT_FALSE(clock.AdvanceToNextDeadline());
  EXPECT_EQ(clock.Now(), begin);
}

TEST(TimeLapse, WakesEverybodyInTheEnd) {
  constexpr std::size_t kThreads = 8;
  ManualClock clock;
  const Instant begin = clock.Now();
  {
    const TimeLapse lapse(clock);
    RunTogether(kThreads, [&](std::size_t thread) {
      for (std::size_t round = 0; round < 20; ++round) {
        WaitFor(clock, minutes(1 + thread));
      }
    });
  }
  EXPECT_GE(clock.Now(), begin + 20 * minutes(kThreads));
}

}  // namespace
}  // namespace lake::testing
