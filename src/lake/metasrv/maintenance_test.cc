#include "lake/metasrv/maintenance.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/thread.h"
#include "lake/iceberg/table_update.h"
#include "lake/metasrv/maintenance_world_test_internal.h"
#include "lake/metastore/memory/memory_metastore.h"
#include "lake/objstore/memory/memory_objstore.h"
#include "lake/testing/faulty_metastore.h"
#include "lake/testing/faulty_objstore.h"
#include "lake/testing/seeded_random.h"

namespace lake::metasrv {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using testing::FaultyMetaStore;
using testing::FaultyObjectStore;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using ::testing::SizeIs;

TEST(Maintenance, NothingIsDoneWithoutAuthority) {
  MaintenanceWorld world;
  MakeOldTable(world, kT);
  EXPECT_THAT(world.successor().service().Maintain({}, world.Soon()),
              IsError(ErrorCode::kNotLeader));
  EXPECT_THAT(world.Load(kT).metadata->snapshots, SizeIs(5));
}

TEST(Maintenance, OldSnapshotsAreGivenUpAsAnOperationAndTheirFilesGo) {
  MaintenanceWorld world;
  MakeOldTable(world, kT);
  const std::string list = world.Load(kT).metadata->snapshots.front().manifest_list;
  const auto report = world.Maintain();
  ASSERT_THAT(report, IsOk());
  ASSERT_THAT(report->tables, SizeIs(1));
  EXPECT_EQ(report->tables[0].snapshots_expired, 4U);
  EXPECT_EQ(report->tables[0].files_removed, 4U);
  EXPECT_THAT(report->tables[0].problems, IsEmpty());
  EXPECT_EQ(report->tables_seen, 1U);
  EXPECT_TRUE(report->complete);
  const LoadedTable table = world.Load(kT);
  EXPECT_THAT(table.metadata->snapshots, SizeIs(1));
  EXPECT_THAT(world.under().Stat(list, world.Soon()), IsError(ErrorCode::kNotFound));
  const auto operation =
      world.service().FindOperation(table.registration.last_operation, world.Soon());
  ASSERT_THAT(operation, IsOk());
  EXPECT_EQ(operation->finished->kind, catalog::OperationKind::kExpireSnapshots);
  const engine::CheckReport check = world.Check(kT);
  EXPECT_THAT(check.problems, IsEmpty());
  EXPECT_EQ(check.rows, 5U);
  // There is nothing more to do, and no version is made of that.
  EXPECT_THAT(world.Maintain()->tables, IsEmpty());
  EXPECT_EQ(world.Load(kT).registration.version, table.registration.version);
  world.Append(kT);
  EXPECT_EQ(world.Check(kT).rows, 6U);
}

TEST(Maintenance, ADryRunSaysWhatWouldBeDoneAndChangesNothing) {
  MaintenanceWorld world;
  MakeOldTable(world, kT);
  const std::size_t commits = world.meta().commit_count();
  const LoadedTable before = world.Load(kT);
  const auto report = world.Maintain({.dry_run = true});
  ASSERT_THAT(report, IsOk());
  EXPECT_TRUE(report->dry_run);
  EXPECT_EQ(report->tables.at(0).snapshots_expired, 4U);
  EXPECT_EQ(world.meta().commit_count(), commits);
  EXPECT_EQ(world.Load(kT).registration, before.registration);
  EXPECT_THAT(world.Check(kT).problems, IsEmpty());
}

TEST(Maintenance, OneTableAloneIsMaintainedWhenItIsAskedFor) {
  MaintenanceWorld world;
  const catalog::TableName other{.ns = kNs, .name = "u"};
  MakeOldTable(world, kT);
  world.clock().SetWall(kNow);
  MakeOldTable(world, other);
  const auto report = world.Maintain({.table = other});
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->tables_seen, 1U);
  EXPECT_THAT(world.Load(other).metadata->snapshots, SizeIs(1));
  EXPECT_THAT(world.Load(kT).metadata->snapshots, SizeIs(5));
  EXPECT_THAT(world.Maintain({.table = catalog::TableName{.ns = kNs, .name = "no"}}),
              IsError(ErrorCode::kNotFound));
}

