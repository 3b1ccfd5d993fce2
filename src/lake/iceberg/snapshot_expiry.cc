#include "lake/iceberg/snapshot_expiry.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/table_metadata.h"

namespace lake::iceberg {
namespace {

Result<std::optional<std::int64_t>> ReadNumber(const Properties& properties, std::string_view name,
                                               std::int64_t least) {
  const auto property = properties.find(std::string(name));
  if (property == properties.end()) {
    return std::nullopt;
  }
  const std::string_view text = property->second;
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size() || number < least) {
    return InvalidArgument(
        fmt::format("property '{}' is {}, not a number of at least {}", name, Quoted(text), least));
  }
  return number;
}

Result<std::optional<std::chrono::milliseconds>> ReadAge(const Properties& properties,
                                                         std::string_view name) {
  LAKE_TRY(const std::optional<std::int64_t> number, ReadNumber(properties, name, 1));
  if (!number.has_value()) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(*number);
}

// Whether something of `time` is older than `age` allows. Times and ages come from files and may be as large as they like; what
// a clock says less a positive age is always a number.
bool IsOlder(WallTime time, WallTime now, std::chrono::milliseconds age) {
  return time < now - age;
}

// Decides snapshot by snapshot.
class Planner {
 public:
  Planner(const TableMetadata& metadata, const ExpiryPolicy& policy, WallTime now)
      : metadata_(metadata), policy_(policy), now_(now) {
    for (const Snapshot& snapshot : metadata.snapshots) {
      snapshots_.emplace(snapshot.snapshot_id, &snapshot);
    }
  }

  Expiry Plan() {
    Expiry expiry;
    for (const auto& [name, ref] : metadata_.refs) {
      if (IsExpired(name, ref)) {
        expiry.refs.push_back(name);
        continue;
      }
      Keep(ref);
    }
    if (metadata_.current_snapshot_id.has_value()) {
      kept_.insert(*metadata_.current_snapshot_id);
    }
    for (const Snapshot& snapshot : metadata_.snapshots) {
      if (!kept_.contains(snapshot.snapshot_id) && !IsYoungLooseEnd(snapshot)) {
        expiry.snapshots.push_back(snapshot.snapshot_id);
      }
    }
    return expiry;
  }

 private:
  bool IsExpired(std::string_view name, const SnapshotRef& ref) const {
    if (name == kMainBranch) {
      return false;
    }
    const std::optional<std::chrono::milliseconds> age =
        ref.max_ref_age.has_value() ? ref.max_ref_age : policy_.max_ref_age;
    const Snapshot* snapshot = Find(ref.snapshot_id);
    return age.has_value() && snapshot != nullptr && IsOlder(snapshot->timestamp, now_, *age);
  }

  void Keep(const SnapshotRef& ref) {
    kept_.insert(ref.snapshot_id);
    if (ref.kind == SnapshotRef::Kind::kBranch) {
      KeepNewestOf(ref);
    }
    // All that this ref leads to has an owner who decides about it.
    for (const Snapshot* snapshot = Find(ref.snapshot_id);
         snapshot != nullptr && owned_.insert(snapshot->snapshot_id).second;
         snapshot = ParentOf(*snapshot)) {
    }
  }

  void KeepNewestOf(const SnapshotRef& branch) {
    const std::int64_t least = branch.min_snapshots_to_keep.value_or(policy_.min_snapshots_to_keep);
    const bool has_age =
        branch.max_snapshot_age.has_value() || policy_.max_snapshot_age.has_value();
    const std::chrono::milliseconds age =
        branch.max_snapshot_age.value_or(policy_.max_snapshot_age.value_or(kMaxSnapshotAgeDefault));
    const std::int64_t most = policy_.max_snapshots.value_or(has_age ? 0 : kMaxSnapshotsDefault);
    std::int64_t count = 0;
    // Damaged metadata may have parents in a circle; there are no more ancestors than snapshots.
    const auto all = static_cast<std::int64_t>(snapshots_.size());
    for (const Snapshot* snapshot = Find(branch.snapshot_id); snapshot != nullptr && count < all;
         snapshot = ParentOf(*snapshot)) {
      const bool one_too_many = most > 0 && count >= most;
      if (count >= least && (one_too_many || IsOlder(snapshot->timestamp, now_, age))) {
        return;
      }
      kept_.insert(snapshot->snapshot_id);
      ++count;
    }
  }

  bool IsYoungLooseEnd(const Snapshot& snapshot) const {
    return !owned_.contains(snapshot.snapshot_id) &&
           !IsOlder(snapshot.timestamp, now_,
                    policy_.max_snapshot_age.value_or(kMaxSnapshotAgeDefault));
  }

  const Snapshot* Find(SnapshotId id) const {
    const auto found = snapshots_.find(id);
    return found == snapshots_.end() ? nullptr : found->second;
  }

  const Snapshot* ParentOf(const Snapshot& snapshot) const {
    return snapshot.parent_snapshot_id.has_value() ? Find(*snapshot.parent_snapshot_id) : nullptr;
  }

  const TableMetadata& metadata_;
  const ExpiryPolicy& policy_;
  const WallTime now_;
  std::unordered_map<SnapshotId, const Snapshot*> snapshots_;
  std::unordered_set<SnapshotId> kept_;
  std::unordered_set<SnapshotId> owned_;  // Those that a ref which stays leads to.
};

}  // namespace

Result<ExpiryPolicy> ReadExpiryPolicy(const Properties& properties) {
  ExpiryPolicy policy;
  LAKE_TRY(policy.max_snapshot_age, ReadAge(properties, kMaxSnapshotAgeProperty));
  LAKE_TRY(const std::optional<std::int64_t> least,
           ReadNumber(properties, kMinSnapshotsProperty, 1));
  policy.min_snapshots_to_keep = least.value_or(kMinSnapshotsDefault);
  LAKE_TRY(policy.max_ref_age, ReadAge(properties, kMaxRefAgeProperty));
  LAKE_TRY(policy.max_snapshots, ReadNumber(properties, kMaxSnapshotsProperty, 0));
  return policy;
}

Expiry PlanExpiry(const TableMetadata& metadata, const ExpiryPolicy& policy, WallTime now) {
  return Planner(metadata, policy, now).Plan();
}

}  // namespace lake::iceberg
