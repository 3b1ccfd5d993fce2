#include "lake/sql/fake_tables_test_internal.h"

#include <chrono>
#include <set>
#include <utility>

#include "lake/base/check.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/sort_order.h"

namespace lake::sql {
namespace {

catalog::TableName Parse(const std::string& name) {
  auto parsed = catalog::ParseTableName(name);
  LAKE_CHECK(parsed.has_value(), "a test names its tables right");
  return *parsed;
}

}  // namespace

void FakeTables::Create(const std::string& name, const iceberg::Schema& schema,
                        const iceberg::Properties& properties) {
  const MutexLock lock(mutex_);
  Table table;
  table.metadata.table_uuid = Uuid({++tables_made_});
  table.metadata.location = "/warehouse/" + name;
  table.metadata.schemas = {schema};
  table.metadata.current_schema_id = schema.schema_id();
  table.metadata.last_column_id = schema.highest_field_id();
  table.metadata.properties = properties;
  tables_[Parse(name)] = std::move(table);
}

void FakeTables::Drop(const std::string& name) {
  const MutexLock lock(mutex_);
  tables_.erase(Parse(name));
}

iceberg::SnapshotId FakeTables::Append(const std::string& name,
                                       const std::vector<iceberg::DataFile>& files, WallTime time) {
  const MutexLock lock(mutex_);
  Table& table = tables_.at(Parse(name));
  iceberg::TableMetadata& metadata = table.metadata;
  iceberg::Snapshot snapshot;
  snapshot.sequence_number = ++metadata.last_sequence_number;
  snapshot.snapshot_id = iceberg::SnapshotId{snapshot.sequence_number};
  snapshot.parent_snapshot_id = metadata.current_snapshot_id;
  snapshot.timestamp = time;
  snapshot.manifest_list = metadata.location + "/list-" + std::to_string(snapshot.sequence_number);
  snapshot.summary = {{"operation", "append"}};
  snapshot.schema_id = metadata.current_schema_id;

  const auto add_manifest = [&](iceberg::ManifestContent content) {
    const bool data = content == iceberg::ManifestContent::kData;
    iceberg::ManifestFile manifest;
    manifest.manifest_path = snapshot.manifest_list + (data ? "-data" : "-deletes");
    manifest.content = content;
    manifest.sequence_number = snapshot.sequence_number;
    manifest.added_snapshot_id = snapshot.snapshot_id;
    auto& entries = entries_[manifest.manifest_path];
    for (const iceberg::DataFile& file : files) {
      if ((file.content == iceberg::FileContent::kData) == data) {
        entries.push_back({.snapshot_id = snapshot.snapshot_id,
                           .sequence_number = snapshot.sequence_number,
                           .file_sequence_number = snapshot.sequence_number,
                           .data_file = file});
      }
    }
    table.manifests.push_back(manifest);
  };
  add_manifest(iceberg::ManifestContent::kData);
  add_manifest(iceberg::ManifestContent::kDeletes);
  lists_[snapshot.manifest_list] = table.manifests;

  metadata.current_snapshot_id = snapshot.snapshot_id;
  metadata.snapshot_log.push_back({.snapshot_id = snapshot.snapshot_id, .timestamp = time});
  metadata.refs["main"] = {.snapshot_id = snapshot.snapshot_id};
  metadata.snapshots.push_back(snapshot);
  return snapshot.snapshot_id;
}

iceberg::SnapshotId FakeTables::Append(const std::string& name,
                                       const std::vector<iceberg::DataFile>& files) {
  std::int64_t minutes = 0;
  {
    const MutexLock lock(mutex_);
    minutes = tables_.at(Parse(name)).metadata.last_sequence_number;
  }
  constexpr auto kStart = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
  return Append(name, files, WallTime(kStart) + std::chrono::minutes(minutes));
}

void FakeTables::SetSchema(const std::string& name, const iceberg::Schema& schema) {
  Edit(name, [&](iceberg::TableMetadata& metadata) {
    metadata.schemas.push_back(
        schema.WithId(iceberg::SchemaId{static_cast<std::int32_t>(metadata.schemas.size())}));
    metadata.current_schema_id = metadata.schemas.back().schema_id();
  });
}

void FakeTables::Edit(const std::string& name,
                      const std::function<void(iceberg::TableMetadata&)>& change) {
  const MutexLock lock(mutex_);
  change(tables_.at(Parse(name)).metadata);
}

void FakeTables::Break(const std::string& name, const Error& error) {
  const MutexLock lock(mutex_);
  tables_.at(Parse(name)).error = error;
}

void FakeTables::BreakAll(std::optional<Error> error) {
  const MutexLock lock(mutex_);
  error_ = std::move(error);
}

std::size_t FakeTables::load_count() const {
  const MutexLock lock(mutex_);
  return loads_;
}

Result<std::vector<catalog::Namespace>> FakeTables::ListNamespaces() {
  const MutexLock lock(mutex_);
  if (error_.has_value()) {
    return std::unexpected(*error_);
  }
  std::set<catalog::Namespace> namespaces;
  for (const auto& [name, table] : tables_) {
    namespaces.insert(name.ns);
  }
  return std::vector<catalog::Namespace>(namespaces.begin(), namespaces.end());
}

Result<std::vector<catalog::TableName>> FakeTables::ListTables(const catalog::Namespace& ns) {
  const MutexLock lock(mutex_);
  if (error_.has_value()) {
    return std::unexpected(*error_);
  }
  std::vector<catalog::TableName> names;
  for (const auto& [name, table] : tables_) {
    if (name.ns == ns) {
      names.push_back(name);
    }
  }
  return names;
}

Result<SourceTable> FakeTables::LoadTable(const catalog::TableName& name) {
  const MutexLock lock(mutex_);
  ++loads_;
  if (error_.has_value()) {
    return std::unexpected(*error_);
  }
  const auto found = tables_.find(name);
  if (found == tables_.end()) {
    return NotFound("there is no table " + name.ToString());
  }
  if (found->second.error.has_value()) {
    return std::unexpected(*found->second.error);
  }
  return SourceTable{
      .incarnation = *found->second.metadata.table_uuid,
      .metadata_location = found->second.metadata.location + "/metadata.json",
      .metadata = std::make_shared<const iceberg::TableMetadata>(found->second.metadata)};
}

Result<std::vector<iceberg::ManifestFile>> FakeTables::ListManifests(
    const iceberg::TableMetadata& /*metadata*/, const iceberg::Snapshot& snapshot) {
  const MutexLock lock(mutex_);
  if (error_.has_value()) {
    return std::unexpected(*error_);
  }
  return lists_.at(snapshot.manifest_list);
}

Result<std::vector<iceberg::ManifestEntry>> FakeTables::ListLiveEntries(
    const iceberg::TableMetadata& /*metadata*/, const iceberg::ManifestFile& manifest) {
  const MutexLock lock(mutex_);
  if (error_.has_value()) {
    return std::unexpected(*error_);
  }
  return entries_.at(manifest.manifest_path);
}

}  // namespace lake::sql
