#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lake/iceberg/json_text.h"
#include "lake/iceberg/snapshot.h"

namespace lake::iceberg {

// What a snapshot did, as its summary's "operation" says.
enum class SnapshotOperation { kAppend, kReplace, kOverwrite, kDelete };

// Returns the format's word: "append", …
std::string_view SnapshotOperationName(SnapshotOperation operation);

// What a snapshot changed, counted.
struct SnapshotChanges {
  std::int64_t added_data_files = 0;
  std::int64_t deleted_data_files = 0;
  std::int64_t added_records = 0;
  std::int64_t deleted_records = 0;
  std::int64_t added_files_size = 0;    // Bytes, data and delete files.
  std::int64_t removed_files_size = 0;  // Bytes, data and delete files.
  std::int64_t added_delete_files = 0;
  std::int64_t removed_delete_files = 0;
  std::int64_t added_position_deletes = 0;
  std::int64_t removed_position_deletes = 0;
  std::int64_t added_equality_deletes = 0;
  std::int64_t removed_equality_deletes = 0;
  std::optional<std::int64_t> changed_partition_count;
};

// Returns a snapshot's summary: the operation, the counts that are not zero, the totals that follow
// from those of `parent` (the branch's snapshot before; nullptr for a first one), and the entries
// of `extra` that have other names. A total whose predecessor is missing, no number, or smaller
// than what was removed is left out: better none than a wrong one.
Properties MakeSummary(SnapshotOperation operation, const SnapshotChanges& changes,
                       const Snapshot* parent, const Properties& extra);

// Returns the number that a summary holds under `name`, or nothing if there is none.
std::optional<std::int64_t> SummaryNumber(const Snapshot& snapshot, std::string_view name);

}  // namespace lake::iceberg
