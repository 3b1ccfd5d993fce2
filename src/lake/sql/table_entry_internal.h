#pragma once

#include <memory>
#include <string>

#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread_annotations.h"
#include "lake/catalog/names.h"
#include "lake/sql/duckdb_internal.h"
#include "lake/sql/snapshot_files_internal.h"
#include "lake/sql/table_source.h"
#include "lake/sql/table_version_internal.h"

namespace lake::sql {

// A table as a transaction found it at its first reference.
struct PinnedTable {
  catalog::TableName name;
  SourceTable table;
  TableSource* source = nullptr;  // Outlives the session.

  const iceberg::TableMetadata& metadata() const { return *table.metadata; }
};

// A version of a pinned table as DuckDB sees it: columns and a scan. Shared between the transaction
// and the plans that use it, so that it outlives both. Thread-safe.
class LakeTableEntry final : public duckdb::TableCatalogEntry,
                             public std::enable_shared_from_this<LakeTableEntry> {
 public:
  // kUnimplemented, naming the column: SQL cannot show its type, or two columns differ only in
  // case.
  static Result<std::shared_ptr<LakeTableEntry>> Make(duckdb::Catalog& catalog,
                                                      duckdb::SchemaCatalogEntry& schema,
                                                      std::shared_ptr<const PinnedTable> table,
                                                      const TableVersion& version);

  LakeTableEntry(duckdb::Catalog& catalog, duckdb::SchemaCatalogEntry& schema,
                 duckdb::CreateTableInfo& info, std::shared_ptr<const PinnedTable> table,
                 const TableVersion& version);

  const PinnedTable& table() const { return *table_; }

  const TableVersion& version() const { return version_; }

  // Returns the live files of the version, read once. Errors of LoadSnapshotFiles, with the table's
  // name. Blocks.
  Result<std::shared_ptr<const SnapshotFiles>> Files() const EXCLUDES(mutex_);

  // There are none: the optimizer would take them for the truth.
  duckdb::unique_ptr<duckdb::BaseStatistics> GetStatistics(duckdb::ClientContext& context,
                                                           duckdb::column_t column) override;

  using TableCatalogEntry::GetScanFunction;
  duckdb::TableFunction GetScanFunction(
      duckdb::ClientContext& context, duckdb::unique_ptr<duckdb::FunctionData>& bind_data) override;

  duckdb::TableStorageInfo GetStorageInfo(duckdb::ClientContext& context) override;
  duckdb::virtual_column_map_t GetVirtualColumns() const override;
  duckdb::vector<duckdb::column_t> GetRowIdColumns() const override;

 private:
  const std::shared_ptr<const PinnedTable> table_;
  const TableVersion version_;
  mutable Mutex mutex_;
  mutable std::shared_ptr<const SnapshotFiles> files_ GUARDED_BY(mutex_);
};

}  // namespace lake::sql
