#include "lake/iceberg/partition_spec_json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_codec_internal.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/table_parts_json_internal.h"

namespace lake::iceberg {
namespace {

namespace bj = boost::json;

// Stands for a field-id that is missing until the whole list has been read.
constexpr FieldId kMissing{std::numeric_limits<std::int32_t>::min()};

Result<PartitionField> ReadField(const bj::object& object) {
  PartitionField field;
  LAKE_TRY(field.source_ids, ReadSourceIds(object));
  LAKE_TRY(const std::optional<FieldId> id, GetOptionalId<FieldId>(object, "field-id"));
  if (id.has_value() && std::to_underlying(*id) < 0) {
    return InvalidArgument("member 'field-id' is negative");
  }
  field.field_id = id.value_or(kMissing);
  LAKE_TRY(field.name, json::GetString(object, "name"));
  LAKE_TRY(field.transform, json::GetString(object, "transform"));
  field.unknown =
      CollectUnknown(object, {"source-id", "source-ids", "field-id", "name", "transform"});
  return field;
}

bj::object WriteField(const PartitionField& field) {
  bj::object object;
  WriteSourceIds(object, field.source_ids);
  object["field-id"] = std::to_underlying(field.field_id);
  object["name"] = field.name;
  object["transform"] = field.transform;
  AddUnknown(object, field.unknown);
  return object;
}

}  // namespace

Result<std::vector<FieldId>> ReadSourceIds(const bj::object& object) {
  LAKE_TRY(std::vector<FieldId> ids, GetIds<FieldId>(object, "source-ids"));
  LAKE_TRY(const std::optional<FieldId> id, GetOptionalId<FieldId>(object, "source-id"));
  if (ids.empty() && id.has_value()) {
    ids.push_back(*id);
  }
  if (ids.empty()) {
    return InvalidArgument("member 'source-id' is missing");
  }
  return ids;
}

void WriteSourceIds(bj::object& object, const std::vector<FieldId>& ids) {
  if (ids.size() == 1) {
    object["source-id"] = std::to_underlying(ids.front());
  } else {
    object["source-ids"] = WriteIds(ids);
  }
}

Result<std::vector<PartitionField>> ReadPartitionFields(const bj::object& parent,
                                                        std::string_view name) {
  LAKE_TRY(std::vector<PartitionField> fields, GetList(parent, name, ReadField));
  const auto missing = std::ranges::count(fields, kMissing, &PartitionField::field_id);
  if (missing == 0) {
    return fields;
  }
  if (static_cast<std::size_t>(missing) != fields.size()) {
    return InvalidArgument(
        "member 'field-id' is missing from some partition fields and not from others");
  }
  std::int32_t next = kPartitionFieldIdFirst;
  for (PartitionField& field : fields) {
    field.field_id = FieldId{next++};
  }
  return fields;
}

Result<PartitionSpec> ReadPartitionSpec(const bj::object& object) {
  PartitionSpec spec;
  LAKE_TRY(spec.spec_id, GetId<PartitionSpecId>(object, "spec-id"));
  LAKE_TRY_VOID(json::GetArray(object, "fields"));
  LAKE_TRY(spec.fields, ReadPartitionFields(object, "fields"));
  spec.unknown = CollectUnknown(object, {"spec-id", "fields"});
  return spec;
}

bj::array WritePartitionFieldArray(const std::vector<PartitionField>& fields) {
  return WriteList(fields, WriteField);
}

bj::object WritePartitionSpecObject(const PartitionSpec& spec) {
  bj::object object;
  object["spec-id"] = std::to_underlying(spec.spec_id);
  object["fields"] = WritePartitionFieldArray(spec.fields);
  AddUnknown(object, spec.unknown);
  return object;
}

Result<std::vector<PartitionField>> ParsePartitionFields(std::string_view text) {
  LAKE_TRY(bj::value value, WithContext(json::Parse(text), "partition fields"));
  if (!value.is_array()) {
    return InvalidArgument("partition fields are not a JSON array");
  }
  const bj::object holder{{"fields", std::move(value)}};
  return WithContext(ReadPartitionFields(holder, "fields"), "partition fields");
}

std::string WritePartitionFields(const std::vector<PartitionField>& fields) {
  return json::Write(WritePartitionFieldArray(fields));
}

}  // namespace lake::iceberg
