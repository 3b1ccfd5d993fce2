#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/iceberg/avro_codec.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/manifest_writer.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/type.h"
#include "lake/iceberg/value.h"
#include "lake/testing/seeded_random.h"

// What the tests of manifests share: a table with a column of every type that partitions, and files
// of it. For tests only.
namespace lake::iceberg {

inline constexpr SnapshotId kExampleSnapshot{3051729675574597004};

inline Schema ExampleSchema() {
  const std::vector<std::pair<std::string, Type>> columns = {
      {"flag", Type::Boolean()},      {"number", Type::Int()},   {"id", Type::Long()},
      {"ratio", Type::Float()},       {"score", Type::Double()}, {"price", Type::Decimal(9, 2)},
      {"day", Type::Date()},          {"clock", Type::Time()},   {"at", Type::Timestamp()},
      {"at_tz", Type::Timestamptz()}, {"name", Type::String()},  {"uid", Type::Uuid()},
      {"hash", Type::Fixed(3)},       {"blob", Type::Binary()},  {"huge", Type::Decimal(38, 0)},
      {"at_ns", Type::TimestampNs()},
  };
  Schema::Parts parts{.schema_id = SchemaId{7}};
  for (const auto& [name, type] : columns) {
    parts.fields.push_back({.id = FieldId{static_cast<std::int32_t>(parts.fields.size()) + 1},
                            .name = name,
                            .type = type});
  }
  return Schema::Make(std::move(parts)).value();
}

inline PartitionField ExamplePartitionField(std::int32_t source, std::int32_t id, std::string name,
                                            std::string transform) {
  return {.source_ids = {FieldId{source}},
          .field_id = FieldId{id},
          .name = std::move(name),
          .transform = std::move(transform)};
}

// Partitioned by the identity of every column, and by every transform.
inline PartitionSpec ExampleSpec() {
  PartitionSpec spec{.spec_id = PartitionSpecId{3}};
  std::int32_t id = kPartitionFieldIdFirst;
  const Schema schema = ExampleSchema();
  for (const NestedField& column : schema.fields()) {
    spec.fields.push_back(
        ExamplePartitionField(std::to_underlying(column.id), id++, column.name, "identity"));
  }
  spec.fields.push_back(ExamplePartitionField(3, id++, "id_bucket", "bucket[16]"));
  spec.fields.push_back(ExamplePartitionField(11, id++, "name trunc-4", "truncate[4]"));
  spec.fields.push_back(ExamplePartitionField(9, id++, "at_year", "year"));
  spec.fields.push_back(ExamplePartitionField(9, id++, "at_month", "month"));
  spec.fields.push_back(ExamplePartitionField(9, id++, "at_day", "day"));
  spec.fields.push_back(ExamplePartitionField(9, id++, "at_hour", "hour"));
  spec.fields.push_back(ExamplePartitionField(1, id++, "nothing", "void"));
  return spec;
}

inline std::vector<Value> ExamplePartition() {
  using namespace std::string_literals;
  return {true,
          std::int32_t{-7},
          std::int64_t{1} << 40,
          1.5F,
          -2.25,
          Decimal{-1420},
          std::int32_t{19'000},
          std::int64_t{81'068'000'000},
          std::int64_t{1'700'000'000'000'000},
          std::int64_t{-1},
          "h\u00e9llo",
          "0123456789abcdef"s,
          "\0\x80\xff"s,
          "\xff\0"s,
          Decimal{(Int128{1} << 126) - 1},
          std::int64_t{1'700'000'000'000'000'001},
          std::int32_t{5},
          "h\u00e9ll",
          std::int32_t{53},
          std::int32_t{646},
          std::int32_t{19'675},
          std::int32_t{472'222},
          Value()};
}

// An unpartitioned data file with all statistics.
inline DataFile ExampleDataFile(int number) {
  using namespace std::string_literals;
  return {.file_path = "file:///warehouse/data/" + std::to_string(number) + ".parquet",
          .record_count = 100 + number,
          .file_size_in_bytes = 4096,
          .column_sizes = {{FieldId{1}, 12}, {FieldId{3}, 800}, {FieldId{100}, 7}},
          .value_counts = {{FieldId{1}, 100}, {FieldId{3}, 100}},
          .null_value_counts = {{FieldId{1}, 0}, {FieldId{3}, 1}},
          .nan_value_counts = {{FieldId{5}, 2}},
          .lower_bounds = {{FieldId{1}, "\0"s}, {FieldId{11}, "a bound that is not short"}},
          .upper_bounds = {{FieldId{1}, "\1"}, {FieldId{11}, "another bound, longer still"}},
          .key_metadata = "\0key"s,
          .split_offsets = {4, 1 << 20},
          .sort_order_id = SortOrderId{1},
          .referenced_data_file = "file:///warehouse/data/other.parquet"};
}

inline ManifestEntry ExampleEntry(int number) {
  return {.status = ManifestEntryStatus::kAdded,
          .snapshot_id = kExampleSnapshot,
          .data_file = ExampleDataFile(number)};
}

inline ManifestWriter::Options ExampleOptions(std::int32_t format_version, PartitionSpec spec = {},
                                              ManifestContent content = ManifestContent::kData,
                                              AvroCodec codec = AvroCodec::kDeflate) {
  return {.format_version = format_version,
          .manifest_path = "file:///warehouse/metadata/m0.avro",
          .schema = ExampleSchema(),
          .partition_spec = std::move(spec),
          .content = content,
          .snapshot_id = kExampleSnapshot,
          .codec = codec};
}

inline ManifestWriter::Finished WriteExample(ManifestWriter::Options options,
                                             const std::vector<ManifestEntry>& entries) {
  lake::testing::SeededRandom random(1);
  auto writer = ManifestWriter::Make(std::move(options), random);
  EXPECT_TRUE(writer.has_value()) << writer.error().ToString();
  for (const ManifestEntry& entry : entries) {
    const Status appended = writer->Append(entry);
    EXPECT_TRUE(appended.has_value()) << appended.error().ToString();
  }
  return writer->Finish().value();
}

}  // namespace lake::iceberg
