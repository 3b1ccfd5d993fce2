#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "lake/base/mutex.h"
#include "lake/base/thread_annotations.h"
#include "lake/sql/duckdb_internal.h"
#include "lake/sql/schema_entry_internal.h"
#include "lake/sql/table_source.h"

namespace lake::sql {

// The name under which a session attaches the catalog, and that of its storage extension.
inline constexpr const char* kCatalogName = "lake";

// Where unqualified names are looked for first. It stands for no namespace unless there is one of
// this name.
inline constexpr const char* kDefaultSchemaName = "main";

// Lake's tables as a catalog of DuckDB: `ATTACH '' AS lake (TYPE lake, READ_ONLY)`. Everything it
// shows comes from the transaction (transaction_internal.h); everything that would change it is
// refused. Errors are thrown by ThrowWhileBinding. Thread-safe.
class LakeCatalog final : public duckdb::Catalog {
 public:
  explicit LakeCatalog(duckdb::AttachedDatabase& database);
  ~LakeCatalog() override;

  using Catalog::Initialize;
  void Initialize(bool load_builtin) override;

  std::string GetCatalogType() override { return kCatalogName; }

  std::string GetDefaultSchema() const override { return kDefaultSchemaName; }

  bool SupportsTimeTravel() const override { return true; }

  bool InMemory() override { return false; }

  std::string GetDBPath() override { return {}; }

  duckdb::DatabaseSize GetDatabaseSize(duckdb::ClientContext& context) override;
  duckdb::CatalogLookupBehavior CatalogTypeLookupRule(duckdb::CatalogType type) const override;

  duckdb::optional_ptr<duckdb::SchemaCatalogEntry> LookupSchema(
      duckdb::CatalogTransaction transaction, const duckdb::EntryLookupInfo& lookup,
      duckdb::OnEntryNotFound if_not_found) override;
  void ScanSchemas(duckdb::ClientContext& context,
                   std::function<void(duckdb::SchemaCatalogEntry&)> callback) override;

  using Catalog::CreateSchema;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateSchema(duckdb::CatalogTransaction transaction,
                                                          duckdb::CreateSchemaInfo& info) override;
  void DropSchema(duckdb::ClientContext& context, duckdb::DropInfo& info) override;
  using Catalog::PlanDelete;
  using Catalog::PlanUpdate;
  duckdb::PhysicalOperator& PlanCreateTableAs(duckdb::ClientContext& context,
                                              duckdb::PhysicalPlanGenerator& planner,
                                              duckdb::LogicalCreateTable& op,
                                              duckdb::PhysicalOperator& plan) override;
  duckdb::PhysicalOperator& PlanInsert(
      duckdb::ClientContext& context, duckdb::PhysicalPlanGenerator& planner,
      duckdb::LogicalInsert& op, duckdb::optional_ptr<duckdb::PhysicalOperator> plan) override;
  duckdb::PhysicalOperator& PlanDelete(duckdb::ClientContext& context,
                                       duckdb::PhysicalPlanGenerator& planner,
                                       duckdb::LogicalDelete& op,
                                       duckdb::PhysicalOperator& plan) override;
  duckdb::PhysicalOperator& PlanUpdate(duckdb::ClientContext& context,
                                       duckdb::PhysicalPlanGenerator& planner,
                                       duckdb::LogicalUpdate& op,
                                       duckdb::PhysicalOperator& plan) override;
  duckdb::unique_ptr<duckdb::LogicalOperator> BindCreateIndex(
      duckdb::Binder& binder, duckdb::CreateStatement& statement, duckdb::TableCatalogEntry& table,
      duckdb::unique_ptr<duckdb::LogicalOperator> plan) override;
  duckdb::unique_ptr<duckdb::LogicalOperator> BindAlterAddIndex(
      duckdb::Binder& binder, duckdb::TableCatalogEntry& table,
      duckdb::unique_ptr<duckdb::LogicalOperator> plan,
      duckdb::unique_ptr<duckdb::CreateIndexInfo> create_info,
      duckdb::unique_ptr<duckdb::AlterTableInfo> alter_info) override;

 private:
  LakeSchemaEntry& SchemaFor(const catalog::Namespace& ns) EXCLUDES(mutex_);

  Mutex mutex_;
  // Entries live as long as the catalog: DuckDB keeps references to them between statements.
  std::map<catalog::Namespace, std::unique_ptr<LakeSchemaEntry>> schemas_ GUARDED_BY(mutex_);
};

// Makes the extension by which DuckDB attaches the catalog. `source` must outlive the instance.
duckdb::unique_ptr<duckdb::StorageExtension> MakeStorageExtension(TableSource& source);

}  // namespace lake::sql
