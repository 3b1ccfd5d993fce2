#include "lake/iceberg/manifest_writer.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/iceberg/avro_container.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/manifest_examples_internal.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/partition_spec_json.h"
#include "lake/iceberg/schema_json.h"
#include "lake/iceberg/value.h"
#include "lake/testing/matchers.h"
#include "lake/testing/seeded_random.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;
using ::lake::testing::SeededRandom;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

namespace bj = boost::json;
using namespace std::string_literals;

bj::value Json(std::string_view text) {
  return json::Parse(text).value();
}

// Finds the field of a record schema by id.
const bj::value& FieldOf(const bj::value& record, std::int32_t id) {
  for (const bj::value& field : record.at("fields").as_array()) {
    if (field.at("field-id").as_int64() == id) {
      return field;
    }
  }
  throw std::out_of_range("no field " + std::to_string(id));
}

bj::value AvroSchemaOf(const ManifestWriter::Finished& finished) {
  const auto container = AvroContainerReader::Open(finished.file);
  EXPECT_THAT(container, IsOk());
  return Json(container->schema());
}

TEST(ManifestWriter, WritesTheHeaderOfTheSpecification) {
  const auto finished = WriteExample(ExampleOptions(2), {ExampleEntry(1)});
  const auto container = AvroContainerReader::Open(finished.file);
  ASSERT_THAT(container, IsOk());
  EXPECT_THAT(
      container->metadata(),
      UnorderedElementsAre(Pair("schema", WriteSchema(ExampleSchema())), Pair("schema-id", "7"),
                           Pair("partition-spec", "[]"), Pair("partition-spec-id", "0"),
                           Pair("format-version", "2"), Pair("content", "data"),
                           Pair("avro.codec", "deflate"), Pair("avro.schema", ::testing::_)));
}

TEST(ManifestWriter, WritesFieldIdsAndLogicalTypesIntoTheSchema) {
  ManifestEntry entry = ExampleEntry(1);
  entry.data_file.partition = ExamplePartition();
  const bj::value schema = AvroSchemaOf(WriteExample(ExampleOptions(2, ExampleSpec()), {entry}));
  EXPECT_EQ(schema.at("name"), "manifest_entry");
  EXPECT_EQ(FieldOf(schema, 0), Json(R"({"name": "status", "type": "int", "field-id": 0})"));
  EXPECT_EQ(FieldOf(schema, 1), Json(R"({"name": "snapshot_id", "type": ["null", "long"],
                                               "default": null, "field-id": 1})"));
  const bj::value& data_file = FieldOf(schema, 2).at("type");
  EXPECT_EQ(data_file.at("name"), "r2");
  EXPECT_EQ(FieldOf(data_file, 125), Json(R"({
      "name": "lower_bounds", "type": ["null", {"type": "array", "logicalType": "map", "items":
        {"type": "record", "name": "k126_v127", "fields": [
          {"name": "key", "type": "int", "field-id": 126},
          {"name": "value", "type": "bytes", "field-id": 127}]}}],
      "default": null, "field-id": 125})"));
  EXPECT_EQ(FieldOf(data_file, 132), Json(R"({
      "name": "split_offsets", "type": ["null",
        {"type": "array", "items": "long", "element-id": 133}], "default": null, "field-id": 132})"));
  const bj::value& partition = FieldOf(data_file, 102).at("type");
  EXPECT_EQ(partition.at("name"), "r102");
  EXPECT_EQ(FieldOf(partition, 1005), Json(R"({
      "name": "price", "type": ["null", {"type": "fixed", "name": "decimal_9_2_1005", "size": 4,
        "logicalType": "decimal", "precision": 9, "scale": 2}], "default": null,
      "field-id": 1005})"));
  EXPECT_EQ(FieldOf(partition, 1009), Json(R"({
      "name": "at_tz", "type": ["null", {"type": "long", "logicalType": "timestamp-micros",
        "adjust-to-utc": true}], "default": null, "field-id": 1009})"));
  EXPECT_EQ(FieldOf(partition, 1011), Json(R"({
      "name": "uid", "type": ["null", {"type": "fixed", "name": "uuid_fixed_1011", "size": 16,
        "logicalType": "uuid"}], "default": null, "field-id": 1011})"));
  // A name that is no identifier is made one, and kept beside.
  EXPECT_EQ(FieldOf(partition, 1017), Json(R"({
      "name": "name_x20trunc_x2D4", "type": ["null", "string"], "default": null,
      "field-id": 1017, "iceberg-field-name": "name trunc-4"})"));
}

