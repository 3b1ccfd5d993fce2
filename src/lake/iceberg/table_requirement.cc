#include "lake/iceberg/table_requirement.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/table_metadata.h"

namespace lake::iceberg {
namespace {

// Clients and their tests compare these texts, in this spelling.
std::unexpected<Error> Failed(std::string_view what) {
  return Conflict(fmt::format("Requirement failed: {}", what));
}

template <typename Id>
Status CheckId(std::string_view what, Id expected, Id found) {
  if (expected == found) {
    return {};
  }
  return Failed(fmt::format("{} changed: expected id {} != {}", what, std::to_underlying(expected),
                            std::to_underlying(found)));
}

Status CheckNoRef(const AssertRefSnapshotId& requirement) {
  const SnapshotId id = requirement.snapshot_id.value_or(kNoSnapshot);
  if (id == kNoSnapshot) {
    return {};
  }
  return Failed(fmt::format("branch or tag {} is missing, expected {}", requirement.ref,
                            std::to_underlying(id)));
}

Status CheckRef(const AssertRefSnapshotId& requirement, const SnapshotRef& ref) {
  const SnapshotId id = requirement.snapshot_id.value_or(kNoSnapshot);
  const std::string_view kind = ref.kind == SnapshotRef::Kind::kBranch ? "branch" : "tag";
  if (id == kNoSnapshot) {
    return Failed(fmt::format("{} {} was created concurrently", kind, requirement.ref));
  }
  if (id != ref.snapshot_id) {
    return Failed(fmt::format("{} {} has changed: expected id {} != {}", kind, requirement.ref,
                              std::to_underlying(id), std::to_underlying(ref.snapshot_id)));
  }
  return {};
}

// Checks a requirement of a table that does not exist.
struct MissingTableChecker {
  Status operator()(const AssertCreate& /*requirement*/) const { return {}; }

  Status operator()(const AssertRefSnapshotId& requirement) const {
    return CheckNoRef(requirement);
  }

  template <typename Other>
  Status operator()(const Other& /*requirement*/) const {
    return Failed("table does not exist");
  }
};

// Checks a requirement of a table that exists.
struct TableChecker {
  Status operator()(const AssertCreate& /*requirement*/) const {
    return Failed("table already exists");
  }

  Status operator()(const AssertTableUuid& requirement) const {
    if (base.table_uuid == requirement.uuid) {
      return {};
    }
    return Failed(fmt::format("UUID does not match: expected {} != {}",
                              base.table_uuid.has_value() ? base.table_uuid->ToString() : "none",
                              requirement.uuid.ToString()));
  }

  Status operator()(const AssertRefSnapshotId& requirement) const {
    const auto found = base.refs.find(requirement.ref);
    return found == base.refs.end() ? CheckNoRef(requirement)
                                    : CheckRef(requirement, found->second);
  }

  Status operator()(const AssertLastAssignedFieldId& requirement) const {
    return CheckId("last assigned field id", requirement.last_assigned_field_id,
                   base.last_column_id);
  }

  Status operator()(const AssertCurrentSchemaId& requirement) const {
    return CheckId("current schema", requirement.current_schema_id, base.current_schema_id);
  }

  Status operator()(const AssertLastAssignedPartitionId& requirement) const {
    return CheckId("last assigned partition id", requirement.last_assigned_partition_id,
                   base.last_partition_id);
  }

  Status operator()(const AssertDefaultSpecId& requirement) const {
    return CheckId("default partition spec", requirement.default_spec_id, base.default_spec_id);
  }

  Status operator()(const AssertDefaultSortOrderId& requirement) const {
    return CheckId("default sort order", requirement.default_sort_order_id,
                   base.default_sort_order_id);
  }

  const TableMetadata& base;
};

}  // namespace

Status CheckRequirements(const TableMetadata* base,
                         const std::vector<TableRequirement>& requirements) {
  for (const TableRequirement& requirement : requirements) {
    LAKE_TRY_VOID(base == nullptr ? std::visit(MissingTableChecker{}, requirement)
                                  : std::visit(TableChecker{*base}, requirement));
  }
  return {};
}

}  // namespace lake::iceberg
