#include "lake/iceberg/snapshot_expiry.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOkAnd;
using std::chrono::days;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr WallTime kNow{milliseconds(1'790'000'000'000)};

// A table whose snapshots are made by hand. Snapshot n has the id n.
class Table {
 public:
  // Adds a snapshot that is `age` old.
  Table& Add(std::int64_t id, std::optional<std::int64_t> parent, milliseconds age) {
    metadata_.snapshots.push_back({.snapshot_id = SnapshotId{id},
                                   .parent_snapshot_id = parent.has_value()
                                                             ? std::optional(SnapshotId{*parent})
                                                             : std::nullopt,
                                   .timestamp = kNow - age});
    return *this;
  }

  // Adds the snapshots first to last, each the child of the one before, one day older than the next; the last one is `youngest`
  // old.
  Table& AddLine(std::int64_t first, std::int64_t last, std::optional<std::int64_t> parent,
                 milliseconds youngest) {
    for (std::int64_t id = first; id <= last; ++id) {
      Add(id, parent, youngest + (last - id) * days(1));
      parent = id;
    }
    return *this;
  }

  Table& Branch(const std::string& name, std::int64_t id, SnapshotRef ref = {}) {
    ref.snapshot_id = SnapshotId{id};
    ref.kind = SnapshotRef::Kind::kBranch;
    metadata_.refs[name] = ref;
    if (name == kMainBranch) {
      metadata_.current_snapshot_id = SnapshotId{id};
    }
    return *this;
  }

  Table& Tag(const std::string& name, std::int64_t id,
             std::optional<milliseconds> max_age = std::nullopt) {
    metadata_.refs[name] = {
        .snapshot_id = SnapshotId{id}, .kind = SnapshotRef::Kind::kTag, .max_ref_age = max_age};
    return *this;
  }

  Expiry Expired(const Properties& properties = {}) const {
    return PlanExpiry(metadata_, ReadExpiryPolicy(properties).value(), kNow);
  }

  std::vector<std::int64_t> ExpiredIds(const Properties& properties = {}) const {
    std::vector<std::int64_t> ids;
    for (const SnapshotId id : Expired(properties).snapshots) {
      ids.push_back(std::to_underlying(id));
    }
    return ids;
  }

 private:
  TableMetadata metadata_;
};

std::string Millis(milliseconds age) {
  return std::to_string(age.count());
}

TEST(SnapshotExpiry, ATableWithoutSnapshotsHasNothingToExpire) {
  EXPECT_TRUE(Table().Expired().empty());
}

TEST(SnapshotExpiry, WithoutPropertiesSnapshotsOlderThanFiveDaysGo) {
  // 1 is nine days old, 10 is new; 5 is exactly five days old, which is not older.
  const Table table = Table().AddLine(1, 10, std::nullopt, days(0)).Branch("main", 10);
  EXPECT_THAT(table.ExpiredIds(), ElementsAre(1, 2, 3, 4));
}

TEST(SnapshotExpiry, TheCurrentSnapshotStaysHoweverOldItIs) {
  const Table table = Table().AddLine(1, 3, std::nullopt, days(1000)).Branch("main", 3);
  EXPECT_THAT(table.ExpiredIds({{"lake.expire.max-snapshots", "1"}}), ElementsAre(1, 2));
}

TEST(SnapshotExpiry, MainIsNeverRemovedByAge) {
  const Table table = Table().Add(1, std::nullopt, days(1000)).Branch("main", 1);
  EXPECT_TRUE(table.Expired({{"history.expire.max-ref-age-ms", "1"}}).empty());
}

TEST(SnapshotExpiry, TheNewestAreKeptHoweverOldTheyAre) {
  const Table table = Table().AddLine(1, 10, std::nullopt, days(100)).Branch("main", 10);
  EXPECT_THAT(table.ExpiredIds({{"history.expire.min-snapshots-to-keep", "7"}}),
              ElementsAre(1, 2, 3));
}

