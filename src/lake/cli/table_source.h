#pragma once

#include <vector>

#include "lake/base/clock.h"
#include "lake/engine/snapshot_reader.h"
#include "lake/metasrv/service.h"
#include "lake/sql/table_source.h"

namespace lake::cli {

// SQL's tables are those that the control plane names, at the version it names when asked. Thread-safe, as its parts are; they
// must outlive it.
class ServiceTableSource final : public sql::TableSource {
 public:
  ServiceTableSource(metasrv::MetaService& service, const engine::SnapshotReader& reader,
                     const Clock& clock)
      : service_(service), reader_(reader), clock_(clock) {}

  Result<std::vector<catalog::Namespace>> ListNamespaces() override;
  Result<std::vector<catalog::TableName>> ListTables(const catalog::Namespace& ns) override;
  Result<sql::SourceTable> LoadTable(const catalog::TableName& name) override;
  Result<std::vector<iceberg::ManifestFile>> ListManifests(
      const iceberg::TableMetadata& metadata, const iceberg::Snapshot& snapshot) override;
  Result<std::vector<iceberg::ManifestEntry>> ListLiveEntries(
      const iceberg::TableMetadata& metadata, const iceberg::ManifestFile& manifest) override;

 private:
  Deadline NextDeadline() const;

  metasrv::MetaService& service_;
  const engine::SnapshotReader& reader_;
  const Clock& clock_;
};

}  // namespace lake::cli
