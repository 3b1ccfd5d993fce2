#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/encryption_key.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/statistics_file.h"

namespace lake::iceberg {

// The format versions that Lake reads and writes.
inline constexpr std::int32_t kFormatVersionMin = 1;
inline constexpr std::int32_t kFormatVersionMax = 3;

// An entry of the metadata log: where the table's metadata was before.
struct MetadataLogEntry {
  std::string metadata_file;
  WallTime timestamp;
  UnknownMembers unknown;

  bool operator==(const MetadataLogEntry&) const = default;
};

// Everything the format says about a table at one version: the content of a metadata.json, all
// format versions alike. What v1 leaves out or says in its own way is filled in when it is read
// (see table_metadata_json.h).
struct TableMetadata {
  std::int32_t format_version = 2;
  std::optional<Uuid> table_uuid;  // Absent only in v1.
  std::string location;
  std::int64_t last_sequence_number = 0;
  WallTime last_updated;
  FieldId last_column_id{0};
  std::vector<Schema> schemas;
  SchemaId current_schema_id{0};
  std::vector<PartitionSpec> partition_specs;
  PartitionSpecId default_spec_id{0};
  FieldId last_partition_id{kPartitionFieldIdFirst - 1};
  Properties properties;
  std::optional<SnapshotId> current_snapshot_id;
  std::vector<Snapshot> snapshots;
  std::vector<SnapshotLogEntry> snapshot_log;
  std::vector<MetadataLogEntry> metadata_log;
  std::vector<SortOrder> sort_orders;
  SortOrderId default_sort_order_id{0};
  // Has "main" exactly when there is a current snapshot.
  std::map<std::string, SnapshotRef, std::less<>> refs;
  std::vector<StatisticsFile> statistics;
  std::vector<PartitionStatisticsFile> partition_statistics;
  std::optional<std::int64_t> next_row_id;  // Always there in v3.
  std::vector<EncryptionKey> encryption_keys;
  UnknownMembers unknown;

  // The following return nullptr when there is no such thing. They take time linear in what they
  // search; pointers live as long as this object is unchanged.
  const Schema* FindSchema(SchemaId id) const;
  const PartitionSpec* FindSpec(PartitionSpecId id) const;
  const SortOrder* FindSortOrder(SortOrderId id) const;
  const Snapshot* FindSnapshot(SnapshotId id) const;
  const Snapshot* current_snapshot() const;

  // What new data is written with. Only for valid metadata.
  const Schema& current_schema() const;
  const PartitionSpec& default_spec() const;
  const SortOrder& default_sort_order() const;

  bool operator==(const TableMetadata&) const = default;
};

// Checks what the specification demands of the whole: a known format version (otherwise
// kUnimplemented), and, each kInvalidArgument with the name of the thing: unique ids of schemas,
// specs, sort orders and snapshots; current ids that name something; last-column-id,
// last-partition-id and last-sequence-number not below what is in use; refs that name snapshots;
// main equal to the current snapshot; the fields that the version requires.
Status Validate(const TableMetadata& metadata);

}  // namespace lake::iceberg
