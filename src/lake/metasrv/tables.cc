#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/hash.h"
#include "lake/catalog/keyspace.h"
#include "lake/catalog/publications.h"
#include "lake/iceberg/schema_json.h"
#include "lake/metasrv/load_registered.h"
#include "lake/metasrv/metasrv.h"
#include "lake/metasrv/not_found.h"

namespace lake::metasrv {
namespace {

using catalog::OperationKind;

// How often a publication starts again because what it had read changed.
constexpr int kRounds = 10;

}  // namespace

Result<Change> Metasrv::BeginCreate(const CreateTableRequest& request, const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(request.name));
  return Begin({.kind = OperationKind::kCreateTable,
                .names = {request.name.ToString()},
                .options = request.properties,
                .content = {Sha256Hex(iceberg::WriteSchema(request.schema))}},
               options);
}

engine::CreatePlan Metasrv::PlanCreate(const CreateTableRequest& request,
                                       const Change& change) const {
  // The same for every attempt of one operation, and for nothing else: what was staged for the plan belongs to the table.
  const Uuid incarnation =
      Uuid::Hashed8(fmt::format("lake table {} {}", change.id.ToString(), change.digest));
  std::string location = fmt::format("{}/{}", options_.warehouse, incarnation.ToString());
  std::string planned_location = versions_.PlanLocation(location, 1, change.epoch);
  return {.incarnation = incarnation,
          .location = std::move(location),
          .planned_location = std::move(planned_location),
          .schema = request.schema,
          .properties = request.properties,
          .now = deps_.clock.WallNow()};
}

Result<LoadedTable> Metasrv::PlanTable(const CreateTableRequest& request,
                                       const CallOptions& options) {
  LAKE_TRY(const Change change, BeginCreate(request, options));
  LAKE_TRY_VOID(CheckNameIsFree(request.name));
  const engine::CreatePlan plan = PlanCreate(request, change);
  LAKE_TRY(engine::MetadataPtr metadata, deps_.engine.Plan(plan));
  return LoadedTable{.name = request.name,
                     .registration = {.incarnation = plan.incarnation, .location = plan.location},
                     .metadata = std::move(metadata)};
}

Result<TableResult> Metasrv::CreateTable(const CreateTableRequest& request,
                                         const CallOptions& options) {
  LAKE_TRY(const Change change, BeginCreate(request, options));
  return WithoutFalseCertainty(
      change.id, RunInTurn(NameTurn(request.name), options.deadline,
                           [this, request, change] { return CreateInTurn(request, change); }));
}

Result<TableResult> Metasrv::CreateInTurn(const CreateTableRequest& request, const Change& change) {
  for (int round = 0; round < kRounds; ++round) {
    LAKE_TRY(const std::optional<TableResult> earlier, FindEarlier(change, request.name));
    if (earlier.has_value()) {
      return *earlier;
    }
    if (const Status free = CheckNameIsFree(request.name); !free.has_value()) {
      return operations_.Fail(change, free.error(), request.name);
    }
    const engine::CreatePlan plan = PlanCreate(request, change);
    const catalog::PendingTable table{.name = request.name,
                                      .incarnation = plan.incarnation,
                                      .location = plan.location,
                                      .planned_location = plan.planned_location};
    const Result<TableResult> made = versions_.Make(
        {change}, table, [&](Deadline deadline) { return deps_.engine.Create(plan, deadline); });
    if (made.has_value()) {
      return made;
    }
    if (made.error().code() != ErrorCode::kConflict) {
      return operations_.Fail(change, made.error(), request.name);
    }
  }
  return Unavailable(
      fmt::format("table {}: names keep changing around it; retry", request.name.ToString()));
}

Status Metasrv::CheckNameIsFree(const catalog::TableName& name) const {
  LAKE_TRY(const auto ns, reader_.ReadNamespace(name.ns));
  if (!ns.has_value()) {
    return std::unexpected(NoSuchNamespace(name.ns));
  }
  LAKE_TRY(const std::string table_key, catalog::TableKey(name));
  LAKE_TRY(const std::optional<std::string> table, reader_.ReadBytes(table_key));
  if (table.has_value()) {
    return AlreadyExists(fmt::format("table {} already exists", name.ToString()));
  }
  LAKE_TRY(const std::string view_key, catalog::ViewKey(name));
  LAKE_TRY(const std::optional<std::string> view, reader_.ReadBytes(view_key));
  if (view.has_value()) {
    return AlreadyExists(fmt::format("view {} already exists", name.ToString()));
  }
  return {};
}

