#include "lake/iceberg/table_update_apply.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/new_parts_internal.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_update.h"

namespace lake::iceberg {
namespace {

Result<std::size_t> PreviousVersionsMax(const TableMetadata& metadata) {
  const auto property = metadata.properties.find(std::string(kPreviousVersionsMaxProperty));
  std::int64_t versions = kPreviousVersionsMaxDefault;
  if (property != metadata.properties.end()) {
    const std::string_view text = property->second;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), versions);
    if (failure != std::errc() || end != text.data() + text.size()) {
      return InvalidArgument(fmt::format("property '{}' is {}, not a number",
                                         kPreviousVersionsMaxProperty, Quoted(text)));
    }
  }
  // Java keeps at least one entry whatever the property says; readers compare our logs with its.
  return static_cast<std::size_t>(std::max<std::int64_t>(1, versions));
}

// Builds the next version update by update.
class Applier {
 public:
  Applier(const TableMetadata& base, const NextVersion& next)
      : base_(base), next_(next), metadata_(base) {}

  Status operator()(const AddSnapshot& update) {
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
    added_.push_back(snapshot.snapshot_id);
    return {};
  }

  Status operator()(const SetSnapshotRef& update) {
    if (metadata_.FindSnapshot(update.ref.snapshot_id) == nullptr) {
      return InvalidArgument(fmt::format("set ref {}: snapshot {} does not exist",
                                         Quoted(update.name),
                                         std::to_underlying(update.ref.snapshot_id)));
    }
    metadata_.refs.insert_or_assign(update.name, update.ref);
    FollowMain();
    return {};
  }

  Status operator()(const RemoveSnapshots& update) {
    const std::unordered_set<SnapshotId> ids(update.snapshot_ids.begin(),
                                             update.snapshot_ids.end());
    const auto named = [&](const auto& thing) { return ids.contains(thing.snapshot_id); };
    if (std::erase_if(metadata_.snapshots, named) == 0) {
      return {};
    }
    removed_snapshots_ = true;
    std::erase_if(metadata_.refs, [&](const auto& entry) { return named(entry.second); });
    std::erase_if(metadata_.statistics, named);
    std::erase_if(metadata_.partition_statistics, named);
    FollowMain();
    return {};
  }

  Status operator()(const RemoveSnapshotRef& update) {
    metadata_.refs.erase(update.name);
    FollowMain();
    return {};
  }

  Status operator()(const SetProperties& update) {
    LAKE_TRY_VOID(WithContext(CheckNewProperties(update.updates), "set properties"));
    for (const auto& [name, value] : update.updates) {
      metadata_.properties.insert_or_assign(name, value);
    }
    return {};
  }

  Status operator()(const RemoveProperties& update) {
    for (const std::string& name : update.removals) {
      metadata_.properties.erase(name);
    }
    return {};
  }

  template <typename Other>
  Status operator()(const Other& /*update*/) {
    return Unimplemented("this kind of table update is not known yet");
  }

  Result<TableMetadata> Finish() {
    metadata_.last_updated = UpdatedAt();
    if (metadata_.current_snapshot_id != base_.current_snapshot_id &&
        metadata_.current_snapshot_id.has_value()) {
      metadata_.snapshot_log.push_back(
          {.snapshot_id = *metadata_.current_snapshot_id, .timestamp = metadata_.last_updated});
    }
    if (removed_snapshots_) {
      CutSnapshotLog();
    }
    LAKE_TRY_VOID(LogBase());
    LAKE_TRY_VOID(Validate(metadata_));
    return std::move(metadata_);
  }

 private:
  Status AdvanceSequenceNumber(const Snapshot& snapshot) {
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

  Status AdvanceRowId(const Snapshot& snapshot) {
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
  void FollowMain() {
    const auto main = metadata_.refs.find(kMainBranch);
    metadata_.current_snapshot_id =
        main == metadata_.refs.end() ? std::nullopt : std::optional(main->second.snapshot_id);
  }

  // Drops what the snapshot log says up to the last entry whose snapshot is gone: with a gap in it,
  // the log would say of the snapshot before the gap that it was current for longer than it was.
  void CutSnapshotLog() {
    std::unordered_set<SnapshotId> known;
    for (const Snapshot& snapshot : metadata_.snapshots) {
      known.insert(snapshot.snapshot_id);
    }
    std::vector<SnapshotLogEntry>& log = metadata_.snapshot_log;
    const auto last_gone = std::find_if(log.rbegin(), log.rend(), [&](const auto& entry) {
      return !known.contains(entry.snapshot_id);
    });
    log.erase(log.begin(), last_gone.base());
  }

  WallTime UpdatedAt() const {
    const Snapshot* current = metadata_.current_snapshot();
    const bool is_new =
        current != nullptr && std::ranges::find(added_, current->snapshot_id) != added_.end();
    return NextTimestamp(base_, is_new ? current->timestamp : next_.now);
  }

  Status LogBase() {
    LAKE_TRY(const std::size_t versions_max, PreviousVersionsMax(metadata_));
    std::vector<MetadataLogEntry>& log = metadata_.metadata_log;
    log.push_back({.metadata_file = next_.base_location, .timestamp = base_.last_updated});
    if (log.size() > versions_max) {
      log.erase(log.begin(), std::prev(log.end(), static_cast<std::ptrdiff_t>(versions_max)));
    }
    return {};
  }

  const TableMetadata& base_;
  const NextVersion& next_;
  TableMetadata metadata_;
  std::vector<SnapshotId> added_;
  bool removed_snapshots_ = false;
};

}  // namespace

Result<TableMetadata> ApplyUpdates(const TableMetadata& base,
                                   const std::vector<TableUpdate>& updates,
                                   const NextVersion& next) {
  Applier applier(base, next);
  for (const TableUpdate& update : updates) {
    LAKE_TRY_VOID(std::visit(applier, update));
  }
  return applier.Finish();
}

std::int64_t NextSequenceNumber(const TableMetadata& base) {
  return base.format_version == 1 ? 0 : base.last_sequence_number + 1;
}

WallTime NextTimestamp(const TableMetadata& base, WallTime now) {
  return std::max(base.last_updated, now);
}

Result<TableMetadata> AppendSnapshot(const TableMetadata& base, Snapshot snapshot,
                                     const NextVersion& next) {
  snapshot.parent_snapshot_id = base.current_snapshot_id;
  snapshot.sequence_number = NextSequenceNumber(base);
  snapshot.timestamp = NextTimestamp(base, next.now);
  snapshot.schema_id = base.current_schema_id;
  SnapshotRef main{.snapshot_id = snapshot.snapshot_id};
  if (const auto old = base.refs.find(kMainBranch); old != base.refs.end()) {
    main = old->second;
    main.snapshot_id = snapshot.snapshot_id;
  }
  return ApplyUpdates(base,
                      {AddSnapshot{std::move(snapshot)},
                       SetSnapshotRef{.name = std::string(kMainBranch), .ref = std::move(main)}},
                      next);
}

}  // namespace lake::iceberg
