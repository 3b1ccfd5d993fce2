#include <utility>

#include <fmt/format.h>

#include "lake/sql/type_mapping_internal.h"

namespace lake::sql {
namespace {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;
using iceberg::FieldId;
using iceberg::TypeKind;

Result<LogicalType> StructToDuckDb(const iceberg::Type& type) {
  duckdb::child_list_t<LogicalType> children;
  duckdb::case_insensitive_set_t names;
  for (const iceberg::NestedField& field : type.fields()) {
    if (!names.insert(field.name).second) {
      return Unimplemented(fmt::format(
          "field {}: the name differs from another one's only in case, which sql cannot tell apart",
          field.name));
    }
    LAKE_TRY(auto child, WithContext(ToDuckDbType(field.type), "field " + field.name));
    children.emplace_back(field.name, std::move(child));
  }
  if (children.empty()) {
    return Unimplemented("a struct without fields cannot be read");
  }
  return LogicalType::STRUCT(std::move(children));
}

// The reason why a DuckDB type has no place in Iceberg, as the end of "type X …".
const char* Refusal(LogicalTypeId id) {
  switch (id) {
    case LogicalTypeId::HUGEINT:
    case LogicalTypeId::UHUGEINT:
      return "has more digits than decimal(38,0) holds; cast it to a decimal, bigint or double";
    case LogicalTypeId::INTERVAL:
      return "has no counterpart in iceberg; store the two ends or a number of units";
    case LogicalTypeId::BIT:
      return "has no counterpart in iceberg; cast it to varchar or blob";
    case LogicalTypeId::TIME_TZ:
      return "has no counterpart in iceberg; cast it to time or varchar";
    case LogicalTypeId::SQLNULL:
      return "says nothing about its values; give the column a type";
    default:
      return "has no counterpart in iceberg";
  }
}

Status CheckWritableType(const iceberg::Type& type) {
  if (type.kind() == TypeKind::kFixed) {
    return Unimplemented(fmt::format(
        "type {} can be read but not written; use binary for new columns", type.ToString()));
  }
  for (const iceberg::NestedField& field : type.fields()) {
    LAKE_TRY_VOID(WithContext(CheckWritableType(field.type), "field " + field.name));
  }
  return {};
}

}  // namespace

Result<LogicalType> ToDuckDbType(const iceberg::Type& type) {
  switch (type.kind()) {
    case TypeKind::kBoolean:
      return LogicalType::BOOLEAN;
    case TypeKind::kInt:
      return LogicalType::INTEGER;
    case TypeKind::kLong:
      return LogicalType::BIGINT;
    case TypeKind::kFloat:
      return LogicalType::FLOAT;
    case TypeKind::kDouble:
      return LogicalType::DOUBLE;
    case TypeKind::kDecimal:
      return LogicalType::DECIMAL(static_cast<std::uint8_t>(type.precision()),
                                  static_cast<std::uint8_t>(type.scale()));
    case TypeKind::kDate:
      return LogicalType::DATE;
    case TypeKind::kTime:
      return LogicalType::TIME;
    case TypeKind::kTimestamp:
      return LogicalType::TIMESTAMP;
    case TypeKind::kTimestamptz:
      return LogicalType::TIMESTAMP_TZ;
    case TypeKind::kTimestampNs:
      return LogicalType::TIMESTAMP_NS;
    case TypeKind::kString:
      return LogicalType::VARCHAR;
    case TypeKind::kUuid:
      return LogicalType::UUID;
    case TypeKind::kFixed:
    case TypeKind::kBinary:
      return LogicalType::BLOB;
    case TypeKind::kStruct:
      return StructToDuckDb(type);
    case TypeKind::kList: {
      LAKE_TRY(auto element, WithContext(ToDuckDbType(type.element().type), "element"));
      return LogicalType::LIST(element);
    }
    case TypeKind::kMap: {
      LAKE_TRY(auto key, WithContext(ToDuckDbType(type.key().type), "key"));
      LAKE_TRY(auto value, WithContext(ToDuckDbType(type.value().type), "value"));
      return LogicalType::MAP(std::move(key), std::move(value));
    }
    case TypeKind::kUnknown:
    case TypeKind::kTimestamptzNs:
    case TypeKind::kVariant:
    case TypeKind::kGeometry:
    case TypeKind::kGeography:
      break;
  }
  return Unimplemented(fmt::format("sql cannot read the type {}", type.ToString()));
}

Result<iceberg::Type> ToIcebergType(const LogicalType& type, std::int32_t& next_id) {
  switch (type.id()) {
    case LogicalTypeId::BOOLEAN:
      return iceberg::Type::Boolean();
    case LogicalTypeId::TINYINT:
    case LogicalTypeId::SMALLINT:
    case LogicalTypeId::INTEGER:
    case LogicalTypeId::UTINYINT:
    case LogicalTypeId::USMALLINT:
      return iceberg::Type::Int();
    case LogicalTypeId::UINTEGER:
    case LogicalTypeId::BIGINT:
      return iceberg::Type::Long();
    case LogicalTypeId::UBIGINT:
      return iceberg::Type::Decimal(20, 0);
    case LogicalTypeId::FLOAT:
      return iceberg::Type::Float();
    case LogicalTypeId::DOUBLE:
      return iceberg::Type::Double();
    case LogicalTypeId::DECIMAL:
      return iceberg::Type::Decimal(duckdb::DecimalType::GetWidth(type),
                                    duckdb::DecimalType::GetScale(type));
    case LogicalTypeId::DATE:
      return iceberg::Type::Date();
    case LogicalTypeId::TIME:
      return iceberg::Type::Time();
    case LogicalTypeId::TIMESTAMP:
    case LogicalTypeId::TIMESTAMP_SEC:
    case LogicalTypeId::TIMESTAMP_MS:
    case LogicalTypeId::TIMESTAMP_NS:
      // Tables are of format version 2, which counts in microseconds; the writer refuses a value
      // that has a finer part.
      return iceberg::Type::Timestamp();
    case LogicalTypeId::TIMESTAMP_TZ:
      return iceberg::Type::Timestamptz();
    case LogicalTypeId::VARCHAR:
    case LogicalTypeId::ENUM:
      return iceberg::Type::String();
    case LogicalTypeId::UUID:
      return iceberg::Type::Uuid();
    case LogicalTypeId::BLOB:
      return iceberg::Type::Binary();
    case LogicalTypeId::LIST:
    case LogicalTypeId::ARRAY: {
      const FieldId element_id{next_id++};
      const LogicalType& child = type.id() == LogicalTypeId::LIST
                                     ? duckdb::ListType::GetChildType(type)
                                     : duckdb::ArrayType::GetChildType(type);
      LAKE_TRY(auto element, WithContext(ToIcebergType(child, next_id), "element"));
      return iceberg::Type::List(element_id, std::move(element), false);
    }
    case LogicalTypeId::MAP: {
      const FieldId key_id{next_id++};
      const FieldId value_id{next_id++};
      LAKE_TRY(auto key,
               WithContext(ToIcebergType(duckdb::MapType::KeyType(type), next_id), "key"));
      LAKE_TRY(auto value,
               WithContext(ToIcebergType(duckdb::MapType::ValueType(type), next_id), "value"));
      return iceberg::Type::Map(key_id, std::move(key), value_id, std::move(value), false);
    }
    case LogicalTypeId::STRUCT: {
      const auto& children = duckdb::StructType::GetChildTypes(type);
      std::vector<iceberg::NestedField> fields;
      for (const auto& [name, child] : children) {
        iceberg::NestedField field;
        field.id = FieldId{next_id++};
        field.name = name;
        fields.push_back(std::move(field));
      }
      for (std::size_t i = 0; i < children.size(); ++i) {
        LAKE_TRY(fields[i].type, WithContext(ToIcebergType(children[i].second, next_id),
                                             "field " + fields[i].name));
      }
      return iceberg::Type::Struct(std::move(fields));
    }
    default:
      return Unimplemented(fmt::format("type {} {}", type.ToString(), Refusal(type.id())));
  }
}

Result<iceberg::Schema> ToIcebergSchema(const std::string& what,
                                        const std::vector<std::string>& names,
                                        const std::vector<LogicalType>& types) {
  // Columns get the first ids, nested fields the ones after, as other writers number them.
  auto next_id = static_cast<std::int32_t>(names.size()) + 1;
  iceberg::Schema::Parts parts;
  for (std::size_t i = 0; i < names.size(); ++i) {
    iceberg::NestedField field;
    field.id = FieldId{static_cast<std::int32_t>(i) + 1};
    field.name = names[i];
    LAKE_TRY(field.type, WithContext(ToIcebergType(types[i], next_id),
                                     fmt::format("{}: column {}", what, names[i])));
    parts.fields.push_back(std::move(field));
  }
  return WithContext(iceberg::Schema::Make(std::move(parts)), what);
}

Status CheckWritable(const iceberg::Schema& schema) {
  for (const iceberg::NestedField& field : schema.fields()) {
    const std::string column = "column " + field.name;
    LAKE_TRY_VOID(WithContext(CheckWritableType(field.type), column));
    // What cannot be read back is not written either.
    if (const auto readable = ToDuckDbType(field.type); !readable.has_value()) {
      return std::unexpected(readable.error().With(column));
    }
  }
  return {};
}

}  // namespace lake::sql