// What a repeated id answers must not depend on the snapshot it made.
TEST(Maintenance, AnOldAppendAnswersItsRecordedSuccessAfterItsSnapshotExpired) {
  MaintenanceWorld world;
  world.MakeTable(kT);
  const AppendRequest request = world.Request(kT, 3);
  const Uuid id = world.Call().operation;
  const Result<TableResult> first = world.service().Append(request, world.Call(id));
  ASSERT_THAT(first, IsOk());
  world.Append(kT);
  world.clock().SetWall(kNow + days(6));
  ASSERT_THAT(world.Maintain(), IsOk());
  ASSERT_EQ(world.Load(kT).metadata->FindSnapshot(iceberg::SnapshotId{first->snapshot_id}),
            nullptr);
  const Result<TableResult> again = world.service().Append(request, world.Call(id));
  ASSERT_THAT(again, IsOk());
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(again->snapshot_id, first->snapshot_id);
  EXPECT_EQ(world.Check(kT).rows, 4U);
}

TEST(Maintenance, ATableThatFailsIsReportedAndHoldsUpNoOther) {
  MaintenanceWorld world;
  const catalog::TableName damaged{.ns = kNs, .name = "damaged"};
  const catalog::TableName wrong{.ns = kNs, .name = "wrong"};
  MakeOldTable(world, kT);
  world.clock().SetWall(kNow);
  MakeOldTable(world, damaged);
  world.MakeTable(wrong, {{"history.expire.min-snapshots-to-keep", "some"}});
  ASSERT_THAT(world.under().Delete({world.Load(damaged).metadata->snapshots.back().manifest_list},
                                   world.Soon()),
              IsOk());
  const auto report = world.Maintain();
  ASSERT_THAT(report, IsOk());
  ASSERT_THAT(report->tables, SizeIs(3));
  EXPECT_EQ(report->tables[0].name, damaged);
  EXPECT_THAT(report->tables[0].problems, ElementsAre(HasSubstr("is missing")));
  EXPECT_EQ(report->tables[1].name, kT);
  EXPECT_THAT(report->tables[1].problems, IsEmpty());
  EXPECT_EQ(report->tables[2].name, wrong);
  EXPECT_THAT(report->tables[2].problems,
              ElementsAre(HasSubstr("history.expire.min-snapshots-to-keep")));
  EXPECT_THAT(world.Load(kT).metadata->snapshots, SizeIs(1));
}

using Operation = FaultyObjectStore::Operation;
using ObjectFault = FaultyObjectStore::Fault;

// Drops a table with its files while no file can be removed: the purge stops, and nobody runs it. Returns the incarnation.
Uuid LeavePurge(MaintenanceWorld& world) {
  world.MakeTable(kT);
  world.Append(kT, 2);
  world.objects().SetRule([](const FaultyObjectStore::Request& request) {
    return request.operation == Operation::kDelete ? ObjectFault::kRefuse : ObjectFault::kNone;
  });
  const Result<TableResult> dropped =
      world.service().DropTable({.name = kT, .purge = true}, world.Call());
  EXPECT_THAT(dropped, IsOk());
  EXPECT_THAT(world.service().AwaitPurge(dropped->incarnation, world.Soon()),
              IsError(ErrorCode::kUnavailable));
  return dropped->incarnation;
}

TEST(MaintenanceDropped, APurgeThatStoppedIsResumedAndAwaited) {
  MaintenanceWorld world;
  const Uuid incarnation = LeavePurge(world);
  world.objects().SetRule(nullptr);
  const auto report = world.Maintain();
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->purges_ended, 1U);
  EXPECT_EQ(report->purges_running, 0U);
  EXPECT_GT(report->files_purged, 5U);
  EXPECT_THAT(report->problems, IsEmpty());
  EXPECT_FALSE(world.HasTombstone(incarnation));
  // What was told is not told again.
  const auto again = world.Maintain();
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->purges_ended, 0U);
  EXPECT_EQ(again->files_purged, 0U);
}

TEST(MaintenanceDropped, APurgeThatStopsAgainIsReportedAndHoldsUpNothing) {
  MaintenanceWorld world;
  const Uuid incarnation = LeavePurge(world);
  const auto report = world.Maintain();
  ASSERT_THAT(report, IsOk());
  EXPECT_THAT(report->problems, ElementsAre(HasSubstr(incarnation.ToString())));
  EXPECT_TRUE(report->complete);
  EXPECT_TRUE(world.HasTombstone(incarnation));
}

