#include "lake/iceberg/table_metadata.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/sort_order.h"

namespace lake::iceberg {
namespace {

template <typename T, typename Id, typename Projection>
const T* FindById(const std::vector<T>& list, Id id, Projection id_of) {
  const auto found = std::ranges::find(list, id, id_of);
  return found == list.end() ? nullptr : &*found;
}

// Checks that no two things of a list have the same id.
template <typename T, typename Projection>
Status CheckUnique(const std::vector<T>& list, std::string_view what, Projection id_of) {
  std::unordered_set<std::int64_t> seen;
  for (const T& thing : list) {
    const auto id = static_cast<std::int64_t>(std::invoke(id_of, thing));
    if (!seen.insert(id).second) {
      return InvalidArgument(fmt::format("table metadata: two {} have the id {}", what, id));
    }
  }
  return {};
}

Status CheckHeader(const TableMetadata& metadata) {
  if (metadata.format_version < kFormatVersionMin || metadata.format_version > kFormatVersionMax) {
    return Unimplemented(fmt::format(
        "table metadata: format version {} is not supported; this program knows {} to {}",
        metadata.format_version, kFormatVersionMin, kFormatVersionMax));
  }
  if (metadata.location.empty()) {
    return InvalidArgument("table metadata: location is empty");
  }
  if (metadata.format_version >= 2 && !metadata.table_uuid.has_value()) {
    return InvalidArgument("table metadata: table-uuid is missing");
  }
  if (metadata.format_version >= 3 && !metadata.next_row_id.has_value()) {
    return InvalidArgument("table metadata: next-row-id is missing");
  }
  if (metadata.next_row_id.value_or(0) < 0) {
    return InvalidArgument("table metadata: next-row-id is negative");
  }
  if (metadata.last_sequence_number < 0) {
    return InvalidArgument("table metadata: last-sequence-number is negative");
  }
  return {};
}

Status CheckSchemas(const TableMetadata& metadata) {
  LAKE_TRY_VOID(CheckUnique(metadata.schemas, "schemas", &Schema::schema_id));
  if (metadata.FindSchema(metadata.current_schema_id) == nullptr) {
    return InvalidArgument(fmt::format("table metadata: current-schema-id {} names no schema",
                                       std::to_underlying(metadata.current_schema_id)));
  }
  const FieldId highest = metadata.current_schema().highest_field_id();
  if (highest > metadata.last_column_id) {
    return InvalidArgument(
        fmt::format("table metadata: the current schema has field id {}, above last-column-id {}",
                    std::to_underlying(highest), std::to_underlying(metadata.last_column_id)));
  }
  return {};
}

Status CheckSpecs(const TableMetadata& metadata) {
  LAKE_TRY_VOID(CheckUnique(metadata.partition_specs, "partition specs", &PartitionSpec::spec_id));
  if (metadata.FindSpec(metadata.default_spec_id) == nullptr) {
    return InvalidArgument(fmt::format("table metadata: default-spec-id {} names no partition spec",
                                       std::to_underlying(metadata.default_spec_id)));
  }
  for (const PartitionSpec& spec : metadata.partition_specs) {
    LAKE_TRY_VOID(CheckUnique(
        spec.fields, fmt::format("fields of partition spec {}", std::to_underlying(spec.spec_id)),
        &PartitionField::field_id));
    for (const PartitionField& field : spec.fields) {
      if (field.field_id > metadata.last_partition_id) {
        return InvalidArgument(
            fmt::format("table metadata: partition field {} has id {}, above last-partition-id {}",
                        Quoted(field.name), std::to_underlying(field.field_id),
                        std::to_underlying(metadata.last_partition_id)));
      }
    }
  }
  return {};
}

Status CheckSortOrders(const TableMetadata& metadata) {
  LAKE_TRY_VOID(CheckUnique(metadata.sort_orders, "sort orders", &SortOrder::order_id));
  if (metadata.FindSortOrder(metadata.default_sort_order_id) == nullptr) {
    return InvalidArgument(
        fmt::format("table metadata: default-sort-order-id {} names no sort order",
                    std::to_underlying(metadata.default_sort_order_id)));
  }
  return {};
}

Status CheckSnapshot(const TableMetadata& metadata, const Snapshot& snapshot) {
  const std::int64_t id = std::to_underlying(snapshot.snapshot_id);
  if (snapshot.sequence_number < 0 || snapshot.sequence_number > metadata.last_sequence_number) {
    return InvalidArgument(fmt::format(
        "table metadata: snapshot {} has sequence-number {}, outside 0 to last-sequence-number {}",
        id, snapshot.sequence_number, metadata.last_sequence_number));
  }
  if (metadata.format_version >= 2 && snapshot.manifest_list.empty() &&
      snapshot.manifests.empty()) {
    return InvalidArgument(fmt::format("table metadata: snapshot {} has no manifest-list", id));
  }
  if (!snapshot.manifest_list.empty() && !snapshot.manifests.empty()) {
    return InvalidArgument(
        fmt::format("table metadata: snapshot {} has both manifest-list and manifests", id));
  }
  return {};
}

Status CheckRefs(const TableMetadata& metadata) {
  std::unordered_set<SnapshotId> known;
  for (const Snapshot& snapshot : metadata.snapshots) {
    known.insert(snapshot.snapshot_id);
  }
  for (const auto& [name, ref] : metadata.refs) {
    if (!known.contains(ref.snapshot_id)) {
      return InvalidArgument(
          fmt::format("table metadata: ref {} names snapshot {}, which is missing", Quoted(name),
                      std::to_underlying(ref.snapshot_id)));
    }
    if (ref.kind == SnapshotRef::Kind::kTag &&
        (ref.min_snapshots_to_keep.has_value() || ref.max_snapshot_age.has_value())) {
      return InvalidArgument(
          fmt::format("table metadata: tag {} has retention settings of a branch", Quoted(name)));
    }
    if (ref.min_snapshots_to_keep.value_or(1) <= 0 ||
        ref.max_snapshot_age.value_or(std::chrono::milliseconds(1)).count() <= 0 ||
        ref.max_ref_age.value_or(std::chrono::milliseconds(1)).count() <= 0) {
      return InvalidArgument(fmt::format(
          "table metadata: ref {} has a retention setting that is not positive", Quoted(name)));
    }
  }
  const auto main = metadata.refs.find(kMainBranch);
  if (main == metadata.refs.end()) {
    if (metadata.current_snapshot_id.has_value()) {
      return InvalidArgument("table metadata: there is a current snapshot but no main branch");
    }
    return {};
  }
  if (main->second.kind != SnapshotRef::Kind::kBranch) {
    return InvalidArgument("table metadata: ref 'main' is a tag; it must be a branch");
  }
  if (metadata.current_snapshot_id != main->second.snapshot_id) {
    return InvalidArgument(
        "table metadata: current-snapshot-id and the main branch name different snapshots");
  }
  return {};
}

}  // namespace

const Schema* TableMetadata::FindSchema(SchemaId id) const {
  return FindById(schemas, id, &Schema::schema_id);
}

const PartitionSpec* TableMetadata::FindSpec(PartitionSpecId id) const {
  return FindById(partition_specs, id, &PartitionSpec::spec_id);
}

const SortOrder* TableMetadata::FindSortOrder(SortOrderId id) const {
  return FindById(sort_orders, id, &SortOrder::order_id);
}

const Snapshot* TableMetadata::FindSnapshot(SnapshotId id) const {
  return FindById(snapshots, id, &Snapshot::snapshot_id);
}

const Snapshot* TableMetadata::current_snapshot() const {
  return current_snapshot_id.has_value() ? FindSnapshot(*current_snapshot_id) : nullptr;
}

const Schema& TableMetadata::current_schema() const {
  const Schema* schema = FindSchema(current_schema_id);
  LAKE_CHECK(schema != nullptr, "valid metadata has its current schema");
  return *schema;
}

const PartitionSpec& TableMetadata::default_spec() const {
  const PartitionSpec* spec = FindSpec(default_spec_id);
  LAKE_CHECK(spec != nullptr, "valid metadata has its default partition spec");
  return *spec;
}

const SortOrder& TableMetadata::default_sort_order() const {
  const SortOrder* order = FindSortOrder(default_sort_order_id);
  LAKE_CHECK(order != nullptr, "valid metadata has its default sort order");
  return *order;
}

Status Validate(const TableMetadata& metadata) {
  LAKE_TRY_VOID(CheckHeader(metadata));
  LAKE_TRY_VOID(CheckSchemas(metadata));
  LAKE_TRY_VOID(CheckSpecs(metadata));
  LAKE_TRY_VOID(CheckSortOrders(metadata));
  LAKE_TRY_VOID(CheckUnique(metadata.snapshots, "snapshots", &Snapshot::snapshot_id));
  for (const Snapshot& snapshot : metadata.snapshots) {
    LAKE_TRY_VOID(CheckSnapshot(metadata, snapshot));
  }
  return CheckRefs(metadata);
}

}  // namespace lake::iceberg
