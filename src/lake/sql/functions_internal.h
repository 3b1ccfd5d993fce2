#pragma once

#include "lake/sql/duckdb_internal.h"

namespace lake::sql {

// Adds the functions that show what a table consists of:
//
//   lake_snapshots('ns.t')                      the snapshots, oldest first
//   lake_manifests('ns.t' [, version := v])     the manifests of a version
//   lake_files('ns.t' [, version := v])         the live files of a version, with their statistics
//
// The name is written as on the command line (dots separate, double quotes quote); `v` is a
// snapshot id or the name of a branch or tag. They see the table that the transaction has pinned,
// and pin it. docs/reference/sql.md lists their columns.
void RegisterFunctions(duckdb::DatabaseInstance& database);

}  // namespace lake::sql
