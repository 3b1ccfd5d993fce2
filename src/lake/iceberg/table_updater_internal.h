#pragma once

#include <optional>
#include <unordered_set>
#include <utility>

#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_update.h"

namespace lake::iceberg {

// Takes table metadata from one update to the next: a visitor of TableUpdate. What concerns a change
// as a whole (logs, times, whether the parts fit together) is left to who runs it. Errors are those
// of ApplyUpdates; after one, the metadata is not to be used. Single-threaded (its owner).
class TableUpdater {
 public:
  explicit TableUpdater(TableMetadata start) : metadata_(std::move(start)) {}

  // The table itself: table_updater.cc.
  Status operator()(const AssignUuid& update);
  Status operator()(const UpgradeFormatVersion& update);
  Status operator()(const SetLocation& update);
  Status operator()(const SetProperties& update);
  Status operator()(const RemoveProperties& update);
  Status operator()(const AddEncryptionKey& update);
  Status operator()(const RemoveEncryptionKey& update);

  // How its data is laid out: table_updater_layout.cc.
  Status operator()(const AddSchema& update);
  Status operator()(const SetCurrentSchema& update);
  Status operator()(const RemoveSchemas& update);
  Status operator()(const AddPartitionSpec& update);
  Status operator()(const SetDefaultPartitionSpec& update);
  Status operator()(const RemovePartitionSpecs& update);
  Status operator()(const AddSortOrder& update);
  Status operator()(const SetDefaultSortOrder& update);

  // Its history: table_updater_history.cc.
  Status operator()(const AddSnapshot& update);
  Status operator()(const RemoveSnapshots& update);
  Status operator()(const SetSnapshotRef& update);
  Status operator()(const RemoveSnapshotRef& update);
  Status operator()(const SetStatistics& update);
  Status operator()(const RemoveStatistics& update);
  Status operator()(const SetPartitionStatistics& update);
  Status operator()(const RemovePartitionStatistics& update);

  // Whether the snapshot was added by these updates.
  bool HasAdded(SnapshotId id) const { return added_snapshots_.contains(id); }

  bool has_removed_snapshots() const { return has_removed_snapshots_; }

  const TableMetadata& metadata() const { return metadata_; }

  // Gives the metadata away. Nothing else may be asked of this object afterwards.
  TableMetadata Release() && { return std::move(metadata_); }

 private:
  Result<const Schema*> CurrentSchema() const;
  Status AssignFieldIds(PartitionSpec& spec);
  Status CheckFieldIds(const PartitionSpec& spec) const;
  Status AdvanceSequenceNumber(const Snapshot& snapshot);
  Status AdvanceRowId(const Snapshot& snapshot);
  void FollowMain();

  TableMetadata metadata_;
  std::optional<SchemaId> last_added_schema_;
  std::optional<PartitionSpecId> last_added_spec_;
  std::optional<SortOrderId> last_added_sort_order_;
  std::unordered_set<SnapshotId> added_snapshots_;
  bool has_removed_snapshots_ = false;
};

}  // namespace lake::iceberg
