#pragma once

#include "lake/base/result.h"
#include "lake/iceberg/schema.h"
#include "lake/sql/duckdb_internal.h"

namespace lake::sql {

// Returns the columns of a schema as DuckDB's readers want them: field ids as identifiers at every
// depth, and as default, for files that lack a field, its initial default or null. kUnimplemented
// for a type that cannot be read; kCorruption for an initial default that is not of its type.
Result<duckdb::vector<duckdb::MultiFileColumnDefinition>> DefineColumns(
    const iceberg::Schema& schema);

}  // namespace lake::sql
