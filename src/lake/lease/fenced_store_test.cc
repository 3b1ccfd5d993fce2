#include "lake/lease/fenced_store.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread.h"
#include "lake/base/time.h"
#include "lake/lease/authority_slot.h"
#include "lake/lease/lane_internal.h"
#include "lake/lease/lease_guard.h"
#include "lake/lease/lease_test_fixtures.h"
#include "lake/lease/records.h"
#include "lake/metastore/memory/memory_metastore.h"
#include "lake/metastore/metastore.h"
#include "lake/metastore/transaction.h"
#include "lake/testing/faulty_metastore.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/recording_metastore.h"

namespace lake::lease {
namespace {

using metastore::CommitResult;
using metastore::Committed;
using metastore::Expectation;
using metastore::FailedExpectation;
using metastore::MemoryMetaStore;
using metastore::Rejected;
using metastore::Transaction;
using std::chrono::hours;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::FaultyMetaStore;
using testing::FencingChecker;
using testing::Gate;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOkAnd;
using testing::RecordingMetaStore;
using ::testing::VariantWith;

using FaultKind = FaultyMetaStore::Fault::Kind;

// Code that holds a FencedStore has no way to an unfenced write.
static_assert(std::is_final_v<FencedStore>);
static_assert(!std::is_base_of_v<metastore::MetaStore, FencedStore>);
static_assert(!std::is_convertible_v<FencedStore&, metastore::MetaStore&>);

const auto kCommitted = IsOkAnd(VariantWith<Committed>(Committed{}));

// A store, a slot, and whoever leads, played by the test in the place of elections.
class FencedStoreFixture {
 protected:
  explicit FencedStoreFixture(bool shared_checks)
      : memory_(clock_, {.shared_checks = shared_checks}) {}

  ~FencedStoreFixture() {
    EXPECT_THAT(FencingChecker::FindOffences(recording_.commits()), IsEmpty());
  }

  // The next epoch is won by this process (and published) or by another one.
  void WinHere() {
    const std::string term = TakeOver(1);
    slot_.Publish(
        Authority{.guard = LeaseGuard(Epoch(epoch_), term), .deadline = clock_.Now() + seconds(9)});
  }

  void WinElsewhere() { TakeOver(9); }

  // Another round of the election here.
  void Renew() {
    const Result<Authority> authority = slot_.Current();
    ASSERT_THAT(authority, testing::IsOk());
    slot_.Publish(Authority{.guard = authority->guard, .deadline = clock_.Now() + seconds(9)});
  }

  std::string TakeOver(std::uint8_t node) {
    const auto read = [this](std::string_view key) {
      return memory_.Get(key, clock_.Now() + hours(1)).value();
    };
    const auto as_read = [&](std::string_view key) {
      const std::optional<std::string> bytes = read(key);
      return bytes.has_value() ? Expectation::Exactly(*bytes) : Expectation::Absent();
    };
    ++epoch_;
    const std::string term = Encode(TermRecord{
        .epoch = Epoch(epoch_), .node = "n" + std::to_string(node), .session = TestSession(node)});
    const std::string beat = Encode(
        HeartbeatRecord{.epoch = Epoch(epoch_), .session = TestSession(node), .ttl = seconds(10)});
    Transaction takeover;
    takeover.Put(std::string(kTermKey), as_read(kTermKey), term)
        .Put(std::string(kHeartbeatKey), as_read(kHeartbeatKey), beat);
    EXPECT_THAT(recording_.Commit(takeover, clock_.Now() + hours(1)), kCommitted);
    return term;
  }

  Deadline Soon() const { return clock_.Now() + hours(1); }

  Epoch Now() const { return Epoch(epoch_); }

  std::optional<std::string> Stored(std::string_view key) {
    return memory_.Get(key, Soon()).value();
  }

  static Transaction Create(const std::string& key, const std::string& value) {
    return Transaction().Put(key, Expectation::Absent(), value);
  }

