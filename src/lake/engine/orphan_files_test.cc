#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/engine/iceberg_maintainer.h"
#include "lake/engine/table_files.h"
#include "lake/engine/table_world_test_internal.h"
#include "lake/iceberg/table_update.h"

namespace lake::engine {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FaultyObjectStore;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using ::testing::Not;
using enum iceberg::ManifestEntryStatus;

constexpr auto kEntry = TableWorld::Entry;
constexpr WallTime kNow{milliseconds(1'790'000'000'000)};
constexpr auto kFloor = days(3);

Status Permitted() {
  return {};
}

// A table with files that grow old.
class OrphanWorld : public TableWorld {
 public:
  // Makes all that is there now older than the floor.
  void Age() { clock().SetWall(kNow + 2 * kFloor); }

  TableNeeds Needs() {
    return {.metadata = Current(), .metadata_location = location(), .planned = planned};
  }

  OrphanSearch Search() {
    OrphanSearch search{.incarnation = Current()->table_uuid.value(),
                        .location = kLocation,
                        .before = clock().WallNow() - kFloor};
    search.read_needs = [this]() -> Result<TableNeeds> { return Needs(); };
    return search;
  }

  Result<OrphanRemoval> RemoveOrphans() {
    return maintainer().RemoveOrphans(Search(), Permitted, Soon());
  }

  // All that the table as it is now reaches.
  std::set<std::string> Reached() {
    std::set<std::string> paths;
    EXPECT_THAT(VisitTableFiles(objects(), Current(), location(), {}, Soon(),
                                [&](const TableFile& file) -> Status {
                                  paths.insert(file.path);
                                  return {};
                                }),
                IsOk());
    return paths;
  }

  std::vector<std::string> planned;
};

// Snapshots of main, of a branch and below a tag.
void Fill(OrphanWorld& world) {
  world.clock().SetWall(kNow);
  const iceberg::DataFile a = world.Append(1, "a");
  const iceberg::DataFile b = world.Append(2, "b");
  const iceberg::DataFile c = world.NewFile("c");
  world.Replace(3, "main", {kEntry(kDeleted, 3, a), kEntry(kExisting, 2, b), kEntry(kAdded, 3, c)});
  const iceberg::DataFile d = world.Append(4, "d");
  world.Replace(5, "dev", {kEntry(kExisting, 1, a), kEntry(kAdded, 5, world.NewFile("e"))});
  world.Replace(6, "main", {kEntry(kExisting, 3, c), kEntry(kExisting, 4, d)});
  world.Tag("first", 1);
}

// What a test leaves around: all of it orphans once it is old.
std::set<std::string> Litter(OrphanWorld& world) {
  return {world.Put("/w/t/data/lost.parquet"), world.Put("/w/t/metadata/lost-m0.avro"),
          world.Put("/w/t/lost"), world.Put("/w/t/data/deep/er/lost 1.parquet")};
}

TEST(OrphanFiles, WhatNothingNeedsGoesAndAllThatIsReachedStays) {
  OrphanWorld world;
  Fill(world);
  const std::set<std::string> orphans = Litter(world);
  world.Age();
  const auto removed = world.RemoveOrphans();
  ASSERT_THAT(removed, IsOk());
  EXPECT_EQ(removed->files, orphans.size());
  EXPECT_EQ(removed->bytes, 4 * orphans.size());
  EXPECT_EQ(std::set(removed->paths.begin(), removed->paths.end()), orphans);
  EXPECT_EQ(world.Paths(), world.Reached());
  EXPECT_THAT(world.Problems(), IsEmpty());
  EXPECT_EQ(world.RemoveOrphans()->files, 0U);
}

// Every set of snapshots that can be given up while the refs stay, with the files left that only they reached.
TEST(OrphanFiles, WhicheverSnapshotsExpiredExactlyWhatIsReachedStays) {
  for (unsigned expired = 0; expired < 16; ++expired) {
    OrphanWorld world;
    Fill(world);
    std::vector<std::int64_t> ids;
    const std::int64_t free[] = {2, 3, 4, 5};
    for (std::size_t i = 0; i < 4; ++i) {
      if ((expired >> i & 1U) != 0) {
        ids.push_back(free[i]);
      }
    }
    world.Expire(ids);
    world.Age();
    ASSERT_THAT(world.RemoveOrphans(), IsOk()) << expired;
    EXPECT_EQ(world.Paths(), world.Reached()) << expired;
    EXPECT_THAT(world.Problems(), IsEmpty()) << expired;
  }
}

TEST(OrphanFiles, ADryRunNamesThemAndRemovesNothing) {
  OrphanWorld world;
  Fill(world);
  const std::set<std::string> orphans = Litter(world);
  world.Age();
  const std::set<std::string> before = world.Paths();
  OrphanSearch search = world.Search();
  search.dry_run = true;
  const auto found = world.maintainer().RemoveOrphans(search, Permitted, world.Soon());
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->files, orphans.size());
  EXPECT_EQ(std::set(found->paths.begin(), found->paths.end()), orphans);
  EXPECT_EQ(world.Paths(), before);
}

