#include "lake/metastore/rocksdb/commit_queue.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/mutex.h"
#include "lake/base/thread.h"
#include "lake/testing/faulty_metastore.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/run_together.h"

namespace lake::metastore {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::Gate;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using testing::IsOkAnd;
using testing::ManualClock;
using testing::RunTogether;

// Where a thread keeps its name; its address tells threads apart.
thread_local int this_thread_marker = 0;

Transaction Named(const std::string& name, std::size_t bytes = 1) {
  return Transaction().Put("t/" + name, Expectation::Any(), std::string(bytes, 'v'));
}

std::string NameOf(const GroupMember& member) {
  return member.transaction->items()[0].key.substr(2);
}

// Answers each transaction as a rejection that names it, so that nobody can get another's answer.
class RecordingTarget final : public GroupTarget {
 public:
  void Evaluate(std::span<GroupMember* const> group) override {
    std::function<void()> hook;
    {
      const MutexLock lock(mutex_);
      EXPECT_FALSE(busy_) << "groups are committed one at a time";
      busy_ = true;
      std::vector<std::string> names;
      for (GroupMember* member : group) {
        names.push_back(NameOf(*member));
        member->answer =
            CommitResult(Rejected{{{.item = 0, .key = NameOf(*member), .actual = std::nullopt}}});
      }
      groups_.push_back(std::move(names));
      committer_ = &this_thread_marker;
      hook = std::exchange(on_evaluate_, nullptr);
    }
    if (hook) {
      hook();
    }
  }

  void Write(std::span<GroupMember* const> group) override {
    std::function<void()> hook;
    bool fails = false;
    {
      const MutexLock lock(mutex_);
      hook = std::exchange(on_write_, nullptr);
      fails = std::exchange(fail_next_, false);
    }
    if (hook) {
      hook();
    }
    for (GroupMember* member : group) {
      if (fails) {
        member->answer = OutcomeUnknown("the disk has failed");
      }
    }
    const MutexLock lock(mutex_);
    busy_ = false;
  }

  // What the next group does first in each step.
  void OnNextEvaluate(std::function<void()> hook) {
    const MutexLock lock(mutex_);
    on_evaluate_ = std::move(hook);
  }

  void OnNextWrite(std::function<void()> hook) {
    const MutexLock lock(mutex_);
    on_write_ = std::move(hook);
  }

  void FailNextWrite() {
    const MutexLock lock(mutex_);
    fail_next_ = true;
  }

  std::vector<std::vector<std::string>> groups() const {
    const MutexLock lock(mutex_);
    return groups_;
  }

  const int* committer() const {
    const MutexLock lock(mutex_);
    return committer_;
  }

 private:
  mutable Mutex mutex_;
  bool busy_ GUARDED_BY(mutex_) = false;
  bool fail_next_ GUARDED_BY(mutex_) = false;
  std::vector<std::vector<std::string>> groups_ GUARDED_BY(mutex_);
  const int* committer_ GUARDED_BY(mutex_) = nullptr;
  std::function<void()> on_evaluate_ GUARDED_BY(mutex_);
  std::function<void()> on_write_ GUARDED_BY(mutex_);
};

auto IsAnswerFor(const std::string& name) {
  return IsOkAnd(CommitResult(Rejected{{{.item = 0, .key = name, .actual = std::nullopt}}}));
}

class CommitQueueTest : public ::testing::Test {
 protected:
  explicit CommitQueueTest(const CommitQueue::Options& options = {})
      : queue_(options, clock_, target_) {}

  Deadline Later() const { return clock_.Now() + hours(1); }

  // A commit on a thread of its own. Its answer may be looked at once the thread was joined.
  struct Call {
    std::optional<Result<CommitResult>> answer;
    std::unique_ptr<Thread> thread;

    const Result<CommitResult>& Join() {
      thread->Join();
      return *answer;
    }
  };

  std::unique_ptr<Call> Begin(Transaction transaction, Deadline deadline) {
    auto call = std::make_unique<Call>();
    call->thread = std::make_unique<Thread>(
        "commit", [this, to = call.get(), transaction = std::move(transaction), deadline] {
          to->answer = queue_.Commit(transaction, deadline);
        });
    return call;
  }

  // Begins a commit that finds a leader at work, and waits until it stands in the queue behind
  // `waiting` others.
  std::unique_ptr<Call> BeginWaiting(Transaction transaction, Deadline deadline,
                                     std::size_t waiting) {
    std::unique_ptr<Call> call = Begin(std::move(transaction), deadline);
    clock_.WaitForWaiters(waiting + 1);
    return call;
  }

  // Begins a commit "leader" that stops in Write until the gate is opened.
  std::unique_ptr<Call> BeginBlockedLeader() {
    target_.OnNextWrite([this] { gate_.Pass(); });
    std::unique_ptr<Call> leader = Begin(Named("leader"), Later());
    gate_.WaitForArrivals(1);
    return leader;
  }

