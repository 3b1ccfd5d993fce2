#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/mutex.h"
#include "lake/base/thread_annotations.h"
#include "lake/catalog/names.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/sql/table_source.h"

namespace lake::sql {

// Tables that a test makes up. Metadata is real, manifests are kept in memory. Names are written as on the command line; a
// table's namespace comes into being with it. Thread-safe.
class FakeTables final : public TableSource {
 public:
  // Adds a table without a snapshot.
  void Create(const std::string& name, const iceberg::Schema& schema,
              const iceberg::Properties& properties = {}) EXCLUDES(mutex_);
  void Drop(const std::string& name) EXCLUDES(mutex_);

  // Makes a snapshot of the files there are and the new ones the current one, `time` after 2026-01-01T00:00Z. Sequence numbers
  // count from 1, and so do snapshot ids.
  iceberg::SnapshotId Append(const std::string& name, const std::vector<iceberg::DataFile>& files,
                             WallTime time) EXCLUDES(mutex_);
  // The same, with a time that grows by a minute.
  iceberg::SnapshotId Append(const std::string& name, const std::vector<iceberg::DataFile>& files)
      EXCLUDES(mutex_);

  // Makes `schema` the current one.
  void SetSchema(const std::string& name, const iceberg::Schema& schema) EXCLUDES(mutex_);
  // Changes metadata in any other way.
  void Edit(const std::string& name, const std::function<void(iceberg::TableMetadata&)>& change)
      EXCLUDES(mutex_);

  // Makes LoadTable fail for the table.
  void Break(const std::string& name, const Error& error) EXCLUDES(mutex_);
  // Makes the source fail as a whole, or work again.
  void BreakAll(std::optional<Error> error) EXCLUDES(mutex_);

  // How often LoadTable was called, for any table.
  std::size_t load_count() const EXCLUDES(mutex_);

  Result<std::vector<catalog::Namespace>> ListNamespaces() override EXCLUDES(mutex_);
  Result<std::vector<catalog::TableName>> ListTables(const catalog::Namespace& ns) override
      EXCLUDES(mutex_);
  Result<SourceTable> LoadTable(const catalog::TableName& name) override EXCLUDES(mutex_);
  Result<std::vector<iceberg::ManifestFile>> ListManifests(
      const iceberg::TableMetadata& metadata, const iceberg::Snapshot& snapshot) override
      EXCLUDES(mutex_);
  Result<std::vector<iceberg::ManifestEntry>> ListLiveEntries(
      const iceberg::TableMetadata& metadata, const iceberg::ManifestFile& manifest) override
      EXCLUDES(mutex_);

 private:
  struct Table {
    iceberg::TableMetadata metadata;
    std::vector<iceberg::ManifestFile> manifests;  // Of the current snapshot.
    std::optional<Error> error;
  };

  mutable Mutex mutex_;
  std::map<catalog::TableName, Table> tables_ GUARDED_BY(mutex_);
  std::map<std::string, std::vector<iceberg::ManifestFile>> lists_ GUARDED_BY(mutex_);
  std::map<std::string, std::vector<iceberg::ManifestEntry>> entries_ GUARDED_BY(mutex_);
  std::optional<Error> error_ GUARDED_BY(mutex_);
  std::size_t loads_ GUARDED_BY(mutex_) = 0;
  std::uint8_t tables_made_ GUARDED_BY(mutex_) = 0;
};

}  // namespace lake::sql
