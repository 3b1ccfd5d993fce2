#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/engine/normal_path.h"
#include "lake/engine/table_maintainer.h"
#include "lake/objstore/objstore.h"

namespace lake::engine {

// One search for the files of a table that nothing needs.
//
// The order makes it safe: files are listed first, and what the table needs is read after that. What was published in between is
// therefore seen as needed, and what is published later names files that are new, or that an older version names.
// Single-threaded.
class OrphanFiles {
 public:
  struct Deps {
    objstore::ObjectStore& objects;
    const Clock& clock;
  };

  // All must outlive it. kInvalidArgument: the location has no normal form.
  static Result<OrphanFiles> Make(Deps deps, const OrphanSearch& search,
                                  const TableMaintainer::Permit& permit, Deadline deadline);

  // See TableMaintainer::RemoveOrphans.
  Result<OrphanRemoval> Remove();

 private:
  // Old files of the listing, by their normal paths.
  using Candidates = std::unordered_map<std::string, objstore::ObjectInfo>;

  OrphanFiles(Deps deps, const OrphanSearch& search, const TableMaintainer::Permit& permit,
              Deadline deadline, LocationScope scope);

  // Fails if metadata of another table lies below the location.
  Status LookThrough();
  // Lists on until there are kOrphanWindow candidates, or no more files.
  Status FindCandidates();
  // Leaves of the candidates what the table does not need.
  Status SubtractNeeds();
  Status CheckTable(const TableNeeds& needs) const;
  Status SubtractReached(const MetadataPtr& metadata, const std::string& metadata_location);
  Status SubtractPlanned(const std::string& planned);
  // Leaves of the candidates all but this file; fails if it cannot be told which one it is.
  Status SubtractPath(const std::string& path);
  Status RemoveCandidates();
  Result<objstore::ObjectPage> ListAfter(const std::string& after);
  Status CheckTime() const;

  const Deps deps_;
  const OrphanSearch& search_;
  const TableMaintainer::Permit& permit_;
  const Deadline deadline_;
  const LocationScope scope_;
  const std::string prefix_;  // Below which files are listed.

  std::string after_;  // Where the listing goes on.
  bool listed_ = false;
  Candidates candidates_;
  // How else candidates may be called: their normal paths by these without escapes, and their names without folders.
  std::unordered_multimap<std::string, std::string> unescaped_;
  std::unordered_set<std::string> names_;
  OrphanRemoval removal_;
};

}  // namespace lake::engine
