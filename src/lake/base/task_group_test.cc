#include "lake/base/task_group.h"

#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/testing/matchers.h"

namespace lake {
namespace {

using lake::testing::IsError;
using lake::testing::IsOk;

// A gate that tasks wait at, so that a test decides when they go on.
class Gate {
 public:
  // Counts an arrival and waits until the gate is open.
  void Pass() {
    const MutexLock lock(mutex_);
    ++arrived_;
    changed_.NotifyAll();
    while (!open_) {
      changed_.Wait(mutex_);
    }
  }

  void WaitForArrivals(int count) {
    const MutexLock lock(mutex_);
    while (arrived_ < count) {
      changed_.Wait(mutex_);
    }
  }

  void Open() {
    const MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int arrived_ GUARDED_BY(mutex_) = 0;
  bool open_ GUARDED_BY(mutex_) = false;
};

class Counter {
 public:
  void Add() {
    const MutexLock lock(mutex_);
    ++count_;
  }

  int count() {
    const MutexLock lock(mutex_);
    return count_;
  }

 private:
  Mutex mutex_;
  int count_ GUARDED_BY(mutex_) = 0;
};

TEST(TaskGroup, RunsEveryTaskItTook) {
  Counter counter;
  {
    TaskGroup group({.name = "test", .threads = 3, .queue_max = 100});
    for (int i = 0; i < 100; ++i) {
      ASSERT_THAT(group.Submit([&] { counter.Add(); }), IsOk());
    }
  }
  EXPECT_EQ(counter.count(), 100);
}

TEST(TaskGroup, RunsAsManyTasksAtOnceAsItHasThreads) {
  Gate gate;
  TaskGroup group({.name = "test", .threads = 3, .queue_max = 3});
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(group.Submit([&] { gate.Pass(); }), IsOk());
  }
  // Comes back only when all three are inside a task together.
  gate.WaitForArrivals(3);
  gate.Open();
}

TEST(TaskGroup, RefusesATaskWhenTheQueueIsFull) {
  Gate gate;
  Counter counter;
  TaskGroup group({.name = "uploads", .threads = 1, .queue_max = 2});
  ASSERT_THAT(group.Submit([&] { gate.Pass(); }), IsOk());
  gate.WaitForArrivals(1);
  EXPECT_THAT(group.Submit([&] { counter.Add(); }), IsOk());
  EXPECT_THAT(group.Submit([&] { counter.Add(); }), IsOk());
  EXPECT_THAT(group.Submit([&] { counter.Add(); }),
              IsError(ErrorCode::kUnavailable, ::testing::HasSubstr("uploads")));
  gate.Open();
  group.Stop();
  EXPECT_EQ(counter.count(), 2);
}

TEST(TaskGroup, RunsNothingAfterStop) {
  Counter counter;
  TaskGroup group({.name = "uploads", .threads = 2});
  group.Stop();
  EXPECT_THAT(group.Submit([&] { counter.Add(); }),
              IsError(ErrorCode::kCancelled, ::testing::HasSubstr("uploads")));
  group.Stop();
  EXPECT_EQ(counter.count(), 0);
}

TEST(TaskGroup, StopFinishesTheTasksThatWaited) {
  Gate gate;
  Counter counter;
  TaskGroup group({.name = "test", .threads = 1, .queue_max = 10});
  ASSERT_THAT(group.Submit([&] { gate.Pass(); }), IsOk());
  for (int i = 0; i < 5; ++i) {
    ASSERT_THAT(group.Submit([&] { counter.Add(); }), IsOk());
  }
  gate.WaitForArrivals(1);
  Thread stopper("stopper", [&] { group.Stop(); });
  // The stopper waits for the task at the gate; once refused, we know that it has begun to.
  while (group.Submit([] {}).has_value()) {
    std::this_thread::yield();
  }
  EXPECT_EQ(counter.count(), 0);
  gate.Open();
  stopper.Join();
  EXPECT_EQ(counter.count(), 5);
}

TEST(TaskGroup, StopMayBeCalledByManyAndAllWait) {
  for (int round = 0; round < 50; ++round) {
    Counter counter;
    TaskGroup group({.name = "test", .threads = 2});
    for (int i = 0; i < 20; ++i) {
      ASSERT_THAT(group.Submit([&] { counter.Add(); }), IsOk());
    }
    std::vector<std::unique_ptr<Thread>> stoppers;
    for (int i = 0; i < 3; ++i) {
      stoppers.push_back(std::make_unique<Thread>("stopper", [&] {
        group.Stop();
        EXPECT_EQ(counter.count(), 20);
      }));
    }
    stoppers.clear();
  }
}

TEST(TaskGroup, ATaskMaySubmitAnother) {
  Counter counter;
  Gate gate;
  TaskGroup group({.name = "test", .threads = 1});
  ASSERT_THAT(group.Submit([&] {
    EXPECT_THAT(group.Submit([&] {
      counter.Add();
      gate.Pass();
    }),
                IsOk());
  }),
              IsOk());
  gate.WaitForArrivals(1);
  gate.Open();
  group.Stop();
  EXPECT_EQ(counter.count(), 1);
}

TEST(TaskGroup, LetsGoOfATaskAsSoonAsItHasRun) {
  std::weak_ptr<int> watched;
  Gate gate;
  TaskGroup group({.name = "test", .threads = 1});
  auto given = std::make_shared<int>(2);
  watched = given;
  ASSERT_THAT(group.Submit([given = std::move(given)] {}), IsOk());
  ASSERT_THAT(group.Submit([&] { gate.Pass(); }), IsOk());
  gate.WaitForArrivals(1);
  EXPECT_TRUE(watched.expired());
  gate.Open();
}

TEST(TaskGroupDeathTest, HasAThread) {
  EXPECT_DEATH(TaskGroup({.name = "test", .threads = 0}), "has a thread");
}

}  // namespace
}  // namespace lake
