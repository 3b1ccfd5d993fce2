#include "lake/iceberg/table_update_apply.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/encryption_key.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/statistics_file.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_update.h"
#include "lake/iceberg/table_update_examples_internal.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::SizeIs;

TEST(AppendSnapshot, ToAnEmptyTableMakesItCurrent) {
  const TableMetadata base = Empty();
  const Result<TableMetadata> next = AppendSnapshot(base, Draft(7), Next(2000, "v0.json"));
  ASSERT_THAT(next, IsOk());
  EXPECT_EQ(next->current_snapshot_id, SnapshotId{7});
  EXPECT_THAT(next->snapshots, SizeIs(1));
  const Snapshot& snapshot = *next->current_snapshot();
  EXPECT_EQ(snapshot.parent_snapshot_id, std::nullopt);
  EXPECT_EQ(snapshot.sequence_number, 1);
  EXPECT_EQ(snapshot.timestamp, At(2000));
  EXPECT_EQ(snapshot.schema_id, SchemaId{0});
  EXPECT_EQ(next->last_sequence_number, 1);
  EXPECT_EQ(next->last_updated, At(2000));
  EXPECT_EQ(next->refs.at("main"), SnapshotRef{.snapshot_id = SnapshotId{7}});
  EXPECT_THAT(next->snapshot_log,
              ElementsAre(SnapshotLogEntry{.snapshot_id = SnapshotId{7}, .timestamp = At(2000)}));
  EXPECT_THAT(next->metadata_log,
              ElementsAre(MetadataLogEntry{.metadata_file = "v0.json", .timestamp = At(1000)}));
}

TEST(AppendSnapshot, FollowsTheCurrentSnapshot) {
  const TableMetadata metadata = Grown(Empty(), 3);
  EXPECT_EQ(metadata.last_sequence_number, 3);
  EXPECT_EQ(metadata.snapshots[2].parent_snapshot_id, SnapshotId{2});
  EXPECT_EQ(metadata.snapshots[2].sequence_number, 3);
  EXPECT_THAT(metadata.snapshot_log, SizeIs(3));
  EXPECT_THAT(LoggedFiles(metadata), ElementsAre("v0", "v1", "v2"));
}

TEST(AppendSnapshot, LeavesItsBaseAloneAndGivesTheSameAgain) {
  const TableMetadata base = Grown(Empty(), 2);
  const TableMetadata once = AppendSnapshot(base, Draft(9), Next(9000)).value();
  EXPECT_EQ(base, Grown(Empty(), 2));
  EXPECT_EQ(AppendSnapshot(base, Draft(9), Next(9000)).value(), once);
}

TEST(AppendSnapshot, RunsAgainOnARefreshedBase) {
  const TableMetadata old_base = Grown(Empty(), 1);
  const TableMetadata new_base = Grown(Empty(), 2);
  EXPECT_EQ(
      AppendSnapshot(old_base, Draft(9), Next(9000)).value().current_snapshot()->sequence_number,
      2);
  const TableMetadata next = AppendSnapshot(new_base, Draft(9), Next(9000)).value();
  EXPECT_EQ(next.current_snapshot()->sequence_number, 3);
  EXPECT_EQ(next.current_snapshot()->parent_snapshot_id, SnapshotId{2});
}

TEST(AppendSnapshot, NeverStampsATimeBeforeTheBase) {
  const TableMetadata base = Grown(Empty(), 2);
  const TableMetadata next = AppendSnapshot(base, Draft(9), Next(5)).value();
  EXPECT_EQ(next.last_updated, base.last_updated);
  EXPECT_EQ(next.current_snapshot()->timestamp, base.last_updated);
  EXPECT_EQ(next.snapshot_log.back().timestamp, base.last_updated);
}

TEST(AppendSnapshot, KeepsMainsRetentionAndOtherRefs) {
  TableMetadata base = Grown(Empty(), 1);
  base.refs.at("main").min_snapshots_to_keep = 5;
  base.refs["old"] = {.snapshot_id = SnapshotId{1}, .kind = SnapshotRef::Kind::kTag};
  const TableMetadata next = AppendSnapshot(base, Draft(9), Next(9000)).value();
  EXPECT_EQ(next.refs.at("main"),
            (SnapshotRef{.snapshot_id = SnapshotId{9}, .min_snapshots_to_keep = 5}));
  EXPECT_EQ(next.refs.at("old"), base.refs.at("old"));
}

