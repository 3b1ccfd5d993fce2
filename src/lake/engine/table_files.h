#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/engine/metadata_ptr.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/manifest_reader.h"
#include "lake/iceberg/snapshot.h"
#include "lake/objstore/objstore.h"

namespace lake::engine {

// What a file is to the table that reaches it.
enum class TableFileKind {
  kDataFile,
  kDeleteFile,  // Of positions or equality, in whatever format.
  kManifest,
  kManifestList,
  kStatistics,
  kPartitionStatistics,
  kEarlierMetadata,  // A metadata file of the metadata log.
  kMetadata,         // The metadata file itself.
};

// A file that a table reaches.
struct TableFile {
  TableFileKind kind = TableFileKind::kDataFile;
  std::string path;                   // As the file that names it has it.
  std::optional<std::uint64_t> size;  // If the file that names it says so.

  bool operator==(const TableFile&) const = default;
};

// Goes through every file that a table version reaches, a bounded page at a time: the data and delete files, manifests and manifest
// lists of its snapshots, statistics, the metadata log, and the metadata file itself.
//
// Laws:
//   1. A page holds no file that another file of the page names, and a file comes only after every file that it names has come. Whoever deletes
//      page after page therefore never loses the way to what is left; the metadata file is the last page, alone.
//   2. The walk is complete or it fails: a manifest that cannot be read ends it with an error, it does not shorten it.
//   3. Manifests come once each, however many snapshots share them. Data and delete files may come more than once.
//
// Files whose entries a manifest marks as deleted are not reached by that manifest. Memory: one manifest, and the paths of all
// manifests. Single-threaded.
class TableFileWalk {
 public:
  // What it means that a manifest or manifest list is not there.
  enum class Missing {
    kDamage,   // The table is damaged.
    kRemoved,  // An earlier walk removed it, and by law 1 everything below it before.
  };

  struct Options {
    // Which snapshots' files come, with the statistics of these snapshots. Without it: all. The metadata log and the metadata file
    // come in any case.
    std::function<bool(const iceberg::Snapshot&)> include;
    Missing missing = Missing::kDamage;
    std::size_t page_files_max = 1000;  // Of one page.
    std::size_t page_reads_max = 64;    // Manifests and manifest lists read before a page ends.
  };

  // Both `objects` and what `metadata` points to must outlive the walk. `metadata_location` is the file of `metadata`.
  TableFileWalk(objstore::ObjectStore& objects, MetadataPtr metadata, std::string metadata_location,
                Options options);

  // Returns the next page; an empty one is the end. Blocks on the object store until the deadline.
  //   kUnavailable, kDeadlineExceeded, …   the store failed; a further call goes on where this one stopped.
  //   kCorruption     a manifest or manifest list is damaged, or missing where that is damage. The message names it.
  //   kUnimplemented  it is of a form that Lake does not read.
  // After the last two the walk is over: every further call returns the same.
  Result<std::vector<TableFile>> Next(Deadline deadline);

 private:
  enum class Stage { kSnapshots, kStatistics, kEarlierMetadata, kMetadata, kEnd };

  // The manifests of the snapshot whose turn it is.
  struct OpenSnapshot {
    std::string list;  // Empty in format version 1.
    std::vector<iceberg::ManifestFile> manifests;
    std::size_t next = 0;
  };

  bool Includes(iceberg::SnapshotId id) const;
  // Each does the smallest step there is and adds what it found to the batch.
  Status Advance(Deadline deadline);
  Status AdvanceSnapshots(Deadline deadline);
  Status OpenNextSnapshot(Deadline deadline);
  Status OpenNextManifest(Deadline deadline);
  Status ReadEntry();
  void AddStatistics();
  // Reads a manifest or its list; nothing when it was removed.
  Result<std::optional<std::string>> Read(const std::string& path, std::string_view what,
                                          Deadline deadline);
  bool BatchIsFull() const;
  // Turns the batch into pages: the files below before those that name them.
  void FlushBatch();

  objstore::ObjectStore& objects_;
  const MetadataPtr metadata_;
  const std::string metadata_location_;
  const Options options_;

  Stage stage_ = Stage::kSnapshots;
  std::optional<Error> over_;  // Why the walk cannot go on.
  std::size_t next_snapshot_ = 0;
  std::optional<OpenSnapshot> snapshot_;
  std::optional<iceberg::ManifestReader> reader_;  // Of the manifest before snapshot_->next.
  iceberg::ManifestEntry entry_;
  std::set<std::string> seen_;  // Manifests.

  // What was found and is in no page yet: each kind is complete only if everything it names is in the batch or came before.
  std::vector<TableFile> leaves_;
  std::vector<TableFile> manifests_;
  std::vector<TableFile> lists_;
  std::size_t reads_ = 0;
  std::deque<std::vector<TableFile>> pages_;
};

// Calls `visit` with every file that a table version reaches, in the order of TableFileWalk, until one call fails. Errors are those
// calls' and TableFileWalk::Next's.
Status VisitTableFiles(objstore::ObjectStore& objects, const MetadataPtr& metadata,
                       const std::string& metadata_location, const TableFileWalk::Options& options,
                       Deadline deadline, const std::function<Status(const TableFile&)>& visit);

}  // namespace lake::engine
