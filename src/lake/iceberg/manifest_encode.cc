#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lake/base/check.h"
#include "lake/iceberg/avro_wire_internal.h"
#include "lake/iceberg/column_map.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/manifest_encode_internal.h"
#include "lake/iceberg/manifest_fields_internal.h"
#include "lake/iceberg/type.h"
#include "lake/iceberg/value.h"

namespace lake::iceberg {
namespace {

using Field = ManifestField;

// The branches of the unions we write.
constexpr std::int64_t kNullBranch = 0;
constexpr std::int64_t kValueBranch = 1;

// Numbers, and enumerations and ids as their numbers.
template <typename T>
void Put(std::string& out, T number) {
  if constexpr (std::is_enum_v<T>) {
    AvroPutLong(out, std::to_underlying(number));
  } else {
    AvroPutLong(out, number);
  }
}

void Put(std::string& out, bool value) {
  AvroPutBoolean(out, value);
}

void Put(std::string& out, const std::string& bytes) {
  AvroPutBytes(out, bytes);
}

template <typename T>
void PutOptional(std::string& out, const std::optional<T>& value) {
  AvroPutLong(out, value.has_value() ? kValueBranch : kNullBranch);
  if (value.has_value()) {
    Put(out, *value);
  }
}

// An array with its items in one block; `put` writes one. Absent if it is empty.
template <typename Items, typename PutItem>
void PutOptionalArray(std::string& out, const Items& items, PutItem put) {
  if (items.empty()) {
    AvroPutLong(out, kNullBranch);
    return;
  }
  AvroPutLong(out, kValueBranch);
  AvroPutLong(out, static_cast<std::int64_t>(items.size()));
  for (const auto& item : items) {
    put(item);
  }
  AvroPutLong(out, 0);
}

template <typename T>
void PutMap(std::string& out, const ColumnMap<T>& map) {
  PutOptionalArray(out, map, [&out](const auto& entry) {
    Put(out, entry.first);
    Put(out, entry.second);
  });
}

template <typename T>
void PutList(std::string& out, const std::vector<T>& list) {
  PutOptionalArray(out, list, [&out](const T& item) { Put(out, item); });
}

// The unscaled value as the fixed that decimals of its precision are stored in.
void PutDecimal(std::string& out, const Type& type, const Decimal& decimal) {
  for (std::size_t i = DecimalBytes(type.precision()); i-- > 0;) {
    out.push_back(static_cast<char>(decimal.unscaled >> (8 * i)));
  }
}

void PutPartitionValue(std::string& out, const Type& type, const Value& value) {
  if (IsNull(value)) {
    AvroPutLong(out, kNullBranch);
    return;
  }
  AvroPutLong(out, kValueBranch);
  switch (type.kind()) {
    case TypeKind::kBoolean:
      AvroPutBoolean(out, std::get<bool>(value));
      return;
    case TypeKind::kInt:
    case TypeKind::kDate:
      AvroPutLong(out, std::get<std::int32_t>(value));
      return;
    case TypeKind::kLong:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz:
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs:
      AvroPutLong(out, std::get<std::int64_t>(value));
      return;
    case TypeKind::kFloat:
      AvroPutFloat(out, std::get<float>(value));
      return;
    case TypeKind::kDouble:
      AvroPutDouble(out, std::get<double>(value));
      return;
    case TypeKind::kDecimal:
      PutDecimal(out, type, std::get<Decimal>(value));
      return;
    case TypeKind::kString:
    case TypeKind::kBinary:
      AvroPutBytes(out, std::get<std::string>(value));
      return;
    case TypeKind::kUuid:
    case TypeKind::kFixed:
      out.append(std::get<std::string>(value));
      return;
    case TypeKind::kUnknown:
    case TypeKind::kVariant:
    case TypeKind::kGeometry:
    case TypeKind::kGeography:
    case TypeKind::kStruct:
    case TypeKind::kList:
    case TypeKind::kMap:
      break;
  }
  LAKE_CHECK(false, "no manifest is written with a partition field of such a type");
}

void PutDataFileField(std::string& out, const Type& partition_type, const DataFile& file,
                      Field field) {
  switch (field) {
    case Field::kContent:
      Put(out, file.content);
      return;
    case Field::kFilePath:
      Put(out, file.file_path);
      return;
    case Field::kFileFormat:
      AvroPutBytes(out, FileFormatName(file.file_format));
      return;
    case Field::kPartition:
      for (std::size_t i = 0; i < file.partition.size(); ++i) {
        PutPartitionValue(out, partition_type.fields()[i].type, file.partition[i]);
      }
      return;
    case Field::kRecordCount:
      Put(out, file.record_count);
      return;
    case Field::kFileSizeInBytes:
      Put(out, file.file_size_in_bytes);
      return;
    case Field::kColumnSizes:
      PutMap(out, file.column_sizes);
      return;
    case Field::kValueCounts:
      PutMap(out, file.value_counts);
      return;
    case Field::kNullValueCounts:
      PutMap(out, file.null_value_counts);
      return;
    case Field::kNanValueCounts:
      PutMap(out, file.nan_value_counts);
      return;
    case Field::kLowerBounds:
      PutMap(out, file.lower_bounds);
      return;
    case Field::kUpperBounds:
      PutMap(out, file.upper_bounds);
      return;
    case Field::kKeyMetadata:
      PutOptional(out, file.key_metadata);
      return;
    case Field::kSplitOffsets:
      PutList(out, file.split_offsets);
      return;
    case Field::kEqualityIds:
      PutList(out, file.equality_ids);
      return;
    case Field::kSortOrderId:
      PutOptional(out, file.sort_order_id);
      return;
    case Field::kFirstRowId:
      PutOptional(out, file.first_row_id);
      return;
    case Field::kReferencedDataFile:
      PutOptional(out, file.referenced_data_file);
      return;
    case Field::kContentOffset:
      PutOptional(out, file.content_offset);
      return;
    case Field::kContentSizeInBytes:
      PutOptional(out, file.content_size_in_bytes);
      return;
    default:
      LAKE_CHECK(false, "data_file has no such field");
  }
}

void PutManifestEntryField(std::string& out, std::int32_t format_version,
                           const Type& partition_type, const ManifestEntry& entry, Field field) {
  switch (field) {
    case Field::kStatus:
      Put(out, entry.status);
      return;
    case Field::kSnapshotId:
      PutOptional(out, entry.snapshot_id);
      return;
    case Field::kSequenceNumber:
      PutOptional(out, entry.sequence_number);
      return;
    case Field::kFileSequenceNumber:
      PutOptional(out, entry.file_sequence_number);
      return;
    case Field::kDataFile:
      for (const ManifestFieldSpec& spec : DataFileFields()) {
        if (spec.version_min <= format_version) {
          PutDataFileField(out, partition_type, entry.data_file, spec.field);
        }
      }
      return;
    default:
      LAKE_CHECK(false, "manifest_entry has no such field");
  }
}

void PutFieldSummary(std::string& out, const FieldSummary& summary) {
  for (const ManifestFieldSpec& spec : FieldSummaryFields()) {
    switch (spec.field) {
      case Field::kContainsNull:
        Put(out, summary.contains_null);
        break;
      case Field::kContainsNan:
        PutOptional(out, summary.contains_nan);
        break;
      case Field::kSummaryLowerBound:
        PutOptional(out, summary.lower_bound);
        break;
      case Field::kSummaryUpperBound:
        PutOptional(out, summary.upper_bound);
        break;
      default:
        LAKE_CHECK(false, "field_summary has no such field");
    }
  }
}

void PutManifestFileField(std::string& out, const ManifestFile& manifest, Field field) {
  switch (field) {
    case Field::kManifestPath:
      Put(out, manifest.manifest_path);
      return;
    case Field::kManifestLength:
      Put(out, manifest.manifest_length);
      return;
    case Field::kPartitionSpecId:
      Put(out, manifest.partition_spec_id);
      return;
    case Field::kManifestContent:
      Put(out, manifest.content);
      return;
    case Field::kManifestSequenceNumber:
      Put(out, manifest.sequence_number.value());
      return;
    case Field::kMinSequenceNumber:
      Put(out, manifest.min_sequence_number.value());
      return;
    case Field::kAddedSnapshotId:
      Put(out, manifest.added_snapshot_id);
      return;
    case Field::kAddedFilesCount:
      Put(out, manifest.added_files_count.value());
      return;
    case Field::kExistingFilesCount:
      Put(out, manifest.existing_files_count.value());
      return;
    case Field::kDeletedFilesCount:
      Put(out, manifest.deleted_files_count.value());
      return;
    case Field::kAddedRowsCount:
      Put(out, manifest.added_rows_count.value());
      return;
    case Field::kExistingRowsCount:
      Put(out, manifest.existing_rows_count.value());
      return;
    case Field::kDeletedRowsCount:
      Put(out, manifest.deleted_rows_count.value());
      return;
    case Field::kPartitions:
      PutOptionalArray(out, manifest.partitions,
                       [&out](const FieldSummary& summary) { PutFieldSummary(out, summary); });
      return;
    case Field::kManifestKeyMetadata:
      PutOptional(out, manifest.key_metadata);
      return;
    case Field::kManifestFirstRowId:
      PutOptional(out, manifest.first_row_id);
      return;
    default:
      LAKE_CHECK(false, "manifest_file has no such field");
  }
}

}  // namespace

void EncodeManifestEntry(std::int32_t format_version, const Type& partition_type,
                         const ManifestEntry& entry, std::string& out) {
  for (const ManifestFieldSpec& spec : ManifestEntryFields()) {
    PutManifestEntryField(out, format_version, partition_type, entry, spec.field);
  }
}

void EncodeManifestFile(std::int32_t format_version, const ManifestFile& manifest,
                        std::string& out) {
  for (const ManifestFieldSpec& spec : ManifestFileFields()) {
    if (spec.version_min <= format_version) {
      PutManifestFileField(out, manifest, spec.field);
    }
  }
}

}  // namespace lake::iceberg
