#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

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

// Changes of a table as data, those of the REST catalog's specification. table_update_apply.h says
// what they do, table_update_json.h is their JSON form.

// What an update names that means "the one that was added last, by the updates before this one".
inline constexpr SchemaId kLastAddedSchema{-1};
inline constexpr PartitionSpecId kLastAddedSpec{-1};
inline constexpr SortOrderId kLastAddedSortOrder{-1};

// Gives a table its identity.
struct AssignUuid {
  Uuid uuid;

  bool operator==(const AssignUuid&) const = default;
};

// Makes the table one of a later format version.
struct UpgradeFormatVersion {
  std::int32_t format_version = 0;

  bool operator==(const UpgradeFormatVersion&) const = default;
};

// Adds a schema. The table gives it its id; those of its fields are the caller's.
struct AddSchema {
  Schema schema;

  bool operator==(const AddSchema&) const = default;
};

// Makes a schema the one that new data has.
struct SetCurrentSchema {
  SchemaId schema_id{};  // Or kLastAddedSchema.

  bool operator==(const SetCurrentSchema&) const = default;
};

// Removes schemas that no snapshot needs any more.
struct RemoveSchemas {
  std::vector<SchemaId> schema_ids;

  bool operator==(const RemoveSchemas&) const = default;
};

// Adds a partition spec. The table gives it its id.
struct AddPartitionSpec {
  PartitionSpec spec;  // The table gives fields of id 0 theirs.

  bool operator==(const AddPartitionSpec&) const = default;
};

// Makes a partition spec the one that new data has.
struct SetDefaultPartitionSpec {
  PartitionSpecId spec_id{};  // Or kLastAddedSpec.

  bool operator==(const SetDefaultPartitionSpec&) const = default;
};

// Removes partition specs that no manifest needs any more.
struct RemovePartitionSpecs {
  std::vector<PartitionSpecId> spec_ids;

  bool operator==(const RemovePartitionSpecs&) const = default;
};

// Adds a sort order. The table gives it its id.
struct AddSortOrder {
  SortOrder sort_order;

  bool operator==(const AddSortOrder&) const = default;
};

// Makes a sort order the one that new data has.
struct SetDefaultSortOrder {
  SortOrderId sort_order_id{};  // Or kLastAddedSortOrder.

  bool operator==(const SetDefaultSortOrder&) const = default;
};

// Adds a snapshot to the table. It becomes visible when a ref names it.
struct AddSnapshot {
  Snapshot snapshot;

  bool operator==(const AddSnapshot&) const = default;
};

// Removes snapshots, and with them the refs that name them and their statistics.
struct RemoveSnapshots {
  std::vector<SnapshotId> snapshot_ids;

  bool operator==(const RemoveSnapshots&) const = default;
};

// Makes a branch or tag, or changes one. Setting "main" makes its snapshot the current one.
struct SetSnapshotRef {
  std::string name;
  SnapshotRef ref;

  bool operator==(const SetSnapshotRef&) const = default;
};

// Removes a branch or tag. Without "main" the table has no current snapshot.
struct RemoveSnapshotRef {
  std::string name;

  bool operator==(const RemoveSnapshotRef&) const = default;
};

// Changes where the table's new files go.
struct SetLocation {
  std::string location;

  bool operator==(const SetLocation&) const = default;
};

// Adds properties or changes their values.
struct SetProperties {
  Properties updates;

  bool operator==(const SetProperties&) const = default;
};

// Removes properties by name.
struct RemoveProperties {
  std::vector<std::string> removals;

  bool operator==(const RemoveProperties&) const = default;
};

// Makes a file the one with the statistics of its snapshot.
struct SetStatistics {
  StatisticsFile statistics;

  bool operator==(const SetStatistics&) const = default;
};

// Removes the statistics of a snapshot.
struct RemoveStatistics {
  SnapshotId snapshot_id{};

  bool operator==(const RemoveStatistics&) const = default;
};

// Makes a file the one with the statistics of its snapshot's partitions.
struct SetPartitionStatistics {
  PartitionStatisticsFile partition_statistics;

  bool operator==(const SetPartitionStatistics&) const = default;
};

// Removes the statistics of a snapshot's partitions.
struct RemovePartitionStatistics {
  SnapshotId snapshot_id{};

  bool operator==(const RemovePartitionStatistics&) const = default;
};

// Adds a key of the table's encryption scheme.
struct AddEncryptionKey {
  EncryptionKey key;

  bool operator==(const AddEncryptionKey&) const = default;
};

// Removes a key that nothing is encrypted with any more.
struct RemoveEncryptionKey {
  std::string key_id;

  bool operator==(const RemoveEncryptionKey&) const = default;
};

// Any change.
using TableUpdate =
    std::variant<AssignUuid, UpgradeFormatVersion, AddSchema, SetCurrentSchema, RemoveSchemas,
                 AddPartitionSpec, SetDefaultPartitionSpec, RemovePartitionSpecs, AddSortOrder,
                 SetDefaultSortOrder, AddSnapshot, RemoveSnapshots, SetSnapshotRef,
                 RemoveSnapshotRef, SetLocation, SetProperties, RemoveProperties, SetStatistics,
                 RemoveStatistics, SetPartitionStatistics, RemovePartitionStatistics,
                 AddEncryptionKey, RemoveEncryptionKey>;

}  // namespace lake::iceberg
