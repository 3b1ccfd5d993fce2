#pragma once

#include <optional>
#include <string>

#include "lake/iceberg/manifest.h"
#include "lake/iceberg/schema.h"
#include "lake/sql/duckdb_internal.h"

namespace lake::sql {

// Whether a file's statistics show that none of its rows passes the filters, which are keyed by
// column of the schema. Says no whenever it is not certain: a missing or undecodable bound, a
// floating-point column that may hold NaN, a virtual column.
bool Excludes(const iceberg::Schema& schema, const iceberg::DataFile& file,
              const duckdb::TableFilterSet& filters);

// Returns what a file's statistics say about one column, as DuckDB's statistics; everything
// possible for what they do not say.
duckdb::BaseStatistics StatisticsOf(const iceberg::NestedField& field,
                                    const iceberg::DataFile& file);

// Returns a value of an Iceberg type as a value of the DuckDB type in which it is read.
duckdb::Value ToDuckDbValue(const iceberg::Type& type, const iceberg::Value& value);

// The other way round: returns the value that DuckDB prints as `text` in the statistics of a column that it has written.
// Nothing if the text does not say it exactly, or the type has no statistics.
std::optional<iceberg::Value> ParseStatistic(const iceberg::Type& type, const std::string& text);

}  // namespace lake::sql