TEST(MaintenanceDropped, APurgeThatOutlastsTheCallIsSaidToGoOn) {
  MaintenanceWorld world;
  const Uuid incarnation = LeavePurge(world);
  world.objects().SetRule([](const FaultyObjectStore::Request& request) {
    return request.operation == Operation::kDelete ? ObjectFault::kHoldAnswer : ObjectFault::kNone;
  });
  const Deadline deadline = world.Soon();
  // The call waits for it by then, or soon.
  Thread later("later", [&] {
    world.objects().WaitForHeld(1);
    world.clock().Advance(std::chrono::seconds(61));
  });
  const auto report = world.service().Maintain(
      {.steps = {MaintenanceStep::kDropped, MaintenanceStep::kSettle}}, deadline);
  later.Join();
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->purges_running, 1U);
  EXPECT_EQ(report->purges_ended, 0U);
  EXPECT_TRUE(world.HasTombstone(incarnation));
  world.objects().SetRule(nullptr);
  world.objects().Release();
  const auto next = world.Maintain();
  ASSERT_THAT(next, IsOk());
  EXPECT_EQ(next->purges_ended, 1U);
  EXPECT_FALSE(world.HasTombstone(incarnation));
}

TEST(MaintenanceDropped, ATableThatWasDroppedLongAgoIsForgotten) {
  MaintenanceWorld world;
  world.MakeTable(kT);
  const Result<TableResult> dropped = world.service().DropTable({.name = kT}, world.Call());
  ASSERT_THAT(dropped, IsOk());
  EXPECT_EQ(world.Maintain()->tables_forgotten, 0U);
  world.clock().SetWall(kNow + days(8));
  EXPECT_EQ(world.Maintain({.table = std::nullopt, .steps = {MaintenanceStep::kSettle}})
                ->tables_forgotten,
            0U);
  EXPECT_TRUE(world.HasTombstone(dropped->incarnation));
  const auto report = world.Maintain();
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->tables_forgotten, 1U);
  EXPECT_FALSE(world.HasTombstone(dropped->incarnation));
}

TEST(MaintenanceDropped, ADryRunSaysWhatWouldBecomeOfDroppedTablesAndChangesNothing) {
  MaintenanceWorld world;
  const Uuid purging = LeavePurge(world);
  world.objects().SetRule(nullptr);
  world.MakeTable(kT);
  const Result<TableResult> dropped = world.service().DropTable({.name = kT}, world.Call());
  ASSERT_THAT(dropped, IsOk());
  world.clock().SetWall(kNow + days(8));
  const std::size_t commits = world.meta().commit_count();
  const auto report = world.Maintain({.dry_run = true});
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->purges_running, 1U);
  EXPECT_EQ(report->tables_forgotten, 1U);
  EXPECT_EQ(world.meta().commit_count(), commits);
  EXPECT_TRUE(world.HasTombstone(purging));
  EXPECT_TRUE(world.HasTombstone(dropped->incarnation));
}

TEST(MaintenanceDropped, ADamagedTombstoneIsReportedAndHoldsUpNothing) {
  MaintenanceWorld world;
  MakeOldTable(world, kT);
  world.Write(catalog::TombstoneKey(Uuid::Random4(world.random())), "{");
  const auto report = world.Maintain();
  ASSERT_THAT(report, IsOk());
  EXPECT_THAT(report->problems, ElementsAre(HasSubstr("drop/")));
  EXPECT_THAT(world.Load(kT).metadata->snapshots, SizeIs(1));
}

TEST(Maintenance, ARecordThatDoesNotDecodeIsReportedAndPassedOver) {
  MaintenanceWorld world;
  MakeOldTable(world, kT);
  world.Write("tbl/n/a", "{");
  world.Write("tbl/n/%61", "{}");
  const auto report = world.Maintain();
  ASSERT_THAT(report, IsOk());
  EXPECT_THAT(report->problems, ElementsAre(HasSubstr("tbl/n/%61"), HasSubstr("tbl/n/a")));
  EXPECT_THAT(world.Load(kT).metadata->snapshots, SizeIs(1));
}

TEST(Maintenance, ATableWhoseFilesMayBelongToOthersIsLeftAlone) {
  MaintenanceWorld world;
  world.MakeTable(kT, {{"gc.enabled", "false"}});
  world.Append(kT, 3);
  world.clock().SetWall(kNow + days(6));
  EXPECT_THAT(world.Maintain()->tables, IsEmpty());
  EXPECT_THAT(world.Load(kT).metadata->snapshots, SizeIs(3));
}