TEST(AppendSnapshot, CarriesUnknownMembersAlong) {
  TableMetadata base = Empty();
  base.unknown["future"] = JsonText{"[1]"};
  EXPECT_EQ(AppendSnapshot(base, Draft(9), Next(9000)).value().unknown, base.unknown);
}

TEST(AppendSnapshot, OnV1HasNoSequenceNumbers) {
  const TableMetadata next = Grown(Empty(1), 2);
  EXPECT_EQ(next.last_sequence_number, 0);
  EXPECT_EQ(next.current_snapshot()->sequence_number, 0);
  EXPECT_EQ(NextSequenceNumber(next), 0);
}

TEST(AppendSnapshot, OnV3TakesRowIdsForward) {
  Snapshot draft = Draft(1);
  EXPECT_THAT(AppendSnapshot(Empty(3), draft, Next(2000)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("first-row-id")));
  draft.first_row_id = 0;
  draft.added_rows = 25;
  const TableMetadata next = AppendSnapshot(Empty(3), draft, Next(2000)).value();
  EXPECT_EQ(next.next_row_id, 25);
  draft = Draft(2);
  draft.first_row_id = 24;
  draft.added_rows = 1;
  EXPECT_THAT(AppendSnapshot(next, draft, Next(3000)),
              IsError(ErrorCode::kConflict, HasSubstr("next-row-id, 25")));
  draft.first_row_id = 25;
  draft.added_rows = INT64_MAX;
  EXPECT_THAT(AppendSnapshot(next, draft, Next(3000)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("64 bits")));
}

