#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lake/base/check.h"
#include "lake/base/log.h"
#include "lake/base/task_group.h"
#include "lake/sql/error_internal.h"
#include "lake/sql/schema_entry_internal.h"
#include "lake/sql/transaction_internal.h"

namespace lake::sql {
namespace {

// A listing loads every table; most of the time goes into waiting.
constexpr std::size_t kListingThreads = 8;

// Names of DuckDB's own catalog, which it looks for in every schema of the search path.
bool IsSystemName(const std::string& name) {
  constexpr std::array<std::string_view, 4> kPrefixes = {"duckdb_", "pragma_", "sqlite_", "pg_"};
  for (const std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix)) {
      return true;
    }
  }
  return false;
}

// Returns the version that an AT clause asks for.
Result<TableVersion> ResolveVersion(duckdb::ClientContext& context,
                                    const iceberg::TableMetadata& metadata,
                                    duckdb::optional_ptr<duckdb::BoundAtClause> at) {
  if (!at) {
    return CurrentVersion(metadata);
  }
  const duckdb::Value& value = at->GetValue();
  const std::string unit = duckdb::StringUtil::Lower(at->Unit());
  if (value.IsNull()) {
    return InvalidArgument("the value in AT is null");
  }
  if (unit == "version") {
    if (value.type().IsIntegral()) {
      duckdb::Value number;
      std::string why;
      if (!value.DefaultTryCastAs(duckdb::LogicalType::BIGINT, number, &why)) {
        return NotFound("there is no snapshot " + value.ToString());
      }
      return VersionOfSnapshot(metadata, iceberg::SnapshotId{duckdb::BigIntValue::Get(number)});
    }
    if (value.type().id() == duckdb::LogicalTypeId::VARCHAR) {
      return VersionOfRef(metadata, duckdb::StringValue::Get(value));
    }
    return InvalidArgument("AT (VERSION => …) takes a snapshot id or the name of a branch or tag");
  }
  if (unit == "timestamp") {
    duckdb::Value moment;
    std::string why;
    // A failed cast may answer with a null instead.
    if (!value.TryCastAs(context, duckdb::LogicalType::TIMESTAMP_TZ, moment, &why) ||
        moment.IsNull()) {
      return InvalidArgument("AT (TIMESTAMP => …) takes a timestamp, not " + value.ToString() +
                             (why.empty() ? "" : ": " + why));
    }
    const duckdb::timestamp_t micros = duckdb::TimestampTZValue::Get(moment);
    if (micros == duckdb::timestamp_t::infinity()) {
      return CurrentVersion(metadata);
    }
    return VersionAsOf(metadata, WallTime(std::chrono::floor<std::chrono::milliseconds>(
                                     std::chrono::microseconds(micros.value))));
  }
  return InvalidArgument("AT takes VERSION or TIMESTAMP, not " + at->Unit());
}

}  // namespace

void RefuseChange() {
  ThrowWhileBinding(Error(ErrorCode::kPermissionDenied,
                          "sql only reads the catalog lake; change tables with the lake commands"));
}

LakeSchemaEntry::LakeSchemaEntry(duckdb::Catalog& owner, duckdb::CreateSchemaInfo& info,
                                 catalog::Namespace ns)
    : SchemaCatalogEntry(owner, info), ns_(std::move(ns)) {}

void LakeSchemaEntry::Scan(duckdb::ClientContext& context, duckdb::CatalogType wanted,
                           const std::function<void(duckdb::CatalogEntry&)>& callback) {
  if (wanted != duckdb::CatalogType::TABLE_ENTRY) {
    return;
  }
  auto& transaction = LakeTransaction::Get(context, ParentCatalog());
  const auto names = transaction.ListTables(ns_);
  if (!names.has_value()) {
    if (names.error().code() == ErrorCode::kNotFound) {
      return;  // Dropped since the namespaces were listed.
    }
    ThrowWhileBinding(names.error());
  }
  {
    TaskGroup loaders({.name = "lake-list",
                       .threads = std::min(kListingThreads, names->size() + 1),
                       .queue_max = names->size()});
    for (const std::string& table : *names) {
      const auto submitted = loaders.Submit([this, &transaction, &table] {
        IgnoreError(transaction.Pin({.ns = ns_, .name = table}), "looked at again below");
      });
      LAKE_CHECK(submitted.has_value(), "the queue holds every table");
    }
  }
  for (const std::string& table : *names) {
    const auto pinned = transaction.Pin({.ns = ns_, .name = table});
    if (!pinned.has_value()) {
      Log(LogLevel::kWarning, "left out of the listing: " + pinned.error().message());
      continue;
    }
    if (*pinned == nullptr) {
      continue;
    }
    const auto entry = transaction.EntryFor(*this, *pinned, CurrentVersion((*pinned)->metadata()));
    if (!entry.has_value()) {
      Log(LogLevel::kWarning, "left out of the listing: " + entry.error().message());
      continue;
    }
    callback(**entry);
  }
}

