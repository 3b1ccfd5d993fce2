#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/engine/metadata_cache.h"
#include "lake/engine/snapshot_reader.h"
#include "lake/engine/table_engine.h"
#include "lake/objstore/objstore.h"

namespace lake::engine {

// Iceberg tables in an object store. New tables have format version 2.
//
// The files of one attempt carry the UUID of its planned metadata file in their names, so that no two
// attempts write the same file and an aborted attempt can be cleared away by its plan alone:
//
//   <location>/metadata/<version>-<epoch>-<uuid>.metadata.json
//   <location>/metadata/snap-<snapshot id>-<uuid>.avro
//   <location>/metadata/<uuid>-m0.avro   Up to -m7: an append writes one manifest, a merge of manifests up to eight.
//
// Thread-safe. What it is given must outlive it.
class IcebergEngine final : public TableEngine {
 public:
  struct Options {
    std::uint64_t cache_bytes_max = std::uint64_t{32} << 20;  // Of metadata files kept parsed.
  };

  IcebergEngine(objstore::ObjectStore& objects, const Clock& clock, Random& random,
                Options options);

  Result<MetadataPtr> Plan(const CreatePlan& plan) override;
  Status Create(const CreatePlan& plan, Deadline deadline) override;
  Status CheckAppend(const iceberg::TableMetadata& metadata,
                     const std::vector<iceberg::DataFile>& files, Deadline deadline) override;
  Status Append(const AppendPlan& plan, Deadline deadline) override;
  Result<MetadataPtr> Commit(const CommitPlan& plan, Deadline deadline) override;
  Status CheckFile(std::string_view location, Deadline deadline) override;
  Result<PlannedState> Reconcile(std::string_view planned_location, const Uuid& incarnation,
                                 Deadline deadline) override;
  Result<MetadataPtr> Load(std::string_view metadata_location, Deadline deadline) override;
  Status RemoveAttempt(std::string_view planned_location, iceberg::SnapshotId snapshot_id,
                       Deadline deadline) override;
  Result<TableRemoval> StartRemoval(RemovalPlan plan) override;

 private:
  Result<iceberg::ManifestFile> WriteManifest(const AppendPlan& plan, const std::string& path,
                                              Deadline deadline);
  Result<MetadataPtr> PutMetadata(std::string_view planned_location,
                                  iceberg::TableMetadata metadata, Deadline deadline);

  // Reads a metadata file from the store into `bytes`, and keeps what it says in the cache.
  Result<MetadataPtr> Fetch(std::string_view metadata_location, Deadline deadline,
                            std::string* bytes);

  objstore::ObjectStore& objects_;
  Random& random_;
  const SnapshotReader reader_;
  MetadataCache cache_;
};

}  // namespace lake::engine
