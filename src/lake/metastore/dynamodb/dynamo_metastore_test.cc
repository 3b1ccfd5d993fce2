#include "lake/metastore/dynamodb/dynamo_metastore.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/check.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/metastore/dynamodb/dynamo_client.h"
#include "lake/metastore/dynamodb/dynamo_protocol.h"
#include "lake/metastore/metastore.h"
#include "lake/metastore/transaction.h"
#include "lake/testing/dynamo_fake.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/metastore_suite.h"
#include "lake/testing/seeded_random.h"
#include "lake/testing/time_lapse.h"

namespace lake::testing {
namespace {

using metastore::DynamoMetaStore;

class DynamoHarness final : public MetaStoreHarness {
 public:
  MetaStore& store() override { return store_; }

  ManualClock& clock() override { return clock_; }

  void Reopen() override { LAKE_CHECK(false, "the fake is not durable"); }

 private:
  ManualClock clock_;
  SeededRandom random_{1};
  DynamoFake fake_{clock_};
  // Time passes while requests are under way: none of them may be lost to that.
  DynamoMetaStore store_{fake_,
                         clock_,
                         random_,
                         {.attempt = std::chrono::hours(1),
                          .backoff = std::chrono::milliseconds(1),
                          .backoff_max = std::chrono::milliseconds(8)}};
  const TimeLapse lapse_{clock_};
};

INSTANTIATE_TEST_SUITE_P(Dynamo, MetaStoreSuite,
                         ::testing::Values(MetaStoreBackend{
                             .name = "Default",
                             .make = [] { return std::make_unique<DynamoHarness>(); },
                             .traits = {.exclusive = false, .shared_checks = false}}),
                         MetaStoreBackendName);

using metastore::DynamoClient;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;
using ::testing::VariantWith;

using Code = CancellationReason::Code;
using FaultKind = DynamoFake::Fault::Kind;
using Kind = DynamoError::Kind;
using Value = std::optional<std::string>;

const auto kCommitted = IsOkAnd(VariantWith<Committed>(Committed{}));

// Everything that may have arrived though nobody said so.
constexpr Kind kSilences[] = {Kind::kNoAnswer, Kind::kInternalServerError};

DynamoKey TableKey(const std::string& name) {
  return {.partition = "tbl", .sort = name};
}

// One store over one fake. Pauses take no time; requests take none but what a test lets pass.
class DynamoMetaStoreTest : public ::testing::Test {
 protected:
  DynamoMetaStoreTest() {
    fake_.Inject({.when =
                      [this](const DynamoFake::Call& call) {
                        if (DynamoFake::Transactions(call)) {
                          sent_.push_back({.request = *call.transaction, .when = clock_.Now()});
                        } else {
                          ++reads_;
                        }
                        return false;
                      },
                  .fault = {}});
  }

  struct Sent {
    TransactWriteItems request;
    Instant when;
  };

  Deadline In(Duration time) const { return clock_.Now() + time; }

  Result<CommitResult> Commit(const Transaction& transaction, Duration limit = seconds(30)) {
    return store_.Commit(transaction, In(limit));
  }

  // Writes past the store, and whatever rules there are.
  void Store(const std::string& partition, const std::string& sort, const std::string& value) {
    ASSERT_TRUE(fake_
                    .Run(fake_.Start({.client_request_token = {},
                                      .actions = {{.key = {.partition = partition, .sort = sort},
                                                   .verb = DynamoAction::Verb::kPut,
                                                   .condition = DynamoCondition::None(),
                                                   .value = value}}}))
                    .has_value());
  }

  // Looks past the store at what is visible.
  Value Stored(const std::string& partition, const std::string& sort) {
    const auto read = fake_.TransactGetItems({{.partition = partition, .sort = sort}});
    EXPECT_TRUE(read.has_value());
    return read.has_value() ? read->front() : std::nullopt;
  }

  Value Stored(const std::string& table) { return Stored("tbl", table); }

  // Makes `times` transactions, after the first `skip`, misbehave.
  void Misbehave(DynamoFake::Fault fault, std::size_t skip = 0, std::size_t times = 1) {
    fake_.Inject({.when = DynamoFake::Transactions,
                  .skip = skip,
                  .times = times,
                  .fault = std::move(fault)});
  }

  // Does something before the transaction with this number, counted from 0, arrives.
  void Before(std::size_t number, std::function<void()> what) {
    Misbehave({.before = std::move(what)}, number);
  }

