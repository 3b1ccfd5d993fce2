#include <algorithm>
#include <utility>

#include "lake/base/check.h"
#include "lake/cli/rows.h"
#include "lake/cli/text.h"

namespace lake::cli {
namespace {

class TableWriter final : public RowWriter {
 public:
  explicit TableWriter(Output& out) : out_(out) {}

  Status Begin(const std::vector<ResultColumn>& columns) override {
    for (const ResultColumn& column : columns) {
      names_.push_back(Printable(column.name));
      to_the_right_.push_back(column.numeric);
      widths_.push_back(DisplayWidth(names_.back()));
    }
    return {};
  }

  Status Row(std::span<const Cell> cells) override {
    LAKE_CHECK(cells.size() == names_.size(), "a row has as many cells as there are columns");
    ++row_count_;
    std::vector<std::string> row;
    row.reserve(cells.size());
    for (const Cell& cell : cells) {
      row.push_back(cell.has_value() ? Printable(*cell) : "NULL");
    }
    if (header_written_) {
      return WriteRow(row);
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths_[i] = std::max(widths_[i], DisplayWidth(row[i]));
    }
    ahead_.push_back(std::move(row));
    return ahead_.size() < kTableRowsAhead ? Status() : WriteAhead();
  }

  Status End() override {
    if (!header_written_) {
      LAKE_TRY_VOID(WriteAhead());
    }
    return out_.Write("(" + Count(row_count_, "row") + ")\n");
  }

 private:
  Status WriteAhead() {
    header_written_ = true;
    std::string line;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      AppendCell(names_[i], i, line);
    }
    LAKE_TRY_VOID(out_.Write(line + "\n"));
    line.clear();
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      line += (i == 0 ? "" : "  ") + std::string(widths_[i], '-');
    }
    LAKE_TRY_VOID(out_.Write(line + "\n"));
    for (const std::vector<std::string>& row : ahead_) {
      LAKE_TRY_VOID(WriteRow(row));
    }
    ahead_.clear();
    return {};
  }

  Status WriteRow(const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      AppendCell(row[i], i, line);
    }
    return out_.Write(line + "\n");
  }

  void AppendCell(const std::string& text, std::size_t i, std::string& line) const {
    const std::size_t width = DisplayWidth(text);
    const std::string padding(widths_[i] - std::min(width, widths_[i]), ' ');
    line += i == 0 ? "" : "  ";
    if (to_the_right_[i]) {
      line += padding + text;
    } else {
      line += text;
      // Nothing follows the last column: no blanks at the end of a line.
      line += i + 1 == names_.size() ? "" : padding;
    }
  }

  Output& out_;
  std::vector<std::string> names_;
  std::vector<bool> to_the_right_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> ahead_;
  bool header_written_ = false;
  std::uint64_t row_count_ = 0;
};

}  // namespace

std::unique_ptr<RowWriter> MakeTableWriter(Output& out) {
  return std::make_unique<TableWriter>(out);
}

}  // namespace lake::cli
