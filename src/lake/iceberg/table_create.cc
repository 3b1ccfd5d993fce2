#include "lake/iceberg/table_create.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/new_parts_internal.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {
namespace {

constexpr std::string_view kContext = "create table";

constexpr SortOrderId kFirstSortOrder{1};

// Hands out ids one after the other. Schema::Make has bounded how deep types nest.
class IdAssigner {
 public:
  explicit IdAssigner(FieldId last_used) : last_(std::to_underlying(last_used)) {}

  std::vector<NestedField> Assign(std::vector<NestedField> fields) {
    for (NestedField& field : fields) {
      field.id = new_ids_[field.id] = FieldId{++last_};
    }
    for (NestedField& field : fields) {
      field.type = Assign(field.type);
    }
    return fields;
  }

  const std::map<FieldId, FieldId>& new_ids() const { return new_ids_; }

 private:
  Type Assign(const Type& type) {
    if (!type.is_nested()) {
      return type;
    }
    const std::vector<NestedField> fields = Assign(type.fields());
    switch (type.kind()) {
      case TypeKind::kList:
        return Type::List(fields[0].id, fields[0].type, fields[0].required, type.unknown());
      case TypeKind::kMap:
        return Type::Map(fields[0].id, fields[0].type, fields[1].id, fields[1].type,
                         fields[1].required, type.unknown());
      default:
        return Type::Struct(fields, type.unknown());
    }
  }

  std::int32_t last_;
  std::map<FieldId, FieldId> new_ids_;
};

Status CheckParts(const NewTable& table) {
  LAKE_TRY_VOID(WithContext(CheckNewProperties(table.properties), kContext));
  LAKE_TRY_VOID(WithContext(CheckNewSchema(table.schema, table.format_version), kContext));
  const NewPartChecker checker(table.schema);
  LAKE_TRY_VOID(WithContext(checker.Check(table.spec), kContext));
  return WithContext(checker.Check(table.sort_order), kContext);
}

// Takes source columns to the ids that the table gives them.
Status Bind(const FreshIds& fresh, std::vector<FieldId>& source_ids) {
  for (FieldId& id : source_ids) {
    const auto found = fresh.new_ids.find(id);
    if (found == fresh.new_ids.end()) {
      return InvalidArgument(
          fmt::format("create table: source column {} does not exist", std::to_underlying(id)));
    }
    id = found->second;
  }
  return {};
}

Result<PartitionSpec> BindSpec(const PartitionSpec& unbound, const FreshIds& fresh) {
  PartitionSpec spec{
      .spec_id = PartitionSpecId{0}, .fields = unbound.fields, .unknown = unbound.unknown};
  std::int32_t next = kPartitionFieldIdFirst;
  for (PartitionField& field : spec.fields) {
    LAKE_TRY_VOID(Bind(fresh, field.source_ids));
    field.field_id = FieldId{next++};
  }
  return spec;
}

Result<SortOrder> BindSortOrder(const SortOrder& unbound, const FreshIds& fresh) {
  SortOrder order{.order_id = unbound.fields.empty() ? SortOrderId{0} : kFirstSortOrder,
                  .fields = unbound.fields,
                  .unknown = unbound.unknown};
  for (SortField& field : order.fields) {
    LAKE_TRY_VOID(Bind(fresh, field.source_ids));
  }
  return order;
}

}  // namespace

Result<FreshIds> AssignFreshIds(const Schema& schema, FieldId last_used) {
  const auto count = static_cast<std::int64_t>(schema.all_fields().size());
  if (std::to_underlying(last_used) < 0 ||
      count > std::to_underlying(kFieldIdMax) - std::int64_t{std::to_underlying(last_used)}) {
    return InvalidArgument(
        fmt::format("schema: {} new fields after id {} pass the highest field id, {}", count,
                    std::to_underlying(last_used), std::to_underlying(kFieldIdMax)));
  }
  IdAssigner assigner(last_used);
  Schema::Parts parts{.schema_id = schema.schema_id(),
                      .fields = assigner.Assign(schema.fields()),
                      .identifier_field_ids = {},
                      .unknown = schema.unknown()};
  for (const FieldId id : schema.identifier_field_ids()) {
    parts.identifier_field_ids.push_back(assigner.new_ids().at(id));
  }
  Result<Schema> assigned = Schema::Make(std::move(parts));
  LAKE_CHECK(assigned.has_value(), "a valid schema stays valid under new ids");
  return FreshIds{.schema = *std::move(assigned), .new_ids = assigner.new_ids()};
}

Result<TableMetadata> NewTableMetadata(const NewTable& table) {
  LAKE_TRY_VOID(CheckParts(table));
  LAKE_TRY(const FreshIds fresh, AssignFreshIds(table.schema, FieldId{0}));

  TableMetadata metadata;
  metadata.format_version = table.format_version;
  metadata.table_uuid = table.table_uuid;
  metadata.location = table.location;
  metadata.last_updated = table.now;
  metadata.last_column_id = fresh.schema.highest_field_id();
  metadata.schemas.push_back(fresh.schema.WithId(metadata.current_schema_id));
  LAKE_TRY(PartitionSpec spec, BindSpec(table.spec, fresh));
  if (!spec.fields.empty()) {
    metadata.last_partition_id = spec.fields.back().field_id;
  }
  metadata.partition_specs.push_back(std::move(spec));
  LAKE_TRY(SortOrder order, BindSortOrder(table.sort_order, fresh));
  metadata.default_sort_order_id = order.order_id;
  metadata.sort_orders.push_back(std::move(order));
  metadata.properties = table.properties;
  if (table.format_version >= 3) {
    metadata.next_row_id = 0;
  }
  LAKE_TRY_VOID(Validate(metadata));
  return metadata;
}

}  // namespace lake::iceberg