  std::uint64_t epoch_ = 0;
  testing::ManualClock clock_;
  MemoryMetaStore memory_;
  RecordingMetaStore recording_{memory_};
  FaultyMetaStore faulty_{recording_};
  AuthoritySlot slot_{clock_};
  FencedStore store_{faulty_, clock_, slot_};
};

// Both ways to the store: straight, and through the lane.
class FencedStoreTest : public ::testing::TestWithParam<bool>, protected FencedStoreFixture {
 protected:
  FencedStoreTest() : FencedStoreFixture(GetParam()) {}
};

INSTANTIATE_TEST_SUITE_P(Ways, FencedStoreTest, ::testing::Values(true, false),
                         [](const auto& way) { return way.param ? "Direct" : "Lane"; });

TEST_P(FencedStoreTest, AddsTheCheckOfTheTermAsItemZero) {
  WinHere();
  const Transaction publication = Create("t/a", "1").Check("t/b", Expectation::Absent());
  EXPECT_THAT(store_.Commit(publication, Now(), Soon()), kCommitted);
  EXPECT_EQ(Stored("t/a"), "1");
  EXPECT_EQ(recording_.commits().back().transaction,
            Transaction()
                .Check("lease/term", Expectation::Exactly(*Stored("lease/term")))
                .Put("t/a", Expectation::Absent(), "1")
                .Check("t/b", Expectation::Absent()));
}

TEST_P(FencedStoreTest, SendsNothingWithoutAuthority) {
  EXPECT_THAT(store_.Commit(Create("t/a", "1"), Epoch(1), Soon()), IsError(ErrorCode::kNotLeader));
  EXPECT_THAT(store_.current_guard(), IsError(ErrorCode::kNotLeader));
  EXPECT_THAT(store_.CurrentEpoch(), IsError(ErrorCode::kNotLeader));
  EXPECT_EQ(faulty_.commit_count(), 0U);
}

// I10.
TEST_P(FencedStoreTest, HasNoGuardAfterTheDeadlineThoughNoThreadRan) {
  WinHere();
  clock_.Advance(seconds(9) - nanoseconds(1));
  EXPECT_THAT(store_.current_guard(), testing::IsOk());
  EXPECT_THAT(store_.Commit(Create("t/a", "1"), Now(), Soon()), kCommitted);
  clock_.Advance(nanoseconds(1));
  EXPECT_THAT(store_.current_guard(), IsError(ErrorCode::kNotLeader));
  EXPECT_THAT(store_.CurrentEpoch(), IsError(ErrorCode::kNotLeader));
  EXPECT_THAT(store_.Commit(Create("t/b", "1"), Now(), Soon()), IsError(ErrorCode::kNotLeader));
  EXPECT_EQ(faulty_.commit_count(), 1U);
}

TEST_P(FencedStoreTest, TheGuardIsTheBytesInTheStore) {
  WinHere();
  const Result<LeaseGuard> guard = store_.current_guard();
  ASSERT_THAT(guard, testing::IsOk());
  EXPECT_EQ(guard->term_bytes(), Stored("lease/term"));
  EXPECT_EQ(guard->epoch(), Epoch(1));
  EXPECT_THAT(store_.CurrentEpoch(), IsOkAnd(Epoch(1)));
}

TEST_P(FencedStoreTest, AStaleLeadersCreateIsFencedAndChangesNothing) {
  WinHere();
  const Epoch begun = Now();
  WinElsewhere();
  EXPECT_THAT(store_.Commit(Create("t/a", "1"), begun, Soon()), IsError(ErrorCode::kFenced));
  EXPECT_EQ(Stored("t/a"), std::nullopt);
}

TEST_P(FencedStoreTest, AStaleLeadersUpdateIsFencedAndChangesNothing) {
  WinHere();
  const Epoch begun = Now();
  ASSERT_THAT(store_.Commit(Create("t/a", "1"), begun, Soon()), kCommitted);
  WinElsewhere();
  EXPECT_THAT(
      store_.Commit(Transaction().Put("t/a", Expectation::Exactly("1"), "2"), begun, Soon()),
      IsError(ErrorCode::kFenced));
  EXPECT_EQ(Stored("t/a"), "1");
}

TEST_P(FencedStoreTest, AStaleLeadersDeleteIsFencedAndChangesNothing) {
  WinHere();
  const Epoch begun = Now();
  ASSERT_THAT(store_.Commit(Create("t/a", "1"), begun, Soon()), kCommitted);
  WinElsewhere();
  EXPECT_THAT(store_.Commit(Transaction().Delete("t/a", Expectation::Any()), begun, Soon()),
              IsError(ErrorCode::kFenced));
  EXPECT_EQ(Stored("t/a"), "1");
}

TEST_P(FencedStoreTest, AFencedPublicationDropsTheAuthorityForGood) {
  WinHere();
  const Result<Authority> before = slot_.Current();
  WinElsewhere();
  ASSERT_THAT(store_.Commit(Create("t/a", "1"), Epoch(1), Soon()), IsError(ErrorCode::kFenced));
  EXPECT_THAT(store_.current_guard(), IsError(ErrorCode::kNotLeader));
  const std::size_t sent = faulty_.commit_count();
  EXPECT_THAT(store_.Commit(Create("t/a", "1"), Epoch(1), Soon()), IsError(ErrorCode::kNotLeader));
  slot_.Publish(*before);  // A heartbeat's confirmation that was under way meanwhile.
  EXPECT_THAT(store_.Commit(Create("t/a", "1"), Epoch(1), Soon()), IsError(ErrorCode::kNotLeader));
  EXPECT_EQ(faulty_.commit_count(), sent);
}

TEST_P(FencedStoreTest, IsFencedByAReleasedTermToo) {
  WinHere();
  const std::string term = *Stored("lease/term");
  TermRecord released = DecodeTerm(term).value();
  released.state = TermRecord::State::kReleased;
  ASSERT_THAT(
      recording_.Commit(
          Transaction().Put("lease/term", Expectation::Exactly(term), Encode(released)), Soon()),
      kCommitted);
  EXPECT_THAT(store_.Commit(Create("t/a", "1"), Now(), Soon()), IsError(ErrorCode::kFenced));
}

TEST_P(FencedStoreTest, ARejectionIsNeverTakenForAFence) {
  WinHere();
  ASSERT_THAT(store_.Commit(Create("t/b", "there"), Now(), Soon()), kCommitted);
  const Transaction publication = Create("t/a", "1")
                                      .Put("t/b", Expectation::Absent(), "2")
                                      .Check("t/c", Expectation::Exactly("x"));
  EXPECT_THAT(store_.Commit(publication, Now(), Soon()),
              IsOkAnd(VariantWith<Rejected>(
                  Rejected{{FailedExpectation{.item = 1, .key = "t/b", .actual = "there"},
                            FailedExpectation{.item = 2, .key = "t/c", .actual = std::nullopt}}})));
  EXPECT_EQ(Stored("t/a"), std::nullopt);
  EXPECT_THAT(store_.current_guard(), testing::IsOk());
}

TEST_P(FencedStoreTest, AFenceIsNeverTakenForARejection) {
  WinHere();
  ASSERT_THAT(store_.Commit(Create("t/a", "there"), Now(), Soon()), kCommitted);
  const Epoch begun = Now();
  WinElsewhere();
  // Both the term and its own expectation fail.
  EXPECT_THAT(store_.Commit(Create("t/a", "1"), begun, Soon()), IsError(ErrorCode::kFenced));
}

TEST_P(FencedStoreTest, APublicationBegunBeforeAHeartbeatAndSentAfterItSucceeds) {
  WinHere();
  const Result<Epoch> begun = store_.CurrentEpoch();
  clock_.Advance(seconds(8));
  Renew();
  clock_.Advance(seconds(8));  // Past the deadline of the authority it began with.
  EXPECT_THAT(store_.Commit(Create("t/a", "1"), *begun, Soon()), kCommitted);
}

// The field: each term has a gate of its own, and work of the old one passes while the new one leads.
// The field: work begun under one epoch is published under a later one of the same process.
TEST_P(FencedStoreTest, WorkOfAnEarlierEpochIsFencedUnsentThoughThisProcessLeadsAgain) {
  WinHere();
  const Result<Epoch> begun = store_.CurrentEpoch();
  WinElsewhere();
  WinHere();
  EXPECT_EQ(*store_.CurrentEpoch(), Epoch(3));
  const std::size_t sent = faulty_.commit_count();
  EXPECT_THAT(store_.Commit(Create("t/a", "1"), *begun, Soon()), IsError(ErrorCode::kFenced));
  EXPECT_EQ(faulty_.commit_count(), sent);
  EXPECT_THAT(store_.current_guard(), testing::IsOk()) << "the present term is not touched";
  EXPECT_THAT(store_.Commit(Create("t/a", "1"), Epoch(3), Soon()), kCommitted);
}

TEST_P(FencedStoreTest, RefusesATransactionThatNamesAKeyOfTheLease) {
  WinHere();
  for (const std::string key : {"lease/term", "lease/heartbeat", "lease/other"}) {
    for (const Transaction& publication : {Create("t/a", "1").Put(key, Expectation::Any(), "x"),
                                           Create("t/a", "1").Check(key, Expectation::Absent()),
                                           Transaction().Delete(key, Expectation::Any())}) {
      EXPECT_THAT(store_.Commit(publication, Now(), Soon()),
                  IsError(ErrorCode::kInvalidArgument, HasSubstr(key)));
    }
  }
  EXPECT_EQ(faulty_.commit_count(), 0U);
}

TEST_P(FencedStoreTest, LeavesRoomForTheFence) {
  WinHere();
  Transaction publication;
  for (std::size_t i = 0; i < kPublicationKeysMax; ++i) {
    publication.Put("t/" + std::to_string(i), Expectation::Absent(), "1");
  }
  EXPECT_THAT(store_.Commit(publication, Now(), Soon()), kCommitted);
  publication.Put("t/one-more", Expectation::Absent(), "1");
  EXPECT_THAT(store_.Commit(publication, Now(), Soon()), IsError(ErrorCode::kInvalidArgument));

  // A transaction that fills the limit of bytes by itself has no room for the term.
  Transaction large;
  for (std::size_t i = 0; large.byte_size() < metastore::kTransactionBytesMax; ++i) {
    const std::string key = "t/large-" + std::to_string(i);
    const std::size_t left = metastore::kTransactionBytesMax - large.byte_size() - key.size();
    large.Put(key, Expectation::Any(), std::string(std::min(left, metastore::kValueBytesMax), 'v'));
  }
  ASSERT_THAT(large.Validate(), testing::IsOk());
  EXPECT_THAT(store_.Commit(large, Now(), Soon()), IsError(ErrorCode::kInvalidArgument));
  EXPECT_EQ(Stored("t/large-0"), std::nullopt);
}

TEST_P(FencedStoreTest, RefusesWhatBreaksARuleOfTheStoreBeforeItIsSent) {
  WinHere();
  EXPECT_THAT(store_.Commit(Transaction(), Now(), Soon()), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(store_.Commit(Create("nokey", "1"), Now(), Soon()),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(store_.Commit(Create("t/a", "1").Put("t/a", Expectation::Any(), "2"), Now(), Soon()),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_EQ(faulty_.commit_count(), 0U);
}

TEST_P(FencedStoreTest, ErrorsOfTheStoreKeepTheirMeaning) {
  WinHere();
  for (const ErrorCode code :
       {ErrorCode::kUnavailable, ErrorCode::kOutcomeUnknown, ErrorCode::kCorruption}) {
    faulty_.Inject(
        {.when = FaultyMetaStore::Commits, .fault = {.kind = FaultKind::kError, .error = code}});
    EXPECT_THAT(store_.Commit(Create("t/a", "1"), Now(), Soon()), IsError(code));
    EXPECT_THAT(store_.current_guard(), testing::IsOk()) << "an error says nothing about the term";
  }
}

// B4.
TEST_P(FencedStoreTest, ALostAnswerIsUnknownAndNothingIsSentTwice) {
  WinHere();
  faulty_.Inject({.when = FaultyMetaStore::Commits, .fault = {.kind = FaultKind::kLoseAnswer}});
  EXPECT_THAT(store_.Commit(Create("t/a", "1"), Now(), Soon()),
              IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_EQ(Stored("t/a"), "1");
  faulty_.Inject({.when = FaultyMetaStore::Commits, .fault = {.kind = FaultKind::kLoseRequest}});
  EXPECT_THAT(store_.Commit(Create("t/b", "1"), Now(), Soon()),
              IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_EQ(Stored("t/b"), std::nullopt);
  EXPECT_EQ(faulty_.commit_count(), 2U);
}

TEST_P(FencedStoreTest, NoRequestMayLiveLongerThanTheAuthorityOrTheCallersDeadline) {
  WinHere();
  std::vector<Deadline> deadlines;
  faulty_.Inject({.when =
                      [&](const FaultyMetaStore::Call& call) {
                        deadlines.push_back(call.deadline);
                        return false;
                      },
                  .fault = {}});
  ASSERT_THAT(store_.Commit(Create("t/a", "1"), Now(), clock_.Now() + seconds(30)), kCommitted);
  ASSERT_THAT(store_.Commit(Create("t/b", "1"), Now(), clock_.Now() + seconds(2)), kCommitted);
  faulty_.Clear();
  EXPECT_THAT(deadlines, ElementsAre(clock_.Now() + seconds(9), clock_.Now() + seconds(2)));
}

TEST_P(FencedStoreTest, TellsAnEndedAuthorityFromAnEndedCall) {
  WinHere();
  // The process stands still between taking the authority and sending.
  faulty_.Inject({.when = FaultyMetaStore::Commits,
                  .fault = {.before = [this] { clock_.Advance(seconds(10)); }}});
  EXPECT_THAT(store_.Commit(Create("t/a", "1"), Now(), clock_.Now() + hours(1)),
              IsError(ErrorCode::kNotLeader));
  EXPECT_EQ(Stored("t/a"), std::nullopt);
  WinHere();
  EXPECT_THAT(store_.Commit(Create("t/a", "1"), Now(), clock_.Now()),
              IsError(ErrorCode::kDeadlineExceeded));
  EXPECT_EQ(Stored("t/a"), std::nullopt);
}

// The field: the lease is given back while work is in flight and the process still believes that it leads.
TEST_P(FencedStoreTest, ClosedToNewWorkItStillPublishesWhatHasBegun) {
  WinHere();
  const Result<Epoch> begun = store_.CurrentEpoch();
  slot_.CloseToNewWork();
  EXPECT_THAT(store_.CurrentEpoch(), IsError(ErrorCode::kNotLeader));
  EXPECT_THAT(store_.Commit(Create("t/a", "1"), *begun, Soon()), kCommitted);
}

TEST_P(FencedStoreTest, ReadsNeedNoAuthority) {
  ASSERT_THAT(memory_.Commit(Create("t/a", "1"), Soon()), kCommitted);
  EXPECT_THAT(store_.Get("t/a", Soon()), IsOkAnd(std::optional<std::string>("1")));
  EXPECT_THAT(store_.GetTogether({"t/a", "t/b"}, Soon()),
              IsOkAnd(ElementsAre(std::optional<std::string>("1"), std::nullopt)));
  const Result<metastore::Page> page = store_.Scan("t/", "", 10, Soon());
  ASSERT_THAT(page, testing::IsOk());
  EXPECT_THAT(page->entries, ElementsAre(metastore::Entry{.key = "t/a", .value = "1"}));
}

TEST_P(FencedStoreTest, ManyThreadsGetTheirOwnAnswers) {
  WinHere();
  constexpr int kThreads = 16;
  constexpr int kRounds = 30;
  Mutex mutex;
  int winners = 0;
  {
    std::vector<std::unique_ptr<Thread>> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.push_back(std::make_unique<Thread>("writer", [&, t] {
        for (int round = 0; round < kRounds; ++round) {
          const std::string own = "t/" + std::to_string(t) + "-" + std::to_string(round);
          EXPECT_THAT(store_.Commit(Create(own, "1").Put("dir/names", Expectation::Any(), own),
                                    Now(), Soon()),
                      kCommitted);
          const Result<CommitResult> contended =
              store_.Commit(Create("round/" + std::to_string(round), own), Now(), Soon());
          ASSERT_THAT(contended, testing::IsOk());
          const MutexLock lock(mutex);
          winners += std::holds_alternative<Committed>(*contended) ? 1 : 0;
        }
      }));
    }
  }
  EXPECT_EQ(winners, kRounds) << "exactly one winner each round";
  for (int t = 0; t < kThreads; ++t) {
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_EQ(Stored("t/" + std::to_string(t) + "-" + std::to_string(round)), "1");
    }
  }
}

// A call of Commit on a thread of its own.
class Caller {
 public:
  Caller(FencedStore& store, Transaction transaction, Epoch begun_under, Deadline deadline)
      : thread_(std::make_unique<Thread>(
            "caller", [this, &store, t = std::move(transaction), begun_under, deadline] {
              answer_ = store.Commit(t, begun_under, deadline);
            })) {}

  const Result<CommitResult>& Answer() {
    thread_->Join();
    return *answer_;
  }

 private:
  std::optional<Result<CommitResult>> answer_;
  std::unique_ptr<Thread> thread_;
};

// The lane, with a gate that holds the first transaction while others come.
class LaneTest : public ::testing::Test, protected FencedStoreFixture {
 protected:
  LaneTest() : FencedStoreFixture(false) {}

  // Sends a publication of "t/first" and holds it at the gate, before or after it is applied.
  void HoldFirst(FaultyMetaStore::Fault fault, Deadline deadline) {
    fault.before = [this] { gate_.Pass(); };
    faulty_.Inject({.when = FaultyMetaStore::CommitsOf("t/first"), .fault = std::move(fault)});
    Call(Create("t/first", "1"), deadline);
    gate_.WaitForArrivals(1);
  }

  void HoldFirst() { HoldFirst({}, Soon()); }

  // Calls Commit on a thread and waits until it waits in the lane.
  void Call(Transaction transaction, Deadline deadline) {
    callers_.push_back(std::make_unique<Caller>(store_, std::move(transaction), Now(), deadline));
    clock_.WaitForWaiters(++waiting_);
  }

  void Call(Transaction transaction) { Call(std::move(transaction), Soon()); }

  const Result<CommitResult>& Answer(std::size_t caller) { return callers_[caller]->Answer(); }

  // The transactions that reached the store since the election's.
  std::vector<std::vector<std::string>> Sent() {
    std::vector<std::vector<std::string>> sent;
    for (const testing::RecordedCommit& commit : recording_.commits()) {
      std::vector<std::string> keys;
      for (const metastore::Item& item : commit.transaction.items()) {
        keys.push_back(item.key);
      }
      if (keys.back() != kHeartbeatKey) {
        sent.push_back(keys);
      }
    }
    return sent;
  }

  Gate gate_;
  std::size_t waiting_ = 0;
  std::vector<std::unique_ptr<Caller>> callers_;
};

TEST_F(LaneTest, KeepsOneInFlightAndCombinesThoseThatWait) {
  WinHere();
  HoldFirst();
  Call(Create("t/a", "1"));
  Call(Create("t/b", "1").Check("n/x", Expectation::Absent()));
  Call(Create("t/c", "1").Check("n/x", Expectation::Absent()));
  EXPECT_EQ(faulty_.commit_count(), 1U) << "one in flight";
  gate_.Open();
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(Answer(i), kCommitted);
  }
  EXPECT_THAT(Sent(), ElementsAre(ElementsAre("lease/term", "t/first"),
                                  ElementsAre("lease/term", "t/a", "t/b", "n/x", "t/c")));
}

TEST_F(LaneTest, TheLastOfSeveralUnconditionalPutsWins) {
  WinHere();
  HoldFirst();
  for (const std::string name : {"a", "b", "c"}) {
    Call(Create("t/" + name, "1").Put("dir/names", Expectation::Any(), name));
  }
  gate_.Open();
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(Answer(i), kCommitted);
  }
  EXPECT_EQ(faulty_.commit_count(), 2U);
  EXPECT_EQ(Stored("dir/names"), "c");
}

TEST_F(LaneTest, ThoseThatShareAKeyAreSentInTheOrderInWhichTheyCame) {
  WinHere();
  HoldFirst();
  Call(Create("t/a", "1"));
  Call(
      Transaction().Put("t/a", Expectation::Exactly("1"), "2").Put("t/b", Expectation::Any(), "x"));
  Call(Create("t/b", "y"));  // Fits beside the first, but shares a key with the second.
  Call(Create("t/c", "1"));
  gate_.Open();
  EXPECT_THAT(Answer(1), kCommitted);
  EXPECT_THAT(Answer(2), kCommitted);
  EXPECT_THAT(Answer(3),
              IsOkAnd(VariantWith<Rejected>(Rejected{{{.item = 0, .key = "t/b", .actual = "x"}}})));
  EXPECT_THAT(Answer(4), kCommitted);
  EXPECT_EQ(Stored("t/a"), "2");
  EXPECT_THAT(
      Sent(),
      ElementsAre(ElementsAre("lease/term", "t/first"), ElementsAre("lease/term", "t/a", "t/c"),
                  ElementsAre("lease/term", "t/a", "t/b"), ElementsAre("lease/term", "t/b")));
}

TEST_F(LaneTest, AnswersThoseThatFailAndSendsTheOthersAgainInOrder) {
  WinHere();
  ASSERT_THAT(store_.Commit(Create("t/taken", "there"), Now(), Soon()), kCommitted);
  HoldFirst();
  Call(Create("t/a", "1"));
  Call(Create("t/b", "1").Put("t/taken", Expectation::Absent(), "mine"));
  Call(Create("t/c", "1"));
  gate_.Open();
  EXPECT_THAT(Answer(1), kCommitted);
  EXPECT_THAT(
      Answer(2),
      IsOkAnd(VariantWith<Rejected>(Rejected{{{.item = 1, .key = "t/taken", .actual = "there"}}})));
  EXPECT_THAT(Answer(3), kCommitted);
  EXPECT_EQ(Stored("t/b"), std::nullopt);
  const std::vector<std::vector<std::string>> sent = Sent();
  EXPECT_THAT(sent.at(2), ElementsAre("lease/term", "t/a", "t/b", "t/taken", "t/c"));
  EXPECT_THAT(sent.at(3), ElementsAre("lease/term", "t/a", "t/c"));
}

TEST_F(LaneTest, AFailedTermFencesAllAndThoseThatWaitAreNotSent) {
  WinHere();
  HoldFirst();
  Call(Create("t/a", "1"));
  Call(Create("t/b", "1"));
  TakeOver(9);
  gate_.Open();
  EXPECT_THAT(Answer(0), IsError(ErrorCode::kFenced));
  EXPECT_THAT(Answer(1), IsError(ErrorCode::kNotLeader));
  EXPECT_THAT(Answer(2), IsError(ErrorCode::kNotLeader));
  EXPECT_EQ(faulty_.commit_count(), 1U);
}

TEST_F(LaneTest, AllMembersOfACombinationAreFencedTogether) {
  WinHere();
  HoldFirst();
  Call(Create("t/a", "1"));
  Call(Create("t/b", "1"));
  faulty_.Inject(
      {.when = FaultyMetaStore::CommitsOf("t/a"), .fault = {.before = [this] { TakeOver(9); }}});
  gate_.Open();
  EXPECT_THAT(Answer(0), kCommitted);
  EXPECT_THAT(Answer(1), IsError(ErrorCode::kFenced));
  EXPECT_THAT(Answer(2), IsError(ErrorCode::kFenced));
  EXPECT_EQ(Stored("t/a"), std::nullopt);
}

// The field: work begun under one epoch is published under a later one of the same process.
TEST_F(LaneTest, WorkThatWaitedThroughALostTermIsFencedUnsent) {
  WinHere();
  HoldFirst();
  Call(Create("t/a", "1"));
  WinElsewhere();
  WinHere();
  Call(Create("t/b", "1"));
  gate_.Open();
  EXPECT_THAT(Answer(0), IsError(ErrorCode::kFenced));
  EXPECT_THAT(Answer(1), IsError(ErrorCode::kFenced));
  EXPECT_THAT(Answer(2), kCommitted);
  EXPECT_THAT(Sent(),
              ElementsAre(ElementsAre("lease/term", "t/first"), ElementsAre("lease/term", "t/b")));
}

TEST_F(LaneTest, ErrorsOfTheStoreGoToEveryMemberWithTheirMeaning) {
  WinHere();
  HoldFirst();
  Call(Create("t/a", "1"));
  Call(Create("t/b", "1"));
  faulty_.Inject(
      {.when = FaultyMetaStore::CommitsOf("t/a"), .fault = {.kind = FaultKind::kLoseAnswer}});
  gate_.Open();
  EXPECT_THAT(Answer(1), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_THAT(Answer(2), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_EQ(Stored("t/b"), "1");
  EXPECT_EQ(faulty_.commit_count(), 2U) << "never resent blindly";
}

TEST_F(LaneTest, UnavailableGoesToEveryMember) {
  WinHere();
  HoldFirst();
  Call(Create("t/a", "1"));
  Call(Create("t/b", "1"));
  faulty_.Inject({.when = FaultyMetaStore::CommitsOf("t/a"),
                  .fault = {.kind = FaultKind::kError, .error = ErrorCode::kUnavailable}});
  gate_.Open();
  EXPECT_THAT(Answer(1), IsError(ErrorCode::kUnavailable));
  EXPECT_THAT(Answer(2), IsError(ErrorCode::kUnavailable));
}

TEST_F(LaneTest, AMemberThatTheStoreFindsInvalidFailsAlone) {
  WinHere();
  HoldFirst();
  Call(Create("t/a", "1"));
  Call(Create("t/bad", "1"));
  Call(Create("t/c", "1"));
  faulty_.Inject({.when = FaultyMetaStore::CommitsOf("t/bad"),
                  .times = FaultyMetaStore::kAlways,
                  .fault = {.kind = FaultKind::kError, .error = ErrorCode::kInvalidArgument}});
  gate_.Open();
  EXPECT_THAT(Answer(1), kCommitted);
  EXPECT_THAT(Answer(2), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(Answer(3), kCommitted);
}

TEST_F(LaneTest, ACallerLeavesTheQueueAtItsDeadlineAndIsNeverSent) {
  WinHere();
  HoldFirst();
  Call(Create("t/short", "1"), clock_.Now() + seconds(2));
  Call(Create("t/long", "1"));
  clock_.Advance(seconds(2));
  EXPECT_THAT(Answer(1), IsError(ErrorCode::kDeadlineExceeded));
  gate_.Open();
  EXPECT_THAT(Answer(2), kCommitted);
  EXPECT_EQ(Stored("t/short"), std::nullopt);
}

TEST_F(LaneTest, ACallerInFlightLeavesAtItsDeadlineNotKnowing) {
  WinHere();
  HoldFirst({}, clock_.Now() + seconds(2));
  Call(Create("t/long", "1"));
  clock_.Advance(seconds(2));
  EXPECT_THAT(Answer(0), IsError(ErrorCode::kOutcomeUnknown));
  faulty_.Clear();
  gate_.Open();
  EXPECT_THAT(Answer(1), kCommitted);
}

TEST_F(LaneTest, WhatNobodyWaitsForIsNotSentAgain) {
  WinHere();
  ASSERT_THAT(store_.Commit(Create("t/taken", "there"), Now(), Soon()), kCommitted);
  HoldFirst();
  Call(Create("t/short", "1"), clock_.Now() + seconds(2));
  Call(Create("t/taken", "mine"));
  Gate second;
  faulty_.Inject(
      {.when = FaultyMetaStore::CommitsOf("t/short"), .fault = {.after = [&] { second.Pass(); }}});
  gate_.Open();
  second.WaitForArrivals(1);
  clock_.Advance(seconds(2));
  EXPECT_THAT(Answer(1), IsError(ErrorCode::kOutcomeUnknown));
  second.Open();
  EXPECT_THAT(Answer(2), IsOkAnd(VariantWith<Rejected>(::testing::_)));
  EXPECT_THAT(store_.Commit(Create("t/last", "1"), Now(), Soon()), kCommitted);
  EXPECT_EQ(Stored("t/short"), std::nullopt);
}

TEST_F(LaneTest, ACombinationMayTakeAsLongAsTheLatestOfItsMembers) {
  WinHere();
  HoldFirst();
  Call(Create("t/a", "1"), clock_.Now() + seconds(3));
  Call(Create("t/b", "1"), clock_.Now() + seconds(5));
  Call(Create("t/c", "1"), clock_.Now() + seconds(4));
  std::optional<Deadline> deadline;
  faulty_.Inject({.when =
                      [&](const FaultyMetaStore::Call& call) {
                        if (call.Names("t/b")) {
                          deadline = call.deadline;
                        }
                        return false;
                      },
                  .fault = {}});
  gate_.Open();
  EXPECT_THAT(Answer(1), kCommitted);
  EXPECT_THAT(Answer(2), kCommitted);
  EXPECT_THAT(Answer(3), kCommitted);
  faulty_.Clear();
  EXPECT_EQ(deadline, clock_.Now() + seconds(5));
}

TEST_F(LaneTest, NothingIsSentAfterTheAuthorityEndedWhileItWaited) {
  WinHere();
  HoldFirst();
  Call(Create("t/a", "1"));
  clock_.Advance(seconds(9));
  gate_.Open();
  EXPECT_THAT(Answer(0), IsError(ErrorCode::kNotLeader));
  EXPECT_THAT(Answer(1), IsError(ErrorCode::kNotLeader));
  EXPECT_THAT(Sent(), ElementsAre(ElementsAre("lease/term", "t/first")));
}

TEST_F(LaneTest, RefusesMoreThanMayWait) {
  WinHere();
  Lane lane(faulty_, clock_, slot_, 1);
  faulty_.Inject({.when = FaultyMetaStore::CommitsOf("t/first"),
                  .fault = {.before = [this] { gate_.Pass(); }}});
  const auto publish = [&](std::string key) {
    return std::make_unique<Thread>("caller", [&lane, this, key = std::move(key)] {
      EXPECT_THAT(lane.Commit(Create(key, "1"), Now(), Soon()), kCommitted);
    });
  };
  const auto first = publish("t/first");
  gate_.WaitForArrivals(1);
  const auto second = publish("t/second");
  clock_.WaitForWaiters(2);
  EXPECT_THAT(lane.Commit(Create("t/third", "1"), Now(), Soon()), IsError(ErrorCode::kUnavailable));
  gate_.Open();
  first->Join();
  second->Join();
}

}  // namespace
}  // namespace lake::lease