TEST(Maintenance, WhatAnEarlierLeaderLeftPendingIsSettled) {
  MaintenanceWorld world;
  world.MakeTable(kT);
  const AppendRequest request = world.Request(kT, 3);
  // Its publication never arrives.
  world.meta().Inject({.when =
                           [](const FaultyMetaStore::Call& call) {
                             return FaultyMetaStore::Commits(call) &&
                                    call.Names(catalog::TableKey(kT).value());
                           },
                       .times = FaultyMetaStore::kAlways,
                       .fault = {.kind = FaultyMetaStore::Fault::Kind::kLoseRequest}});
  ASSERT_THAT(world.service().Append(request, world.Call()), IsError(ErrorCode::kOutcomeUnknown));
  world.successor().Win();
  ASSERT_EQ(world.CountPending(), 1U);
  const auto dry = world.successor().service().Maintain({.dry_run = true}, world.Soon());
  ASSERT_THAT(dry, IsOk());
  EXPECT_EQ(dry->operations_settled, 1U);
  EXPECT_EQ(world.CountPending(), 1U);
  const auto report = world.successor().service().Maintain({}, world.Soon());
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->operations_settled, 1U);
  EXPECT_EQ(world.CountPending(), 0U);
  EXPECT_EQ(world.Check(kT).rows, 3U);
}

// A leader that is replaced at any moment of its maintenance, before each of its calls, does no harm.
TEST(Maintenance, AStaleLeaderIsFencedWhereverASuccessorTakesOver) {
  for (std::size_t call = 0;; ++call) {
    MaintenanceWorld world;
    MakeOldTable(world, kT);
    world.meta().Inject({.when = FaultyMetaStore::AnyCall, .skip = call, .fault = {.before = [&] {
                                                                           world.successor().Win();
                                                                         }}});
    const auto report = world.Maintain();
    const bool reached = world.meta().fault_count() > 0;
    world.meta().Clear();
    const LoadedTable table = world.Load(kT);
    EXPECT_THAT(world.Check(kT).problems, IsEmpty()) << call;
    const bool expired = table.metadata->snapshots.size() == 1;
    if (!expired && reached) {
      // The second, once it has learned by the first that it does not lead.
      EXPECT_THAT(report, AnyOf(IsError(ErrorCode::kFenced), IsError(ErrorCode::kNotLeader)))
          << call;
    }
    // The successor finishes it.
    if (reached) {
      ASSERT_THAT(world.successor().service().Maintain({}, world.Soon()), IsOk()) << call;
      EXPECT_THAT(world.Load(kT).metadata->snapshots, SizeIs(1)) << call;
      EXPECT_THAT(world.Check(kT).problems, IsEmpty()) << call;
      EXPECT_EQ(world.CountPending(), 0U) << call;
    } else {
      EXPECT_THAT(report, IsOk());
      EXPECT_GT(call, 8U);
      break;
    }
  }
}

// Files are removed after the publication. By then the epoch may be over, even if this process leads again.
TEST(Maintenance, NoFileIsRemovedUnderAnotherEpochThanThatOfThePublication) {
  MaintenanceWorld world;
  MakeOldTable(world, kT);
  const std::string list = world.Load(kT).metadata->snapshots.front().manifest_list;
  world.meta().Inject(
      {.when = FaultyMetaStore::CommitsOf(catalog::TableKey(kT).value()), .fault = {.after = [&] {
                                                                            world.successor().Win();
                                                                            world.leader().Win();
                                                                          }}});
  EXPECT_THAT(world.Maintain(), IsError(ErrorCode::kFenced));
  EXPECT_THAT(world.Load(kT).metadata->snapshots, SizeIs(1));
  EXPECT_THAT(world.under().Stat(list, world.Soon()), IsOk());
  EXPECT_THAT(world.Check(kT).problems, IsEmpty());
}

