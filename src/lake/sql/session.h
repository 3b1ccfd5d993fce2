#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/result.h"
#include "lake/objstore/objstore.h"
#include "lake/sql/table_source.h"

namespace lake::sql {

// How the values of a column are written.
enum class ValueKind {
  kBoolean,
  kNumber,  // Digits; to the right in a table, bare in JSON.
  kText,
  kNested,  // Lists, structs, maps.
};

// A column of a result.
struct ResultColumn {
  std::string name;
  std::string type;  // As SQL writes it, e.g. "DECIMAL(9,2)".
  ValueKind kind = ValueKind::kText;

  bool operator==(const ResultColumn&) const = default;
};

// Some rows of a result. Single-threaded.
class RowBatch {
 public:
  ~RowBatch();
  RowBatch(const RowBatch&) = delete;
  RowBatch& operator=(const RowBatch&) = delete;
  RowBatch(RowBatch&& other) noexcept;
  RowBatch& operator=(RowBatch&& other) noexcept;

  std::size_t row_count() const;

  // Whether a value is null.
  bool IsNull(std::size_t row, std::size_t column) const;

  // Returns the value as SQL prints it. Not for null. The view lives as long as the batch.
  std::string_view Text(std::size_t row, std::size_t column) const;

  // Appends the value as JSON: null, true, numbers as they are (except infinities and NaN, which
  // become strings), everything else as a string; lists as arrays, structs as objects, maps as
  // objects if the keys are text and as arrays of {"key", "value"} otherwise.
  void AppendJson(std::size_t row, std::size_t column, std::string& out) const;

 private:
  friend class QueryResult;
  struct Data;

  explicit RowBatch(std::unique_ptr<Data> data);

  std::unique_ptr<Data> data_;
};

// The answer to a statement, computed while it is read, so that a large one never is in memory as a
// whole. At most one is open in a session: the next statement closes it. Single-threaded.
class QueryResult {
 public:
  ~QueryResult();
  QueryResult(const QueryResult&) = delete;
  QueryResult& operator=(const QueryResult&) = delete;
  QueryResult(QueryResult&& other) noexcept;
  QueryResult& operator=(QueryResult&& other) noexcept;

  // Whether the statement answers with rows; SET, BEGIN and their like do not.
  bool has_rows() const;

  const std::vector<ResultColumn>& columns() const;

  // Returns the next rows, or nothing at the end. Errors are those of SqlSession::Execute; after
  // one, and after the end, there is nothing more. Blocks.
  Result<std::optional<RowBatch>> Next();

 private:
  friend class SqlSession;
  struct Stream;

  explicit QueryResult(std::unique_ptr<Stream> stream);

  std::unique_ptr<Stream> stream_;
};

// A SQL session over Lake's tables: a DuckDB of its own, in memory, where they are the catalog
// `lake`, first on the search path.
//
//   ns.t, lake.ns.t, "a.b".t (a nested namespace is one name), SHOW TABLES, DESCRIBE,
//   information_schema, t AT (VERSION => …), t AT (TIMESTAMP => …), lake_snapshots('ns.t'), …
//
// Laws:
//   1. It only reads. A statement that would write anything anywhere is refused (kPermissionDenied)
//      before any statement of the same text has run. Files of the user can be read.
//   2. Within a transaction (one statement, or BEGIN … COMMIT) a table is the one that was found
//      at its first reference.
//
// Single-threaded, except Interrupt.
class SqlSession {
 public:
  struct Options {
    std::size_t threads = 0;               // 0: as many as the machine has.
    std::uint64_t memory_limit_bytes = 0;  // 0: 80 % of the machine's memory.
    std::string temp_directory;            // Where large queries spill; empty: the system's.
  };

  // Opens a session. What is passed by reference must outlive it. kInternal: the DuckDB library is
  // not the one Lake is built for. Takes some tens of milliseconds.
  static Result<std::unique_ptr<SqlSession>> Open(TableSource& tables,
                                                  objstore::ObjectStore& objects,
                                                  const Clock& clock, const Options& options);

  ~SqlSession();
  SqlSession(const SqlSession&) = delete;
  SqlSession& operator=(const SqlSession&) = delete;

  // Returns the single statements of a text, in order. Errors as for Execute: nothing has run.
  Result<std::vector<std::string>> Split(std::string_view sql);

  // Runs the statements of a text in order and returns the answer of the last one; those before it
  // run to their end, and their rows are dropped.
  //   kInvalidArgument   it cannot be parsed, or a value does not fit; the message points at it.
  //   kNotFound          it names a table, column or version that does not exist.
  //   kPermissionDenied  it would write.
  //   kUnimplemented     it needs a feature of a table or of SQL that Lake does not have.
  //   kCorruption        a table's files are damaged or missing; the message names them.
  //   kUnavailable       a store failed, or memory ran out.
  //   kCancelled         Interrupt was called.
  Result<QueryResult> Execute(std::string_view sql);

  // Runs one query and writes its rows to a Parquet file on the local disk, over one that is there;
  // on an error a part of it may be left, which the caller removes. Returns the number of rows. Errors as for Execute;
  // kInvalidArgument also if `sql` is not a single query, kUnimplemented also for a column of 128-bit integers.
  Result<std::uint64_t> CopyQueryTo(std::string_view sql, const std::string& path);

  // Makes the running statement end soon, with kCancelled, and every later one at once, until
  // Resume: one that is called between two statements of a text ends the text too. Thread-safe.
  void Interrupt();

  // Lets statements run again after an Interrupt.
  void Resume();

 private:
  struct Impl;

  explicit SqlSession(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace lake::sql