TEST(SnapshotExpiry, ATagKeepsItsSnapshotAndNotThoseBeforeIt) {
  const Table table =
      Table().AddLine(1, 10, std::nullopt, days(20)).Branch("main", 10).Tag("audit", 4);
  EXPECT_THAT(table.ExpiredIds(), ElementsAre(1, 2, 3, 5, 6, 7, 8, 9));
}

// Two branches that part at 4, and two tags. What any of them needs stays.
TEST(SnapshotExpiry, ASnapshotStaysIfAnyOfSeveralBranchesAndTagsKeepsIt) {
  const Table table = Table()
                          .AddLine(1, 8, std::nullopt, days(30))
                          .AddLine(11, 14, 4, days(30))
                          .Branch("main", 8)
                          .Branch("dev", 14, {.min_snapshots_to_keep = 6})
                          .Tag("release", 6)
                          .Tag("dev-start", 1);
  // dev keeps 14, 13, 12, 11, 4, 3; main keeps 8; the tags keep 6 and 1.
  EXPECT_THAT(table.ExpiredIds(), ElementsAre(2, 5, 7));
  EXPECT_THAT(table.Expired().refs, IsEmpty());
}

TEST(SnapshotExpiry, ABranchesOwnAgeGoesBeforeTheTables) {
  const Table table = Table()
                          .AddLine(1, 10, std::nullopt, days(0))
                          .Branch("main", 10, {.max_snapshot_age = days(2)})
                          .Branch("long", 10, {.max_snapshot_age = days(7)});
  EXPECT_THAT(table.ExpiredIds({{"history.expire.max-snapshot-age-ms", Millis(days(1))}}),
              ElementsAre(1, 2));
}

TEST(SnapshotExpiry, ARefIsRemovedWhenItsSnapshotIsOlderThanItsAge) {
  const Table table = Table()
                          .AddLine(1, 10, std::nullopt, days(0))
                          .Branch("main", 10)
                          .Branch("stale", 2, {.max_ref_age = days(7)})
                          .Tag("kept", 3)
                          .Tag("short", 4, days(3));
  const Expiry expiry = table.Expired();
  EXPECT_THAT(expiry.refs, ElementsAre("short", "stale"));
  EXPECT_THAT(table.ExpiredIds(), ElementsAre(1, 2, 4));
}

TEST(SnapshotExpiry, TheTablesRefAgeHoldsForRefsWithoutOne) {
  const Table table = Table()
                          .AddLine(1, 10, std::nullopt, days(0))
                          .Branch("main", 10)
                          .Tag("old", 2)
                          .Tag("own", 1, days(100));
  EXPECT_THAT(table.Expired({{"history.expire.max-ref-age-ms", Millis(days(7))}}).refs,
              ElementsAre("old"));
}

TEST(SnapshotExpiry, ASnapshotThatNothingLeadsToGoesWhenItIsTooOld) {
  const Table table = Table()
                          .Add(1, std::nullopt, days(1))
                          .Add(2, 1, days(4))  // Staged lately.
                          .Add(3, 1, days(6))  // Staged long ago.
                          .Branch("main", 1);
  EXPECT_THAT(table.ExpiredIds(), ElementsAre(3));
}

TEST(SnapshotExpiry, WhatAnExpiredRefLedToIsKeptWhileItIsYoung) {
  const Table table = Table()
                          .Add(1, std::nullopt, days(0))
                          .Add(2, std::nullopt, days(2))
                          .Branch("main", 1)
                          .Tag("short", 2, days(1));
  EXPECT_THAT(table.Expired().refs, ElementsAre("short"));
  EXPECT_THAT(table.ExpiredIds(), IsEmpty());
}

