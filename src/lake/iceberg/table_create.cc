#include "lake/iceberg/table_create.h"

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest_partition.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {
namespace {

// Names that the format's implementations show beside the table's properties and therefore never
// store among them.
constexpr std::array<std::string_view, 9> kReservedProperties{
    "format-version",           "uuid",
    "snapshot-count",           "current-snapshot-id",
    "current-snapshot-summary", "current-snapshot-timestamp-ms",
    "current-schema",           "default-partition-spec",
    "default-sort-order"};

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

Status CheckNames(const Schema& schema) {
  for (const NestedField* field : schema.all_fields()) {
    if (field->name.empty()) {
      return InvalidArgument(
          fmt::format("create table: field {} has no name", std::to_underlying(field->id)));
    }
  }
  return {};
}

Status CheckProperties(const Properties& properties) {
  for (const std::string_view name : kReservedProperties) {
    if (properties.contains(std::string(name))) {
      return InvalidArgument(
          fmt::format("create table: property '{}' is reserved by the format", name));
    }
  }
  return {};
}

// Collects the ids of the fields inside lists and maps: a row has any number of their values.
void CollectRepeated(const std::vector<NestedField>& fields, bool repeated,
                     std::set<FieldId>& ids) {
  for (const NestedField& field : fields) {
    if (repeated) {
      ids.insert(field.id);
    }
    const bool repeats =
        field.type.kind() == TypeKind::kList || field.type.kind() == TypeKind::kMap;
    CollectRepeated(field.type.fields(), repeated || repeats, ids);
  }
}

// The schema of a new table under both its ids: the caller's, in which partition and sort fields
// are given, and the table's.
struct Binding {
  explicit Binding(const Schema& the_schema, const FreshIds& the_fresh)
      : schema(the_schema), fresh(the_fresh) {
    CollectRepeated(schema.fields(), false, repeated);
  }

  const Schema& schema;
  const FreshIds& fresh;
  std::set<FieldId> repeated;
};

// Checks that a partition or sort field can be computed from the schema.
Status CheckSource(const Binding& binding, const std::vector<FieldId>& source_ids,
                   std::string_view transform) {
  if (source_ids.size() != 1) {
    return Unimplemented("transforms of several columns are not known to Lake");
  }
  const NestedField* source = binding.schema.FindField(source_ids.front());
  if (source == nullptr) {
    return InvalidArgument(
        fmt::format("its source column {} does not exist", std::to_underlying(source_ids.front())));
  }
  if (binding.repeated.contains(source->id)) {
    return InvalidArgument(
        fmt::format("its source column {} is inside a list or map", Quoted(source->name)));
  }
  LAKE_TRY_VOID(TransformResultType(transform, source->type));
  return {};
}

Result<PartitionSpec> BindSpec(const PartitionSpec& unbound, const Binding& binding) {
  PartitionSpec spec{
      .spec_id = PartitionSpecId{0}, .fields = unbound.fields, .unknown = unbound.unknown};
  std::set<std::string_view> names;
  std::int32_t next = kPartitionFieldIdFirst;
  for (PartitionField& field : spec.fields) {
    const std::string where = fmt::format("create table: partition field {}", Quoted(field.name));
    LAKE_TRY_VOID(WithContext(CheckSource(binding, field.source_ids, field.transform), where));
    if (field.name.empty() || !names.insert(field.name).second) {
      return InvalidArgument(where + ": its name is empty or used twice");
    }
    // Partition values sit beside columns in metadata tables; only an identity of the very column
    // may share its name.
    const NestedField* column = binding.schema.FindField(std::string_view(field.name));
    if (column != nullptr &&
        (field.transform != "identity" || column->id != field.source_ids.front())) {
      return InvalidArgument(where + ": a column has its name");
    }
    field.source_ids.front() = binding.fresh.new_ids.at(field.source_ids.front());
    field.field_id = FieldId{next++};
  }
  return spec;
}

Result<SortOrder> BindSortOrder(const SortOrder& unbound, const Binding& binding) {
  SortOrder order{.order_id = unbound.fields.empty() ? SortOrderId{0} : kFirstSortOrder,
                  .fields = unbound.fields,
                  .unknown = unbound.unknown};
  for (SortField& field : order.fields) {
    LAKE_TRY_VOID(WithContext(CheckSource(binding, field.source_ids, field.transform),
                              "create table: sort field"));
    field.source_ids.front() = binding.fresh.new_ids.at(field.source_ids.front());
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
  LAKE_TRY_VOID(CheckNames(table.schema));
  LAKE_TRY_VOID(CheckProperties(table.properties));
  LAKE_TRY_VOID(
      WithContext(CheckFormatVersion(table.schema, table.format_version), "create table"));
  LAKE_TRY(const FreshIds fresh, AssignFreshIds(table.schema, FieldId{0}));

  const Binding binding(table.schema, fresh);
  TableMetadata metadata;
  metadata.format_version = table.format_version;
  metadata.table_uuid = table.table_uuid;
  metadata.location = table.location;
  metadata.last_updated = table.now;
  metadata.last_column_id = fresh.schema.highest_field_id();
  metadata.schemas.push_back(fresh.schema.WithId(metadata.current_schema_id));
  LAKE_TRY(PartitionSpec spec, BindSpec(table.spec, binding));
  if (!spec.fields.empty()) {
    metadata.last_partition_id = spec.fields.back().field_id;
  }
  metadata.partition_specs.push_back(std::move(spec));
  LAKE_TRY(SortOrder order, BindSortOrder(table.sort_order, binding));
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
