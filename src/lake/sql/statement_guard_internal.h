#pragma once

#include "lake/base/result.h"
#include "lake/sql/duckdb_internal.h"

namespace lake::sql {

// Says whether a statement, as the parser made it and before pragmas are expanded, only reads: a
// query, an explanation or preparation of one, transaction control, or a setting that changes how a
// query runs or looks. kPermissionDenied names what is refused.
Status CheckOnlyReads(const duckdb::SQLStatement& statement);

}  // namespace lake::sql
