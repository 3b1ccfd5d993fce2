#include <string>
#include <utility>

#include <fmt/format.h>

#include "lake/catalog/keyspace.h"
#include "lake/metasrv/load_registered.h"
#include "lake/metasrv/maintenance.h"

namespace lake::metasrv {

Status Maintenance::RemoveOrphans(const Work& work, const Table& table, TableMaintenance& report) {
  const std::string what = fmt::format("table {}: removal of orphans", table.name.ToString());
  const Uuid incarnation = table.registration.incarnation;
  if (!work.request.dry_run) {
    // What is pending and complete is then a version like any other.
    const auto settle = [this, incarnation, epoch = work.epoch]() -> Status {
      LAKE_TRY_VOID(deps_.settler.SettleTable(incarnation, epoch));
      return {};
    };
    LAKE_TRY_VOID(WithContext(RunInTurn(TableTurn(incarnation), work.deadline, settle), what));
  }
  const engine::OrphanSearch search{
      .incarnation = incarnation,
      .location = table.registration.location,
      .before = deps_.clock.WallNow() - work.request.orphan_age,
      .dry_run = work.request.dry_run,
      .read_needs = [this, &work, &table] { return ReadNeeds(work, table); }};
  LAKE_TRY(engine::OrphanRemoval removed,
           WithContext(deps_.maintainer.RemoveOrphans(
                           search, [&] { return MayGoOn(work.epoch); }, work.deadline),
                       what));
  report.orphans_removed = removed.files;
  report.orphan_bytes = removed.bytes;
  report.orphan_paths = std::move(removed.paths);
  return {};
}

Result<engine::TableNeeds> Maintenance::ReadNeeds(const Work& work, const Table& table) const {
  engine::TableNeeds needs;
  // Before the registration: what ends between the two reads is in one of them.
  LAKE_TRY_VOID(deps_.reader.ForEach(
      std::string(catalog::kPendingPrefix), work.deadline,
      [&](const metastore::Entry& entry) -> Status {
        const Result<catalog::PendingRecord> pending = catalog::DecodePendingRecord(entry.value);
        if (!pending.has_value()) {
          // It may be of this table.
          return std::unexpected(pending.error().With(entry.key));
        }
        for (const catalog::PendingTable& planned : pending->tables) {
          if (planned.incarnation == table.registration.incarnation) {
            needs.planned.push_back(planned.planned_location);
          }
        }
        return {};
      }));
  LAKE_TRY(const auto found, deps_.reader.ReadRegistration(table.name));
  if (!found.has_value() || found->record.incarnation != table.registration.incarnation ||
      found->record.location != table.registration.location) {
    return Conflict(fmt::format("table {}: it was dropped, renamed or replaced meanwhile",
                                table.name.ToString()));
  }
  LAKE_TRY(needs.metadata, LoadRegistered(deps_.engine, table.name, found->record,
                                          deps_.clock.Now() + options_.engine_timeout));
  needs.metadata_location = found->record.metadata_location;
  // A store that this process no longer leads may have been read as it was.
  LAKE_TRY_VOID(MayGoOn(work.epoch));
  return needs;
}

}  // namespace lake::metasrv
