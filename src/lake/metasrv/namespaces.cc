#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/catalog/keyspace.h"
#include "lake/catalog/publications.h"
#include "lake/metasrv/metasrv.h"
#include "lake/metasrv/not_found.h"

namespace lake::metasrv {
namespace {

std::string What(const catalog::Namespace& ns) {
  return "namespace " + ns.ToString();
}

}  // namespace

Result<NamespaceResult> Metasrv::CreateNamespace(const CreateNamespaceRequest& request,
                                                 const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(request.ns));
  LAKE_TRY(const Change change, Begin({.kind = catalog::OperationKind::kCreateNamespace,
                                       .names = {request.ns.ToString()},
                                       .options = request.properties},
                                      options));
  return WithoutVersion(
      Publish(change, {}, What(request.ns), [&] { return TryCreateNamespace(request, change); }));
}

Result<std::optional<TableResult>> Metasrv::TryCreateNamespace(
    const CreateNamespaceRequest& request, const Change& change) {
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
  return CommitAttempt(transaction, change, {});
}

Result<NamespaceResult> Metasrv::DropNamespace(const catalog::Namespace& ns,
                                               const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(ns));
  LAKE_TRY(
      const Change change,
      Begin({.kind = catalog::OperationKind::kDropNamespace, .names = {ns.ToString()}}, options));
  return WithoutVersion(
      Publish(change, {}, What(ns), [&] { return TryDropNamespace(ns, change); }));
}

Result<std::optional<TableResult>> Metasrv::TryDropNamespace(const catalog::Namespace& ns,
                                                             const Change& change) {
  // The directory is read before the scan: a name that comes after this read changes it.
  LAKE_TRY(const std::optional<std::string> directory,
           reader_.ReadBytes(std::string(catalog::kDirectoryKey)));
  LAKE_TRY(const auto existing, reader_.ReadNamespace(ns));
  if (!existing.has_value()) {
    return operations_.Fail(change, NoSuchNamespace(ns), std::nullopt);
  }
  LAKE_TRY(const bool empty, IsEmpty(ns));
  if (!empty) {
    return operations_.Fail(
        change,
        Error(ErrorCode::kConflict,
              fmt::format("namespace {} is not empty; drop its tables, views and namespaces first",
                          ns.ToString())),
        std::nullopt);
  }
  LAKE_TRY(const metastore::Transaction transaction,
           catalog::DropNamespace(ns, existing->bytes, directory, Uuid::Random4(deps_.random),
                                  operations_.Succeeded(change, {})));
  return CommitAttempt(transaction, change, {});
}

Result<NamespaceResult> Metasrv::SetNamespaceProperties(
    const SetNamespacePropertiesRequest& request, const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(request.ns));
  for (const std::string& removal : request.removals) {
    if (request.updates.contains(removal)) {
      return InvalidArgument(fmt::format("namespace {}: property '{}' is both set and removed",
                                         request.ns.ToString(), removal));
    }
  }
  LAKE_TRY(const Change change,
           Begin({.kind = catalog::OperationKind::kSetNamespaceProperties,
                  .names = {request.ns.ToString()},
                  .options = request.updates,
                  .content = {request.removals.begin(), request.removals.end()}},
                 options));
  return WithoutVersion(Publish(change, {}, What(request.ns),
                                [&] { return TrySetNamespaceProperties(request, change); }));
}

Result<std::optional<TableResult>> Metasrv::TrySetNamespaceProperties(
    const SetNamespacePropertiesRequest& request, const Change& change) {
  LAKE_TRY(const auto existing, reader_.ReadNamespace(request.ns));
  if (!existing.has_value()) {
    return operations_.Fail(change, NoSuchNamespace(request.ns), std::nullopt);
  }
  catalog::NamespaceRecord record = existing->record;
  for (const auto& [name, value] : request.updates) {
    record.properties.insert_or_assign(name, value);
  }
  for (const std::string& removal : request.removals) {
    record.properties.erase(removal);
  }
  LAKE_TRY(const metastore::Transaction transaction,
           catalog::SetNamespaceProperties(request.ns, existing->bytes, record,
                                           operations_.Succeeded(change, {})));
  return CommitAttempt(transaction, change, {});
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
    return std::unexpected(NoSuchNamespace(ns));
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