TEST(ManifestWriter, WritesRowLineageOnlyInVersion3) {
  const bj::value v2 = AvroSchemaOf(WriteExample(ExampleOptions(2), {ExampleEntry(1)}));
  EXPECT_THROW(FieldOf(FieldOf(v2, 2).at("type"), 142), std::out_of_range);
  const bj::value v3 = AvroSchemaOf(WriteExample(ExampleOptions(3), {ExampleEntry(1)}));
  EXPECT_EQ(FieldOf(FieldOf(v3, 2).at("type"), 142).at("name"), "first_row_id");
}

TEST(ManifestWriter, CountsFilesAndRowsByStatus) {
  std::vector<ManifestEntry> entries;
  for (int i = 0; i < 6; ++i) {
    ManifestEntry& entry = entries.emplace_back(ExampleEntry(i));
    entry.status = i < 3   ? ManifestEntryStatus::kAdded
                   : i < 5 ? ManifestEntryStatus::kExisting
                           : ManifestEntryStatus::kDeleted;
    if (i >= 3) {
      entry.sequence_number = 20 - i;
      entry.file_sequence_number = 20 - i;
    }
  }
  const auto finished = WriteExample(ExampleOptions(2), entries);
  const ManifestFile& manifest = finished.manifest;
  EXPECT_EQ(manifest.manifest_path, "file:///warehouse/metadata/m0.avro");
  EXPECT_EQ(manifest.manifest_length, std::ssize(finished.file));
  EXPECT_EQ(manifest.content, ManifestContent::kData);
  EXPECT_EQ(manifest.added_snapshot_id, kExampleSnapshot);
  EXPECT_THAT(manifest.added_files_count, Optional(3));
  EXPECT_THAT(manifest.existing_files_count, Optional(2));
  EXPECT_THAT(manifest.deleted_files_count, Optional(1));
  EXPECT_THAT(manifest.added_rows_count, Optional(100 + 101 + 102));
  EXPECT_THAT(manifest.existing_rows_count, Optional(103 + 104));
  EXPECT_THAT(manifest.deleted_rows_count, Optional(105));
  // Of the live ones; the deleted one has 15.
  EXPECT_THAT(manifest.min_sequence_number, Optional(16));
  EXPECT_THAT(manifest.sequence_number, Eq(std::nullopt));
  EXPECT_THAT(manifest.first_row_id, Eq(std::nullopt));
  EXPECT_TRUE(manifest.partitions.empty());
}

TEST(ManifestWriter, LeavesTheMinimumSequenceNumberToTheListWhenAllInherit) {
  EXPECT_THAT(WriteExample(ExampleOptions(2), {ExampleEntry(1)}).manifest.min_sequence_number,
              Eq(std::nullopt));
}

TEST(ManifestWriter, SummarisesPartitions) {
  PartitionSpec spec;
  spec.fields = {ExamplePartitionField(2, 1000, "number", "identity"),
                 ExamplePartitionField(5, 1001, "score", "identity"),
                 ExamplePartitionField(11, 1002, "name", "identity")};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<ManifestEntry> entries;
  for (const std::vector<Value>& partition : {std::vector<Value>{std::int32_t{5}, nan, Value()},
                                              {std::int32_t{-1}, 0.0, Value()},
                                              {Value(), -0.0, Value()}}) {
    entries.push_back(ExampleEntry(1));
    entries.back().data_file.partition = partition;
  }
  const auto finished = WriteExample(ExampleOptions(2, spec), entries);
  EXPECT_THAT(finished.manifest.partitions,
              ElementsAre(FieldSummary{.contains_null = true,
                                       .contains_nan = false,
                                       .lower_bound = "\xff\xff\xff\xff",
                                       .upper_bound = "\5\0\0\0"s},
                          FieldSummary{.contains_null = false,
                                       .contains_nan = true,
                                       .lower_bound = "\0\0\0\0\0\0\0\x80"s,
                                       .upper_bound = "\0\0\0\0\0\0\0\0"s},
                          FieldSummary{.contains_null = true, .contains_nan = false}));
}

