#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/column_map.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/value.h"

namespace lake::iceberg {

// The values of manifests and manifest lists, format versions 1 to 3 alike. Names, meaning and
// field ids are those of the Iceberg specification ("Manifests", "Manifest Lists").

// What a data file or delete file is written in.
enum class FileFormat { kAvro, kOrc, kParquet, kPuffin };

// Returns the name of a file format as it is stored, e.g. "PARQUET".
std::string_view FileFormatName(FileFormat format);

// Parses a file format's name, in any case. kInvalidArgument for any other name.
Result<FileFormat> ParseFileFormat(std::string_view name);

// What a file tracked by a manifest contains.
enum class FileContent : std::int32_t { kData = 0, kPositionDeletes = 1, kEqualityDeletes = 2 };

// A data file or delete file: `data_file` of the specification.
struct DataFile {
  FileContent content = FileContent::kData;
  std::string file_path;  // Full URI.
  FileFormat file_format = FileFormat::kParquet;
  // The partition tuple: one value per field of the partition spec the manifest was written with,
  // in its order, of the types PartitionType() gives. Empty for an unpartitioned spec.
  std::vector<Value> partition;
  std::int64_t record_count = 0;
  std::int64_t file_size_in_bytes = 0;
  // Statistics by column id. A column that is missing has an unknown value.
  ColumnMap<std::int64_t> column_sizes;
  ColumnMap<std::int64_t> value_counts;  // Including null and NaN.
  ColumnMap<std::int64_t> null_value_counts;
  ColumnMap<std::int64_t> nan_value_counts;
  ColumnMap<std::string> lower_bounds;  // In the binary form of value.h.
  ColumnMap<std::string> upper_bounds;
  std::optional<std::string> key_metadata;
  std::vector<std::int64_t> split_offsets;  // Ascending; empty if unknown.
  std::vector<FieldId> equality_ids;        // Only for equality deletes.
  std::optional<SortOrderId> sort_order_id;
  std::optional<std::int64_t> first_row_id;           // v3
  std::optional<std::string> referenced_data_file;    // The file that all deletes refer to.
  std::optional<std::int64_t> content_offset;         // v3
  std::optional<std::int64_t> content_size_in_bytes;  // v3

  bool operator==(const DataFile&) const = default;
};

// What a manifest's own commit did with the file.
enum class ManifestEntryStatus : std::int32_t { kExisting = 0, kAdded = 1, kDeleted = 2 };

// One file in a manifest, and how it came there: `manifest_entry`.
struct ManifestEntry {
  ManifestEntryStatus status = ManifestEntryStatus::kAdded;
  // The snapshot that added the file, or deleted it if the status says so.
  std::optional<SnapshotId> snapshot_id;
  std::optional<std::int64_t> sequence_number;       // Of the data.
  std::optional<std::int64_t> file_sequence_number;  // Of the commit that added the file.
  DataFile data_file;

  bool is_live() const { return status != ManifestEntryStatus::kDeleted; }

  bool operator==(const ManifestEntry&) const = default;
};

// What all files of a manifest are: data, or deletes of either kind.
enum class ManifestContent : std::int32_t { kData = 0, kDeletes = 1 };

// What the partition values of a manifest's files have in common, for one field of the spec.
struct FieldSummary {
  bool contains_null = false;
  std::optional<bool> contains_nan;
  // In the binary form of value.h; absent if all values are null or NaN.
  std::optional<std::string> lower_bound;
  std::optional<std::string> upper_bound;

  bool operator==(const FieldSummary&) const = default;
};

// An entry of a manifest list: `manifest_file`.
struct ManifestFile {
  std::string manifest_path;
  std::int64_t manifest_length = 0;
  PartitionSpecId partition_spec_id{0};
  ManifestContent content = ManifestContent::kData;
  // Absent until a manifest list is written: the snapshot's own number goes there.
  std::optional<std::int64_t> sequence_number;
  std::optional<std::int64_t> min_sequence_number;
  SnapshotId added_snapshot_id{};
  // Absent only in lists of format version 1; then they may be anything.
  std::optional<std::int32_t> added_files_count;
  std::optional<std::int32_t> existing_files_count;
  std::optional<std::int32_t> deleted_files_count;
  std::optional<std::int64_t> added_rows_count;
  std::optional<std::int64_t> existing_rows_count;
  std::optional<std::int64_t> deleted_rows_count;
  std::vector<FieldSummary> partitions;  // One per field of the spec, or empty if unknown.
  std::optional<std::string> key_metadata;
  std::optional<std::int64_t> first_row_id;  // v3, data manifests only.

  bool operator==(const ManifestFile&) const = default;
};

}  // namespace lake::iceberg
