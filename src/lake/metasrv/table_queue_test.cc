#include "lake/metasrv/table_queue.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/mutex.h"
#include "lake/base/task_group.h"
#include "lake/testing/matchers.h"
#include "lake/testing/run_together.h"

namespace lake::metasrv {
namespace {

using testing::IsError;
using testing::IsOk;
using testing::RunTogether;

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

TEST(TableQueue, ATaskOfSeveralKeysRunsAloneInEachOfThem) {
  TaskGroup workers({.threads = 4});
  TableQueue queue(workers, 1000);
  std::atomic<int> in_a = 0;
  std::atomic<int> in_b = 0;
  std::atomic<bool> overlapped = false;
  const auto visit = [&overlapped](std::atomic<int>& room) {
    if (++room > 1) {
      overlapped = true;
    }
  };
  int both = 0;
  for (int i = 0; i < 200; ++i) {
    ASSERT_THAT(queue.Submit("a",
                             [&] {
                               visit(in_a);
                               --in_a;
                             }),
                IsOk());
    ASSERT_THAT(queue.Submit("b",
                             [&] {
                               visit(in_b);
                               --in_b;
                             }),
                IsOk());
    ASSERT_THAT(queue.Submit(std::set<std::string>{"a", "b"},
                             [&] {
                               visit(in_a);
                               visit(in_b);
                               ++both;
                               --in_a;
                               --in_b;
                             }),
                IsOk());
  }
  workers.Stop();
  EXPECT_FALSE(overlapped);
  EXPECT_EQ(both, 200);
  EXPECT_EQ(queue.busy_keys(), 0U);
}

// Each takes the turns of all its keys at once, so no two of them hold what the other waits for.
TEST(TableQueue, TasksWithCommonKeysNeverWaitForEachOtherInACircle) {
  TaskGroup workers({.threads = 3});
  TableQueue queue(workers, 10'000);
  std::atomic<int> ran = 0;
  const std::set<std::string> pairs[] = {{"a", "b"}, {"b", "c"}, {"c", "a"}};
  RunTogether(3, [&](std::size_t thread) {
    for (int i = 0; i < 300; ++i) {
      EXPECT_THAT(queue.Submit(pairs[(thread + static_cast<std::size_t>(i)) % 3], [&] { ++ran; }),
                  IsOk());
    }
  });
  workers.Stop();
  EXPECT_EQ(ran, 900);
  EXPECT_EQ(queue.busy_keys(), 0U);
}

TEST(TableQueue, ATaskOfSeveralKeysIsRefusedInAllOfThemWhenOneIsFull) {
  TaskGroup workers({.threads = 2});
  TableQueue queue(workers, 1);
  Gate gate;
  std::atomic<int> ran = 0;
  ASSERT_THAT(queue.Submit("a", [&] { gate.Pass(); }), IsOk());
  ASSERT_THAT(queue.Submit("a", [&] { ++ran; }), IsOk());
  EXPECT_THAT(queue.Submit(std::set<std::string>{"a", "b"}, [&] { ++ran; }),
              IsError(ErrorCode::kUnavailable));
  EXPECT_EQ(queue.busy_keys(), 1U);
  gate.Open();
  workers.Stop();
  EXPECT_EQ(ran, 1);
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
