#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/objstore/objstore.h"

namespace lake::engine {

// The largest manifest or manifest list that is read.
inline constexpr std::uint64_t kManifestBytesMax = std::uint64_t{512} << 20;

// What a person should know about a table's files.
struct CheckReport {
  std::uint64_t snapshots = 0;
  std::uint64_t manifests = 0;
  std::uint64_t data_files = 0;
  std::uint64_t rows = 0;             // Of the current snapshot.
  std::vector<std::string> problems;  // One sentence each; empty: the table is sound.
};

// Reads what a snapshot consists of. Thread-safe.
class SnapshotReader {
 public:
  explicit SnapshotReader(objstore::ObjectStore& objects, const Clock& clock)
      : objects_(objects), clock_(clock) {}

  // Returns the manifests of a snapshot, which must be one of the table's. kCorruption: the manifest list is missing or damaged;
  // the message names it. kUnavailable: the object store failed.
  Result<std::vector<iceberg::ManifestFile>> ListManifests(const iceberg::TableMetadata& metadata,
                                                           const iceberg::Snapshot& snapshot,
                                                           Deadline deadline) const;

  // Calls `visit` with every entry of a manifest that is not deleted, with inherited values filled in, until it fails, and returns
  // its error then. Holds the manifest's file and one entry. Errors as for ListManifests.
  Status ForEachLiveEntry(const iceberg::ManifestFile& manifest, Deadline deadline,
                          const std::function<Status(const iceberg::ManifestEntry&)>& visit) const;

  // Returns the entries of a manifest that are not deleted, with inherited values filled in. Errors as for ListManifests.
  Result<std::vector<iceberg::ManifestEntry>> ListLiveEntries(
      const iceberg::TableMetadata& metadata, const iceberg::ManifestFile& manifest,
      Deadline deadline) const;

  // Verifies that every file which the table reaches (data and delete files, manifests, their lists, statistics, earlier metadata
  // files) exists with the size the metadata says, and that row and file counts agree with the summaries. What is wrong with the table is in the report; an error means that checking failed.
  Result<CheckReport> Check(const iceberg::TableMetadata& metadata, Deadline deadline) const;

 private:
  objstore::ObjectStore& objects_;
  const Clock& clock_;
};

}  // namespace lake::engine
