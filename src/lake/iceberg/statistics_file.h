#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"

namespace lake::iceberg {

// What one blob of a Puffin statistics file holds.
struct BlobMetadata {
  std::string type;
  SnapshotId snapshot_id{};
  std::int64_t sequence_number = 0;
  std::vector<FieldId> fields;
  Properties properties;
  UnknownMembers unknown;

  bool operator==(const BlobMetadata&) const = default;
};

// A Puffin file with statistics about one snapshot.
struct StatisticsFile {
  SnapshotId snapshot_id{};
  std::string statistics_path;
  std::int64_t file_size_in_bytes = 0;
  std::int64_t file_footer_size_in_bytes = 0;
  std::optional<std::string> key_metadata;  // Base64.
  std::vector<BlobMetadata> blob_metadata;
  UnknownMembers unknown;

  bool operator==(const StatisticsFile&) const = default;
};

// A file with statistics about the partitions of one snapshot.
struct PartitionStatisticsFile {
  SnapshotId snapshot_id{};
  std::string statistics_path;
  std::int64_t file_size_in_bytes = 0;
  UnknownMembers unknown;

  bool operator==(const PartitionStatisticsFile&) const = default;
};

}  // namespace lake::iceberg