  // Lets somebody else's transaction hold an item until it is run, and is cancelled.
  DynamoFake::TransactionId Hold(const DynamoKey& key) {
    const DynamoFake::TransactionId holder =
        fake_.Start({.client_request_token = {},
                     .actions = {{.key = key,
                                  .verb = DynamoAction::Verb::kDelete,
                                  .condition = DynamoCondition::None()},
                                 {.key = {.partition = "other", .sort = "none"},
                                  .verb = DynamoAction::Verb::kPut,
                                  .condition = DynamoCondition::Equals("never there")}}});
    EXPECT_TRUE(fake_.Step(holder));
    return holder;
  }

  static Transaction Create(const std::string& table, const std::string& value) {
    return Transaction().Put("tbl/" + table, Expectation::Absent(), value);
  }

  ManualClock clock_;
  SeededRandom random_{7};
  DynamoFake fake_{clock_};
  DynamoMetaStore store_{fake_, clock_, random_};
  std::vector<Sent> sent_;  // Every TransactWriteItems of the store.
  std::size_t reads_ = 0;
  const TimeLapse lapse_{clock_};
};

// --- How keys, transactions and scans are mapped.

TEST_F(DynamoMetaStoreTest, ThePartitionPartIsThePartitionKeyAndTheRestTheSortKey) {
  EXPECT_THAT(Commit(Transaction()
                         .Put("tbl/ns/t", Expectation::Any(), "1")
                         .Put("op/0000468915-7/id", Expectation::Any(), "2")),
              kCommitted);
  EXPECT_EQ(Stored("tbl", "ns/t"), "1");
  EXPECT_EQ(Stored("op/0000468915-7", "id"), "2");
  EXPECT_THAT(store_.Scan("op/0000468915-7/", "", 10, In(seconds(1)))->entries,
              ElementsAre(Entry{"op/0000468915-7/id", "2"}));
}

TEST_F(DynamoMetaStoreTest, ACommitIsOneRequestOfItsItemsInOrderThatAsksForAllOldValues) {
  Store("lease", "term", "mine");
  Store("tbl", "old", "1");
  EXPECT_THAT(Commit(Transaction()
                         .Check("lease/term", Expectation::Exactly("mine"))
                         .Put("tbl/new", Expectation::Absent(), "2")
                         .Delete("tbl/old", Expectation::Exactly("1"))
                         .Put("dir/names", Expectation::Any(), "3")),
              kCommitted);
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].request.client_request_token->size(), 36U);
  const auto all_old = DynamoAction::OnFailure::kAllOld;
  EXPECT_THAT(sent_[0].request.actions,
              ElementsAre(DynamoAction{.key = {.partition = "lease", .sort = "term"},
                                       .verb = DynamoAction::Verb::kConditionCheck,
                                       .condition = DynamoCondition::Equals("mine"),
                                       .on_failure = all_old},
                          DynamoAction{.key = {.partition = "tbl", .sort = "new"},
                                       .verb = DynamoAction::Verb::kPut,
                                       .condition = DynamoCondition::Absent(),
                                       .value = "2",
                                       .on_failure = all_old},
                          DynamoAction{.key = {.partition = "tbl", .sort = "old"},
                                       .verb = DynamoAction::Verb::kDelete,
                                       .condition = DynamoCondition::Equals("1"),
                                       .on_failure = all_old},
                          DynamoAction{.key = {.partition = "dir", .sort = "names"},
                                       .verb = DynamoAction::Verb::kPut,
                                       .condition = DynamoCondition::None(),
                                       .value = "3",
                                       .on_failure = all_old}));
}

TEST_F(DynamoMetaStoreTest, ReadsNeverLag) {
  EXPECT_THAT(Commit(Create("t", "1")), kCommitted);
  // Nothing was replicated: an eventually consistent read finds nothing.
  ASSERT_EQ(*fake_.GetItem(TableKey("t"), DynamoRead::kEventual), std::nullopt);
  EXPECT_THAT(store_.Get("tbl/t", In(seconds(1))), IsOkAnd(Value("1")));
  EXPECT_THAT(store_.Scan("tbl/", "", 10, In(seconds(1)))->entries, SizeIs(1));
}

