#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/sql/name_mapping_internal.h"

namespace lake::sql {
namespace {

constexpr const char* kMappingProperty = "schema.name-mapping.default";

// One field of a name mapping.
struct MappedField {
  std::optional<std::int32_t> id;
  std::vector<std::string> names;
  std::vector<MappedField> fields;
};

Result<std::vector<MappedField>> ParseFields(const boost::json::array& array) {
  std::vector<MappedField> result;
  for (const boost::json::value& value : array) {
    LAKE_TRY(const auto* object, json::AsObject(value, "a mapped field"));
    MappedField field;
    LAKE_TRY(const auto id, json::GetOptionalInt(*object, "field-id"));
    if (id.has_value()) {
      field.id = static_cast<std::int32_t>(*id);
    }
    LAKE_TRY(const auto* names, json::GetOptionalArray(*object, "names"));
    if (names != nullptr) {
      for (const boost::json::value& name : *names) {
        if (!name.is_string()) {
          return InvalidArgument("a mapped name is not a string");
        }
        field.names.emplace_back(name.as_string());
      }
    }
    LAKE_TRY(const auto* fields, json::GetOptionalArray(*object, "fields"));
    if (fields != nullptr) {
      LAKE_TRY(field.fields, ParseFields(*fields));
    }
    result.push_back(std::move(field));
  }
  return result;
}

Result<std::vector<MappedField>> ParseMapping(std::string_view text) {
  LAKE_TRY(const auto value, json::Parse(text));
  if (!value.is_array()) {
    return InvalidArgument("a name mapping is a list");
  }
  return ParseFields(value.as_array());
}

std::vector<MappedField> MappingOf(const std::vector<iceberg::NestedField>& fields) {
  std::vector<MappedField> result;
  for (const iceberg::NestedField& field : fields) {
    result.push_back({.id = static_cast<std::int32_t>(field.id),
                      .names = {field.name},
                      .fields = MappingOf(field.type.fields())});
  }
  return result;
}

std::vector<MappedField> MappingFor(const iceberg::Schema& schema,
                                    const iceberg::TableMetadata& metadata) {
  const auto property = metadata.properties.find(kMappingProperty);
  if (property != metadata.properties.end()) {
    auto parsed = ParseMapping(property->second);
    if (parsed.has_value()) {
      return std::move(*parsed);
    }
    IgnoreError(parsed, "a mapping that cannot be read maps nothing; the names are what is left");
  }
  return MappingOf(schema.fields());
}

const MappedField* FindByName(const std::vector<MappedField>& fields, const std::string& name) {
  for (const MappedField& field : fields) {
    if (std::ranges::find(field.names, name) != field.names.end()) {
      return &field;
    }
  }
  return nullptr;
}

class Assigner {
 public:
  // With `fields` nullptr, columns without ids get numbers that match nothing.
  void Assign(duckdb::vector<duckdb::MultiFileColumnDefinition>& columns,
              const std::vector<MappedField>* fields) {
    for (auto& column : columns) {
      AssignOne(column, fields == nullptr ? nullptr : FindByName(*fields, column.name));
    }
  }

 private:
  void AssignOne(duckdb::MultiFileColumnDefinition& column, const MappedField* mapped) {
    if (column.identifier.IsNull()) {
      column.identifier = duckdb::Value::INTEGER(
          mapped != nullptr && mapped->id.has_value() ? *mapped->id : next_unused_--);
    }
    const auto* inner = mapped == nullptr ? nullptr : &mapped->fields;
    switch (column.type.id()) {
      case duckdb::LogicalTypeId::LIST:
        // What a file calls the element of a list differs from writer to writer.
        for (auto& child : column.children) {
          AssignOne(child, inner == nullptr ? nullptr : FindByName(*inner, "element"));
        }
        break;
      case duckdb::LogicalTypeId::MAP:
        for (auto& entry : column.children) {
          AssignOne(entry, nullptr);
          for (std::size_t i = 0; i < entry.children.size(); ++i) {
            AssignOne(entry.children[i],
                      inner == nullptr ? nullptr : FindByName(*inner, i == 0 ? "key" : "value"));
          }
        }
        break;
      default:
        Assign(column.children, inner);
        break;
    }
  }

  std::int32_t next_unused_ = -1;
};

}  // namespace

void AssignFieldIds(const iceberg::Schema& schema, const iceberg::TableMetadata& metadata,
                    duckdb::vector<duckdb::MultiFileColumnDefinition>& columns) {
  const bool has_ids =
      std::ranges::any_of(columns, [](const auto& column) { return !column.identifier.IsNull(); });
  if (has_ids) {
    Assigner().Assign(columns, nullptr);
    return;
  }
  const auto mapping = MappingFor(schema, metadata);
  Assigner().Assign(columns, &mapping);
}

}  // namespace lake::sql
