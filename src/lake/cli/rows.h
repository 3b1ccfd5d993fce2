#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/cli/output.h"

namespace lake::cli {

// What a writer has to know about a column.
struct ResultColumn {
  std::string name;
  bool numeric = false;  // To the right in tables.
};

// A value as text, or nothing for NULL. The text lives as long as the call it is given to.
using Cell = std::optional<std::string_view>;

// Writes one result: Begin, then Row as often as there are rows, then End. Errors are the output's. Single-threaded.
class RowWriter {
 public:
  virtual ~RowWriter() = default;

  // Writes what stands before the rows.
  virtual Status Begin(const std::vector<ResultColumn>& columns) = 0;
  // Writes a row. `cells` are as many as the columns.
  virtual Status Row(std::span<const Cell> cells) = 0;
  // Writes what stands behind them.
  virtual Status End() = 0;
};

// How many rows a table reads ahead to find the widths of its columns. Later rows are written as they come: a wider value
// moves what stands to its right, and memory stays bounded.
inline constexpr std::size_t kTableRowsAhead = 1000;

// Writes aligned columns under their names, `NULL` for NULL, and last how many rows there were. Control characters are made
// visible. `out` must outlive the writer.
std::unique_ptr<RowWriter> MakeTableWriter(Output& out);

// Writes CSV as RFC 4180 has it: a line of names, CRLF after every line, quotes where needed. NULL is an empty field, the empty
// string is "".
std::unique_ptr<RowWriter> MakeCsvWriter(Output& out);

// Writes a JSON array with one object for each row, each on a line of its own. Cells are JSON already; nothing stands for null. A
// name that comes twice gets "_1", "_2", … the second time and on.
std::unique_ptr<RowWriter> MakeJsonWriter(Output& out);

}  // namespace lake::cli
