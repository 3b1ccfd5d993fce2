#include "lake/testing/dynamo_fake.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/time.h"
#include "lake/metastore/dynamodb/dynamo_protocol.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/run_together.h"

namespace lake::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

using metastore::kDynamoItemBytesMax;
using metastore::kDynamoTransactionBytesMax;

using Code = CancellationReason::Code;
using FaultKind = DynamoFake::Fault::Kind;
using Kind = DynamoError::Kind;
using OnFailure = DynamoAction::OnFailure;
using Phase = DynamoFake::Phase;
using TransactionId = DynamoFake::TransactionId;
using Value = std::optional<std::string>;
using Verb = DynamoAction::Verb;

// Matches an answer that succeeded.
MATCHER(Succeeds, "") {
  if (!arg.has_value()) {
    *result_listener << "fails with kind " << static_cast<int>(arg.error().kind) << ": "
                     << arg.error().message;
  }
  return arg.has_value();
}

// Matches an answer that succeeded with this value.
MATCHER_P(Gives, value, "") {
  return arg.has_value() && ::testing::ExplainMatchResult(value, *arg, result_listener);
}

// Matches an answer that is an error of this kind.
MATCHER_P(Fails, kind, "") {
  if (!arg.has_value()) {
    *result_listener << "fails with kind " << static_cast<int>(arg.error().kind) << ": "
                     << arg.error().message;
  }
  return !arg.has_value() && arg.error().kind == kind;
}

// Matches a cancellation with these codes, one per action.
template <typename... Codes>
auto IsCancelledWith(Codes... codes) {
  return ::testing::ResultOf(
      [](const auto& answer) {
        std::vector<Code> found;
        if (!answer.has_value() && answer.error().kind == Kind::kTransactionCanceled) {
          for (const CancellationReason& reason : answer.error().reasons) {
            found.push_back(reason.code);
          }
        }
        return found;
      },
      ElementsAre(codes...));
}

DynamoKey Key(const std::string& sort) {
  return {.partition = "p", .sort = sort};
}

DynamoAction Check(const std::string& sort, DynamoCondition condition) {
  return {.key = Key(sort), .verb = Verb::kConditionCheck, .condition = std::move(condition)};
}

DynamoAction Put(const std::string& sort, std::string value,
                 DynamoCondition condition = DynamoCondition::None()) {
  return {.key = Key(sort),
          .verb = Verb::kPut,
          .condition = std::move(condition),
          .value = std::move(value)};
}

DynamoAction Delete(const std::string& sort, DynamoCondition condition = DynamoCondition::None()) {
  return {.key = Key(sort), .verb = Verb::kDelete, .condition = std::move(condition)};
}

TransactWriteItems Request(std::vector<DynamoAction> actions) {
  return {.client_request_token = {}, .actions = std::move(actions)};
}

TransactWriteItems WithToken(std::string token, std::vector<DynamoAction> actions) {
  return {.client_request_token = std::move(token), .actions = std::move(actions)};
}

class DynamoFakeTest : public ::testing::Test {
 protected:
  // Writes past every rule.
  void Store(const std::string& sort, const std::string& value) {
    ASSERT_THAT(fake_.Run(fake_.Start(Request({Put(sort, value)}))), Succeeds());
  }

  Value Stored(const std::string& sort) { return *fake_.GetItem(Key(sort), DynamoRead::kStrong); }

  void Steps(TransactionId id, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(fake_.Step(id));
    }
  }

  // Makes the next transaction misbehave.
  void Next(DynamoFake::Fault fault) {
    fake_.Inject({.when = DynamoFake::Transactions, .fault = std::move(fault)});
  }

  ManualClock clock_;
  DynamoFake fake_{clock_};
};

// --- All or nothing, and the reasons.

TEST_F(DynamoFakeTest, AppliesEveryActionWhenEveryConditionHolds) {
  Store("checked", "1");
  Store("changed", "1");
  Store("gone", "1");
  EXPECT_THAT(fake_.Transact(Request({Check("checked", DynamoCondition::Equals("1")),
                                      Put("changed", "2", DynamoCondition::Equals("1")),
                                      Put("new", "1", DynamoCondition::Absent()), Delete("gone"),
                                      Delete("never there")})),
              Succeeds());
  EXPECT_EQ(Stored("checked"), "1");
  EXPECT_EQ(Stored("changed"), "2");
  EXPECT_EQ(Stored("new"), "1");
  EXPECT_EQ(Stored("gone"), std::nullopt);
}

TEST_F(DynamoFakeTest, OneFailedConditionCancelsAllAndEveryActionGetsItsReason) {
  Store("a", "1");
  Store("b", "1");
  EXPECT_THAT(fake_.Transact(Request({Put("new", "1"), Put("a", "2", DynamoCondition::Absent()),
                                      Check("b", DynamoCondition::Equals("1")),
                                      Delete("c", DynamoCondition::Equals("1"))})),
              IsCancelledWith(Code::kNone, Code::kConditionalCheckFailed, Code::kNone,
                              Code::kConditionalCheckFailed));
  EXPECT_EQ(Stored("new"), std::nullopt);
  EXPECT_EQ(Stored("a"), "1");
  EXPECT_EQ(fake_.effect_count(), 2U);
}

