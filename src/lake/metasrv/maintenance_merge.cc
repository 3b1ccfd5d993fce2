#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/engine/manifest_merge.h"
#include "lake/iceberg/table_update.h"
#include "lake/metasrv/load_registered.h"
#include "lake/metasrv/maintenance.h"

namespace lake::metasrv {

// What was read before the turn, and what the turn did with it.
struct Maintenance::Merge {
  std::vector<engine::MergedManifest> merged;
  std::uint64_t replaced = 0;  // 0: nothing was published.
  std::uint64_t created = 0;
};

Status Maintenance::MergeInTurn(const Work& work, const Table& table, Merge& merge) {
  LAKE_TRY(const std::optional<TurnBase> base, ReadInTurn(work, table));
  if (!base.has_value()) {
    return {};
  }
  const iceberg::SnapshotId snapshot_id = deps_.versions.PlanSnapshotId(*base->metadata);
  catalog::PendingTable planned = PlanVersion(work, table, *base);
  planned.snapshot_id = std::to_underlying(snapshot_id);
  const Change change = Begin(work, catalog::OperationKind::kMergeManifests, table.name);
  engine::WrittenMerge written;
  const auto write = [&](Deadline deadline) -> Status {
    const WallTime now = deps_.clock.WallNow();
    LAKE_TRY(written,
             deps_.maintainer.WriteMerge({.base = base->metadata,
                                          .planned_location = planned.planned_location,
                                          .snapshot_id = snapshot_id,
                                          .merged = std::move(merge.merged),
                                          .summary = {{"lake.epoch", work.epoch.ToString()},
                                                      {"lake.operation-ids", change.id.ToString()}},
                                          .now = now},
                                         deadline));
    LAKE_TRY_VOID(deps_.engine.Commit({.base = base->metadata,
                                       .base_location = base->registration.record.metadata_location,
                                       .planned_location = planned.planned_location,
                                       .updates = written.updates,
                                       .now = now},
                                      deadline));
    return {};
  };
  LAKE_TRY_VOID(deps_.versions.Make({change}, planned, write));
  merge.replaced = written.replaced;
  merge.created = written.created;
  return {};
}

Status Maintenance::MergeManifests(const Work& work, const Table& table, TableMaintenance& report) {
  const std::string what = fmt::format("table {}: merge of manifests", table.name.ToString());
  LAKE_TRY(const engine::MetadataPtr metadata,
           LoadRegistered(deps_.engine, table.name, table.registration,
                          deps_.clock.Now() + options_.engine_timeout));
  LAKE_TRY(const std::vector<engine::ManifestGroup> groups,
           WithContext(deps_.maintainer.PlanMerge(*metadata, work.deadline), what));
  if (groups.empty()) {
    return {};
  }
  if (work.request.dry_run) {
    for (const engine::ManifestGroup& group : groups) {
      report.manifests_merged += group.size();
    }
    report.manifests_written = groups.size();
    return {};
  }
  // Manifests never change, so they are read before the turn, and nobody who changes the table waits for that. In the turn it is seen
  // which of them the table still has.
  const auto merge = std::make_shared<Merge>();
  for (const engine::ManifestGroup& group : groups) {
    LAKE_TRY(engine::MergedManifest merged,
             WithContext(deps_.maintainer.MergeManifests(
                             *metadata, group, [&] { return MayGoOn(work.epoch); }, work.deadline),
                         what));
    merge->merged.push_back(std::move(merged));
  }
  LAKE_TRY_VOID(WithContext(
      RunInTurn(TableTurn(table.registration.incarnation), work.deadline,
                [this, merge, work, table] { return MergeInTurn(work, table, *merge); }),
      what));
  report.manifests_merged = merge->replaced;
  report.manifests_written = merge->created;
  return {};
}

}  // namespace lake::metasrv
