#include "lake/metasrv/version_maker.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/failpoint.h"
#include "lake/catalog/keyspace.h"

namespace lake::metasrv {
namespace {

using metastore::CommitResult;
using metastore::Rejected;

}  // namespace

std::string VersionMaker::PlanLocation(const std::string& table_location, std::uint64_t version,
                                       lease::Epoch epoch) const {
  return fmt::format("{}/metadata/{:05}-{}-{}.metadata.json", table_location, version,
                     epoch.value(), Uuid::Random4(deps_.random).ToString());
}

iceberg::SnapshotId VersionMaker::PlanSnapshotId(const iceberg::TableMetadata& metadata) const {
  while (true) {
    std::uint64_t bits = 0;
    deps_.random.Fill(std::as_writable_bytes(std::span(&bits, 1)));
    const iceberg::SnapshotId id{static_cast<std::int64_t>(bits >> 1)};
    if (id != iceberg::SnapshotId{0} && metadata.FindSnapshot(id) == nullptr) {
      return id;
    }
  }
}

Result<TableResult> VersionMaker::Make(const std::vector<Change>& changes,
                                       const catalog::PendingTable& table,
                                       const std::function<Status(Deadline)>& engine_commit) const {
  LAKE_CHECK(!changes.empty(), "a version is made for somebody");
  const Change& first = changes.front();
  std::vector<Uuid> ids;
  for (const Change& change : changes) {
    LAKE_CHECK(change.epoch == first.epoch, "a version is made under one epoch");
    ids.push_back(change.id);
  }
  Group group;
  for (const Change& change : changes) {
    catalog::PendingOperation operation{.id = change.id,
                                        .bytes = {},
                                        .record = {.kind = change.statement.kind,
                                                   .tables = {table},
                                                   .digest = change.digest,
                                                   .group = ids,
                                                   .epoch = change.epoch.value(),
                                                   .session = session_}};
    operation.bytes = catalog::Encode(operation.record);
    group.push_back(std::move(operation));
  }

  LAKE_TRY_VOID(Failpoint("before-reserve"));
  const Result<CommitResult> reserved =
      deps_.operations.CommitOnce(catalog::Reserve(group), first.epoch);
  if (!reserved.has_value()) {
    if (reserved.error().code() == ErrorCode::kOutcomeUnknown) {
      return std::unexpected(Withdraw(first, group, reserved.error()));
    }
    return std::unexpected(reserved.error());
  }
  if (std::holds_alternative<Rejected>(*reserved)) {
    return Conflict(fmt::format("operation {}: it, or one that came with it, is known already",
                                first.id.ToString()));
  }

  if (const Status reached = Failpoint("after-reserve"); !reached.has_value()) {
    return GiveUp(first, group, reached.error());
  }
  if (const Status written = engine_commit(deps_.clock.Now() + engine_timeout_);
      !written.has_value()) {
    return GiveUp(first, group, written.error());
  }
  for (const std::string_view name : {"after-engine-commit", "before-publish"}) {
    if (const Status reached = Failpoint(name); !reached.has_value()) {
      return GiveUp(first, group, reached.error());
    }
  }
  return Publish(first, group);
}

Error VersionMaker::Withdraw(const Change& first, const Group& group, const Error& error) const {
  if (!deps_.operations.CommitAbort(group, first.epoch).has_value()) {
    return Unknown(group, error);
  }
  for (const catalog::PendingOperation& operation : group) {
    deps_.settler.Note(operation);
  }
  return Error(ErrorCode::kConflict,
               fmt::format("operation {}: its reservation was not answered ({}); plan it anew",
                           first.id.ToString(), error.message()));
}

Result<TableResult> VersionMaker::Publish(const Change& first, const Group& group) const {
  const catalog::PendingTable& table = group.front().record.tables.front();
  const Result<std::optional<catalog::VersionPublication>> publication =
      deps_.settler.Publication(group, first.epoch);
  if (!publication.has_value()) {
    return GiveUp(first, group, publication.error());
  }
  if (!publication->has_value()) {
    return GiveUp(first, group,
                  Error(ErrorCode::kConflict, fmt::format("namespace {}: it was dropped meanwhile",
                                                          table.name.ns.ToString())));
  }
  const Result<metastore::Transaction> transaction = catalog::Publish(**publication);
  if (!transaction.has_value()) {
    return GiveUp(first, group, transaction.error());
  }
  const Result<CommitResult> published =
      deps_.operations.CommitOutcome(*transaction, first.epoch, first.id);
  if (!published.has_value()) {
    switch (published.error().code()) {
      case ErrorCode::kFenced:
      case ErrorCode::kNotLeader:
      case ErrorCode::kOutcomeUnknown:
        // The planned file is complete: a successor may finish the operation at any time.
        return std::unexpected(Unknown(group, published.error()));
      default:
        return GiveUp(first, group, published.error());
    }
  }
  if (std::holds_alternative<Rejected>(*published)) {
    return GiveUp(first, group,
                  Error(ErrorCode::kConflict,
                        fmt::format("table {}: it changed while its next version was made",
                                    table.name.ToString())));
  }
  if (const Status reached = Failpoint("after-publish"); !reached.has_value()) {
    return std::unexpected(Unknown(group, reached.error()));
  }
  return TableResult{.incarnation = table.incarnation,
                     .metadata_location = table.planned_location,
                     .snapshot_id = table.snapshot_id,
                     .epoch = first.epoch.value()};
}

Result<TableResult> VersionMaker::GiveUp(const Change& first, const Group& group,
                                         const Error& error) const {
  const catalog::PendingTable& table = group.front().record.tables.front();
  const Result<CommitResult> aborted = deps_.operations.CommitAbort(group, first.epoch);
  if (!aborted.has_value()) {
    return std::unexpected(Unknown(group, error));
  }
  if (std::holds_alternative<Rejected>(*aborted)) {
    // A settler came first. If it published the operation, that is the answer.
    const Result<std::optional<TableResult>> ended = deps_.operations.Replay(first, table.name);
    if (!ended.has_value()) {
      return std::unexpected(Unknown(group, ended.error()));
    }
    if (ended->has_value()) {
      return **ended;
    }
  }
  deps_.settler.RemoveFiles(group);
  if (error.code() == ErrorCode::kOutcomeUnknown) {
    // What the object store left open does not matter any more: without its reservation nothing of it can be published.
    return Unavailable(error.message());
  }
  return std::unexpected(error);
}

Error VersionMaker::Unknown(const Group& group, const Error& error) const {
  for (const catalog::PendingOperation& operation : group) {
    deps_.settler.Note(operation);
  }
  return Error(
      ErrorCode::kOutcomeUnknown,
      fmt::format(
          "operation {}: it may or may not be done ({}); repeat it with the same id to learn which",
          group.front().id.ToString(), error.message()));
}

}  // namespace lake::metasrv
