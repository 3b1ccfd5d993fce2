#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
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

// Applies updates in order and makes the version that follows `base`. About the table itself:
//   * AssignUuid gives an identity to a table that has none; none is ever exchanged.
//   * UpgradeFormatVersion never goes back, and is kUnimplemented past kFormatVersionMax.
//   * SetProperties refuses names that the format reserves.
// About schemas, partition specs and sort orders:
//   * What is added gets the next id, whatever id it came with; if the table has its equal already,
//     that one counts as added. Equal specs have the same columns, transforms and names; schemas and
//     orders are equal but for their id. last-column-id and last-partition-id only grow.
//   * Fields of a spec keep their ids, which must not be those of other fields of the table. Those of
//     id 0 get one: in v1 by position, later that of an equal field or the next.
//   * The current schema and the default spec stay, and so does the schema of a snapshot, until the
//     snapshot is removed. Whether manifests need a spec is for the caller to know.
//   * In the end the default spec and order suit the current schema, if any of the three changed.
// About snapshots:
//   * AddSnapshot takes the table's last-sequence-number and next-row-id forward. It is kConflict
//     if the table has moved past the snapshot's sequence number or first-row-id, kAlreadyExists if
//     the table has a snapshot of that id. A parent of kNoSnapshot is none.
//   * SetSnapshotRef on main makes the snapshot current and adds it to the snapshot log. A snapshot
//     that was current only between two updates is not logged. Without main there is no current
//     snapshot.
//   * RemoveSnapshots takes the refs and statistics of the snapshots away, too, and cuts the snapshot
//     log after its last entry whose snapshot is gone.
//   * Statistics are of a snapshot that the table has, and replace those it had.
// About the version:
//   * The base's file goes into the metadata log, which keeps the newest
//     write.metadata.previous-versions-max (at least one).
//   * last-updated-ms is the time of a snapshot that these updates added and made current, otherwise
//     `now`, and never before the base's: the logs stay sorted when a clock jumps back.
// Whatever is to be removed and is not there is passed over: cleaning up may run twice.
//
// kInvalidArgument, naming the update, for one that is wrong in itself, and for a result that breaks
// a rule of Validate; kUnimplemented for a partition or sort transform Lake does not know.
Result<TableMetadata> ApplyUpdates(const TableMetadata& base,
                                   const std::vector<TableUpdate>& updates,
                                   const NextVersion& next);

// When a table is made, and what it gets if its updates do not say.
struct FirstVersion {
  WallTime now;
  Uuid table_uuid;
  std::string location;
};

// Makes the first version of a table of updates alone, as ApplyUpdates would of a base without any
// content. Field ids are those of the updates. The format version is the first that an
// UpgradeFormatVersion names, else 2; schema and spec are the first ones unless an update sets them;
// without a spec or order, it is unpartitioned or unsorted. The metadata log is empty. Errors as for
// ApplyUpdates; kInvalidArgument without a schema, too.
Result<TableMetadata> NewTableFromUpdates(const std::vector<TableUpdate>& updates,
                                          const FirstVersion& first);

// Returns what a snapshot that follows `base` is to carry: its sequence number (0 in v1), and the
// moment it is made, which is not before anything in the base.
std::int64_t NextSequenceNumber(const TableMetadata& base);
WallTime NextTimestamp(const TableMetadata& base, WallTime now);

// Returns the updates that make `snapshot` the current one of `base`: it, filled in as AppendSnapshot says, and where main goes.
std::vector<TableUpdate> SnapshotUpdates(const TableMetadata& base, Snapshot snapshot,
                                         WallTime now);

// Makes `snapshot` the current one of `base`. Its id, manifest list and summary are the caller's
// (v3: first-row-id, which must be the base's next-row-id, and added-rows, too); parent, sequence
// number, time stamp and schema id are filled in here. Errors as for ApplyUpdates.
Result<TableMetadata> AppendSnapshot(const TableMetadata& base, Snapshot snapshot,
                                     const NextVersion& next);

}  // namespace lake::iceberg
