#include "lake/iceberg/table_metadata.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/type.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;
using ::testing::HasSubstr;

// A v2 table with one column and two snapshots, the second one current.
TableMetadata Table() {
  TableMetadata table;
  table.table_uuid = Uuid::Parse("9c12d441-03fe-4693-9a96-a0705ddf69c1").value();
  table.location = "s3://bucket/table";
  table.last_sequence_number = 2;
  table.last_column_id = FieldId{1};
  table.schemas = {
      Schema::Make(
          {.fields = {{.id = FieldId{1}, .name = "id", .required = true, .type = Type::Long()}}})
          .value()};
  table.partition_specs = {PartitionSpec{}};
  table.sort_orders = {SortOrder{}};
  table.snapshots = {{.snapshot_id = SnapshotId{11},
                      .sequence_number = 1,
                      .manifest_list = "1.avro",
                      .summary = {{"operation", "append"}}},
                     {.snapshot_id = SnapshotId{12},
                      .parent_snapshot_id = SnapshotId{11},
                      .sequence_number = 2,
                      .manifest_list = "2.avro",
                      .summary = {{"operation", "append"}}}};
  table.current_snapshot_id = SnapshotId{12};
  table.refs["main"] = {.snapshot_id = SnapshotId{12}};
  return table;
}

template <typename Change>
Status ValidateWith(Change change) {
  TableMetadata table = Table();
  change(table);
  return Validate(table);
}

TEST(TableMetadata, FindsItsPartsById) {
  const TableMetadata table = Table();
  EXPECT_THAT(Validate(table), IsOk());
  EXPECT_EQ(table.FindSchema(SchemaId{0}), &table.schemas[0]);
  EXPECT_EQ(table.FindSchema(SchemaId{1}), nullptr);
  EXPECT_EQ(table.FindSpec(PartitionSpecId{0}), &table.default_spec());
  EXPECT_EQ(table.FindSpec(PartitionSpecId{1}), nullptr);
  EXPECT_EQ(table.FindSortOrder(SortOrderId{0}), &table.default_sort_order());
  EXPECT_EQ(table.FindSnapshot(SnapshotId{11}), &table.snapshots[0]);
  EXPECT_EQ(table.FindSnapshot(SnapshotId{13}), nullptr);
  EXPECT_EQ(table.current_snapshot(), &table.snapshots[1]);
}

TEST(ValidateTableMetadata, AVersionItDoesNotKnowIsUnimplemented) {
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.format_version = 4; }),
              IsError(ErrorCode::kUnimplemented));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.format_version = 0; }),
              IsError(ErrorCode::kUnimplemented));
}

TEST(ValidateTableMetadata, EveryVersionHasWhatItRequires) {
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.location.clear(); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("location")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.table_uuid.reset(); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("table-uuid")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.format_version = 3; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("next-row-id")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) {
                t.format_version = 3;
                t.next_row_id = 0;
              }),
              IsOk());
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.next_row_id = -1; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("next-row-id")));
}

TEST(ValidateTableMetadata, CurrentIdsNameSomething) {
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.current_schema_id = SchemaId{3}; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("current-schema-id 3")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.default_spec_id = PartitionSpecId{3}; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("default-spec-id 3")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.default_sort_order_id = SortOrderId{3}; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("default-sort-order-id 3")));
}

TEST(ValidateTableMetadata, IdsAreUnique) {
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.schemas.push_back(t.schemas[0]); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("schemas have the id 0")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.partition_specs.emplace_back(); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("partition specs have the id 0")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.sort_orders.emplace_back(); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("sort orders have the id 0")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.snapshots[0].snapshot_id = SnapshotId{12}; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("snapshots have the id 12")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) {
                t.last_partition_id = FieldId{1000};
                t.partition_specs[0].fields.assign(
                    2, {.source_ids = {FieldId{1}}, .field_id = FieldId{1000}});
              }),
              IsError(ErrorCode::kInvalidArgument,
                      HasSubstr("fields of partition spec 0 have the id 1000")));
}

TEST(ValidateTableMetadata, HighestIdsAreNotBelowWhatIsInUse) {
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.last_column_id = FieldId{0}; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("last-column-id 0")));
  EXPECT_THAT(
      ValidateWith([](TableMetadata& t) {
        t.partition_specs[0].fields = {{.source_ids = {FieldId{1}}, .field_id = FieldId{1000}}};
      }),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("last-partition-id 999")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.last_sequence_number = 1; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("last-sequence-number 1")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.snapshots[0].sequence_number = -1; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("sequence-number -1")));
}

TEST(ValidateTableMetadata, ASnapshotNamesItsManifestsOneWay) {
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.snapshots[0].manifest_list.clear(); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("snapshot 11 has no manifest-list")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.snapshots[0].manifests = {"m.avro"}; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("both")));
}

TEST(ValidateTableMetadata, MainIsTheBranchOfTheCurrentSnapshot) {
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.refs.clear(); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("no main branch")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.current_snapshot_id = SnapshotId{11}; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("different snapshots")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.current_snapshot_id.reset(); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("different snapshots")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.refs["main"].kind = SnapshotRef::Kind::kTag; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("must be a branch")));
}

TEST(ValidateTableMetadata, RefsNameSnapshotsAndKeepSensibleTimes) {
  EXPECT_THAT(ValidateWith([](TableMetadata& t) { t.refs["x"] = {.snapshot_id = SnapshotId{5}}; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("ref 'x' names snapshot 5")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) {
                t.refs["x"] = {.snapshot_id = SnapshotId{11},
                               .kind = SnapshotRef::Kind::kTag,
                               .min_snapshots_to_keep = 1};
              }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("tag 'x'")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) {
                t.refs["x"] = {.snapshot_id = SnapshotId{11},
                               .max_ref_age = std::chrono::milliseconds(0)};
              }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("not positive")));
  EXPECT_THAT(ValidateWith([](TableMetadata& t) {
                t.refs["x"] = {.snapshot_id = SnapshotId{11}, .kind = SnapshotRef::Kind::kTag};
              }),
              IsOk());
}

}  // namespace
}  // namespace lake::iceberg
