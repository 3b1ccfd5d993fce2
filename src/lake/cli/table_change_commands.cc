#include <memory>
#include <string_view>

#include "lake/cli/advice.h"
#include "lake/cli/commands.h"
#include "lake/cli/print_internal.h"
#include "lake/iceberg/table_update_json.h"

// The commands that change what is known of a table without touching its rows.
namespace lake::cli {
namespace {

std::unexpected<Failure> Failed(const Error& error, const catalog::TableName& table,
                                const Uuid& operation) {
  return error.code() == ErrorCode::kNotFound ? FailedToLoad(error, table)
                                              : FailedToChange(error, operation);
}

Outcome Print(Context& context, std::string_view verb, const catalog::TableName& name,
              const metasrv::TableResult& result, const Uuid& operation) {
  return PrintChange(context, {.verb = verb,
                               .kind = "table",
                               .name = name.ToString(),
                               .about = {{"uuid", result.incarnation.ToString()},
                                         {"metadata_location", result.metadata_location}},
                               .epoch = result.epoch,
                               .operation = operation,
                               .replayed = result.replayed});
}

}  // namespace

Outcome Run(const TableRename& command, Context& context) {
  const Result<std::unique_ptr<Connection>> lake =
      context.Open(Access::kWrite, "lake table rename");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  const metasrv::CallOptions change = context.Change(command.operation);
  const Result<metasrv::TableResult> renamed =
      (*lake)->service().RenameTable({.from = command.from, .to = command.to}, change);
  if (!renamed.has_value()) {
    return Failed(renamed.error(), command.from, change.operation);
  }
  return Print(context, "renamed", command.to, *renamed, change.operation);
}

Outcome Run(const TableSet& command, Context& context) {
  const Result<std::unique_ptr<Connection>> lake = context.Open(Access::kWrite, "lake table set");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  metasrv::CommitTableRequest request;
  request.commit.name = command.name;
  if (!command.properties.empty()) {
    request.commit.updates.emplace_back(
        iceberg::SetProperties{.updates = {command.properties.begin(), command.properties.end()}});
  }
  if (!command.unset.empty()) {
    request.commit.updates.emplace_back(
        iceberg::RemoveProperties{.removals = {command.unset.begin(), command.unset.end()}});
  }
  request.content = {iceberg::WriteTableUpdates(request.commit.updates)};
  const metasrv::CallOptions change = context.Change(command.operation);
  const Result<metasrv::TableResult> changed = (*lake)->service().CommitTable(request, change);
  if (!changed.has_value()) {
    return Failed(changed.error(), command.name, change.operation);
  }
  return Print(context, "changed", command.name, *changed, change.operation);
}

}  // namespace lake::cli
