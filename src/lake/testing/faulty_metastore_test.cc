#include "lake/testing/faulty_metastore.h"

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/base/thread.h"
#include "lake/metastore/memory/memory_metastore.h"
#include "lake/metastore/transaction.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"

namespace lake::testing {
namespace {

using metastore::CommitResult;
using metastore::Committed;
using metastore::Expectation;
using metastore::Rejected;
using metastore::Transaction;
using ::testing::ElementsAre;
using ::testing::VariantWith;

using FaultKind = FaultyMetaStore::Fault::Kind;

class FaultyMetaStoreTest : public ::testing::Test {
 protected:
  Deadline Soon() const { return clock_.Now() + std::chrono::hours(1); }

  Result<CommitResult> Create(const std::string& key) {
    return faulty_.Commit(Transaction().Put(key, Expectation::Absent(), "1"), Soon());
  }

  bool IsStored(const std::string& key) { return memory_.Get(key, Soon())->has_value(); }

  ManualClock clock_;
  metastore::MemoryMetaStore memory_{clock_};
  FaultyMetaStore faulty_{memory_};
};

TEST_F(FaultyMetaStoreTest, WithoutRulesEverythingWorks) {
  EXPECT_THAT(Create("t/a"), IsOkAnd(VariantWith<Committed>(Committed{})));
  EXPECT_THAT(faulty_.Get("t/a", Soon()), IsOkAnd(std::optional<std::string>("1")));
  EXPECT_THAT(faulty_.GetTogether({"t/a"}, Soon()),
              IsOkAnd(ElementsAre(std::optional<std::string>("1"))));
  EXPECT_EQ(faulty_.Scan("t/", "", 10, Soon())->entries.size(), 1U);
  EXPECT_EQ(faulty_.commit_count(), 1U);
  EXPECT_EQ(faulty_.fault_count(), 0U);
}

TEST_F(FaultyMetaStoreTest, ALostRequestIsNotAppliedAndALostAnswerIs) {
  faulty_.Inject(
      {.when = FaultyMetaStore::CommitsOf("t/a"), .fault = {.kind = FaultKind::kLoseRequest}});
  faulty_.Inject(
      {.when = FaultyMetaStore::CommitsOf("t/b"), .fault = {.kind = FaultKind::kLoseAnswer}});
  EXPECT_THAT(Create("t/a"), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_THAT(Create("t/b"), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_FALSE(IsStored("t/a"));
  EXPECT_TRUE(IsStored("t/b"));
  EXPECT_EQ(faulty_.fault_count(), 2U);
}

TEST_F(FaultyMetaStoreTest, ALostReadIsUnavailable) {
  faulty_.Inject(
      {.when = FaultyMetaStore::Reads, .times = 3, .fault = {.kind = FaultKind::kLoseAnswer}});
  EXPECT_THAT(faulty_.Get("t/a", Soon()), IsError(ErrorCode::kUnavailable));
  EXPECT_THAT(faulty_.GetTogether({"t/a"}, Soon()), IsError(ErrorCode::kUnavailable));
  EXPECT_THAT(faulty_.Scan("t/", "", 1, Soon()), IsError(ErrorCode::kUnavailable));
  EXPECT_THAT(faulty_.Get("t/a", Soon()), IsOk());
}

TEST_F(FaultyMetaStoreTest, SkipsAndRepeatsAsTold) {
  faulty_.Inject({.when = FaultyMetaStore::Commits,
                  .skip = 1,
                  .times = 2,
                  .fault = {.kind = FaultKind::kError, .error = ErrorCode::kCorruption}});
  EXPECT_THAT(Create("t/0"), IsOk());
  EXPECT_THAT(Create("t/1"), IsError(ErrorCode::kCorruption));
  EXPECT_THAT(Create("t/2"), IsError(ErrorCode::kCorruption));
  EXPECT_THAT(Create("t/3"), IsOk());
  faulty_.Inject({.when = FaultyMetaStore::AnyCall,
                  .times = FaultyMetaStore::kAlways,
                  .fault = {.kind = FaultKind::kError}});
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(Create("t/4"), IsError(ErrorCode::kUnavailable));
  }
  faulty_.Clear();
  EXPECT_THAT(Create("t/4"), IsOk());
}

TEST_F(FaultyMetaStoreTest, ADelayedRequestIsAppliedWhenItIsDelivered) {
  faulty_.Inject(
      {.when = FaultyMetaStore::Commits, .times = 2, .fault = {.kind = FaultKind::kDelay}});
  EXPECT_THAT(Create("t/a"), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_THAT(Create("t/b"), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_THAT(Create("t/b"), IsOk());  // Somebody was faster.
  EXPECT_FALSE(IsStored("t/a"));
  EXPECT_THAT(faulty_.DeliverDelayed(Soon()),
              ElementsAre(IsOkAnd(VariantWith<Committed>(Committed{})),
                          IsOkAnd(VariantWith<Rejected>(::testing::_))));
  EXPECT_TRUE(IsStored("t/a"));
  EXPECT_TRUE(faulty_.DeliverDelayed(Soon()).empty());
}

TEST_F(FaultyMetaStoreTest, RunsWhatTheTestWantsBeforeAndAfter) {
  std::vector<bool> stored;
  faulty_.Inject({.when = FaultyMetaStore::Commits,
                  .fault = {.before = [&] { stored.push_back(IsStored("t/a")); },
                            .after = [&] { stored.push_back(IsStored("t/a")); }}});
  EXPECT_THAT(Create("t/a"), IsOk());
  EXPECT_THAT(stored, ElementsAre(false, true));
}

TEST_F(FaultyMetaStoreTest, AGateHoldsACallUntilItIsOpened) {
  Gate gate;
  faulty_.Inject({.when = FaultyMetaStore::Commits, .fault = {.before = [&] { gate.Pass(); }}});
  Thread caller("caller", [&] { EXPECT_THAT(Create("t/a"), IsOk()); });
  gate.WaitForArrivals(1);
  EXPECT_EQ(gate.arrived(), 1U);
  EXPECT_FALSE(IsStored("t/a"));
  EXPECT_THAT(Create("t/b"), IsOk()) << "others are not held";
  gate.Open();
  caller.Join();
  EXPECT_TRUE(IsStored("t/a"));
}

}  // namespace
}  // namespace lake::testing