TEST_F(DynamoFakeTest, AFailedConditionShowsTheOldItemOnlyIfAskedAndThere) {
  Store("a", "old");
  Store("b", "old");
  DynamoAction silent = Put("b", "2", DynamoCondition::Absent());
  silent.on_failure = OnFailure::kNone;
  const DynamoAnswer<void> answer =
      fake_.Transact(Request({Put("a", "2", DynamoCondition::Equals("1")), silent,
                              Check("absent", DynamoCondition::Equals("1"))}));
  ASSERT_THAT(answer, Fails(Kind::kTransactionCanceled));
  EXPECT_THAT(answer.error().reasons, ElementsAre(Field(&CancellationReason::item, Value("old")),
                                                  Field(&CancellationReason::item, std::nullopt),
                                                  Field(&CancellationReason::item, std::nullopt)));
}

TEST_F(DynamoFakeTest, AnAbsentItemDoesNotEqualTheEmptyValue) {
  EXPECT_THAT(fake_.Transact(Request({Check("a", DynamoCondition::Equals(""))})),
              IsCancelledWith(Code::kConditionalCheckFailed));
  Store("a", "");
  EXPECT_THAT(fake_.Transact(Request({Check("a", DynamoCondition::Equals(""))})), Succeeds());
}

// --- Conflicts.

TEST_F(DynamoFakeTest, EveryOverlapOfTwoTransactionsIsAConflict) {
  Store("x", "1");
  const std::vector<DynamoAction> actions = {Check("x", DynamoCondition::Equals("1")),
                                             Put("x", "1"), Delete("x")};
  for (const DynamoAction& first : actions) {
    for (const DynamoAction& second : actions) {
      const TransactionId holder = fake_.Start(Request({first}));
      Steps(holder, 1);
      EXPECT_THAT(fake_.Transact(Request({Put("other", "1"), second})),
                  IsCancelledWith(Code::kNone, Code::kTransactionConflict));
      EXPECT_THAT(fake_.Run(holder), Succeeds());
      Store("x", "1");
    }
  }
  EXPECT_EQ(Stored("other"), std::nullopt);
}

TEST_F(DynamoFakeTest, AMissingItemConflictsToo) {
  const TransactionId holder = fake_.Start(Request({Check("missing", DynamoCondition::Absent())}));
  Steps(holder, 1);
  EXPECT_THAT(fake_.Transact(Request({Put("missing", "1")})),
              IsCancelledWith(Code::kTransactionConflict));
}

TEST_F(DynamoFakeTest, AConflictHidesWhatTheConditionWouldSayButNotTheOtherReasons) {
  Store("held", "1");
  Store("free", "1");
  const TransactionId holder = fake_.Start(Request({Put("held", "2")}));
  Steps(holder, 1);
  EXPECT_THAT(fake_.Transact(Request({Check("held", DynamoCondition::Absent()),
                                      Check("free", DynamoCondition::Absent())})),
              IsCancelledWith(Code::kTransactionConflict, Code::kConditionalCheckFailed));
}

TEST_F(DynamoFakeTest, AMarkHoldsFromItsOwnPreparingToItsOwnFinishing) {
  const TransactWriteItems holding = Request({Put("x", "1"), Put("y", "1")});
  const TransactWriteItems probe = Request({Check("y", DynamoCondition::Absent())});
  // Two preparings, the decision, two finishings: "y" is marked after the 2nd, 3rd and 4th step.
  for (std::size_t steps = 0; steps <= 5; ++steps) {
    DynamoFake fake(clock_);
    const TransactionId holder = fake.Start(holding);
    for (std::size_t i = 0; i < steps; ++i) {
      ASSERT_TRUE(fake.Step(holder));
    }
    const DynamoAnswer<void> answer = fake.Transact(probe);
    if (steps < 2) {
      EXPECT_THAT(answer, Succeeds()) << steps;
    } else if (steps < 5) {
      EXPECT_THAT(answer, IsCancelledWith(Code::kTransactionConflict)) << steps;
    } else {
      EXPECT_THAT(answer, IsCancelledWith(Code::kConditionalCheckFailed)) << steps;
      EXPECT_FALSE(fake.Step(holder));
    }
  }
}

TEST_F(DynamoFakeTest, TwoTransactionsInOppositeOrderCanRefuseEachOther) {
  const TransactionId first = fake_.Start(Request({Put("x", "1"), Put("y", "1")}));
  const TransactionId second = fake_.Start(Request({Put("y", "2"), Put("x", "2")}));
  Steps(first, 1);
  Steps(second, 2);
  EXPECT_THAT(fake_.Run(first), IsCancelledWith(Code::kNone, Code::kTransactionConflict));
  EXPECT_THAT(fake_.Run(second), IsCancelledWith(Code::kNone, Code::kTransactionConflict));
  EXPECT_EQ(Stored("x"), std::nullopt);
  EXPECT_EQ(Stored("y"), std::nullopt);
}

TEST_F(DynamoFakeTest, ACancelledTransactionHoldsItsMarksUntilEachIsLifted) {
  Store("bad", "1");
  const TransactionId loser = fake_.Start(
      Request({Put("x", "1"), Put("y", "1"), Put("bad", "2", DynamoCondition::Absent())}));
  Steps(loser, 4);
  EXPECT_EQ(fake_.PhaseOf(loser), Phase::kCancelled);
  EXPECT_EQ(fake_.AnswerOf(loser), std::nullopt);
  EXPECT_THAT(fake_.Transact(Request({Put("x", "2"), Put("y", "2"), Put("bad", "3")})),
              IsCancelledWith(Code::kTransactionConflict, Code::kTransactionConflict, Code::kNone));
  Steps(loser, 1);
  EXPECT_THAT(fake_.Transact(Request({Put("x", "2")})), Succeeds());
  Steps(loser, 1);
  EXPECT_EQ(fake_.PhaseOf(loser), Phase::kEnded);
  EXPECT_THAT(fake_.Transact(Request({Put("y", "2")})), Succeeds());
}

