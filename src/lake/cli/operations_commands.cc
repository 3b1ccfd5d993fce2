#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lake/cli/advice.h"
#include "lake/cli/commands.h"
#include "lake/cli/print_internal.h"
#include "lake/cli/text.h"

namespace lake::cli {
namespace {

// What both kinds of records say of an operation.
struct Described {
  std::string state;  // "pending", "succeeded" or "failed".
  std::string_view kind;
  std::vector<std::string> names;
  std::uint64_t epoch = 0;
  std::optional<WallTime> finished;
  std::string error;  // Of a failure.
};

Described Describe(const metasrv::OperationView& view) {
  Described described;
  if (view.finished.has_value()) {
    const catalog::OperationRecord& record = *view.finished;
    described.state = record.result.succeeded ? "succeeded" : "failed";
    described.kind = catalog::OperationKindName(record.kind);
    described.names = record.names;
    described.epoch = record.epoch;
    described.finished = record.finished;
    if (!record.result.succeeded) {
      described.error =
          fmt::format("{}: {}", record.result.error_code, record.result.error_message);
    }
    return described;
  }
  described.state = "pending";
  if (view.pending.has_value()) {
    described.kind = catalog::OperationKindName(view.pending->kind);
    described.epoch = view.pending->epoch;
    for (const catalog::PendingTable& table : view.pending->tables) {
      described.names.push_back(table.name.ToString());
    }
  }
  return described;
}

boost::json::value OperationJson(const metasrv::OperationView& view) {
  const Described described = Describe(view);
  boost::json::object object = {
      {"operation", view.id.ToString()},
      {"state", described.state},
      {"kind", described.kind},
      {"names", boost::json::array(described.names.begin(), described.names.end())},
      {"epoch", described.epoch},
      {"time", TimeText(view.id.time())}};
  object["finished"] = described.finished.has_value()
                           ? boost::json::value(TimeText(*described.finished))
                           : boost::json::value(nullptr);
  if (view.finished.has_value()) {
    const catalog::OperationResult& result = view.finished->result;
    object["metadata_location"] = result.metadata_location;
    object["snapshot"] = SnapshotJson(result.snapshot_id);
    object["error"] =
        result.succeeded
            ? boost::json::value(nullptr)
            : boost::json::value({{"code", result.error_code}, {"message", result.error_message}});
  }
  return object;
}

Status PrintOperations(Output& out, const metasrv::OperationList& list) {
  std::vector<std::vector<std::string>> rows;
  for (const metasrv::OperationView& view : list.operations) {
    const Described described = Describe(view);
    rows.push_back(
        {view.id.ToString(), TimeText(view.id.time()), described.state, std::string(described.kind),
         fmt::format("{}", fmt::join(described.names, ", ")), std::to_string(described.epoch)});
  }
  return PrintTable(out,
                    {{.name = "operation"},
                     {.name = "time"},
                     {.name = "state"},
                     {.name = "kind"},
                     {.name = "names"},
                     {.name = "epoch", .numeric = true}},
                    rows);
}

}  // namespace

Outcome Run(const OperationsList& command, Context& context) {
  const Result<std::unique_ptr<Connection>> lake =
      context.Open(Access::kRead, "lake operations list");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  LAKE_TRY(const metasrv::OperationList list,
           (*lake)->service().ListOperations(command.limit, context.ReadDeadline()));
  if (context.options.json) {
    boost::json::array operations;
    for (const metasrv::OperationView& view : list.operations) {
      operations.push_back(OperationJson(view));
    }
    LAKE_TRY_VOID(PrintJson(context.out, {{"operations", std::move(operations)},
                                          {"more", list.more},
                                          {"problems", boost::json::array(list.problems.begin(),
                                                                          list.problems.end())}}));
    return {};
  }
  LAKE_TRY_VOID(PrintOperations(context.out, list));
  if (list.more) {
    LAKE_TRY_VOID(context.out.Write("there are older ones: --limit shows more\n"));
  }
  for (const std::string& problem : list.problems) {
    LAKE_TRY_VOID(context.out.Write(fmt::format("damaged  {}\n", Printable(problem))));
  }
  return {};
}

Outcome Run(const OperationsShow& command, Context& context) {
  const Result<std::unique_ptr<Connection>> lake =
      context.Open(Access::kRead, "lake operations show");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  const Result<metasrv::OperationView> view =
      (*lake)->service().FindOperation(command.operation, context.ReadDeadline());
  if (!view.has_value()) {
    return Fail(
        view.error(),
        view.error().code() == ErrorCode::kNotFound
            ? "records are kept for eight days; an id without one was not done since, or not "
              "admitted"
            : "");
  }
  if (context.options.json) {
    LAKE_TRY_VOID(PrintJson(context.out, OperationJson(*view)));
    return {};
  }
  const Described described = Describe(*view);
  std::vector<std::pair<std::string, std::string>> fields = {
      {"operation", view->id.ToString()},
      {"state", described.state},
      {"kind", std::string(described.kind)},
      {"names", fmt::format("{}", fmt::join(described.names, ", "))},
      {"time", TimeText(view->id.time())},
      {"epoch", std::to_string(described.epoch)}};
  if (described.finished.has_value()) {
    fields.emplace_back("finished", TimeText(*described.finished));
  }
  if (view->finished.has_value() && !view->finished->result.metadata_location.empty()) {
    fields.emplace_back("metadata", view->finished->result.metadata_location);
  }
  if (!described.error.empty()) {
    fields.emplace_back("error", Printable(described.error));
  }
  LAKE_TRY_VOID(PrintFields(context.out, fields));
  return {};
}

}  // namespace lake::cli
