#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/engine/manifest_merge.h"
#include "lake/engine/table_engine.h"
#include "lake/iceberg/table_metadata.h"

namespace lake::engine {

// A version that was published, and the one before it, of which it gave snapshots up.
struct ExpiredVersion {
  MetadataPtr before;
  MetadataPtr after;
};

// What a removal came to.
struct FileRemoval {
  std::uint64_t files = 0;  // Removed; also those that were gone already.
  std::uint64_t outside =
      0;  // Needed by nobody, but not below the table's location: left where they are.
};

// What keeps files of a table from being orphans.
struct TableNeeds {
  MetadataPtr metadata;           // The version that is registered.
  std::string metadata_location;  // Its file.
  // The metadata files that pending operations plan. Each makes its attempt's files needed, and if it is there, all that it reaches.
  std::vector<std::string> planned;
};

// A search for files that nothing needs.
struct OrphanSearch {
  Uuid incarnation;
  std::string location;
  WallTime
      before;  // Files written then or later are left. It gives those who wrote files time to publish them.
  bool dry_run = false;  // Only say what would be removed.
  // Returns what the table needs at that moment; asked after files were listed, once for every kOrphanWindow of them. It reads what is
  // pending before it reads what is registered: an operation that ends between the two is then seen at least once.
  std::function<Result<TableNeeds>()> read_needs;
};

// How many old files are compared at once with what a table needs, and the most paths that a removal names.
inline constexpr std::size_t kOrphanWindow = 100'000;
inline constexpr std::size_t kOrphanPathsMax = 100;

// What a search for orphans came to.
struct OrphanRemoval {
  std::uint64_t files = 0;         // Removed; in a dry run, to be removed.
  std::uint64_t bytes = 0;         // Their size.
  std::vector<std::string> paths;  // The first of them.
};

// Keeps the files of tables tidy. Whatever it removes, nobody who reads an unexpired snapshot, branch or tag needs; where that is not
// certain, it removes nothing and says why. What a crash leaves behind, an orphan removal finds.
//
// Every method may block on the object store until its deadline and returns, besides what it says itself:
//   kUnavailable, kOutcomeUnknown, kDeadlineExceeded   the object store failed, or the time is over; what was removed is removed.
//   kCorruption     a file of the table is damaged or missing, so that it cannot be said what it needs; the message names it.
//   kUnimplemented  it is of a form that Lake does not read. Likewise.
// and what `permit` returned.
// Thread-safe.
class TableMaintainer {
 public:
  // Asked before every effect, at least once for every thousand files: whether the caller may still act. Its error ends the work.
  using Permit = std::function<Status()>;

  virtual ~TableMaintainer() = default;

  // Removes the files that snapshots of `before` reach and no snapshot of `after` does: data and delete files, manifests, their
  // lists, statistics. Only what lies below the table's location is removed. May be done at any time after the publication, also
  // while the table goes on changing: what no snapshot of a version reaches, no later version comes to reach.
  // kInvalidArgument: a path cannot be compared with others; nothing is removed that depends on it.
  virtual Result<FileRemoval> RemoveExpired(const ExpiredVersion& version, const Permit& permit,
                                            Deadline deadline) = 0;

  // Removes the files below a table's location that it does not need: that neither the registered version reaches, by any snapshot,
  // branch or tag, its statistics or its metadata log, nor a pending operation, and that are old. Left are, however old: Hadoop's
  // version-hint.text, and what has a part that begins with "." or "_" in its path, which other programs take for hidden.
  // Before the first file goes, everything below the location is looked through for metadata of other tables. Whatever is unclear ends
  // the search; nothing more is removed then.
  //   kConflict        a metadata file of another table lies below the location, or one that does not say whose it is; it cannot be
  //                    told whether two paths name one file; or the table says that its files may belong to others (gc.enabled).
  //   kInvalidArgument a path has no form that can be compared.
  // and what `read_needs` returned.
  virtual Result<OrphanRemoval> RemoveOrphans(const OrphanSearch& search, const Permit& permit,
                                              Deadline deadline) = 0;

  // Returns which manifests of the current snapshot should be merged with which (manifest_merge.h); nothing if there is nothing to
  // gain. Writes nothing. kInvalidArgument: a property of the table is wrong; the message names it.
  virtual Result<std::vector<ManifestGroup>> PlanMerge(const iceberg::TableMetadata& metadata,
                                                       Deadline deadline) = 0;

  // Reads the manifests of a group that PlanMerge returned for `metadata` and makes the one of them that is to take their place, in
  // memory. It takes a request for each of them, and `permit` is asked before each. kCorruption, too: what the manifest list says of
  // one of them is not what is in it.
  virtual Result<MergedManifest> MergeManifests(const iceberg::TableMetadata& metadata,
                                                const ManifestGroup& group, const Permit& permit,
                                                Deadline deadline) = 0;

  // Writes the merged manifests and the list of a snapshot that has them in place of their sources and is otherwise the current one of
  // `plan.base`, and returns the updates that make that so, for TableEngine::Commit with the same planned location. The
  // files' names follow from that (TableEngine::RemoveAttempt removes them). The base may be a later version than that which the manifests were
  // read of: a group of which it has not all any more is left out. kConflict: it has none of the groups, and nothing was written.
  virtual Result<WrittenMerge> WriteMerge(const ManifestMergePlan& plan, Deadline deadline) = 0;
};

}  // namespace lake::engine
