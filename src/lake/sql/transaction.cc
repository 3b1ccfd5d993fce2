#include <algorithm>

#include "lake/base/check.h"
#include "lake/sql/schema_entry_internal.h"
#include "lake/sql/transaction_internal.h"

namespace lake::sql {
namespace {

// Picks what SQL means by `name` among `candidates`, whose text `text` returns.
template <typename T, typename Text>
Result<std::optional<T>> Pick(const std::vector<T>& candidates, const std::string& name,
                              std::string_view kind, Text text) {
  std::optional<T> found;
  for (const T& candidate : candidates) {
    const std::string candidate_text = text(candidate);
    if (candidate_text == name) {
      return candidate;
    }
    if (duckdb::StringUtil::CIEquals(candidate_text, name)) {
      if (found.has_value()) {
        return InvalidArgument(std::string(kind) + " \"" + name + "\" is ambiguous: \"" +
                               text(*found) + "\" and \"" + candidate_text +
                               "\" differ only in case; write one of them exactly");
      }
      found = candidate;
    }
  }
  return found;
}

}  // namespace

LakeTransaction::LakeTransaction(duckdb::TransactionManager& transactions,
                                 duckdb::ClientContext& client, TableSource& source)
    : Transaction(transactions, client), source_(source) {}

LakeTransaction& LakeTransaction::Get(duckdb::ClientContext& context, duckdb::Catalog& catalog) {
  return Transaction::Get(context, catalog).Cast<LakeTransaction>();
}

Result<std::vector<catalog::Namespace>> LakeTransaction::ListNamespaces() {
  {
    const MutexLock lock(mutex_);
    if (namespaces_.has_value()) {
      return *namespaces_;
    }
  }
  LAKE_TRY(auto namespaces, source_.ListNamespaces());
  const MutexLock lock(mutex_);
  if (!namespaces_.has_value()) {
    namespaces_ = std::move(namespaces);
  }
  return *namespaces_;
}

Result<std::optional<catalog::Namespace>> LakeTransaction::FindNamespace(const std::string& name) {
  LAKE_TRY(const auto namespaces, ListNamespaces());
  return Pick(namespaces, name, "namespace",
              [](const catalog::Namespace& ns) { return ns.ToString(); });
}

Result<std::vector<std::string>> LakeTransaction::ListTables(const catalog::Namespace& ns) {
  {
    const MutexLock lock(mutex_);
    const auto known = tables_.find(ns);
    if (known != tables_.end()) {
      return known->second;
    }
  }
  LAKE_TRY(const auto listed, source_.ListTables(ns));
  std::vector<std::string> names;
  names.reserve(listed.size());
  for (const catalog::TableName& table : listed) {
    names.push_back(table.name);
  }
  const MutexLock lock(mutex_);
  return tables_.emplace(ns, std::move(names)).first->second;
}

Result<std::shared_ptr<const PinnedTable>> LakeTransaction::Pin(const catalog::TableName& name) {
  {
    const MutexLock lock(mutex_);
    const auto pin = pins_.find(name);
    if (pin != pins_.end()) {
      return pin->second;
    }
  }
  auto loaded = source_.LoadTable(name);
  std::shared_ptr<const PinnedTable> pinned;
  if (loaded.has_value()) {
    LAKE_CHECK(loaded->metadata != nullptr, "a loaded table has metadata");
    pinned = std::make_shared<const PinnedTable>(
        PinnedTable{.name = name, .table = std::move(*loaded), .source = &source_});
  } else if (loaded.error().code() != ErrorCode::kNotFound) {
    return std::unexpected(loaded.error().With("load table " + name.ToString()));
  }
  const MutexLock lock(mutex_);
  // Of two that came at once, the first is what both see.
  return pins_.emplace(name, std::move(pinned)).first->second;
}

Result<std::shared_ptr<const PinnedTable>> LakeTransaction::FindTable(const catalog::Namespace& ns,
                                                                      const std::string& name) {
  catalog::TableName exact{.ns = ns, .name = name};
  // A name that breaks the rules cannot be that of a table, so the source need not be asked.
  if (!catalog::Validate(exact).has_value()) {
    return std::shared_ptr<const PinnedTable>();
  }
  LAKE_TRY(auto pinned, Pin(exact));
  if (pinned != nullptr) {
    return pinned;
  }
  LAKE_TRY(const auto names, ListTables(ns));
  LAKE_TRY(const auto meant,
           Pick(names, name, "table", [](const std::string& text) { return text; }));
  if (!meant.has_value()) {
    return std::shared_ptr<const PinnedTable>();
  }
  return Pin({.ns = ns, .name = *meant});
}

Result<std::shared_ptr<LakeTableEntry>> LakeTransaction::EntryFor(
    LakeSchemaEntry& schema, const std::shared_ptr<const PinnedTable>& table,
    const TableVersion& version) {
  const MutexLock lock(mutex_);
  const EntryKey key{table.get(), {version.schema, version.snapshot}};
  const auto known = entries_.find(key);
  if (known != entries_.end()) {
    return known->second;
  }
  LAKE_TRY(auto entry, LakeTableEntry::Make(schema.ParentCatalog(), schema, table, version));
  return entries_.emplace(key, std::move(entry)).first->second;
}

LakeTransactionManager::LakeTransactionManager(duckdb::AttachedDatabase& database,
                                               TableSource& source)
    : TransactionManager(database), source_(source) {}

duckdb::Transaction& LakeTransactionManager::StartTransaction(duckdb::ClientContext& context) {
  auto transaction = std::make_unique<LakeTransaction>(*this, context, source_);
  duckdb::Transaction& result = *transaction;
  const MutexLock lock(mutex_);
  open_.emplace(&result, std::move(transaction));
  return result;
}

duckdb::ErrorData LakeTransactionManager::CommitTransaction(duckdb::ClientContext& /*context*/,
                                                            duckdb::Transaction& transaction) {
  End(transaction);
  return {};
}

void LakeTransactionManager::RollbackTransaction(duckdb::Transaction& transaction) {
  End(transaction);
}

void LakeTransactionManager::Checkpoint(duckdb::ClientContext& /*context*/, bool /*force*/) {}

void LakeTransactionManager::End(duckdb::Transaction& transaction) {
  std::unique_ptr<LakeTransaction> ended;  // Destroyed outside the lock.
  const MutexLock lock(mutex_);
  const auto found = open_.find(&transaction);
  LAKE_CHECK(found != open_.end(), "a transaction ends once");
  ended = std::move(found->second);
  open_.erase(found);
}

}  // namespace lake::sql
