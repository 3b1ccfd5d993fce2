#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/iceberg/manifest_fields_internal.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/type.h"
#include "lake/iceberg/value.h"

namespace lake::iceberg {
namespace {

namespace bj = boost::json;

using Field = ManifestField;
using Shape = ManifestShape;

constexpr ManifestFieldSpec kManifestEntryFields[] = {
    {.field = Field::kStatus,
     .name = "status",
     .shape = Shape::kInt,
     .required_to_write = true,
     .required_to_read = true},
    {.field = Field::kSnapshotId, .name = "snapshot_id", .shape = Shape::kLong},
    {.field = Field::kSequenceNumber, .name = "sequence_number", .shape = Shape::kLong},
    {.field = Field::kFileSequenceNumber, .name = "file_sequence_number", .shape = Shape::kLong},
    {.field = Field::kDataFile,
     .name = "data_file",
     .shape = Shape::kRecord,
     .required_to_write = true,
     .required_to_read = true},
};

constexpr ManifestFieldSpec kDataFileFields[] = {
    {.field = Field::kContent, .name = "content", .shape = Shape::kInt, .required_to_write = true},
    {.field = Field::kFilePath,
     .name = "file_path",
     .shape = Shape::kString,
     .required_to_write = true,
     .required_to_read = true},
    {.field = Field::kFileFormat,
     .name = "file_format",
     .shape = Shape::kString,
     .required_to_write = true,
     .required_to_read = true},
    {.field = Field::kPartition,
     .name = "partition",
     .shape = Shape::kRecord,
     .required_to_write = true},
    {.field = Field::kRecordCount,
     .name = "record_count",
     .shape = Shape::kLong,
     .required_to_write = true,
     .required_to_read = true},
    {.field = Field::kFileSizeInBytes,
     .name = "file_size_in_bytes",
     .shape = Shape::kLong,
     .required_to_write = true,
     .required_to_read = true},
    {.field = Field::kColumnSizes,
     .name = "column_sizes",
     .shape = Shape::kLongMap,
     .inner_id = 117,
     .value_id = 118},
    {.field = Field::kValueCounts,
     .name = "value_counts",
     .shape = Shape::kLongMap,
     .inner_id = 119,
     .value_id = 120},
    {.field = Field::kNullValueCounts,
     .name = "null_value_counts",
     .shape = Shape::kLongMap,
     .inner_id = 121,
     .value_id = 122},
    {.field = Field::kNanValueCounts,
     .name = "nan_value_counts",
     .shape = Shape::kLongMap,
     .inner_id = 138,
     .value_id = 139},
    {.field = Field::kLowerBounds,
     .name = "lower_bounds",
     .shape = Shape::kBytesMap,
     .inner_id = 126,
     .value_id = 127},
    {.field = Field::kUpperBounds,
     .name = "upper_bounds",
     .shape = Shape::kBytesMap,
     .inner_id = 129,
     .value_id = 130},
    {.field = Field::kKeyMetadata, .name = "key_metadata", .shape = Shape::kBytes},
    {.field = Field::kSplitOffsets,
     .name = "split_offsets",
     .shape = Shape::kLongList,
     .inner_id = 133},
    {.field = Field::kEqualityIds,
     .name = "equality_ids",
     .shape = Shape::kIntList,
     .inner_id = 136},
    {.field = Field::kSortOrderId, .name = "sort_order_id", .shape = Shape::kInt},
    {.field = Field::kFirstRowId, .name = "first_row_id", .shape = Shape::kLong, .version_min = 3},
    {.field = Field::kReferencedDataFile, .name = "referenced_data_file", .shape = Shape::kString},
    {.field = Field::kContentOffset,
     .name = "content_offset",
     .shape = Shape::kLong,
     .version_min = 3},
    {.field = Field::kContentSizeInBytes,
     .name = "content_size_in_bytes",
     .shape = Shape::kLong,
     .version_min = 3},
};

constexpr ManifestFieldSpec kManifestFileFields[] = {
    {.field = Field::kManifestPath,
     .name = "manifest_path",
     .shape = Shape::kString,
     .required_to_write = true,
     .required_to_read = true},
    {.field = Field::kManifestLength,
     .name = "manifest_length",
     .shape = Shape::kLong,
     .required_to_write = true,
     .required_to_read = true},
    {.field = Field::kPartitionSpecId,
     .name = "partition_spec_id",
     .shape = Shape::kInt,
     .required_to_write = true,
     .required_to_read = true},
    {.field = Field::kManifestContent,
     .name = "content",
     .shape = Shape::kInt,
     .required_to_write = true},
    {.field = Field::kManifestSequenceNumber,
     .name = "sequence_number",
     .shape = Shape::kLong,
     .required_to_write = true},
    {.field = Field::kMinSequenceNumber,
     .name = "min_sequence_number",
     .shape = Shape::kLong,
     .required_to_write = true},
    {.field = Field::kAddedSnapshotId,
     .name = "added_snapshot_id",
     .shape = Shape::kLong,
     .required_to_write = true,
     .required_to_read = true},
    {.field = Field::kAddedFilesCount,
     .name = "added_files_count",
     .shape = Shape::kInt,
     .required_to_write = true},
    {.field = Field::kExistingFilesCount,
     .name = "existing_files_count",
     .shape = Shape::kInt,
     .required_to_write = true},
    {.field = Field::kDeletedFilesCount,
     .name = "deleted_files_count",
     .shape = Shape::kInt,
     .required_to_write = true},
    {.field = Field::kAddedRowsCount,
     .name = "added_rows_count",
     .shape = Shape::kLong,
     .required_to_write = true},
    {.field = Field::kExistingRowsCount,
     .name = "existing_rows_count",
     .shape = Shape::kLong,
     .required_to_write = true},
    {.field = Field::kDeletedRowsCount,
     .name = "deleted_rows_count",
     .shape = Shape::kLong,
     .required_to_write = true},
    {.field = Field::kPartitions,
     .name = "partitions",
     .shape = Shape::kRecordList,
     .inner_id = 508},
    {.field = Field::kManifestKeyMetadata, .name = "key_metadata", .shape = Shape::kBytes},
    {.field = Field::kManifestFirstRowId,
     .name = "first_row_id",
     .shape = Shape::kLong,
     .version_min = 3},
};

constexpr ManifestFieldSpec kFieldSummaryFields[] = {
    {.field = Field::kContainsNull,
     .name = "contains_null",
     .shape = Shape::kBoolean,
     .required_to_write = true,
     .required_to_read = true},
    {.field = Field::kContainsNan, .name = "contains_nan", .shape = Shape::kBoolean},
    {.field = Field::kSummaryLowerBound, .name = "lower_bound", .shape = Shape::kBytes},
    {.field = Field::kSummaryUpperBound, .name = "upper_bound", .shape = Shape::kBytes},
};

bj::string_view View(std::string_view text) {
  return {text.data(), text.size()};
}

bj::object Record(std::string_view name, bj::array fields) {
  return {{"type", "record"}, {"name", View(name)}, {"fields", std::move(fields)}};
}

bj::object RecordField(std::string_view name, std::int32_t id, bj::value type) {
  return {{"name", View(name)}, {"type", std::move(type)}, {"field-id", id}};
}

bj::object OptionalField(std::string_view name, std::int32_t id, bj::value type) {
  return {{"name", View(name)},
          {"type", bj::array{"null", std::move(type)}},
          {"default", nullptr},
          {"field-id", id}};
}

// A map with keys that are no strings is an array of key-value records, with the record name the
// reference implementation gives it.
bj::object Map(std::int32_t key_id, std::int32_t value_id, std::string_view value_type) {
  return {{"type", "array"},
          {"logicalType", "map"},
          {"items", Record(fmt::format("k{}_v{}", key_id, value_id),
                           {RecordField("key", key_id, "int"),
                            RecordField("value", value_id, View(value_type))})}};
}

bj::object List(std::int32_t element_id, bj::value element) {
  return {{"type", "array"}, {"items", std::move(element)}, {"element-id", element_id}};
}

// Writes the fields of a record. `record` gives the schema of the records inside.
template <typename RecordOf>
bj::array Fields(std::span<const ManifestFieldSpec> specs, std::int32_t format_version,
                 RecordOf record) {
  bj::array fields;
  for (const ManifestFieldSpec& spec : specs) {
    if (spec.version_min > format_version) {
      continue;
    }
    bj::value type;
    switch (spec.shape) {
      case Shape::kBoolean:
        type = "boolean";
        break;
      case Shape::kInt:
        type = "int";
        break;
      case Shape::kLong:
        type = "long";
        break;
      case Shape::kString:
        type = "string";
        break;
      case Shape::kBytes:
        type = "bytes";
        break;
      case Shape::kLongMap:
        type = Map(spec.inner_id, spec.value_id, "long");
        break;
      case Shape::kBytesMap:
        type = Map(spec.inner_id, spec.value_id, "bytes");
        break;
      case Shape::kLongList:
        type = List(spec.inner_id, "long");
        break;
      case Shape::kIntList:
        type = List(spec.inner_id, "int");
        break;
      case Shape::kRecord:
        type = record(spec.field);
        break;
      case Shape::kRecordList:
        type = List(spec.inner_id, record(spec.field));
        break;
    }
    const auto id = std::to_underlying(spec.field);
    fields.emplace_back(spec.required_to_write ? RecordField(spec.name, id, std::move(type))
                                               : OptionalField(spec.name, id, std::move(type)));
  }
  return fields;
}

bj::object Logical(std::string_view type, std::string_view logical) {
  return {{"type", View(type)}, {"logicalType", View(logical)}};
}

bj::object TimestampType(std::string_view logical, bool adjust_to_utc) {
  bj::object type = Logical("long", logical);
  type["adjust-to-utc"] = adjust_to_utc;
  return type;
}

// The names of fixed types carry the field's id, because a name may be defined only once and not
// every client understands references to it.
Result<bj::value> AvroTypeOf(const NestedField& field) {
  const auto id = std::to_underlying(field.id);
  switch (field.type.kind()) {
    case TypeKind::kBoolean:
      return "boolean";
    case TypeKind::kInt:
      return "int";
    case TypeKind::kLong:
      return "long";
    case TypeKind::kFloat:
      return "float";
    case TypeKind::kDouble:
      return "double";
    case TypeKind::kDate:
      return Logical("int", "date");
    case TypeKind::kTime:
      return Logical("long", "time-micros");
    case TypeKind::kTimestamp:
      return TimestampType("timestamp-micros", false);
    case TypeKind::kTimestamptz:
      return TimestampType("timestamp-micros", true);
    case TypeKind::kTimestampNs:
      return TimestampType("timestamp-nanos", false);
    case TypeKind::kTimestamptzNs:
      return TimestampType("timestamp-nanos", true);
    case TypeKind::kString:
      return "string";
    case TypeKind::kBinary:
      return "bytes";
    case TypeKind::kUuid:
      return bj::object{{"type", "fixed"},
                        {"name", fmt::format("uuid_fixed_{}", id)},
                        {"size", 16},
                        {"logicalType", "uuid"}};
    case TypeKind::kFixed:
      return bj::object{{"type", "fixed"},
                        {"name", fmt::format("fixed_{}_{}", field.type.length(), id)},
                        {"size", field.type.length()}};
    case TypeKind::kDecimal:
      return bj::object{
          {"type", "fixed"},
          {"name", fmt::format("decimal_{}_{}_{}", field.type.precision(), field.type.scale(), id)},
          {"size", DecimalBytes(field.type.precision())},
          {"logicalType", "decimal"},
          {"precision", field.type.precision()},
          {"scale", field.type.scale()}};
    case TypeKind::kUnknown:
    case TypeKind::kVariant:
    case TypeKind::kGeometry:
    case TypeKind::kGeography:
    case TypeKind::kStruct:
    case TypeKind::kList:
    case TypeKind::kMap:
      break;
  }
  return InvalidArgument(fmt::format(
      "partition field {} has type {}, which cannot be written: its transform or source "
      "column is not known",
      Quoted(field.name), field.type.ToString()));
}

bool IsAsciiLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool IsAsciiDigit(char c) {
  return c >= '0' && c <= '9';
}

// Makes an Avro identifier of a name as the reference implementation does: "_" before a leading
// digit, "_x" and the hexadecimal code in place of anything but letters, digits and "_". It goes by
// UTF-16 units there and by bytes here, which matters to nobody: the original name stands beside,
// and fields are found by id. A name that is taken gets the id behind it.
std::string AvroName(std::string_view name, std::int32_t id, std::set<std::string>& taken) {
  std::string safe;
  for (const char c : name) {
    if (IsAsciiLetter(c) || c == '_' || (IsAsciiDigit(c) && !safe.empty())) {
      safe += c;
    } else if (IsAsciiDigit(c)) {
      safe += '_';
      safe += c;
    } else {
      safe += fmt::format("_x{:X}", static_cast<unsigned char>(c));
    }
  }
  if (safe.empty() || !taken.insert(safe).second) {
    safe += fmt::format("_{}", id);
    taken.insert(safe);
  }
  return safe;
}

Result<bj::object> PartitionRecord(const Type& partition_type) {
  bj::array fields;
  std::set<std::string> taken;
  for (const NestedField& field : partition_type.fields()) {
    LAKE_TRY(bj::value type, AvroTypeOf(field));
    const auto id = std::to_underlying(field.id);
    const std::string name = AvroName(field.name, id, taken);
    bj::object json = OptionalField(name, id, std::move(type));
    if (name != field.name) {
      json["iceberg-field-name"] = field.name;
    }
    fields.emplace_back(std::move(json));
  }
  return Record("r102", std::move(fields));
}

}  // namespace

std::span<const ManifestFieldSpec> ManifestEntryFields() {
  return kManifestEntryFields;
}

std::span<const ManifestFieldSpec> DataFileFields() {
  return kDataFileFields;
}

std::span<const ManifestFieldSpec> ManifestFileFields() {
  return kManifestFileFields;
}

std::span<const ManifestFieldSpec> FieldSummaryFields() {
  return kFieldSummaryFields;
}

std::size_t DecimalBytes(std::int32_t precision) {
  Int128 largest = 1;
  for (std::int32_t i = 0; i < precision; ++i) {
    largest *= 10;
  }
  --largest;
  std::size_t bits = 1;  // The sign.
  for (; largest != 0; largest >>= 1) {
    ++bits;
  }
  return (bits + 7) / 8;
}

Result<std::string> ManifestEntryAvroSchema(std::int32_t format_version,
                                            const Type& partition_type) {
  LAKE_TRY(bj::object partition, PartitionRecord(partition_type));
  const auto data_file = [&](Field) {
    return Record("r2", Fields(kDataFileFields, format_version, [&](Field) { return partition; }));
  };
  return json::Write(
      Record("manifest_entry", Fields(kManifestEntryFields, format_version, data_file)));
}

std::string ManifestFileAvroSchema(std::int32_t format_version) {
  const auto summary = [&](Field) {
    return Record("r508",
                  Fields(kFieldSummaryFields, format_version, [](Field) { return bj::object(); }));
  };
  return json::Write(Record("manifest_file", Fields(kManifestFileFields, format_version, summary)));
}

}  // namespace lake::iceberg