TEST_F(DynamoFakeTest, TransactionsWithoutACommonItemDoNotDisturbEachOther) {
  const TransactionId first = fake_.Start(Request({Put("x", "1")}));
  Steps(first, 1);
  EXPECT_THAT(fake_.Transact(Request({Put("y", "1")})), Succeeds());
  EXPECT_THAT(fake_.Run(first), Succeeds());
}

TEST_F(DynamoFakeTest, ASingleWriteOfAMarkedItemIsAConflict) {
  Store("x", "1");
  const TransactionId holder = fake_.Start(Request({Check("x", DynamoCondition::Equals("1"))}));
  Steps(holder, 1);
  EXPECT_THAT(fake_.Write(Put("x", "2")), Fails(Kind::kTransactionConflict));
  EXPECT_THAT(fake_.Write(Delete("x", DynamoCondition::Absent())),
              Fails(Kind::kTransactionConflict));
  EXPECT_THAT(fake_.Run(holder), Succeeds());
  EXPECT_THAT(fake_.Write(Put("x", "2")), Succeeds());
  EXPECT_EQ(Stored("x"), "2");
}

TEST_F(DynamoFakeTest, ASingleWriteObeysItsCondition) {
  EXPECT_THAT(fake_.Write(Put("x", "1", DynamoCondition::Absent())), Succeeds());
  const DynamoAnswer<void> refused = fake_.Write(Put("x", "2", DynamoCondition::Absent()));
  ASSERT_THAT(refused, Fails(Kind::kConditionalCheckFailed));
  EXPECT_EQ(refused.error().item, "1");
  EXPECT_THAT(fake_.Write(Delete("x", DynamoCondition::Equals("1"))), Succeeds());
  EXPECT_EQ(Stored("x"), std::nullopt);
}

// --- What reads see.

TEST_F(DynamoFakeTest, APlainReadNeverConflictsAndSeesTheOldValueUntilItsItemIsApplied) {
  Store("x", "old");
  Store("y", "old");
  const TransactionId writer = fake_.Start(Request({Put("x", "new"), Put("y", "new")}));
  Steps(writer, 3);
  EXPECT_EQ(fake_.PhaseOf(writer), Phase::kCommitted);
  EXPECT_EQ(Stored("x"), "old") << "decided, but not visible";
  Steps(writer, 1);
  EXPECT_EQ(Stored("x"), "new");
  EXPECT_EQ(Stored("y"), "old") << "items become visible one by one";
  EXPECT_EQ(fake_.AnswerOf(writer), std::nullopt);
  Steps(writer, 1);
  EXPECT_EQ(Stored("y"), "new");
  EXPECT_THAT(*fake_.AnswerOf(writer), Succeeds());
}

TEST_F(DynamoFakeTest, ItemsMayBePreparedAndBecomeVisibleInAnyOrder) {
  const TransactionId writer = fake_.Start(Request({Put("x", "1"), Put("y", "1")}));
  fake_.StepAction(writer, 1);
  EXPECT_THAT(fake_.Write(Put("y", "2")), Fails(Kind::kTransactionConflict));
  EXPECT_THAT(fake_.Write(Put("x", "0")), Succeeds());
  Steps(writer, 2);
  ASSERT_EQ(fake_.PhaseOf(writer), Phase::kCommitted);
  fake_.StepAction(writer, 1);
  EXPECT_EQ(Stored("x"), "0");
  EXPECT_EQ(Stored("y"), "1");
  EXPECT_THAT(fake_.Run(writer), Succeeds());
  EXPECT_EQ(Stored("x"), "1");
}

TEST_F(DynamoFakeTest, ATransactionalReadSeesAllOfATransactionOrConflicts) {
  const TransactWriteItems request =
      Request({Put("x", "new"), Put("y", "new"), Check("z", DynamoCondition::Absent())});
  const std::size_t steps_in_all = 7;
  for (std::size_t steps = 0; steps <= steps_in_all; ++steps) {
    DynamoFake fake(clock_);
    const TransactionId writer = fake.Start(request);
    for (std::size_t i = 0; i < steps; ++i) {
      ASSERT_TRUE(fake.Step(writer));
    }
    const auto read = fake.TransactGetItems({Key("x"), Key("y")});
    if (steps == 0) {
      EXPECT_THAT(read, Gives(ElementsAre(std::nullopt, std::nullopt)));
    } else if (steps < 6) {
      EXPECT_THAT(read, Fails(Kind::kTransactionCanceled)) << steps;
    } else {
      EXPECT_THAT(read, Gives(ElementsAre(Value("new"), Value("new"))));
    }
    if (steps >= 3 && steps < steps_in_all) {
      EXPECT_THAT(fake.TransactGetItems({Key("free"), Key("z")}),
                  IsCancelledWith(Code::kNone, Code::kTransactionConflict));
    }
  }
}

