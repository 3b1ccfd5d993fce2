#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/engine/normal_path.h"
#include "lake/engine/snapshot_reader.h"
#include "lake/engine/table_maintainer.h"
#include "lake/iceberg/manifest.h"
#include "lake/objstore/objstore.h"

namespace lake::engine {

// One removal of what only expired snapshots reach. Manifests are compared first: most of an expired snapshot's are those of its
// successors too, and their files need not be looked at. What the others name is compared with everything that is kept, a bounded
// number of paths at a time. Files go before the manifests that name them, and those before their lists. Single-threaded.
class ExpiredFiles {
 public:
  // The most paths of data files that are compared at once.
  static constexpr std::size_t kPagePathsMax = 100'000;

  struct Deps {
    objstore::ObjectStore& objects;
    const SnapshotReader& reader;
    const Clock& clock;
  };

  // All must outlive it.
  ExpiredFiles(Deps deps, const ExpiredVersion& version, const TableMaintainer::Permit& permit,
               Deadline deadline)
      : deps_(deps), version_(version), permit_(permit), deadline_(deadline) {}

  // See TableMaintainer::RemoveExpired.
  Result<FileRemoval> Remove();

 private:
  // Paths as they are written, by their normal form.
  using Paths = std::unordered_map<std::string, std::string>;
  using Manifests = std::unordered_map<std::string, iceberg::ManifestFile>;

  Status FindManifests();
  Status AddManifests(const iceberg::Snapshot& snapshot, Manifests& manifests);
  Status RemoveDataFiles();
  // Leaves of `page` what no kept manifest names, and removes that.
  Status RemoveUnkept(Paths page);
  Status RemoveStatistics();
  Status RemoveManifestLists();
  // Calls `visit` with the path of every live file of a manifest, which must be there.
  Status ForEachFile(const iceberg::ManifestFile& manifest,
                     const std::function<Status(const std::string& path)>& visit);
  Status Remove(const Paths& paths);
  Status MayGoOn() const;

  const Deps deps_;
  const ExpiredVersion& version_;
  const TableMaintainer::Permit& permit_;
  const Deadline deadline_;
  std::vector<const iceberg::Snapshot*> expired_;
  Manifests dead_;
  Manifests kept_;  // Known only where there are dead ones.
  FileRemoval removal_;
};

}  // namespace lake::engine
