#pragma once

#include <memory>

#include "lake/sql/duckdb_internal.h"
#include "lake/sql/snapshot_files_internal.h"
#include "lake/sql/table_entry_internal.h"

namespace lake::sql {

// What every reader of one scan shares. Immutable.
struct ScanTarget {
  std::shared_ptr<LakeTableEntry> entry;
  std::shared_ptr<const SnapshotFiles> files;
  // The version's columns as DuckDB's readers want them: field ids as identifiers, what a file
  // lacks as defaults.
  duckdb::vector<duckdb::MultiFileColumnDefinition> columns;
  // DuckDB's own Parquet scan.
  duckdb::table_function_init_global_t init_global = nullptr;
  duckdb::table_function_init_local_t init_local = nullptr;
  duckdb::table_function_t scan = nullptr;
};

// Maps what is in a table's files to the table's columns. Matching is by field id, at every depth:
// names, order and the like are those of the schema, whatever the file calls them. A file without
// field ids gets them by the table's name mapping, or by the names of the schema.
class LakeReader final : public duckdb::MultiFileReader {
 public:
  explicit LakeReader(std::shared_ptr<const ScanTarget> target);

  const ScanTarget& target() const { return *target_; }

  duckdb::shared_ptr<duckdb::MultiFileList> CreateFileList(
      duckdb::ClientContext& context, const duckdb::vector<std::string>& paths,
      const duckdb::FileGlobInput& glob) override;

  bool Bind(duckdb::MultiFileOptions& options, duckdb::MultiFileList& files,
            duckdb::vector<duckdb::LogicalType>& return_types, duckdb::vector<std::string>& names,
            duckdb::MultiFileReaderBindData& bind_data) override;

  // Reads the position deletes of the files that the scan has not left out.
  duckdb::unique_ptr<duckdb::MultiFileReaderGlobalState> InitializeGlobalState(
      duckdb::ClientContext& context, const duckdb::MultiFileOptions& options,
      const duckdb::MultiFileReaderBindData& bind_data, const duckdb::MultiFileList& files,
      const duckdb::vector<duckdb::MultiFileColumnDefinition>& global_columns,
      const duckdb::vector<duckdb::ColumnIndex>& global_column_ids) override;

  void FinalizeBind(duckdb::MultiFileReaderData& reader_data,
                    const duckdb::MultiFileOptions& options,
                    const duckdb::MultiFileReaderBindData& bind_data,
                    const duckdb::vector<duckdb::MultiFileColumnDefinition>& global_columns,
                    const duckdb::vector<duckdb::ColumnIndex>& global_column_ids,
                    duckdb::ClientContext& context,
                    duckdb::optional_ptr<duckdb::MultiFileReaderGlobalState> state) override;

  using MultiFileReader::CreateMapping;
  duckdb::ReaderInitializeType CreateMapping(
      duckdb::ClientContext& context, duckdb::MultiFileReaderData& reader_data,
      const duckdb::vector<duckdb::MultiFileColumnDefinition>& global_columns,
      const duckdb::vector<duckdb::ColumnIndex>& global_column_ids,
      duckdb::optional_ptr<duckdb::TableFilterSet> filters, duckdb::MultiFileList& files,
      const duckdb::MultiFileReaderBindData& bind_data,
      const duckdb::virtual_column_map_t& virtual_columns,
      duckdb::MultiFileColumnMappingMode mode) override;

  duckdb::unique_ptr<duckdb::MultiFileReader> Copy() const override;

 private:
  const std::shared_ptr<const ScanTarget> target_;
};

}  // namespace lake::sql