TEST_F(DynamoMetaStoreTest, AScanNeverAsksForAStartThatDynamoDbWouldRefuse) {
  Store("tbl", "a/1", "");
  Store("tbl", "a/2", "");
  const auto keys_after = [&](std::string_view after) {
    const Result<Page> page = store_.Scan("tbl/a/", after, 10, In(seconds(1)));
    EXPECT_THAT(page, IsOk()) << after;
    std::vector<std::string> keys;
    for (const Entry& entry : page.value_or(Page()).entries) {
      keys.push_back(entry.key);
    }
    return keys;
  };
  reads_ = 0;
  for (const std::string_view before : {"", "a", "tbl", "tbl/", "tbl/a", "tbl/a/"}) {
    EXPECT_THAT(keys_after(before), ElementsAre("tbl/a/1", "tbl/a/2")) << before;
  }
  EXPECT_THAT(keys_after("tbl/a/1"), ElementsAre("tbl/a/2"));
  EXPECT_EQ(reads_, 7U);
  for (const std::string_view behind : {"tbl/a0", "tbl/b", "tbl0", "z"}) {
    EXPECT_THAT(keys_after(behind), IsEmpty()) << behind;
  }
  EXPECT_EQ(reads_, 7U) << "nothing can be there: nothing is asked";
}

// --- Conflicts (B1, B2).

// B1.
TEST_F(DynamoMetaStoreTest, TransactionsThatCheckTheSameItemAtOnceBothSucceed) {
  Store("lease", "term", "mine");
  const Transaction second = Transaction()
                                 .Check("lease/term", Expectation::Exactly("mine"))
                                 .Put("tbl/b", Expectation::Absent(), "1");
  // The first transaction has marked the term when the second one begins, and ends after that has
  // met it three times.
  const DynamoFake::TransactionId first =
      fake_.Start({.client_request_token = {},
                   .actions = {{.key = {.partition = "lease", .sort = "term"},
                                .verb = DynamoAction::Verb::kConditionCheck,
                                .condition = DynamoCondition::Equals("mine")}}});
  ASSERT_TRUE(fake_.Step(first));
  Before(3, [&] { EXPECT_TRUE(fake_.Run(first).has_value()); });
  EXPECT_THAT(Commit(second), kCommitted);
  EXPECT_THAT(sent_, SizeIs(4));
}

// B1.
TEST_F(DynamoMetaStoreTest, AConflictIsNeverReportedAsAFailedCondition) {
  Store("lease", "term", "mine");
  for (const DynamoKey& held : {DynamoKey{.partition = "lease", .sort = "term"}, TableKey("t")}) {
    const DynamoFake::TransactionId holder = Hold(held);
    sent_.clear();
    const std::size_t effects = fake_.effect_count();
    const Result<CommitResult> answer =
        Commit(Transaction()
                   .Check("lease/term", Expectation::Exactly("mine"))
                   .Put("tbl/t", Expectation::Absent(), "1"),
               seconds(10));
    EXPECT_THAT(answer, IsError(ErrorCode::kUnavailable)) << "certainly not applied";
    EXPECT_GT(sent_.size(), 5U);
    EXPECT_EQ(fake_.effect_count(), effects);
    EXPECT_FALSE(fake_.Run(holder).has_value());
    EXPECT_EQ(Stored("t"), std::nullopt);
  }
}

// B2.
TEST_F(DynamoMetaStoreTest, NothingIsConcludedFromAFailedConditionBesideAnythingElse) {
  for (const Code code : {Code::kTransactionConflict, Code::kThrottlingError,
                          Code::kProvisionedThroughputExceeded, Code::kOther}) {
    const std::string table = "t" + std::to_string(static_cast<int>(code));
    sent_.clear();
    Store("ns", "a", "other");
    Misbehave({.refusals = {{1, code}}});
    Before(0, [&] { Store("ns", "a", "expected"); });  // The first that the rule above leaves.
    EXPECT_THAT(Commit(Transaction()
                           .Put("ns/a", Expectation::Exactly("expected"), "expected")
                           .Put("tbl/" + table, Expectation::Absent(), "1")),
                kCommitted);
    EXPECT_THAT(sent_, SizeIs(2));
  }
}

// B2.
TEST_F(DynamoMetaStoreTest, AFailedFenceIsConcludedWhateverStandsBesideIt) {
  Store("lease", "term", "theirs");
  Hold(TableKey("t"));
  EXPECT_THAT(
      Commit(Transaction()
                 .Check("lease/term", Expectation::Exactly("mine"))
                 .Put("tbl/t", Expectation::Absent(), "1")),
      IsOkAnd(CommitResult(Rejected{{{.item = 0, .key = "lease/term", .actual = "theirs"}}})));
  EXPECT_THAT(sent_, SizeIs(1));
}

