#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/cli/advice.h"
#include "lake/cli/commands.h"
#include "lake/cli/print_internal.h"
#include "lake/cli/text.h"

namespace lake::cli {
namespace {

// How long the files of one table may take.
constexpr Duration kCheckTimeout = std::chrono::hours(1);

struct CheckedTable {
  catalog::TableName name;
  engine::CheckReport report;
};

// Checks one table. What is wrong with it, and that it could not be looked at, are both problems: the next table is checked all
// the same.
CheckedTable CheckOne(const catalog::TableName& name, Connection& lake, Context& context) {
  CheckedTable checked{.name = name, .report = {}};
  const Result<metasrv::LoadedTable> table = lake.service().LoadTable(name, context.ReadDeadline());
  if (!table.has_value()) {
    checked.report.problems.push_back(table.error().message());
    return checked;
  }
  Result<engine::CheckReport> report =
      lake.reader().Check(*table->metadata, context.clock.Now() + kCheckTimeout);
  if (!report.has_value()) {
    checked.report.problems.push_back(report.error().message());
    return checked;
  }
  checked.report = *std::move(report);
  return checked;
}

Result<std::vector<catalog::TableName>> AllTables(Connection& lake, Context& context) {
  const Deadline deadline = context.ReadDeadline();
  LAKE_TRY(const std::vector<catalog::Namespace> namespaces,
           lake.service().ListNamespaces({}, deadline));
  std::vector<catalog::TableName> tables;
  for (const catalog::Namespace& ns : namespaces) {
    LAKE_TRY(const std::vector<catalog::TableName> listed, lake.service().ListTables(ns, deadline));
    tables.insert(tables.end(), listed.begin(), listed.end());
  }
  return tables;
}

boost::json::value CheckedJson(const CheckedTable& checked) {
  const engine::CheckReport& report = checked.report;
  return {{"table", checked.name.ToString()},
          {"sound", report.problems.empty()},
          {"snapshots", report.snapshots},
          {"manifests", report.manifests},
          {"data_files", report.data_files},
          {"rows", report.rows},
          {"problems", boost::json::array(report.problems.begin(), report.problems.end())}};
}

Status PrintChecked(Output& out, const CheckedTable& checked) {
  const engine::CheckReport& report = checked.report;
  if (report.problems.empty()) {
    return out.Write(fmt::format("ok       {}: {}, {}, {}, {}\n", checked.name.ToString(),
                                 Count(report.snapshots, "snapshot"),
                                 Count(report.manifests, "manifest"),
                                 Count(report.data_files, "data file"), Count(report.rows, "row")));
  }
  for (const std::string& problem : report.problems) {
    LAKE_TRY_VOID(
        out.Write(fmt::format("damaged  {}: {}\n", checked.name.ToString(), Printable(problem))));
  }
  return {};
}

}  // namespace

Outcome Run(const Check& command, Context& context) {
  const Result<std::unique_ptr<Connection>> lake = context.Open(Access::kRead, "lake check");
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  std::vector<catalog::TableName> tables;
  if (command.name.has_value()) {
    const Result<metasrv::LoadedTable> table =
        (*lake)->service().LoadTable(*command.name, context.ReadDeadline());
    if (!table.has_value() && table.error().code() != ErrorCode::kCorruption) {
      return FailedToLoad(table.error(), *command.name);
    }
    tables.push_back(*command.name);
  } else {
    LAKE_TRY(tables, AllTables(**lake, context));
  }
  std::size_t damaged = 0;
  boost::json::array reports;
  for (const catalog::TableName& name : tables) {
    const CheckedTable checked = CheckOne(name, **lake, context);
    damaged += checked.report.problems.empty() ? 0 : 1;
    if (context.options.json) {
      reports.push_back(CheckedJson(checked));
    } else {
      LAKE_TRY_VOID(PrintChecked(context.out, checked));
    }
  }
  if (context.options.json) {
    LAKE_TRY_VOID(PrintJson(context.out, reports));
  }
  if (damaged > 0) {
    return Fail(
        Error(ErrorCode::kCorruption,
              fmt::format("{} of {} damaged", damaged, Count(tables.size(), "table"))),
        "the tables that are not listed as damaged work; restore the named files from a backup");
  }
  if (!context.options.json && tables.empty()) {
    LAKE_TRY_VOID(context.out.Write("there are no tables\n"));
  }
  return {};
}

}  // namespace lake::cli
