#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/failpoint.h"
#include "lake/base/log.h"
#include "lake/catalog/keyspace.h"
#include "lake/catalog/publications.h"
#include "lake/iceberg/table_properties.h"
#include "lake/metasrv/load_registered.h"
#include "lake/metasrv/metasrv.h"
#include "lake/metasrv/not_found.h"

namespace lake::metasrv {
namespace {

using catalog::OperationKind;

}  // namespace

Status Metasrv::CheckOwnsItsFiles(const catalog::TableName& name,
                                  const catalog::Registration& registration) {
  const Result<engine::MetadataPtr> metadata =
      LoadRegistered(deps_.engine, name, registration, deps_.clock.Now() + options_.engine_timeout);
  if (!metadata.has_value()) {
    // A damaged table can be purged: what can be removed without its metadata is its own.
    return metadata.error().code() == ErrorCode::kCorruption
               ? Status()
               : Status(std::unexpected(metadata.error()));
  }
  if (!iceberg::OwnsItsFiles(**metadata)) {
    return Conflict(fmt::format(
        "table {}: it says {}=false, so its files may belong to others, and they are not removed; "
        "drop it without purge, or change the property first",
        name.ToString(), iceberg::kGarbageCollectionProperty));
  }
  return {};
}

Result<TableResult> Metasrv::DropTable(const DropTableRequest& request,
                                       const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(request.name));
  LAKE_TRY(Change change, Begin({.kind = OperationKind::kDropTable,
                                 .names = {request.name.ToString()},
                                 .options = {{"purge", request.purge ? "true" : "false"}}},
                                options));
  LAKE_TRY(const std::optional<TableResult> earlier, FindEarlier(change, request.name));
  if (earlier.has_value()) {
    return *earlier;
  }
  LAKE_TRY(const auto registration, reader_.ReadRegistration(request.name));
  if (!registration.has_value()) {
    return operations_.Fail(change, NoSuchTable(request.name), request.name);
  }
  const Uuid incarnation = registration->record.incarnation;
  return RunInTurn(TableTurn(incarnation), options.deadline,
                   [this, request, incarnation, change = std::move(change)] {
                     return Publish(change, {request.name}, "table " + request.name.ToString(),
                                    [&] { return TryDropTable(request, incarnation, change); });
                   });
}

Result<std::optional<TableResult>> Metasrv::TryDropTable(const DropTableRequest& request,
                                                         const Uuid& incarnation,
                                                         const Change& change) {
  const catalog::TableName& name = request.name;
  LAKE_TRY_VOID(settler_.SettleTable(incarnation, change.epoch));
  LAKE_TRY(const auto registration, reader_.ReadRegistration(name));
  if (!registration.has_value() || registration->record.incarnation != incarnation) {
    return operations_.Fail(change, NoSuchTable(name), name);
  }
  if (request.purge) {
    if (const Status owned = CheckOwnsItsFiles(name, registration->record); !owned.has_value()) {
      return operations_.Fail(change, owned.error(), name);
    }
    // What could not be removed later is refused now, while the table is still there.
    const auto removable =
        deps_.engine.StartRemoval({.incarnation = incarnation,
                                   .location = registration->record.location,
                                   .metadata_location = registration->record.metadata_location});
    if (!removable.has_value()) {
      return operations_.Fail(
          change, removable.error().With(fmt::format("table {} cannot be purged", name.ToString())),
          name);
    }
  }
  catalog::FinishedOperation outcome = operations_.Succeeded(change, {incarnation});
  outcome.record.result.metadata_location = registration->record.metadata_location;
  LAKE_TRY(const metastore::Transaction transaction,
           catalog::DropTable(
               {.name = name,
                .registration_bytes = registration->bytes,
                .incarnation = incarnation,
                .tombstone = {.name = name,
                              .registration = registration->bytes,
                              .purge = request.purge,
                              .state = std::string(request.purge ? catalog::kPurgingState
                                                                 : catalog::kDroppedState),
                              .dropped = deps_.clock.WallNow()},
                .directory = Uuid::Random4(deps_.random),
                .outcome = std::move(outcome)}));
  LAKE_TRY_VOID(Failpoint("before-drop"));
  LAKE_TRY(std::optional<TableResult> dropped,
           CommitAttempt(transaction, change,
                         {.incarnation = incarnation,
                          .metadata_location = registration->record.metadata_location}));
  if (dropped.has_value()) {
    IgnoreError(Failpoint("after-drop"), "the table is dropped");
    if (request.purge) {
      IgnoreError(drops_.StartPurge(incarnation, change.epoch), "a sweep starts it later");
    }
  }
  return dropped;
}

