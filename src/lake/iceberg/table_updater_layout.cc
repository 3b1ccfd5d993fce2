#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/new_parts_internal.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_update.h"
#include "lake/iceberg/table_updater_internal.h"

namespace lake::iceberg {
namespace {

constexpr std::string_view kAddSchema = "add schema";
constexpr std::string_view kAddSpec = "add partition spec";
constexpr std::string_view kAddSortOrder = "add sort order";
constexpr std::string_view kVoid = "void";

// A field of a spec to be added that has this id is given one.
constexpr FieldId kToBeAssigned{0};

constexpr SortOrderId kUnsorted{0};

// Returns the id above all those in use, and not below `first`.
template <typename T, typename Id, typename Projection>
Result<Id> NextId(const std::vector<T>& list, Id first, Projection id_of) {
  Id next = first;
  for (const T& thing : list) {
    const Id used = std::invoke(id_of, thing);
    if (used == Id{std::numeric_limits<std::int32_t>::max()}) {
      return InvalidArgument("no id is left for it");
    }
    next = std::max(next, Id{std::to_underlying(used) + 1});
  }
  return next;
}

// Returns the id that an update means: itself, or the last one added if it is `last_added_name`.
template <typename Id>
Result<Id> Resolve(Id named, Id last_added_name, std::optional<Id> last_added) {
  if (named != last_added_name) {
    return named;
  }
  if (!last_added.has_value()) {
    return InvalidArgument("it is to be the last one added, and none was added");
  }
  return *last_added;
}

// Whether two partition fields may share an id: they hold the same values, or one of them none.
bool MayShareId(const PartitionField& a, const PartitionField& b) {
  return a.source_ids == b.source_ids &&
         (a.transform == b.transform || a.transform == kVoid || b.transform == kVoid);
}

// Returns the id that a field with the same values has in any of the specs, if there is one.
std::optional<FieldId> FindFieldId(const std::vector<PartitionSpec>& specs,
                                   const PartitionField& wanted) {
  for (const PartitionSpec& spec : specs) {
    for (const PartitionField& field : spec.fields) {
      if (field.source_ids == wanted.source_ids && field.transform == wanted.transform) {
        return field.field_id;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Status TableUpdater::operator()(const AddSchema& update) {
  LAKE_TRY_VOID(WithContext(CheckNewSchema(update.schema, metadata_.format_version), kAddSchema));
  const FieldId highest = update.schema.highest_field_id();
  if (highest > kFieldIdMax) {
    return InvalidArgument(fmt::format("{}: field id {} is above the highest one, {}", kAddSchema,
                                       std::to_underlying(highest),
                                       std::to_underlying(kFieldIdMax)));
  }
  metadata_.last_column_id = std::max(metadata_.last_column_id, highest);
  const auto same = std::ranges::find_if(
      metadata_.schemas, [&](const Schema& schema) { return schema.SameAs(update.schema); });
  if (same != metadata_.schemas.end()) {
    last_added_schema_ = same->schema_id();
    return {};
  }
  LAKE_TRY(last_added_schema_,
           WithContext(NextId(metadata_.schemas, SchemaId{0}, &Schema::schema_id), kAddSchema));
  metadata_.schemas.push_back(update.schema.WithId(*last_added_schema_));
  return {};
}

Status TableUpdater::operator()(const SetCurrentSchema& update) {
  LAKE_TRY(const SchemaId id,
           WithContext(Resolve(update.schema_id, kLastAddedSchema, last_added_schema_),
                       "set current schema"));
  if (metadata_.FindSchema(id) == nullptr) {
    return InvalidArgument(
        fmt::format("set current schema: schema {} does not exist", std::to_underlying(id)));
  }
  metadata_.current_schema_id = id;
  return {};
}

Status TableUpdater::operator()(const RemoveSchemas& update) {
  const auto named = [&](SchemaId id) {
    return std::ranges::find(update.schema_ids, id) != update.schema_ids.end();
  };
  if (named(metadata_.current_schema_id)) {
    return InvalidArgument(fmt::format("remove schemas: schema {} is the current one",
                                       std::to_underlying(metadata_.current_schema_id)));
  }
  for (const Snapshot& snapshot : metadata_.snapshots) {
    if (snapshot.schema_id.has_value() && named(*snapshot.schema_id)) {
      return InvalidArgument(fmt::format("remove schemas: schema {} is that of snapshot {}",
                                         std::to_underlying(*snapshot.schema_id),
                                         std::to_underlying(snapshot.snapshot_id)));
    }
  }
  std::erase_if(metadata_.schemas, [&](const Schema& schema) { return named(schema.schema_id()); });
  return {};
}

Status TableUpdater::operator()(const AddPartitionSpec& update) {
  LAKE_TRY(const Schema* schema, WithContext(CurrentSchema(), kAddSpec));
  LAKE_TRY_VOID(WithContext(NewPartChecker(*schema).Check(update.spec), kAddSpec));
  const auto same = std::ranges::find_if(
      metadata_.partition_specs,
      [&](const PartitionSpec& existing) { return existing.SameAs(update.spec); });
  if (same != metadata_.partition_specs.end()) {
    last_added_spec_ = same->spec_id;
    return {};
  }
  PartitionSpec spec = update.spec;
  LAKE_TRY(spec.spec_id, WithContext(NextId(metadata_.partition_specs, PartitionSpecId{0},
                                            &PartitionSpec::spec_id),
                                     kAddSpec));
  LAKE_TRY_VOID(WithContext(AssignFieldIds(spec), kAddSpec));
  LAKE_TRY_VOID(WithContext(CheckFieldIds(spec), kAddSpec));
  last_added_spec_ = spec.spec_id;
  metadata_.partition_specs.push_back(std::move(spec));
  return {};
}

Status TableUpdater::operator()(const SetDefaultPartitionSpec& update) {
  LAKE_TRY(const PartitionSpecId id,
           WithContext(Resolve(update.spec_id, kLastAddedSpec, last_added_spec_),
                       "set default partition spec"));
  if (metadata_.FindSpec(id) == nullptr) {
    return InvalidArgument(
        fmt::format("set default partition spec: spec {} does not exist", std::to_underlying(id)));
  }
  metadata_.default_spec_id = id;
  return {};
}

Status TableUpdater::operator()(const RemovePartitionSpecs& update) {
  const auto named = [&](PartitionSpecId id) {
    return std::ranges::find(update.spec_ids, id) != update.spec_ids.end();
  };
  if (named(metadata_.default_spec_id)) {
    return InvalidArgument(fmt::format("remove partition specs: spec {} is the default one",
                                       std::to_underlying(metadata_.default_spec_id)));
  }
  std::erase_if(metadata_.partition_specs,
                [&](const PartitionSpec& spec) { return named(spec.spec_id); });
  return {};
}

Status TableUpdater::operator()(const AddSortOrder& update) {
  LAKE_TRY(const Schema* schema, WithContext(CurrentSchema(), kAddSortOrder));
  LAKE_TRY_VOID(WithContext(NewPartChecker(*schema).Check(update.sort_order), kAddSortOrder));
  const auto same =
      std::ranges::find(metadata_.sort_orders, update.sort_order.fields, &SortOrder::fields);
  if (same != metadata_.sort_orders.end()) {
    last_added_sort_order_ = same->order_id;
    return {};
  }
  SortOrder order = update.sort_order;
  order.order_id = kUnsorted;
  if (!order.fields.empty()) {
    LAKE_TRY(order.order_id, WithContext(NextId(metadata_.sort_orders,
                                                SortOrderId{std::to_underlying(kUnsorted) + 1},
                                                &SortOrder::order_id),
                                         kAddSortOrder));
  }
  last_added_sort_order_ = order.order_id;
  metadata_.sort_orders.push_back(std::move(order));
  return {};
}

Status TableUpdater::operator()(const SetDefaultSortOrder& update) {
  LAKE_TRY(const SortOrderId id,
           WithContext(Resolve(update.sort_order_id, kLastAddedSortOrder, last_added_sort_order_),
                       "set default sort order"));
  if (metadata_.FindSortOrder(id) == nullptr) {
    return InvalidArgument(
        fmt::format("set default sort order: order {} does not exist", std::to_underlying(id)));
  }
  metadata_.default_sort_order_id = id;
  return {};
}

// Returns the current schema; a table that is being made has none at first.
Result<const Schema*> TableUpdater::CurrentSchema() const {
  const Schema* schema = metadata_.FindSchema(metadata_.current_schema_id);
  if (schema == nullptr) {
    return InvalidArgument("the table has no schema yet");
  }
  return schema;
}

// Gives ids to the fields that have none, and takes last-partition-id forward. A field that another
// spec has gets its id again, as readers of several specs tell fields by their ids.
Status TableUpdater::AssignFieldIds(PartitionSpec& spec) {
  for (const PartitionField& field : spec.fields) {
    metadata_.last_partition_id = std::max(metadata_.last_partition_id, field.field_id);
  }
  std::int32_t in_order = kPartitionFieldIdFirst;
  for (PartitionField& field : spec.fields) {
    const FieldId ordered{in_order++};
    if (field.field_id != kToBeAssigned) {
      continue;
    }
    if (metadata_.format_version == 1) {
      field.field_id = ordered;
      metadata_.last_partition_id = std::max(metadata_.last_partition_id, ordered);
      continue;
    }
    const std::optional<FieldId> known = FindFieldId(metadata_.partition_specs, field);
    if (!known.has_value() &&
        metadata_.last_partition_id == FieldId{std::numeric_limits<std::int32_t>::max()}) {
      return InvalidArgument("no id is left for its fields");
    }
    field.field_id =
        known.has_value() ? *known : FieldId{std::to_underlying(metadata_.last_partition_id) + 1};
    metadata_.last_partition_id = std::max(metadata_.last_partition_id, field.field_id);
  }
  return {};
}

// Checks the field ids against those of other specs: in v1, fields are told by their position and
// ids only count it; later they are told by id.
Status TableUpdater::CheckFieldIds(const PartitionSpec& spec) const {
  std::int32_t in_order = kPartitionFieldIdFirst;
  for (const PartitionField& field : spec.fields) {
    const FieldId ordered{in_order++};
    const auto refuse = [&](std::string_view why) {
      return InvalidArgument(fmt::format("partition field {} has id {}, {}", Quoted(field.name),
                                         std::to_underlying(field.field_id), why));
    };
    if (std::to_underlying(field.field_id) < 0) {
      return refuse("which is negative");
    }
    if (metadata_.format_version == 1) {
      if (field.field_id != ordered) {
        return refuse("and format version 1 counts them from 1000");
      }
      continue;
    }
    for (const PartitionSpec& other : metadata_.partition_specs) {
      const auto taken = std::ranges::find(other.fields, field.field_id, &PartitionField::field_id);
      if (taken != other.fields.end() && !MayShareId(*taken, field)) {
        return refuse(fmt::format("which is that of {} of spec {}", Quoted(taken->name),
                                  std::to_underlying(other.spec_id)));
      }
    }
  }
  return {};
}

}  // namespace lake::iceberg