TEST_F(DynamoFakeTest, AQueryMixesOldAndNewItemsOfATransaction) {
  const TransactionId writer = fake_.Start(Request({Put("x", "new"), Put("y", "new")}));
  Steps(writer, 4);
  const auto page = fake_.Query({.partition = "p"});
  EXPECT_THAT(page, Gives(Field(&DynamoPage::items,
                                ElementsAre(DynamoPage::Item{.sort = "x", .value = "new"}))));
}

TEST_F(DynamoFakeTest, AnEventuallyConsistentReadLags) {
  Store("x", "1");
  EXPECT_THAT(fake_.GetItem(Key("x"), DynamoRead::kEventual), Gives(Value()));
  fake_.Replicate();
  Store("x", "2");
  EXPECT_THAT(fake_.GetItem(Key("x"), DynamoRead::kEventual), Gives(Value("1")));
  EXPECT_THAT(
      fake_.Query({.partition = "p", .read = DynamoRead::kEventual}),
      Gives(Field(&DynamoPage::items, ElementsAre(DynamoPage::Item{.sort = "x", .value = "1"}))));
  EXPECT_EQ(Stored("x"), "2");
}

TEST_F(DynamoFakeTest, AQueryStaysInItsPartitionAndPrefixInByteOrder) {
  Store("b", "");
  Store("a/2", "");
  Store("a/1", "");
  Store("a/\xff", "");
  Store("a", "");
  ASSERT_THAT(
      fake_.Write({.key = {.partition = "q", .sort = "a/3"}, .verb = Verb::kPut, .condition = {}}),
      Succeeds());
  const auto sorts = [&](const DynamoQuery& query) {
    std::vector<std::string> found;
    const DynamoAnswer<DynamoPage> page = fake_.Query(query);
    for (const DynamoPage::Item& item : page->items) {
      found.push_back(item.sort);
    }
    return found;
  };
  EXPECT_THAT(sorts({.partition = "p"}), ElementsAre("a", "a/1", "a/2", "a/\xff", "b"));
  EXPECT_THAT(sorts({.partition = "p", .prefix = "a/"}), ElementsAre("a/1", "a/2", "a/\xff"));
  EXPECT_THAT(sorts({.partition = "p", .prefix = "a/", .after = "a/1"}),
              ElementsAre("a/2", "a/\xff"));
  EXPECT_THAT(sorts({.partition = "p", .prefix = "a/", .after = "a/15"}),
              ElementsAre("a/2", "a/\xff"));
  EXPECT_THAT(sorts({.partition = "nothing"}), IsEmpty());
}

TEST_F(DynamoFakeTest, APageEndedByItsLimitHasAContinuationEvenIfNothingFollows) {
  Store("a", "1");
  Store("b", "1");
  EXPECT_EQ(fake_.Query({.partition = "p", .limit = 1})->last_evaluated, "a");
  EXPECT_EQ(fake_.Query({.partition = "p", .limit = 2})->last_evaluated, "b");
  EXPECT_EQ(fake_.Query({.partition = "p", .limit = 3})->last_evaluated, std::nullopt);
  EXPECT_THAT(fake_.Query({.partition = "p", .after = "b", .limit = 2}), Gives(DynamoPage{}));
}

TEST_F(DynamoFakeTest, APageEndsAtOneMegabyte) {
  const std::string large(kDynamoItemBytesMax - 10, 'x');
  for (const char* sort : {"a", "b", "c"}) {
    Store(sort, large);
  }
  const auto page = fake_.Query({.partition = "p"});
  ASSERT_THAT(page, Succeeds());
  EXPECT_EQ(page->items.size(), 2U);
  EXPECT_EQ(page->last_evaluated, "b");
}

// --- Tokens.

TEST_F(DynamoFakeTest, TheSameRequestWithItsTokenSucceedsAgainWithoutAnEffect) {
  const TransactWriteItems request = WithToken("t", {Put("x", "1", DynamoCondition::Absent())});
  EXPECT_THAT(fake_.Transact(request), Succeeds());
  EXPECT_THAT(fake_.Write(Put("x", "2")), Succeeds());
  EXPECT_THAT(fake_.Transact(request), Succeeds());
  EXPECT_EQ(Stored("x"), "2");
  EXPECT_EQ(fake_.effect_count(), 1U);
}

TEST_F(DynamoFakeTest, WithoutATokenASecondSendingIsANewRequest) {
  const TransactWriteItems request = Request({Put("x", "1")});
  EXPECT_THAT(fake_.Transact(request), Succeeds());
  EXPECT_THAT(fake_.Write(Put("x", "2")), Succeeds());
  EXPECT_THAT(fake_.Transact(request), Succeeds());
  EXPECT_EQ(Stored("x"), "1");
}

TEST_F(DynamoFakeTest, ATokenIsRememberedForTenMinutesFromTheCompletion) {
  const TransactWriteItems request = WithToken("t", {Put("x", "1", DynamoCondition::Absent())});
  const TransactionId slow = fake_.Start(request);
  clock_.Advance(std::chrono::minutes(30));
  EXPECT_THAT(fake_.Run(slow), Succeeds());
  clock_.Advance(std::chrono::minutes(10) - Duration(1));
  EXPECT_THAT(fake_.Transact(request), Succeeds()) << "the replay does not extend the memory";
  clock_.Advance(Duration(1));
  EXPECT_THAT(fake_.Transact(request), IsCancelledWith(Code::kConditionalCheckFailed));
}

