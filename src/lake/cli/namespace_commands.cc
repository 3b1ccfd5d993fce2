#include <utility>

#include <fmt/format.h>

#include "lake/cli/advice.h"
#include "lake/cli/commands.h"
#include "lake/cli/print_internal.h"

namespace lake::cli {
namespace {

Outcome PrintNamespaceChange(Context& context, std::string_view verb, const catalog::Namespace& ns,
                             const metasrv::NamespaceResult& result, const Uuid& operation) {
  return PrintChange(context, {.verb = verb,
                               .kind = "namespace",
                               .name = ns.ToString(),
                               .epoch = result.epoch,
                               .operation = operation,
                               .replayed = result.replayed});
}

std::unexpected<Failure> NoSuchNamespace(Error error) {
  const bool missing = error.code() == ErrorCode::kNotFound;
  return Fail(std::move(error),
              missing ? "lake namespace list shows the namespaces there are" : "");
}

}  // namespace

Outcome Run(const NamespaceCreate& command, Context& context) {
  const Result<std::unique_ptr<Connection>> lake =
      context.Open(Access::kWrite, "lake namespace create");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  const metasrv::CallOptions change = context.Change(command.operation);
  const Result<metasrv::NamespaceResult> created = (*lake)->service().CreateNamespace(
      {.ns = command.ns, .properties = command.properties}, change);
  if (!created.has_value()) {
    if (created.error().code() == ErrorCode::kNotFound) {
      return Fail(created.error(), fmt::format("lake namespace create {} makes the level above",
                                               command.ns.parent().ToString()));
    }
    return FailedToChange(created.error(), change.operation);
  }
  return PrintNamespaceChange(context, "created", command.ns, *created, change.operation);
}

Outcome Run(const NamespaceList& command, Context& context) {
  const Result<std::unique_ptr<Connection>> lake =
      context.Open(Access::kRead, "lake namespace list");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  const Result<std::vector<catalog::Namespace>> namespaces =
      (*lake)->service().ListNamespaces(command.parent, context.ReadDeadline());
  if (!namespaces.has_value()) {
    return NoSuchNamespace(namespaces.error());
  }
  if (context.options.json) {
    boost::json::array names;
    for (const catalog::Namespace& ns : *namespaces) {
      names.emplace_back(ns.ToString());
    }
    LAKE_TRY_VOID(PrintJson(context.out, names));
    return {};
  }
  for (const catalog::Namespace& ns : *namespaces) {
    LAKE_TRY_VOID(context.out.Write(ns.ToString() + "\n"));
  }
  return {};
}

Outcome Run(const NamespaceShow& command, Context& context) {
  const Result<std::unique_ptr<Connection>> lake =
      context.Open(Access::kRead, "lake namespace show");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  const Result<catalog::NamespaceRecord> record =
      (*lake)->service().LoadNamespace(command.ns, context.ReadDeadline());
  if (!record.has_value()) {
    return NoSuchNamespace(record.error());
  }
  if (context.options.json) {
    boost::json::object properties;
    for (const auto& [key, value] : record->properties) {
      properties[key] = value;
    }
    LAKE_TRY_VOID(
        PrintJson(context.out, {{"namespace", command.ns.ToString()}, {"properties", properties}}));
    return {};
  }
  std::vector<std::pair<std::string, std::string>> fields = {{"namespace", command.ns.ToString()}};
  for (const auto& [key, value] : record->properties) {
    fields.emplace_back("property " + key, value);
  }
  LAKE_TRY_VOID(PrintFields(context.out, fields));
  return {};
}

Outcome Run(const NamespaceSet& command, Context& context) {
  const Result<std::unique_ptr<Connection>> lake =
      context.Open(Access::kWrite, "lake namespace set");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  const metasrv::CallOptions change = context.Change(command.operation);
  const Result<metasrv::NamespaceResult> changed = (*lake)->service().SetNamespaceProperties(
      {.ns = command.ns, .updates = command.properties, .removals = command.unset}, change);
  if (!changed.has_value()) {
    if (changed.error().code() == ErrorCode::kNotFound) {
      return NoSuchNamespace(changed.error());
    }
    return FailedToChange(changed.error(), change.operation);
  }
  return PrintNamespaceChange(context, "changed", command.ns, *changed, change.operation);
}

Outcome Run(const NamespaceDrop& command, Context& context) {
  const Result<std::unique_ptr<Connection>> lake =
      context.Open(Access::kWrite, "lake namespace drop");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  const metasrv::CallOptions change = context.Change(command.operation);
  const Result<metasrv::NamespaceResult> dropped =
      (*lake)->service().DropNamespace(command.ns, change);
  if (!dropped.has_value()) {
    if (dropped.error().code() == ErrorCode::kNotFound) {
      return NoSuchNamespace(dropped.error());
    }
    if (dropped.error().code() == ErrorCode::kConflict) {
      return Fail(
          dropped.error(),
          fmt::format("drop what it holds first: lake table list {0}, lake namespace list {0}",
                      command.ns.ToString()));
    }
    return FailedToChange(dropped.error(), change.operation);
  }
  return PrintNamespaceChange(context, "dropped", command.ns, *dropped, change.operation);
}

}  // namespace lake::cli
