#include <utility>

#include <fmt/format.h>

#include "lake/iceberg/snapshot_expiry.h"
#include "lake/iceberg/table_properties.h"
#include "lake/iceberg/table_update.h"
#include "lake/metasrv/load_registered.h"
#include "lake/metasrv/maintenance.h"

namespace lake::metasrv {
namespace {

Result<iceberg::Expiry> FindExpiry(const iceberg::TableMetadata& metadata, WallTime now) {
  if (!iceberg::OwnsItsFiles(metadata)) {
    return iceberg::Expiry{};
  }
  LAKE_TRY(const iceberg::ExpiryPolicy policy, iceberg::ReadExpiryPolicy(metadata.properties));
  return iceberg::PlanExpiry(metadata, policy, now);
}

std::vector<iceberg::TableUpdate> UpdatesOf(const iceberg::Expiry& expiry) {
  std::vector<iceberg::TableUpdate> updates;
  updates.reserve(expiry.refs.size() + 1);
  for (const std::string& name : expiry.refs) {
    updates.emplace_back(iceberg::RemoveSnapshotRef{.name = name});
  }
  if (!expiry.snapshots.empty()) {
    updates.emplace_back(iceberg::RemoveSnapshots{.snapshot_ids = expiry.snapshots});
  }
  return updates;
}

}  // namespace

// What a turn found and did, for those who go on after it.
struct Maintenance::Expired {
  engine::ExpiredVersion version;  // Without `after`: nothing was published.
  iceberg::Expiry expiry;
};

Status Maintenance::ExpireInTurn(const Work& work, const Table& table, Expired& expired) {
  LAKE_TRY(const std::optional<TurnBase> base, ReadInTurn(work, table));
  if (!base.has_value()) {
    return {};
  }
  expired.version.before = base->metadata;
  LAKE_TRY(expired.expiry, FindExpiry(*expired.version.before, deps_.clock.WallNow()));
  if (expired.expiry.empty()) {
    return {};
  }
  const catalog::PendingTable planned = PlanVersion(work, table, *base);
  const Change change = Begin(work, catalog::OperationKind::kExpireSnapshots, table.name);
  engine::MetadataPtr after;
  LAKE_TRY_VOID(deps_.versions.Make({change}, planned, [&](Deadline deadline) -> Status {
    LAKE_TRY(after,
             deps_.engine.Commit({.base = expired.version.before,
                                  .base_location = base->registration.record.metadata_location,
                                  .planned_location = planned.planned_location,
                                  .updates = UpdatesOf(expired.expiry),
                                  .now = deps_.clock.WallNow()},
                                 deadline));
    return {};
  }));
  expired.version.after = std::move(after);
  return {};
}

Status Maintenance::ExpireSnapshots(const Work& work, const Table& table,
                                    TableMaintenance& report) {
  const std::string what = fmt::format("table {}: expiry of snapshots", table.name.ToString());
  // Most tables have nothing to expire, and need not be held up to see that.
  LAKE_TRY(const engine::MetadataPtr metadata,
           LoadRegistered(deps_.engine, table.name, table.registration,
                          deps_.clock.Now() + options_.engine_timeout));
  LAKE_TRY(const iceberg::Expiry expiry,
           WithContext(FindExpiry(*metadata, deps_.clock.WallNow()), what));
  if (expiry.empty()) {
    return {};
  }
  if (work.request.dry_run) {
    report.snapshots_expired = expiry.snapshots.size();
    report.refs_expired = expiry.refs.size();
    return {};
  }
  const auto expired = std::make_shared<Expired>();
  LAKE_TRY_VOID(WithContext(
      RunInTurn(TableTurn(table.registration.incarnation), work.deadline,
                [this, expired, work, table] { return ExpireInTurn(work, table, *expired); }),
      what));
  if (expired->version.after == nullptr) {
    return {};
  }
  report.snapshots_expired = expired->expiry.snapshots.size();
  report.refs_expired = expired->expiry.refs.size();
  // What is not removed now, because this fails or the process ends, is an orphan.
  LAKE_TRY(const engine::FileRemoval removed,
           WithContext(deps_.maintainer.RemoveExpired(
                           expired->version, [&] { return MayGoOn(work.epoch); }, work.deadline),
                       what));
  report.files_removed += removed.files;
  report.files_outside += removed.outside;
  return {};
}

}  // namespace lake::metasrv