void LakeSchemaEntry::Scan(duckdb::CatalogType /*type*/,
                           const std::function<void(duckdb::CatalogEntry&)>& /*callback*/) {}

duckdb::optional_ptr<duckdb::CatalogEntry> LakeSchemaEntry::LookupEntry(
    duckdb::CatalogTransaction transaction, const duckdb::EntryLookupInfo& lookup) {
  if (lookup.GetCatalogType() != duckdb::CatalogType::TABLE_ENTRY || ns_.levels.empty() ||
      IsSystemName(lookup.GetEntryName())) {
    return nullptr;
  }
  duckdb::ClientContext& context = transaction.GetContext();
  auto& pins = LakeTransaction::Get(context, ParentCatalog());
  const auto pinned = pins.FindTable(ns_, lookup.GetEntryName());
  if (!pinned.has_value()) {
    ThrowWhileBinding(pinned.error());
  }
  if (*pinned == nullptr) {
    return nullptr;
  }
  const auto version = ResolveVersion(context, (*pinned)->metadata(), lookup.GetAtClause());
  if (!version.has_value()) {
    ThrowWhileBinding(version.error().With("table " + (*pinned)->name.ToString()));
  }
  const auto entry = pins.EntryFor(*this, *pinned, *version);
  if (!entry.has_value()) {
    ThrowWhileBinding(entry.error());
  }
  return entry->get();
}

duckdb::SimilarCatalogEntry LakeSchemaEntry::GetSimilarEntry(
    duckdb::CatalogTransaction transaction, const duckdb::EntryLookupInfo& lookup) {
  duckdb::SimilarCatalogEntry result;
  if (lookup.GetCatalogType() != duckdb::CatalogType::TABLE_ENTRY || ns_.levels.empty()) {
    return result;
  }
  const auto names =
      LakeTransaction::Get(transaction.GetContext(), ParentCatalog()).ListTables(ns_);
  if (!names.has_value()) {
    IgnoreError(names, "an error message without a suggestion is still right");
    return result;
  }
  for (const std::string& candidate : *names) {
    const double score = duckdb::StringUtil::SimilarityRating(candidate, lookup.GetEntryName());
    if (score > result.score) {
      result.score = score;
      result.name = candidate;
    }
  }
  return result;
}

duckdb::optional_ptr<duckdb::CatalogEntry> LakeSchemaEntry::CreateIndex(
    duckdb::CatalogTransaction, duckdb::CreateIndexInfo&, duckdb::TableCatalogEntry&) {
  RefuseChange();
}

duckdb::optional_ptr<duckdb::CatalogEntry> LakeSchemaEntry::CreateFunction(
    duckdb::CatalogTransaction, duckdb::CreateFunctionInfo&) {
  RefuseChange();
}

duckdb::optional_ptr<duckdb::CatalogEntry> LakeSchemaEntry::CreateTable(
    duckdb::CatalogTransaction, duckdb::BoundCreateTableInfo&) {
  RefuseChange();
}

duckdb::optional_ptr<duckdb::CatalogEntry> LakeSchemaEntry::CreateView(duckdb::CatalogTransaction,
                                                                       duckdb::CreateViewInfo&) {
  RefuseChange();
}

duckdb::optional_ptr<duckdb::CatalogEntry> LakeSchemaEntry::CreateSequence(
    duckdb::CatalogTransaction, duckdb::CreateSequenceInfo&) {
  RefuseChange();
}

duckdb::optional_ptr<duckdb::CatalogEntry> LakeSchemaEntry::CreateTableFunction(
    duckdb::CatalogTransaction, duckdb::CreateTableFunctionInfo&) {
  RefuseChange();
}

duckdb::optional_ptr<duckdb::CatalogEntry> LakeSchemaEntry::CreateCopyFunction(
    duckdb::CatalogTransaction, duckdb::CreateCopyFunctionInfo&) {
  RefuseChange();
}

duckdb::optional_ptr<duckdb::CatalogEntry> LakeSchemaEntry::CreatePragmaFunction(
    duckdb::CatalogTransaction, duckdb::CreatePragmaFunctionInfo&) {
  RefuseChange();
}

duckdb::optional_ptr<duckdb::CatalogEntry> LakeSchemaEntry::CreateCollation(
    duckdb::CatalogTransaction, duckdb::CreateCollationInfo&) {
  RefuseChange();
}

duckdb::optional_ptr<duckdb::CatalogEntry> LakeSchemaEntry::CreateType(duckdb::CatalogTransaction,
                                                                       duckdb::CreateTypeInfo&) {
  RefuseChange();
}

void LakeSchemaEntry::DropEntry(duckdb::ClientContext&, duckdb::DropInfo&) {
  RefuseChange();
}

void LakeSchemaEntry::Alter(duckdb::CatalogTransaction, duckdb::AlterInfo&) {
  RefuseChange();
}

}  // namespace lake::sql