TEST(Maintenance, WhereverTheStoresFailTheNextCallFinishesAndTheTableIsWhole) {
  using Kind = FaultyMetaStore::Fault::Kind;
  for (const Kind kind : {Kind::kLoseRequest, Kind::kLoseAnswer}) {
    for (std::size_t skip = 0;; ++skip) {
      MaintenanceWorld world;
      MakeOldTable(world, kT);
      world.meta().Inject(
          {.when = FaultyMetaStore::Commits, .skip = skip, .times = 5, .fault = {.kind = kind}});
      IgnoreError(world.Maintain(), "it may fail in any way");
      const bool reached = world.meta().fault_count() > 0;
      world.meta().Clear();
      EXPECT_THAT(world.Check(kT).problems, IsEmpty()) << skip;
      ASSERT_THAT(world.Maintain(), IsOk()) << skip;
      EXPECT_THAT(world.Load(kT).metadata->snapshots, SizeIs(1)) << skip;
      EXPECT_THAT(world.Check(kT).problems, IsEmpty()) << skip;
      EXPECT_EQ(world.CountPending(), 0U) << skip;
      if (!reached) {
        break;
      }
    }
  }
  for (std::size_t request = 1;; ++request) {
    MaintenanceWorld world;
    MakeOldTable(world, kT);
    const std::size_t before = world.objects().requests().size();
    world.objects().FailNth(request, FaultyObjectStore::Fault::kLoseAnswer);
    IgnoreError(world.Maintain(), "it may fail in any way");
    const bool reached = world.objects().requests().size() - before >= request;
    EXPECT_THAT(world.Check(kT).problems, IsEmpty()) << request;
    ASSERT_THAT(world.Maintain(), IsOk()) << request;
    EXPECT_THAT(world.Load(kT).metadata->snapshots, SizeIs(1)) << request;
    EXPECT_THAT(world.Check(kT).problems, IsEmpty()) << request;
    if (!reached) {
      EXPECT_GT(request, 3U);
      break;
    }
  }
}

TEST(Maintenance, AnAppendThatComesMeanwhileIsNotLost) {
  MaintenanceWorld world;
  MakeOldTable(world, kT);
  const AppendRequest request = world.Request(kT, 7);
  // Another task of the table runs between the look at it and its turn.
  bool done = false;
  world.meta().Inject({.when =
                           [&, scans = 0](const FaultyMetaStore::Call& call) mutable {
                             return call.method == FaultyMetaStore::Method::kScan &&
                                    call.Names(catalog::kTablePrefix) && scans++ == 0;
                           },
                       .fault = {.after = [&] {
                         done = world.service().Append(request, world.Call()).has_value();
                       }}});
  ASSERT_THAT(world.Maintain(), IsOk());
  EXPECT_TRUE(done);
  EXPECT_THAT(world.Load(kT).metadata->snapshots, SizeIs(1));
  EXPECT_EQ(world.Check(kT).rows, 12U);
  EXPECT_THAT(world.Check(kT).problems, IsEmpty());
}

TEST(Maintenance, ATableThatWasDroppedMeanwhileIsLeftAlone) {
  MaintenanceWorld world;
  MakeOldTable(world, kT);
  world.meta().Inject({.when =
                           [](const FaultyMetaStore::Call& call) {
                             return call.method == FaultyMetaStore::Method::kScan &&
                                    call.Names(catalog::kTablePrefix);
                           },
                       .fault = {.after = [&] {
                         EXPECT_THAT(world.service().DropTable({.name = kT}, world.Call()), IsOk());
                       }}});
  const auto report = world.Maintain();
  ASSERT_THAT(report, IsOk());
  EXPECT_THAT(report->tables, IsEmpty());
}

TEST(Maintenance, ManySmallAppendsDoNotLeaveALargeMetadataFile) {
  MaintenanceWorld world;
  world.MakeTable(kT, {{"lake.expire.max-snapshots", "20"}});
  world.Append(kT, 60);
  const auto report = world.Maintain();
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->tables.at(0).snapshots_expired, 40U);
  const LoadedTable table = world.Load(kT);
  EXPECT_THAT(table.metadata->snapshots, SizeIs(20));
  EXPECT_LT(world.under().Stat(table.registration.metadata_location, world.Soon())->size, 40'000U);
  EXPECT_EQ(world.Check(kT).rows, 60U);
}