TEST(AppendSnapshot, RefusesAnIdThatIsTakenOrNotPositive) {
  const TableMetadata base = Grown(Empty(), 2);
  EXPECT_THAT(AppendSnapshot(base, Draft(1), Next(9000)),
              IsError(ErrorCode::kAlreadyExists, HasSubstr("snapshot 1")));
  EXPECT_THAT(AppendSnapshot(base, Draft(-1), Next(9000)), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(AppendSnapshot(base, Draft(0), Next(9000)), IsError(ErrorCode::kInvalidArgument));
}

TEST(MetadataLog, KeepsTheNewestHundredByDefault) {
  const TableMetadata metadata = Grown(Empty(), 120);
  EXPECT_THAT(metadata.metadata_log, SizeIs(100));
  EXPECT_EQ(metadata.metadata_log.front().metadata_file, "v20");
  EXPECT_EQ(metadata.metadata_log.back().metadata_file, "v119");
}

TEST(MetadataLog, FollowsThePropertyAtOnceAndKeepsAtLeastOne) {
  TableMetadata base = Grown(Empty(), 5);
  base.properties[std::string(kPreviousVersionsMaxProperty)] = "2";
  EXPECT_THAT(LoggedFiles(AppendSnapshot(base, Draft(9), Next(9000, "v5")).value()),
              ElementsAre("v4", "v5"));
  for (const std::string least : {"1", "0", "-7"}) {
    base.properties[std::string(kPreviousVersionsMaxProperty)] = least;
    EXPECT_THAT(LoggedFiles(AppendSnapshot(base, Draft(9), Next(9000, "v5")).value()),
                ElementsAre("v5"))
        << least;
  }
  for (const std::string wrong : {"", "many", "2 ", "99999999999999999999"}) {
    base.properties[std::string(kPreviousVersionsMaxProperty)] = wrong;
    EXPECT_THAT(
        AppendSnapshot(base, Draft(9), Next(9000)),
        IsError(ErrorCode::kInvalidArgument, HasSubstr("write.metadata.previous-versions-max")))
        << wrong;
  }
}

TEST(ApplyUpdates, WithoutUpdatesMakesANewVersionOfTheSameContent) {
  const TableMetadata base = Grown(Empty(), 1);
  const TableMetadata next = ApplyUpdates(base, {}, Next(9000, "v1")).value();
  EXPECT_EQ(next.last_updated, At(9000));
  EXPECT_EQ(next.snapshot_log, base.snapshot_log);
  EXPECT_THAT(LoggedFiles(next), ElementsAre("v0", "v1"));
}

TEST(ApplyUpdates, ASnapshotThatNoRefNamesIsStagedAndChangesNoLog) {
  const TableMetadata base = Grown(Empty(), 1);
  Snapshot staged = Draft(9);
  staged.sequence_number = 2;
  staged.timestamp = At(8000);
  const TableMetadata next = ApplyUpdates(base, {AddSnapshot{staged}}, Next(9000)).value();
  EXPECT_EQ(next.current_snapshot_id, SnapshotId{1});
  EXPECT_EQ(next.last_sequence_number, 2);
  EXPECT_EQ(next.snapshot_log, base.snapshot_log);
  EXPECT_EQ(next.last_updated, At(9000));
}

TEST(ApplyUpdates, AParentThatIsNoSnapshotIsNotWrittenDown) {
  Snapshot first = Draft(9);
  first.sequence_number = 1;
  first.parent_snapshot_id = kNoSnapshot;
  EXPECT_EQ(Applied(Empty(), {AddSnapshot{first}}).snapshots[0].parent_snapshot_id, std::nullopt);
}

TEST(ApplyUpdates, OnlyTheLastCurrentSnapshotOfAChangeIsLogged) {
  const TableMetadata base = Grown(Empty(), 1);
  std::vector<TableUpdate> updates;
  for (std::int64_t id = 8; id <= 9; ++id) {
    Snapshot snapshot = Draft(id);
    snapshot.sequence_number = id;
    snapshot.timestamp = At(id * 1000);
    updates.emplace_back(AddSnapshot{snapshot});
    updates.emplace_back(SetSnapshotRef{.name = "main", .ref = {.snapshot_id = SnapshotId{id}}});
  }
  const TableMetadata next = ApplyUpdates(base, updates, Next(50000)).value();
  ASSERT_THAT(next.snapshot_log, SizeIs(2));
  EXPECT_EQ(next.snapshot_log.back(),
            (SnapshotLogEntry{.snapshot_id = SnapshotId{9}, .timestamp = At(9000)}));
  EXPECT_EQ(next.last_updated, At(9000)) << "the time of the new current snapshot";
}

TEST(ApplyUpdates, RollingBackIsLoggedNow) {
  const TableMetadata base = Grown(Empty(), 2);
  const TableMetadata next =
      ApplyUpdates(base, {SetSnapshotRef{.name = "main", .ref = {.snapshot_id = SnapshotId{1}}}},
                   Next(9000))
          .value();
  EXPECT_EQ(next.current_snapshot_id, SnapshotId{1});
  EXPECT_EQ(next.snapshot_log.back(),
            (SnapshotLogEntry{.snapshot_id = SnapshotId{1}, .timestamp = At(9000)}));
  EXPECT_EQ(next.last_sequence_number, 2);
}

TEST(ApplyUpdates, AStaleSequenceNumberIsAConflict) {
  const TableMetadata base = Grown(Empty(), 2);
  Snapshot stale = Draft(9);
  stale.sequence_number = 2;
  EXPECT_THAT(ApplyUpdates(base, {AddSnapshot{stale}}, Next(9000)),
              IsError(ErrorCode::kConflict, HasSubstr("sequence number 2")));
}

TEST(ApplyUpdates, RefusesUpdatesThatAreWrongInThemselves) {
  const TableMetadata base = Grown(Empty(), 1);
  EXPECT_THAT(
      ApplyUpdates(base, {SetSnapshotRef{.name = "b", .ref = {.snapshot_id = SnapshotId{5}}}},
                   Next(9000)),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("set ref 'b': snapshot 5")));
  EXPECT_THAT(
      ApplyUpdates(
          base,
          {SetSnapshotRef{.name = "main",
                          .ref = {.snapshot_id = SnapshotId{1}, .kind = SnapshotRef::Kind::kTag}}},
          Next(9000)),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("must be a branch")));
  Snapshot snapshot = Draft(9);
  snapshot.sequence_number = 5;
  snapshot.schema_id = SchemaId{4};
  EXPECT_THAT(ApplyUpdates(base, {AddSnapshot{snapshot}}, Next(9000)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("schema-id 4")));
  snapshot.schema_id.reset();
  snapshot.manifest_list.clear();
  EXPECT_THAT(ApplyUpdates(base, {AddSnapshot{snapshot}}, Next(9000)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("manifest-list")));
}

