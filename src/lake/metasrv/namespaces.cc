#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "lake/catalog/keyspace.h"
#include "lake/catalog/publications.h"
#include "lake/metasrv/metasrv.h"

namespace lake::metasrv {
namespace {

using metastore::CommitResult;
using metastore::Rejected;

// How often a publication starts again because what it had read changed.
constexpr int kRounds = 10;

Result<NamespaceResult> OfNamespace(const Result<TableResult>& result) {
  LAKE_TRY_VOID(result);
  return NamespaceResult{.epoch = result->epoch, .replayed = result->replayed};
}

std::unexpected<Error> KeepsChanging(const catalog::Namespace& ns) {
  return Unavailable(
      fmt::format("namespace {}: names keep changing around it; retry", ns.ToString()));
}

}  // namespace

Result<NamespaceResult> Metasrv::CreateNamespace(const CreateNamespaceRequest& request,
                                                 const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(request.ns));
  LAKE_TRY(const Change change, Begin({.kind = catalog::OperationKind::kCreateNamespace,
                                       .names = {request.ns.ToString()},
                                       .options = request.properties},
                                      options));
  for (int round = 0; round < kRounds; ++round) {
    bool again = false;
    const Result<TableResult> result = TryCreateNamespace(request, change, again);
    if (!again) {
      return OfNamespace(result);
    }
  }
  return KeepsChanging(request.ns);
}

Result<TableResult> Metasrv::TryCreateNamespace(const CreateNamespaceRequest& request,
                                                const Change& change, bool& again) {
  LAKE_TRY(const std::optional<TableResult> earlier, FindEarlier(change, std::nullopt));
  if (earlier.has_value()) {
    return *earlier;
  }
  LAKE_TRY(const auto existing, reader_.ReadNamespace(request.ns));
  if (existing.has_value()) {
    return operations_.Fail(
        change,
        Error(ErrorCode::kAlreadyExists,
              fmt::format("namespace {} already exists", request.ns.ToString())),
        std::nullopt);
  }
  std::optional<std::string> parent_bytes;
  if (const catalog::Namespace parent = request.ns.parent(); !parent.levels.empty()) {
    LAKE_TRY(auto stored, reader_.ReadNamespace(parent));
    if (!stored.has_value()) {
      return operations_.Fail(
          change,
          Error(ErrorCode::kNotFound,
                fmt::format("namespace {} does not exist; create it before namespace {}",
                            parent.ToString(), request.ns.ToString())),
          std::nullopt);
    }
    parent_bytes = std::move(stored->bytes);
  }
  LAKE_TRY(
      const metastore::Transaction transaction,
      catalog::CreateNamespace(request.ns, {.properties = request.properties}, parent_bytes,
                               Uuid::Random4(deps_.random), operations_.Succeeded(change, {})));
  LAKE_TRY(const CommitResult result,
           operations_.CommitOutcome(transaction, change.epoch, change.id));
  again = std::holds_alternative<Rejected>(result);
  return TableResult{.epoch = change.epoch.value()};
}

Result<NamespaceResult> Metasrv::DropNamespace(const catalog::Namespace& ns,
                                               const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(ns));
  LAKE_TRY(
      const Change change,
      Begin({.kind = catalog::OperationKind::kDropNamespace, .names = {ns.ToString()}}, options));
  for (int round = 0; round < kRounds; ++round) {
    bool again = false;
    const Result<TableResult> result = TryDropNamespace(ns, change, again);
    if (!again) {
      return OfNamespace(result);
    }
  }
  return KeepsChanging(ns);
}

Result<TableResult> Metasrv::TryDropNamespace(const catalog::Namespace& ns, const Change& change,
                                              bool& again) {
  LAKE_TRY(const std::optional<TableResult> earlier, FindEarlier(change, std::nullopt));
  if (earlier.has_value()) {
    return *earlier;
  }
  // The directory is read before the scan: a name that comes after this read changes it.
  LAKE_TRY(const std::optional<std::string> directory,
           reader_.ReadBytes(std::string(catalog::kDirectoryKey)));
  LAKE_TRY(const auto existing, reader_.ReadNamespace(ns));
  if (!existing.has_value()) {
    return operations_.Fail(
        change,
        Error(ErrorCode::kNotFound, fmt::format("namespace {} does not exist", ns.ToString())),
        std::nullopt);
  }
  LAKE_TRY(const bool empty, IsEmpty(ns));
  if (!empty) {
    return operations_.Fail(
        change,
        Error(ErrorCode::kConflict,
              fmt::format("namespace {} is not empty; drop its tables and namespaces first",
                          ns.ToString())),
        std::nullopt);
  }
  LAKE_TRY(const metastore::Transaction transaction,
           catalog::DropNamespace(ns, existing->bytes, directory, Uuid::Random4(deps_.random),
                                  operations_.Succeeded(change, {})));
  LAKE_TRY(const CommitResult result,
           operations_.CommitOutcome(transaction, change.epoch, change.id));
  again = std::holds_alternative<Rejected>(result);
  return TableResult{.epoch = change.epoch.value()};
}

Result<bool> Metasrv::IsEmpty(const catalog::Namespace& ns) {
  LAKE_TRY(const std::string tables, catalog::TablesPrefix(ns));
  LAKE_TRY(const std::string views, catalog::ViewsPrefix(ns));
  LAKE_TRY(const std::string children, catalog::NamespaceChildrenPrefix(ns));
  for (const std::string& prefix : {tables, views, children}) {
    LAKE_TRY(const bool any, reader_.AnyUnder(prefix));
    if (any) {
      return false;
    }
  }
  return true;
}

Result<catalog::NamespaceRecord> Metasrv::LoadNamespace(const catalog::Namespace& ns,
                                                        Deadline /*deadline*/) {
  LAKE_TRY(auto stored, reader_.ReadNamespace(ns));
  if (!stored.has_value()) {
    return NotFound(fmt::format("namespace {} does not exist", ns.ToString()));
  }
  return std::move(stored->record);
}

Result<std::vector<catalog::Namespace>> Metasrv::ListNamespaces(const catalog::Namespace& parent,
                                                                Deadline deadline) {
  if (!parent.levels.empty()) {
    LAKE_TRY_VOID(LoadNamespace(parent, deadline));
  }
  LAKE_TRY(const std::string prefix, catalog::NamespaceChildrenPrefix(parent));
  return reader_.ListNamespaces(prefix, deadline);
}

}  // namespace lake::metasrv