TEST(Maintenance, MoreTablesThanOneCallTakesAreDoneByTheNext) {
  MaintenanceWorld world;
  MakeOldTable(world, kT);
  // Names of one table, which is as good as many tables here: they all load, and have nothing to expire once it is done.
  ASSERT_THAT(world.Maintain(), IsOk());
  const std::string registered = catalog::Encode(world.Load(kT).registration);
  for (std::size_t i = 0; i < 2 * kMaintenanceTablesMax; ++i) {
    world.Write(fmt::format("tbl/n/x{:05}", i), registered);
  }
  std::string after;
  std::uint64_t seen = 0;
  int calls = 0;
  bool complete = false;
  while (!complete) {
    const auto report = world.Maintain({.after = after});
    ASSERT_THAT(report, IsOk());
    EXPECT_LE(report->tables_seen, kMaintenanceTablesMax);
    seen += report->tables_seen;
    after = report->next;
    complete = report->complete;
    ++calls;
  }
  EXPECT_EQ(seen, 2 * kMaintenanceTablesMax + 1);
  EXPECT_EQ(calls, 3);
}

TEST(Maintenance, ACallWhoseTimeIsOverSaysThatAnotherIsNeeded) {
  for (const bool in_walk : {true, false}) {
    MaintenanceWorld world;
    MakeOldTable(world, kT);
    const Deadline deadline = world.Soon();
    // While operations are walked through, or while tables are looked for.
    world.meta().Inject(
        {.when =
             [in_walk](const FaultyMetaStore::Call& call) {
               return call.method == FaultyMetaStore::Method::kScan &&
                      call.keys[0].starts_with(in_walk ? catalog::kOperationPrefix
                                                       : catalog::kTablePrefix);
             },
         .fault = {.after = [&] { world.clock().Advance(std::chrono::seconds(61)); }}});
    const auto report = world.service().Maintain({}, deadline);
    ASSERT_THAT(report, IsOk());
    EXPECT_FALSE(report->complete);
    EXPECT_EQ(report->tables_seen, 0U);
    EXPECT_EQ(report->next, "");
    EXPECT_THAT(world.Load(kT).metadata->snapshots, SizeIs(5));
    const auto next = world.Maintain({.after = report->next});
    ASSERT_THAT(next, IsOk());
    EXPECT_TRUE(next->complete);
    EXPECT_THAT(world.Load(kT).metadata->snapshots, SizeIs(1));
  }
}

// --- Merging of manifests.

// Makes a table with as many manifests as are merged.
void MakeScatteredTable(MaintenanceWorld& world, const catalog::TableName& name) {
  world.MakeTable(name, {{"commit.manifest.min-count-to-merge", "4"}});
  world.Append(name, 4);
}

std::vector<iceberg::ManifestFile> Manifests(MaintenanceWorld& world,
                                             const catalog::TableName& name) {
  const LoadedTable table = world.Load(name);
  return engine::SnapshotReader(world.under(), world.clock())
      .ListManifests(*table.metadata, *table.metadata->current_snapshot(), world.Soon())
      .value();
}

// The files below a table's location, but for versions of the metadata.
std::set<std::string> FilesOf(MaintenanceWorld& world, const catalog::TableName& name) {
  std::set<std::string> files;
  const std::string prefix = world.Load(name).registration.location + "/";
  const objstore::ObjectPage page = world.under().List(prefix, "", 1000, world.Soon()).value();
  for (const objstore::ObjectInfo& object : page.objects) {
    if (!object.path.ends_with(".json")) {
      files.insert(object.path);
    }
  }
  return files;
}

// Checks that the table has exactly what was appended to it.
void ExpectWhole(MaintenanceWorld& world, std::size_t where) {
  const engine::CheckReport check = world.Check(kT);
  EXPECT_THAT(check.problems, IsEmpty()) << where;
  EXPECT_EQ(check.rows, 4U) << where;
  EXPECT_EQ(check.data_files, 4U) << where;
}

