#include "lake/base/mutex.h"

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/clock.h"
#include "lake/base/task_group.h"
#include "lake/base/thread.h"
#include "lake/base/turn_scheduler_test_internal.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"

namespace lake {
namespace {

using lake::testing::IsOk;
using lake::testing::ManualClock;

std::vector<std::unique_ptr<Thread>> StartThreads(int count, const std::function<void()>& body) {
  std::vector<std::unique_ptr<Thread>> threads;
  for (int i = 0; i < count; ++i) {
    threads.push_back(std::make_unique<Thread>("test", body));
  }
  return threads;
}

TEST(Mutex, LetsOneThreadInAtATime) {
  Mutex mutex;
  int inside = 0;
  int total = 0;
  auto threads = StartThreads(4, [&] {
    for (int i = 0; i < 2000; ++i) {
      const MutexLock lock(mutex);
      ++inside;
      EXPECT_EQ(inside, 1);
      ++total;
      --inside;
    }
  });
  threads.clear();
  EXPECT_EQ(total, 8000);
}

// A place for one number: full or empty.
class Slot {
 public:
  void Put(int value) {
    const MutexLock lock(mutex_);
    while (full_) {
      changed_.Wait(mutex_);
    }
    value_ = value;
    full_ = true;
    changed_.NotifyAll();
  }

  int Take() {
    const MutexLock lock(mutex_);
    while (!full_) {
      changed_.Wait(mutex_);
    }
    full_ = false;
    changed_.NotifyAll();
    return value_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool full_ GUARDED_BY(mutex_) = false;
  int value_ GUARDED_BY(mutex_) = 0;
};

int PassNumbers(int count) {
  Slot slot;
  Thread producer("producer", [&] {
    for (int i = 1; i <= count; ++i) {
      slot.Put(i);
    }
  });
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += slot.Take();
  }
  return sum;
}

TEST(CondVar, PassesEveryNumberOn) {
  EXPECT_EQ(PassNumbers(1000), 500500);
}

TEST(CondVar, NotifyOneWakesOneWaiterPerCall) {
  Mutex mutex;
  CondVar ready;
  CondVar go;
  int waiting = 0;
  int permits = 0;
  int gone = 0;
  auto threads = StartThreads(3, [&] {
    const MutexLock lock(mutex);
    ++waiting;
    ready.NotifyAll();
    while (permits == 0) {
      go.Wait(mutex);
    }
    --permits;
    ++gone;
  });
  {
    const MutexLock lock(mutex);
    while (waiting < 3) {
      ready.Wait(mutex);
    }
  }
  for (int i = 0; i < 3; ++i) {
    const MutexLock lock(mutex);
    ++permits;
    go.NotifyOne();
  }
  threads.clear();
  EXPECT_EQ(gone, 3);
}

TEST(Thread, JoinsOnceAndAgainAndInItsDestructor) {
  std::atomic<int> ran = 0;
  {
    Thread twice("twice", [&] { ++ran; });
    twice.Join();
    EXPECT_EQ(ran, 1);
    twice.Join();
    const Thread never("a name of more than fifteen characters", [&] { ++ran; });
  }
  EXPECT_EQ(ran, 2);
}

TEST(ScopedScheduler, IsInstalledForItsScopeAndThreadOnly) {
  EXPECT_EQ(Scheduler::Current(), nullptr);
  TurnScheduler outer(1);
  {
    const ScopedScheduler scope(&outer);
    EXPECT_EQ(Scheduler::Current(), &outer);
    {
      const ScopedScheduler none(nullptr);
      EXPECT_EQ(Scheduler::Current(), nullptr);
      Thread unscheduled("test", [] { EXPECT_EQ(Scheduler::Current(), nullptr); });
    }
    EXPECT_EQ(Scheduler::Current(), &outer);
    Thread scheduled("test", [&] { EXPECT_EQ(Scheduler::Current(), &outer); });
  }
  EXPECT_EQ(Scheduler::Current(), nullptr);
}

TEST(Scheduler, ReceivesEveryStepOfAThread) {
  TurnScheduler scheduler(1);
  {
    const ScopedScheduler scope(&scheduler);
    Mutex mutex;
    CondVar cv;
    bool told = false;
    Thread teller("teller", [&] {
      const MutexLock lock(mutex);
      told = true;
      cv.NotifyAll();
      cv.NotifyOne();
    });
    {
      const MutexLock lock(mutex);
      while (!told) {
        cv.Wait(mutex);
      }
    }
    teller.Join();
  }
  std::multiset<std::string> by_teller;
  std::multiset<std::string> by_main;
  for (const TurnScheduler::Step& step : scheduler.trace()) {
    (step.thread == 0 ? by_main : by_teller).insert(step.what);
  }
  EXPECT_THAT(by_teller, ::testing::UnorderedElementsAre("begin", "lock", "notify all",
                                                         "notify one", "unlock", "end"));
  EXPECT_EQ(by_main.count("create"), 1U);
  EXPECT_EQ(by_main.count("lock"), 1U);
  EXPECT_EQ(by_main.count("unlock"), 1U);
  EXPECT_EQ(by_main.count("join"), 1U);
}

// What the seam is for: with every choice made by the scheduler, a run is a function of its seed.
TEST(Scheduler, MakesARunAFunctionOfItsSeed) {
  const auto run = [](std::uint64_t seed) {
    TurnScheduler scheduler(seed);
    const ScopedScheduler scope(&scheduler);
    EXPECT_EQ(PassNumbers(5), 15);
    Mutex mutex;
    int done = 0;
    {
      TaskGroup group({.name = "tasks", .threads = 3, .queue_max = 8});
      for (int i = 0; i < 6; ++i) {
        EXPECT_THAT(group.Submit([&] {
          const MutexLock lock(mutex);
          ++done;
        }),
                    IsOk());
      }
    }
    EXPECT_EQ(done, 6);
    return scheduler.trace();
  };
  std::set<std::size_t> lengths;
  std::set<std::string> traces;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto first = run(seed);
    EXPECT_EQ(first, run(seed)) << seed;
    std::string text;
    for (const auto& step : first) {
      text += std::to_string(step.thread) + step.what + ";";
    }
    traces.insert(text);
  }
  EXPECT_GT(traces.size(), 10U);
}

TEST(Scheduler, DrivesAClockThatATestOwns) {
  TurnScheduler scheduler(3);
  const ScopedScheduler scope(&scheduler);
  ManualClock clock;
  const Instant deadline = clock.Now() + std::chrono::seconds(1);
  Mutex mutex;
  CondVar cv;
  Thread sleeper("sleeper", [&] {
    const MutexLock lock(mutex);
    while (clock.Now() < deadline) {
      clock.WaitUntil(cv, mutex, deadline);
    }
  });
  clock.WaitForWaiters(1);
  clock.Advance(std::chrono::seconds(1));
  sleeper.Join();
}

TEST(SchedulerDeathTest, DoesNotMixWithRealTime) {
  TurnScheduler scheduler(1);
  const ScopedScheduler scope(&scheduler);
  RealClock clock;
  Mutex mutex;
  CondVar cv;
  const MutexLock lock(mutex);
  EXPECT_DEATH(clock.WaitUntil(cv, mutex, Instant::max()), "real time does not pass");
}

}  // namespace
}  // namespace lake
