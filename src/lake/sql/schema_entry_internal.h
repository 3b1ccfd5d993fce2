#pragma once

#include <functional>
#include <string>

#include "lake/catalog/names.h"
#include "lake/sql/duckdb_internal.h"

namespace lake::sql {

// A namespace as DuckDB sees it; a nested one is a single name with dots. Holds tables and nothing
// else, and refuses every change. Errors are thrown by ThrowWhileBinding. Thread-safe.
class LakeSchemaEntry final : public duckdb::SchemaCatalogEntry {
 public:
  LakeSchemaEntry(duckdb::Catalog& catalog, duckdb::CreateSchemaInfo& info, catalog::Namespace ns);

  const catalog::Namespace& ns() const { return ns_; }

  // Calls back with every table of the namespace that can be read; a damaged one is left out.
  void Scan(duckdb::ClientContext& context, duckdb::CatalogType type,
            const std::function<void(duckdb::CatalogEntry&)>& callback) override;
  // Without a transaction there is nothing to show.
  void Scan(duckdb::CatalogType type,
            const std::function<void(duckdb::CatalogEntry&)>& callback) override;

  duckdb::optional_ptr<duckdb::CatalogEntry> LookupEntry(
      duckdb::CatalogTransaction transaction, const duckdb::EntryLookupInfo& lookup) override;

  // Returns the table whose name is most like the one looked for. Asks for names only, and never
  // throws: it serves the error message of somebody's typing mistake.
  duckdb::SimilarCatalogEntry GetSimilarEntry(duckdb::CatalogTransaction transaction,
                                              const duckdb::EntryLookupInfo& lookup) override;

  duckdb::optional_ptr<duckdb::CatalogEntry> CreateIndex(duckdb::CatalogTransaction transaction,
                                                         duckdb::CreateIndexInfo& info,
                                                         duckdb::TableCatalogEntry& table) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateFunction(
      duckdb::CatalogTransaction transaction, duckdb::CreateFunctionInfo& info) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateTable(
      duckdb::CatalogTransaction transaction, duckdb::BoundCreateTableInfo& info) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateView(duckdb::CatalogTransaction transaction,
                                                        duckdb::CreateViewInfo& info) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateSequence(
      duckdb::CatalogTransaction transaction, duckdb::CreateSequenceInfo& info) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateTableFunction(
      duckdb::CatalogTransaction transaction, duckdb::CreateTableFunctionInfo& info) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateCopyFunction(
      duckdb::CatalogTransaction transaction, duckdb::CreateCopyFunctionInfo& info) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreatePragmaFunction(
      duckdb::CatalogTransaction transaction, duckdb::CreatePragmaFunctionInfo& info) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateCollation(
      duckdb::CatalogTransaction transaction, duckdb::CreateCollationInfo& info) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateType(duckdb::CatalogTransaction transaction,
                                                        duckdb::CreateTypeInfo& info) override;
  void DropEntry(duckdb::ClientContext& context, duckdb::DropInfo& info) override;
  void Alter(duckdb::CatalogTransaction transaction, duckdb::AlterInfo& info) override;

 private:
  const catalog::Namespace ns_;
};

// Throws the error that says that the catalog cannot be changed with SQL.
[[noreturn]] void RefuseChange();

}  // namespace lake::sql
