#pragma once

#include <vector>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/engine/manifest_merge.h"
#include "lake/engine/snapshot_reader.h"
#include "lake/engine/table_maintainer.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/objstore/objstore.h"

namespace lake::engine {

// Maintains Iceberg tables in an object store. Thread-safe. What it is given must outlive it.
class IcebergMaintainer final : public TableMaintainer {
 public:
  IcebergMaintainer(objstore::ObjectStore& objects, const Clock& clock, Random& random)
      : objects_(objects), clock_(clock), random_(random), reader_(objects, clock) {}

  Result<FileRemoval> RemoveExpired(const ExpiredVersion& version, const Permit& permit,
                                    Deadline deadline) override;
  Result<OrphanRemoval> RemoveOrphans(const OrphanSearch& search, const Permit& permit,
                                      Deadline deadline) override;
  Result<std::vector<ManifestGroup>> PlanMerge(const iceberg::TableMetadata& metadata,
                                               Deadline deadline) override;
  Result<MergedManifest> MergeManifests(const iceberg::TableMetadata& metadata,
                                        const ManifestGroup& group, const Permit& permit,
                                        Deadline deadline) override;
  Result<WrittenMerge> WriteMerge(const ManifestMergePlan& plan, Deadline deadline) override;

 private:
  objstore::ObjectStore& objects_;
  const Clock& clock_;
  Random& random_;
  const SnapshotReader reader_;
};

}  // namespace lake::engine