Result<TableResult> Metasrv::UndropTable(const UndropTableRequest& request,
                                         const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(request.name));
  std::map<std::string, std::string> which;
  if (request.incarnation.has_value()) {
    which.emplace("incarnation", request.incarnation->ToString());
  }
  LAKE_TRY(Change change, Begin({.kind = OperationKind::kUndropTable,
                                 .names = {request.name.ToString()},
                                 .options = std::move(which)},
                                options));
  return RunInTurn(NameTurn(request.name), options.deadline,
                   [this, request, change = std::move(change)] {
                     return Publish(change, {request.name}, "table " + request.name.ToString(),
                                    [&] { return TryUndropTable(request, change); });
                   });
}

Result<std::optional<TableResult>> Metasrv::TryUndropTable(const UndropTableRequest& request,
                                                           const Change& change) {
  const Result<catalog::Undropping> undropping =
      PlanUndrop(request, change, deps_.clock.Now() + options_.engine_timeout);
  if (!undropping.has_value()) {
    return operations_.Fail(change, undropping.error(), request.name);
  }
  LAKE_TRY(const metastore::Transaction transaction, catalog::UndropTable(*undropping));
  return CommitAttempt(transaction, change,
                       {.incarnation = undropping->registration.incarnation,
                        .metadata_location = undropping->registration.metadata_location});
}

Result<catalog::Undropping> Metasrv::PlanUndrop(const UndropTableRequest& request,
                                                const Change& change, Deadline deadline) const {
  LAKE_TRY_VOID(CheckNameIsFree(request.name));
  LAKE_TRY(FoundTombstone found, FindDropped(request, deadline));
  LAKE_TRY(catalog::Registration registration,
           WithContext(catalog::DecodeRegistration(found.tombstone.registration),
                       "dropped table " + request.name.ToString()));
  LAKE_TRY(std::optional<catalog::LocationClaim> location,
           locations_.Reclaim(registration.location, found.incarnation, change.epoch, deadline));
  // A registration always names a file that exists; what the cache knows of it proves nothing.
  LAKE_TRY(const engine::PlannedState state,
           deps_.engine.Reconcile(registration.metadata_location, found.incarnation, deadline));
  if (state != engine::PlannedState::kComplete) {
    return Corruption(fmt::format("dropped table {}: its metadata file {} is missing or damaged",
                                  request.name.ToString(), registration.metadata_location));
  }
  LAKE_TRY(auto ns, reader_.ReadNamespace(request.name.ns));
  if (!ns.has_value()) {
    return std::unexpected(NoSuchNamespace(request.name.ns));
  }
  // Nobody who has seen the table before its drop can take it for unchanged.
  registration.last_operation = change.id;
  catalog::FinishedOperation outcome = operations_.Succeeded(change, {found.incarnation});
  outcome.record.result.metadata_location = registration.metadata_location;
  return catalog::Undropping{.name = request.name,
                             .registration = std::move(registration),
                             .namespace_bytes = std::move(ns->bytes),
                             .tombstone_bytes = std::move(found.bytes),
                             .location = std::move(location),
                             .directory = Uuid::Random4(deps_.random),
                             .outcome = std::move(outcome)};
}

