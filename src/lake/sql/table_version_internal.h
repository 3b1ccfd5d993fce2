#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/table_metadata.h"

namespace lake::sql {

// A version of a table: what one reference in a query reads. The pointers live as long as the
// metadata.
struct TableVersion {
  const iceberg::Schema* schema = nullptr;      // The columns one sees.
  const iceberg::Snapshot* snapshot = nullptr;  // Null while the table has never been written.

  bool operator==(const TableVersion&) const = default;
};

// Returns the version one reads without saying which.
TableVersion CurrentVersion(const iceberg::TableMetadata& metadata);

// Returns the version of a snapshot, with the columns the table had then. kInvalidArgument: the table has
// no such snapshot (any more); the message says what there is.
Result<TableVersion> VersionOfSnapshot(const iceberg::TableMetadata& metadata,
                                       iceberg::SnapshotId snapshot);

// Returns the version that a branch or tag names; if there is no such ref and the text is a number,
// that of the snapshot. A branch has the table's columns of today, a tag those of its snapshot.
// kInvalidArgument: neither; the message lists the refs.
Result<TableVersion> VersionOfRef(const iceberg::TableMetadata& metadata, std::string_view name);

// Returns the version that was current at a moment, with the columns of then. kInvalidArgument: the table
// (or what is left of its history) is younger.
Result<TableVersion> VersionAsOf(const iceberg::TableMetadata& metadata, WallTime moment);

// Returns a moment as people write it: "2024-03-01 12:00:00.000 UTC".
std::string FormatMoment(WallTime moment);

}  // namespace lake::sql
