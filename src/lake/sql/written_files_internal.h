#pragma once

#include <string>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/schema.h"
#include "lake/sql/duckdb_internal.h"

namespace lake::sql {

// Returns the FIELD_IDS option of COPY for a schema, e.g. {'a': 1, 'l': {__duckdb_field_id: 2, 'element': 3}}.
std::string FieldIdsOption(const iceberg::Schema& schema);

// Makes a data file of what COPY … (RETURN_STATS) says of one written file (`row` of its answer) and what the file's own footer
// says, which is read here. The columns written are those of the schema. Statistics that are missing or not certain stay
// missing:
//   value counts         all primitive columns, also inside lists and maps
//   null counts          outside lists and maps
//   NaN counts           where there is none
//   bounds               outside lists and maps; none for a column with a NaN
// Throws DuckDB's exceptions.
Result<iceberg::DataFile> DescribeWrittenFile(duckdb::Connection& connection,
                                              const iceberg::Schema& schema,
                                              duckdb::MaterializedQueryResult& copied,
                                              duckdb::idx_t row);

}  // namespace lake::sql
