#pragma once

#include <memory>
#include <vector>

#include "lake/base/result.h"
#include "lake/sql/duckdb_internal.h"
#include "lake/sql/session.h"

namespace lake::sql {

struct RowBatch::Data {
  duckdb::unique_ptr<duckdb::DataChunk> chunk;
  std::vector<ValueKind> kinds;
  std::vector<duckdb::Vector> texts;  // Every column as VARCHAR, flat.
};

struct QueryResult::Stream {
  Stream(duckdb::shared_ptr<duckdb::ClientContext> client,
         duckdb::unique_ptr<duckdb::QueryResult> answer);

  duckdb::shared_ptr<duckdb::ClientContext> context;
  duckdb::unique_ptr<duckdb::QueryResult> result;  // Null at the end.
  bool has_rows = false;
  std::vector<ResultColumn> columns;
};

// Reads a result to its end and drops the rows.
Status Drain(duckdb::QueryResult& result);

}  // namespace lake::sql
