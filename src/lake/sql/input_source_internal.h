#pragma once

#include <string>
#include <vector>

#include "lake/base/result.h"
#include "lake/engine/data_file_writer.h"
#include "lake/iceberg/schema.h"
#include "lake/sql/duckdb_internal.h"

namespace lake::sql {

// The rows of one input as rows of a table: which column of the input becomes which column of the table, and how its values
// are converted without loss. Columns are matched by name, where case may differ.
class InputSource {
 public:
  // Looks at an input and matches its columns with those of the schema.
  //   kNotFound          there is no such file.
  //   kInvalidArgument   it is damaged; it has columns that the table lacks; it lacks a required one; or a column's type
  //                      cannot become the table's. The message names the input and the columns.
  // Blocks: a JSON file is read once for the names in it.
  static Result<InputSource> Open(duckdb::Connection& connection, const engine::StageInput& input,
                                  const iceberg::Schema& schema);

  // Returns the query for the rows: the columns of the schema, in its order and of its types. It fails where a value cannot be
  // kept as it is, or a required one is null.
  std::string Select() const;

  // Finds out what is wrong with the input after a query over it has failed: kInvalidArgument that names input and column (or
  // the input alone, if no single column is to blame), kUnavailable when memory ran out. OK: the input is not to blame. Reads
  // the input once for each column.
  Status Diagnose(duckdb::Connection& connection) const;

 private:
  struct Column {
    std::string name;        // In the table.
    std::string expression;  // Over the columns of relation_.
  };

  std::string path_;
  std::string relation_;  // What stands after FROM.
  std::vector<Column> columns_;
};

// Returns the schema of a new table for an input's rows. Errors of InputSource::Open, and kUnimplemented, naming input and
// column, for a type without a place in Iceberg.
Result<iceberg::Schema> InferInputSchema(duckdb::Connection& connection,
                                         const engine::StageInput& input);

}  // namespace lake::sql
