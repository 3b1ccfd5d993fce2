#pragma once

#include <exception>
#include <utility>

#include "lake/base/result.h"
#include "lake/sql/duckdb_internal.h"

// The one place where Lake's errors and DuckDB's exceptions meet. Lake's code travels inside the
// exception, so that an error of the catalog or the object store comes out of a query as it went
// in.
namespace lake::sql {

// Throws `error` in a form that leaves an open transaction usable: for everything that happens
// while a statement is being bound (looking up names, loading metadata, listing files).
[[noreturn]] void ThrowWhileBinding(const Error& error);

// Throws `error` for everything that happens while a statement runs (reading and writing bytes).
[[noreturn]] void ThrowWhileRunning(const Error& error);

// Returns what a DuckDB error says: Lake's own error if one is inside, otherwise DuckDB's message
// under the code that fits its kind.
Error ToError(const duckdb::ErrorData& data);

// Whether an error is one of Lake's that passed through DuckDB.
bool IsLakeError(const duckdb::ErrorData& data);

// Runs `body` and returns its result; a DuckDB exception (or any other) becomes an error. Nothing
// is thrown.
template <typename Body>
auto CatchDuckDb(Body&& body) -> decltype(body()) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::exception& exception) {
    return std::unexpected(ToError(duckdb::ErrorData(exception)));
  }
}

}  // namespace lake::sql
