#pragma once

#include <memory>

#include "lake/sql/duckdb_internal.h"
#include "lake/sql/snapshot_files_internal.h"
#include "lake/sql/table_entry_internal.h"

namespace lake::sql {

// Returns the function that scans a version of a table, with its bind data: DuckDB's own Parquet
// scan over the version's files, where
//   - columns are matched by field id (scan_reader_internal.h),
//   - files whose bounds exclude a filter are left out (file_list_internal.h),
//   - rows that position deletes name are left out (position_deletes_internal.h).
// The bind data shares ownership of the entry. Throws by ThrowWhileBinding.
duckdb::TableFunction BindScan(duckdb::ClientContext& context,
                               std::shared_ptr<LakeTableEntry> entry,
                               std::shared_ptr<const SnapshotFiles> files,
                               duckdb::unique_ptr<duckdb::FunctionData>& bind_data);

// Returns the columns that every scan offers besides the table's: file name, index of the file, row
// number in the file.
duckdb::virtual_column_map_t ScanVirtualColumns();

}  // namespace lake::sql
