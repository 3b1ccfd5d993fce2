// What updates do to schemas, partition specs and sort orders.

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/table_metadata.h"
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
using ::testing::SizeIs;

// The table's own schema, and then one with more columns: id, at, name, …
Schema Columns(std::int32_t count) {
  const std::vector<NestedField> all = {
      {.id = FieldId{1}, .name = "id", .required = true, .type = Type::Long()},
      {.id = FieldId{2}, .name = "at", .type = Type::Timestamptz()},
      {.id = FieldId{3}, .name = "name", .type = Type::String()},
      {.id = FieldId{4},
       .name = "tags",
       .type = Type::List(FieldId{5}, Type::String(), /*element_required=*/true)},
  };
  return Schema::Make({.schema_id = SchemaId{77}, .fields = {all.begin(), all.begin() + count}})
      .value();
}

PartitionSpec By(std::int32_t source, std::string transform, std::string name,
                 std::int32_t field_id = 0) {
  return {.spec_id = PartitionSpecId{77},
          .fields = {{.source_ids = {FieldId{source}},
                      .field_id = FieldId{field_id},
                      .name = std::move(name),
                      .transform = std::move(transform)}}};
}

SortOrder SortedBy(std::int32_t source, std::string transform = "identity") {
  return {.order_id = SortOrderId{77},
          .fields = {{.source_ids = {FieldId{source}}, .transform = std::move(transform)}}};
}

// A table with the columns id, at, name and tags.
TableMetadata Wide(std::int32_t format_version = 2) {
  return Applied(Empty(format_version), {AddSchema{Columns(4)}, SetCurrentSchema{kLastAddedSchema}},
                 Next(1500));
}

std::vector<SchemaId> SchemaIds(const TableMetadata& metadata) {
  std::vector<SchemaId> ids;
  for (const Schema& schema : metadata.schemas) {
    ids.push_back(schema.schema_id());
  }
  return ids;
}

std::vector<PartitionSpecId> SpecIds(const TableMetadata& metadata) {
  std::vector<PartitionSpecId> ids;
  for (const PartitionSpec& spec : metadata.partition_specs) {
    ids.push_back(spec.spec_id);
  }
  return ids;
}

std::vector<SortOrderId> OrderIds(const TableMetadata& metadata) {
  std::vector<SortOrderId> ids;
  for (const SortOrder& order : metadata.sort_orders) {
    ids.push_back(order.order_id);
  }
  return ids;
}

auto Refused(const TableMetadata& base, const std::vector<TableUpdate>& updates) {
  return ApplyUpdates(base, updates, Next(9000));
}

TEST(AddSchema, GetsTheNextIdAndIsNotCurrentByItself) {
  const TableMetadata next = Applied(Empty(), {AddSchema{Columns(2)}, AddSchema{Columns(3)}});
  EXPECT_THAT(SchemaIds(next), ElementsAre(SchemaId{0}, SchemaId{1}, SchemaId{2}));
  EXPECT_TRUE(next.schemas[1].SameAs(Columns(2)));
  EXPECT_EQ(next.current_schema_id, SchemaId{0});
  EXPECT_EQ(next.last_column_id, FieldId{3});
}

TEST(AddSchema, ThatIsThereAlreadyCountsAsAddedAndKeepsItsId) {
  const TableMetadata base = Applied(
      Empty(), {AddSchema{Columns(2)}, AddSchema{Columns(3)}, SetCurrentSchema{SchemaId{2}}});
  const TableMetadata next =
      Applied(base, {AddSchema{Columns(2)}, SetCurrentSchema{kLastAddedSchema}});
  EXPECT_THAT(SchemaIds(next), ElementsAre(SchemaId{0}, SchemaId{1}, SchemaId{2}));
  EXPECT_EQ(next.current_schema_id, SchemaId{1});
  EXPECT_EQ(next.last_column_id, FieldId{3}) << "ids of columns are never used again";
}

TEST(AddSchema, IsAnotherOneIfOnlyADocDiffers) {
  Schema::Parts parts{.fields = Columns(1).fields()};
  parts.fields[0].doc = "the key";
  EXPECT_THAT(SchemaIds(Applied(Empty(), {AddSchema{Schema::Make(parts).value()}})),
              ElementsAre(SchemaId{0}, SchemaId{1}));
}