TEST(OrphanFiles, AFileThatIsYoungerThanTheFloorStays) {
  OrphanWorld world;
  Fill(world);
  world.Put("/w/t/data/old.parquet");
  world.clock().SetWall(kNow + milliseconds(1));
  const std::string young = world.Put("/w/t/data/young.parquet");
  world.clock().SetWall(kNow + milliseconds(1) + kFloor);
  ASSERT_THAT(world.RemoveOrphans(), IsOk());
  EXPECT_THAT(world.Paths(), Contains(young));
  EXPECT_THAT(world.Paths(), Not(Contains("/w/t/data/old.parquet")));
}

TEST(OrphanFiles, TheFilesOfAnAttemptThatIsPendingStay) {
  OrphanWorld world;
  Fill(world);
  const std::string uuid = "0191d6a0-1111-4222-8333-444455556666";
  const std::set<std::string> attempt = {
      world.Put("/w/t/metadata/" + uuid + "-m0.avro"),
      world.Put("/w/t/metadata/snap-7-" + uuid + ".avro"),
  };
  world.planned = {"/w/t/metadata/00009-1-" + uuid + ".metadata.json"};
  world.Put("/w/t/metadata/0191d6a0-1111-4222-8333-444455556667-m0.avro");
  world.Age();
  const auto removed = world.RemoveOrphans();
  ASSERT_THAT(removed, IsOk());
  EXPECT_EQ(removed->files, 1U);
  for (const std::string& path : attempt) {
    EXPECT_THAT(world.Paths(), Contains(path));
  }
  // Once it is given up they are orphans.
  world.planned.clear();
  ASSERT_THAT(world.RemoveOrphans(), IsOk());
  EXPECT_EQ(world.Paths(), world.Reached());
}

TEST(OrphanFiles, WhatAPlannedVersionReachesStays) {
  OrphanWorld world;
  Fill(world);
  const TableNeeds before = world.Needs();
  const iceberg::DataFile file = world.Append(7, "g");
  const std::set<std::string> reached = world.Reached();
  world.Age();
  // The version is written and not published.
  OrphanSearch search = world.Search();
  search.read_needs = [&]() -> Result<TableNeeds> {
    TableNeeds needs = before;
    needs.planned = {world.location()};
    return needs;
  };
  ASSERT_THAT(world.maintainer().RemoveOrphans(search, Permitted, world.Soon()), IsOk());
  EXPECT_EQ(world.Paths(), reached);
  EXPECT_THAT(world.Paths(), Contains(file.file_path));
}

TEST(OrphanFiles, APlannedFileWhoseNameSaysNothingEndsTheSearch) {
  OrphanWorld world;
  Fill(world);
  Litter(world);
  world.planned = {"/w/t/metadata/v9.metadata.json"};
  world.Age();
  const std::set<std::string> before = world.Paths();
  EXPECT_THAT(world.RemoveOrphans(), IsError(ErrorCode::kConflict, HasSubstr("v9")));
  EXPECT_EQ(world.Paths(), before);
}

// The gate stands between the listing and the deletion: what is published there is seen.
TEST(OrphanFiles, AnAppendThatIsPublishedAfterTheListingLosesNothing) {
  OrphanWorld world;
  Fill(world);
  const iceberg::DataFile staged = world.NewFile("staged");
  Litter(world);
  world.Age();
  int reads = 0;
  OrphanSearch search = world.Search();
  search.read_needs = [&]() -> Result<TableNeeds> {
    // The first time nothing is listed yet.
    if (++reads == 2) {
      world.Replace(8, "main", {kEntry(kAdded, 8, staged)});
    }
    return world.Needs();
  };
  ASSERT_THAT(world.maintainer().RemoveOrphans(search, Permitted, world.Soon()), IsOk());
  EXPECT_EQ(reads, 2);
  EXPECT_THAT(world.Paths(), Contains(staged.file_path));
  EXPECT_THAT(world.Problems(), IsEmpty());
  EXPECT_EQ(world.Paths(), world.Reached());
}