TEST(SnapshotExpiry, TenThousandYoungSnapshotsAreBoundedByTheirNumber) {
  Table table;
  for (std::int64_t id = 1; id <= 10'000; ++id) {
    table.Add(id, id == 1 ? std::nullopt : std::optional(id - 1), milliseconds(10'000 - id));
  }
  table.Branch("main", 10'000);
  EXPECT_THAT(table.ExpiredIds(), SizeIs(9000));
  EXPECT_EQ(table.ExpiredIds().back(), 9000);
  EXPECT_THAT(table.ExpiredIds({{"lake.expire.max-snapshots", "10"}}), SizeIs(9990));
  EXPECT_THAT(table.ExpiredIds({{"lake.expire.max-snapshots", "0"}}), IsEmpty());
}

TEST(SnapshotExpiry, WhoeverGaveAnAgeIsNotBoundedByTheDefaultNumber) {
  Table table;
  for (std::int64_t id = 1; id <= 1500; ++id) {
    table.Add(id, id == 1 ? std::nullopt : std::optional(id - 1), milliseconds(1500 - id));
  }
  const Properties age = {{"history.expire.max-snapshot-age-ms", Millis(days(5))}};
  EXPECT_THAT(table.Branch("main", 1500).ExpiredIds(age), IsEmpty());
  EXPECT_THAT(table.ExpiredIds(), SizeIs(500));
  EXPECT_THAT(table.Branch("main", 1500, {.max_snapshot_age = days(5)}).ExpiredIds(), IsEmpty());
  EXPECT_THAT(table.ExpiredIds({{"lake.expire.max-snapshots", "1000"}}), SizeIs(500));
}

TEST(SnapshotExpiry, TheLeastNumberGoesBeforeTheMost) {
  const Table table = Table().AddLine(1, 10, std::nullopt, days(0)).Branch("main", 10);
  EXPECT_THAT(table.ExpiredIds({{"lake.expire.max-snapshots", "2"},
                                {"history.expire.min-snapshots-to-keep", "8"}}),
              ElementsAre(1, 2));
}

TEST(SnapshotExpiry, ParentsInACircleEnd) {
  const Table table = Table()
                          .Add(1, 3, days(1))
                          .Add(2, 1, days(1))
                          .Add(3, 2, days(1))
                          .Add(4, 4, days(1))
                          .Branch("main", 3)
                          .Branch("self", 4);
  EXPECT_THAT(table.ExpiredIds(), IsEmpty());
}

TEST(SnapshotExpiry, AParentThatIsGoneEndsABranch) {
  const Table table = Table().Add(1, std::nullopt, days(1)).Add(3, 2, days(1)).Branch("main", 3);
  EXPECT_THAT(table.ExpiredIds({{"lake.expire.max-snapshots", "1"}}), IsEmpty());
}

TEST(SnapshotExpiry, TimesAndAgesAtTheEndsOfTheirRangeAreOrdinary) {
  Table table;
  table.Add(1, std::nullopt, milliseconds(0))
      .Add(2, 1, milliseconds(-std::chrono::milliseconds(days(400'000)).count()))
      .Branch("main", 2);
  EXPECT_THAT(table.ExpiredIds({{"history.expire.max-snapshot-age-ms",
                                 std::to_string(std::numeric_limits<std::int64_t>::max())}}),
              IsEmpty());
  TableMetadata metadata;
  metadata.snapshots = {{.snapshot_id = SnapshotId{1}, .timestamp = WallTime::min()},
                        {.snapshot_id = SnapshotId{2}, .timestamp = WallTime::max()}};
  EXPECT_THAT(PlanExpiry(metadata, {}, kNow).snapshots, ElementsAre(SnapshotId{1}));
}

TEST(SnapshotExpiry, AWrongPropertyIsRefusedByName) {
  for (const char* name :
       {"history.expire.max-snapshot-age-ms", "history.expire.min-snapshots-to-keep",
        "history.expire.max-ref-age-ms", "lake.expire.max-snapshots"}) {
    for (const char* value : {"", "many", "-1", "1.5", "7 days", "99999999999999999999"}) {
      EXPECT_THAT(ReadExpiryPolicy({{name, value}}),
                  IsError(ErrorCode::kInvalidArgument, HasSubstr(name)))
          << value;
    }
  }
  EXPECT_THAT(ReadExpiryPolicy({{"history.expire.min-snapshots-to-keep", "0"}}),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ReadExpiryPolicy({}), IsOkAnd(ExpiryPolicy{}));
}

}  // namespace
}  // namespace lake::iceberg
