#include "lake/iceberg/table_update_apply.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/new_parts_internal.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_update.h"
#include "lake/iceberg/table_updater_internal.h"

namespace lake::iceberg {
namespace {

// Drops what the snapshot log says up to the last entry whose snapshot is gone: with a gap in it, the
// log would say of the snapshot before the gap that it was current for longer than it was.
void CutSnapshotLog(TableMetadata& metadata) {
  std::unordered_set<SnapshotId> known;
  for (const Snapshot& snapshot : metadata.snapshots) {
    known.insert(snapshot.snapshot_id);
  }
  std::vector<SnapshotLogEntry>& log = metadata.snapshot_log;
  const auto last_gone = std::find_if(log.rbegin(), log.rend(), [&](const auto& entry) {
    return !known.contains(entry.snapshot_id);
  });
  log.erase(log.begin(), last_gone.base());
}

WallTime UpdatedAt(const TableMetadata& start, const TableUpdater& updater, WallTime now) {
  const Snapshot* current = updater.metadata().current_snapshot();
  const bool is_new = current != nullptr && updater.HasAdded(current->snapshot_id);
  return NextTimestamp(start, is_new ? current->timestamp : now);
}

// Applies updates in order and notes what they did to the current snapshot.
Result<TableMetadata> Update(const TableMetadata& start, const std::vector<TableUpdate>& updates,
                             WallTime now) {
  TableUpdater updater(start);
  for (const TableUpdate& update : updates) {
    LAKE_TRY_VOID(std::visit(updater, update));
  }
  const WallTime updated_at = UpdatedAt(start, updater, now);
  const bool has_removed_snapshots = updater.has_removed_snapshots();
  TableMetadata next = std::move(updater).Release();
  next.last_updated = updated_at;
  if (next.current_snapshot_id != start.current_snapshot_id &&
      next.current_snapshot_id.has_value()) {
    next.snapshot_log.push_back(
        {.snapshot_id = *next.current_snapshot_id, .timestamp = updated_at});
  }
  if (has_removed_snapshots) {
    CutSnapshotLog(next);
  }
  return next;
}

Status LogBase(const TableMetadata& base, const std::string& base_location, TableMetadata& next) {
  LAKE_TRY(const std::size_t versions_max, PreviousVersionsMax(next.properties));
  std::vector<MetadataLogEntry>& log = next.metadata_log;
  log.push_back({.metadata_file = base_location, .timestamp = base.last_updated});
  if (log.size() > versions_max) {
    log.erase(log.begin(), std::prev(log.end(), static_cast<std::ptrdiff_t>(versions_max)));
  }
  return {};
}

// Checks that new data can be laid out: that the default spec and sort order suit the current schema.
Status CheckLayout(const TableMetadata& metadata) {
  const NewPartChecker checker(metadata.current_schema());
  LAKE_TRY_VOID(WithContext(checker.CheckStillFits(metadata.default_spec()),
                            "the default partition spec does not suit the current schema"));
  return WithContext(checker.CheckStillFits(metadata.default_sort_order()),
                     "the default sort order does not suit the current schema");
}

// Whether new data is laid out otherwise than before.
bool LayoutDiffers(const TableMetadata& a, const TableMetadata& b) {
  return a.current_schema_id != b.current_schema_id || a.default_spec_id != b.default_spec_id ||
         a.default_sort_order_id != b.default_sort_order_id;
}

// Returns what a table is before its first update. It has the format version that it is to get from
// the start, for that decides what its parts may be.
TableMetadata Blank(const std::vector<TableUpdate>& updates) {
  TableMetadata blank;
  for (const TableUpdate& update : updates) {
    if (const auto* upgrade = std::get_if<UpgradeFormatVersion>(&update)) {
      blank.format_version = std::max(kFormatVersionMin, upgrade->format_version);
      break;
    }
  }
  return blank;
}

// Fills in what the updates that make a table may leave out.
void FillIn(const FirstVersion& first, TableMetadata& metadata) {
  if (!metadata.table_uuid.has_value()) {
    metadata.table_uuid = first.table_uuid;
  }
  if (metadata.location.empty()) {
    metadata.location = first.location;
  }
  if (metadata.partition_specs.empty()) {
    metadata.partition_specs.push_back({.spec_id = metadata.default_spec_id});
  }
  const SortOrder unsorted;
  if (metadata.default_sort_order_id == unsorted.order_id &&
      metadata.FindSortOrder(unsorted.order_id) == nullptr) {
    metadata.sort_orders.push_back(unsorted);
  }
}

}  // namespace

Result<TableMetadata> ApplyUpdates(const TableMetadata& base,
                                   const std::vector<TableUpdate>& updates,
                                   const NextVersion& next) {
  LAKE_TRY(TableMetadata metadata, Update(base, updates, next.now));
  LAKE_TRY_VOID(LogBase(base, next.base_location, metadata));
  LAKE_TRY_VOID(Validate(metadata));
  // Another writer may have left the base in a state that does not fit: that stands in nobody's way.
  if (LayoutDiffers(base, metadata)) {
    LAKE_TRY_VOID(CheckLayout(metadata));
  }
  return metadata;
}

Result<TableMetadata> NewTableFromUpdates(const std::vector<TableUpdate>& updates,
                                          const FirstVersion& first) {
  LAKE_TRY(TableMetadata metadata, Update(Blank(updates), updates, first.now));
  if (metadata.schemas.empty()) {
    return InvalidArgument("create table: no schema is added");
  }
  FillIn(first, metadata);
  LAKE_TRY_VOID(Validate(metadata));
  LAKE_TRY_VOID(CheckLayout(metadata));
  return metadata;
}

std::int64_t NextSequenceNumber(const TableMetadata& base) {
  return base.format_version == 1 ? 0 : base.last_sequence_number + 1;
}

WallTime NextTimestamp(const TableMetadata& base, WallTime now) {
  return std::max(base.last_updated, now);
}

std::vector<TableUpdate> SnapshotUpdates(const TableMetadata& base, Snapshot snapshot,
                                         WallTime now) {
  snapshot.parent_snapshot_id = base.current_snapshot_id;
  snapshot.sequence_number = NextSequenceNumber(base);
  snapshot.timestamp = NextTimestamp(base, now);
  snapshot.schema_id = base.current_schema_id;
  SnapshotRef main{.snapshot_id = snapshot.snapshot_id};
  if (const auto old = base.refs.find(kMainBranch); old != base.refs.end()) {
    main = old->second;
    main.snapshot_id = snapshot.snapshot_id;
  }
  return {AddSnapshot{std::move(snapshot)},
          SetSnapshotRef{.name = std::string(kMainBranch), .ref = std::move(main)}};
}

Result<TableMetadata> AppendSnapshot(const TableMetadata& base, Snapshot snapshot,
                                     const NextVersion& next) {
  return ApplyUpdates(base, SnapshotUpdates(base, std::move(snapshot), next.now), next);
}

}  // namespace lake::iceberg
