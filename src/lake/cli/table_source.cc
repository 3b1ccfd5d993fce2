#include "lake/cli/table_source.h"

#include <utility>

#include "lake/cli/context.h"

namespace lake::cli {

Deadline ServiceTableSource::NextDeadline() const {
  return clock_.Now() + kReadTimeout;
}

Result<std::vector<catalog::Namespace>> ServiceTableSource::ListNamespaces() {
  return service_.ListNamespaces({}, NextDeadline());
}

Result<std::vector<catalog::TableName>> ServiceTableSource::ListTables(
    const catalog::Namespace& ns) {
  return service_.ListTables(ns, NextDeadline());
}

Result<sql::SourceTable> ServiceTableSource::LoadTable(const catalog::TableName& name) {
  LAKE_TRY(metasrv::LoadedTable table, service_.LoadTable(name, NextDeadline()));
  return sql::SourceTable{.incarnation = table.registration.incarnation,
                          .metadata_location = std::move(table.registration.metadata_location),
                          .metadata = std::move(table.metadata)};
}

Result<std::vector<iceberg::ManifestFile>> ServiceTableSource::ListManifests(
    const iceberg::TableMetadata& metadata, const iceberg::Snapshot& snapshot) {
  return reader_.ListManifests(metadata, snapshot, NextDeadline());
}

Result<std::vector<iceberg::ManifestEntry>> ServiceTableSource::ListLiveEntries(
    const iceberg::TableMetadata& metadata, const iceberg::ManifestFile& manifest) {
  return reader_.ListLiveEntries(metadata, manifest, NextDeadline());
}

}  // namespace lake::cli