TEST(AddSchema, NeverGetsTheIdOfARemovedOneBelowOthers) {
  const TableMetadata base = Applied(
      Empty(), {AddSchema{Columns(2)}, AddSchema{Columns(3)}, RemoveSchemas{{SchemaId{1}}}});
  EXPECT_THAT(SchemaIds(Applied(base, {AddSchema{Columns(2)}})),
              ElementsAre(SchemaId{0}, SchemaId{2}, SchemaId{3}));
}

TEST(AddSchema, RefusesOneThatTheTableCannotHave) {
  const auto with = [](NestedField field) {
    return AddSchema{Schema::Make({.fields = {std::move(field)}}).value()};
  };
  EXPECT_THAT(
      Refused(Empty(), {with({.id = FieldId{2}, .name = "t", .type = Type::TimestampNs()})}),
      IsError(ErrorCode::kInvalidArgument,
              HasSubstr("add schema: schema: field 't' (timestamp_ns) needs format version 3")));
  EXPECT_THAT(Refused(Empty(), {with({.id = FieldId{2}, .name = "", .type = Type::Int()})}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("field 2 has no name")));
  EXPECT_THAT(Refused(Empty(), {with({.id = FieldId{std::to_underlying(kFieldIdMax) + 1},
                                      .name = "t",
                                      .type = Type::Int()})}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("above the highest one")));
  TableMetadata full = Empty();
  full.schemas.push_back(Columns(2).WithId(SchemaId{std::numeric_limits<std::int32_t>::max()}));
  full.last_column_id = FieldId{2};
  EXPECT_THAT(Refused(full, {AddSchema{Columns(3)}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("no id is left")));
}

TEST(SetCurrentSchema, RefusesOneThatIsNotThere) {
  EXPECT_THAT(Refused(Empty(), {SetCurrentSchema{SchemaId{5}}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("schema 5 does not exist")));
  EXPECT_THAT(Refused(Empty(), {SetCurrentSchema{kLastAddedSchema}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("none was added")));
  EXPECT_THAT(Refused(Empty(), {SetCurrentSchema{kLastAddedSchema}, AddSchema{Columns(2)}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("none was added")));
}

TEST(SetCurrentSchema, RefusesOneThatTheDefaultSpecOrOrderDoesNotSuit) {
  const TableMetadata partitioned = Applied(
      Wide(), {AddPartitionSpec{By(2, "day", "at_day")}, SetDefaultPartitionSpec{kLastAddedSpec}});
  EXPECT_THAT(Refused(partitioned, {SetCurrentSchema{SchemaId{0}}}),
              IsError(ErrorCode::kInvalidArgument,
                      HasSubstr("default partition spec does not suit the current schema: "
                                "partition field 'at_day': its source column 2")));
  const TableMetadata sorted =
      Applied(Wide(), {AddSortOrder{SortedBy(3)}, SetDefaultSortOrder{kLastAddedSortOrder}});
  EXPECT_THAT(Refused(sorted, {SetCurrentSchema{SchemaId{0}}}),
              IsError(ErrorCode::kInvalidArgument,
                      HasSubstr("default sort order does not suit the current schema")));
  // Together with another spec it is fine.
  EXPECT_EQ(Applied(partitioned,
                    {SetCurrentSchema{SchemaId{0}}, SetDefaultPartitionSpec{PartitionSpecId{0}}})
                .current_schema_id,
            SchemaId{0});
}

TEST(ApplyUpdates, LeavesALayoutThatNeverFitAloneUntilItChanges) {
  TableMetadata base = Wide();
  base.partition_specs[0].fields = {{.source_ids = {FieldId{9}},
                                     .field_id = FieldId{1000},
                                     .name = "gone",
                                     .transform = "identity"}};
  base.last_partition_id = FieldId{1000};
  EXPECT_EQ(Applied(base, {SetProperties{{{"a", "b"}}}}).partition_specs, base.partition_specs);
  EXPECT_THAT(Refused(base, {SetCurrentSchema{SchemaId{0}}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("'gone'")));
}

TEST(ApplyUpdates, CarriesTransformsAlongThatLakeDoesNotKnow) {
  TableMetadata base = Wide();
  base.partition_specs[0].fields = {{.source_ids = {FieldId{2}},
                                     .field_id = FieldId{1000},
                                     .name = "new",
                                     .transform = "zorder[3]"}};
  base.last_partition_id = FieldId{1000};
  EXPECT_EQ(
      Applied(base, {AddSchema{Columns(3)}, SetCurrentSchema{kLastAddedSchema}}).partition_specs,
      base.partition_specs);
}

TEST(RemoveSchemas, RefusesTheCurrentOneAndThoseOfSnapshots) {
  TableMetadata base = Grown(Empty(), 1);
  base = Applied(
      base, {AddSchema{Columns(2)}, AddSchema{Columns(3)}, SetCurrentSchema{kLastAddedSchema}});
  EXPECT_THAT(Refused(base, {RemoveSchemas{{SchemaId{1}, SchemaId{2}}}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("schema 2 is the current one")));
  EXPECT_THAT(Refused(base, {RemoveSchemas{{SchemaId{0}}}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("schema 0 is that of snapshot 1")));
  EXPECT_THAT(SchemaIds(Applied(base, {RemoveSchemas{{SchemaId{1}, SchemaId{8}}}})),
              ElementsAre(SchemaId{0}, SchemaId{2}));
  EXPECT_THAT(SchemaIds(Applied(base, {RemoveSnapshots{{SnapshotId{1}}},
                                       RemoveSchemas{{SchemaId{0}, SchemaId{1}}}})),
              ElementsAre(SchemaId{2}));
}

TEST(AddPartitionSpec, GetsTheNextIdsAndIsNotTheDefaultByItself) {
  const TableMetadata next = Applied(Wide(), {AddPartitionSpec{By(2, "day", "at_day")},
                                              AddPartitionSpec{By(3, "truncate[4]", "short")}});
  EXPECT_THAT(SpecIds(next),
              ElementsAre(PartitionSpecId{0}, PartitionSpecId{1}, PartitionSpecId{2}));
  EXPECT_EQ(next.partition_specs[1].fields[0].field_id, FieldId{1000});
  EXPECT_EQ(next.partition_specs[2].fields[0].field_id, FieldId{1001});
  EXPECT_EQ(next.last_partition_id, FieldId{1001});
  EXPECT_EQ(next.default_spec_id, PartitionSpecId{0});
}

TEST(AddPartitionSpec, KeepsTheFieldIdsItComesWith) {
  const TableMetadata next = Applied(Wide(), {AddPartitionSpec{By(2, "day", "at_day", 1007)},
                                              AddPartitionSpec{By(3, "identity", "name", 1003)}});
  EXPECT_EQ(next.partition_specs[1].fields[0].field_id, FieldId{1007});
  EXPECT_EQ(next.partition_specs[2].fields[0].field_id, FieldId{1003});
  EXPECT_EQ(next.last_partition_id, FieldId{1007}) << "it only grows";
}

TEST(AddPartitionSpec, ThatIsThereAlreadyCountsAsAddedAndKeepsItsId) {
  const TableMetadata base = Applied(Wide(), {AddPartitionSpec{By(2, "day", "at_day", 1000)},
                                              AddPartitionSpec{By(2, "hour", "at_hour", 1001)},
                                              SetDefaultPartitionSpec{kLastAddedSpec}});
  const TableMetadata next = Applied(base, {AddPartitionSpec{By(2, "day", "at_day", 1002)},
                                            SetDefaultPartitionSpec{kLastAddedSpec}});
  EXPECT_EQ(next.partition_specs, base.partition_specs);
  EXPECT_EQ(next.default_spec_id, PartitionSpecId{1});
  EXPECT_EQ(next.last_partition_id, FieldId{1001});
}

TEST(AddPartitionSpec, GivesAFieldOfAnEarlierSpecItsIdAgain) {
  const TableMetadata base = Applied(Wide(), {AddPartitionSpec{By(2, "day", "at_day")},
                                              AddPartitionSpec{By(3, "identity", "name")}});
  PartitionSpec both = By(3, "identity", "name");
  both.fields.push_back(By(1, "bucket[8]", "id_bucket").fields[0]);
  both.fields.push_back(By(2, "day", "day").fields[0]);
  const TableMetadata next = Applied(base, {AddPartitionSpec{both}});
  const std::vector<PartitionField>& fields = next.partition_specs.back().fields;
  EXPECT_EQ(fields[0].field_id, FieldId{1001});
  EXPECT_EQ(fields[1].field_id, FieldId{1002});
  EXPECT_EQ(fields[2].field_id, FieldId{1000});
}

TEST(AddPartitionSpec, RefusesAnIdThatMeansAnotherField) {
  const TableMetadata base = Applied(Wide(), {AddPartitionSpec{By(2, "day", "at_day", 1000)}});
  EXPECT_THAT(
      Refused(base, {AddPartitionSpec{By(3, "identity", "name", 1000)}}),
      IsError(
          ErrorCode::kInvalidArgument,
          HasSubstr("partition field 'name' has id 1000, which is that of 'at_day' of spec 1")));
  EXPECT_THAT(Refused(base, {AddPartitionSpec{By(2, "hour", "at_hour", 1000)}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("has id 1000")));
  EXPECT_THAT(Refused(base, {AddPartitionSpec{By(2, "hour", "at_hour", -4)}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("negative")));
  // What is left of a dropped field has its id.
  EXPECT_THAT(SpecIds(Applied(base, {AddPartitionSpec{By(2, "void", "at_day", 1000)},
                                     AddPartitionSpec{By(2, "hour", "at_hour", 1001)}})),
              SizeIs(4));
}

TEST(AddPartitionSpec, OfV1CountsItsFieldsFromAThousand) {
  const TableMetadata base = Wide(1);
  PartitionSpec spec = By(2, "day", "at_day");
  spec.fields.push_back(By(3, "identity", "name").fields[0]);
  const TableMetadata next = Applied(base, {AddPartitionSpec{spec}});
  EXPECT_EQ(next.partition_specs[1].fields[1].field_id, FieldId{1001});
  EXPECT_EQ(next.last_partition_id, FieldId{1001});
  EXPECT_THAT(Refused(base, {AddPartitionSpec{By(2, "day", "at_day", 1001)}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("counts them from 1000")));
  // There, position tells fields apart and not the id.
  EXPECT_THAT(SpecIds(Applied(next, {AddPartitionSpec{By(3, "identity", "name", 1000)}})),
              SizeIs(3));
}

TEST(AddPartitionSpec, RefusesFieldsThatCannotBeComputed) {
  const auto refused = [](const PartitionSpec& spec) {
    return Refused(Wide(), {AddPartitionSpec{spec}});
  };
  EXPECT_THAT(refused(By(99, "identity", "p")),
              IsError(ErrorCode::kInvalidArgument,
                      HasSubstr("add partition spec: partition field 'p': its source column 99")));
  EXPECT_THAT(refused(By(5, "identity", "p")),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("inside a list or map")));
  EXPECT_THAT(refused(By(4, "identity", "p")), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(refused(By(1, "day", "p")), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(refused(By(1, "zorder", "p")), IsError(ErrorCode::kUnimplemented));
  EXPECT_THAT(refused(By(1, "bucket[4]", "id")),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("a column has its name")));
  EXPECT_THAT(refused(By(1, "identity", "")), IsError(ErrorCode::kInvalidArgument));
  PartitionSpec twice = By(1, "identity", "id", 1000);
  twice.fields.push_back(By(2, "day", "day", 1000).fields[0]);
  EXPECT_THAT(refused(twice), IsError(ErrorCode::kInvalidArgument, HasSubstr("id 1000")));
}

TEST(AddPartitionSpec, MayKeepAVoidFieldWhoseColumnIsGone) {
  const TableMetadata base = Wide(1);
  EXPECT_THAT(SpecIds(Applied(base, {AddPartitionSpec{By(42, "void", "gone", 1000)}})), SizeIs(2));
  EXPECT_THAT(SpecIds(Applied(base, {AddPartitionSpec{By(3, "void", "name", 1000)}})), SizeIs(2))
      << "what is left of an identity may have its column's name";
}

TEST(SetDefaultPartitionSpec, RefusesOneThatIsNotThere) {
  EXPECT_THAT(Refused(Wide(), {SetDefaultPartitionSpec{PartitionSpecId{5}}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("spec 5 does not exist")));
  EXPECT_THAT(Refused(Wide(), {SetDefaultPartitionSpec{kLastAddedSpec}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("none was added")));
}

TEST(RemovePartitionSpecs, RefusesTheDefault) {
  const TableMetadata base = Applied(Wide(), {AddPartitionSpec{By(2, "day", "at_day")},
                                              AddPartitionSpec{By(2, "hour", "at_hour")}});
  EXPECT_THAT(Refused(base, {RemovePartitionSpecs{{PartitionSpecId{0}}}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("spec 0 is the default one")));
  const TableMetadata next =
      Applied(base, {RemovePartitionSpecs{{PartitionSpecId{2}, PartitionSpecId{8}}}});
  EXPECT_THAT(SpecIds(next), ElementsAre(PartitionSpecId{0}, PartitionSpecId{1}));
  EXPECT_EQ(next.last_partition_id, FieldId{1001}) << "it never shrinks";
}

TEST(AddSortOrder, GetsTheNextIdAndIsNotTheDefaultByItself) {
  const TableMetadata next =
      Applied(Wide(), {AddSortOrder{SortedBy(2)}, AddSortOrder{SortedBy(3, "bucket[4]")}});
  EXPECT_THAT(OrderIds(next), ElementsAre(SortOrderId{0}, SortOrderId{1}, SortOrderId{2}));
  EXPECT_EQ(next.default_sort_order_id, SortOrderId{0});
}

TEST(AddSortOrder, ThatIsThereAlreadyCountsAsAddedAndKeepsItsId) {
  const TableMetadata base = Applied(Wide(), {AddSortOrder{SortedBy(2)}, AddSortOrder{SortedBy(3)},
                                              SetDefaultSortOrder{kLastAddedSortOrder}});
  EXPECT_EQ(base.default_sort_order_id, SortOrderId{2});
  const TableMetadata next =
      Applied(base, {AddSortOrder{SortedBy(2)}, SetDefaultSortOrder{kLastAddedSortOrder}});
  EXPECT_EQ(next.sort_orders, base.sort_orders);
  EXPECT_EQ(next.default_sort_order_id, SortOrderId{1});
  SortOrder descending = SortedBy(2);
  descending.fields[0].direction = SortDirection::kDescending;
  EXPECT_THAT(OrderIds(Applied(base, {AddSortOrder{descending}})), SizeIs(4));
}

TEST(AddSortOrder, WithoutFieldsIsTheUnsortedOne) {
  TableMetadata base =
      Applied(Wide(), {AddSortOrder{SortedBy(2)}, SetDefaultSortOrder{kLastAddedSortOrder}});
  const std::vector<TableUpdate> unsort = {AddSortOrder{{.order_id = SortOrderId{9}}},
                                           SetDefaultSortOrder{kLastAddedSortOrder}};
  EXPECT_EQ(Applied(base, unsort).default_sort_order_id, SortOrderId{0});
  // A table that was sorted from its first day has no such order yet.
  base.sort_orders.erase(base.sort_orders.begin());
  const TableMetadata next = Applied(base, unsort);
  EXPECT_THAT(OrderIds(next), ElementsAre(SortOrderId{1}, SortOrderId{0}));
  EXPECT_EQ(next.default_sort_order(), SortOrder{});
}

TEST(AddSortOrder, RefusesFieldsThatCannotBeComputed) {
  EXPECT_THAT(Refused(Wide(), {AddSortOrder{SortedBy(99)}}),
              IsError(ErrorCode::kInvalidArgument,
                      HasSubstr("add sort order: sort field: its source column 99")));
  EXPECT_THAT(Refused(Wide(), {AddSortOrder{SortedBy(1, "day")}}),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(Refused(Wide(), {AddSortOrder{SortedBy(1, "zorder")}}),
              IsError(ErrorCode::kUnimplemented));
}

TEST(SetDefaultSortOrder, RefusesOneThatIsNotThere) {
  EXPECT_THAT(Refused(Wide(), {SetDefaultSortOrder{SortOrderId{5}}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("order 5 does not exist")));
  EXPECT_THAT(Refused(Wide(), {SetDefaultSortOrder{kLastAddedSortOrder}}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("none was added")));
}

}  // namespace
}  // namespace lake::iceberg
