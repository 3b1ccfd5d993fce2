#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/engine/iceberg_maintainer.h"
#include "lake/engine/table_files.h"
#include "lake/engine/table_world_test_internal.h"

namespace lake::engine {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::FaultyObjectStore;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using ::testing::Not;
using ::testing::SizeIs;
using enum iceberg::ManifestEntryStatus;

constexpr auto kEntry = TableWorld::Entry;

// Four files over six snapshots: 1 and 2 append; 3 replaces a by c; 4 appends d; 5 is a branch that still has a; 6 is main without b.
void Fill(TableWorld& world) {
  const iceberg::DataFile a = world.Append(1, "a");
  const iceberg::DataFile b = world.Append(2, "b");
  const iceberg::DataFile c = world.NewFile("c");
  world.Replace(3, "main", {kEntry(kDeleted, 3, a), kEntry(kExisting, 2, b), kEntry(kAdded, 3, c)});
  const iceberg::DataFile d = world.Append(4, "d");
  world.Replace(5, "dev", {kEntry(kExisting, 1, a), kEntry(kAdded, 5, world.NewFile("e"))});
  world.Replace(6, "main", {kEntry(kExisting, 3, c), kEntry(kExisting, 4, d)});
}

// All but versions of the metadata.
std::set<std::string> OtherPaths(TableWorld& world) {
  std::set<std::string> paths = world.Paths();
  std::erase_if(paths, [](const std::string& path) { return path.ends_with(".json"); });
  return paths;
}

// All that a walk over the table as it is now reaches, but for versions of the metadata.
std::set<std::string> ReachedPaths(TableWorld& world) {
  std::set<std::string> paths;
  EXPECT_THAT(VisitTableFiles(world.objects(), world.Current(), world.location(), {}, world.Soon(),
                              [&](const TableFile& file) -> Status {
                                if (!file.path.ends_with(".json")) {
                                  paths.insert(file.path);
                                }
                                return {};
                              }),
              IsOk());
  return paths;
}

TEST(ExpiredFiles, OfAppendsOnlyTheManifestListsGo) {
  TableWorld world;
  world.Append(1, "a");
  world.Append(2, "b");
  world.Append(3, "c");
  const std::string list = world.Current()->FindSnapshot(iceberg::SnapshotId{1})->manifest_list;
  const auto removed = world.Remove(world.Expire({1, 2}));
  ASSERT_THAT(removed, IsOk());
  EXPECT_EQ(removed->files, 2U);
  EXPECT_THAT(world.Paths(), Not(Contains(list)));
  EXPECT_THAT(world.Paths(), Contains("/w/t/data/a.parquet"));
  EXPECT_THAT(world.Problems(), IsEmpty());
}

TEST(ExpiredFiles, WhatAReplaceTookOutGoesWithTheLastSnapshotThatHasIt) {
  TableWorld world;
  const iceberg::DataFile a = world.Append(1, "a");
  const iceberg::DataFile b = world.Append(2, "b");
  world.Replace(3, "main", {kEntry(kDeleted, 3, a), kEntry(kExisting, 2, b)});
  ASSERT_THAT(world.Remove(world.Expire({1})), IsOk());
  EXPECT_THAT(world.Paths(), Contains(a.file_path));
  ASSERT_THAT(world.Remove(world.Expire({2})), IsOk());
  EXPECT_THAT(world.Paths(), Not(Contains(a.file_path)));
  EXPECT_THAT(world.Paths(), Contains(b.file_path));
  EXPECT_THAT(world.Problems(), IsEmpty());
}

// Every set of snapshots that can be given up while main, a branch and two tags stay.
TEST(ExpiredFiles, WhicheverSnapshotsExpireExactlyWhatTheOthersNeedStays) {
  for (unsigned expired = 0; expired < 64; ++expired) {
    TableWorld world;
    Fill(world);
    world.Tag("first", 1);
    world.Tag("third", 3);
    std::vector<std::int64_t> ids;
    for (std::int64_t id = 1; id <= 6; ++id) {
      const bool named = id == 6 || id == 5 || id == 1 || id == 3;
      if ((expired >> (id - 1) & 1U) != 0 && (!named || expired % 3 != 0)) {
        ids.push_back(id);
      }
    }
    ASSERT_THAT(world.Remove(world.Expire(ids)), IsOk()) << expired;
    EXPECT_THAT(world.Problems(), IsEmpty()) << expired;
    EXPECT_EQ(OtherPaths(world), ReachedPaths(world)) << expired;
  }
}

TEST(ExpiredFiles, SnapshotsThatExpireOneByOneLeaveTheSameAsAllAtOnce) {
  TableWorld at_once;
  Fill(at_once);
  ASSERT_THAT(at_once.Remove(at_once.Expire({1, 2, 3, 4})), IsOk());
  TableWorld one_by_one;
  Fill(one_by_one);
  for (const std::int64_t id : {2, 4, 1, 3}) {
    ASSERT_THAT(one_by_one.Remove(one_by_one.Expire({id})), IsOk());
    EXPECT_THAT(one_by_one.Problems(), IsEmpty());
  }
  EXPECT_EQ(OtherPaths(at_once), OtherPaths(one_by_one));
  EXPECT_EQ(OtherPaths(at_once), ReachedPaths(at_once));
}

TEST(ExpiredFiles, AVersionThatGaveNothingUpRemovesNothing) {
  TableWorld world;
  Fill(world);
  const std::set<std::string> before = world.Paths();
  ASSERT_THAT(world.Remove({.before = world.Current(), .after = world.Current()}), IsOk());
  EXPECT_EQ(world.Paths(), before);
}

TEST(ExpiredFiles, AFileThatTwoManifestsNameDifferentlyIsOneFile) {
  TableWorld world;
  iceberg::DataFile a = world.Append(1, "a");
  a.file_path = "file://" + a.file_path;
  world.Replace(2, "main", {kEntry(kExisting, 1, a)});
  ASSERT_THAT(world.Remove(world.Expire({1})), IsOk());
  EXPECT_THAT(world.Paths(), Contains("/w/t/data/a.parquet"));
}

TEST(ExpiredFiles, WhatLiesOutsideTheTablesLocationIsLeft) {
  TableWorld world;
  const std::string outside = world.Put("/w/t2/data/x.parquet");
  world.Replace(
      1, "main",
      {kEntry(kAdded, 1, {.file_path = outside, .record_count = 1, .file_size_in_bytes = 4}),
       kEntry(kAdded, 1, world.NewFile("a"))});
  world.Replace(2, "main", {kEntry(kAdded, 2, world.NewFile("b"))});
  const auto removed = world.Remove(world.Expire({1}));
  ASSERT_THAT(removed, IsOk());
  EXPECT_EQ(removed->outside, 1U);
  EXPECT_THAT(world.Paths(), AllOf(Contains(outside), Not(Contains("/w/t/data/a.parquet"))));
}

TEST(ExpiredFiles, NothingIsRemovedWhenWhatIsKeptCannotBeRead) {
  for (const bool damaged : {true, false}) {
    TableWorld world;
    Fill(world);
    const ExpiredVersion version = world.Expire({1, 2, 3, 4});
    const std::string manifest = "/w/t/metadata/m-6.avro";
    ASSERT_THAT(world.objects().Delete({manifest}, world.Soon()), IsOk());
    if (damaged) {
      ASSERT_THAT(world.objects().PutIfAbsent(manifest, "Obj", world.Soon()), IsOk());
    }
    const std::set<std::string> before = world.Paths();
    EXPECT_THAT(world.Remove(version), IsError(ErrorCode::kCorruption, HasSubstr(manifest)));
    EXPECT_EQ(world.Paths(), before);
  }
}

TEST(ExpiredFiles, NothingIsRemovedWhenAPathCannotBeCompared) {
  TableWorld world;
  const iceberg::DataFile a = world.Append(1, "a");
  world.Replace(
      2, "main",
      {kEntry(kExisting, 1, a),
       kEntry(kAdded, 2,
              {.file_path = "data/b.parquet", .record_count = 1, .file_size_in_bytes = 4})});
  const std::set<std::string> before = world.Paths();
  EXPECT_THAT(world.Remove(world.Expire({1})), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(world.Paths(), Contains(a.file_path));
}

TEST(ExpiredFiles, APermitThatIsWithdrawnEndsTheRemovalBeforeAnyMoreIsGone) {
  TableWorld world;
  Fill(world);
  const ExpiredVersion version = world.Expire({1, 2, 3, 4});
  const std::set<std::string> before = world.Paths();
  EXPECT_THAT(world.maintainer().RemoveExpired(
                  version, [] { return Status(std::unexpected(Error(ErrorCode::kFenced, "no"))); },
                  world.Soon()),
              IsError(ErrorCode::kFenced));
  EXPECT_EQ(world.Paths(), before);
  int asked = 0;
  EXPECT_THAT(world.maintainer().RemoveExpired(
                  version,
                  [&] {
                    return ++asked > 1 ? Status(std::unexpected(Error(ErrorCode::kFenced, "no")))
                                       : Status();
                  },
                  world.Soon()),
              IsError(ErrorCode::kFenced));
  EXPECT_THAT(world.Problems(), IsEmpty());
}

TEST(ExpiredFiles, WhereverTheStoreFailsNothingNeededIsGoneAndTheSameRemovalMayBeDoneAgain) {
  using Fault = FaultyObjectStore::Fault;
  for (const Fault fault : {Fault::kRefuse, Fault::kLoseAnswer}) {
    for (std::size_t request = 1;; ++request) {
      TableWorld world;
      Fill(world);
      const ExpiredVersion version = world.Expire({1, 2, 3, 4});
      world.faulty().FailNth(request, fault);
      const auto first = world.Remove(version);
      EXPECT_THAT(world.Problems(), IsEmpty()) << request;
      if (first.has_value()) {
        EXPECT_GT(request, 4U);
        break;
      }
    }
  }
}

TEST(ExpiredFiles, StatisticsGoWithTheirSnapshot) {
  TableWorld world;
  world.Append(1, "a");
  world.Append(2, "b");
  iceberg::TableMetadata with = *world.Current();
  for (const std::int64_t id : {1, 2}) {
    const std::string name = "/w/t/metadata/s" + std::to_string(id);
    with.statistics.push_back(
        {.snapshot_id = iceberg::SnapshotId{id}, .statistics_path = world.Put(name + ".stats")});
    with.partition_statistics.push_back(
        {.snapshot_id = iceberg::SnapshotId{id}, .statistics_path = world.Put(name + ".parts")});
  }
  iceberg::TableMetadata without =
      iceberg::ApplyUpdates(with, {iceberg::RemoveSnapshots{{iceberg::SnapshotId{1}}}}, {}).value();
  ASSERT_THAT(world.Remove({.before = std::make_shared<const iceberg::TableMetadata>(with),
                            .after = std::make_shared<const iceberg::TableMetadata>(without)}),
              IsOk());
  EXPECT_THAT(
      world.Paths(),
      AllOf(Not(Contains("/w/t/metadata/s1.stats")), Not(Contains("/w/t/metadata/s1.parts")),
            Contains("/w/t/metadata/s2.stats"), Contains("/w/t/metadata/s2.parts")));
}

}  // namespace
}  // namespace lake::engine
