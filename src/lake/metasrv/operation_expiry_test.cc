#include "lake/metasrv/operation_expiry.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/metasrv/metasrv_test_internal.h"
#include "lake/metasrv/operation_id.h"
#include "lake/metastore/memory/memory_metastore.h"
#include "lake/objstore/memory/memory_objstore.h"
#include "lake/testing/faulty_metastore.h"
#include "lake/testing/seeded_random.h"

namespace lake::metasrv {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using testing::FaultyMetaStore;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;

// A store with records that a test writes as it likes, and a leader.
class OperationExpiryTest : public ::testing::Test {
 protected:
  OperationExpiryTest() : random_(5), meta_(clock_, {}), faulty_(meta_), objects_(clock_) {
    clock_.SetWall(kNow);
    node_ = std::make_unique<Node>(faulty_, objects_, clock_, random_);
    node_->Win();
    Write(std::string(catalog::kForgottenKey),
          catalog::Encode(catalog::ForgottenRecord{.before = HourOf(kNow - days(20))}));
  }

  Deadline Soon() const { return clock_.Now() + std::chrono::seconds(60); }

  static hours HourOf(WallTime time) { return catalog::OperationHour(time); }

  void Write(const std::string& key, const std::string& value) {
    metastore::Transaction transaction;
    transaction.Put(key, metastore::Expectation::Any(), value);
    ASSERT_TRUE(
        std::holds_alternative<metastore::Committed>(meta_.Commit(transaction, Soon()).value()));
  }

  void Remove(const std::string& key) {
    metastore::Transaction transaction;
    transaction.Delete(key, metastore::Expectation::Any());
    ASSERT_THAT(meta_.Commit(transaction, Soon()), IsOk());
  }

  // Returns an operation id of a moment.
  Uuid IdAt(WallTime time) {
    testing::ManualClock then;
    then.SetWall(time);
    return Uuid::Random7(then, random_);
  }

  // Records an operation with an id of `made` that ended at `finished`, and returns its id.
  Uuid Record(WallTime made, WallTime finished) {
    const Uuid id = IdAt(made);
    catalog::OperationRecord record{
        .kind = catalog::OperationKind::kAppend, .names = {"n.t"}, .finished = finished};
    record.result.succeeded = true;
    Write(catalog::OperationKey(id), catalog::Encode(record));
    return id;
  }

  bool IsThere(const Uuid& id) {
    return meta_.Get(catalog::OperationKey(id), Soon()).value().has_value();
  }

  Result<OperationExpiry::Report> Walk(Node& node, bool dry_run = false) {
    return Walk(node, Epoch(node), dry_run, Soon());
  }

  Result<OperationExpiry::Report> Walk(Node& node, lease::Epoch epoch, bool dry_run,
                                       Deadline deadline) {
    const RecordReader reader(node.store(), clock_, std::chrono::seconds(10));
    const Operations operations(node.store(), reader, clock_, std::chrono::seconds(10));
    return OperationExpiry(
               {.store = node.store(), .reader = reader, .operations = operations, .clock = clock_})
        .Run(epoch, dry_run, deadline);
  }

  static lease::Epoch Epoch(Node& node) { return node.store().CurrentEpoch().value(); }

  hours Noted() {
    const auto bytes = meta_.Get(catalog::kForgottenKey, Soon()).value();
    return catalog::DecodeForgottenRecord(bytes.value())->before;
  }

  static constexpr WallTime kNow{milliseconds(1'790'000'000'000)};
  static constexpr milliseconds kKept = kOperationRetention + kOperationAheadMax;

  testing::ManualClock clock_;
  testing::SeededRandom random_;
  metastore::MemoryMetaStore meta_;
  FaultyMetaStore faulty_;
  objstore::MemoryObjectStore objects_;
  std::unique_ptr<Node> node_;
};

TEST_F(OperationExpiryTest, ARecordGoesWhenItsIdAndItsEndAreBothOldEnough) {
  const WallTime edge = kNow - kKept;
  const Uuid gone = Record(edge - milliseconds(1), edge - milliseconds(1));
  const Uuid long_gone = Record(kNow - days(19), kNow - days(19));
  const Uuid young = Record(edge, edge);
  const Uuid young_id = Record(edge, edge - days(1));
  const Uuid ended_lately = Record(kNow - days(15), edge);
  const auto report = Walk(*node_);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->removed, 2U);
  EXPECT_TRUE(report->complete);
  EXPECT_THAT(report->problems, IsEmpty());
  EXPECT_FALSE(IsThere(gone));
  EXPECT_FALSE(IsThere(long_gone));
  EXPECT_TRUE(IsThere(young));
  EXPECT_TRUE(IsThere(young_id));
  EXPECT_TRUE(IsThere(ended_lately));
}

