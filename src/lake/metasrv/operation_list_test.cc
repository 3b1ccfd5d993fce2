#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/metasrv/metasrv_test_internal.h"
#include "lake/metastore/memory/memory_metastore.h"
#include "lake/objstore/memory/memory_objstore.h"
#include "lake/testing/seeded_random.h"

namespace lake::metasrv {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using ::testing::SizeIs;

class OperationListTest : public ::testing::Test {
 protected:
  OperationListTest() : random_(5), meta_(clock_, {}), objects_(clock_) {
    clock_.SetWall(kNow);
    node_ = std::make_unique<Node>(meta_, objects_, clock_, random_);
  }

  Deadline Soon() const { return clock_.Now() + std::chrono::seconds(60); }

  void Write(const std::string& key, const std::string& value) {
    metastore::Transaction transaction;
    transaction.Put(key, metastore::Expectation::Any(), value);
    ASSERT_THAT(meta_.Commit(transaction, Soon()), IsOk());
  }

  Uuid IdAt(WallTime time) {
    testing::ManualClock then;
    then.SetWall(time);
    return Uuid::Random7(then, random_);
  }

  void Finish(const Uuid& id) {
    catalog::OperationRecord record{.kind = catalog::OperationKind::kAppend, .finished = kNow};
    record.result.succeeded = true;
    Write(catalog::OperationKey(id), catalog::Encode(record));
  }

  void Pend(const Uuid& id) {
    const catalog::PendingRecord record{
        .kind = catalog::OperationKind::kAppend,
        .tables = {{.name = {.ns = {{"n"}}, .name = "t"}, .incarnation = id}},
        .group = {id}};
    Write(catalog::PendingKey(id), catalog::Encode(record));
  }

  std::vector<Uuid> Ids(std::size_t limit) {
    std::vector<Uuid> ids;
    const OperationList list = node_->service().ListOperations(limit, Soon()).value();
    for (const OperationView& view : list.operations) {
      EXPECT_NE(view.pending.has_value(), view.finished.has_value());
      ids.push_back(view.id);
    }
    return ids;
  }

  static constexpr WallTime kNow{milliseconds(1'790'000'000'000)};

  testing::ManualClock clock_;
  testing::SeededRandom random_;
  metastore::MemoryMetaStore meta_;
  objstore::MemoryObjectStore objects_;
  std::unique_ptr<Node> node_;
};

TEST_F(OperationListTest, OfAnEmptyStoreIsEmptyAndNeedsNoLease) {
  const auto list = node_->service().ListOperations(10, Soon());
  ASSERT_THAT(list, IsOk());
  EXPECT_THAT(list->operations, IsEmpty());
  EXPECT_FALSE(list->more);
}

TEST_F(OperationListTest, ShowsTheNewestFirstPendingAndFinishedAlike) {
  const Uuid ahead = IdAt(kNow + hours(23));
  const Uuid pending = IdAt(kNow);
  const Uuid today = IdAt(kNow - hours(1));
  const Uuid old_pending = IdAt(kNow - days(6));
  const Uuid old = IdAt(kNow - days(8));
  for (const Uuid& id : {today, old, ahead}) {
    Finish(id);
  }
  Pend(pending);
  Pend(old_pending);
  EXPECT_THAT(Ids(10), ElementsAre(ahead, pending, today, old_pending, old));
  EXPECT_THAT(Ids(3), ElementsAre(ahead, pending, today));
  EXPECT_TRUE(node_->service().ListOperations(3, Soon())->more);
  EXPECT_FALSE(node_->service().ListOperations(5, Soon())->more);
}

TEST_F(OperationListTest, ManyOfOneHourAreCutToTheNewest) {
  std::vector<Uuid> ids;
  for (int i = 0; i < 3000; ++i) {
    ids.push_back(IdAt(kNow - milliseconds(i)));
    Finish(ids.back());
  }
  ids.resize(50);
  EXPECT_EQ(Ids(50), ids);
}

TEST_F(OperationListTest, OneThatEndsWhileTheListIsMadeIsShownFinished) {
  const Uuid id = IdAt(kNow);
  Finish(id);
  Pend(id);
  const auto list = node_->service().ListOperations(10, Soon());
  ASSERT_THAT(list->operations, SizeIs(1));
  EXPECT_TRUE(list->operations[0].finished.has_value());
}

TEST_F(OperationListTest, ARecordThatDoesNotDecodeIsReportedAndHidesNoOther) {
  const Uuid sound = IdAt(kNow);
  const Uuid damaged = IdAt(kNow - milliseconds(1));
  const Uuid damaged_pending = IdAt(kNow - milliseconds(2));
  Finish(sound);
  Write(catalog::OperationKey(damaged), "x");
  Write(catalog::PendingKey(damaged_pending), "x");
  const auto list = node_->service().ListOperations(10, Soon());
  ASSERT_THAT(list, IsOk());
  EXPECT_THAT(list->operations, SizeIs(1));
  EXPECT_THAT(list->problems,
              ElementsAre(HasSubstr(damaged_pending.ToString()), HasSubstr(damaged.ToString())));
}

TEST_F(OperationListTest, ItsLengthIsBounded) {
  EXPECT_THAT(node_->service().ListOperations(0, Soon()), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(node_->service().ListOperations(kOperationsListMax + 1, Soon()),
              IsError(ErrorCode::kInvalidArgument));
}

}  // namespace
}  // namespace lake::metasrv