  ManualClock clock_;
  Gate gate_;
  RecordingTarget target_;
  CommitQueue queue_;
};

TEST_F(CommitQueueTest, ALoneCallerCommitsOnItsOwnThreadWithoutWaiting) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(queue_.Commit(Named("a"), Later()), IsAnswerFor("a"));
    EXPECT_EQ(target_.committer(), &this_thread_marker);
  }
  EXPECT_THAT(target_.groups(), ElementsAre(ElementsAre("a"), ElementsAre("a"), ElementsAre("a")));
}

TEST_F(CommitQueueTest, ThoseWhoComeMeanwhileShareTheNextGroupInTheirOrder) {
  const auto leader = BeginBlockedLeader();
  std::vector<std::unique_ptr<Call>> calls;
  for (std::size_t i = 0; i < 5; ++i) {
    calls.push_back(BeginWaiting(Named(std::to_string(i)), Later(), i));
  }
  gate_.Open();
  EXPECT_THAT(leader->Join(), IsAnswerFor("leader"));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_THAT(calls[i]->Join(), IsAnswerFor(std::to_string(i)));
  }
  EXPECT_THAT(target_.groups(),
              ElementsAre(ElementsAre("leader"), ElementsAre("0", "1", "2", "3", "4")));
}

TEST_F(CommitQueueTest, TheWholeGroupIsToldThatItsWriteHasFailed) {
  const auto leader = BeginBlockedLeader();
  std::vector<std::unique_ptr<Call>> calls;
  for (std::size_t i = 0; i < 4; ++i) {
    calls.push_back(BeginWaiting(Named(std::to_string(i)), Later(), i));
  }
  target_.FailNextWrite();  // The leader's own write is asked first, but has looked already.
  gate_.Open();
  EXPECT_THAT(leader->Join(), IsAnswerFor("leader"));
  for (const auto& call : calls) {
    EXPECT_THAT(call->Join(), IsError(ErrorCode::kOutcomeUnknown));
  }
}

TEST_F(CommitQueueTest, WhoseDeadlinePassesInTheQueueIsNeverCommitted) {
  const auto leader = BeginBlockedLeader();
  const auto late = BeginWaiting(Named("late"), clock_.Now() + seconds(1), 0);
  const auto patient = BeginWaiting(Named("patient"), Later(), 1);
  clock_.Advance(seconds(1));
  EXPECT_THAT(late->Join(), IsError(ErrorCode::kDeadlineExceeded));
  gate_.Open();
  EXPECT_THAT(leader->Join(), IsAnswerFor("leader"));
  EXPECT_THAT(patient->Join(), IsAnswerFor("patient"));
  EXPECT_THAT(target_.groups(), ElementsAre(ElementsAre("leader"), ElementsAre("patient")));
}

TEST_F(CommitQueueTest, LeadershipPassesOverThoseWhoHaveLeft) {
  const auto leader = BeginBlockedLeader();
  const auto late = BeginWaiting(Named("late"), clock_.Now() + seconds(1), 0);
  clock_.Advance(seconds(1));
  EXPECT_THAT(late->Join(), IsError(ErrorCode::kDeadlineExceeded));
  gate_.Open();
  EXPECT_THAT(leader->Join(), IsAnswerFor("leader"));
  // Nobody leads now: the next one does it itself.
  EXPECT_THAT(queue_.Commit(Named("next"), Later()), IsAnswerFor("next"));
  EXPECT_EQ(target_.committer(), &this_thread_marker);
}

TEST_F(CommitQueueTest, WhoseDeadlinePassesWhileItIsWrittenDoesNotKnow) {
  const auto leader = BeginBlockedLeader();
  const auto head = BeginWaiting(Named("head"), Later(), 0);
  const auto late = BeginWaiting(Named("late"), clock_.Now() + seconds(1), 1);
  Gate second;
  target_.OnNextWrite([&second] { second.Pass(); });
  gate_.Open();
  second.WaitForArrivals(1);
  clock_.WaitForWaiters(1);
  clock_.Advance(seconds(1));
  EXPECT_THAT(late->Join(), IsError(ErrorCode::kOutcomeUnknown));
  second.Open();
  EXPECT_THAT(leader->Join(), IsAnswerFor("leader"));
  EXPECT_THAT(head->Join(), IsAnswerFor("head"));
  EXPECT_THAT(target_.groups(), ElementsAre(ElementsAre("leader"), ElementsAre("head", "late")));
}

// The leader reads the transaction of a caller, which must stay until that is over.
TEST_F(CommitQueueTest, WhoseDeadlinePassesWhileItIsEvaluatedStaysUntilThatIsOver) {
  const auto leader = BeginBlockedLeader();
  const auto head = BeginWaiting(Named("head"), Later(), 0);
  const auto late = BeginWaiting(Named("late"), clock_.Now() + seconds(1), 1);
  Gate evaluating;
  Gate writing;
  target_.OnNextEvaluate([&] {
    clock_.Advance(seconds(1));
    evaluating.Pass();
  });
  gate_.Open();
  evaluating.WaitForArrivals(1);
  target_.OnNextWrite([&writing] { writing.Pass(); });
  evaluating.Open();
  writing.WaitForArrivals(1);
  EXPECT_THAT(late->Join(), IsError(ErrorCode::kOutcomeUnknown));
  writing.Open();
  EXPECT_THAT(head->Join(), IsAnswerFor("head"));
  EXPECT_THAT(leader->Join(), IsAnswerFor("leader"));
}