Result<Metasrv::FoundTombstone> Metasrv::FindDropped(const UndropTableRequest& request,
                                                     Deadline deadline) const {
  std::optional<FoundTombstone> newest;
  bool purging = false;
  const auto consider = [&](const Uuid& incarnation, const std::string& bytes) -> Status {
    LAKE_TRY(catalog::Tombstone tombstone, catalog::DecodeTombstone(bytes));
    if (tombstone.name != request.name) {
      return {};
    }
    if (tombstone.state == catalog::kPurgingState) {
      purging = true;
      return {};
    }
    if (!newest.has_value() || std::tie(newest->tombstone.dropped, newest->incarnation) <
                                   std::tie(tombstone.dropped, incarnation)) {
      newest = FoundTombstone{
          .incarnation = incarnation, .bytes = bytes, .tombstone = std::move(tombstone)};
    }
    return {};
  };
  if (request.incarnation.has_value()) {
    const std::string key = catalog::TombstoneKey(*request.incarnation);
    LAKE_TRY(const std::optional<std::string> bytes, reader_.ReadBytes(key));
    if (bytes.has_value()) {
      LAKE_TRY_VOID(WithContext(consider(*request.incarnation, *bytes), key));
    }
  } else {
    LAKE_TRY_VOID(reader_.ForEach(
        std::string(catalog::kTombstonePrefix), deadline,
        [&](const metastore::Entry& entry) -> Status {
          const Result<Uuid> incarnation = catalog::ParseTombstoneKey(entry.key);
          const Status considered = incarnation.has_value()
                                        ? consider(*incarnation, entry.value)
                                        : Status(std::unexpected(incarnation.error()));
          if (!considered.has_value()) {
            // It says of no table that it is this one.
            Log(LogLevel::kError, fmt::format("{} is damaged and left out: {}", entry.key,
                                              considered.error().message()));
          }
          return {};
        }));
  }
  if (newest.has_value()) {
    return *std::move(newest);
  }
  const std::string which =
      request.incarnation.has_value() ? fmt::format(" ({})", request.incarnation->ToString()) : "";
  if (purging) {
    return Conflict(fmt::format("table {}{} was dropped with its files, which are being removed",
                                request.name.ToString(), which));
  }
  return NotFound(fmt::format("table {}{}: no such table was dropped, or too long ago",
                              request.name.ToString(), which));
}

Result<std::vector<DroppedTable>> Metasrv::ListDropped(const std::optional<catalog::Namespace>& ns,
                                                       Deadline deadline) {
  if (ns.has_value()) {
    LAKE_TRY_VOID(catalog::Validate(*ns));
  }
  const auto read = [&](const metastore::Entry& entry) -> Result<DroppedTable> {
    LAKE_TRY(const Uuid incarnation, catalog::ParseTombstoneKey(entry.key));
    LAKE_TRY(const catalog::Tombstone tombstone, catalog::DecodeTombstone(entry.value));
    LAKE_TRY(const catalog::Registration table,
             catalog::DecodeRegistration(tombstone.registration));
    return DroppedTable{
        .name = tombstone.name,
        .incarnation = incarnation,
        .location = table.location,
        .metadata_location = table.metadata_location,
        .dropped = tombstone.dropped,
        .purging = tombstone.state == catalog::kPurgingState,
        .kept_until = tombstone.dropped + std::chrono::duration_cast<std::chrono::milliseconds>(
                                              options_.undrop_retention)};
  };
  std::vector<DroppedTable> tables;
  LAKE_TRY_VOID(reader_.ForEach(std::string(catalog::kTombstonePrefix), deadline,
                                [&](const metastore::Entry& entry) -> Status {
                                  Result<DroppedTable> table = read(entry);
                                  if (!table.has_value()) {
                                    Log(LogLevel::kError,
                                        fmt::format("{} is damaged and left out: {}", entry.key,
                                                    table.error().message()));
                                  } else if (!ns.has_value() || table->name.ns == *ns) {
                                    tables.push_back(*std::move(table));
                                  }
                                  return {};
                                }));
  std::ranges::sort(tables, [](const DroppedTable& a, const DroppedTable& b) {
    return std::tie(a.name, a.dropped, a.incarnation) < std::tie(b.name, b.dropped, b.incarnation);
  });
  return tables;
}

Result<PurgeProgress> Metasrv::AwaitPurge(const Uuid& incarnation, Deadline deadline) {
  return drops_.Await(incarnation, deadline);
}

Result<DropSweep> Metasrv::SweepDrops(Deadline deadline, std::size_t budget) {
  return drops_.Sweep(deadline, budget);
}

}  // namespace lake::metasrv