TEST(RemoveSnapshots, TakesTheirRefsAndStatisticsAway) {
  TableMetadata base = Grown(Empty(), 3);
  base.refs["old"] = {.snapshot_id = SnapshotId{1}, .kind = SnapshotRef::Kind::kTag};
  base.refs["kept"] = {.snapshot_id = SnapshotId{2}};
  for (const std::int64_t id : {1, 2}) {
    base.statistics.push_back({.snapshot_id = SnapshotId{id}, .statistics_path = "s.puffin"});
    base.partition_statistics.push_back(
        {.snapshot_id = SnapshotId{id}, .statistics_path = "p.parquet"});
  }
  const TableMetadata next = Applied(base, {RemoveSnapshots{{SnapshotId{1}}}});
  EXPECT_EQ(next.FindSnapshot(SnapshotId{1}), nullptr);
  EXPECT_THAT(next.snapshots, SizeIs(2));
  EXPECT_THAT(next.refs, ElementsAre(Key("kept"), Key("main")));
  EXPECT_THAT(next.statistics, ElementsAre(base.statistics[1]));
  EXPECT_THAT(next.partition_statistics, ElementsAre(base.partition_statistics[1]));
  EXPECT_EQ(next.current_snapshot_id, SnapshotId{3});
  EXPECT_EQ(next.last_sequence_number, 3);
  EXPECT_EQ(next.last_updated, At(9000));
  EXPECT_EQ(next.snapshots[0].parent_snapshot_id, SnapshotId{1}) << "what was, stays said";
}

TEST(RemoveSnapshots, LeavesNoGapInTheSnapshotLog) {
  const TableMetadata base = Grown(Empty(), 4);
  const auto logged_without = [&](std::vector<SnapshotId> ids) {
    std::vector<std::int64_t> logged;
    const TableMetadata next = Applied(base, {RemoveSnapshots{std::move(ids)}});
    for (const SnapshotLogEntry& entry : next.snapshot_log) {
      logged.push_back(std::to_underlying(entry.snapshot_id));
    }
    return logged;
  };
  EXPECT_THAT(logged_without({SnapshotId{1}}), ElementsAre(2, 3, 4));
  EXPECT_THAT(logged_without({SnapshotId{2}}), ElementsAre(3, 4));
  EXPECT_THAT(logged_without({SnapshotId{3}, SnapshotId{1}}), ElementsAre(4));
  EXPECT_THAT(logged_without({SnapshotId{4}}), IsEmpty());
}

TEST(RemoveSnapshots, OfTheCurrentOneLeavesTheTableWithoutAny) {
  const TableMetadata base = Grown(Empty(), 2);
  const TableMetadata next = Applied(base, {RemoveSnapshots{{SnapshotId{2}}}});
  EXPECT_EQ(next.current_snapshot_id, std::nullopt);
  EXPECT_THAT(next.refs, IsEmpty());
  EXPECT_THAT(next.snapshots, SizeIs(1));
}

TEST(RemoveSnapshots, AfterARollbackKeepsTheSnapshotThatIsCurrentNow) {
  const TableMetadata base = Grown(Empty(), 3);
  const TableMetadata next =
      ApplyUpdates(base,
                   {SetSnapshotRef{.name = "main", .ref = {.snapshot_id = SnapshotId{1}}},
                    RemoveSnapshots{{SnapshotId{3}, SnapshotId{2}}}},
                   Next(9000))
          .value();
  EXPECT_EQ(next.current_snapshot_id, SnapshotId{1});
  EXPECT_THAT(next.snapshot_log,
              ElementsAre(SnapshotLogEntry{.snapshot_id = SnapshotId{1}, .timestamp = At(9000)}));
}

