#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_update.h"

// From one table version to the next. Everything here is a pure function of its arguments: when the
// table has moved on, refresh the base and run it again.
namespace lake::iceberg {

// How many earlier metadata files the metadata log keeps, if the table does not say.
inline constexpr std::string_view kPreviousVersionsMaxProperty =
    "write.metadata.previous-versions-max";
inline constexpr std::int64_t kPreviousVersionsMaxDefault = 100;

// Where and when a new version is made.
struct NextVersion {
  WallTime now;
  std::string base_location;  // The metadata file of the base.
};

// Applies updates in order and makes the version that follows `base`:
//   * AddSnapshot takes the table's last-sequence-number and next-row-id forward. It is kConflict
//     if the table has moved past the snapshot's sequence number or first-row-id, kAlreadyExists if
//     the table has a snapshot of that id.
//   * SetSnapshotRef on main makes the snapshot current and adds it to the snapshot log. A snapshot
//     that was current only between two updates is not logged.
//   * RemoveSnapshots takes the refs and statistics of the snapshots away, too, and cuts the snapshot
//     log after its last entry whose snapshot is gone. A snapshot that is not there is passed over,
//     and so is a ref or property that is to be removed: expiring and cleaning may run twice.
//   * Without the main branch there is no current snapshot.
//   * The base's file goes into the metadata log, which keeps the newest
//     write.metadata.previous-versions-max (at least one).
//   * last-updated-ms is the time of a snapshot that these updates added and made current, otherwise
//     `now`, and never before the base's: the logs stay sorted when a clock jumps back.
// kInvalidArgument for an update or property that is wrong in itself, or a result that breaks a
// rule of Validate.
Result<TableMetadata> ApplyUpdates(const TableMetadata& base,
                                   const std::vector<TableUpdate>& updates,
                                   const NextVersion& next);

// Returns what a snapshot that follows `base` is to carry: its sequence number (0 in v1), and the
// moment it is made, which is not before anything in the base.
std::int64_t NextSequenceNumber(const TableMetadata& base);
WallTime NextTimestamp(const TableMetadata& base, WallTime now);

// Makes `snapshot` the current one of `base`. Its id, manifest list and summary are the caller's
// (v3: first-row-id, which must be the base's next-row-id, and added-rows, too); parent, sequence
// number, time stamp and schema id are filled in here. Errors as for ApplyUpdates.
Result<TableMetadata> AppendSnapshot(const TableMetadata& base, Snapshot snapshot,
                                     const NextVersion& next);

}  // namespace lake::iceberg
