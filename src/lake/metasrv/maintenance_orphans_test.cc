#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/catalog/keyspace.h"
#include "lake/metasrv/maintenance.h"
#include "lake/metasrv/maintenance_world_test_internal.h"

namespace lake::metasrv {
namespace {

using std::chrono::days;
using std::chrono::hours;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using testing::FaultyMetaStore;
using testing::FaultyObjectStore;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using ::testing::SizeIs;

const MaintenanceRequest kOrphansOfT{.table = kT, .steps = {MaintenanceStep::kRemoveOrphans}};

// Puts an object of nobody below the table's location.
std::string PutOrphan(MaintenanceWorld& world, const std::string& name = "lost.parquet") {
  std::string path = world.Load(kT).registration.location + "/data/" + name;
  EXPECT_THAT(world.under().PutIfAbsent(path, "PAR1", world.Soon()), IsOk());
  return path;
}

bool Exists(MaintenanceWorld& world, const std::string& path) {
  return world.under().Stat(path, world.Soon()).has_value();
}

// A table of two appends with an orphan; all of it old.
std::string MakeOldTableWithOrphan(MaintenanceWorld& world) {
  world.MakeTable(kT);
  world.Append(kT, 2);
  std::string orphan = PutOrphan(world);
  world.clock().SetWall(kNow + days(4));
  return orphan;
}

// Everything that changes a table's version fails at its publication, and nobody can tell.
void LosePublications(MaintenanceWorld& world) {
  world.meta().Inject({.when =
                           [](const FaultyMetaStore::Call& call) {
                             return FaultyMetaStore::Commits(call) &&
                                    call.Names(catalog::TableKey(kT).value());
                           },
                       .times = FaultyMetaStore::kAlways,
                       .fault = {.kind = FaultyMetaStore::Fault::Kind::kLoseRequest}});
}

TEST(MaintenanceOrphans, GoWhenTheyAreOldAndAskedFor) {
  MaintenanceWorld world;
  const std::string orphan = MakeOldTableWithOrphan(world);
  EXPECT_THAT(world.Maintain()->tables, IsEmpty());
  EXPECT_TRUE(Exists(world, orphan));
  const auto report = world.Maintain(kOrphansOfT);
  ASSERT_THAT(report, IsOk());
  ASSERT_THAT(report->tables, SizeIs(1));
  EXPECT_EQ(report->tables[0].orphans_removed, 1U);
  EXPECT_EQ(report->tables[0].orphan_bytes, 4U);
  EXPECT_THAT(report->tables[0].orphan_paths, ElementsAre(orphan));
  EXPECT_THAT(report->tables[0].problems, IsEmpty());
  EXPECT_FALSE(Exists(world, orphan));
  EXPECT_THAT(world.Check(kT).problems, IsEmpty());
  EXPECT_EQ(world.Check(kT).rows, 2U);
  world.Append(kT);
  EXPECT_EQ(world.Check(kT).rows, 3U);
}

TEST(MaintenanceOrphans, ADryRunNamesThemAndRemovesNothing) {
  MaintenanceWorld world;
  const std::string orphan = MakeOldTableWithOrphan(world);
  MaintenanceRequest request = kOrphansOfT;
  request.dry_run = true;
  const auto report = world.Maintain(request);
  ASSERT_THAT(report, IsOk());
  EXPECT_THAT(report->tables.at(0).orphan_paths, ElementsAre(orphan));
  EXPECT_TRUE(Exists(world, orphan));
}

TEST(MaintenanceOrphans, AStagedFileThatIsYoungerThanTheFloorStays) {
  MaintenanceWorld world;
  MakeOldTableWithOrphan(world);
  const AppendRequest staged = world.Request(kT, 5);
  world.clock().SetWall(world.clock().WallNow() + hours(23));
  MaintenanceRequest request = kOrphansOfT;
  request.orphan_age = hours(24);
  EXPECT_EQ(world.Maintain(request)->tables.at(0).orphans_removed, 1U);
  EXPECT_TRUE(Exists(world, staged.files[0].file_path));
  ASSERT_THAT(world.service().Append(staged, world.Call()), IsOk());
  EXPECT_EQ(world.Check(kT).rows, 7U);
  EXPECT_THAT(world.Check(kT).problems, IsEmpty());
}

TEST(MaintenanceOrphans, NobodyCanAskForAFloorThatRunningAppendsWouldFallBelow) {
  MaintenanceWorld world;
  const std::string orphan = MakeOldTableWithOrphan(world);
  MaintenanceRequest request = kOrphansOfT;
  request.orphan_age = hours(24) - std::chrono::milliseconds(1);
  EXPECT_THAT(world.Maintain(request), IsError(ErrorCode::kInvalidArgument));
  EXPECT_TRUE(Exists(world, orphan));
}

TEST(MaintenanceOrphans, TheFilesOfAnAppendThatFailedGo) {
  MaintenanceWorld world;
  MakeOldTableWithOrphan(world);
  const AppendRequest staged = world.Request(kT, 5);
  AppendRequest wrong = staged;
  wrong.files[0].record_count = 0;
  ASSERT_THAT(world.service().Append(wrong, world.Call()), IsError(ErrorCode::kInvalidArgument));
  world.clock().SetWall(world.clock().WallNow() + days(4));
  EXPECT_EQ(world.Maintain(kOrphansOfT)->tables.at(0).orphans_removed, 2U);
  EXPECT_FALSE(Exists(world, staged.files[0].file_path));
  EXPECT_THAT(world.Check(kT).problems, IsEmpty());
}

TEST(MaintenanceOrphans, WhatIsPendingIsSettledFirstAndKeepsItsFiles) {
  MaintenanceWorld world;
  MakeOldTableWithOrphan(world);
  const AppendRequest request = world.Request(kT, 5);
  LosePublications(world);
  ASSERT_THAT(world.service().Append(request, world.Call()), IsError(ErrorCode::kOutcomeUnknown));
  world.meta().Clear();
  ASSERT_EQ(world.CountPending(), 1U);
  world.clock().SetWall(world.clock().WallNow() + days(4));
  ASSERT_EQ(world.Maintain(kOrphansOfT)->tables.at(0).orphans_removed, 1U);
  EXPECT_EQ(world.CountPending(), 0U);
  EXPECT_EQ(world.Check(kT).rows, 7U);
  EXPECT_THAT(world.Check(kT).problems, IsEmpty());
}

// A dry run settles nothing, and yet knows what a successor may publish.
TEST(MaintenanceOrphans, TheFilesOfAPendingReservationAreNone) {
  MaintenanceWorld world;
  const std::string orphan = MakeOldTableWithOrphan(world);
  LosePublications(world);
  ASSERT_THAT(world.service().Append(world.Request(kT, 5), world.Call()),
              IsError(ErrorCode::kOutcomeUnknown));
  world.clock().SetWall(world.clock().WallNow() + days(4));
  MaintenanceRequest request = kOrphansOfT;
  request.dry_run = true;
  const auto report = world.Maintain(request);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(world.CountPending(), 1U);
  EXPECT_THAT(report->tables.at(0).orphan_paths, ElementsAre(orphan));
}

TEST(MaintenanceOrphans, APendingRecordThatDoesNotDecodeEndsTheSearch) {
  MaintenanceWorld world;
  const std::string orphan = MakeOldTableWithOrphan(world);
  world.Write(std::string(catalog::kPendingPrefix) + "x", "{");
  const auto report = world.Maintain(kOrphansOfT);
  ASSERT_THAT(report, IsOk());
  EXPECT_THAT(report->tables.at(0).problems, ElementsAre(HasSubstr("pending/x")));
  EXPECT_TRUE(Exists(world, orphan));
}

// Between the listing and the deletion, which the gate holds up: the appended file is old, and was listed.
TEST(MaintenanceOrphans, AnAppendThatRacesWithTheSearchLosesNothing) {
  for (std::size_t call = 0;; ++call) {
    MaintenanceWorld world;
    const std::string orphan = MakeOldTableWithOrphan(world);
    const AppendRequest request = world.Request(kT, 5);
    world.clock().SetWall(world.clock().WallNow() + days(4));
    bool appended = false;
    world.meta().Inject({.when =
                             [](const FaultyMetaStore::Call& called) {
                               return called.method == FaultyMetaStore::Method::kScan &&
                                      called.Names(catalog::kPendingPrefix);
                             },
                         .skip = call,
                         .fault = {.before = [&] {
                           appended = world.service().Append(request, world.Call()).has_value();
                         }}});
    const auto report = world.Maintain(kOrphansOfT);
    ASSERT_THAT(report, IsOk());
    const bool reached = world.meta().fault_count() > 0;
    world.meta().Clear();
    EXPECT_FALSE(Exists(world, orphan));
    EXPECT_THAT(world.Check(kT).problems, IsEmpty()) << call;
    if (!reached) {
      EXPECT_GE(call, 2U);
      break;
    }
    EXPECT_TRUE(appended);
    EXPECT_EQ(world.Check(kT).rows, 7U) << call;
    EXPECT_TRUE(Exists(world, request.files[0].file_path)) << call;
  }
}

// A successor takes over before each call to the store of records, and before each to the store of files.
TEST(MaintenanceOrphans, AStaleLeaderRemovesNothingAfterItWasDeposed) {
  for (std::size_t call = 0;; ++call) {
    MaintenanceWorld world;
    const std::string orphan = MakeOldTableWithOrphan(world);
    world.meta().Inject({.when = FaultyMetaStore::AnyCall, .skip = call, .fault = {.before = [&] {
                                                                           world.successor().Win();
                                                                           world.leader().Win();
                                                                         }}});
    const auto report = world.Maintain(kOrphansOfT);
    if (world.meta().fault_count() == 0) {
      EXPECT_THAT(report, IsOk());
      EXPECT_GE(call, 4U);
      break;
    }
    EXPECT_THAT(report, AnyOf(IsError(ErrorCode::kFenced), IsError(ErrorCode::kNotLeader))) << call;
    EXPECT_TRUE(Exists(world, orphan)) << call;
  }
  for (std::size_t request = 1;; ++request) {
    MaintenanceWorld world;
    const std::string orphan = MakeOldTableWithOrphan(world);
    const std::size_t before = world.objects().requests().size();
    bool won = false;
    world.objects().InterruptNth(
        request,
        [&] {
          world.successor().Win();
          world.leader().Win();
          won = true;
        },
        nullptr);
    const auto report = world.Maintain(kOrphansOfT);
    if (!won) {
      EXPECT_THAT(report, IsOk());
      EXPECT_GT(request, 4U);
      break;
    }
    // A deletion that was sent before is the one that may still arrive.
    const FaultyObjectStore::Request at = world.objects().requests().at(before + request - 1);
    if (at.operation != FaultyObjectStore::Operation::kDelete) {
      EXPECT_TRUE(Exists(world, orphan)) << request;
      EXPECT_THAT(report, IsError(ErrorCode::kFenced)) << request;
    }
  }
}

TEST(MaintenanceOrphans, ATableThatIsDroppedMeanwhileKeepsItsFiles) {
  MaintenanceWorld world;
  const std::string orphan = MakeOldTableWithOrphan(world);
  world.meta().Inject({.when =
                           [](const FaultyMetaStore::Call& call) {
                             return call.method == FaultyMetaStore::Method::kScan &&
                                    call.Names(catalog::kPendingPrefix);
                           },
                       .skip = 1,
                       .fault = {.before = [&] {
                         EXPECT_THAT(world.service().DropTable({.name = kT}, world.Call()), IsOk());
                       }}});
  const auto report = world.Maintain(kOrphansOfT);
  ASSERT_THAT(report, IsOk());
  EXPECT_THAT(report->tables.at(0).problems, ElementsAre(HasSubstr("meanwhile")));
  EXPECT_TRUE(Exists(world, orphan));
}

}  // namespace
}  // namespace lake::metasrv
