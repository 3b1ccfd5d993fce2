#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread_annotations.h"
#include "lake/catalog/names.h"
#include "lake/sql/duckdb_internal.h"
#include "lake/sql/table_entry_internal.h"
#include "lake/sql/table_source.h"

namespace lake::sql {

class LakeSchemaEntry;

// What one transaction has seen. A table is pinned at its first reference: every later one, of the
// same query or of another in the same BEGIN block, sees the same metadata, and so does the list of
// namespaces. Owns the entries it hands out, together with the plans that use them. Thread-safe.
class LakeTransaction final : public duckdb::Transaction {
 public:
  LakeTransaction(duckdb::TransactionManager& transactions, duckdb::ClientContext& client,
                  TableSource& source);

  // Returns the transaction of the running statement.
  static LakeTransaction& Get(duckdb::ClientContext& context, duckdb::Catalog& catalog);

  // Returns every namespace.
  Result<std::vector<catalog::Namespace>> ListNamespaces() EXCLUDES(mutex_);

  // Returns the namespace that SQL calls `name`: the one written exactly so, else the only one that
  // differs in case alone. Nothing if there is none; kInvalidArgument if there are several.
  Result<std::optional<catalog::Namespace>> FindNamespace(const std::string& name) EXCLUDES(mutex_);

  // Returns the names of the tables in a namespace.
  Result<std::vector<std::string>> ListTables(const catalog::Namespace& ns) EXCLUDES(mutex_);

  // Returns the table of exactly this name, pinning it. Nothing if there is none.
  Result<std::shared_ptr<const PinnedTable>> Pin(const catalog::TableName& name) EXCLUDES(mutex_);

  // The same for a name as SQL has it, where case may differ as for FindNamespace.
  Result<std::shared_ptr<const PinnedTable>> FindTable(const catalog::Namespace& ns,
                                                       const std::string& name) EXCLUDES(mutex_);

  // Returns the entry for a version of a pinned table, the same one every time. kUnimplemented: it
  // has a column that SQL cannot show.
  Result<std::shared_ptr<LakeTableEntry>> EntryFor(LakeSchemaEntry& schema,
                                                   const std::shared_ptr<const PinnedTable>& table,
                                                   const TableVersion& version) EXCLUDES(mutex_);

 private:
  using EntryKey = std::pair<const PinnedTable*, std::pair<const void*, const void*>>;

  TableSource& source_;
  Mutex mutex_;
  std::optional<std::vector<catalog::Namespace>> namespaces_ GUARDED_BY(mutex_);
  std::map<catalog::Namespace, std::vector<std::string>> tables_ GUARDED_BY(mutex_);
  // A null pin remembers that there was no such table.
  std::map<catalog::TableName, std::shared_ptr<const PinnedTable>> pins_ GUARDED_BY(mutex_);
  std::map<EntryKey, std::shared_ptr<LakeTableEntry>> entries_ GUARDED_BY(mutex_);
};

// Makes and ends the transactions of the catalog. There is nothing to commit: reading is all.
// Thread-safe.
class LakeTransactionManager final : public duckdb::TransactionManager {
 public:
  LakeTransactionManager(duckdb::AttachedDatabase& database, TableSource& source);

  duckdb::Transaction& StartTransaction(duckdb::ClientContext& context) override;
  duckdb::ErrorData CommitTransaction(duckdb::ClientContext& context,
                                      duckdb::Transaction& transaction) override;
  void RollbackTransaction(duckdb::Transaction& transaction) override;
  void Checkpoint(duckdb::ClientContext& context, bool force) override;

 private:
  void End(duckdb::Transaction& transaction) EXCLUDES(mutex_);

  TableSource& source_;
  Mutex mutex_;
  std::map<const duckdb::Transaction*, std::unique_ptr<LakeTransaction>> open_ GUARDED_BY(mutex_);
};

}  // namespace lake::sql