TEST(OrphanFiles, PathsThatAreWrittenInOtherWaysAreTheSameFiles) {
  for (const std::string_view scheme : {"file:", "file://", "FILE://"}) {
    OrphanWorld world;
    world.clock().SetWall(kNow);
    iceberg::DataFile file = world.NewFile("a");
    file.file_path = std::string(scheme) + file.file_path;
    world.Replace(1, "main", {kEntry(kAdded, 1, file)});
    world.Put("/w/t/data/lost.parquet");
    world.Age();
    const auto removed = world.RemoveOrphans();
    ASSERT_THAT(removed, IsOk()) << scheme;
    EXPECT_THAT(removed->paths, ElementsAre("/w/t/data/lost.parquet")) << scheme;
    EXPECT_THAT(world.Paths(), Contains("/w/t/data/a.parquet"));
  }
}

// Each names a file that may be one of those that are listed.
TEST(OrphanFiles, APathThatMayNameAListedFileInAnotherWayEndsTheSearch) {
  struct Case {
    const char* listed;
    const char* named;
  };

  for (const Case& c : {Case{"/w/t/data/a b.parquet", "/w/t/data/a%20b.parquet"},
                        Case{"/w/t/data/a%20b.parquet", "/w/t/data/a b.parquet"},
                        Case{"/w/t/data/a%20b.parquet", "/w/t/data/a%2520b.parquet"},
                        Case{"/w/t/data/a.parquet", "/w/%74/data/a.parquet"},
                        Case{"/w/t/data/a.parquet", "/link/t/data/a.parquet"},
                        Case{"/w/t/data/a.parquet", "s3://w/t/data/a.parquet"},
                        Case{"/w/t/data/a.parquet", "/w/t/./data/a.parquet"},
                        Case{"/w/t/data/a.parquet", "/w/t//data/a.parquet"},
                        Case{"/w/t/data/a.parquet", "file://host/w/t/data/a.parquet"},
                        Case{"/w/t/data/a.parquet", "data/a.parquet"}}) {
    OrphanWorld world;
    world.clock().SetWall(kNow);
    world.Put(c.listed);
    world.Replace(
        1, "main",
        {kEntry(kAdded, 1, {.file_path = c.named, .record_count = 1, .file_size_in_bytes = 4})});
    Litter(world);
    world.Age();
    const std::set<std::string> before = world.Paths();
    const auto removed = world.RemoveOrphans();
    ASSERT_FALSE(removed.has_value()) << c.named;
    EXPECT_TRUE(removed.error().code() == ErrorCode::kConflict ||
                removed.error().code() == ErrorCode::kInvalidArgument)
        << removed.error().message();
    EXPECT_EQ(world.Paths(), before) << c.named;
  }
}

TEST(OrphanFiles, AFileOutsideTheLocationThatIsLikeNoneInsideHoldsUpNothing) {
  OrphanWorld world;
  world.clock().SetWall(kNow);
  const std::string outside = world.Put("/w/t2/data/x.parquet");
  world.Replace(
      1, "main",
      {kEntry(kAdded, 1, {.file_path = outside, .record_count = 1, .file_size_in_bytes = 4})});
  world.Put("/w/t2/data/y.parquet");
  world.Put("/w/t/data/lost.parquet");
  world.Age();
  const auto removed = world.RemoveOrphans();
  ASSERT_THAT(removed, IsOk());
  EXPECT_THAT(removed->paths, ElementsAre("/w/t/data/lost.parquet"));
  EXPECT_THAT(world.Paths(), Contains("/w/t2/data/y.parquet"));
}

TEST(OrphanFiles, MetadataOfAnotherTableBelowTheLocationEndsTheSearch) {
  for (const std::string_view content :
       {R"({"format-version":2,"table-uuid":"0191d6a0-1111-4222-8333-444455556666"})",
        R"({"format-version":2})", "no metadata"}) {
    for (const bool old : {true, false}) {
      OrphanWorld world;
      Fill(world);
      Litter(world);
      if (!old) {
        world.Age();
      }
      ASSERT_THAT(
          world.objects().PutIfAbsent("/w/t/zz/metadata/x.metadata.json", content, world.Soon()),
          IsOk());
      world.Age();
      const std::set<std::string> before = world.Paths();
      EXPECT_THAT(world.RemoveOrphans(),
                  IsError(ErrorCode::kConflict, HasSubstr("/w/t/zz/metadata/x.metadata.json")));
      EXPECT_EQ(world.Paths(), before);
    }
  }
}

