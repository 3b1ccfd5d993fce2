#include "lake/testing/manual_clock.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "lake/base/thread.h"

namespace lake::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A thread that sleeps on the clock until `deadline`, or until it is told to stop.
class Sleeper {
 public:
  Sleeper(ManualClock& clock, Deadline deadline)
      : clock_(clock), deadline_(deadline), thread_("sleeper", [this] { Run(); }) {}

  void Stop() {
    const MutexLock lock(mutex_);
    stop_ = true;
    cv_.NotifyAll();
  }

  // Returns when the thread went on, after it has ended.
  Instant Join() {
    thread_.Join();
    const MutexLock lock(mutex_);
    return woke_;
  }

 private:
  void Run() {
    const MutexLock lock(mutex_);
    while (!stop_ && clock_.Now() < deadline_) {
      clock_.WaitUntil(cv_, mutex_, deadline_);
    }
    woke_ = clock_.Now();
  }

  ManualClock& clock_;
  const Deadline deadline_;
  Mutex mutex_;
  CondVar cv_;
  bool stop_ GUARDED_BY(mutex_) = false;
  Instant woke_ GUARDED_BY(mutex_);
  Thread thread_;
};

TEST(ManualClock, MovesBothClocksOnlyWhenTold) {
  ManualClock clock;
  const Instant start = clock.Now();
  const WallTime wall = clock.WallNow();
  EXPECT_EQ(clock.Now(), start);
  clock.Advance(seconds(3));
  EXPECT_EQ(clock.Now(), start + seconds(3));
  EXPECT_EQ(clock.WallNow(), wall + seconds(3));
}

TEST(ManualClock, AddsUpStepsFinerThanTheWallClockShows) {
  ManualClock clock;
  const WallTime wall = clock.WallNow();
  for (int i = 0; i < 4; ++i) {
    clock.Advance(std::chrono::microseconds(250));
  }
  EXPECT_EQ(clock.WallNow(), wall + milliseconds(1));
}

TEST(ManualClock, JumpsTheWallClockAlone) {
  ManualClock clock;
  const Instant start = clock.Now();
  const WallTime wall = clock.WallNow();
  clock.JumpWall(-seconds(60));
  EXPECT_EQ(clock.WallNow(), wall - seconds(60));
  clock.SetWall(WallTime(milliseconds(1234567)));
  EXPECT_EQ(clock.WallNow(), WallTime(milliseconds(1234567)));
  EXPECT_EQ(clock.Now(), start);
}

TEST(ManualClock, DoesNotWaitForADeadlineThatHasCome) {
  ManualClock clock;
  Mutex mutex;
  CondVar cv;
  const MutexLock lock(mutex);
  clock.WaitUntil(cv, mutex, clock.Now());
  clock.WaitUntil(cv, mutex, clock.Now() - seconds(1));
}

TEST(ManualClock, WakesOnlyThoseWhoseDeadlineHasCome) {
  ManualClock clock;
  const Instant start = clock.Now();
  Sleeper early(clock, start + seconds(1));
  Sleeper late(clock, start + seconds(5));
  clock.WaitForWaiters(2);
  clock.Advance(seconds(2));
  EXPECT_EQ(early.Join(), start + seconds(2));
  EXPECT_EQ(clock.WaiterCount(), 1U);
  clock.Advance(seconds(3));
  EXPECT_EQ(late.Join(), start + seconds(5));
}

TEST(ManualClock, DoesNotCountAWaiterItHasWoken) {
  ManualClock clock;
  Sleeper sleeper(clock, clock.Now() + seconds(1));
  clock.WaitForWaiters(1);
  clock.Advance(seconds(1));
  EXPECT_EQ(clock.WaiterCount(), 0U);
  sleeper.Join();
}

TEST(ManualClock, LetsANotificationEndAWait) {
  ManualClock clock;
  const Instant start = clock.Now();
  Sleeper sleeper(clock, Instant::max());
  clock.WaitForWaiters(1);
  sleeper.Stop();
  EXPECT_EQ(sleeper.Join(), start);
}

// The test ends only if no step is lost between a waiter's look at the clock and its sleep.
TEST(ManualClock, LosesNoStepAgainstThreadsThatGoToSleep) {
  ManualClock clock;
  const Instant end = clock.Now() + milliseconds(2000);
  std::vector<std::unique_ptr<Thread>> threads;
  std::atomic<int> running = 4;
  for (int i = 0; i < 4; ++i) {
    threads.push_back(std::make_unique<Thread>("ticker", [&] {
      while (clock.Now() < end) {
        // A mutex and a condition variable that go as soon as the wait is over.
        Mutex mutex;
        CondVar cv;
        const MutexLock lock(mutex);
        const Deadline next = clock.Now() + milliseconds(1);
        while (clock.Now() < next) {
          clock.WaitUntil(cv, mutex, next);
        }
      }
      --running;
    }));
  }
  while (clock.Now() < end) {
    clock.WaitForWaiters(1);
    clock.Advance(milliseconds(1));
  }
  // Whoever looked at the clock before its end may only now begin to wait.
  while (running > 0) {
    clock.Advance(milliseconds(1));
  }
  threads.clear();
  EXPECT_EQ(clock.WaiterCount(), 0U);
}

// A waiter that is notified at the moment its deadline comes leaves only after Advance has let go
// of it.
TEST(ManualClock, MayBeAdvancedWhileWaitersAreNotified) {
  ManualClock clock;
  for (int i = 0; i < 300; ++i) {
    std::optional<Sleeper> sleeper;
    sleeper.emplace(clock, clock.Now() + milliseconds(1));
    clock.WaitForWaiters(1);
    Thread stopper("stopper", [&] { sleeper->Stop(); });
    clock.Advance(milliseconds(1));
    stopper.Join();
    sleeper->Join();
    sleeper.reset();
  }
}

TEST(ManualClockDeathTest, NeverGoesBack) {
  ManualClock clock;
  EXPECT_DEATH(clock.Advance(-seconds(1)), "never go back");
}

}  // namespace
}  // namespace lake::testing