TEST(RemoveSnapshots, PassesOverWhatIsNotThere) {
  TableMetadata base = Grown(Empty(), 2);
  base.snapshot_log.insert(base.snapshot_log.begin(),
                           {.snapshot_id = SnapshotId{77}, .timestamp = At(1)});
  const TableMetadata next = Applied(base, {RemoveSnapshots{{SnapshotId{77}}}});
  EXPECT_EQ(next.snapshots, base.snapshots);
  EXPECT_EQ(next.refs, base.refs);
  EXPECT_EQ(next.snapshot_log, base.snapshot_log) << "nothing was removed";
}

TEST(RemoveSnapshotRef, TakesAwayTheNameAndNotTheSnapshot) {
  TableMetadata base = Grown(Empty(), 2);
  base.refs["old"] = {.snapshot_id = SnapshotId{1}, .kind = SnapshotRef::Kind::kTag};
  const TableMetadata next = Applied(base, {RemoveSnapshotRef{"old"}, RemoveSnapshotRef{"never"}});
  EXPECT_THAT(next.refs, ElementsAre(Key("main")));
  EXPECT_EQ(next.snapshots, base.snapshots);
  EXPECT_EQ(next.snapshot_log, base.snapshot_log);
}

TEST(RemoveSnapshotRef, OfMainLeavesTheTableWithoutACurrentSnapshot) {
  const TableMetadata base = Grown(Empty(), 2);
  const TableMetadata next = Applied(base, {RemoveSnapshotRef{"main"}});
  EXPECT_EQ(next.current_snapshot_id, std::nullopt);
  EXPECT_EQ(next.snapshots, base.snapshots);
  EXPECT_EQ(next.snapshot_log, base.snapshot_log);
}

TEST(SetProperties, AddsAndReplacesAndLeavesTheOthers) {
  TableMetadata base = Empty();
  base.properties = {{"a", "1"}, {"b", "2"}};
  const TableMetadata next = Applied(base, {SetProperties{{{"b", "3"}, {"c", ""}}}});
  EXPECT_EQ(next.properties, (Properties{{"a", "1"}, {"b", "3"}, {"c", ""}}));
}

TEST(SetProperties, RefusesANameThatTheFormatReserves) {
  EXPECT_THAT(ApplyUpdates(Empty(), {SetProperties{{{"current-schema", "x"}}}}, Next(9000)),
              IsError(ErrorCode::kInvalidArgument,
                      HasSubstr("set properties: property 'current-schema' is reserved")));
}

TEST(SetProperties, OfTheMetadataLogsLengthTakesEffectAtOnce) {
  const TableMetadata base = Grown(Empty(), 5);
  const auto log_length = [&](const std::vector<TableUpdate>& updates) {
    return ApplyUpdates(base, updates, Next(9000, "v5")).value().metadata_log.size();
  };
  const std::string name(kPreviousVersionsMaxProperty);
  EXPECT_EQ(log_length({SetProperties{{{name, "2"}}}}), 2);
  EXPECT_EQ(log_length({SetProperties{{{name, "6"}}}}), 6);
  EXPECT_EQ(log_length({SetProperties{{{name, "2"}}}, RemoveProperties{{name}}}), 6);
  EXPECT_THAT(ApplyUpdates(base, {SetProperties{{{name, "two"}}}}, Next(9000)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr(name)));
}

TEST(RemoveProperties, PassesOverWhatIsNotThere) {
  TableMetadata base = Empty();
  base.properties = {{"a", "1"}, {"b", "2"}};
  EXPECT_EQ(Applied(base, {RemoveProperties{{"b", "c"}}}).properties, (Properties{{"a", "1"}}));
}

