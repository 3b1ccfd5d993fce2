#include "lake/base/check.h"
#include "lake/cli/rows.h"

namespace lake::cli {
namespace {

class CsvWriter final : public RowWriter {
 public:
  explicit CsvWriter(Output& out) : out_(out) {}

  Status Begin(const std::vector<ResultColumn>& columns) override {
    column_count_ = columns.size();
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      line += i == 0 ? "" : ",";
      AppendField(columns[i].name, line);
    }
    return out_.Write(line + "\r\n");
  }

  Status Row(std::span<const Cell> cells) override {
    LAKE_CHECK(cells.size() == column_count_, "a row has as many cells as there are columns");
    line_.clear();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line_ += i == 0 ? "" : ",";
      if (cells[i].has_value()) {
        AppendField(*cells[i], line_);
      }
    }
    line_ += "\r\n";
    return out_.Write(line_);
  }

  Status End() override { return {}; }

 private:
  static void AppendField(std::string_view text, std::string& line) {
    if (!text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos) {
      line += text;
      return;
    }
    line += '"';
    for (const char c : text) {
      line += c;
      if (c == '"') {
        line += c;
      }
    }
    line += '"';
  }

  Output& out_;
  std::size_t column_count_ = 0;
  std::string line_;
};

}  // namespace

std::unique_ptr<RowWriter> MakeCsvWriter(Output& out) {
  return std::make_unique<CsvWriter>(out);
}

}  // namespace lake::cli
