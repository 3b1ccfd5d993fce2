#include "lake/iceberg/snapshot_summary.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "lake/base/check.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/snapshot.h"

namespace lake::iceberg {
namespace {

// A quantity that summaries count: what came, what went, what there is.
struct Quantity {
  std::string_view added_name;
  std::string_view removed_name;
  std::string_view total_name;
  std::int64_t SnapshotChanges::* added;
  std::int64_t SnapshotChanges::* removed;
};

constexpr std::array kQuantities{
    Quantity{"added-data-files", "deleted-data-files", "total-data-files",
             &SnapshotChanges::added_data_files, &SnapshotChanges::deleted_data_files},
    Quantity{"added-delete-files", "removed-delete-files", "total-delete-files",
             &SnapshotChanges::added_delete_files, &SnapshotChanges::removed_delete_files},
    Quantity{"added-records", "deleted-records", "total-records", &SnapshotChanges::added_records,
             &SnapshotChanges::deleted_records},
    Quantity{"added-files-size", "removed-files-size", "total-files-size",
             &SnapshotChanges::added_files_size, &SnapshotChanges::removed_files_size},
    Quantity{"added-position-deletes", "removed-position-deletes", "total-position-deletes",
             &SnapshotChanges::added_position_deletes, &SnapshotChanges::removed_position_deletes},
    Quantity{"added-equality-deletes", "removed-equality-deletes", "total-equality-deletes",
             &SnapshotChanges::added_equality_deletes, &SnapshotChanges::removed_equality_deletes},
};

std::optional<std::int64_t> Total(std::optional<std::int64_t> before, std::int64_t added,
                                  std::int64_t removed) {
  if (!before.has_value() || *before < 0 ||
      added > std::numeric_limits<std::int64_t>::max() - *before) {
    return std::nullopt;
  }
  const std::int64_t total = *before + added - removed;
  return total < 0 ? std::nullopt : std::optional(total);
}

}  // namespace

std::string_view SnapshotOperationName(SnapshotOperation operation) {
  switch (operation) {
    case SnapshotOperation::kAppend:
      return "append";
    case SnapshotOperation::kReplace:
      return "replace";
    case SnapshotOperation::kOverwrite:
      return "overwrite";
    case SnapshotOperation::kDelete:
      return "delete";
  }
  LAKE_CHECK(false, "every operation has a name");
}

Properties MakeSummary(SnapshotOperation operation, const SnapshotChanges& changes,
                       const Snapshot* parent, const Properties& extra) {
  Properties summary{{"operation", std::string(SnapshotOperationName(operation))}};
  for (const Quantity& quantity : kQuantities) {
    const std::int64_t added = changes.*quantity.added;
    const std::int64_t removed = changes.*quantity.removed;
    LAKE_CHECK(added >= 0 && removed >= 0, "counts are not negative");
    if (added > 0) {
      summary.emplace(quantity.added_name, std::to_string(added));
    }
    if (removed > 0) {
      summary.emplace(quantity.removed_name, std::to_string(removed));
    }
    const std::optional<std::int64_t> before = parent == nullptr
                                                   ? std::optional<std::int64_t>(0)
                                                   : SummaryNumber(*parent, quantity.total_name);
    if (const std::optional<std::int64_t> total = Total(before, added, removed);
        total.has_value()) {
      summary.emplace(quantity.total_name, std::to_string(*total));
    }
  }
  if (changes.changed_partition_count.has_value()) {
    summary.emplace("changed-partition-count", std::to_string(*changes.changed_partition_count));
  }
  summary.insert(extra.begin(), extra.end());
  return summary;
}

std::optional<std::int64_t> SummaryNumber(const Snapshot& snapshot, std::string_view name) {
  const auto entry = snapshot.summary.find(std::string(name));
  if (entry == snapshot.summary.end()) {
    return std::nullopt;
  }
  const std::string& text = entry->second;
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

}  // namespace lake::iceberg
