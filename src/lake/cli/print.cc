#include <algorithm>
#include <cstddef>
#include <memory>

#include <fmt/format.h>

#include "lake/cli/print_internal.h"
#include "lake/cli/text.h"

namespace lake::cli {

Status PrintJson(Output& out, const boost::json::value& value) {
  return out.Write(json::WritePretty(value));
}

Status PrintFields(Output& out, const std::vector<std::pair<std::string, std::string>>& fields) {
  std::size_t width = 0;
  for (const auto& [name, value] : fields) {
    width = std::max(width, DisplayWidth(Printable(name)));
  }
  for (const auto& [name, value] : fields) {
    const std::string shown = Printable(name);
    LAKE_TRY_VOID(out.Write(fmt::format(
        "{}{}  {}\n", shown, std::string(width - DisplayWidth(shown), ' '), Printable(value))));
  }
  return {};
}

Status PrintTable(Output& out, const std::vector<ResultColumn>& columns,
                  const std::vector<std::vector<std::string>>& rows) {
  const std::unique_ptr<RowWriter> writer = MakeTableWriter(out);
  LAKE_TRY_VOID(writer->Begin(columns));
  for (const std::vector<std::string>& row : rows) {
    const std::vector<Cell> cells(row.begin(), row.end());
    LAKE_TRY_VOID(writer->Row(cells));
  }
  return writer->End();
}

Outcome PrintChange(Context& context, const Change& change) {
  context.changed = change.operation;
  if (context.options.json) {
    boost::json::object answer{{change.kind, change.name}};
    answer.insert(change.about.begin(), change.about.end());
    answer["epoch"] = change.epoch;
    answer["operation"] = change.operation.ToString();
    answer["replayed"] = change.replayed;
    LAKE_TRY_VOID(PrintJson(context.out, answer));
    return {};
  }
  LAKE_TRY_VOID(context.out.Write(fmt::format(
      "{}{} {}={} epoch={} operation={}\n", change.replayed ? "already done: " : "", change.verb,
      change.kind, change.name, change.epoch, change.operation.ToString())));
  return {};
}

boost::json::value SnapshotJson(std::int64_t snapshot_id) {
  return snapshot_id < 0 ? boost::json::value(nullptr)
                         : boost::json::value(std::to_string(snapshot_id));
}

}  // namespace lake::cli
