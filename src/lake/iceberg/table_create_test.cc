#include "lake/iceberg/table_create.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_metadata_json.h"
#include "lake/iceberg/type.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr WallTime kNow{std::chrono::milliseconds(1'700'000'000'123)};

// Ids as a client may send them: from 0, depth first. id, location {lat, tags [element]}, at, m {key, value}
Schema ClientSchema() {
  return Schema::Make(
             {.schema_id = SchemaId{9},
              .fields =
                  {{.id = FieldId{0}, .name = "id", .required = true, .type = Type::Long()},
                   {.id = FieldId{1},
                    .name = "location",
                    .required = true,
                    .type = Type::Struct(
                        {{.id = FieldId{2}, .name = "lat", .required = true, .type = Type::Int()},
                         {.id = FieldId{3},
                          .name = "tags",
                          .type = Type::List(FieldId{4}, Type::String(), true)}})},
                   {.id = FieldId{5}, .name = "at", .type = Type::Timestamptz(), .doc = "when"},
                   {.id = FieldId{6},
                    .name = "m",
                    .type =
                        Type::Map(FieldId{7}, Type::String(), FieldId{8}, Type::Date(), false)}},
              .identifier_field_ids = {FieldId{2}, FieldId{0}},
              .unknown = {{"note", {"1"}}}})
      .value();
}

NewTable Draft() {
  return {.table_uuid = Uuid::Parse("9c12d441-03fe-4693-9a96-a0705ddf69c1").value(),
          .location = "s3://bucket/table",
          .schema = ClientSchema(),
          .properties = {{"owner", "me"}},
          .now = kNow};
}

PartitionField By(std::int32_t source, std::string transform, std::string name) {
  return {
      .source_ids = {FieldId{source}}, .name = std::move(name), .transform = std::move(transform)};
}

template <typename Change>
Result<TableMetadata> CreateWith(Change change) {
  NewTable draft = Draft();
  change(draft);
  return NewTableMetadata(draft);
}

TEST(AssignFreshIds, NumbersAStructsFieldsBeforeWhatIsInsideThem) {
  const Result<FreshIds> fresh = AssignFreshIds(ClientSchema(), FieldId{0});
  ASSERT_THAT(fresh, IsOk());
  std::map<std::string, FieldId> ids;
  for (const NestedField* field : fresh->schema.all_fields()) {
    ids[fresh->schema.FindName(field->id).value()] = field->id;
  }
  EXPECT_EQ(ids, (std::map<std::string, FieldId>{{"id", FieldId{1}},
                                                 {"location", FieldId{2}},
                                                 {"at", FieldId{3}},
                                                 {"m", FieldId{4}},
                                                 {"location.lat", FieldId{5}},
                                                 {"location.tags", FieldId{6}},
                                                 {"location.tags.element", FieldId{7}},
                                                 {"m.key", FieldId{8}},
                                                 {"m.value", FieldId{9}}}));
  EXPECT_EQ(fresh->new_ids.at(FieldId{0}), FieldId{1});
  EXPECT_EQ(fresh->new_ids.at(FieldId{8}), FieldId{9});
  EXPECT_THAT(fresh->schema.identifier_field_ids(), ElementsAre(FieldId{5}, FieldId{1}));
}

TEST(AssignFreshIds, ChangesNothingButIds) {
  const Schema schema = ClientSchema();
  const FreshIds up = AssignFreshIds(schema, FieldId{100}).value();
  EXPECT_EQ(up.schema.fields()[0].id, FieldId{101});
  EXPECT_EQ(up.schema.fields()[2].doc, "when");
  EXPECT_EQ(up.schema.schema_id(), SchemaId{9});
  EXPECT_EQ(up.schema.unknown(), schema.unknown());
  // Whichever ids it came with, the result is the same.
  EXPECT_EQ(AssignFreshIds(up.schema, FieldId{0}).value().schema,
            AssignFreshIds(schema, FieldId{0}).value().schema);
}

TEST(AssignFreshIds, RefusesToPassTheHighestId) {
  const Schema schema = ClientSchema();
  const FieldId last_possible{std::to_underlying(kFieldIdMax) - 9};
  EXPECT_THAT(AssignFreshIds(schema, last_possible), IsOk());
  EXPECT_THAT(AssignFreshIds(schema, FieldId{std::to_underlying(last_possible) + 1}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("highest field id")));
  EXPECT_THAT(AssignFreshIds(schema, FieldId{-1}), IsError(ErrorCode::kInvalidArgument));
}