TEST(MaintenanceMerge, ManySmallManifestsBecomeOneAsAnOperation) {
  MaintenanceWorld world;
  MakeScatteredTable(world, kT);
  const LoadedTable before = world.Load(kT);
  const auto report = world.Maintain();
  ASSERT_THAT(report, IsOk());
  ASSERT_THAT(report->tables, SizeIs(1));
  EXPECT_EQ(report->tables[0].manifests_merged, 4U);
  EXPECT_EQ(report->tables[0].manifests_written, 1U);
  EXPECT_THAT(report->tables[0].problems, IsEmpty());
  EXPECT_THAT(Manifests(world, kT), SizeIs(1));
  const LoadedTable after = world.Load(kT);
  EXPECT_EQ(after.registration.version, before.registration.version + 1);
  const iceberg::Snapshot& snapshot = *after.metadata->current_snapshot();
  EXPECT_EQ(snapshot.parent_snapshot_id, before.metadata->current_snapshot_id);
  EXPECT_EQ(snapshot.summary.at("operation"), "replace");
  EXPECT_EQ(snapshot.summary.at("total-records"), "4");
  const auto operation =
      world.service().FindOperation(after.registration.last_operation, world.Soon());
  ASSERT_THAT(operation, IsOk());
  EXPECT_EQ(operation->finished->kind, catalog::OperationKind::kMergeManifests);
  EXPECT_EQ(operation->finished->result.snapshot_id, std::to_underlying(snapshot.snapshot_id));
  ExpectWhole(world, 0);
  // There is nothing more to do, and no version is made of that.
  EXPECT_THAT(world.Maintain()->tables, IsEmpty());
  EXPECT_EQ(world.Load(kT).registration.version, after.registration.version);
  world.Append(kT);
  EXPECT_EQ(world.Check(kT).rows, 5U);
}

TEST(MaintenanceMerge, ADryRunSaysWhatWouldBeMergedAndChangesNothing) {
  MaintenanceWorld world;
  MakeScatteredTable(world, kT);
  const std::size_t commits = world.meta().commit_count();
  const std::set<std::string> files = FilesOf(world, kT);
  const auto report = world.Maintain({.dry_run = true});
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->tables.at(0).manifests_merged, 4U);
  EXPECT_EQ(report->tables.at(0).manifests_written, 1U);
  EXPECT_EQ(world.meta().commit_count(), commits);
  EXPECT_EQ(FilesOf(world, kT), files);
}

TEST(MaintenanceMerge, AStaleLeaderIsFencedWhereverASuccessorTakesOver) {
  for (std::size_t call = 0;; ++call) {
    MaintenanceWorld world;
    MakeScatteredTable(world, kT);
    world.meta().Inject({.when = FaultyMetaStore::AnyCall, .skip = call, .fault = {.before = [&] {
                                                                           world.successor().Win();
                                                                         }}});
    const auto report = world.Maintain();
    const bool reached = world.meta().fault_count() > 0;
    world.meta().Clear();
    ExpectWhole(world, call);
    if (!reached) {
      EXPECT_THAT(report, IsOk());
      EXPECT_GT(call, 3U);
      break;
    }
    ASSERT_THAT(world.successor().service().Maintain({}, world.Soon()), IsOk()) << call;
    EXPECT_THAT(Manifests(world, kT), SizeIs(1)) << call;
    ExpectWhole(world, call);
    EXPECT_EQ(world.CountPending(), 0U) << call;
  }
}

TEST(MaintenanceMerge, WhereverTheMetastoreFailsTheNextCallFinishes) {
  using Kind = FaultyMetaStore::Fault::Kind;
  for (const Kind kind : {Kind::kLoseRequest, Kind::kLoseAnswer}) {
    for (std::size_t skip = 0;; ++skip) {
      MaintenanceWorld world;
      MakeScatteredTable(world, kT);
      world.meta().Inject(
          {.when = FaultyMetaStore::Commits, .skip = skip, .times = 5, .fault = {.kind = kind}});
      IgnoreError(world.Maintain(), "it may fail in any way");
      const bool reached = world.meta().fault_count() > 0;
      world.meta().Clear();
      ExpectWhole(world, skip);
      ASSERT_THAT(world.Maintain(), IsOk()) << skip;
      EXPECT_THAT(Manifests(world, kT), SizeIs(1)) << skip;
      ExpectWhole(world, skip);
      EXPECT_EQ(world.CountPending(), 0U) << skip;
      if (!reached) {
        EXPECT_GT(skip, 1U);
        break;
      }
    }
  }
}

