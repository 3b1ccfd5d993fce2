#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/catalog/names.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/table_metadata.h"

namespace lake::sql {

// A table as it is registered at one moment.
struct SourceTable {
  Uuid incarnation;
  std::string metadata_location;
  std::shared_ptr<const iceberg::TableMetadata> metadata;
};

// Where SQL finds tables: names, metadata, and the files of a snapshot. It reads only; a session
// asks it once for each table of a transaction and keeps what it got.
//
// Every method may block, bounds its own waiting, and returns:
//   kNotFound       the namespace or table does not exist.
//   kCorruption     stored bytes of this table are damaged; other tables work.
//   kUnavailable    a store failed; retry.
// Thread-safe.
class TableSource {
 public:
  virtual ~TableSource() = default;

  // Returns every namespace, at every depth.
  virtual Result<std::vector<catalog::Namespace>> ListNamespaces() = 0;

  // Returns the tables directly in `ns`.
  virtual Result<std::vector<catalog::TableName>> ListTables(const catalog::Namespace& ns) = 0;

  // Returns the table of exactly this name, as it is now.
  virtual Result<SourceTable> LoadTable(const catalog::TableName& name) = 0;

  // Returns the manifests of a snapshot of the table.
  virtual Result<std::vector<iceberg::ManifestFile>> ListManifests(
      const iceberg::TableMetadata& metadata, const iceberg::Snapshot& snapshot) = 0;

  // Returns the entries of a manifest that are not deleted, with inherited values filled in.
  virtual Result<std::vector<iceberg::ManifestEntry>> ListLiveEntries(
      const iceberg::TableMetadata& metadata, const iceberg::ManifestFile& manifest) = 0;
};

}  // namespace lake::sql