// --- One request, sent again (B3, B4).

// B3.
TEST_F(DynamoMetaStoreTest, EveryAttemptOfACommitIsTheSameRequestAndNoOtherCommits) {
  const std::vector<DynamoFake::Fault> faults = {
      {.refusals = {{0, Code::kTransactionConflict}}},
      {.kind = FaultKind::kLoseRequest, .error = {.kind = Kind::kThrottling}},
      {.kind = FaultKind::kLoseRequest},
      {.kind = FaultKind::kLoseRequest, .error = {.kind = Kind::kTransactionInProgress}},
      {.kind = FaultKind::kLoseAnswer, .error = {.kind = Kind::kInternalServerError}},
  };
  for (const DynamoFake::Fault& fault : faults) {
    Misbehave(fault);
  }
  EXPECT_THAT(Commit(Create("a", "1").Delete("tbl/b", Expectation::Any())), kCommitted);
  ASSERT_THAT(sent_, SizeIs(faults.size() + 1));
  for (const Sent& sent : sent_) {
    EXPECT_EQ(sent.request, sent_[0].request);
  }
  EXPECT_THAT(Commit(Create("c", "1")), kCommitted);
  EXPECT_NE(sent_.back().request.client_request_token, sent_[0].request.client_request_token);
}

// B4. Every way to lose a request or its answer, at every step of the transaction.
TEST_F(DynamoMetaStoreTest, ATransactionWithoutAnAnswerIsAppliedOnce) {
  const std::size_t steps_in_all = 2 + 1 + 2;
  std::vector<DynamoFake::Fault> faults;
  for (const Kind silence : kSilences) {
    faults.push_back({.kind = FaultKind::kLoseRequest, .error = {.kind = silence}});
    faults.push_back({.kind = FaultKind::kLoseAnswer, .error = {.kind = silence}});
    faults.push_back({.kind = FaultKind::kDelayRequest, .error = {.kind = silence}});
    for (std::size_t steps = 0; steps <= steps_in_all; ++steps) {
      faults.push_back({.kind = FaultKind::kStall, .error = {.kind = silence}, .steps = steps});
    }
  }
  faults.push_back({.kind = FaultKind::kDuplicate});
  // Every other time with a condition; without one only the token keeps it from being applied twice.
  for (std::size_t i = 0; i < 2 * faults.size(); ++i) {
    SCOPED_TRACE("fault " + std::to_string(i / 2));
    const Expectation expectation = i % 2 == 0 ? Expectation::Exactly("0") : Expectation::Any();
    const std::string table = "t" + std::to_string(i);
    Store("tbl", table, "0");
    const std::size_t effects = fake_.effect_count();
    sent_.clear();
    Misbehave(faults[i / 2]);
    Before(2, [&] { fake_.RunAll(); });  // What has stalled goes on after a while.
    EXPECT_THAT(Commit(Transaction()
                           .Put("tbl/" + table, expectation, "1")
                           .Put("dir/names", Expectation::Any(), table)),
                kCommitted);
    EXPECT_EQ(fake_.effect_count(), effects + 1);
    // Somebody else goes on from there; then the network delivers what it still has.
    Store("tbl", table, "2");
    Store("dir", "names", "later");
    clock_.Advance(minutes(5));
    fake_.DeliverDelayed();
    EXPECT_EQ(Stored(table), "2");
    EXPECT_EQ(Stored("dir", "names"), "later");
    // Uses up the rule that RunAll came with, where nothing had stalled.
    for (int left = 0; left < 3; ++left) {
      EXPECT_THAT(Commit(Create(table + "/" + std::to_string(left), "1")), kCommitted);
    }
  }
}

TEST_F(DynamoMetaStoreTest, AThrottledTransactionIsSentAgainAndUnavailableIfThatDoesNotEnd) {
  for (const Kind kind :
       {Kind::kThrottling, Kind::kProvisionedThroughputExceeded, Kind::kRequestLimitExceeded}) {
    const std::string table = "t" + std::to_string(static_cast<int>(kind));
    Misbehave({.kind = FaultKind::kLoseRequest, .error = {.kind = kind}}, 0, 4);
    EXPECT_THAT(Commit(Create(table, "1")), kCommitted);
  }
  Misbehave({.kind = FaultKind::kLoseRequest, .error = {.kind = Kind::kThrottling}}, 0,
            DynamoFake::kAlways);
  EXPECT_THAT(Commit(Create("never", "1")), IsError(ErrorCode::kUnavailable));
  EXPECT_EQ(Stored("never"), std::nullopt);
}