TEST_F(DynamoFakeTest, ATokenWithAnotherRequestIsAMismatchForTenMinutes) {
  EXPECT_THAT(fake_.Transact(WithToken("t", {Put("x", "1")})), Succeeds());
  DynamoAction asks_less = Put("x", "1");
  asks_less.on_failure = OnFailure::kNone;
  for (const DynamoAction& other :
       {Put("x", "2"), Put("y", "1"), Put("x", "1", DynamoCondition::Equals("1")), Delete("x"),
        asks_less}) {
    EXPECT_THAT(fake_.Transact(WithToken("t", {other})), Fails(Kind::kIdempotentParameterMismatch));
  }
  EXPECT_EQ(Stored("x"), "1");
  clock_.Advance(std::chrono::minutes(10));
  EXPECT_THAT(fake_.Transact(WithToken("t", {Put("x", "2")})), Succeeds());
}

TEST_F(DynamoFakeTest, ATokenUnderWayIsInProgressAtEveryStep) {
  const TransactWriteItems request = WithToken("t", {Put("x", "1"), Put("y", "1")});
  const TransactionId first = fake_.Start(request);
  do {
    EXPECT_THAT(fake_.Transact(request), Fails(Kind::kTransactionInProgress));
    EXPECT_THAT(fake_.Transact(WithToken("t", {Put("z", "1")})),
                Fails(Kind::kIdempotentParameterMismatch));
    ASSERT_TRUE(fake_.Step(first));
  } while (fake_.PhaseOf(first) != Phase::kEnded);
  EXPECT_THAT(fake_.Transact(request), Succeeds());
  EXPECT_EQ(fake_.effect_count(), 1U);
}

TEST_F(DynamoFakeTest, ATokenOfACancelledTransactionIsEvaluatedAnew) {
  const TransactWriteItems request = WithToken("t", {Put("x", "2", DynamoCondition::Equals("1"))});
  EXPECT_THAT(fake_.Transact(request), IsCancelledWith(Code::kConditionalCheckFailed));
  Store("x", "1");
  EXPECT_THAT(fake_.Transact(request), Succeeds());
  EXPECT_EQ(Stored("x"), "2");
}

TEST_F(DynamoFakeTest, ATokenOfACancelledTransactionIsInProgressUntilItsMarksAreLifted) {
  Store("bad", "1");
  const TransactWriteItems request =
      WithToken("t", {Put("x", "1"), Put("bad", "2", DynamoCondition::Absent())});
  const TransactionId loser = fake_.Start(request);
  Steps(loser, 3);
  ASSERT_EQ(fake_.PhaseOf(loser), Phase::kCancelled);
  EXPECT_THAT(fake_.Transact(request), Fails(Kind::kTransactionInProgress));
  Steps(loser, 1);
  EXPECT_THAT(fake_.Transact(request), Fails(Kind::kTransactionCanceled));
}

TEST_F(DynamoFakeTest, AnInvalidRequestDoesNotUseItsToken) {
  EXPECT_THAT(fake_.Transact(WithToken("t", {})), Fails(Kind::kValidation));
  EXPECT_THAT(fake_.Transact(WithToken("t", {Put("x", "1")})), Succeeds());
}

// --- Limits.

TEST_F(DynamoFakeTest, ATransactionHasOneToAHundredActions) {
  std::vector<DynamoAction> actions;
  EXPECT_THAT(fake_.Transact(Request(actions)), Fails(Kind::kValidation));
  for (std::size_t i = 0; i < 100; ++i) {
    actions.push_back(Put("k" + std::to_string(i), "1"));
  }
  EXPECT_THAT(fake_.Transact(Request(actions)), Succeeds());
  actions.push_back(Put("one more", "1"));
  EXPECT_THAT(fake_.Transact(Request(actions)), Fails(Kind::kValidation));
}

TEST_F(DynamoFakeTest, ATransactionNamesAnItemOnceAChecksItemIncluded) {
  EXPECT_THAT(fake_.Transact(Request({Check("x", DynamoCondition::Absent()), Put("x", "1")})),
              Fails(Kind::kValidation));
  EXPECT_THAT(fake_.TransactGetItems({Key("x"), Key("x")}), Fails(Kind::kValidation));
}

// Names and values of all attributes count.
constexpr std::size_t kOverheadBytes = 3 + 1;  // "p", "s", "v"; and "p" in "p".

TEST_F(DynamoFakeTest, AnItemCountsTheNamesAndTheBytesOfItsAttributes) {
  EXPECT_EQ(metastore::DynamoItemBytes(Key("ab"), "xyz"), kOverheadBytes + 2 + 3);
}

TEST_F(DynamoFakeTest, ATransactionHasAtMostFourMegabytes) {
  const std::size_t rest_bytes = kOverheadBytes + 2;  // "k" with a digit.
  std::vector<DynamoAction> actions;
  for (int i = 0; i < 10; ++i) {
    actions.push_back(
        Put("k" + std::to_string(i), std::string(kDynamoItemBytesMax - rest_bytes, 'x')));
  }
  const std::size_t left = kDynamoTransactionBytesMax - 10 * kDynamoItemBytesMax;
  actions.push_back(Put("kx", std::string(left - rest_bytes, 'x')));
  EXPECT_THAT(fake_.Transact(Request(actions)), Succeeds());
  std::vector<DynamoKey> keys;
  for (const DynamoAction& action : actions) {
    keys.push_back(action.key);
  }
  EXPECT_THAT(fake_.TransactGetItems(keys), Succeeds());
  actions.back().value += "x";
  EXPECT_THAT(fake_.Transact(Request(actions)), Fails(Kind::kValidation));
  ASSERT_THAT(fake_.Write(actions.back()), Succeeds());
  EXPECT_THAT(fake_.TransactGetItems(keys), Fails(Kind::kValidation));
}

