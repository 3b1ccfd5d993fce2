#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/engine/metadata_ptr.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_update.h"

namespace lake::engine {

// Many small manifests become few: every append adds one, and every manifest list names them all. Nothing that a reader sees changes.
//
// Data manifests of unpartitioned tables of format version 2 are merged. Their live files become entries `existing` of the new
// manifest, each with the snapshot and the sequence numbers that it had, so that deletes go on to apply to just the files they applied
// to; entries of deleted files are dropped. Delete manifests, encrypted ones and those of another partition spec stay as they are.

// Properties of a table that say when its manifests are merged, Iceberg's own, and what holds if they are absent.
inline constexpr std::string_view kManifestMergeProperty = "commit.manifest-merge.enabled";
inline constexpr std::string_view kManifestMergeCountProperty =
    "commit.manifest.min-count-to-merge";
inline constexpr std::string_view kManifestTargetProperty = "commit.manifest.target-size-bytes";
inline constexpr std::int64_t kManifestMergeCountDefault = 100;
inline constexpr std::int64_t kManifestTargetBytesDefault = std::int64_t{8} << 20;

// What one merge takes on, however large a target is asked for: what it writes is in memory, and reading is one request a manifest.
inline constexpr std::int64_t kManifestTargetBytesMax = std::int64_t{64} << 20;
inline constexpr std::int64_t kMergeBytesMax = std::int64_t{128} << 20;
inline constexpr std::size_t kMergeSourcesMax = 5000;

// How a table wants its manifests merged.
struct ManifestMergePolicy {
  bool enabled = true;
  std::int64_t count_min = kManifestMergeCountDefault;
  std::int64_t target_bytes = kManifestTargetBytesDefault;  // At most kManifestTargetBytesMax.
};

// Reads a table's properties. kInvalidArgument, naming the property, for one that is no number of at least 1.
Result<ManifestMergePolicy> ReadManifestMergePolicy(const iceberg::Properties& properties);

// Manifests of which one is to be made, in the order of their list.
using ManifestGroup = std::vector<iceberg::ManifestFile>;

// Returns which of `manifests`, those of the current snapshot of `metadata`, are to be merged with which: nothing unless at least
// `count_min` are data manifests smaller than the target. They are taken from the oldest on and stay in order; each group has at least
// two manifests, of at most `target_bytes` together. At most kAttemptManifestsMax groups; a later call finds the rest.
// kCorruption: the list names a manifest twice.
Result<std::vector<ManifestGroup>> PlanManifestMerge(
    const iceberg::TableMetadata& metadata, const std::vector<iceberg::ManifestFile>& manifests,
    const ManifestMergePolicy& policy);

// A group, and the manifest that is to take its place.
struct MergedManifest {
  ManifestGroup sources;
  std::string file;                // Its bytes; empty if none of the sources' files is live.
  iceberg::ManifestFile manifest;  // Its path and snapshot are yet to be said.
};

// A version of a table with merged manifests.
struct ManifestMergePlan {
  MetadataPtr base;
  std::string planned_location;
  iceberg::SnapshotId snapshot_id{};
  std::vector<MergedManifest> merged;
  std::map<std::string, std::string> summary;  // Added to what the format asks for.
  WallTime now;
};

// What was written of a plan, and the updates that make it the current snapshot.
struct WrittenMerge {
  std::vector<iceberg::TableUpdate> updates;
  std::uint64_t replaced = 0;  // Manifests that the snapshot before has and this one has not.
  std::uint64_t created = 0;   // Manifests that took their place.
};

}  // namespace lake::engine
