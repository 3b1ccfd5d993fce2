#include "lake/metasrv/table_queue.h"

#include <atomic>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/mutex.h"
#include "lake/base/task_group.h"
#include "lake/testing/matchers.h"

namespace lake::metasrv {
namespace {

using testing::IsError;
using testing::IsOk;

// A gate that tasks wait at until the test opens it.
class Gate {
 public:
  void Open() {
    const MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
  }

  void Pass() {
    const MutexLock lock(mutex_);
    ++arrived_;
    changed_.NotifyAll();
    while (!open_) {
      changed_.Wait(mutex_);
    }
  }

  void AwaitArrivals(int count) {
    const MutexLock lock(mutex_);
    while (arrived_ < count) {
      changed_.Wait(mutex_);
    }
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ GUARDED_BY(mutex_) = false;
  int arrived_ GUARDED_BY(mutex_) = 0;
};

TEST(TableQueue, TasksOfOneKeyRunOneAfterAnotherInOrder) {
  TaskGroup workers({.threads = 4});
  TableQueue queue(workers, 1000);
  std::vector<int> order;
  std::atomic<int> running = 0;
  bool overlapped = false;
  for (int i = 0; i < 200; ++i) {
    ASSERT_THAT(queue.Submit("t",
                             [&, i] {
                               overlapped = overlapped || ++running > 1;
                               order.push_back(i);
                               --running;
                             }),
                IsOk());
  }
  workers.Stop();
  EXPECT_FALSE(overlapped);
  ASSERT_EQ(order.size(), 200U);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(TableQueue, TasksOfDifferentKeysRunInParallel) {
  TaskGroup workers({.threads = 2});
  TableQueue queue(workers, 10);
  Gate gate;
  ASSERT_THAT(queue.Submit("a", [&] { gate.Pass(); }), IsOk());
  ASSERT_THAT(queue.Submit("b", [&] { gate.Pass(); }), IsOk());
  gate.AwaitArrivals(2);
  gate.Open();
  workers.Stop();
}

TEST(TableQueue, RefusesMoreThanMayWaitAndNeverRunsThem) {
  TaskGroup workers({.threads = 1});
  TableQueue queue(workers, 2);
  Gate gate;
  std::atomic<int> ran = 0;
  ASSERT_THAT(queue.Submit("t", [&] { gate.Pass(); }), IsOk());
  ASSERT_THAT(queue.Submit("t", [&] { ++ran; }), IsOk());
  ASSERT_THAT(queue.Submit("t", [&] { ++ran; }), IsOk());
  EXPECT_THAT(queue.Submit("t", [&] { ++ran; }), IsError(ErrorCode::kUnavailable));
  gate.Open();
  workers.Stop();
  EXPECT_EQ(ran, 2);
}

TEST(TableQueue, ForgetsKeysThatAreIdle) {
  TaskGroup workers({.threads = 2});
  TableQueue queue(workers, 10);
  for (int i = 0; i < 100; ++i) {
    ASSERT_THAT(queue.Submit("t" + std::to_string(i), [] {}), IsOk());
  }
  workers.Stop();
  EXPECT_EQ(queue.busy_keys(), 0U);
}

TEST(TableQueue, TakesNothingWhenTheWorkersStop) {
  TaskGroup workers({.threads = 1});
  TableQueue queue(workers, 10);
  workers.Stop();
  EXPECT_THAT(queue.Submit("t", [] {}), IsError(ErrorCode::kCancelled));
  EXPECT_EQ(queue.busy_keys(), 0U);
}

}  // namespace
}  // namespace lake::metasrv
