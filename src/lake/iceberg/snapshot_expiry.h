#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/table_metadata.h"

// Which snapshots and refs of a table have had their time. Pure: what is removed, and when, is the caller's business.
namespace lake::iceberg {

// Properties of a table that say how long its history is kept, and what holds if they are absent.
//
//   history.expire.max-snapshot-age-ms     how old a branch's snapshots may be: 5 days. A branch may say it for itself.
//   history.expire.min-snapshots-to-keep   how many of a branch's newest are kept however old they are: 1. Likewise.
//   history.expire.max-ref-age-ms          how old the snapshot of a branch or tag may be: any age. A ref may say it for itself.
//   lake.expire.max-snapshots              how many of a branch's newest are kept however young the others are; 0: all of them.
//
// The last one is Lake's own, so that a table with many small appends does not carry thousands of snapshots in every version of
// its metadata. Whoever says how long snapshots are kept is taken at his word: without the last property, its default does not
// bound a branch for which an age is given, be it by the table or by the branch.
inline constexpr std::string_view kMaxSnapshotAgeProperty = "history.expire.max-snapshot-age-ms";
inline constexpr std::string_view kMinSnapshotsProperty = "history.expire.min-snapshots-to-keep";
inline constexpr std::string_view kMaxRefAgeProperty = "history.expire.max-ref-age-ms";
inline constexpr std::string_view kMaxSnapshotsProperty = "lake.expire.max-snapshots";
inline constexpr std::chrono::milliseconds kMaxSnapshotAgeDefault = std::chrono::days(5);
inline constexpr std::int64_t kMinSnapshotsDefault = 1;
inline constexpr std::int64_t kMaxSnapshotsDefault = 1000;

// How long a table's history is kept. Absent: no such bound was set.
struct ExpiryPolicy {
  std::optional<std::chrono::milliseconds> max_snapshot_age;
  std::int64_t min_snapshots_to_keep = kMinSnapshotsDefault;
  std::optional<std::chrono::milliseconds> max_ref_age;
  std::optional<std::int64_t> max_snapshots;  // 0: no bound.

  bool operator==(const ExpiryPolicy&) const = default;
};

// Reads a table's properties. kInvalidArgument, naming the property, for one that is no number or below its least value: 1, for
// lake.expire.max-snapshots 0.
Result<ExpiryPolicy> ReadExpiryPolicy(const Properties& properties);

// What is to be removed, in the metadata's order.
struct Expiry {
  std::vector<SnapshotId> snapshots;
  std::vector<std::string> refs;

  bool empty() const { return snapshots.empty() && refs.empty(); }

  bool operator==(const Expiry&) const = default;
};

// Returns what of `metadata` has expired by `now`.
//
//   * main, and with it the current snapshot, stays. Another ref goes when its snapshot is older than its age allows.
//   * The snapshot of every ref that stays, stays. Of a branch that stays, so do its newest min-snapshots-to-keep, and those
//     that follow until the first one that is too old, or one too many.
//   * A snapshot that no ref which stays leads to by parents (staged, or of an expired ref, or rolled back) goes when it is too old.
//
// A snapshot is kept if any ref keeps it. Ages are counted by the snapshots' own times; one from the future is young.
Expiry PlanExpiry(const TableMetadata& metadata, const ExpiryPolicy& policy, WallTime now);

}  // namespace lake::iceberg