TEST_F(DynamoFakeTest, WhatIsComparedWithCountsTowardsATransactionsBytes) {
  std::vector<DynamoAction> actions;
  std::size_t bytes = 0;
  for (int i = 0; bytes < kDynamoTransactionBytesMax; ++i) {
    const std::string sort = "k" + std::to_string(i);
    const std::size_t room = kDynamoTransactionBytesMax - bytes - kOverheadBytes - sort.size();
    const std::string expected(std::min<std::size_t>(room, 300'000), 'x');
    actions.push_back(Delete(sort, DynamoCondition::Equals(expected)));
    bytes += kOverheadBytes + sort.size() + expected.size();
  }
  EXPECT_THAT(fake_.Transact(Request(actions)), Fails(Kind::kTransactionCanceled));
  actions.front().condition.bytes += "x";
  EXPECT_THAT(fake_.Transact(Request(actions)), Fails(Kind::kValidation));
}

TEST_F(DynamoFakeTest, AnItemOverFourHundredKilobytesCancelsWithAValidationError) {
  const std::string largest(kDynamoItemBytesMax - kOverheadBytes - 1, 'x');
  EXPECT_THAT(fake_.Transact(Request({Put("a", largest)})), Succeeds());
  EXPECT_THAT(fake_.Transact(Request({Put("b", "1"), Put("a", largest + "x")})),
              IsCancelledWith(Code::kNone, Code::kValidationError));
  EXPECT_THAT(fake_.Write(Put("a", largest + "x")), Fails(Kind::kValidation));
}

TEST_F(DynamoFakeTest, ATokenHasOneToThirtySixCharacters) {
  EXPECT_THAT(fake_.Transact(WithToken("", {Put("x", "1")})), Fails(Kind::kValidation));
  EXPECT_THAT(fake_.Transact(WithToken(std::string(37, 't'), {Put("x", "1")})),
              Fails(Kind::kValidation));
  EXPECT_THAT(fake_.Transact(WithToken(std::string(36, 't'), {Put("x", "1")})), Succeeds());
}

TEST_F(DynamoFakeTest, KeysAreNeitherEmptyNorTooLong) {
  const auto get = [&](std::size_t partition_bytes, std::size_t sort_bytes) {
    return fake_.GetItem(
        {.partition = std::string(partition_bytes, 'p'), .sort = std::string(sort_bytes, 's')},
        DynamoRead::kStrong);
  };
  EXPECT_THAT(get(2048, 1024), Succeeds());
  EXPECT_THAT(get(2049, 1), Fails(Kind::kValidation));
  EXPECT_THAT(get(1, 1025), Fails(Kind::kValidation));
  EXPECT_THAT(get(0, 1), Fails(Kind::kValidation));
  EXPECT_THAT(get(1, 0), Fails(Kind::kValidation));
  EXPECT_THAT(fake_.Transact(Request({Put("", "1")})), Fails(Kind::kValidation));
  EXPECT_THAT(fake_.Write(Put("", "1")), Fails(Kind::kValidation));
  EXPECT_THAT(fake_.TransactGetItems({Key("")}), Fails(Kind::kValidation));
}

TEST_F(DynamoFakeTest, AConditionCheckNeedsACondition) {
  EXPECT_THAT(fake_.Transact(Request({Check("x", DynamoCondition::None())})),
              Fails(Kind::kValidation));
}

TEST_F(DynamoFakeTest, AQueryHasALimitAndStartsInsideItsRange) {
  EXPECT_THAT(fake_.Query({.partition = "p", .limit = 0}), Fails(Kind::kValidation));
  EXPECT_THAT(fake_.Query({.partition = ""}), Fails(Kind::kValidation));
  EXPECT_THAT(fake_.Query({.partition = "p", .prefix = "a/", .after = "b"}),
              Fails(Kind::kValidation));
}

// --- Faults.

TEST_F(DynamoFakeTest, ALostRequestIsNotDoneAndALostAnswerIs) {
  Next({.kind = FaultKind::kLoseRequest});
  Next({.kind = FaultKind::kLoseAnswer});
  EXPECT_THAT(fake_.Transact(WithToken("a", {Put("a", "1")})), Fails(Kind::kNoAnswer));
  EXPECT_THAT(fake_.Transact(WithToken("b", {Put("b", "1")})), Fails(Kind::kNoAnswer));
  EXPECT_EQ(Stored("a"), std::nullopt);
  EXPECT_EQ(Stored("b"), "1");
  EXPECT_THAT(fake_.Transact(WithToken("b", {Put("b", "1")})), Succeeds()) << "by its token";
  EXPECT_EQ(fake_.effect_count(), 1U);
  EXPECT_EQ(fake_.fault_count(), 2U);
  EXPECT_EQ(fake_.transact_count(), 3U);
}

TEST_F(DynamoFakeTest, AServerErrorLeavesBothPossible) {
  const DynamoError error{.kind = Kind::kInternalServerError};
  Next({.kind = FaultKind::kLoseRequest, .error = error});
  Next({.kind = FaultKind::kLoseAnswer, .error = error});
  EXPECT_THAT(fake_.Transact(Request({Put("a", "1")})), Fails(Kind::kInternalServerError));
  EXPECT_THAT(fake_.Transact(Request({Put("b", "1")})), Fails(Kind::kInternalServerError));
  EXPECT_EQ(Stored("a"), std::nullopt);
  EXPECT_EQ(Stored("b"), "1");
}

TEST_F(DynamoFakeTest, AThrottledRequestAndOneSaidToBeInProgressAreNotDone) {
  for (const Kind kind : {Kind::kThrottling, Kind::kProvisionedThroughputExceeded,
                          Kind::kRequestLimitExceeded, Kind::kTransactionInProgress}) {
    Next({.kind = FaultKind::kLoseRequest, .error = {.kind = kind}});
    EXPECT_THAT(fake_.Transact(Request({Put("a", "1")})), Fails(kind));
    EXPECT_EQ(Stored("a"), std::nullopt);
  }
}

TEST_F(DynamoFakeTest, AnActionCanBeRefusedWithAnyCodeBesideTheTrueOnes) {
  Store("a", "1");
  for (const Code code : {Code::kThrottlingError, Code::kProvisionedThroughputExceeded,
                          Code::kItemCollectionSizeLimitExceeded, Code::kTransactionConflict}) {
    Next({.refusals = {{1, code}}});
    EXPECT_THAT(fake_.Transact(
                    Request({Check("a", DynamoCondition::Absent()), Put("b", "1"), Put("c", "1")})),
                IsCancelledWith(Code::kConditionalCheckFailed, code, Code::kNone));
  }
  EXPECT_THAT(fake_.Transact(Request({Put("b", "1"), Put("c", "1")})), Succeeds())
      << "no mark is left";
}

TEST_F(DynamoFakeTest, AStalledCommitIsDecidedUnansweredAndInvisibleUntilItGoesOn) {
  const TransactWriteItems request = WithToken("t", {Put("x", "1"), Put("y", "1")});
  Next({.kind = FaultKind::kStall, .steps = DynamoFake::StepsToDecision(request)});
  EXPECT_THAT(fake_.Transact(request), Fails(Kind::kNoAnswer));
  EXPECT_EQ(Stored("x"), std::nullopt);
  EXPECT_THAT(fake_.Transact(request), Fails(Kind::kTransactionInProgress));
  EXPECT_THAT(fake_.Transact(Request({Check("x", DynamoCondition::Absent())})),
              IsCancelledWith(Code::kTransactionConflict))
      << "a conditional write cannot take it for absent";
  EXPECT_EQ(fake_.RunAll(), 1U);
  EXPECT_EQ(Stored("x"), "1");
  EXPECT_THAT(fake_.Transact(request), Succeeds());
  EXPECT_EQ(fake_.effect_count(), 1U);
  EXPECT_EQ(fake_.RunAll(), 0U);
}

TEST_F(DynamoFakeTest, AStallAtAnyStepEndsAsTheSameTransaction) {
  const TransactWriteItems request = WithToken("t", {Put("x", "1"), Put("y", "1")});
  const std::size_t steps_in_all = 5;
  for (std::size_t steps = 0; steps <= steps_in_all; ++steps) {
    DynamoFake fake(clock_);
    fake.Inject(
        {.when = DynamoFake::Transactions, .fault = {.kind = FaultKind::kStall, .steps = steps}});
    EXPECT_THAT(fake.Transact(request), Fails(Kind::kNoAnswer));
    EXPECT_EQ(fake.RunAll(), steps < steps_in_all ? 1U : 0U);
    EXPECT_THAT(fake.Transact(request), Succeeds());
    EXPECT_THAT(fake.TransactGetItems({Key("x"), Key("y")}),
                Gives(ElementsAre(Value("1"), Value("1"))));
    EXPECT_EQ(fake.effect_count(), 1U);
  }
}

TEST_F(DynamoFakeTest, ADelayedRequestIsDoneWhenItArrives) {
  Next({.kind = FaultKind::kDelayRequest});
  EXPECT_THAT(fake_.Transact(Request({Put("x", "1", DynamoCondition::Absent())})),
              Fails(Kind::kNoAnswer));
  EXPECT_EQ(Stored("x"), std::nullopt);
  EXPECT_THAT(fake_.DeliverDelayed(), ElementsAre(Succeeds()));
  EXPECT_EQ(Stored("x"), "1");
  EXPECT_THAT(fake_.DeliverDelayed(), IsEmpty());
}

TEST_F(DynamoFakeTest, ADuplicateIsHarmlessOnlyWhileItsTokenIsRemembered) {
  const TransactWriteItems request = WithToken("t", {Put("x", "1")});
  for (const auto& [wait, value] :
       {std::pair(std::chrono::minutes(9), "2"), std::pair(std::chrono::minutes(11), "1")}) {
    clock_.Advance(std::chrono::hours(1));
    Next({.kind = FaultKind::kDuplicate});
    EXPECT_THAT(fake_.Transact(request), Succeeds());
    EXPECT_THAT(fake_.Write(Put("x", "2")), Succeeds());
    clock_.Advance(wait);
    EXPECT_THAT(fake_.DeliverDelayed(), ElementsAre(Succeeds()));
    EXPECT_EQ(Stored("x"), value);
  }
}

TEST_F(DynamoFakeTest, ADuplicateThatArrivesWhileTheFirstIsUnderWayIsInProgress) {
  const TransactWriteItems request = WithToken("t", {Put("x", "1")});
  std::vector<DynamoAnswer<void>> second;
  Next({.kind = FaultKind::kDuplicate, .steps = 1, .during = [&] {
          second = fake_.DeliverDelayed();
        }});
  EXPECT_THAT(fake_.Transact(request), Succeeds());
  EXPECT_THAT(second, ElementsAre(Fails(Kind::kTransactionInProgress)));
  EXPECT_EQ(fake_.effect_count(), 1U);
}

TEST_F(DynamoFakeTest, RunsWhatTheTestWantsBeforeDuringAndAfter) {
  std::vector<Value> seen;
  const auto look = [&] { seen.push_back(Stored("x")); };
  const TransactWriteItems request = Request({Put("x", "1")});
  Next({.steps = DynamoFake::StepsToDecision(request),
        .before = look,
        .during = look,
        .after = look});
  EXPECT_THAT(fake_.Transact(request), Succeeds());
  EXPECT_THAT(seen, ElementsAre(std::nullopt, std::nullopt, Value("1")));
}

TEST_F(DynamoFakeTest, RulesChooseByKeySkipAndRepeat) {
  fake_.Inject({.when = DynamoFake::TransactionsOf(Key("x")),
                .skip = 1,
                .times = 2,
                .fault = {.kind = FaultKind::kLoseRequest}});
  EXPECT_THAT(fake_.Transact(Request({Put("x", "1")})), Succeeds());
  EXPECT_THAT(fake_.Transact(Request({Put("y", "1")})), Succeeds());
  EXPECT_THAT(fake_.Transact(Request({Put("x", "2")})), Fails(Kind::kNoAnswer));
  EXPECT_THAT(fake_.Transact(Request({Put("x", "3")})), Fails(Kind::kNoAnswer));
  EXPECT_THAT(fake_.Transact(Request({Put("x", "4")})), Succeeds());
  fake_.Inject({.when = DynamoFake::AnyCall,
                .times = DynamoFake::kAlways,
                .fault = {.kind = FaultKind::kLoseRequest, .error = {.kind = Kind::kThrottling}}});
  EXPECT_THAT(fake_.GetItem(Key("x"), DynamoRead::kStrong), Fails(Kind::kThrottling));
  EXPECT_THAT(fake_.TransactGetItems({Key("x")}), Fails(Kind::kThrottling));
  EXPECT_THAT(fake_.Query({.partition = "p"}), Fails(Kind::kThrottling));
  EXPECT_THAT(fake_.Write(Put("x", "5")), Fails(Kind::kThrottling));
  fake_.Clear();
  EXPECT_EQ(Stored("x"), "4");
}

TEST_F(DynamoFakeTest, ASingleWriteCanLoseItsAnswer) {
  fake_.Inject({.when = DynamoFake::AnyCall, .fault = {.kind = FaultKind::kLoseAnswer}});
  EXPECT_THAT(fake_.Write(Put("x", "1")), Fails(Kind::kNoAnswer));
  EXPECT_EQ(Stored("x"), "1");
}

// --- Deadlines.

TEST_F(DynamoFakeTest, NothingIsSentAfterTheDeadlineAndALateAnswerIsLost) {
  const Deadline now = clock_.Now();
  EXPECT_THAT(fake_.Transact(Request({Put("x", "1")}), now), Fails(Kind::kNoAnswer));
  EXPECT_EQ(Stored("x"), std::nullopt);
  Next({.after = [&] { clock_.Advance(std::chrono::seconds(1)); }});
  EXPECT_THAT(fake_.Transact(Request({Put("x", "1")}), now + std::chrono::seconds(1)),
              Fails(Kind::kNoAnswer));
  EXPECT_EQ(Stored("x"), "1");
  EXPECT_THAT(fake_.GetItem(Key("x"), DynamoRead::kStrong, now), Fails(Kind::kNoAnswer));
  EXPECT_THAT(fake_.TransactGetItems({Key("x")}, now), Fails(Kind::kNoAnswer));
  EXPECT_THAT(fake_.Query({.partition = "p"}, now), Fails(Kind::kNoAnswer));
}

// --- Threads.

TEST_F(DynamoFakeTest, ThreadsThatCountTogetherLoseNoStep) {
  constexpr std::size_t kThreads = 4;
  constexpr int kStepsEach = 25;
  Store("n", "0");
  Store("guard", "1");
  RunTogether(kThreads, [&](std::size_t) {
    for (int done = 0; done < kStepsEach;) {
      const std::string seen = *Stored("n");
      const DynamoAnswer<void> answer = fake_.Transact(
          Request({Check("guard", DynamoCondition::Equals("1")),
                   Put("n", std::to_string(std::stoi(seen) + 1), DynamoCondition::Equals(seen))}));
      // Two that meet may refuse each other; both try again.
      done += answer.has_value() ? 1 : 0;
    }
  });
  EXPECT_EQ(Stored("n"), std::to_string(kThreads * kStepsEach));
}

}  // namespace
}  // namespace lake::testing
