// Tables made of updates alone.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/table_create.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_metadata_json.h"
#include "lake/iceberg/table_update.h"
#include "lake/iceberg/table_update_apply.h"
#include "lake/iceberg/table_update_examples_internal.h"
#include "lake/iceberg/type.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

FirstVersion First() {
  return {.now = At(1000),
          .table_uuid = Uuid::Parse("9c12d441-03fe-4693-9a96-a0705ddf69c1").value(),
          .location = "s3://bucket/table"};
}

Schema TwoColumns() {
  return Schema::Make(
             {.fields = {{.id = FieldId{1}, .name = "id", .required = true, .type = Type::Long()},
                         {.id = FieldId{2}, .name = "at", .type = Type::Timestamptz()}}})
      .value();
}

PartitionSpec ByDay() {
  return {.fields = {{.source_ids = {FieldId{2}},
                      .field_id = FieldId{1000},
                      .name = "at_day",
                      .transform = "day"}}};
}

SortOrder ById() {
  return {.order_id = SortOrderId{1},
          .fields = {{.source_ids = {FieldId{1}}, .transform = "identity"}}};
}

// The updates that clients make of a table that was staged for creation.
std::vector<TableUpdate> UpdatesOf(const TableMetadata& staged) {
  return {AssignUuid{staged.table_uuid.value()},
          UpgradeFormatVersion{staged.format_version},
          AddSchema{staged.current_schema()},
          SetCurrentSchema{kLastAddedSchema},
          AddPartitionSpec{staged.default_spec()},
          SetDefaultPartitionSpec{kLastAddedSpec},
          AddSortOrder{staged.default_sort_order()},
          SetDefaultSortOrder{kLastAddedSortOrder},
          SetLocation{staged.location},
          SetProperties{staged.properties}};
}

TEST(NewTableFromUpdates, MakesTheTableThatWasStaged) {
  for (const std::int32_t version : {1, 2, 3}) {
    const TableMetadata staged =
        NewTableMetadata({.table_uuid = Uuid::Parse("11111111-2222-4333-8444-555555555555").value(),
                          .location = "s3://elsewhere/table",
                          .schema = TwoColumns(),
                          .spec = ByDay(),
                          .sort_order = ById(),
                          .properties = {{"owner", "me"}},
                          .format_version = version,
                          .now = At(1000)})
            .value();
    EXPECT_EQ(NewTableFromUpdates(UpdatesOf(staged), First()).value(), staged) << version;
  }
}

TEST(NewTableFromUpdates, FillsInWhatTheUpdatesLeaveOut) {
  const TableMetadata made = NewTableFromUpdates({AddSchema{TwoColumns()}}, First()).value();
  const TableMetadata plain = NewTableMetadata({.table_uuid = First().table_uuid,
                                                .location = First().location,
                                                .schema = TwoColumns(),
                                                .now = At(1000)})
                                  .value();
  EXPECT_EQ(made, plain);
  EXPECT_EQ(ParseTableMetadata(WriteTableMetadata(made).value()).value(), made);
}

TEST(NewTableFromUpdates, TakesTheFirstPartsUnlessOthersAreSet) {
  const TableMetadata made =
      NewTableFromUpdates({AddSchema{TwoColumns()}, AddPartitionSpec{ByDay()}}, First()).value();
  EXPECT_EQ(made.default_spec().fields, ByDay().fields);
  EXPECT_THAT(made.partition_specs, SizeIs(1));
  EXPECT_EQ(made.last_partition_id, FieldId{1000});
}

TEST(NewTableFromUpdates, MayAppendAtOnce) {
  Snapshot snapshot = Draft(7);
  snapshot.sequence_number = 1;
  snapshot.timestamp = At(1500);
  snapshot.schema_id = SchemaId{0};
  std::vector<TableUpdate> updates = {
      AddSchema{TwoColumns()}, AddSnapshot{snapshot},
      SetSnapshotRef{.name = "main", .ref = {.snapshot_id = SnapshotId{7}}}};
  const TableMetadata made = NewTableFromUpdates(updates, First()).value();
  EXPECT_EQ(made.current_snapshot_id, SnapshotId{7});
  EXPECT_EQ(made.last_sequence_number, 1);
  EXPECT_EQ(made.last_updated, At(1500));
  EXPECT_THAT(made.snapshot_log,
              ElementsAre(SnapshotLogEntry{.snapshot_id = SnapshotId{7}, .timestamp = At(1500)}));
  EXPECT_THAT(made.metadata_log, IsEmpty());
}

TEST(NewTableFromUpdates, KnowsItsFormatVersionFromTheStart) {
  const Schema precise =
      Schema::Make({.fields = {{.id = FieldId{1}, .name = "t", .type = Type::TimestampNs()}}})
          .value();
  const TableMetadata made =
      NewTableFromUpdates({AddSchema{precise}, UpgradeFormatVersion{3}}, First()).value();
  EXPECT_EQ(made.format_version, 3);
  EXPECT_EQ(made.next_row_id, 0);
  EXPECT_THAT(NewTableFromUpdates({AddSchema{precise}}, First()),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("needs format version 3")));
}

TEST(NewTableFromUpdates, RefusesATableThatCannotBe) {
  EXPECT_THAT(NewTableFromUpdates({}, First()),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("no schema")));
  EXPECT_THAT(NewTableFromUpdates({AddPartitionSpec{ByDay()}, AddSchema{TwoColumns()}}, First()),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("no schema yet")));
  EXPECT_THAT(NewTableFromUpdates({AddSchema{TwoColumns()}, UpgradeFormatVersion{4}}, First()),
              IsError(ErrorCode::kUnimplemented));
  EXPECT_THAT(NewTableFromUpdates({AddSchema{TwoColumns()}, UpgradeFormatVersion{0}}, First()),
              IsError(ErrorCode::kInvalidArgument));
  FirstVersion nowhere = First();
  nowhere.location.clear();
  EXPECT_THAT(NewTableFromUpdates({AddSchema{TwoColumns()}}, nowhere),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("location")));
  EXPECT_THAT(NewTableFromUpdates(
                  {AddSchema{TwoColumns()}, SetProperties{{{"format-version", "2"}}}}, First()),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("reserved")));
  EXPECT_THAT(
      NewTableFromUpdates({AddSchema{TwoColumns()},
                           SetProperties{{{std::string(kPreviousVersionsMaxProperty), "x"}}}},
                          First()),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("not a number")));
}

}  // namespace
}  // namespace lake::iceberg