TEST_F(DynamoMetaStoreTest, ATransactionInProgressIsSentAgainAndUnknownIfThatDoesNotEnd) {
  Misbehave({.kind = FaultKind::kStall, .steps = 1});
  Before(3, [&] { fake_.RunAll(); });
  EXPECT_THAT(Commit(Create("a", "1")), kCommitted);
  EXPECT_EQ(fake_.effect_count(), 1U);

  Misbehave({.kind = FaultKind::kStall, .steps = 1});
  EXPECT_THAT(Commit(Create("b", "1")), IsError(ErrorCode::kOutcomeUnknown));
  fake_.RunAll();
  EXPECT_EQ(Stored("b"), "1") << "it was right not to say that nothing had happened";
}

TEST_F(DynamoMetaStoreTest, ARefusalIsNotSentAgain) {
  const std::vector<std::pair<Kind, ErrorCode>> refusals = {
      {Kind::kValidation, ErrorCode::kInvalidArgument},
      {Kind::kResourceNotFound, ErrorCode::kUnavailable},
      {Kind::kAccessDenied, ErrorCode::kUnavailable}};
  for (const auto& [kind, code] : refusals) {
    sent_.clear();
    Misbehave({.kind = FaultKind::kLoseRequest, .error = {.kind = kind}});
    EXPECT_THAT(Commit(Create("t", "1")), IsError(code));
    EXPECT_THAT(sent_, SizeIs(1));
    // But if an attempt before it may have been applied, that is what counts.
    Misbehave({.kind = FaultKind::kDelayRequest});
    Misbehave({.kind = FaultKind::kLoseRequest, .error = {.kind = kind}});
    EXPECT_THAT(Commit(Create("t", "1")), IsError(ErrorCode::kOutcomeUnknown));
  }
}

// --- Reading back.

TEST_F(DynamoMetaStoreTest, WithoutAnyAnswerItIsReadBack) {
  for (const Kind silence : kSilences) {
    const std::string table = "t" + std::to_string(static_cast<int>(silence));
    // The first is applied, and so said to each of the others; but no answer comes through.
    fake_.Inject({.when = DynamoFake::TransactionsOf(TableKey(table)),
                  .times = DynamoFake::kAlways,
                  .fault = {.kind = FaultKind::kLoseAnswer, .error = {.kind = silence}}});
    reads_ = 0;
    EXPECT_THAT(Commit(Create(table, "1").Delete("tbl/x", Expectation::Any())), kCommitted);
    EXPECT_EQ(reads_, 1U);
  }
}