Result<TableResult> Metasrv::RegisterTable(const RegisterTableRequest& request,
                                           const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(request.name));
  LAKE_TRY(Change change, Begin({.kind = OperationKind::kRegisterTable,
                                 .names = {request.name.ToString()},
                                 .content = {request.metadata_location}},
                                options));
  return RunInTurn(NameTurn(request.name), options.deadline,
                   [this, request, change = std::move(change)] {
                     return Publish(change, {request.name}, "table " + request.name.ToString(),
                                    [&] { return TryRegisterTable(request, change); });
                   });
}

Result<std::optional<TableResult>> Metasrv::TryRegisterTable(const RegisterTableRequest& request,
                                                             const Change& change) {
  const auto fail = [&](const Error& error) -> Result<std::optional<TableResult>> {
    return operations_.Fail(change, error, request.name);
  };
  LAKE_TRY(std::optional<std::string> directory,
           reader_.ReadBytes(std::string(catalog::kDirectoryKey)));
  if (const Status free = CheckNameIsFree(request.name); !free.has_value()) {
    return fail(free.error());
  }
  const Deadline deadline = deps_.clock.Now() + options_.engine_timeout;
  const Result<engine::MetadataPtr> metadata =
      deps_.engine.Load(request.metadata_location, deadline);
  if (!metadata.has_value()) {
    return fail(metadata.error());
  }
  if (!(*metadata)->table_uuid.has_value()) {
    return fail(Error(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "metadata file {}: it has no table UUID, so the table cannot be told from another",
            request.metadata_location)));
  }
  const Uuid incarnation = *(*metadata)->table_uuid;
  std::string location = (*metadata)->location;
  while (location.size() > 1 && location.ends_with('/')) {
    location.pop_back();
  }
  LAKE_TRY(std::optional<std::string> tombstone_bytes,
           reader_.ReadBytes(catalog::TombstoneKey(incarnation)));
  // What was loaded may have been in memory, and the table purged since. From here on a purge would change what was read above.
  LAKE_TRY(const engine::PlannedState there,
           deps_.engine.Reconcile(request.metadata_location, incarnation, deadline));
  if (there != engine::PlannedState::kComplete) {
    return fail(Error(ErrorCode::kNotFound, fmt::format("metadata file {}: it is no longer there",
                                                        request.metadata_location)));
  }
  if (tombstone_bytes.has_value()) {
    LAKE_TRY(const catalog::Tombstone tombstone,
             WithContext(catalog::DecodeTombstone(*tombstone_bytes),
                         "dropped table " + incarnation.ToString()));
    if (tombstone.state == catalog::kPurgingState) {
      return fail(Error(ErrorCode::kConflict,
                        fmt::format("table {} was dropped with its files, which are being removed",
                                    incarnation.ToString())));
    }
  }
  Result<std::optional<catalog::LocationClaim>> claim =
      locations_.Claim(location, incarnation, tombstone_bytes.has_value(), change.epoch, deadline);
  if (!claim.has_value()) {
    return fail(claim.error());
  }
  LAKE_TRY(auto ns, reader_.ReadNamespace(request.name.ns));
  if (!ns.has_value()) {
    return std::nullopt;
  }
  catalog::FinishedOperation outcome = operations_.Succeeded(change, {incarnation});
  outcome.record.result.metadata_location = request.metadata_location;
  LAKE_TRY(const metastore::Transaction transaction,
           catalog::RegisterTable({.name = request.name,
                                   .registration = {.incarnation = incarnation,
                                                    .location = std::move(location),
                                                    .metadata_location = request.metadata_location,
                                                    .version = 1,
                                                    .last_operation = change.id},
                                   .namespace_bytes = std::move(ns->bytes),
                                   .tombstone_bytes = std::move(tombstone_bytes),
                                   .location = *std::move(claim),
                                   .read_directory = std::move(directory),
                                   .directory = Uuid::Random4(deps_.random),
                                   .outcome = std::move(outcome)}));
  return CommitAttempt(
      transaction, change,
      {.incarnation = incarnation, .metadata_location = request.metadata_location});
}

Result<LoadedTable> Metasrv::LoadTable(const catalog::TableName& name, Deadline deadline) {
  LAKE_TRY(auto stored, reader_.ReadRegistration(name));
  if (!stored.has_value()) {
    return std::unexpected(NoSuchTable(name));
  }
  LAKE_TRY(engine::MetadataPtr metadata,
           LoadRegistered(deps_.engine, name, stored->record, deadline));
  return LoadedTable{
      .name = name, .registration = std::move(stored->record), .metadata = std::move(metadata)};
}

Result<std::vector<catalog::TableName>> Metasrv::ListTables(const catalog::Namespace& ns,
                                                            Deadline deadline) {
  LAKE_TRY_VOID(LoadNamespace(ns, deadline));
  LAKE_TRY(const std::string prefix, catalog::TablesPrefix(ns));
  return reader_.ListTables(prefix, deadline);
}

}  // namespace lake::metasrv
