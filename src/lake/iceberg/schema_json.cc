#include "lake/iceberg/schema_json.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_codec_internal.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/schema_json_internal.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {
namespace {

namespace bj = boost::json;

Result<Type> ReadType(const bj::value& value, std::size_t depth);

// Reads the member `name` of a field, list or map as a type.
Result<Type> GetType(const bj::object& object, std::string_view name, std::size_t depth) {
  const bj::value* value = object.if_contains(name);
  if (value == nullptr) {
    return InvalidArgument(fmt::format("member '{}' is missing", name));
  }
  return ReadType(*value, depth);
}

std::optional<JsonText> GetDefault(const bj::object& object, std::string_view name) {
  const bj::value* value = object.if_contains(name);
  if (value == nullptr || value->is_null()) {
    return std::nullopt;
  }
  return JsonText{json::Write(*value)};
}

Result<NestedField> ReadField(const bj::object& object, std::size_t depth) {
  NestedField field;
  LAKE_TRY(field.id, GetId<FieldId>(object, "id"));
  LAKE_TRY(field.name, json::GetString(object, "name"));
  LAKE_TRY(field.required, json::GetBool(object, "required"));
  Result<Type> type = GetType(object, "type", depth);
  if (!type.has_value()) {
    return std::unexpected(type.error().With(fmt::format("field {}", Quoted(field.name))));
  }
  field.type = *std::move(type);
  LAKE_TRY(field.doc, json::GetOptionalString(object, "doc"));
  field.initial_default = GetDefault(object, "initial-default");
  field.write_default = GetDefault(object, "write-default");
  field.unknown = CollectUnknown(
      object, {"id", "name", "required", "type", "doc", "initial-default", "write-default"});
  return field;
}

Result<std::vector<NestedField>> ReadFields(const bj::object& object, std::size_t depth) {
  LAKE_TRY_VOID(json::GetArray(object, "fields"));
  return GetList(object, "fields",
                 [&](const bj::object& field) { return ReadField(field, depth); });
}

Result<Type> ReadStruct(const bj::object& object, std::size_t depth) {
  LAKE_TRY(std::vector<NestedField> fields, ReadFields(object, depth + 1));
  return Type::Struct(std::move(fields), CollectUnknown(object, {"type", "fields"}));
}

Result<Type> ReadList(const bj::object& object, std::size_t depth) {
  LAKE_TRY(const FieldId element_id, GetId<FieldId>(object, "element-id"));
  LAKE_TRY(Type element, GetType(object, "element", depth + 1));
  LAKE_TRY(const bool required, json::GetBool(object, "element-required"));
  return Type::List(element_id, std::move(element), required,
                    CollectUnknown(object, {"type", "element-id", "element", "element-required"}));
}

Result<Type> ReadMap(const bj::object& object, std::size_t depth) {
  LAKE_TRY(const FieldId key_id, GetId<FieldId>(object, "key-id"));
  LAKE_TRY(Type key, GetType(object, "key", depth + 1));
  LAKE_TRY(const FieldId value_id, GetId<FieldId>(object, "value-id"));
  LAKE_TRY(Type value, GetType(object, "value", depth + 1));
  LAKE_TRY(const bool required, json::GetBool(object, "value-required"));
  return Type::Map(
      key_id, std::move(key), value_id, std::move(value), required,
      CollectUnknown(object, {"type", "key-id", "key", "value-id", "value", "value-required"}));
}

// `depth` is the level of the field that has the type; columns are level 1.
Result<Type> ReadType(const bj::value& value, std::size_t depth) {
  if (value.is_string()) {
    return Type::Parse(value.get_string());
  }
  if (depth >= kTypeDepthMax) {
    return InvalidArgument(fmt::format("types nest deeper than {} levels", kTypeDepthMax));
  }
  if (!value.is_object()) {
    return InvalidArgument("a type is neither a string nor an object");
  }
  const bj::object& object = value.get_object();
  LAKE_TRY(const std::string kind, json::GetString(object, "type"));
  if (kind == "struct") {
    return ReadStruct(object, depth);
  }
  if (kind == "list") {
    return ReadList(object, depth);
  }
  if (kind == "map") {
    return ReadMap(object, depth);
  }
  return InvalidArgument(fmt::format("unknown nested type {}", Quoted(kind)));
}

bj::value WriteType(const Type& type);

bj::object WriteField(const NestedField& field) {
  bj::object object;
  object["id"] = std::to_underlying(field.id);
  object["name"] = field.name;
  object["required"] = field.required;
  object["type"] = WriteType(field.type);
  AddOptional(object, "doc", field.doc);
  const auto add_default = [&](std::string_view name, const std::optional<JsonText>& value) {
    if (value.has_value()) {
      AddUnknown(object, {{std::string(name), *value}});
    }
  };
  add_default("initial-default", field.initial_default);
  add_default("write-default", field.write_default);
  AddUnknown(object, field.unknown);
  return object;
}

bj::value WriteType(const Type& type) {
  if (!type.is_nested()) {
    return bj::value(type.ToString());
  }
  bj::object object;
  if (type.kind() == TypeKind::kStruct) {
    object["type"] = "struct";
    object["fields"] = WriteList(type.fields(), WriteField);
  } else if (type.kind() == TypeKind::kList) {
    object["type"] = "list";
    object["element-id"] = std::to_underlying(type.element().id);
    object["element"] = WriteType(type.element().type);
    object["element-required"] = type.element().required;
  } else {
    object["type"] = "map";
    object["key-id"] = std::to_underlying(type.key().id);
    object["key"] = WriteType(type.key().type);
    object["value-id"] = std::to_underlying(type.value().id);
    object["value"] = WriteType(type.value().type);
    object["value-required"] = type.value().required;
  }
  AddUnknown(object, type.unknown());
  return object;
}

}  // namespace

Result<Schema> ReadSchema(const bj::object& object) {
  LAKE_TRY(const std::string kind, json::GetString(object, "type"));
  if (kind != "struct") {
    return InvalidArgument(fmt::format("a schema is a struct, not {}", Quoted(kind)));
  }
  Schema::Parts parts;
  LAKE_TRY(const std::optional<SchemaId> id, GetOptionalId<SchemaId>(object, "schema-id"));
  parts.schema_id = id.value_or(SchemaId{0});
  LAKE_TRY(parts.fields, ReadFields(object, 1));
  LAKE_TRY(parts.identifier_field_ids, GetIds<FieldId>(object, "identifier-field-ids"));
  parts.unknown = CollectUnknown(object, {"type", "schema-id", "fields", "identifier-field-ids"});
  return Schema::Make(std::move(parts));
}

bj::object WriteSchemaObject(const Schema& schema) {
  bj::object object;
  object["type"] = "struct";
  object["schema-id"] = std::to_underlying(schema.schema_id());
  object["fields"] = WriteList(schema.fields(), WriteField);
  if (!schema.identifier_field_ids().empty()) {
    object["identifier-field-ids"] = WriteIds(schema.identifier_field_ids());
  }
  AddUnknown(object, schema.unknown());
  return object;
}

Result<Schema> ParseSchema(std::string_view text) {
  LAKE_TRY(const bj::value value, WithContext(json::Parse(text), "schema"));
  LAKE_TRY(const bj::object* object, json::AsObject(value, "schema"));
  return WithContext(ReadSchema(*object), "schema");
}

std::string WriteSchema(const Schema& schema) {
  return json::Write(WriteSchemaObject(schema));
}

}  // namespace lake::iceberg