TEST_F(DynamoMetaStoreTest, WithoutAnyAnswerNorATraceItIsUnknown) {
  fake_.Inject({.when = DynamoFake::TransactionsOf(TableKey("lost")),
                .times = DynamoFake::kAlways,
                .fault = {.kind = FaultKind::kDelayRequest}});
  EXPECT_THAT(Commit(Create("lost", "1")), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_EQ(Stored("lost"), std::nullopt);
  fake_.DeliverDelayed();
  EXPECT_EQ(Stored("lost"), "1") << "nothing had happened, and nothing had been excluded";
}

TEST_F(DynamoMetaStoreTest, AStateThatMayHaveBeenThereBeforeIsNoProof) {
  Store("dir", "names", "1");
  Misbehave({.kind = FaultKind::kLoseRequest}, 0, DynamoFake::kAlways);
  reads_ = 0;
  EXPECT_THAT(Commit(Transaction()
                         .Put("dir/names", Expectation::Any(), "1")
                         .Delete("tbl/none", Expectation::Any())),
              IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_EQ(reads_, 0U) << "no state could tell";
}

TEST_F(DynamoMetaStoreTest, WhatCannotBeReadBackIsUnknown) {
  fake_.Inject({.when = DynamoFake::TransactionsOf(TableKey("t")),
                .times = DynamoFake::kAlways,
                .fault = {.kind = FaultKind::kLoseAnswer}});
  fake_.Inject(
      {.when =
           [](const DynamoFake::Call& call) {
             return call.method == DynamoFake::Method::kTransactGetItems;
           },
       .fault = {.kind = FaultKind::kLoseRequest, .error = {.kind = Kind::kAccessDenied}}});
  EXPECT_THAT(Commit(Create("t", "1")), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_EQ(Stored("t"), "1");
}

// The network keeps the first request, the second is rejected, and later its condition holds again.
TEST_F(DynamoMetaStoreTest, ARejectionAfterAnUnansweredAttemptIsUnknownForTheFirstMayStillArrive) {
  Store("tbl", "t", "base");
  Misbehave({.kind = FaultKind::kDelayRequest});
  Before(0, [&] { Store("tbl", "t", "other"); });
  EXPECT_THAT(Commit(Transaction().Put("tbl/t", Expectation::Exactly("base"), "mine")),
              IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_THAT(sent_, SizeIs(2));
  Store("tbl", "t", "base");
  fake_.DeliverDelayed();
  EXPECT_EQ(Stored("t"), "mine");
}

TEST_F(DynamoMetaStoreTest, AFailedFenceAfterAnUnansweredAttemptIsARejectionForItFailsForEver) {
  Store("lease", "term", "mine");
  Misbehave({.kind = FaultKind::kDelayRequest});
  Before(0, [&] { Store("lease", "term", "theirs"); });
  EXPECT_THAT(
      Commit(Transaction()
                 .Check("lease/term", Expectation::Exactly("mine"))
                 .Put("tbl/t", Expectation::Absent(), "1")),
      IsOkAnd(CommitResult(Rejected{{{.item = 0, .key = "lease/term", .actual = "theirs"}}})));
  fake_.DeliverDelayed();
  EXPECT_EQ(Stored("t"), std::nullopt);
}

TEST_F(DynamoMetaStoreTest, AFailedFenceThatCannotBeReadBackIsUnknown) {
  Store("lease", "term", "mine");
  Misbehave({.kind = FaultKind::kDelayRequest});
  Before(0, [&] { Store("lease", "term", "theirs"); });
  fake_.Inject({.when =
                    [](const DynamoFake::Call& call) {
                      return call.method == DynamoFake::Method::kTransactGetItems;
                    },
                .times = DynamoFake::kAlways,
                .fault = {.kind = FaultKind::kLoseRequest}});
  EXPECT_THAT(Commit(Transaction()
                         .Check("lease/term", Expectation::Exactly("mine"))
                         .Put("tbl/t", Expectation::Absent(), "1")),
              IsError(ErrorCode::kOutcomeUnknown));
}

// A service that does not know tokens, as some that speak this protocol do not.
class TokenlessClient final : public DynamoClient {
 public:
  explicit TokenlessClient(DynamoClient& under) : under_(under) {}

  DynamoAnswer<void> Transact(const TransactWriteItems& request, Deadline deadline) override {
    return under_.Transact({.client_request_token = {}, .actions = request.actions}, deadline);
  }

  DynamoAnswer<Value> GetItem(const DynamoKey& key, DynamoRead read, Deadline deadline) override {
    return under_.GetItem(key, read, deadline);
  }

  DynamoAnswer<std::vector<Value>> TransactGetItems(const std::vector<DynamoKey>& keys,
                                                    Deadline deadline) override {
    return under_.TransactGetItems(keys, deadline);
  }

  DynamoAnswer<DynamoPage> Query(const DynamoQuery& query, Deadline deadline) override {
    return under_.Query(query, deadline);
  }

 private:
  DynamoClient& under_;
};

// B3, B4: the second attempt meets what the first one did.
TEST_F(DynamoMetaStoreTest, ARejectionByItsOwnEffectIsCommittedThoughTheTokenIsNotKnown) {
  TokenlessClient client(fake_);
  DynamoMetaStore store(client, clock_, random_);
  Store("lease", "term", "mine");
  Misbehave({.kind = FaultKind::kLoseAnswer});
  EXPECT_THAT(store.Commit(Create("t", "1"), In(seconds(30))), kCommitted);
  EXPECT_EQ(Stored("t"), "1");
  // And if the fence is gone by then.
  Misbehave({.kind = FaultKind::kLoseAnswer});
  Before(0, [&] { Store("lease", "term", "theirs"); });
  EXPECT_THAT(store.Commit(Transaction()
                               .Check("lease/term", Expectation::Exactly("mine"))
                               .Put("tbl/t", Expectation::Exactly("1"), "2"),
                           In(seconds(30))),
              kCommitted);
  EXPECT_EQ(Stored("t"), "2");
}

// --- Time.

TEST_F(DynamoMetaStoreTest, StopsSendingNineMinutesAfterTheFirstSending) {
  fake_.Inject({.when = DynamoFake::TransactionsOf(TableKey("t")),
                .times = DynamoFake::kAlways,
                .fault = {.kind = FaultKind::kLoseRequest}});
  const Instant begin = clock_.Now();
  EXPECT_THAT(Commit(Create("t", "1"), hours(24)), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_GT(sent_.size(), 100U);
  EXPECT_LT(sent_.back().when, begin + minutes(9));
  EXPECT_GT(sent_.back().when, begin + minutes(8)) << "the caller had time";
}

TEST_F(DynamoMetaStoreTest, NeverSendsWhatDynamoDbMayHaveForgotten) {
  // The process stands still after the first attempt; and then, in another commit, between looking
  // at the clock and sending the second.
  for (const bool while_sending : {false, true}) {
    const std::string table = while_sending ? "a" : "b";
    const auto pause = [&] { clock_.Advance(minutes(11)); };
    sent_.clear();
    Misbehave(while_sending ? DynamoFake::Fault{.kind = FaultKind::kLoseAnswer}
                            : DynamoFake::Fault{.kind = FaultKind::kLoseAnswer, .after = pause});
    if (while_sending) {
      Before(0, pause);
    }
    const std::size_t effects = fake_.effect_count();
    EXPECT_THAT(Commit(Create(table, "1"), hours(1)), kCommitted) << "by reading back";
    EXPECT_EQ(fake_.effect_count(), effects + 1);
    EXPECT_THAT(sent_, SizeIs(while_sending ? 2 : 1)) << "the client did not let the second out";
  }
}

TEST_F(DynamoMetaStoreTest, OneRequestThatHangsLeavesTimeForAnother) {
  Misbehave({.before = [&] { clock_.Advance(seconds(1)); }});
  EXPECT_THAT(Commit(Create("t", "1"), seconds(3)), kCommitted);
  EXPECT_THAT(sent_, SizeIs(2));
}

TEST_F(DynamoMetaStoreTest, PausesGrowUpToABoundAndAreDrawn) {
  const auto pauses = [&](std::uint64_t seed) {
    SeededRandom random(seed);
    DynamoMetaStore store(
        fake_, clock_, random,
        {.attempt = seconds(1), .backoff = milliseconds(10), .backoff_max = milliseconds(80)});
    sent_.clear();
    Misbehave({.kind = FaultKind::kLoseRequest, .error = {.kind = Kind::kThrottling}}, 0, 40);
    EXPECT_THAT(store.Commit(Create("t" + std::to_string(seed), "1"), In(minutes(1))), kCommitted);
    std::vector<Duration> found;
    for (std::size_t i = 1; i < sent_.size(); ++i) {
      found.push_back(sent_[i].when - sent_[i - 1].when);
    }
    return found;
  };
  const std::vector<Duration> first = pauses(1);
  ASSERT_THAT(first, SizeIs(40));
  EXPECT_THAT(first, Each(AllOf(Ge(Duration(1)), Le(milliseconds(80)))));
  EXPECT_LE(first[0], milliseconds(10));
  EXPECT_LE(first[1], milliseconds(20));
  EXPECT_GT(*std::ranges::max_element(first), milliseconds(40)) << "they grow";
  EXPECT_NE(first, pauses(2)) << "two who met do not meet again";
}

// --- Reads.

TEST_F(DynamoMetaStoreTest, ReadsAreSentAgainUntilTheDeadline) {
  Store("tbl", "t", "1");
  for (const Kind kind : {Kind::kNoAnswer, Kind::kInternalServerError, Kind::kThrottling}) {
    const auto fail = [&](std::size_t times) {
      fake_.Inject({.when = DynamoFake::AnyCall,
                    .times = times,
                    .fault = {.kind = FaultKind::kLoseRequest, .error = {.kind = kind}}});
    };
    fail(3);
    EXPECT_THAT(store_.Get("tbl/t", In(seconds(10))), IsOkAnd(Value("1")));
    fail(3);
    EXPECT_THAT(store_.GetTogether({"tbl/t"}, In(seconds(10))), IsOkAnd(ElementsAre("1")));
    fail(3);
    EXPECT_THAT(store_.Scan("tbl/", "", 10, In(seconds(10))), IsOk());
  }
  fake_.Inject({.when = DynamoFake::AnyCall,
                .times = DynamoFake::kAlways,
                .fault = {.kind = FaultKind::kLoseRequest}});
  EXPECT_THAT(store_.Get("tbl/t", In(seconds(10))), IsError(ErrorCode::kUnavailable));
  EXPECT_THAT(store_.GetTogether({"tbl/t"}, In(seconds(10))), IsError(ErrorCode::kUnavailable));
  EXPECT_THAT(store_.Scan("tbl/", "", 10, In(seconds(10))), IsError(ErrorCode::kUnavailable));
}

TEST_F(DynamoMetaStoreTest, AnItemThatIsNotLakesIsCorruption) {
  fake_.Inject(
      {.when = DynamoFake::AnyCall,
       .times = 3,
       .fault = {.kind = FaultKind::kLoseRequest, .error = {.kind = Kind::kMalformedItem}}});
  EXPECT_THAT(store_.Get("tbl/t", In(seconds(10))), IsError(ErrorCode::kCorruption));
  EXPECT_THAT(store_.GetTogether({"tbl/t"}, In(seconds(10))), IsError(ErrorCode::kCorruption));
  EXPECT_THAT(store_.Scan("tbl/", "", 10, In(seconds(10))), IsError(ErrorCode::kCorruption));
}

// Decided, and not yet visible: whoever must know asks in a way that cannot be deceived.
TEST_F(DynamoMetaStoreTest, OnlyAPlainReadTakesADecidedItemForAbsent) {
  const TransactWriteItems decided{.client_request_token = {},
                                   .actions = {{.key = TableKey("t"),
                                                .verb = DynamoAction::Verb::kPut,
                                                .condition = DynamoCondition::Absent(),
                                                .value = "1"}}};
  const DynamoFake::TransactionId writer = fake_.Start(decided);
  for (std::size_t i = 0; i < DynamoFake::StepsToDecision(decided); ++i) {
    ASSERT_TRUE(fake_.Step(writer));
  }
  ASSERT_EQ(fake_.PhaseOf(writer), DynamoFake::Phase::kCommitted);

  EXPECT_THAT(store_.Get("tbl/t", In(seconds(5))), IsOkAnd(std::nullopt)) << "as documented";
  EXPECT_THAT(store_.GetTogether({"tbl/t"}, In(seconds(5))), IsError(ErrorCode::kUnavailable));
  EXPECT_THAT(Commit(Transaction().Check("tbl/t", Expectation::Absent()), seconds(5)),
              IsError(ErrorCode::kUnavailable));
  EXPECT_THAT(Commit(Create("t", "2"), seconds(5)), IsError(ErrorCode::kUnavailable));

  // They wait until it is visible.
  fake_.Inject({.when = DynamoFake::AnyCall,
                .skip = 2,
                .fault = {.before = [&] { EXPECT_TRUE(fake_.Run(writer).has_value()); }}});
  EXPECT_THAT(store_.GetTogether({"tbl/t"}, In(seconds(5))), IsOkAnd(ElementsAre("1")));
  EXPECT_THAT(Commit(Create("t", "2")),
              IsOkAnd(CommitResult(Rejected{{{.item = 0, .key = "tbl/t", .actual = "1"}}})));
}

// The store itself settles an unanswered commit; the decision has fallen, nothing is visible.
TEST_F(DynamoMetaStoreTest, AReadBackWaitsForADecidedTransactionToBecomeVisible) {
  Misbehave({.kind = FaultKind::kStall, .steps = 2});
  // The others are lost, until nine minutes are over and it is read back, twice in vain.
  fake_.Inject({.when = DynamoFake::TransactionsOf(TableKey("t")),
                .times = DynamoFake::kAlways,
                .fault = {.kind = FaultKind::kLoseRequest}});
  fake_.Inject(
      {.when = DynamoFake::AnyCall, .skip = 2, .fault = {.before = [&] { fake_.RunAll(); }}});
  EXPECT_THAT(Commit(Create("t", "1"), hours(1)), kCommitted);
  EXPECT_EQ(reads_, 3U);
}

}  // namespace
}  // namespace lake::testing
