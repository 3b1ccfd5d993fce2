#include "lake/metasrv/settler.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/failpoint.h"
#include "lake/base/log.h"
#include "lake/catalog/keyspace.h"

namespace lake::metasrv {
namespace {

using metastore::CommitResult;
using metastore::Committed;

// How often a settlement starts again because somebody else changed what it had read.
constexpr int kRounds = 5;

}  // namespace

Status Settler::EnsureScanned(lease::Epoch epoch, Clock& clock, Deadline deadline) {
  {
    const MutexLock lock(mutex_);
    while (scanning_) {
      if (clock.Now() >= deadline) {
        return DeadlineExceeded("recovery: the time was over before it had found what is pending");
      }
      clock.WaitUntil(scan_ended_, mutex_, deadline);
    }
    if (scanned_epoch_ >= epoch) {
      return {};
    }
    scanning_ = true;
  }
  const Status scanned = Scan();
  const MutexLock lock(mutex_);
  scanning_ = false;
  if (scanned.has_value()) {
    scanned_epoch_ = epoch;
  }
  scan_ended_.NotifyAll();
  return scanned;
}

Status Settler::Scan() {
  // A damaged one names no table that could be held up for it, and is left for a person.
  return deps_.reader.ForEachPending(
      Deadline::max(), [&](const catalog::PendingOperation& operation) { Note(operation); });
}

void Settler::Note(const catalog::PendingOperation& operation) {
  const MutexLock lock(mutex_);
  for (const catalog::PendingTable& table : operation.record.tables) {
    Unsettled& unsettled = unsettled_[table.incarnation];
    unsettled.turn = table.base.has_value() ? TableTurn(table.incarnation) : NameTurn(table.name);
    unsettled.operations.insert(operation.id);
  }
}

void Settler::ForgetOperation(const Uuid& operation) {
  const MutexLock lock(mutex_);
  for (auto table = unsettled_.begin(); table != unsettled_.end();) {
    table->second.operations.erase(operation);
    table = table->second.operations.empty() ? unsettled_.erase(table) : std::next(table);
  }
}

void Settler::Forget(const std::vector<catalog::PendingOperation>& group) {
  for (const catalog::PendingOperation& operation : group) {
    ForgetOperation(operation.id);
  }
}

bool Settler::MayBePending(const Uuid& operation) {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(
      unsettled_, [&](const auto& table) { return table.second.operations.contains(operation); });
}

std::vector<Settler::UnsettledTable> Settler::UnsettledTables() {
  const MutexLock lock(mutex_);
  std::vector<UnsettledTable> tables;
  tables.reserve(unsettled_.size());
  for (const auto& [incarnation, unsettled] : unsettled_) {
    tables.push_back({.incarnation = incarnation, .turn = unsettled.turn});
  }
  return tables;
}

Result<std::size_t> Settler::SettleTable(const Uuid& incarnation, lease::Epoch epoch) {
  std::set<Uuid> operations;
  {
    const MutexLock lock(mutex_);
    if (const auto found = unsettled_.find(incarnation); found != unsettled_.end()) {
      operations = found->second.operations;
    }
  }
  for (const Uuid& operation : operations) {
    LAKE_TRY_VOID(SettleOperation(operation, epoch));
    // It may belong to a group that lists other tables by now.
    ForgetOperation(operation);
  }
  return operations.size();
}

Status Settler::SettleOperation(const Uuid& operation, lease::Epoch epoch) {
  LAKE_TRY_VOID(Failpoint("before-settle"));
  for (int round = 0; round < kRounds; ++round) {
    LAKE_TRY(const std::optional<catalog::PendingOperation> pending,
             deps_.reader.ReadPending(operation));
    if (!pending.has_value()) {
      ForgetOperation(operation);
      return {};
    }
    const Result<bool> settled = WithContext(
        TrySettle(*pending, epoch), fmt::format("settle operation {}", operation.ToString()));
    if (!settled.has_value()) {
      // What is wrong with this operation is no final answer to another one that waits for it.
      return Operations::IsFinal(settled.error().code()) ? Unavailable(settled.error().message())
                                                         : Status(std::unexpected(settled.error()));
    }
    if (*settled) {
      return {};
    }
  }
  return Unavailable(
      fmt::format("settle operation {}: it keeps changing; retry", operation.ToString()));
}

Result<bool> Settler::TrySettle(const catalog::PendingOperation& shown, lease::Epoch epoch) {
  // The members of a group end together, whichever of them was shown.
  LAKE_TRY(std::vector<catalog::PendingOperation> group,
           deps_.reader.ReadGroup(shown.record.group));
  if (group.empty()) {
    return false;
  }
  const bool whole = group.size() == shown.record.group.size();
  LAKE_TRY(const bool complete, whole ? IsComplete(group) : Result<bool>(false));
  std::optional<catalog::VersionPublication> publication;
  if (complete) {
    LAKE_TRY(publication, Publication(group, epoch));
  }
  if (!publication.has_value()) {
    return TryAbort(group, epoch);
  }
  LAKE_TRY(const metastore::Transaction transaction, catalog::Publish(*publication));
  LAKE_TRY(const CommitResult result,
           deps_.operations.CommitOutcome(transaction, epoch, group.front().id));
  if (!std::holds_alternative<Committed>(result)) {
    return false;
  }
  Log(LogLevel::kInfo,
      fmt::format("operation {} was finished for an earlier leader", shown.id.ToString()));
  Forget(group);
  return true;
}

Result<bool> Settler::IsComplete(const std::vector<catalog::PendingOperation>& group) const {
  for (const catalog::PendingTable& table : group.front().record.tables) {
    LAKE_TRY(const auto registration, deps_.reader.ReadRegistration(table.name));
    bool at_base = registration.has_value() == table.base.has_value();
    if (table.base.has_value()) {
      at_base = at_base && registration->bytes == *table.base;
    } else {
      LAKE_TRY(const std::string view_key, catalog::ViewKey(table.name));
      LAKE_TRY(const std::optional<std::string> view, deps_.reader.ReadBytes(view_key));
      at_base = at_base && !view.has_value();
    }
    if (!at_base) {
      return false;
    }
    LAKE_TRY(const engine::PlannedState state,
             deps_.engine.Reconcile(table.planned_location, table.incarnation,
                                    deps_.clock.Now() + engine_timeout_));
    if (state != engine::PlannedState::kComplete) {
      return false;
    }
  }
  return true;
}

Result<std::optional<catalog::VersionPublication>> Settler::Publication(
    std::vector<catalog::PendingOperation> group, lease::Epoch epoch) const {
  LAKE_CHECK(!group.empty(), "a group has a member");
  catalog::VersionPublication publication{.operations = std::move(group),
                                          .directory = Uuid::Random4(deps_.random)};
  std::set<catalog::Namespace> namespaces;
  for (const catalog::PendingTable& table : publication.operations.front().record.tables) {
    if (!table.base.has_value()) {
      namespaces.insert(table.name.ns);
    }
  }
  for (const catalog::Namespace& ns : namespaces) {
    LAKE_TRY(auto stored, deps_.reader.ReadNamespace(ns));
    if (!stored.has_value()) {
      return std::nullopt;
    }
    publication.namespaces.emplace_back(ns, std::move(stored->bytes));
  }
  for (const catalog::PendingOperation& operation : publication.operations) {
    publication.outcomes.push_back(deps_.operations.Succeeded(operation, epoch));
  }
  return publication;
}

Result<bool> Settler::TryAbort(const std::vector<catalog::PendingOperation>& group,
                               lease::Epoch epoch) {
  LAKE_TRY(const CommitResult result, deps_.operations.CommitAbort(group, epoch));
  if (!std::holds_alternative<Committed>(result)) {
    return false;
  }
  Log(LogLevel::kInfo, fmt::format("operation {} was aborted: its leader had not finished it",
                                   group.front().id.ToString()));
  RemoveFiles(group);
  Forget(group);
  return true;
}

void Settler::RemoveFiles(const std::vector<catalog::PendingOperation>& group) const {
  for (const catalog::PendingTable& table : group.front().record.tables) {
    IgnoreError(
        deps_.engine.RemoveAttempt(table.planned_location, iceberg::SnapshotId{table.snapshot_id},
                                   deps_.clock.Now() + engine_timeout_),
        "unreferenced files of an aborted attempt do no harm; orphan removal finds them");
  }
}

}  // namespace lake::metasrv