TEST(NewTableMetadata, OfAPlainTableStartsFromNothing) {
  const Result<TableMetadata> created = NewTableMetadata(Draft());
  ASSERT_THAT(created, IsOk());
  EXPECT_EQ(created->format_version, 2);
  EXPECT_EQ(created->table_uuid, Draft().table_uuid);
  EXPECT_EQ(created->location, "s3://bucket/table");
  EXPECT_EQ(created->last_sequence_number, 0);
  EXPECT_EQ(created->last_updated, kNow);
  EXPECT_EQ(created->last_column_id, FieldId{9});
  EXPECT_EQ(created->current_schema().schema_id(), SchemaId{0});
  EXPECT_EQ(created->default_spec(), PartitionSpec{});
  EXPECT_EQ(created->last_partition_id, FieldId{999});
  EXPECT_EQ(created->default_sort_order(), SortOrder{});
  EXPECT_EQ(created->properties, (Properties{{"owner", "me"}}));
  EXPECT_EQ(created->current_snapshot_id, std::nullopt);
  EXPECT_THAT(created->snapshots, IsEmpty());
  EXPECT_THAT(created->refs, IsEmpty());
  EXPECT_THAT(created->metadata_log, IsEmpty());
  EXPECT_EQ(ParseTableMetadata(WriteTableMetadata(*created).value()).value(), *created);
}

TEST(NewTableMetadata, PartitionAndSortFieldsFollowTheirColumnsToTheirNewIds) {
  const Result<TableMetadata> created = CreateWith([](NewTable& draft) {
    draft.spec.fields = {By(5, "day", "at_day"), By(2, "bucket[16]", "lat_bucket"),
                         By(0, "identity", "id")};
    draft.spec.fields[0].field_id = FieldId{1};
    draft.sort_order.fields = {
        {.source_ids = {FieldId{5}}, .transform = "hour", .direction = SortDirection::kDescending}};
  });
  ASSERT_THAT(created, IsOk());
  const PartitionSpec& spec = created->default_spec();
  EXPECT_EQ(spec.spec_id, PartitionSpecId{0});
  EXPECT_THAT(spec.fields[0].source_ids, ElementsAre(FieldId{3}));
  EXPECT_EQ(spec.fields[0].field_id, FieldId{1000});
  EXPECT_THAT(spec.fields[1].source_ids, ElementsAre(FieldId{5}));
  EXPECT_EQ(spec.fields[2].field_id, FieldId{1002});
  EXPECT_EQ(created->last_partition_id, FieldId{1002});
  EXPECT_EQ(created->default_sort_order_id, SortOrderId{1});
  EXPECT_THAT(created->default_sort_order().fields[0].source_ids, ElementsAre(FieldId{3}));
}

TEST(NewTableMetadata, OfV3CountsRowsFromZero) {
  const Result<TableMetadata> created =
      CreateWith([](NewTable& draft) { draft.format_version = 3; });
  ASSERT_THAT(created, IsOk());
  EXPECT_EQ(created->next_row_id, 0);
}

TEST(NewTableMetadata, RefusesATableThatCannotBe) {
  EXPECT_THAT(CreateWith([](NewTable& d) { d.location.clear(); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("location")));
  EXPECT_THAT(CreateWith([](NewTable& d) { d.format_version = 4; }),
              IsError(ErrorCode::kUnimplemented));
  EXPECT_THAT(CreateWith([](NewTable& d) { d.properties["format-version"] = "2"; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("'format-version' is reserved")));
  EXPECT_THAT(
      CreateWith([](NewTable& d) {
        d.schema =
            Schema::Make({.fields = {{.id = FieldId{1}, .name = "", .type = Type::Int()}}}).value();
      }),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("no name")));
  EXPECT_THAT(
      CreateWith([](NewTable& d) {
        d.schema =
            Schema::Make({.fields = {{.id = FieldId{1}, .name = "t", .type = Type::TimestampNs()}}})
                .value();
      }),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("'t' (timestamp_ns) needs format version 3")));
}

TEST(NewTableMetadata, RefusesPartitionFieldsThatCannotBeComputed) {
  const auto with = [](PartitionField field) {
    return CreateWith([&](NewTable& draft) { draft.spec.fields = {std::move(field)}; });
  };
  EXPECT_THAT(with(By(77, "identity", "p")),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("column 77")));
  EXPECT_THAT(with(By(4, "identity", "p")),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("inside a list or map")));
  EXPECT_THAT(with(By(7, "identity", "p")),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("inside a list or map")));
  EXPECT_THAT(with(By(1, "identity", "p")),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("partition field 'p'")));
  EXPECT_THAT(with(By(0, "day", "p")), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(with(By(0, "bucket[0]", "p")), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(with(By(0, "zorder", "p")), IsError(ErrorCode::kUnimplemented));
  EXPECT_THAT(with(By(5, "day", "at")),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("a column has its name")));
  EXPECT_THAT(with(By(0, "identity", "at")),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("a column has its name")));
  EXPECT_THAT(with(By(0, "identity", "")), IsError(ErrorCode::kInvalidArgument, HasSubstr("name")));
  EXPECT_THAT(with({.source_ids = {FieldId{0}, FieldId{5}}, .name = "p", .transform = "bucket[2]"}),
              IsError(ErrorCode::kUnimplemented));
  EXPECT_THAT(
      CreateWith([](NewTable& d) { d.spec.fields = {By(0, "bucket[2]", "p"), By(5, "day", "p")}; }),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("used twice")));
  EXPECT_THAT(CreateWith([](NewTable& d) {
                d.sort_order.fields = {{.source_ids = {FieldId{77}}, .transform = "identity"}};
              }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("sort field")));
}

}  // namespace
}  // namespace lake::iceberg