TEST(OrphanFiles, ATableWhoseFilesMayBelongToOthersIsLeftAlone) {
  for (const std::string_view value : {"false", "FALSE", "no", "true ", "tru", ""}) {
    OrphanWorld world;
    Fill(world);
    world.Commit({iceberg::SetProperties{.updates = {{"gc.enabled", std::string(value)}}}});
    Litter(world);
    world.Age();
    const std::set<std::string> before = world.Paths();
    EXPECT_THAT(world.RemoveOrphans(), IsError(ErrorCode::kConflict, HasSubstr("gc.enabled")));
    EXPECT_EQ(world.Paths(), before);
  }
  OrphanWorld world;
  Fill(world);
  world.Commit({iceberg::SetProperties{.updates = {{"gc.enabled", "True"}}}});
  Litter(world);
  world.Age();
  EXPECT_THAT(world.RemoveOrphans(), IsOk());
}

TEST(OrphanFiles, HiddenFilesAndTheVersionHintStay) {
  OrphanWorld world;
  Fill(world);
  const std::set<std::string> kept = {
      world.Put("/w/t/metadata/version-hint.text"), world.Put("/w/t/.hidden"),
      world.Put("/w/t/_temporary/0/x.parquet"), world.Put("/w/t/data/_SUCCESS")};
  world.Age();
  EXPECT_EQ(world.RemoveOrphans()->files, 0U);
  for (const std::string& path : kept) {
    EXPECT_THAT(world.Paths(), Contains(path));
  }
}

TEST(OrphanFiles, NothingIsRemovedWhenWhatTheTableReachesCannotBeRead) {
  for (const bool damaged : {true, false}) {
    OrphanWorld world;
    Fill(world);
    Litter(world);
    world.Age();
    const std::string manifest = "/w/t/metadata/m-5.avro";
    ASSERT_THAT(world.objects().Delete({manifest}, world.Soon()), IsOk());
    if (damaged) {
      ASSERT_THAT(world.objects().PutIfAbsent(manifest, "Obj", world.Soon()), IsOk());
    }
    const std::set<std::string> before = world.Paths();
    EXPECT_THAT(world.RemoveOrphans(), IsError(ErrorCode::kCorruption, HasSubstr(manifest)));
    EXPECT_EQ(world.Paths(), before);
  }
}

TEST(OrphanFiles, APermitThatIsWithdrawnEndsTheSearchBeforeTheNextPage) {
  OrphanWorld world;
  Fill(world);
  for (int i = 0; i < 1500; ++i) {
    world.Put(fmt::format("/w/t/data/lost-{:04}.parquet", i));
  }
  world.Age();
  int asked = 0;
  EXPECT_THAT(world.maintainer().RemoveOrphans(
                  world.Search(),
                  [&] {
                    return ++asked > 1 ? Status(std::unexpected(Error(ErrorCode::kFenced, "no")))
                                       : Status();
                  },
                  world.Soon()),
              IsError(ErrorCode::kFenced));
  EXPECT_EQ(asked, 2);
  EXPECT_THAT(world.objects().Stat("/w/t/data/lost-0999.parquet", world.Soon()),
              IsError(ErrorCode::kNotFound));
  EXPECT_THAT(world.objects().Stat("/w/t/data/lost-1000.parquet", world.Soon()), IsOk());
  ASSERT_THAT(world.RemoveOrphans(), IsOk());
  EXPECT_EQ(world.Paths(), world.Reached());
}

TEST(OrphanFiles, WhereverTheStoreFailsNothingNeededIsGoneAndTheNextSearchFinishes) {
  using Fault = FaultyObjectStore::Fault;
  for (const Fault fault : {Fault::kRefuse, Fault::kLoseAnswer}) {
    for (std::size_t request = 1;; ++request) {
      OrphanWorld world;
      Fill(world);
      Litter(world);
      world.Age();
      world.faulty().FailNth(request, fault);
      const auto first = world.RemoveOrphans();
      world.faulty().SetRule(nullptr);
      EXPECT_THAT(world.Problems(), IsEmpty()) << request;
      ASSERT_THAT(world.RemoveOrphans(), IsOk()) << request;
      EXPECT_EQ(world.Paths(), world.Reached()) << request;
      if (first.has_value()) {
        EXPECT_GT(request, 8U);
        break;
      }
    }
  }
}

TEST(OrphanFiles, ASearchWhoseTimeIsOverEnds) {
  OrphanWorld world;
  Fill(world);
  Litter(world);
  world.Age();
  const std::set<std::string> before = world.Paths();
  EXPECT_THAT(world.maintainer().RemoveOrphans(world.Search(), Permitted, world.clock().Now()),
              IsError(ErrorCode::kDeadlineExceeded));
  EXPECT_EQ(world.Paths(), before);
}

}  // namespace
}  // namespace lake::engine
