#pragma once

#include "lake/iceberg/schema.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/sql/duckdb_internal.h"

namespace lake::sql {

// Gives every column of a file, at every depth, an identifier that is a field id. Ids that the file
// has are kept. A file that has none gets them by the table's name mapping
// (`schema.name-mapping.default`), or without one by the names of `schema`. What still has none
// gets a number that no field has: DuckDB takes a column without an identifier for the end of the
// list.
void AssignFieldIds(const iceberg::Schema& schema, const iceberg::TableMetadata& metadata,
                    duckdb::vector<duckdb::MultiFileColumnDefinition>& columns);

}  // namespace lake::sql
