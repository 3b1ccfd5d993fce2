#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/time.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"

namespace lake::iceberg {

// The branch whose snapshot is the table's current one.
inline constexpr std::string_view kMainBranch = "main";

// The state of a table at one time: a list of manifests and how it came about.
struct Snapshot {
  SnapshotId snapshot_id{};
  std::optional<SnapshotId> parent_snapshot_id;
  std::int64_t sequence_number = 0;  // 0 in v1.
  WallTime timestamp;
  std::string manifest_list;  // Location; empty only in v1, when `manifests` names them directly.
  std::vector<std::string> manifests;
  Properties summary;  // Includes "operation"; empty only in v1. See snapshot_summary.h.
  std::optional<SchemaId> schema_id;
  std::optional<std::int64_t> first_row_id;  // v3
  std::optional<std::int64_t> added_rows;    // v3
  std::optional<std::string> key_id;         // v3
  UnknownMembers unknown;

  bool operator==(const Snapshot&) const = default;
};

// A name for a snapshot: a tag stays where it is, a branch moves with every commit to it.
struct SnapshotRef {
  enum class Kind { kBranch, kTag };

  SnapshotId snapshot_id{};
  Kind kind = Kind::kBranch;
  std::optional<std::int32_t> min_snapshots_to_keep;          // Branches only; positive.
  std::optional<std::chrono::milliseconds> max_snapshot_age;  // Branches only; positive.
  std::optional<std::chrono::milliseconds> max_ref_age;       // Not for main; positive.
  UnknownMembers unknown;

  bool operator==(const SnapshotRef&) const = default;
};

// An entry of the snapshot log: which snapshot became current when.
struct SnapshotLogEntry {
  SnapshotId snapshot_id{};
  WallTime timestamp;
  UnknownMembers unknown;

  bool operator==(const SnapshotLogEntry&) const = default;
};

}  // namespace lake::iceberg
