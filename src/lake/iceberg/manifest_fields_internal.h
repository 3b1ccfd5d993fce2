#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lake/base/result.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {

// The fields of manifests and manifest lists as data: the one place that reader, writer and written
// schema agree on. The numbers are the field ids of the Iceberg specification.
enum class ManifestField : std::int32_t {
  kStatus = 0,
  kSnapshotId = 1,
  kDataFile = 2,
  kSequenceNumber = 3,
  kFileSequenceNumber = 4,

  kFilePath = 100,
  kFileFormat = 101,
  kPartition = 102,
  kRecordCount = 103,
  kFileSizeInBytes = 104,
  kColumnSizes = 108,
  kValueCounts = 109,
  kNullValueCounts = 110,
  kLowerBounds = 125,
  kUpperBounds = 128,
  kKeyMetadata = 131,
  kSplitOffsets = 132,
  kContent = 134,
  kEqualityIds = 135,
  kNanValueCounts = 137,
  kSortOrderId = 140,
  kFirstRowId = 142,
  kReferencedDataFile = 143,
  kContentOffset = 144,
  kContentSizeInBytes = 145,

  kManifestPath = 500,
  kManifestLength = 501,
  kPartitionSpecId = 502,
  kAddedSnapshotId = 503,
  kAddedFilesCount = 504,
  kExistingFilesCount = 505,
  kDeletedFilesCount = 506,
  kPartitions = 507,
  kContainsNull = 509,
  kSummaryLowerBound = 510,
  kSummaryUpperBound = 511,
  kAddedRowsCount = 512,
  kExistingRowsCount = 513,
  kDeletedRowsCount = 514,
  kManifestSequenceNumber = 515,
  kMinSequenceNumber = 516,
  kManifestContent = 517,
  kContainsNan = 518,
  kManifestKeyMetadata = 519,
  kManifestFirstRowId = 520,
};

// How the value of a field is put together.
enum class ManifestShape : std::uint8_t {
  kBoolean,
  kInt,
  kLong,
  kString,
  kBytes,
  kLongMap,   // map<int, long>
  kBytesMap,  // map<int, binary>
  kLongList,
  kIntList,
  kRecord,
  kRecordList,
};

// What the specification says about a field.
struct ManifestFieldSpec {
  ManifestField field;
  std::string_view name;
  ManifestShape shape;
  bool required_to_write = false;  // By format versions 2 and 3.
  bool required_to_read = false;   // By any version, with nothing to fill in when it is missing.
  std::int32_t version_min = 2;    // The first version that has the field, of those Lake writes.
  std::int32_t inner_id = 0;       // Of a map's key or a list's element.
  std::int32_t value_id = 0;       // Of a map's value.
};

// The fields of the four records in the order in which they are written, which is the order of the
// reference implementation.
std::span<const ManifestFieldSpec> ManifestEntryFields();
std::span<const ManifestFieldSpec> DataFileFields();
std::span<const ManifestFieldSpec> ManifestFileFields();
std::span<const ManifestFieldSpec> FieldSummaryFields();

// Returns how many bytes the fixed has that decimals of a precision are stored in: the fewest that
// hold any unscaled value of it.
std::size_t DecimalBytes(std::int32_t precision);

// Return the Avro schema, as JSON, that a manifest or a manifest list is written with. The records
// have the names older clients look for. `partition_type` comes from PartitionType();
// kInvalidArgument if one of its fields has a type that cannot be written.
Result<std::string> ManifestEntryAvroSchema(std::int32_t format_version,
                                            const Type& partition_type);
std::string ManifestFileAvroSchema(std::int32_t format_version);

}  // namespace lake::iceberg
