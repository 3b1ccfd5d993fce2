#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "lake/sql/error_internal.h"
#include "lake/sql/scan_internal.h"
#include "lake/sql/table_entry_internal.h"
#include "lake/sql/type_mapping_internal.h"

namespace lake::sql {
namespace {

// Returns the number of rows that the snapshot's summary states, if it does.
duckdb::optional_idx SummaryRowCount(const iceberg::Snapshot* snapshot) {
  if (snapshot == nullptr) {
    return duckdb::optional_idx(0);
  }
  const auto text = snapshot->summary.find("total-records");
  duckdb::idx_t count = 0;
  if (text == snapshot->summary.end()) {
    return {};
  }
  const std::string& digits = text->second;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return {};
  }
  return duckdb::optional_idx(count);
}

}  // namespace

Result<std::shared_ptr<LakeTableEntry>> LakeTableEntry::Make(
    duckdb::Catalog& catalog, duckdb::SchemaCatalogEntry& schema,
    std::shared_ptr<const PinnedTable> table, const TableVersion& version) {
  const std::string context = "table " + table->name.ToString();
  duckdb::CreateTableInfo info(schema, table->name.name);
  duckdb::case_insensitive_set_t names;
  for (const iceberg::NestedField& field : version.schema->fields()) {
    const std::string column = fmt::format("{}: column {}", context, field.name);
    if (!names.insert(field.name).second) {
      return Unimplemented(
          column +
          ": the name differs from another one's only in case, which sql cannot tell apart");
    }
    LAKE_TRY(auto type, WithContext(ToDuckDbType(field.type), column));
    if (field.required) {
      info.constraints.push_back(duckdb::make_uniq<duckdb::NotNullConstraint>(
          duckdb::LogicalIndex(info.columns.LogicalColumnCount())));
    }
    duckdb::ColumnDefinition definition(field.name, std::move(type));
    if (field.doc.has_value()) {
      definition.SetComment(duckdb::Value(*field.doc));
    }
    info.columns.AddColumn(std::move(definition));
  }
  if (names.empty()) {
    return Unimplemented(context + " has no columns");
  }
  const auto comment = table->metadata().properties.find("comment");
  if (comment != table->metadata().properties.end()) {
    info.comment = duckdb::Value(comment->second);
  }
  return CatchDuckDb([&]() -> Result<std::shared_ptr<LakeTableEntry>> {
    return std::make_shared<LakeTableEntry>(catalog, schema, info, std::move(table), version);
  });
}

LakeTableEntry::LakeTableEntry(duckdb::Catalog& owner, duckdb::SchemaCatalogEntry& owner_schema,
                               duckdb::CreateTableInfo& info,
                               std::shared_ptr<const PinnedTable> table,
                               const TableVersion& version)
    : TableCatalogEntry(owner, owner_schema, info), table_(std::move(table)), version_(version) {
  comment = info.comment;
}

Result<std::shared_ptr<const SnapshotFiles>> LakeTableEntry::Files() const {
  {
    const MutexLock lock(mutex_);
    if (files_ != nullptr) {
      return files_;
    }
  }
  LAKE_TRY(auto files,
           WithContext(LoadSnapshotFiles(*table_->source, table_->metadata(), version_.snapshot),
                       "read table " + table_->name.ToString()));
  const MutexLock lock(mutex_);
  if (files_ == nullptr) {
    files_ = std::move(files);
  }
  return files_;
}

duckdb::unique_ptr<duckdb::BaseStatistics> LakeTableEntry::GetStatistics(
    duckdb::ClientContext& /*context*/, duckdb::column_t /*column*/) {
  return nullptr;
}

duckdb::TableFunction LakeTableEntry::GetScanFunction(
    duckdb::ClientContext& context, duckdb::unique_ptr<duckdb::FunctionData>& bind_data) {
  auto files = Files();
  if (!files.has_value()) {
    ThrowWhileBinding(files.error());
  }
  return BindScan(context, shared_from_this(), std::move(*files), bind_data);
}

duckdb::TableStorageInfo LakeTableEntry::GetStorageInfo(duckdb::ClientContext& /*context*/) {
  duckdb::TableStorageInfo info;
  info.cardinality = SummaryRowCount(version_.snapshot);
  return info;
}

duckdb::virtual_column_map_t LakeTableEntry::GetVirtualColumns() const {
  return ScanVirtualColumns();
}

duckdb::vector<duckdb::column_t> LakeTableEntry::GetRowIdColumns() const {
  return {duckdb::MultiFileReader::COLUMN_IDENTIFIER_FILE_INDEX,
          duckdb::MultiFileReader::COLUMN_IDENTIFIER_FILE_ROW_NUMBER};
}

}  // namespace lake::sql
