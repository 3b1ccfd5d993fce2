#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lake/iceberg/value_bounds.h"
#include "lake/sql/column_statistics_internal.h"
#include "lake/sql/error_internal.h"
#include "lake/sql/object_file_system_internal.h"
#include "lake/sql/type_mapping_internal.h"
#include "lake/sql/written_files_internal.h"

namespace lake::sql {
namespace {

using iceberg::NestedField;
using iceberg::TypeKind;

// The columns of COPY's answer.
enum CopyColumn : duckdb::idx_t { kFilename = 0, kCount = 1, kFileSize = 2, kStatistics = 4 };

// A primitive field as Parquet stores it.
struct Leaf {
  const NestedField* field = nullptr;
  std::string path;       // As COPY names it in its statistics: "a"."b".
  bool repeated = false;  // Inside a list or a map.
};

void AddLeaves(const NestedField& field, const std::string& prefix, bool repeated,
               std::vector<Leaf>& leaves) {
  const std::string path = prefix + duckdb::KeywordHelper::WriteQuoted(field.name, '"');
  if (!field.type.is_nested()) {
    leaves.push_back({.field = &field, .path = path, .repeated = repeated});
    return;
  }
  for (const NestedField& child : field.type.fields()) {
    AddLeaves(child, path + ".", repeated || field.type.kind() != TypeKind::kStruct, leaves);
  }
}

// All primitive fields, in the order in which Parquet stores them.
std::vector<Leaf> LeavesOf(const iceberg::Schema& schema) {
  std::vector<Leaf> leaves;
  for (const NestedField& field : schema.fields()) {
    AddLeaves(field, "", false, leaves);
  }
  return leaves;
}

std::string FieldIds(const NestedField& field) {
  const auto id = static_cast<std::int32_t>(field.id);
  if (!field.type.is_nested()) {
    return std::to_string(id);
  }
  std::string children;
  for (const NestedField& child : field.type.fields()) {
    children += fmt::format(", {}: {}", duckdb::KeywordHelper::WriteQuoted(child.name, '\''),
                            FieldIds(child));
  }
  return fmt::format("{{'__duckdb_field_id': {}{}}}", id, children);
}

using ColumnStatistics = std::map<std::string, std::string, std::less<>>;

// Reads MAP(VARCHAR, MAP(VARCHAR, VARCHAR)): column → statistic → text.
std::map<std::string, ColumnStatistics> ReadStatistics(const duckdb::Value& map) {
  std::map<std::string, ColumnStatistics> result;
  for (const duckdb::Value& entry : duckdb::MapValue::GetChildren(map)) {
    const auto& key_value = duckdb::StructValue::GetChildren(entry);
    ColumnStatistics& column = result[duckdb::StringValue::Get(key_value[0])];
    for (const duckdb::Value& statistic : duckdb::MapValue::GetChildren(key_value[1])) {
      const auto& parts = duckdb::StructValue::GetChildren(statistic);
      if (!parts[1].IsNull()) {
        column[duckdb::StringValue::Get(parts[0])] = duckdb::StringValue::Get(parts[1]);
      }
    }
  }
  return result;
}

const std::string* FindText(const ColumnStatistics& statistics, std::string_view name) {
  const auto found = statistics.find(name);
  return found == statistics.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> FindNumber(const ColumnStatistics& statistics, std::string_view name) {
  const std::string* text = FindText(statistics, name);
  if (text == nullptr) {
    return std::nullopt;
  }
  duckdb::Value number;
  std::string why;
  if (!duckdb::Value(*text).DefaultTryCastAs(duckdb::LogicalType::BIGINT, number, &why)) {
    return std::nullopt;
  }
  return duckdb::BigIntValue::Get(number);
}

// Returns one end of a column's values as COPY prints it, as a bound; nothing if that is not certain.
template <typename Bound>
Result<std::optional<std::string>> ReadBound(const iceberg::Type& type, const std::string* text,
                                             Bound bound) {
  if (text == nullptr) {
    return std::nullopt;
  }
  const auto value = ParseStatistic(type, *text);
  if (!value.has_value()) {
    return std::nullopt;
  }
  return bound(type, *value, iceberg::MetricsMode());
}

Status AddStatistics(const Leaf& leaf, const ColumnStatistics& statistics,
                     iceberg::DataFile& file) {
  const iceberg::FieldId id = leaf.field->id;
  if (const auto size = FindNumber(statistics, "column_size_bytes")) {
    file.column_sizes.Set(id, *size);
  }
  if (leaf.repeated) {
    return {};
  }
  if (const auto nulls = FindNumber(statistics, "null_count")) {
    file.null_value_counts.Set(id, *nulls);
  }
  if (leaf.field->type.kind() == TypeKind::kFloat || leaf.field->type.kind() == TypeKind::kDouble) {
    const std::string* has_nan = FindText(statistics, "has_nan");
    if (has_nan == nullptr || *has_nan != "false") {
      return {};
    }
    file.nan_value_counts.Set(id, 0);
  }
  LAKE_TRY(auto lower,
           ReadBound(leaf.field->type, FindText(statistics, "min"), iceberg::LowerBound));
  LAKE_TRY(auto upper,
           ReadBound(leaf.field->type, FindText(statistics, "max"), iceberg::UpperBound));
  if (lower.has_value()) {
    file.lower_bounds.Set(id, std::move(*lower));
  }
  if (upper.has_value()) {
    file.upper_bounds.Set(id, std::move(*upper));
  }
  return {};
}

// Adds what only the footer says: where the row groups begin, and how many values each column has.
Status AddFooter(duckdb::Connection& connection, const std::vector<Leaf>& leaves,
                 iceberg::DataFile& file) {
  const auto result = connection.Query(
      fmt::format("SELECT row_group_id, column_id, num_values, least(data_page_offset, "
                  "coalesce(dictionary_page_offset, data_page_offset)) "
                  "FROM parquet_metadata({}) ORDER BY ALL",
                  duckdb::KeywordHelper::WriteQuoted(ToObjectPath(file.file_path), '\'')));
  if (result->HasError()) {
    return std::unexpected(ToError(result->GetErrorObject()).With("read back " + file.file_path));
  }
  std::vector<std::int64_t> values(leaves.size());
  std::map<std::int64_t, std::int64_t> starts;  // By row group.
  for (duckdb::idx_t row = 0; row < result->RowCount(); ++row) {
    const auto group = result->GetValue(0, row).GetValue<std::int64_t>();
    const auto column = result->GetValue(1, row).GetValue<std::size_t>();
    const auto offset = result->GetValue(3, row).GetValue<std::int64_t>();
    if (column >= leaves.size()) {
      return Internal(fmt::format("{} has {} columns or more instead of {}", file.file_path,
                                  column + 1, leaves.size()));
    }
    values[column] += result->GetValue(2, row).GetValue<std::int64_t>();
    const auto [start, first] = starts.emplace(group, offset);
    start->second = std::min(start->second, offset);
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    file.value_counts.Set(leaves[i].field->id, values[i]);
  }
  for (const auto& [group, start] : starts) {
    file.split_offsets.push_back(start);
  }
  return {};
}

}  // namespace

std::string FieldIdsOption(const iceberg::Schema& schema) {
  std::string fields;
  for (const NestedField& field : schema.fields()) {
    fields += fmt::format("{}{}: {}", fields.empty() ? "" : ", ",
                          duckdb::KeywordHelper::WriteQuoted(field.name, '\''), FieldIds(field));
  }
  return "{" + fields + "}";
}

Result<iceberg::DataFile> DescribeWrittenFile(duckdb::Connection& connection,
                                              const iceberg::Schema& schema,
                                              duckdb::MaterializedQueryResult& copied,
                                              duckdb::idx_t row) {
  iceberg::DataFile file;
  file.file_path = FromObjectPath(copied.GetValue(kFilename, row).ToString());
  file.record_count = copied.GetValue(kCount, row).GetValue<std::int64_t>();
  file.file_size_in_bytes = copied.GetValue(kFileSize, row).GetValue<std::int64_t>();
  const std::vector<Leaf> leaves = LeavesOf(schema);
  const auto statistics = ReadStatistics(copied.GetValue(kStatistics, row));
  for (const Leaf& leaf : leaves) {
    const auto found = statistics.find(leaf.path);
    if (found != statistics.end()) {
      LAKE_TRY_VOID(AddStatistics(leaf, found->second, file));
    }
  }
  LAKE_TRY_VOID(AddFooter(connection, leaves, file));
  return file;
}

}  // namespace lake::sql