TEST_F(CommitQueueTest, WhoeverCommitsReturnsWithTheAnswerAlsoAfterItsDeadline) {
  target_.OnNextWrite([this] { clock_.Advance(hours(2)); });
  EXPECT_THAT(queue_.Commit(Named("slow"), clock_.Now() + seconds(1)), IsAnswerFor("slow"));
}

class ShortQueueTest : public CommitQueueTest {
 protected:
  ShortQueueTest()
      : CommitQueueTest({.waiting_max = 3, .group_members_max = 2, .group_bytes_max = 200}) {}
};

TEST_F(ShortQueueTest, RefusesMoreThanMayWait) {
  const auto leader = BeginBlockedLeader();
  std::vector<std::unique_ptr<Call>> calls;
  for (std::size_t i = 0; i < 3; ++i) {
    calls.push_back(BeginWaiting(Named(std::to_string(i)), Later(), i));
  }
  EXPECT_THAT(queue_.Commit(Named("more"), Later()), IsError(ErrorCode::kUnavailable));
  gate_.Open();
  leader->thread->Join();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(calls[i]->Join(), IsAnswerFor(std::to_string(i)));
  }
  EXPECT_THAT(target_.groups(),
              ElementsAre(ElementsAre("leader"), ElementsAre("0", "1"), ElementsAre("2")));
}

TEST_F(ShortQueueTest, EndsAGroupBeforeItHasTooManyBytesAndTakesASingleLargeOne) {
  const auto leader = BeginBlockedLeader();
  const auto small = BeginWaiting(Named("small"), Later(), 0);
  const auto large = BeginWaiting(Named("large", 1000), Later(), 1);
  const auto last = BeginWaiting(Named("last"), Later(), 2);
  gate_.Open();
  leader->thread->Join();
  EXPECT_THAT(small->Join(), IsAnswerFor("small"));
  EXPECT_THAT(large->Join(), IsAnswerFor("large"));
  EXPECT_THAT(last->Join(), IsAnswerFor("last"));
  EXPECT_THAT(target_.groups(), ElementsAre(ElementsAre("leader"), ElementsAre("small"),
                                            ElementsAre("large"), ElementsAre("last")));
}

TEST_F(CommitQueueTest, OfManyThreadsEachGetsItsOwnAnswerAndIsCommittedOnce) {
  constexpr std::size_t kThreads = 32;
  constexpr std::size_t kEach = 200;
  RunTogether(kThreads, [&](std::size_t thread) {
    for (std::size_t i = 0; i < kEach; ++i) {
      const std::string name = std::to_string(thread) + "-" + std::to_string(i);
      ASSERT_THAT(queue_.Commit(Named(name), Later()), IsAnswerFor(name));
    }
  });
  std::map<std::string, int> seen;
  for (const std::vector<std::string>& group : target_.groups()) {
    EXPECT_FALSE(group.empty());
    for (const std::string& name : group) {
      ++seen[name];
    }
  }
  EXPECT_EQ(seen.size(), kThreads * kEach);
  for (const auto& [name, count] : seen) {
    EXPECT_EQ(count, 1) << name;
  }
}

// Deadlines that pass at any moment: whoever is told that nothing was done was not committed.
TEST_F(CommitQueueTest, WhoeverIsToldThatNothingWasDoneWasNotCommitted) {
  constexpr std::size_t kThreads = 16;
  constexpr std::size_t kEach = 100;
  std::vector<std::vector<std::string>> withdrawn(kThreads);
  RunTogether(kThreads + 1, [&](std::size_t thread) {
    if (thread == kThreads) {
      for (int i = 0; i < 2000; ++i) {
        clock_.Advance(std::chrono::microseconds(1));
      }
      return;
    }
    for (std::size_t i = 0; i < kEach; ++i) {
      const std::string name = std::to_string(thread) + "-" + std::to_string(i);
      const Result<CommitResult> answer =
          queue_.Commit(Named(name), clock_.Now() + std::chrono::microseconds(i % 20));
      if (!answer.has_value() && answer.error().code() == ErrorCode::kDeadlineExceeded) {
        withdrawn[thread].push_back(name);
      } else if (answer.has_value()) {
        EXPECT_THAT(answer, IsAnswerFor(name));
      } else {
        EXPECT_THAT(answer, IsError(ErrorCode::kOutcomeUnknown));
      }
    }
  });
  std::map<std::string, int> committed;
  for (const std::vector<std::string>& group : target_.groups()) {
    for (const std::string& name : group) {
      ++committed[name];
    }
  }
  std::size_t total = committed.size();
  for (const std::vector<std::string>& names : withdrawn) {
    for (const std::string& name : names) {
      EXPECT_EQ(committed.count(name), 0U) << name;
      ++total;
    }
  }
  EXPECT_EQ(total, kThreads * kEach);
}

}  // namespace
}  // namespace lake::metastore
