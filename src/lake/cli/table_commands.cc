#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/cli/advice.h"
#include "lake/cli/column.h"
#include "lake/cli/commands.h"
#include "lake/cli/inputs.h"
#include "lake/cli/interrupt.h"
#include "lake/cli/print_internal.h"
#include "lake/cli/progress.h"
#include "lake/cli/text.h"
#include "lake/iceberg/snapshot_summary.h"

namespace lake::cli {
namespace {

Outcome PrintTableChange(Context& context, std::string_view verb, const catalog::TableName& name,
                         const metasrv::TableResult& result, const Uuid& operation,
                         const boost::json::object& more = {}) {
  boost::json::object about = {{"uuid", result.incarnation.ToString()},
                               {"metadata_location", result.metadata_location}};
  about.insert(more.begin(), more.end());
  return PrintChange(context, {.verb = verb,
                               .kind = "table",
                               .name = name.ToString(),
                               .about = std::move(about),
                               .epoch = result.epoch,
                               .operation = operation,
                               .replayed = result.replayed});
}

// Opens the lake for reading and loads one table.
std::expected<metasrv::LoadedTable, Failure> LoadOneTable(const catalog::TableName& name,
                                                          Context& context, std::string purpose) {
  const Result<std::unique_ptr<Connection>> lake = context.Open(Access::kRead, std::move(purpose));
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  Result<metasrv::LoadedTable> table = (*lake)->service().LoadTable(name, context.ReadDeadline());
  if (!table.has_value()) {
    return FailedToLoad(table.error(), name);
  }
  return *std::move(table);
}

std::int64_t CurrentTotal(const iceberg::TableMetadata& metadata, std::string_view name,
                          std::int64_t unknown) {
  const iceberg::Snapshot* snapshot = metadata.current_snapshot();
  return snapshot == nullptr ? 0 : iceberg::SummaryNumber(*snapshot, name).value_or(unknown);
}

std::string TotalText(std::int64_t total) {
  return total < 0 ? "unknown" : std::to_string(total);
}

boost::json::value TotalJson(std::int64_t total) {
  return total < 0 ? boost::json::value(nullptr) : boost::json::value(total);
}

boost::json::value ShowJson(const metasrv::LoadedTable& table) {
  const iceberg::TableMetadata& metadata = *table.metadata;
  boost::json::array columns;
  for (const iceberg::NestedField& field : metadata.current_schema().fields()) {
    columns.push_back({{"id", std::to_underlying(field.id)},
                       {"name", field.name},
                       {"type", TypeText(field.type)},
                       {"required", field.required}});
  }
  boost::json::object properties;
  for (const auto& [key, value] : metadata.properties) {
    properties[key] = value;
  }
  const iceberg::Snapshot* snapshot = metadata.current_snapshot();
  return {{"table", table.name.ToString()},
          {"uuid", table.registration.incarnation.ToString()},
          {"location", table.registration.location},
          {"metadata_location", table.registration.metadata_location},
          {"version", table.registration.version},
          {"format_version", metadata.format_version},
          {"snapshot",
           SnapshotJson(snapshot == nullptr ? -1 : std::to_underlying(snapshot->snapshot_id))},
          {"snapshots", metadata.snapshots.size()},
          {"rows", TotalJson(CurrentTotal(metadata, "total-records", -1))},
          {"files", TotalJson(CurrentTotal(metadata, "total-data-files", -1))},
          {"bytes", TotalJson(CurrentTotal(metadata, "total-files-size", -1))},
          {"columns", columns},
          {"properties", properties}};
}

std::string SummaryText(const iceberg::Snapshot& snapshot, const std::string& name) {
  const auto found = snapshot.summary.find(name);
  return found == snapshot.summary.end() ? "" : found->second;
}

// The operations that share a snapshot, as its summary lists them: ids with commas between.
boost::json::array OperationsJson(std::string_view ids) {
  boost::json::array operations;
  while (!ids.empty()) {
    const std::size_t comma = std::min(ids.find(','), ids.size());
    if (comma > 0) {
      operations.emplace_back(ids.substr(0, comma));
    }
    ids.remove_prefix(std::min(comma + 1, ids.size()));
  }
  return operations;
}

// Oldest first. Snapshots of format version 1 all have sequence number 0: the time decides among them.
std::vector<const iceberg::Snapshot*> InOrder(const iceberg::TableMetadata& metadata) {
  std::vector<const iceberg::Snapshot*> snapshots;
  snapshots.reserve(metadata.snapshots.size());
  for (const iceberg::Snapshot& snapshot : metadata.snapshots) {
    snapshots.push_back(&snapshot);
  }
  std::ranges::stable_sort(snapshots, [](const iceberg::Snapshot* a, const iceberg::Snapshot* b) {
    return std::pair(a->sequence_number, a->timestamp) <
           std::pair(b->sequence_number, b->timestamp);
  });
  return snapshots;
}

boost::json::array HistoryJson(const iceberg::TableMetadata& metadata) {
  boost::json::array history;
  for (const iceberg::Snapshot* snapshot : InOrder(metadata)) {
    const auto number = [&](std::string_view name) {
      return TotalJson(iceberg::SummaryNumber(*snapshot, name).value_or(-1));
    };
    history.push_back(
        {{"sequence_number", snapshot->sequence_number},
         {"snapshot", SnapshotJson(std::to_underlying(snapshot->snapshot_id))},
         {"time", TimeText(snapshot->timestamp)},
         {"operation", SummaryText(*snapshot, "operation")},
         {"rows_added", iceberg::SummaryNumber(*snapshot, "added-records").value_or(0)},
         {"rows_total", number("total-records")},
         {"epoch", number("lake.epoch")},
         {"operations", OperationsJson(SummaryText(*snapshot, "lake.operation-ids"))}});
  }
  return history;
}

Status PrintHistory(Output& out, const iceberg::TableMetadata& metadata) {
  const std::vector<ResultColumn> columns = {
      {.name = "seq", .numeric = true},
      {.name = "snapshot", .numeric = true},
      {.name = "time"},
      {.name = "operation"},
      {.name = "rows added", .numeric = true},
      {.name = "rows total", .numeric = true},
      {.name = "epoch", .numeric = true},
      {.name = "operation ids"},
  };
  std::vector<std::vector<std::string>> rows;
  for (const iceberg::Snapshot* snapshot : InOrder(metadata)) {
    rows.push_back({std::to_string(snapshot->sequence_number),
                    std::to_string(std::to_underlying(snapshot->snapshot_id)),
                    TimeText(snapshot->timestamp), SummaryText(*snapshot, "operation"),
                    std::to_string(iceberg::SummaryNumber(*snapshot, "added-records").value_or(0)),
                    SummaryText(*snapshot, "total-records"), SummaryText(*snapshot, "lake.epoch"),
                    SummaryText(*snapshot, "lake.operation-ids")});
  }
  return PrintTable(out, columns, rows);
}

boost::json::array DroppedJson(const std::vector<metasrv::DroppedTable>& tables) {
  boost::json::array array;
  for (const metasrv::DroppedTable& table : tables) {
    array.push_back({{"table", table.name.ToString()},
                     {"uuid", table.incarnation.ToString()},
                     {"state", table.purging ? "purging" : "dropped"},
                     {"dropped", TimeText(table.dropped)},
                     {"kept_until", table.purging ? boost::json::value(nullptr)
                                                  : boost::json::value(TimeText(table.kept_until))},
                     {"location", table.location},
                     {"metadata_location", table.metadata_location}});
  }
  return array;
}

Outcome ListDropped(const TableList& command, Connection& lake, Context& context) {
  const Result<std::vector<metasrv::DroppedTable>> listed =
      lake.service().ListDropped(command.ns, context.ReadDeadline());
  if (!listed.has_value()) {
    return Fail(listed.error(), "");
  }
  if (context.options.json) {
    LAKE_TRY_VOID(PrintJson(context.out, DroppedJson(*listed)));
    return {};
  }
  const std::vector<ResultColumn> columns = {{.name = "table"},
                                             {.name = "uuid"},
                                             {.name = "dropped"},
                                             {.name = "kept until"},
                                             {.name = "metadata"}};
  std::vector<std::vector<std::string>> rows;
  for (const metasrv::DroppedTable& table : *listed) {
    rows.push_back({table.name.ToString(), table.incarnation.ToString(), TimeText(table.dropped),
                    table.purging ? "being purged" : TimeText(table.kept_until),
                    table.metadata_location});
  }
  LAKE_TRY_VOID(PrintTable(context.out, columns, rows));
  return {};
}

// Waits until the files of a dropped table are removed, as long as a command may.
std::expected<metasrv::PurgeProgress, Failure> AwaitPurge(const catalog::TableName& name,
                                                          const Uuid& incarnation,
                                                          const Uuid& operation, Connection& lake,
                                                          Context& context) {
  Progress progress(context.progress, context.clock);
  const Deadline end = context.clock.Now() + kPurgeTimeout;
  while (true) {
    const Deadline next = std::min(end, context.clock.Now() + kPurgeInterval);
    const Result<metasrv::PurgeProgress> purge = lake.service().AwaitPurge(incarnation, next);
    if (!purge.has_value()) {
      progress.Clear();
      return PurgeUnfinished(purge.error(), name, operation);
    }
    if (purge->done) {
      return *purge;
    }
    if (context.clock.Now() >= end) {
      progress.Clear();
      return PurgeUnfinished(Error(ErrorCode::kDeadlineExceeded, "it takes long"), name, operation);
    }
    progress.Count("removing files", purge->removed);
  }
}

// Metadata is found from anywhere, so its location does not depend on where we are.
std::string AbsoluteLocation(const std::string& location) {
  if (location.find(':') != std::string::npos && !location.starts_with('/')) {
    return location;  // A URI.
  }
  return std::filesystem::absolute(location).lexically_normal().string();
}

}  // namespace

Outcome Run(const TableCreate& command, Context& context) {
  // Before the data directory is made or held: a file that does not exist leaves nothing behind, and nobody waits for a pipe.
  std::vector<InputArgument> like;
  if (command.like.has_value()) {
    like.push_back(*command.like);
  }
  LAKE_TRY(const Inputs inputs, Inputs::Open(like, context.standard_input));
  const Result<std::unique_ptr<Connection>> lake =
      context.Open(Access::kWrite, "lake table create");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  metasrv::CreateTableRequest request{.name = command.name, .properties = command.properties};
  if (command.schema.has_value()) {
    request.schema = *command.schema;
  } else {
    LAKE_TRY(request.schema, InferSchema(inputs, **lake));
  }
  const metasrv::CallOptions change = context.Change(command.operation);
  const Result<metasrv::TableResult> created = (*lake)->service().CreateTable(request, change);
  if (!created.has_value()) {
    return FailedToCreate(created.error(), command.name, change.operation);
  }
  return PrintTableChange(context, "created", command.name, *created, change.operation);
}

Outcome Run(const TableList& command, Context& context) {
  const Result<std::unique_ptr<Connection>> lake = context.Open(Access::kRead, "lake table list");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  if (command.dropped) {
    return ListDropped(command, **lake, context);
  }
  const Deadline deadline = context.ReadDeadline();
  std::vector<catalog::Namespace> namespaces;
  if (command.ns.has_value()) {
    namespaces.push_back(*command.ns);
  } else {
    LAKE_TRY(namespaces, (*lake)->service().ListNamespaces({}, deadline));
  }
  std::vector<catalog::TableName> tables;
  for (const catalog::Namespace& ns : namespaces) {
    const Result<std::vector<catalog::TableName>> listed =
        (*lake)->service().ListTables(ns, deadline);
    if (!listed.has_value()) {
      const bool missing = listed.error().code() == ErrorCode::kNotFound;
      return Fail(listed.error(),
                  missing ? "lake namespace list shows the namespaces there are" : "");
    }
    tables.insert(tables.end(), listed->begin(), listed->end());
  }
  if (context.options.json) {
    boost::json::array names;
    for (const catalog::TableName& table : tables) {
      names.emplace_back(table.ToString());
    }
    LAKE_TRY_VOID(PrintJson(context.out, names));
    return {};
  }
  for (const catalog::TableName& table : tables) {
    LAKE_TRY_VOID(context.out.Write(table.ToString() + "\n"));
  }
  return {};
}

Outcome Run(const TableShow& command, Context& context) {
  LAKE_TRY(const metasrv::LoadedTable table,
           LoadOneTable(command.name, context, "lake table show"));
  if (context.options.json) {
    LAKE_TRY_VOID(PrintJson(context.out, ShowJson(table)));
    return {};
  }
  const iceberg::TableMetadata& metadata = *table.metadata;
  const iceberg::Snapshot* snapshot = metadata.current_snapshot();
  const std::int64_t bytes = CurrentTotal(metadata, "total-files-size", -1);
  std::vector<std::pair<std::string, std::string>> fields = {
      {"table", table.name.ToString()},
      {"uuid", table.registration.incarnation.ToString()},
      {"location", table.registration.location},
      {"metadata", table.registration.metadata_location},
      {"version", fmt::format("{} (Iceberg format version {})", table.registration.version,
                              metadata.format_version)},
      {"snapshot",
       snapshot == nullptr ? "none" : std::to_string(std::to_underlying(snapshot->snapshot_id))},
      {"rows", TotalText(CurrentTotal(metadata, "total-records", -1))},
      {"files", TotalText(CurrentTotal(metadata, "total-data-files", -1))},
      {"size", bytes < 0 ? "unknown" : SizeText(static_cast<std::uint64_t>(bytes))},
  };
  for (const auto& [key, value] : metadata.properties) {
    fields.emplace_back("property " + key, value);
  }
  LAKE_TRY_VOID(PrintFields(context.out, fields));
  std::vector<std::vector<std::string>> columns;
  for (const iceberg::NestedField& field : metadata.current_schema().fields()) {
    columns.push_back({std::to_string(std::to_underlying(field.id)), field.name,
                       TypeText(field.type) + (field.required ? " required" : "")});
  }
  LAKE_TRY_VOID(context.out.Write("\n"));
  LAKE_TRY_VOID(PrintTable(context.out,
                           {{.name = "id", .numeric = true}, {.name = "column"}, {.name = "type"}},
                           columns));
  return {};
}

Outcome Run(const TableHistory& command, Context& context) {
  LAKE_TRY(const metasrv::LoadedTable table,
           LoadOneTable(command.name, context, "lake table history"));
  if (context.options.json) {
    LAKE_TRY_VOID(PrintJson(context.out, HistoryJson(*table.metadata)));
    return {};
  }
  LAKE_TRY_VOID(PrintHistory(context.out, *table.metadata));
  return {};
}

Outcome Run(const TableRegister& command, Context& context) {
  const Result<std::unique_ptr<Connection>> lake =
      context.Open(Access::kWrite, "lake table register");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  const metasrv::CallOptions change = context.Change(command.operation);
  const Result<metasrv::TableResult> registered = (*lake)->service().RegisterTable(
      {.name = command.name, .metadata_location = AbsoluteLocation(command.metadata_location)},
      change);
  if (!registered.has_value()) {
    return FailedToChange(registered.error(), change.operation);
  }
  return PrintTableChange(context, "registered", command.name, *registered, change.operation);
}

Outcome Run(const TableDrop& command, Context& context) {
  std::optional<LastWords> words;  // Until the lake is closed.
  const Result<std::unique_ptr<Connection>> lake = context.Open(Access::kWrite, "lake table drop");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  const metasrv::CallOptions change = context.Change(command.operation);
  const Result<metasrv::TableResult> dropped =
      (*lake)->service().DropTable({.name = command.name, .purge = command.purge}, change);
  if (!dropped.has_value()) {
    if (dropped.error().code() == ErrorCode::kNotFound) {
      return FailedToLoad(dropped.error(), command.name);
    }
    return FailedToChange(dropped.error(), change.operation);
  }
  metasrv::PurgeProgress purge;
  if (command.purge) {
    words.emplace(
        fmt::format("\nlake: interrupted; the table is dropped, and its files are not all removed\n"
                    "next: every command that changes something goes on\n"));
    LAKE_TRY(purge,
             AwaitPurge(command.name, dropped->incarnation, change.operation, **lake, context));
  }
  LAKE_TRY_VOID(PrintTableChange(context, "dropped", command.name, *dropped, change.operation,
                                 {{"purged", command.purge}}));
  if (context.options.json) {
    return {};
  }
  if (command.purge) {
    LAKE_TRY_VOID(context.out.Write(fmt::format("its files are removed: {}\n", purge.removed)));
  } else if (!dropped->metadata_location.empty()) {
    LAKE_TRY_VOID(context.out.Write(
        fmt::format("its files stay: lake table undrop {0} brings it back\n"
                    "when that is forgotten: lake table register {0} {1}\n",
                    command.name.ToString(), Printable(dropped->metadata_location))));
  }
  return {};
}

Outcome Run(const TableUndrop& command, Context& context) {
  const Result<std::unique_ptr<Connection>> lake =
      context.Open(Access::kWrite, "lake table undrop");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  const metasrv::CallOptions change = context.Change(command.operation);
  const Result<metasrv::TableResult> undropped = (*lake)->service().UndropTable(
      {.name = command.name, .incarnation = command.incarnation}, change);
  if (!undropped.has_value()) {
    return FailedToUndrop(undropped.error(), change.operation);
  }
  return PrintTableChange(context, "undropped", command.name, *undropped, change.operation);
}

}  // namespace lake::cli
