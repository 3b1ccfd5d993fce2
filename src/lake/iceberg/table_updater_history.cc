#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/statistics_file.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_update.h"
#include "lake/iceberg/table_updater_internal.h"

namespace lake::iceberg {
namespace {

// Puts `file` in the place of what there is for the same snapshot.
template <typename File>
Status SetFile(const TableMetadata& metadata, const File& file, std::vector<File>& files) {
  if (metadata.FindSnapshot(file.snapshot_id) == nullptr) {
    return InvalidArgument(fmt::format("set statistics: snapshot {} does not exist",
                                       std::to_underlying(file.snapshot_id)));
  }
  std::erase_if(files, [&](const File& old) { return old.snapshot_id == file.snapshot_id; });
  files.push_back(file);
  return {};
}

}  // namespace

Status TableUpdater::operator()(const AddSnapshot& update) {
  const Snapshot& snapshot = update.snapshot;
  const std::int64_t id = std::to_underlying(snapshot.snapshot_id);
  if (id <= 0) {
    return InvalidArgument(fmt::format("add snapshot {}: its id is not positive", id));
  }
  if (metadata_.FindSnapshot(snapshot.snapshot_id) != nullptr) {
    return AlreadyExists(fmt::format("add snapshot {}: the table has a snapshot of this id", id));
  }
  if (snapshot.schema_id.has_value() && metadata_.FindSchema(*snapshot.schema_id) == nullptr) {
    return InvalidArgument(fmt::format("add snapshot {}: schema-id {} names no schema", id,
                                       std::to_underlying(*snapshot.schema_id)));
  }
  LAKE_TRY_VOID(AdvanceSequenceNumber(snapshot));
  LAKE_TRY_VOID(AdvanceRowId(snapshot));
  metadata_.snapshots.push_back(snapshot);
  if (snapshot.parent_snapshot_id == kNoSnapshot) {
    metadata_.snapshots.back().parent_snapshot_id.reset();
  }
  added_snapshots_.insert(snapshot.snapshot_id);
  return {};
}

Status TableUpdater::operator()(const RemoveSnapshots& update) {
  const std::unordered_set<SnapshotId> ids(update.snapshot_ids.begin(), update.snapshot_ids.end());
  const auto named = [&](const auto& thing) { return ids.contains(thing.snapshot_id); };
  if (std::erase_if(metadata_.snapshots, named) == 0) {
    return {};
  }
  has_removed_snapshots_ = true;
  std::erase_if(metadata_.refs, [&](const auto& entry) { return named(entry.second); });
  std::erase_if(metadata_.statistics, named);
  std::erase_if(metadata_.partition_statistics, named);
  FollowMain();
  return {};
}

Status TableUpdater::operator()(const SetSnapshotRef& update) {
  if (update.name.empty()) {
    return InvalidArgument("set ref: it has no name");
  }
  if (metadata_.FindSnapshot(update.ref.snapshot_id) == nullptr) {
    return InvalidArgument(fmt::format("set ref {}: snapshot {} does not exist",
                                       Quoted(update.name),
                                       std::to_underlying(update.ref.snapshot_id)));
  }
  metadata_.refs.insert_or_assign(update.name, update.ref);
  FollowMain();
  return {};
}

Status TableUpdater::operator()(const RemoveSnapshotRef& update) {
  metadata_.refs.erase(update.name);
  FollowMain();
  return {};
}

Status TableUpdater::operator()(const SetStatistics& update) {
  return SetFile(metadata_, update.statistics, metadata_.statistics);
}

Status TableUpdater::operator()(const RemoveStatistics& update) {
  std::erase_if(metadata_.statistics,
                [&](const StatisticsFile& file) { return file.snapshot_id == update.snapshot_id; });
  return {};
}

Status TableUpdater::operator()(const SetPartitionStatistics& update) {
  return SetFile(metadata_, update.partition_statistics, metadata_.partition_statistics);
}

Status TableUpdater::operator()(const RemovePartitionStatistics& update) {
  std::erase_if(metadata_.partition_statistics, [&](const PartitionStatisticsFile& file) {
    return file.snapshot_id == update.snapshot_id;
  });
  return {};
}

Status TableUpdater::AdvanceSequenceNumber(const Snapshot& snapshot) {
  if (metadata_.format_version == 1) {
    return {};
  }
  if (snapshot.sequence_number <= metadata_.last_sequence_number) {
    return Conflict(
        fmt::format("add snapshot {}: sequence number {} is not above the table's last one, {}",
                    std::to_underlying(snapshot.snapshot_id), snapshot.sequence_number,
                    metadata_.last_sequence_number));
  }
  metadata_.last_sequence_number = snapshot.sequence_number;
  return {};
}

Status TableUpdater::AdvanceRowId(const Snapshot& snapshot) {
  if (metadata_.format_version < 3) {
    return {};
  }
  const std::int64_t id = std::to_underlying(snapshot.snapshot_id);
  if (!snapshot.first_row_id.has_value() || !snapshot.added_rows.has_value() ||
      *snapshot.added_rows < 0) {
    return InvalidArgument(
        fmt::format("add snapshot {}: first-row-id or added-rows is missing or negative", id));
  }
  if (*snapshot.first_row_id < metadata_.next_row_id.value_or(0)) {
    return Conflict(
        fmt::format("add snapshot {}: first-row-id {} is below the table's next-row-id, {}", id,
                    *snapshot.first_row_id, metadata_.next_row_id.value_or(0)));
  }
  if (*snapshot.added_rows > std::numeric_limits<std::int64_t>::max() - *snapshot.first_row_id) {
    return InvalidArgument(fmt::format("add snapshot {}: row ids pass 64 bits", id));
  }
  metadata_.next_row_id = *snapshot.first_row_id + *snapshot.added_rows;
  return {};
}

// Makes the snapshot that the main branch names, if there is one, the current one.
void TableUpdater::FollowMain() {
  const auto main = metadata_.refs.find(kMainBranch);
  metadata_.current_snapshot_id =
      main == metadata_.refs.end() ? std::nullopt : std::optional(main->second.snapshot_id);
}

}  // namespace lake::iceberg
