#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/catalog/keyspace.h"
#include "lake/catalog/publications.h"
#include "lake/metasrv/metasrv.h"
#include "lake/metasrv/not_found.h"

// Views: records that name a metadata file. What the file says is the caller's.
namespace lake::metasrv {
namespace {

using catalog::OperationKind;

std::string What(const catalog::TableName& name) {
  return "view " + name.ToString();
}

RequestStatement StatementOf(OperationKind kind, const ViewRequest& request) {
  return {.kind = kind,
          .names = {request.name.ToString()},
          .options = {{"base", request.base_location},
                      {"location", request.location},
                      {"uuid", request.uuid.ToString()}},
          .content = {request.metadata_location}};
}

}  // namespace

Result<ChangeResult> Metasrv::CreateView(const ViewRequest& request, const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(request.name));
  LAKE_TRY(const Change change, Begin(StatementOf(OperationKind::kCreateView, request), options));
  return WithoutVersion(
      Publish(change, {}, What(request.name), [&] { return TryCreateView(request, change); }));
}

Result<std::optional<TableResult>> Metasrv::TryCreateView(const ViewRequest& request,
                                                          const Change& change) {
  if (const Status free = CheckNameIsFree(request.name); !free.has_value()) {
    return operations_.Fail(change, free.error(), std::nullopt);
  }
  if (const Status there = deps_.engine.CheckFile(request.metadata_location,
                                                  deps_.clock.Now() + options_.engine_timeout);
      !there.has_value()) {
    return operations_.Fail(change, there.error(), std::nullopt);
  }
  LAKE_TRY(const auto ns, reader_.ReadNamespace(request.name.ns));
  if (!ns.has_value()) {
    return std::nullopt;
  }
  LAKE_TRY(const metastore::Transaction transaction,
           catalog::CreateView(request.name,
                               {.uuid = request.uuid,
                                .location = request.location,
                                .metadata_location = request.metadata_location,
                                .version = 1,
                                .last_operation = change.id},
                               ns->bytes, Uuid::Random4(deps_.random),
                               operations_.Succeeded(change, {request.uuid})));
  return CommitAttempt(transaction, change, {});
}

Result<ChangeResult> Metasrv::ReplaceView(const ViewRequest& request, const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(request.name));
  LAKE_TRY(const Change change, Begin(StatementOf(OperationKind::kReplaceView, request), options));
  return WithoutVersion(
      Publish(change, {}, What(request.name), [&] { return TryReplaceView(request, change); }));
}

Result<std::optional<TableResult>> Metasrv::TryReplaceView(const ViewRequest& request,
                                                           const Change& change) {
  const auto fail = [&](const Error& error) -> Result<std::optional<TableResult>> {
    return operations_.Fail(change, error, std::nullopt);
  };
  LAKE_TRY(const auto view, reader_.ReadView(request.name));
  if (!view.has_value()) {
    return fail(NoSuchView(request.name));
  }
  if (view->record.uuid != request.uuid ||
      view->record.metadata_location != request.base_location) {
    return fail(Error(ErrorCode::kConflict,
                      fmt::format("view {} is no longer what the new version was made from; read "
                                  "it again",
                                  request.name.ToString())));
  }
  if (const Status there = deps_.engine.CheckFile(request.metadata_location,
                                                  deps_.clock.Now() + options_.engine_timeout);
      !there.has_value()) {
    return fail(there.error());
  }
  catalog::ViewRecord next = view->record;
  next.location = request.location;
  next.metadata_location = request.metadata_location;
  next.version += 1;
  next.last_operation = change.id;
  LAKE_TRY(const metastore::Transaction transaction,
           catalog::ReplaceView(request.name, view->bytes, next,
                                operations_.Succeeded(change, {request.uuid})));
  return CommitAttempt(transaction, change, {});
}

Result<ChangeResult> Metasrv::DropView(const catalog::TableName& name, const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(name));
  LAKE_TRY(const Change change,
           Begin({.kind = OperationKind::kDropView, .names = {name.ToString()}}, options));
  return WithoutVersion(Publish(change, {}, What(name), [&] { return TryDropView(name, change); }));
}

Result<std::optional<TableResult>> Metasrv::TryDropView(const catalog::TableName& name,
                                                        const Change& change) {
  LAKE_TRY(const auto view, reader_.ReadView(name));
  if (!view.has_value()) {
    return operations_.Fail(change, NoSuchView(name), std::nullopt);
  }
  LAKE_TRY(const metastore::Transaction transaction,
           catalog::DropView(name, view->bytes, Uuid::Random4(deps_.random),
                             operations_.Succeeded(change, {view->record.uuid})));
  return CommitAttempt(transaction, change, {});
}

Result<catalog::ViewRecord> Metasrv::LoadView(const catalog::TableName& name,
                                              Deadline /*deadline*/) {
  LAKE_TRY(auto view, reader_.ReadView(name));
  if (!view.has_value()) {
    return std::unexpected(NoSuchView(name));
  }
  return std::move(view->record);
}

Result<std::vector<catalog::TableName>> Metasrv::ListViews(const catalog::Namespace& ns,
                                                           Deadline deadline) {
  LAKE_TRY_VOID(LoadNamespace(ns, deadline));
  LAKE_TRY(const std::string prefix, catalog::ViewsPrefix(ns));
  return reader_.ListViews(prefix, deadline);
}

}  // namespace lake::metasrv
