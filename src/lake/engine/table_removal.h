#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/engine/normal_path.h"
#include "lake/engine/table_files.h"
#include "lake/objstore/objstore.h"

namespace lake::engine {

// Which files of a dropped table are to be removed.
struct RemovalPlan {
  enum class Extent {
    // All that lies below the location, which no other table and nobody else ever used.
    kEverything,
    // What the table's metadata names, if it lies below the location. What else is there is somebody else's.
    kWhatTheTableNames,
  };

  Uuid incarnation;
  std::string location;
  std::string metadata_location;  // The last one that was registered.
  Extent extent = Extent::kWhatTheTableNames;
};

// How far a removal has come.
struct RemovalProgress {
  std::uint64_t removed = 0;  // Files so far; a resumed removal counts anew.
  bool done = false;          // Nothing is left to remove.
};

// The most files that one step of a removal looks at or removes.
inline constexpr std::size_t kRemovalPageMax = 1000;

// Removes the files of a table that nobody can reach any more, step by step. The caller has made sure that the table is dropped for
// good, and makes sure before every step that it still is the one to do it.
//
// Laws:
//   1. Nothing is removed that does not lie below the location.
//   2. Before the first file goes, everything below the location was looked through for the metadata file of another table. If there is
//      one, nothing is removed.
//   3. The order of removal keeps what is needed to find the rest: it may be abandoned after any step, and another removal with the same
//      plan, in whatever process, ends with the same files gone. The registered metadata file goes last.
//   4. Where the table's metadata says what is to go, a file of it that cannot be read stops the removal; it never shortens it. Where
//      everything goes, damaged files do not stand in the way.
//
// Single-threaded. The object store must outlive it.
class TableRemoval {
 public:
  // kInvalidArgument: the location is not one that can be compared (NormalPath).
  static Result<TableRemoval> Start(objstore::ObjectStore& objects, RemovalPlan plan);

  // Does the next part, of at most kRemovalPageMax files. Blocks on the object store until the deadline.
  //   kUnavailable, kOutcomeUnknown, kDeadlineExceeded, kPermissionDenied   the store failed: call again later.
  //   kConflict       a file of another table lies below the location, or it cannot be told whether a file does. A person must look.
  //   kCorruption     a file that names others is damaged; the message names it. It can be repaired, or removed by hand: then
  //                   what it alone named stays.
  //   kUnimplemented  a file is of a form that Lake does not read.
  //   kInvalidArgument  the store does not take the location.
  // After the last four the removal is over; start another one.
  Result<RemovalProgress> Continue(Deadline deadline);

 private:
  enum class Stage {
    kMetadata,
    kLookThrough,
    kNamedFiles,
    kAllFiles,
    kMetadataFiles,
    kLast,
    kDone
  };

  TableRemoval(objstore::ObjectStore& objects, RemovalPlan plan, LocationScope scope);

  Status LoadMetadata(Deadline deadline);
  Status LookThrough(Deadline deadline);
  Status CheckMetadataFile(const objstore::ObjectInfo& file, Deadline deadline);
  Status RemoveNamedFiles(Deadline deadline);
  Status RemoveAllFiles(Deadline deadline);
  Status RemoveMetadataFiles(Deadline deadline);
  Status RemoveLast(Deadline deadline);
  Status Delete(const std::vector<std::string>& paths, Deadline deadline);
  bool IsLast(std::string_view path) const;

  objstore::ObjectStore& objects_;
  const RemovalPlan plan_;
  const LocationScope scope_;
  const std::string prefix_;               // Below which files are listed.
  const std::optional<std::string> last_;  // The normal form of the registered metadata file.

  Stage stage_ = Stage::kMetadata;
  RemovalProgress progress_;
  MetadataPtr metadata_;  // Unless it is gone or damaged.
  std::set<std::string>
      named_;  // The normal forms of the metadata files that the table's own metadata names.
  std::string after_;                           // Where the listing goes on; empty at its start.
  bool listed_ = false;                         // The listing of this stage has come to its end.
  std::deque<objstore::ObjectInfo> unchecked_;  // Metadata files.
  std::vector<std::string> metadata_files_;     // To be removed after all others.
  std::optional<TableFileWalk> walk_;
  std::vector<TableFile> page_;  // Of the walk, not yet removed.
};

}  // namespace lake::engine
