#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/cli/advice.h"
#include "lake/cli/commands.h"
#include "lake/cli/print_internal.h"
#include "lake/cli/text.h"
#include "lake/server/data_dir.h"

namespace lake::cli {
namespace {

std::vector<std::string> TableNames(const catalog::PendingRecord& record) {
  std::vector<std::string> names;
  for (const catalog::PendingTable& table : record.tables) {
    names.push_back(table.name.ToString());
  }
  return names;
}

boost::json::array PendingJson(const metasrv::ServiceStatus& status) {
  boost::json::array pending;
  for (const metasrv::OperationView& view : status.pending) {
    if (!view.pending.has_value()) {
      continue;
    }
    const std::vector<std::string> names = TableNames(*view.pending);
    pending.push_back({{"operation", view.id.ToString()},
                       {"kind", catalog::OperationKindName(view.pending->kind)},
                       {"tables", boost::json::array(names.begin(), names.end())},
                       {"epoch", view.pending->epoch}});
  }
  return pending;
}

boost::json::value StatusJson(const std::string& data_dir, const metasrv::ServiceStatus& status) {
  boost::json::value leader = nullptr;
  if (status.has_term) {
    leader = {{"node", status.leader_node},
              {"session", status.leader_session.ToString()},
              {"released", status.released}};
  }
  return {{"data_dir", data_dir},        {"format", server::kDataDirFormat},
          {"epoch", status.epoch},       {"leader", std::move(leader)},
          {"released", status.released}, {"namespaces", status.namespaces},
          {"tables", status.tables},     {"pending", PendingJson(status)}};
}

std::string LeaderText(const metasrv::ServiceStatus& status) {
  if (!status.has_term) {
    return "nobody has led yet";
  }
  return fmt::format(
      "{} session {} ({})", status.leader_node, status.leader_session.ToString(),
      status.released ? "released" : "not released: it stopped without saying so, or still runs");
}

}  // namespace

Outcome Run(const StatusCommand& /*command*/, Context& context) {
  const Result<std::unique_ptr<Connection>> lake = context.Open(Access::kRead, "lake status");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  LAKE_TRY(const metasrv::ServiceStatus status,
           (*lake)->service().GetStatus(context.ReadDeadline()));
  if (context.options.json) {
    LAKE_TRY_VOID(PrintJson(context.out, StatusJson(context.options.data_dir, status)));
    return {};
  }
  const bool more = status.pending.size() == metasrv::kStatusPendingMax;
  LAKE_TRY_VOID(PrintFields(context.out, {{"data directory", context.options.data_dir},
                                          {"format", std::to_string(server::kDataDirFormat)},
                                          {"epoch", std::to_string(status.epoch)},
                                          {"leader", LeaderText(status)},
                                          {"namespaces", std::to_string(status.namespaces)},
                                          {"tables", std::to_string(status.tables)},
                                          {"pending", fmt::format("{}{}", status.pending.size(),
                                                                  more ? " or more" : "")}}));
  for (const metasrv::OperationView& view : status.pending) {
    if (view.pending.has_value()) {
      LAKE_TRY_VOID(context.out.Write(
          fmt::format("  {}  {} {}, reserved under epoch {}\n", view.id.ToString(),
                      catalog::OperationKindName(view.pending->kind),
                      fmt::join(TableNames(*view.pending), ", "), view.pending->epoch)));
    }
  }
  return {};
}

}  // namespace lake::cli
