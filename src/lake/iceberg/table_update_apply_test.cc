#include "lake/iceberg/table_update_apply.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/table_create.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_metadata_json.h"
#include "lake/iceberg/table_update.h"
#include "lake/iceberg/type.h"
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

WallTime At(std::int64_t millis) {
  return WallTime(std::chrono::milliseconds(millis));
}

TableMetadata Empty(std::int32_t format_version = 2) {
  return NewTableMetadata(
             {.table_uuid = Uuid::Parse("9c12d441-03fe-4693-9a96-a0705ddf69c1").value(),
              .location = "s3://bucket/table",
              .schema = Schema::Make({.fields = {{.id = FieldId{1},
                                                  .name = "id",
                                                  .required = true,
                                                  .type = Type::Long()}}})
                            .value(),
              .format_version = format_version,
              .now = At(1000)})
      .value();
}

Snapshot Draft(std::int64_t id) {
  return {.snapshot_id = SnapshotId{id},
          .manifest_list = "s3://bucket/table/metadata/snap-" + std::to_string(id) + ".avro",
          .summary = {{"operation", "append"}}};
}

NextVersion Next(std::int64_t now, std::string base_location = "v.json") {
  return {.now = At(now), .base_location = std::move(base_location)};
}

std::vector<std::string> LoggedFiles(const TableMetadata& metadata) {
  std::vector<std::string> files;
  for (const MetadataLogEntry& entry : metadata.metadata_log) {
    files.push_back(entry.metadata_file);
  }
  return files;
}

// Appends snapshots 1 to `count` one after the other, each a second later.
TableMetadata Grown(TableMetadata metadata, std::int64_t count) {
  for (std::int64_t i = 1; i <= count; ++i) {
    metadata =
        AppendSnapshot(metadata, Draft(i), Next(1000 + i * 1000, "v" + std::to_string(i - 1)))
            .value();
  }
  return metadata;
}

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
  const TableMetadata before = base;
  const TableMetadata once = AppendSnapshot(base, Draft(9), Next(9000)).value();
  EXPECT_EQ(base, before);
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
  const TableMetadata next =
      ApplyUpdates(base, {RemoveSnapshots{{SnapshotId{1}}}}, Next(9000)).value();
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
    const TableMetadata next =
        ApplyUpdates(base, {RemoveSnapshots{std::move(ids)}}, Next(9000)).value();
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
  const TableMetadata next =
      ApplyUpdates(base, {RemoveSnapshots{{SnapshotId{2}}}}, Next(9000)).value();
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
  const TableMetadata next =
      ApplyUpdates(base, {RemoveSnapshots{{SnapshotId{77}}}}, Next(9000)).value();
  EXPECT_EQ(next.snapshots, base.snapshots);
  EXPECT_EQ(next.refs, base.refs);
  EXPECT_EQ(next.snapshot_log, base.snapshot_log) << "nothing was removed";
}

TEST(RemoveSnapshotRef, TakesAwayTheNameAndNotTheSnapshot) {
  TableMetadata base = Grown(Empty(), 2);
  base.refs["old"] = {.snapshot_id = SnapshotId{1}, .kind = SnapshotRef::Kind::kTag};
  const TableMetadata next =
      ApplyUpdates(base, {RemoveSnapshotRef{"old"}, RemoveSnapshotRef{"never"}}, Next(9000))
          .value();
  EXPECT_THAT(next.refs, ElementsAre(Key("main")));
  EXPECT_EQ(next.snapshots, base.snapshots);
  EXPECT_EQ(next.snapshot_log, base.snapshot_log);
}

TEST(RemoveSnapshotRef, OfMainLeavesTheTableWithoutACurrentSnapshot) {
  const TableMetadata base = Grown(Empty(), 2);
  const TableMetadata next = ApplyUpdates(base, {RemoveSnapshotRef{"main"}}, Next(9000)).value();
  EXPECT_EQ(next.current_snapshot_id, std::nullopt);
  EXPECT_EQ(next.snapshots, base.snapshots);
  EXPECT_EQ(next.snapshot_log, base.snapshot_log);
  EXPECT_EQ(ParseTableMetadata(WriteTableMetadata(next).value()).value(), next);
}

TEST(SetProperties, AddsAndReplacesAndLeavesTheOthers) {
  TableMetadata base = Empty();
  base.properties = {{"a", "1"}, {"b", "2"}};
  const TableMetadata next =
      ApplyUpdates(base, {SetProperties{{{"b", "3"}, {"c", ""}}}}, Next(9000)).value();
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
  EXPECT_EQ(ApplyUpdates(base, {RemoveProperties{{"b", "c"}}}, Next(9000)).value().properties,
            (Properties{{"a", "1"}}));
}

}  // namespace
}  // namespace lake::iceberg