TEST(MaintenanceMerge, WhereverTheObjectStoreFailsTheNextCallFinishesAndNothingLiesAround) {
  using Fault = FaultyObjectStore::Fault;
  for (const Fault fault : {Fault::kRefuse, Fault::kLoseRequest, Fault::kLoseAnswer}) {
    for (std::size_t request = 1;; ++request) {
      MaintenanceWorld world;
      MakeScatteredTable(world, kT);
      const std::size_t before = world.objects().requests().size();
      const std::set<std::string> files = FilesOf(world, kT);
      world.objects().FailNth(request, fault);
      IgnoreError(world.Maintain(), "it may fail in any way");
      const bool reached = world.objects().requests().size() - before >= request;
      ExpectWhole(world, request);
      if (Manifests(world, kT).size() > 1) {
        EXPECT_EQ(FilesOf(world, kT), files) << request;
      }
      ASSERT_THAT(world.Maintain(), IsOk()) << request;
      EXPECT_THAT(Manifests(world, kT), SizeIs(1)) << request;
      ExpectWhole(world, request);
      // The merged manifest and its list.
      EXPECT_EQ(FilesOf(world, kT).size(), files.size() + 2) << request;
      if (!reached) {
        EXPECT_GT(request, 6U);
        break;
      }
    }
  }
}

TEST(MaintenanceMerge, AnAppendThatComesWhileManifestsAreReadIsNotLost) {
  MaintenanceWorld world;
  MakeScatteredTable(world, kT);
  const AppendRequest request = world.Request(kT, 7);
  // The first request of the step is for the manifest list, the next is for a manifest.
  bool done = false;
  world.objects().InterruptNth(
      2, [&] { done = world.service().Append(request, world.Call()).has_value(); }, {});
  const auto report = world.Maintain();
  ASSERT_THAT(report, IsOk());
  EXPECT_TRUE(done);
  EXPECT_EQ(report->tables.at(0).manifests_merged, 4U);
  EXPECT_THAT(Manifests(world, kT), SizeIs(2));
  EXPECT_EQ(world.Check(kT).rows, 11U);
  EXPECT_THAT(world.Check(kT).problems, IsEmpty());
}

TEST(MaintenanceMerge, ATableThatWasDroppedMeanwhileIsLeftAlone) {
  MaintenanceWorld world;
  MakeScatteredTable(world, kT);
  world.objects().InterruptNth(
      2, [&] { EXPECT_THAT(world.service().DropTable({.name = kT}, world.Call()), IsOk()); }, {});
  const auto report = world.Maintain();
  ASSERT_THAT(report, IsOk());
  EXPECT_THAT(report->tables, IsEmpty());
}

TEST(MaintenanceMerge, AWrongPropertyIsReported) {
  MaintenanceWorld world;
  world.MakeTable(kT, {{"commit.manifest.min-count-to-merge", "few"}});
  world.Append(kT);
  const auto report = world.Maintain();
  ASSERT_THAT(report, IsOk());
  ASSERT_THAT(report->tables, SizeIs(1));
  EXPECT_THAT(report->tables[0].problems,
              ElementsAre(HasSubstr("commit.manifest.min-count-to-merge")));
}

// With the defaults, and maintenance now and then.
TEST(MaintenanceMerge, ManySmallAppendsLeaveFewManifestsAndASmallListAndMetadata) {
  constexpr int kAppends = 220;
  constexpr int kBetween = 110;
  MaintenanceWorld world;
  world.MakeTable(kT);
  const auto list_bytes = [&] {
    const std::string path = world.Load(kT).metadata->current_snapshot()->manifest_list;
    return world.under().Stat(path, world.Soon())->size;
  };
  std::uint64_t largest_list = 0;
  for (int done = 0; done < kAppends; done += kBetween) {
    world.Append(kT, kBetween);
    largest_list = std::max(largest_list, list_bytes());
    const auto report = world.Maintain();
    ASSERT_THAT(report, IsOk());
    ASSERT_THAT(report->tables, SizeIs(1));
    EXPECT_THAT(report->tables[0].problems, IsEmpty());
    EXPECT_THAT(Manifests(world, kT), SizeIs(1));
  }
  const LoadedTable table = world.Load(kT);
  EXPECT_THAT(table.metadata->snapshots, SizeIs(kAppends + kAppends / kBetween));
  const std::uint64_t metadata_bytes =
      world.under().Stat(table.registration.metadata_location, world.Soon())->size;
  RecordProperty("largest_list_bytes", std::to_string(largest_list));
  RecordProperty("list_bytes", std::to_string(list_bytes()));
  RecordProperty("metadata_bytes", std::to_string(metadata_bytes));
  EXPECT_LT(largest_list, 20'000U);
  EXPECT_LT(list_bytes(), 5'000U);
  EXPECT_LT(metadata_bytes, 300'000U);
  EXPECT_EQ(world.Check(kT).rows, static_cast<std::uint64_t>(kAppends));
}

}  // namespace
}  // namespace lake::metasrv