TEST(AssignUuid, GivesAnIdentityOnceAndNeverExchangesIt) {
  const Uuid uuid = Uuid::Parse("11111111-2222-4333-8444-555555555555").value();
  TableMetadata base = Empty(1);
  const Uuid old = base.table_uuid.value();
  EXPECT_EQ(Applied(base, {AssignUuid{old}}).table_uuid, old);
  EXPECT_THAT(
      ApplyUpdates(base, {AssignUuid{uuid}}, Next(9000)),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("the table has another, 9c12d441-03fe")));
  base.table_uuid.reset();
  EXPECT_EQ(Applied(base, {AssignUuid{uuid}}).table_uuid, uuid);
  EXPECT_THAT(ApplyUpdates(base, {AssignUuid{Uuid()}}, Next(9000)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("nil")));
}

TEST(UpgradeFormatVersion, FromOneToTwoStartsSequenceNumbers) {
  const TableMetadata base = Grown(Empty(1), 2);
  TableMetadata next = Applied(base, {UpgradeFormatVersion{2}});
  EXPECT_EQ(next.format_version, 2);
  EXPECT_EQ(next.last_sequence_number, 0);
  EXPECT_EQ(next.snapshots, base.snapshots);
  next = AppendSnapshot(next, Draft(9), Next(9500)).value();
  EXPECT_EQ(next.current_snapshot()->sequence_number, 1);
  EXPECT_EQ(next.snapshots[0].sequence_number, 0);
}

TEST(UpgradeFormatVersion, NeedsTheIdentityThatVersionTwoDemands) {
  TableMetadata base = Empty(1);
  const Uuid uuid = base.table_uuid.value();
  base.table_uuid.reset();
  EXPECT_THAT(ApplyUpdates(base, {UpgradeFormatVersion{2}}, Next(9000)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("table-uuid")));
  EXPECT_EQ(Applied(base, {UpgradeFormatVersion{2}, AssignUuid{uuid}}).table_uuid, uuid);
}

TEST(UpgradeFormatVersion, ToThreeCountsRowsFromZero) {
  for (const std::int32_t version : {1, 2}) {
    const TableMetadata next = Applied(Grown(Empty(version), 1), {UpgradeFormatVersion{3}});
    EXPECT_EQ(next.format_version, 3);
    EXPECT_EQ(next.next_row_id, 0);
    EXPECT_EQ(next.snapshots[0].first_row_id, std::nullopt) << "its rows have no ids yet";
  }
}

TEST(UpgradeFormatVersion, ToTheVersionThatIsThereChangesNothing) {
  Snapshot snapshot = Draft(1);
  snapshot.first_row_id = 0;
  snapshot.added_rows = 25;
  const TableMetadata base = AppendSnapshot(Empty(3), snapshot, Next(2000)).value();
  EXPECT_EQ(Applied(base, {UpgradeFormatVersion{3}}).next_row_id, 25);
}

TEST(UpgradeFormatVersion, NeverGoesBackNorPastWhatLakeKnows) {
  EXPECT_THAT(ApplyUpdates(Empty(2), {UpgradeFormatVersion{1}}, Next(9000)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("the later version 2")));
  EXPECT_THAT(ApplyUpdates(Empty(2), {UpgradeFormatVersion{4}}, Next(9000)),
              IsError(ErrorCode::kUnimplemented, HasSubstr("format version 4")));
}

TEST(SetLocation, MovesNewFilesAndNothingElse) {
  const TableMetadata base = Grown(Empty(), 1);
  const TableMetadata next = Applied(base, {SetLocation{"s3://bucket/moved"}});
  EXPECT_EQ(next.location, "s3://bucket/moved");
  EXPECT_EQ(next.snapshots, base.snapshots);
  EXPECT_THAT(ApplyUpdates(base, {SetLocation{""}}, Next(9000)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("set location")));
}

TEST(SetStatistics, ReplacesThoseOfTheSameSnapshot) {
  const TableMetadata base = Grown(Empty(), 2);
  const StatisticsFile first{.snapshot_id = SnapshotId{1}, .statistics_path = "a.puffin"};
  const StatisticsFile other{.snapshot_id = SnapshotId{2}, .statistics_path = "b.puffin"};
  const StatisticsFile again{.snapshot_id = SnapshotId{1}, .statistics_path = "c.puffin"};
  EXPECT_THAT(
      Applied(base, {SetStatistics{first}, SetStatistics{other}, SetStatistics{again}}).statistics,
      ElementsAre(other, again));
  EXPECT_THAT(Applied(base, {SetStatistics{first}, SetStatistics{other},
                             RemoveStatistics{SnapshotId{1}}, RemoveStatistics{SnapshotId{7}}})
                  .statistics,
              ElementsAre(other));
}

