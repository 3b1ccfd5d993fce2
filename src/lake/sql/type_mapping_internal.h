#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/type.h"
#include "lake/sql/duckdb_internal.h"

// Iceberg's types and DuckDB's (docs/reference/types.md has the table).
namespace lake::sql {

// Returns the DuckDB type in which values of an Iceberg type are read. kUnimplemented, naming the
// type, for those that DuckDB cannot hold without loss or Lake does not read: unknown, variant,
// geometry, geography, timestamptz_ns, and a struct with two fields whose names differ only in
// case.
Result<duckdb::LogicalType> ToDuckDbType(const iceberg::Type& type);

// Returns the Iceberg type in which values of a DuckDB type are kept, with ids for nested fields
// from `next_id` on, which is moved past them. Nested fields are optional, except map keys.
// kUnimplemented, saying why, for types without a place in Iceberg.
Result<iceberg::Type> ToIcebergType(const duckdb::LogicalType& type, std::int32_t& next_id);

// Returns a schema of these columns in order, all optional, with ids from 1 on. `what` names their
// origin in errors, which are those of ToIcebergType with the column's name, and kInvalidArgument
// for columns that have the same name.
Result<iceberg::Schema> ToIcebergSchema(const std::string& what,
                                        const std::vector<std::string>& names,
                                        const std::vector<duckdb::LogicalType>& types);

// Whether DuckDB can write every column; otherwise kUnimplemented with the column's name.
Status CheckWritable(const iceberg::Schema& schema);

}  // namespace lake::sql
