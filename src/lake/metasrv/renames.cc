#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lake/catalog/publications.h"
#include "lake/metasrv/metasrv.h"
#include "lake/metasrv/not_found.h"

namespace lake::metasrv {
namespace {

using catalog::OperationKind;

RequestStatement StatementOf(OperationKind kind, const RenameRequest& request) {
  return {.kind = kind, .names = {request.from.ToString(), request.to.ToString()}};
}

}  // namespace

Result<TableResult> Metasrv::RenameTable(const RenameRequest& request, const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(request.from));
  LAKE_TRY_VOID(catalog::Validate(request.to));
  LAKE_TRY(Change change, Begin(StatementOf(OperationKind::kRenameTable, request), options));
  LAKE_TRY(std::optional<TableResult> earlier, FindEarlier(change, request.to));
  if (earlier.has_value()) {
    return *std::move(earlier);
  }
  LAKE_TRY(const auto registration, reader_.ReadRegistration(request.from));
  if (!registration.has_value()) {
    return operations_.Fail(change, NoSuchTable(request.from), request.to);
  }
  const Uuid incarnation = registration->record.incarnation;
  return RunInTurn(TableTurn(incarnation), options.deadline,
                   [this, request, incarnation, change = std::move(change)] {
                     return Publish(change, {request.to}, "table " + request.from.ToString(),
                                    [&] { return TryRenameTable(request, incarnation, change); });
                   });
}

Result<std::optional<TableResult>> Metasrv::TryRenameTable(const RenameRequest& request,
                                                           const Uuid& incarnation,
                                                           const Change& change) {
  LAKE_TRY_VOID(settler_.SettleTable(incarnation, change.epoch));
  LAKE_TRY(const auto registration, reader_.ReadRegistration(request.from));
  if (!registration.has_value() || registration->record.incarnation != incarnation) {
    return operations_.Fail(change, NoSuchTable(request.from), request.to);
  }
  if (const Status free = CheckNameIsFree(request.to); !free.has_value()) {
    return operations_.Fail(change, free.error(), request.to);
  }
  LAKE_TRY(auto ns, reader_.ReadNamespace(request.to.ns));
  if (!ns.has_value()) {
    return std::nullopt;
  }
  catalog::Registration next = registration->record;
  next.last_operation = change.id;
  catalog::FinishedOperation outcome = operations_.Succeeded(change, {incarnation});
  outcome.record.result.metadata_location = next.metadata_location;
  LAKE_TRY(const metastore::Transaction transaction,
           catalog::RenameTable({.from = request.from,
                                 .to = request.to,
                                 .read_bytes = registration->bytes,
                                 .next_bytes = catalog::Encode(next),
                                 .namespace_bytes = std::move(ns->bytes),
                                 .directory = Uuid::Random4(deps_.random),
                                 .outcome = std::move(outcome)}));
  return CommitAttempt(transaction, change,
                       {.incarnation = incarnation, .metadata_location = next.metadata_location});
}

Result<ChangeResult> Metasrv::RenameView(const RenameRequest& request, const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(request.from));
  LAKE_TRY_VOID(catalog::Validate(request.to));
  LAKE_TRY(const Change change, Begin(StatementOf(OperationKind::kRenameView, request), options));
  return WithoutVersion(Publish(change, {}, "view " + request.from.ToString(),
                                [&] { return TryRenameView(request, change); }));
}

Result<std::optional<TableResult>> Metasrv::TryRenameView(const RenameRequest& request,
                                                          const Change& change) {
  LAKE_TRY(auto view, reader_.ReadView(request.from));
  if (!view.has_value()) {
    return operations_.Fail(change, NoSuchView(request.from), std::nullopt);
  }
  if (const Status free = CheckNameIsFree(request.to); !free.has_value()) {
    return operations_.Fail(change, free.error(), std::nullopt);
  }
  LAKE_TRY(auto ns, reader_.ReadNamespace(request.to.ns));
  if (!ns.has_value()) {
    return std::nullopt;
  }
  view->record.last_operation = change.id;
  LAKE_TRY(const metastore::Transaction transaction,
           catalog::RenameView({.from = request.from,
                                .to = request.to,
                                .read_bytes = view->bytes,
                                .next_bytes = catalog::Encode(view->record),
                                .namespace_bytes = std::move(ns->bytes),
                                .directory = Uuid::Random4(deps_.random),
                                .outcome = operations_.Succeeded(change, {view->record.uuid})}));
  return CommitAttempt(transaction, change, {});
}

}  // namespace lake::metasrv