TEST(SetPartitionStatistics, ReplacesThoseOfTheSameSnapshot) {
  const TableMetadata base = Grown(Empty(), 2);
  const PartitionStatisticsFile first{.snapshot_id = SnapshotId{1}, .statistics_path = "a.parquet"};
  const PartitionStatisticsFile other{.snapshot_id = SnapshotId{2}, .statistics_path = "b.parquet"};
  const PartitionStatisticsFile again{.snapshot_id = SnapshotId{1}, .statistics_path = "c.parquet"};
  EXPECT_THAT(Applied(base, {SetPartitionStatistics{first}, SetPartitionStatistics{other},
                             SetPartitionStatistics{again}})
                  .partition_statistics,
              ElementsAre(other, again));
  EXPECT_THAT(Applied(base, {SetPartitionStatistics{first}, SetPartitionStatistics{other},
                             RemovePartitionStatistics{SnapshotId{1}},
                             RemovePartitionStatistics{SnapshotId{7}}})
                  .partition_statistics,
              ElementsAre(other));
}

TEST(SetStatistics, RefusesASnapshotThatIsNotThere) {
  const TableMetadata base = Grown(Empty(), 1);
  EXPECT_THAT(ApplyUpdates(base, {SetStatistics{{.snapshot_id = SnapshotId{7}}}}, Next(9000)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("snapshot 7 does not exist")));
  EXPECT_THAT(
      ApplyUpdates(base, {SetPartitionStatistics{{.snapshot_id = SnapshotId{7}}}}, Next(9000)),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("snapshot 7 does not exist")));
}

TEST(AddEncryptionKey, KeepsOneOfEachId) {
  const EncryptionKey key{.key_id = "k", .encrypted_key_metadata = "AAAA"};
  const TableMetadata next = Applied(Empty(3), {AddEncryptionKey{key}, AddEncryptionKey{key}});
  EXPECT_THAT(next.encryption_keys, ElementsAre(key));
  EncryptionKey other = key;
  other.encrypted_key_metadata = "BBBB";
  EXPECT_THAT(ApplyUpdates(next, {AddEncryptionKey{other}}, Next(9000)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("'k': the table has another")));
  EXPECT_THAT(ApplyUpdates(Empty(2), {AddEncryptionKey{key}}, Next(9000)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("needs format version 3")));
}

TEST(RemoveEncryptionKey, RefusesOneThatIsNeeded) {
  const EncryptionKey outer{.key_id = "outer", .encrypted_key_metadata = "AAAA"};
  const EncryptionKey inner{
      .key_id = "inner", .encrypted_key_metadata = "BBBB", .encrypted_by_id = "outer"};
  Snapshot snapshot = Draft(1);
  snapshot.first_row_id = 0;
  snapshot.added_rows = 1;
  snapshot.key_id = "inner";
  const TableMetadata base =
      AppendSnapshot(Applied(Empty(3), {AddEncryptionKey{outer}, AddEncryptionKey{inner}}),
                     snapshot, Next(9000))
          .value();
  EXPECT_THAT(ApplyUpdates(base, {RemoveEncryptionKey{"inner"}}, Next(9000)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("snapshot 1 needs it")));
  EXPECT_THAT(ApplyUpdates(base, {RemoveEncryptionKey{"outer"}}, Next(9000)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("'inner' is encrypted with it")));
  EXPECT_THAT(Applied(base, {RemoveSnapshots{{SnapshotId{1}}}, RemoveEncryptionKey{"inner"},
                             RemoveEncryptionKey{"outer"}, RemoveEncryptionKey{"never"}})
                  .encryption_keys,
              IsEmpty());
}

}  // namespace
}  // namespace lake::iceberg