TEST(ManifestWriter, RefusesEntriesThatBreakTheSpecification) {
  struct Case {
    std::string_view what;
    std::function<void(ManifestEntry&)> break_it;
  };

  const std::vector<Case> cases = {
      {"file_path", [](ManifestEntry& entry) { entry.data_file.file_path = ""; }},
      {"file_path", [](ManifestEntry& entry) { entry.data_file.file_path = "\xff"; }},
      {"referenced_data_file",
       [](ManifestEntry& entry) { entry.data_file.referenced_data_file = "\xff"; }},
      {"record_count", [](ManifestEntry& entry) { entry.data_file.record_count = -1; }},
      {"file_size_in_bytes", [](ManifestEntry& entry) { entry.data_file.file_size_in_bytes = -1; }},
      {"manifests of their own",
       [](ManifestEntry& entry) { entry.data_file.content = FileContent::kPositionDeletes; }},
      {"equality_ids", [](ManifestEntry& entry) { entry.data_file.equality_ids = {FieldId{1}}; }},
      {"first_row_id", [](ManifestEntry& entry) { entry.data_file.first_row_id = 1; }},
      {"content_offset", [](ManifestEntry& entry) { entry.data_file.content_offset = 1; }},
      {"content_size", [](ManifestEntry& entry) { entry.data_file.content_size_in_bytes = 1; }},
      {"partition has 0 values", [](ManifestEntry& entry) { entry.data_file.partition.clear(); }},
      {"'name'", [](ManifestEntry& entry) { entry.data_file.partition[0] = std::int32_t{1}; }},
      {"'name'", [](ManifestEntry& entry) { entry.data_file.partition[0] = "\xff"; }},
      {"'hash'", [](ManifestEntry& entry) { entry.data_file.partition[1] = "ab"; }},
      {"sequence number",
       [](ManifestEntry& entry) { entry.status = ManifestEntryStatus::kExisting; }},
      {"sequence number",
       [](ManifestEntry& entry) { entry.status = ManifestEntryStatus::kDeleted; }},
      {"another snapshot", [](ManifestEntry& entry) { entry.snapshot_id = SnapshotId{1}; }},
  };
  PartitionSpec spec;
  spec.fields = {ExamplePartitionField(11, 1000, "name", "identity"),
                 ExamplePartitionField(13, 1001, "hash", "identity")};
  SeededRandom random(1);
  auto writer = ManifestWriter::Make(ExampleOptions(2, spec), random);
  ASSERT_THAT(writer, IsOk());
  ManifestEntry good = ExampleEntry(1);
  good.data_file.partition = {"x", "abc"};
  for (const Case& test : cases) {
    ManifestEntry bad = good;
    test.break_it(bad);
    EXPECT_THAT(writer->Append(bad),
                IsError(ErrorCode::kInvalidArgument, HasSubstr(std::string(test.what))));
  }
  // None of them left a trace.
  EXPECT_THAT(writer->Append(good), IsOk());
  const auto finished = writer->Finish();
  ASSERT_THAT(finished, IsOk());
  EXPECT_THAT(finished->manifest.added_files_count, Optional(1));
  EXPECT_THAT(finished->manifest.existing_files_count, Optional(0));
}

TEST(ManifestWriter, WantsEqualityIdsForEqualityDeletes) {
  SeededRandom random(1);
  auto writer = ManifestWriter::Make(ExampleOptions(2, {}, ManifestContent::kDeletes), random);
  ASSERT_THAT(writer, IsOk());
  ManifestEntry entry = ExampleEntry(1);
  EXPECT_THAT(writer->Append(entry), IsError(ErrorCode::kInvalidArgument, HasSubstr("their own")));
  entry.data_file.content = FileContent::kEqualityDeletes;
  EXPECT_THAT(writer->Append(entry),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("equality_ids")));
  entry.data_file.equality_ids = {FieldId{1}};
  EXPECT_THAT(writer->Append(entry), IsOk());
}

TEST(ManifestWriter, RefusesAManifestWithoutEntries) {
  SeededRandom random(1);
  auto writer = ManifestWriter::Make(ExampleOptions(2), random);
  ASSERT_THAT(writer, IsOk());
  EXPECT_THAT(writer->Finish(), IsError(ErrorCode::kInvalidArgument, HasSubstr("m0.avro")));
}

TEST(ManifestWriter, RefusesSpecsAndVersionsItCannotWrite) {
  SeededRandom random(1);
  PartitionSpec spec;
  spec.fields = {ExamplePartitionField(2, 1000, "curve", "zorder")};
  EXPECT_THAT(ManifestWriter::Make(ExampleOptions(2, spec), random),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("curve")));
  spec.fields = {ExamplePartitionField(77, 1000, "gone", "identity")};
  EXPECT_THAT(ManifestWriter::Make(ExampleOptions(2, spec), random),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("gone")));
  EXPECT_THAT(ManifestWriter::Make(ExampleOptions(1), random),
              IsError(ErrorCode::kUnimplemented, HasSubstr("upgrade")));
  EXPECT_THAT(ManifestWriter::Make(ExampleOptions(4), random), IsError(ErrorCode::kUnimplemented));
}

}  // namespace
}  // namespace lake::iceberg
