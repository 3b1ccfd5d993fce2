#include "lake/iceberg/table_requirement_json.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_codec_internal.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/table_requirement.h"

namespace lake::iceberg {
namespace {

namespace bj = boost::json;

Result<TableRequirement> ReadCreate(const bj::object& /*object*/) {
  return AssertCreate{};
}

Result<TableRequirement> ReadTableUuid(const bj::object& object) {
  LAKE_TRY(const Uuid uuid, GetUuid(object, "uuid"));
  return AssertTableUuid{uuid};
}

Result<TableRequirement> ReadRefSnapshotId(const bj::object& object) {
  AssertRefSnapshotId requirement;
  LAKE_TRY(requirement.ref, json::GetString(object, "ref"));
  LAKE_TRY(requirement.snapshot_id, GetOptionalId<SnapshotId>(object, "snapshot-id"));
  return requirement;
}

Result<TableRequirement> ReadLastAssignedFieldId(const bj::object& object) {
  LAKE_TRY(const FieldId id, GetId<FieldId>(object, "last-assigned-field-id"));
  return AssertLastAssignedFieldId{id};
}

Result<TableRequirement> ReadCurrentSchemaId(const bj::object& object) {
  LAKE_TRY(const SchemaId id, GetId<SchemaId>(object, "current-schema-id"));
  return AssertCurrentSchemaId{id};
}

Result<TableRequirement> ReadLastAssignedPartitionId(const bj::object& object) {
  LAKE_TRY(const FieldId id, GetId<FieldId>(object, "last-assigned-partition-id"));
  return AssertLastAssignedPartitionId{id};
}

Result<TableRequirement> ReadDefaultSpecId(const bj::object& object) {
  LAKE_TRY(const PartitionSpecId id, GetId<PartitionSpecId>(object, "default-spec-id"));
  return AssertDefaultSpecId{id};
}

Result<TableRequirement> ReadDefaultSortOrderId(const bj::object& object) {
  LAKE_TRY(const SortOrderId id, GetId<SortOrderId>(object, "default-sort-order-id"));
  return AssertDefaultSortOrderId{id};
}

struct Reader {
  std::string_view type;
  Result<TableRequirement> (*read)(const bj::object& object);
};

// In the order of the variant.
constexpr std::array<Reader, std::variant_size_v<TableRequirement>> kReaders{{
    {"assert-create", ReadCreate},
    {"assert-table-uuid", ReadTableUuid},
    {"assert-ref-snapshot-id", ReadRefSnapshotId},
    {"assert-last-assigned-field-id", ReadLastAssignedFieldId},
    {"assert-current-schema-id", ReadCurrentSchemaId},
    {"assert-last-assigned-partition-id", ReadLastAssignedPartitionId},
    {"assert-default-spec-id", ReadDefaultSpecId},
    {"assert-default-sort-order-id", ReadDefaultSortOrderId},
}};

Result<TableRequirement> ReadRequirement(const bj::object& object) {
  LAKE_TRY(const std::string type, json::GetString(object, "type"));
  for (const Reader& reader : kReaders) {
    if (reader.type == type) {
      return WithContext(reader.read(object), type);
    }
  }
  return InvalidArgument(fmt::format("unknown table requirement {}", Quoted(type)));
}

// Adds the members of a requirement to an object that has its type.
struct Writer {
  void operator()(const AssertCreate& /*requirement*/) const {}

  void operator()(const AssertTableUuid& requirement) const {
    object["uuid"] = requirement.uuid.ToString();
  }

  void operator()(const AssertRefSnapshotId& requirement) const {
    object["ref"] = requirement.ref;
    object["snapshot-id"] = nullptr;
    AddOptional(object, "snapshot-id", requirement.snapshot_id);
  }

  void operator()(const AssertLastAssignedFieldId& requirement) const {
    object["last-assigned-field-id"] = std::to_underlying(requirement.last_assigned_field_id);
  }

  void operator()(const AssertCurrentSchemaId& requirement) const {
    object["current-schema-id"] = std::to_underlying(requirement.current_schema_id);
  }

  void operator()(const AssertLastAssignedPartitionId& requirement) const {
    object["last-assigned-partition-id"] =
        std::to_underlying(requirement.last_assigned_partition_id);
  }

  void operator()(const AssertDefaultSpecId& requirement) const {
    object["default-spec-id"] = std::to_underlying(requirement.default_spec_id);
  }

  void operator()(const AssertDefaultSortOrderId& requirement) const {
    object["default-sort-order-id"] = std::to_underlying(requirement.default_sort_order_id);
  }

  bj::object& object;
};

bj::object WriteRequirement(const TableRequirement& requirement) {
  bj::object object;
  object["type"] = kReaders.at(requirement.index()).type;
  std::visit(Writer{object}, requirement);
  return object;
}

}  // namespace

Result<std::vector<TableRequirement>> ParseTableRequirements(std::string_view text) {
  return ParseList(text, "requirements", ReadRequirement);
}

std::string WriteTableRequirements(const std::vector<TableRequirement>& requirements) {
  return json::Write(WriteList(requirements, WriteRequirement));
}

}  // namespace lake::iceberg
