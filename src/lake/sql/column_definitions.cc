#include <string>
#include <utility>

#include "lake/base/json_internal.h"
#include "lake/sql/column_definitions_internal.h"
#include "lake/sql/error_internal.h"
#include "lake/sql/type_mapping_internal.h"

namespace lake::sql {
namespace {

// Reads an initial default: the JSON form of a single value (the specification's appendix D).
Result<duckdb::Value> ReadDefault(const iceberg::NestedField& field,
                                  const duckdb::LogicalType& type) {
  LAKE_TRY(const auto json, json::Parse(field.initial_default->text));
  if (json.is_null()) {
    return duckdb::Value(type);
  }
  if (field.type.is_nested()) {
    return Unimplemented("lake does not read initial defaults of nested types");
  }
  const std::string text = json.is_string() ? std::string(json.as_string()) : json::Write(json);
  return CatchDuckDb([&]() -> Result<duckdb::Value> {
    if (type.id() == duckdb::LogicalTypeId::BLOB) {
      // Binary values are hexadecimal digits.
      std::string escaped;
      for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        escaped += "\\x" + text.substr(i, 2);
      }
      return duckdb::Value(escaped).DefaultCastAs(type);
    }
    return duckdb::Value(text).DefaultCastAs(type);
  });
}

Result<duckdb::MultiFileColumnDefinition> Define(const iceberg::NestedField& field) {
  LAKE_TRY(const auto type, WithContext(ToDuckDbType(field.type), "column " + field.name));
  duckdb::MultiFileColumnDefinition result(field.name, type);
  result.identifier = duckdb::Value::INTEGER(static_cast<std::int32_t>(field.id));
  duckdb::Value default_value(type);
  if (field.initial_default.has_value()) {
    auto read = ReadDefault(field, type);
    if (!read.has_value()) {
      const bool unread = read.error().code() == ErrorCode::kUnimplemented;
      return std::unexpected(
          Error(unread ? ErrorCode::kUnimplemented : ErrorCode::kCorruption, read.error().message())
              .With("column " + field.name + ": initial default"));
    }
    default_value = std::move(*read);
  }
  result.default_expression =
      duckdb::make_uniq<duckdb::ConstantExpression>(std::move(default_value));
  for (const iceberg::NestedField& child : field.type.fields()) {
    LAKE_TRY(auto definition, Define(child));
    result.children.push_back(std::move(definition));
  }
  return result;
}

}  // namespace

Result<duckdb::vector<duckdb::MultiFileColumnDefinition>> DefineColumns(
    const iceberg::Schema& schema) {
  duckdb::vector<duckdb::MultiFileColumnDefinition> result;
  for (const iceberg::NestedField& field : schema.fields()) {
    LAKE_TRY(auto definition, Define(field));
    result.push_back(std::move(definition));
  }
  return result;
}

}  // namespace lake::sql