TEST_F(OperationExpiryTest, NoIdIsAdmittedWhoseRecordIsGone) {
  // The youngest id whose record can be gone: made as far ahead as is admitted, and as late as the walk takes.
  const WallTime edge = kNow - kKept - milliseconds(1);
  const Uuid id = Record(edge, edge);
  ASSERT_THAT(AdmitOperation(id, edge - kOperationAheadMax), IsOk());
  ASSERT_THAT(Walk(*node_), IsOk());
  ASSERT_FALSE(IsThere(id));
  EXPECT_THAT(AdmitOperation(id, kNow), IsError(ErrorCode::kInvalidArgument));
  // Another leader's clock may be behind by as much as ids may be ahead.
  EXPECT_THAT(AdmitOperation(id, kNow - kOperationAheadMax), IsError(ErrorCode::kInvalidArgument));
}

TEST_F(OperationExpiryTest, TheNextWalkBeginsAtTheFirstRecordThatStayed) {
  const WallTime old = kNow - days(15);
  const Uuid ended_lately = Record(old, kNow - days(1));
  Record(kNow - days(12), kNow - days(12));
  ASSERT_THAT(Walk(*node_), IsOk());
  EXPECT_EQ(Noted(), HourOf(old));
  clock_.SetWall(kNow + kKept);
  const auto report = Walk(*node_);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->removed, 1U);
  EXPECT_FALSE(IsThere(ended_lately));
  EXPECT_EQ(Noted(), HourOf(kNow));
  EXPECT_THAT(Walk(*node_)->pages, catalog::kOperationShards);
}

TEST_F(OperationExpiryTest, ARecordWhoseOperationIsPendingStays) {
  const Uuid pending = Record(kNow - days(10), kNow - days(10));
  const Uuid other = Record(kNow - days(10), kNow - days(10));
  Write(catalog::PendingKey(pending), "{}");
  ASSERT_THAT(Walk(*node_), IsOk());
  EXPECT_TRUE(IsThere(pending));
  EXPECT_FALSE(IsThere(other));
  EXPECT_EQ(Noted(), HourOf(kNow - days(10)));
  Remove(catalog::PendingKey(pending));
  ASSERT_THAT(Walk(*node_), IsOk());
  EXPECT_FALSE(IsThere(pending));
}

TEST_F(OperationExpiryTest, ARecordThatDoesNotDecodeIsReportedAndPassedOver) {
  const Uuid damaged = Record(kNow - days(10), kNow - days(10));
  Write(catalog::OperationKey(damaged), "{\"format\":1");
  const Uuid newer = Record(kNow - days(11), kNow - days(11));
  Write(catalog::OperationKey(newer), R"({"format":2})");
  const std::string stray = catalog::OperationsPrefix(HourOf(kNow - days(11)), 3) + "stray";
  Write(stray, "x");
  const Uuid sound = Record(kNow - days(9), kNow - days(9));
  const auto report = Walk(*node_);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->removed, 1U);
  EXPECT_FALSE(IsThere(sound));
  EXPECT_TRUE(IsThere(damaged));
  EXPECT_THAT(report->problems,
              ::testing::UnorderedElementsAre(HasSubstr(damaged.ToString()),
                                              HasSubstr(newer.ToString()), HasSubstr("stray")));
}

TEST_F(OperationExpiryTest, ADryRunCountsAndChangesNothing) {
  const Uuid old = Record(kNow - days(10), kNow - days(10));
  const hours noted = Noted();
  const auto report = Walk(*node_, /*dry_run=*/true);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->removed, 1U);
  EXPECT_TRUE(IsThere(old));
  EXPECT_EQ(Noted(), noted);
}

TEST_F(OperationExpiryTest, AStoreWithoutANoteIsWalkedFromTheBeginning) {
  Remove(std::string(catalog::kForgottenKey));
  const WallTime first{catalog::kFirstOperationHour};
  clock_.SetWall(first + days(10));
  const Uuid old = Record(first, first);
  ASSERT_THAT(Walk(*node_), IsOk());
  EXPECT_FALSE(IsThere(old));
  EXPECT_EQ(Noted(), HourOf(first + days(2)));
}

TEST_F(OperationExpiryTest, ADamagedNoteIsReportedAndNothingIsRemoved) {
  const Uuid old = Record(kNow - days(10), kNow - days(10));
  Write(std::string(catalog::kForgottenKey), "?");
  EXPECT_THAT(Walk(*node_), IsError(ErrorCode::kCorruption, HasSubstr("dir/forgotten")));
  EXPECT_TRUE(IsThere(old));
}

TEST_F(OperationExpiryTest, AWalkWhoseTimeIsOverGoesOnWhereItEnded) {
  Record(kNow - days(15), kNow - days(15));
  Record(kNow - days(10), kNow - days(10));
  const Deadline deadline = Soon();
  // The time is over while it reads an hour of the thirteenth day.
  faulty_.Inject({.when =
                      [](const FaultyMetaStore::Call& call) {
                        return call.method == FaultyMetaStore::Method::kScan &&
                               call.keys[0] ==
                                   catalog::OperationsPrefix(HourOf(kNow - days(13)), 4);
                      },
                  .fault = {.after = [this] { clock_.Advance(std::chrono::seconds(61)); }}});
  const auto first = Walk(*node_, Epoch(*node_), false, deadline);
  ASSERT_THAT(first, IsOk());
  EXPECT_FALSE(first->complete);
  EXPECT_EQ(first->removed, 1U);
  EXPECT_EQ(Noted(), HourOf(kNow - days(13)));
  const auto second = Walk(*node_);
  ASSERT_THAT(second, IsOk());
  EXPECT_TRUE(second->complete);
  EXPECT_EQ(second->removed, 1U);
}

