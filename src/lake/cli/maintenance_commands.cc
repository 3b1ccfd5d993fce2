#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lake/cli/advice.h"
#include "lake/cli/commands.h"
#include "lake/cli/print_internal.h"
#include "lake/cli/progress.h"
#include "lake/cli/text.h"

namespace lake::cli {
namespace {

// How long one call may take. A command makes as many as it needs.
constexpr Duration kMaintainTimeout = std::chrono::minutes(10);

// What all calls of a command did together.
struct Total {
  metasrv::MaintenanceReport report;
  std::size_t failed_tables = 0;
};

boost::json::value TableJson(const metasrv::TableMaintenance& table) {
  return {
      {"table", table.name.ToString()},
      {"manifests_merged", table.manifests_merged},
      {"manifests_written", table.manifests_written},
      {"snapshots_expired", table.snapshots_expired},
      {"refs_expired", table.refs_expired},
      {"files_removed", table.files_removed},
      {"files_outside", table.files_outside},
      {"orphans_removed", table.orphans_removed},
      {"orphan_bytes", table.orphan_bytes},
      {"orphan_paths", boost::json::array(table.orphan_paths.begin(), table.orphan_paths.end())},
      {"problems", boost::json::array(table.problems.begin(), table.problems.end())}};
}

boost::json::value TotalJson(const Total& total) {
  const metasrv::MaintenanceReport& report = total.report;
  boost::json::array tables;
  for (const metasrv::TableMaintenance& table : report.tables) {
    tables.push_back(TableJson(table));
  }
  return {{"dry_run", report.dry_run},
          {"purges_ended", report.purges_ended},
          {"purges_running", report.purges_running},
          {"files_purged", report.files_purged},
          {"tables_forgotten", report.tables_forgotten},
          {"operations_settled", report.operations_settled},
          {"operations_forgotten", report.operations_forgotten},
          {"tables_seen", report.tables_seen},
          {"tables", std::move(tables)},
          {"problems", boost::json::array(report.problems.begin(), report.problems.end())}};
}

Status PrintTable(Output& out, const metasrv::TableMaintenance& table, bool dry_run) {
  std::vector<std::string> parts;
  const auto add = [&](std::uint64_t count, std::string_view noun, std::string_view verb) {
    if (count > 0) {
      parts.push_back(fmt::format("{} {}", Count(count, noun), verb));
    }
  };
  if (table.manifests_merged > 0) {
    parts.push_back(fmt::format("{} {} into {}", Count(table.manifests_merged, "manifest"),
                                dry_run ? "would be merged" : "merged", table.manifests_written));
  }
  add(table.snapshots_expired, "snapshot", dry_run ? "would expire" : "expired");
  add(table.refs_expired, "ref", dry_run ? "would expire" : "expired");
  add(table.files_removed, "file", dry_run ? "would be removed" : "removed");
  add(table.files_outside, "file", "outside its location left");
  add(table.orphans_removed, "orphan", dry_run ? "would be removed" : "removed");
  if (!parts.empty()) {
    LAKE_TRY_VOID(out.Write(
        fmt::format("{}: {}\n", table.name.ToString(), fmt::format("{}", fmt::join(parts, ", ")))));
  }
  for (const std::string& path : table.orphan_paths) {
    LAKE_TRY_VOID(out.Write(fmt::format("  {}\n", Printable(path))));
  }
  if (table.orphan_paths.size() < table.orphans_removed) {
    LAKE_TRY_VOID(out.Write(fmt::format(
        "  and {} more\n", Count(table.orphans_removed - table.orphan_paths.size(), "file"))));
  }
  if (table.orphans_removed > 0) {
    LAKE_TRY_VOID(out.Write(fmt::format("  {} in all\n", SizeText(table.orphan_bytes))));
  }
  for (const std::string& problem : table.problems) {
    LAKE_TRY_VOID(
        out.Write(fmt::format("failed  {}: {}\n", table.name.ToString(), Printable(problem))));
  }
  return {};
}

// What is said of dropped tables, if there is anything to say.
Status PrintDropped(Output& out, const metasrv::MaintenanceReport& report) {
  if (report.purges_ended > 0 || report.files_purged > 0) {
    LAKE_TRY_VOID(out.Write(fmt::format("{} purged, {} removed\n",
                                        Count(report.purges_ended, "dropped table"),
                                        Count(report.files_purged, "file"))));
  }
  if (report.purges_running > 0) {
    LAKE_TRY_VOID(out.Write(fmt::format(
        "{} {}\n", Count(report.purges_running, "dropped table"),
        report.dry_run ? "to purge" : "not purged to the end yet: run lake maintain again")));
  }
  if (report.tables_forgotten > 0) {
    LAKE_TRY_VOID(out.Write(fmt::format("{} {}\n", Count(report.tables_forgotten, "dropped table"),
                                        report.dry_run ? "to forget" : "forgotten")));
  }
  return {};
}

Status PrintTotal(Output& out, const Total& total) {
  const metasrv::MaintenanceReport& report = total.report;
  LAKE_TRY_VOID(PrintDropped(out, report));
  for (const metasrv::TableMaintenance& table : report.tables) {
    LAKE_TRY_VOID(PrintTable(out, table, report.dry_run));
  }
  for (const std::string& problem : report.problems) {
    LAKE_TRY_VOID(out.Write(fmt::format("failed  {}\n", Printable(problem))));
  }
  return out.Write(fmt::format(
      "{}{} seen, {} {}, {} {}\n", report.dry_run ? "dry run: " : "",
      Count(report.tables_seen, "table"), Count(report.operations_settled, "operation"),
      report.dry_run ? "to settle" : "settled", Count(report.operations_forgotten, "old record"),
      report.dry_run ? "to forget" : "forgotten"));
}

void Add(metasrv::MaintenanceReport report, Total& total) {
  total.report.dry_run = report.dry_run;
  total.report.purges_ended += report.purges_ended;
  // The last call knows.
  total.report.purges_running = report.purges_running;
  total.report.files_purged += report.files_purged;
  total.report.tables_forgotten += report.tables_forgotten;
  total.report.operations_settled += report.operations_settled;
  total.report.operations_forgotten += report.operations_forgotten;
  total.report.tables_seen += report.tables_seen;
  for (metasrv::TableMaintenance& table : report.tables) {
    total.failed_tables += table.problems.empty() ? 0 : 1;
    total.report.tables.push_back(std::move(table));
  }
  for (std::string& problem : report.problems) {
    total.report.problems.push_back(std::move(problem));
  }
}

Outcome Perform(metasrv::MaintenanceRequest request, const std::string& purpose, Context& context) {
  const Result<std::unique_ptr<Connection>> lake = context.Open(Access::kWrite, purpose);
  if (!lake.has_value()) {
    return FailedToOpen(lake.error(), context.options.data_dir);
  }
  Total total;
  Progress progress(context.progress, context.clock);
  std::uint64_t tables = 0;
  if (!request.table.has_value() && context.progress != nullptr) {
    LAKE_TRY(const metasrv::ServiceStatus status,
             (*lake)->service().GetStatus(context.ReadDeadline()));
    tables = status.tables;
  }
  while (true) {
    const double done =
        tables == 0 ? 0.0
                    : static_cast<double>(total.report.tables_seen) / static_cast<double>(tables);
    progress.Show("maintaining", done);
    Result<metasrv::MaintenanceReport> report =
        (*lake)->service().Maintain(request, context.clock.Now() + kMaintainTimeout);
    if (!report.has_value()) {
      if (report.error().code() == ErrorCode::kNotFound && request.table.has_value()) {
        return FailedToLoad(report.error(), *request.table);
      }
      return Fail(report.error(), "what was done is done; run it again to go on");
    }
    const std::string next = report->next;
    const bool complete = report->complete;
    const bool stuck = next == request.after && report->tables_seen == 0 &&
                       report->operations_forgotten == 0 && report->tables_forgotten == 0;
    Add(*std::move(report), total);
    if (complete) {
      break;
    }
    if (stuck) {
      return Fail(Error(ErrorCode::kDeadlineExceeded, "a step took longer than one call may"),
                  "what was done is done; run it again to go on");
    }
    request.after = next;
  }
  progress.Clear();
  LAKE_TRY_VOID(context.options.json ? PrintJson(context.out, TotalJson(total))
                                     : PrintTotal(context.out, total));
  if (total.failed_tables > 0 || !total.report.problems.empty()) {
    return Fail(Error(ErrorCode::kUnavailable,
                      fmt::format("{} of {} could not be maintained, and {} reported",
                                  total.failed_tables, Count(total.report.tables_seen, "table"),
                                  Count(total.report.problems.size(), "other problem"))),
                "nothing was damaged by that; lake check says whether a table is");
  }
  return {};
}

}  // namespace

Outcome Run(const Maintain& command, Context& context) {
  return Perform({.table = command.what.name, .dry_run = command.what.dry_run}, "lake maintain",
                 context);
}

Outcome Run(const TableExpire& command, Context& context) {
  return Perform({.table = command.what.name,
                  .steps = {metasrv::MaintenanceStep::kExpireSnapshots},
                  .dry_run = command.what.dry_run},
                 "lake table expire", context);
}

Outcome Run(const TableOrphans& command, Context& context) {
  return Perform(
      {.table = command.name,
       .steps = {metasrv::MaintenanceStep::kRemoveOrphans},
       .dry_run = !command.remove,
       .orphan_age = std::chrono::duration_cast<std::chrono::milliseconds>(command.older_than)},
      "lake table orphans", context);
}

}  // namespace lake::cli
