#include <utility>

#include "lake/sql/catalog_internal.h"
#include "lake/sql/error_internal.h"
#include "lake/sql/transaction_internal.h"

namespace lake::sql {
namespace {

// What the extension hands to the catalog and the transaction manager.
struct SourceInfo final : duckdb::StorageExtensionInfo {
  explicit SourceInfo(TableSource& tables) : source(tables) {}

  TableSource& source;
};

duckdb::unique_ptr<duckdb::Catalog> Attach(
    duckdb::optional_ptr<duckdb::StorageExtensionInfo> /*info*/, duckdb::ClientContext&,
    duckdb::AttachedDatabase& database, const std::string&, duckdb::AttachInfo&,
    duckdb::AttachOptions& options) {
  if (options.access_mode != duckdb::AccessMode::READ_ONLY) {
    throw duckdb::PermissionException("the catalog lake is attached READ_ONLY or not at all");
  }
  return duckdb::make_uniq<LakeCatalog>(database);
}

duckdb::unique_ptr<duckdb::TransactionManager> CreateTransactionManager(
    duckdb::optional_ptr<duckdb::StorageExtensionInfo> info, duckdb::AttachedDatabase& database,
    duckdb::Catalog&) {
  return duckdb::make_uniq<LakeTransactionManager>(database,
                                                   static_cast<SourceInfo&>(*info).source);
}

// Schemas of DuckDB's own, which it looks for in every catalog of the search path.
bool IsSystemSchema(const std::string& name) {
  return name == "information_schema" || name == "pg_catalog";
}

}  // namespace

duckdb::unique_ptr<duckdb::StorageExtension> MakeStorageExtension(TableSource& source) {
  auto extension = duckdb::make_uniq<duckdb::StorageExtension>();
  extension->attach = Attach;
  extension->create_transaction_manager = CreateTransactionManager;
  extension->storage_info = duckdb::make_shared_ptr<SourceInfo>(source);
  return extension;
}

LakeCatalog::LakeCatalog(duckdb::AttachedDatabase& database) : Catalog(database) {}

LakeCatalog::~LakeCatalog() = default;

void LakeCatalog::Initialize(bool /*load_builtin*/) {}

LakeSchemaEntry& LakeCatalog::SchemaFor(const catalog::Namespace& ns) {
  const MutexLock lock(mutex_);
  auto& entry = schemas_[ns];
  if (entry == nullptr) {
    duckdb::CreateSchemaInfo info;
    info.catalog = GetName();
    info.schema = ns.levels.empty() ? std::string(kDefaultSchemaName) : ns.ToString();
    entry = std::make_unique<LakeSchemaEntry>(*this, info, ns);
  }
  return *entry;
}

duckdb::CatalogLookupBehavior LakeCatalog::CatalogTypeLookupRule(duckdb::CatalogType type) const {
  switch (type) {
    case duckdb::CatalogType::TABLE_ENTRY:
    case duckdb::CatalogType::VIEW_ENTRY:
      return duckdb::CatalogLookupBehavior::STANDARD;
    default:
      // There are no functions, types or anything else here to look for.
      return duckdb::CatalogLookupBehavior::NEVER_LOOKUP;
  }
}

duckdb::optional_ptr<duckdb::SchemaCatalogEntry> LakeCatalog::LookupSchema(
    duckdb::CatalogTransaction transaction, const duckdb::EntryLookupInfo& lookup,
    duckdb::OnEntryNotFound if_not_found) {
  const std::string& name = lookup.GetEntryName();
  if (!IsSystemSchema(name)) {
    const auto found = LakeTransaction::Get(transaction.GetContext(), *this).FindNamespace(name);
    if (!found.has_value()) {
      ThrowWhileBinding(found.error());
    }
    if (found->has_value()) {
      return &SchemaFor(**found);
    }
    if (name == kDefaultSchemaName) {
      return &SchemaFor({});
    }
  }
  if (if_not_found == duckdb::OnEntryNotFound::THROW_EXCEPTION) {
    ThrowWhileBinding(Error(ErrorCode::kNotFound, "there is no namespace \"" + name + "\""));
  }
  return nullptr;
}

void LakeCatalog::ScanSchemas(duckdb::ClientContext& context,
                              std::function<void(duckdb::SchemaCatalogEntry&)> callback) {
  const auto namespaces = LakeTransaction::Get(context, *this).ListNamespaces();
  if (!namespaces.has_value()) {
    ThrowWhileBinding(namespaces.error());
  }
  for (const catalog::Namespace& ns : *namespaces) {
    callback(SchemaFor(ns));
  }
}

duckdb::DatabaseSize LakeCatalog::GetDatabaseSize(duckdb::ClientContext& /*context*/) {
  return {};
}

duckdb::optional_ptr<duckdb::CatalogEntry> LakeCatalog::CreateSchema(duckdb::CatalogTransaction,
                                                                     duckdb::CreateSchemaInfo&) {
  RefuseChange();
}

void LakeCatalog::DropSchema(duckdb::ClientContext&, duckdb::DropInfo&) {
  RefuseChange();
}

duckdb::PhysicalOperator& LakeCatalog::PlanCreateTableAs(duckdb::ClientContext&,
                                                         duckdb::PhysicalPlanGenerator&,
                                                         duckdb::LogicalCreateTable&,
                                                         duckdb::PhysicalOperator&) {
  RefuseChange();
}

duckdb::PhysicalOperator& LakeCatalog::PlanInsert(duckdb::ClientContext&,
                                                  duckdb::PhysicalPlanGenerator&,
                                                  duckdb::LogicalInsert&,
                                                  duckdb::optional_ptr<duckdb::PhysicalOperator>) {
  RefuseChange();
}

duckdb::PhysicalOperator& LakeCatalog::PlanDelete(duckdb::ClientContext&,
                                                  duckdb::PhysicalPlanGenerator&,
                                                  duckdb::LogicalDelete&,
                                                  duckdb::PhysicalOperator&) {
  RefuseChange();
}

duckdb::PhysicalOperator& LakeCatalog::PlanUpdate(duckdb::ClientContext&,
                                                  duckdb::PhysicalPlanGenerator&,
                                                  duckdb::LogicalUpdate&,
                                                  duckdb::PhysicalOperator&) {
  RefuseChange();
}

duckdb::unique_ptr<duckdb::LogicalOperator> LakeCatalog::BindCreateIndex(
    duckdb::Binder&, duckdb::CreateStatement&, duckdb::TableCatalogEntry&,
    duckdb::unique_ptr<duckdb::LogicalOperator>) {
  // DuckDB's own binds an index of a table it would store, and crashes on any other.
  RefuseChange();
}

duckdb::unique_ptr<duckdb::LogicalOperator> LakeCatalog::BindAlterAddIndex(
    duckdb::Binder&, duckdb::TableCatalogEntry&, duckdb::unique_ptr<duckdb::LogicalOperator>,
    duckdb::unique_ptr<duckdb::CreateIndexInfo>, duckdb::unique_ptr<duckdb::AlterTableInfo>) {
  RefuseChange();
}

}  // namespace lake::sql