TEST_F(OperationExpiryTest, AStaleLeaderForgetsNothing) {
  const Uuid old = Record(kNow - days(10), kNow - days(10));
  Node successor(meta_, objects_, clock_, random_);
  successor.Win();
  EXPECT_THAT(Walk(*node_), IsError(ErrorCode::kFenced));
  EXPECT_TRUE(IsThere(old));
  // Work belongs to the epoch it began under, also when this process leads again.
  const lease::Epoch before = Epoch(successor);
  successor.Win();
  EXPECT_THAT(Walk(successor, before, false, Soon()), IsError(ErrorCode::kFenced));
  EXPECT_TRUE(IsThere(old));
  EXPECT_THAT(Walk(successor), IsOk());
  EXPECT_FALSE(IsThere(old));
}

TEST_F(OperationExpiryTest, WhereverACallOfTheStoreFailsTheNextWalkRemovesTheRest) {
  using Fault = FaultyMetaStore::Fault;
  for (const Fault::Kind kind :
       {Fault::Kind::kError, Fault::Kind::kLoseRequest, Fault::Kind::kLoseAnswer}) {
    for (std::size_t skip = 0;; ++skip) {
      clock_.SetWall(kNow);
      std::vector<Uuid> old;
      for (int i = 0; i < 60; ++i) {
        old.push_back(Record(kNow - days(9), kNow - days(9)));
      }
      const Uuid young = Record(kNow - days(1), kNow - days(1));
      Write(std::string(catalog::kForgottenKey),
            catalog::Encode(catalog::ForgottenRecord{.before = HourOf(kNow - days(9))}));
      const std::size_t faults = faulty_.fault_count();
      // Of the reads of a walk, the first page stands for all.
      faulty_.Inject({.when =
                          [page = std::string()](const FaultyMetaStore::Call& call) mutable {
                            if (call.method != FaultyMetaStore::Method::kScan) {
                              return true;
                            }
                            page = page.empty() ? std::string(call.keys[0]) : page;
                            return page == call.keys[0];
                          },
                      .skip = skip,
                      .fault = {.kind = kind}});
      const auto first = Walk(*node_);
      const bool reached = faulty_.fault_count() > faults;
      faulty_.Clear();
      const auto second = Walk(*node_);
      ASSERT_THAT(second, IsOk()) << skip;
      for (const Uuid& id : old) {
        EXPECT_FALSE(IsThere(id)) << skip;
      }
      EXPECT_TRUE(IsThere(young));
      EXPECT_GE(Noted(), HourOf(kNow - kKept));
      Remove(catalog::OperationKey(young));
      if (!reached) {
        EXPECT_THAT(first, IsOk());
        break;
      }
    }
  }
}

// 100,000 old and 100,000 young records: what a walk costs follows from what it removes, not from what there is.
TEST_F(OperationExpiryTest, AWalkOverAHundredThousandRecordsStaysWithinItsBudget) {
  constexpr int kRecords = 100'000;
  constexpr int kHours = 100;
  const auto fill = [&](WallTime end) {
    catalog::OperationRecord record{
        .kind = catalog::OperationKind::kAppend, .names = {"n.t"}, .finished = end};
    record.result.succeeded = true;
    const std::string bytes = catalog::Encode(record);
    metastore::Transaction transaction;
    for (int i = 0; i < kRecords; ++i) {
      transaction.Put(catalog::OperationKey(IdAt(end - hours(i % kHours) - milliseconds(i))),
                      metastore::Expectation::Any(), bytes);
      if (transaction.items().size() == metastore::kTransactionKeysMax || i + 1 == kRecords) {
        ASSERT_THAT(meta_.Commit(std::exchange(transaction, {}), Soon()), IsOk());
      }
    }
  };
  fill(kNow - days(9));
  fill(kNow);
  const std::size_t commits = faulty_.commit_count();
  const auto report = Walk(*node_);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->removed, static_cast<std::uint64_t>(kRecords));
  // Twelve days of hours, sixteen shards each, and of a thousand records an hour no shard needs a second page.
  EXPECT_LE(report->pages, (12 * 24 + 1) * 16U);
  EXPECT_LE(faulty_.commit_count() - commits, kRecords / catalog::kForgetMax + 10);
  const auto again = Walk(*node_);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->removed, 0U);
  EXPECT_LE(again->pages, 2 * 16U);
}

}  // namespace
}  // namespace lake::metasrv
