#include "lake/iceberg/table_update_json.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/table_update.h"
#include "lake/iceberg/type.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;
using ::lake::testing::IsOkAnd;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Every update, and how clients send it.
std::vector<std::pair<TableUpdate, std::string>> Examples() {
  return {
      {AssignUuid{Uuid::Parse("9c12d441-03fe-4693-9a96-a0705ddf69c1").value()},
       R"({"action":"assign-uuid","uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1"})"},
      {UpgradeFormatVersion{2}, R"({"action":"upgrade-format-version","format-version":2})"},
      {AddSchema{Schema::Make({.schema_id = SchemaId{1},
                               .fields = {{.id = FieldId{1},
                                           .name = "id",
                                           .required = true,
                                           .type = Type::Long()}},
                               .identifier_field_ids = {FieldId{1}}})
                     .value()},
       R"({"action":"add-schema","schema":{"type":"struct","schema-id":1,"fields":)"
       R"([{"id":1,"name":"id","required":true,"type":"long"}],"identifier-field-ids":[1]}})"},
      {SetCurrentSchema{kLastAddedSchema}, R"({"action":"set-current-schema","schema-id":-1})"},
      {RemoveSchemas{{SchemaId{0}, SchemaId{2}}},
       R"({"action":"remove-schemas","schema-ids":[0,2]})"},
      {AddPartitionSpec{{.spec_id = PartitionSpecId{3},
                         .fields = {{.source_ids = {FieldId{1}},
                                     .field_id = FieldId{1000},
                                     .name = "b",
                                     .transform = "bucket[16]"}}}},
       R"({"action":"add-spec","spec":{"spec-id":3,"fields":)"
       R"([{"source-id":1,"field-id":1000,"name":"b","transform":"bucket[16]"}]}})"},
      {AddPartitionSpec{
           {.fields = {{.source_ids = {FieldId{1}}, .name = "b", .transform = "bucket[16]"}}}},
       R"({"action":"add-spec","spec":{"spec-id":0,"fields":)"
       R"([{"source-id":1,"name":"b","transform":"bucket[16]"}]}})"},
      {SetDefaultPartitionSpec{kLastAddedSpec}, R"({"action":"set-default-spec","spec-id":-1})"},
      {RemovePartitionSpecs{{PartitionSpecId{1}}},
       R"({"action":"remove-partition-specs","spec-ids":[1]})"},
      {AddSortOrder{{.order_id = SortOrderId{1},
                     .fields = {{.source_ids = {FieldId{1}},
                                 .transform = "identity",
                                 .direction = SortDirection::kDescending,
                                 .null_order = NullOrder::kNullsLast}}}},
       R"({"action":"add-sort-order","sort-order":{"order-id":1,"fields":[{"transform":"identity",)"
       R"("source-id":1,"direction":"desc","null-order":"nulls-last"}]}})"},
      {SetDefaultSortOrder{SortOrderId{1}},
       R"({"action":"set-default-sort-order","sort-order-id":1})"},
      {AddSnapshot{{.snapshot_id = SnapshotId{3051729675574597004},
                    .parent_snapshot_id = SnapshotId{7},
                    .sequence_number = 34,
                    .timestamp = WallTime(std::chrono::milliseconds(1573518431292)),
                    .manifest_list = "s3://a/b/snap.avro",
                    .summary = {{"operation", "append"}},
                    .schema_id = SchemaId{0}}},
       R"({"action":"add-snapshot","snapshot":{"snapshot-id":3051729675574597004,)"
       R"("parent-snapshot-id":7,"sequence-number":34,"timestamp-ms":1573518431292,)"
       R"("summary":{"operation":"append"},"manifest-list":"s3://a/b/snap.avro","schema-id":0}})"},
      {AddSnapshot{{.snapshot_id = SnapshotId{7}, .manifest_list = "of v1"}},
       R"({"action":"add-snapshot","snapshot":{"snapshot-id":7,"timestamp-ms":0,)"
       R"("manifest-list":"of v1"}})"},
      {RemoveSnapshots{{SnapshotId{3051729675574597004}}},
       R"({"action":"remove-snapshots","snapshot-ids":[3051729675574597004]})"},
      {SetSnapshotRef{.name = "main",
                      .ref = {.snapshot_id = SnapshotId{7},
                              .min_snapshots_to_keep = 3,
                              .max_snapshot_age = std::chrono::milliseconds(5),
                              .max_ref_age = std::chrono::milliseconds(6)}},
       R"({"action":"set-snapshot-ref","ref-name":"main","snapshot-id":7,"type":"branch",)"
       R"("min-snapshots-to-keep":3,"max-snapshot-age-ms":5,"max-ref-age-ms":6})"},
      {RemoveSnapshotRef{"old"}, R"({"action":"remove-snapshot-ref","ref-name":"old"})"},
      {SetLocation{"s3://a/b"}, R"({"action":"set-location","location":"s3://a/b"})"},
      {SetProperties{{{"a", "1"}, {"b", ""}}},
       R"({"action":"set-properties","updates":{"a":"1","b":""}})"},
      {RemoveProperties{{"a", "b"}}, R"({"action":"remove-properties","removals":["a","b"]})"},
      {SetStatistics{{.snapshot_id = SnapshotId{7},
                      .statistics_path = "s.puffin",
                      .file_size_in_bytes = 100,
                      .file_footer_size_in_bytes = 10}},
       R"({"action":"set-statistics","snapshot-id":7,"statistics":{"snapshot-id":7,)"
       R"("statistics-path":"s.puffin","file-size-in-bytes":100,"file-footer-size-in-bytes":10,)"
       R"("blob-metadata":[]}})"},
      {RemoveStatistics{SnapshotId{7}}, R"({"action":"remove-statistics","snapshot-id":7})"},
      {SetPartitionStatistics{{.snapshot_id = SnapshotId{7},
                               .statistics_path = "p.parquet",
                               .file_size_in_bytes = 100}},
       R"({"action":"set-partition-statistics","partition-statistics":{"snapshot-id":7,)"
       R"("statistics-path":"p.parquet","file-size-in-bytes":100}})"},
      {RemovePartitionStatistics{SnapshotId{7}},
       R"({"action":"remove-partition-statistics","snapshot-id":7})"},
      {AddEncryptionKey{{.key_id = "k", .encrypted_key_metadata = "AAAA"}},
       R"({"action":"add-encryption-key","encryption-key":{"key-id":"k",)"
       R"("encrypted-key-metadata":"AAAA"}})"},
      {RemoveEncryptionKey{"k"}, R"({"action":"remove-encryption-key","key-id":"k"})"},
  };
}

TEST(TableUpdateJson, OfEveryKindIsReadAndWritten) {
  std::vector<bool> seen(std::variant_size_v<TableUpdate>);
  std::vector<TableUpdate> all;
  for (const auto& [update, text] : Examples()) {
    const Result<std::vector<TableUpdate>> read = ParseTableUpdates("[" + text + "]");
    ASSERT_THAT(read, IsOk()) << text;
    EXPECT_EQ(*read, std::vector{update}) << text;
    EXPECT_EQ(WriteTableUpdates({update}), "[" + text + "]");
    seen[update.index()] = true;
    all.push_back(update);
  }
  EXPECT_EQ(seen, std::vector<bool>(seen.size(), true));
  EXPECT_THAT(ParseTableUpdates(WriteTableUpdates(all)), IsOkAnd(all));
  EXPECT_THAT(ParseTableUpdates("[]"), IsOkAnd(SizeIs(0)));
}

TEST(TableUpdateJson, OfAnUnknownActionIsRefusedAndNotIgnored) {
  EXPECT_THAT(
      ParseTableUpdates(
          R"([{"action":"set-location","location":"x"},{"action":"add-view-version"}])"),
      IsError(ErrorCode::kInvalidArgument, "updates[1]: unknown table update 'add-view-version'"));
  EXPECT_THAT(ParseTableUpdates("[{}]"),
              IsError(ErrorCode::kInvalidArgument, "updates[0]: member 'action' is missing"));
}

// Each example without one of its members, or with one of another type, is refused; what may be left
// out is listed.
TEST(TableUpdateJson, NamesTheMemberThatIsMissingOrWrong) {
  const auto fails_with = [](std::string_view object, const std::string& what) {
    EXPECT_THAT(ParseTableUpdates("[" + std::string(object) + "]"),
                IsError(ErrorCode::kInvalidArgument, HasSubstr(what)))
        << object;
  };
  fails_with(R"({"action":"assign-uuid"})", "assign-uuid: member 'uuid' is missing");
  fails_with(R"({"action":"assign-uuid","uuid":"no"})", "member 'uuid'");
  fails_with(R"({"action":"upgrade-format-version"})", "member 'format-version' is missing");
  fails_with(R"({"action":"upgrade-format-version","format-version":"2"})",
             "member 'format-version' is not");
  fails_with(R"({"action":"add-schema"})", "member 'schema' is missing");
  fails_with(R"({"action":"add-schema","schema":[]})", "member 'schema' is not");
  fails_with(R"({"action":"add-schema","schema":{"type":"struct"}})",
             "add-schema: schema: member 'fields' is missing");
  fails_with(R"({"action":"set-current-schema"})", "member 'schema-id' is missing");
  fails_with(R"({"action":"remove-schemas"})", "member 'schema-ids' is missing");
  fails_with(R"({"action":"remove-schemas","schema-ids":[4294967296]})", "member 'schema-ids'");
  fails_with(R"({"action":"add-spec"})", "member 'spec' is missing");
  fails_with(R"({"action":"add-spec","spec":{}})", "add-spec: spec: member 'fields' is missing");
  fails_with(R"({"action":"add-spec","spec":{"fields":[1]}})", "fields[0]");
  fails_with(R"({"action":"add-spec","spec":{"fields":[{"source-id":1,"name":"a"}]}})",
             "member 'transform' is missing");
  fails_with(R"({"action":"add-spec","spec":{"fields":[)"
             R"({"source-id":1,"name":"a","transform":"identity","field-id":1000},)"
             R"({"source-id":2,"name":"b","transform":"identity"}]}})",
             "'field-id' is missing from some");
  fails_with(R"({"action":"set-default-spec"})", "member 'spec-id' is missing");
  fails_with(R"({"action":"remove-partition-specs","spec-ids":"1"})", "member 'spec-ids' is not");
  fails_with(R"({"action":"add-sort-order"})", "member 'sort-order' is missing");
  fails_with(R"({"action":"add-sort-order","sort-order":{"fields":[]}})",
             "member 'order-id' is missing");
  fails_with(R"({"action":"set-default-sort-order"})", "member 'sort-order-id' is missing");
  fails_with(R"({"action":"add-snapshot"})", "member 'snapshot' is missing");
  fails_with(R"({"action":"add-snapshot","snapshot":{"timestamp-ms":1}})",
             "add-snapshot: snapshot: member 'snapshot-id' is missing");
  fails_with(R"({"action":"remove-snapshots"})", "member 'snapshot-ids' is missing");
  fails_with(R"({"action":"remove-snapshots","snapshot-ids":[9223372036854775808]})",
             "member 'snapshot-ids' holds something that is not a 64-bit integer");
  fails_with(R"({"action":"set-snapshot-ref","snapshot-id":7,"type":"branch"})",
             "member 'ref-name' is missing");
  fails_with(R"({"action":"set-snapshot-ref","ref-name":"a","type":"branch"})",
             "member 'snapshot-id' is missing");
  fails_with(R"({"action":"set-snapshot-ref","ref-name":"a","snapshot-id":7,"type":"bush"})",
             "member 'type' is 'bush'");
  fails_with(R"({"action":"remove-snapshot-ref"})", "member 'ref-name' is missing");
  fails_with(R"({"action":"set-location","location":null})", "member 'location' is missing");
  fails_with(R"({"action":"set-properties"})", "member 'updates' is missing");
  fails_with(R"({"action":"set-properties","updates":{"a":1}})", "the value of 'a'");
  fails_with(R"({"action":"remove-properties"})", "member 'removals' is missing");
  fails_with(R"({"action":"remove-properties","removals":[1]})", "member 'removals' holds");
  fails_with(R"({"action":"set-statistics","snapshot-id":7})", "member 'statistics' is missing");
  fails_with(R"({"action":"remove-statistics"})", "member 'snapshot-id' is missing");
  fails_with(R"({"action":"set-partition-statistics"})",
             "member 'partition-statistics' is missing");
  fails_with(R"({"action":"remove-partition-statistics"})", "member 'snapshot-id' is missing");
  fails_with(R"({"action":"add-encryption-key"})", "member 'encryption-key' is missing");
  fails_with(R"({"action":"remove-encryption-key"})", "member 'key-id' is missing");
}

TEST(TableUpdateJson, ReadsTheOlderNamesOfPropertyChanges) {
  EXPECT_THAT(
      ParseTableUpdates(R"([{"action":"set-properties","updated":{"a":"1"}},)"
                        R"({"action":"remove-properties","removed":["b"]}])"),
      IsOkAnd(std::vector<TableUpdate>{SetProperties{{{"a", "1"}}}, RemoveProperties{{"b"}}}));
  EXPECT_THAT(
      ParseTableUpdates(R"([{"action":"set-properties","updated":{"a":"1"},"updates":{"a":"2"}}])"),
      IsOkAnd(std::vector<TableUpdate>{SetProperties{{{"a", "2"}}}}));
}

TEST(TableUpdateJson, OfASpecNeedsNoIds) {
  const Result<std::vector<TableUpdate>> read =
      ParseTableUpdates(R"([{"action":"add-spec","spec":{"fields":[)"
                        R"({"source-id":1,"name":"a","transform":"identity","field-id":null},)"
                        R"({"source-id":2,"name":"b","transform":"identity"}]}}])");
  ASSERT_THAT(read, IsOk());
  const auto& add = std::get<AddPartitionSpec>(read->front());
  EXPECT_EQ(add.spec.fields[0].field_id, FieldId{0});
  EXPECT_EQ(add.spec.fields[1].field_id, FieldId{0});
}

TEST(TableUpdateJson, PassesOverWhatIsDeprecatedUnlessItContradicts) {
  EXPECT_THAT(ParseTableUpdates(R"([{"action":"add-schema","last-column-id":44,)"
                                R"("schema":{"type":"struct","fields":[]}}])"),
              IsOkAnd(std::vector<TableUpdate>{AddSchema{}}));
  EXPECT_THAT(ParseTableUpdates(R"([{"action":"set-statistics","snapshot-id":8,"statistics":)"
                                R"({"snapshot-id":7,"statistics-path":"s","file-size-in-bytes":1,)"
                                R"("file-footer-size-in-bytes":1,"blob-metadata":[]}}])"),
              IsError(ErrorCode::kInvalidArgument,
                      HasSubstr("member 'snapshot-id' is 8, and that of 'statistics' is 7")));
}

TEST(TableUpdateJson, KeepsWhatItDoesNotKnowOfTheTablesParts) {
  for (const std::string text :
       {R"([{"action":"set-snapshot-ref","ref-name":"a","snapshot-id":7,"type":"tag","new":[1]}])",
        R"([{"action":"add-snapshot","snapshot":{"snapshot-id":7,"timestamp-ms":0,)"
        R"("manifest-list":"m","new":{"x":1}}}])"}) {
    EXPECT_EQ(WriteTableUpdates(ParseTableUpdates(text).value()), text);
  }
}

TEST(TableUpdateJson, ThatIsNoListOfObjectsIsRefused) {
  EXPECT_THAT(ParseTableUpdates("{}"),
              IsError(ErrorCode::kInvalidArgument, "updates: not a JSON array"));
  EXPECT_THAT(ParseTableUpdates("[null]"),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("updates[0]")));
  EXPECT_THAT(ParseTableUpdates("["), IsError(ErrorCode::kInvalidArgument, HasSubstr("updates")));
}

}  // namespace
}  // namespace lake::iceberg
