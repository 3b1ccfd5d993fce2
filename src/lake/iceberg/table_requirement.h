#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/table_metadata.h"

namespace lake::iceberg {

// What must hold of a table for a change to be made, as data: the requirements of the REST catalog's
// specification. table_requirement_json.h is their JSON form.

// The table must not exist.
struct AssertCreate {
  bool operator==(const AssertCreate&) const = default;
};

// The table must be this one and not another of its name.
struct AssertTableUuid {
  Uuid uuid;

  bool operator==(const AssertTableUuid&) const = default;
};

// A branch or tag must name this snapshot. Without one, or with kNoSnapshot, it must not exist.
struct AssertRefSnapshotId {
  std::string ref;
  std::optional<SnapshotId> snapshot_id;

  bool operator==(const AssertRefSnapshotId&) const = default;
};

// The table's last-column-id must be this one.
struct AssertLastAssignedFieldId {
  FieldId last_assigned_field_id{};

  bool operator==(const AssertLastAssignedFieldId&) const = default;
};

// The table's current schema must have this id.
struct AssertCurrentSchemaId {
  SchemaId current_schema_id{};

  bool operator==(const AssertCurrentSchemaId&) const = default;
};

// The table's last-partition-id must be this one.
struct AssertLastAssignedPartitionId {
  FieldId last_assigned_partition_id{};

  bool operator==(const AssertLastAssignedPartitionId&) const = default;
};

// The table's default partition spec must have this id.
struct AssertDefaultSpecId {
  PartitionSpecId default_spec_id{};

  bool operator==(const AssertDefaultSpecId&) const = default;
};

// The table's default sort order must have this id.
struct AssertDefaultSortOrderId {
  SortOrderId default_sort_order_id{};

  bool operator==(const AssertDefaultSortOrderId&) const = default;
};

// Any requirement.
using TableRequirement =
    std::variant<AssertCreate, AssertTableUuid, AssertRefSnapshotId, AssertLastAssignedFieldId,
                 AssertCurrentSchemaId, AssertLastAssignedPartitionId, AssertDefaultSpecId,
                 AssertDefaultSortOrderId>;

// Checks the requirements in order. `base` is the table as it is, nullptr if it does not exist: then
// only AssertCreate holds, and that a ref must not exist. kConflict for the first that does not hold,
// with the text that clients know ("Requirement failed: …"): refresh the base, and make the change
// again if it still makes sense.
Status CheckRequirements(const TableMetadata* base,
                         const std::vector<TableRequirement>& requirements);

}  // namespace lake::iceberg
