#include <set>

#include "lake/base/check.h"
#include "lake/base/json_internal.h"
#include "lake/cli/rows.h"

namespace lake::cli {
namespace {

class JsonWriter final : public RowWriter {
 public:
  explicit JsonWriter(Output& out) : out_(out) {}

  Status Begin(const std::vector<ResultColumn>& columns) override {
    std::set<std::string, std::less<>> taken;
    for (const ResultColumn& column : columns) {
      std::string name = column.name;
      for (int i = 1; !taken.insert(name).second; ++i) {
        name = column.name + "_" + std::to_string(i);
      }
      keys_.push_back(Quote(name));
    }
    return out_.Write("[");
  }

  Status Row(std::span<const Cell> cells) override {
    LAKE_CHECK(cells.size() == keys_.size(), "a row has as many cells as there are columns");
    line_ = any_ ? ",\n{" : "\n{";
    any_ = true;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line_ += i == 0 ? "" : ",";
      line_ += keys_[i];
      line_ += ':';
      line_ += cells[i].value_or("null");
    }
    line_ += '}';
    return out_.Write(line_);
  }

  Status End() override { return out_.Write(any_ ? "\n]\n" : "]\n"); }

 private:
  static std::string Quote(std::string_view text) {
    return json::Write(boost::json::value(boost::json::string_view(text.data(), text.size())));
  }

  Output& out_;
  std::vector<std::string> keys_;
  std::string line_;
  bool any_ = false;
};

}  // namespace

std::unique_ptr<RowWriter> MakeJsonWriter(Output& out) {
  return std::make_unique<JsonWriter>(out);
}

}  // namespace lake::cli
