#include "lake/metasrv/version_maker.h"

#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/failpoint.h"
#include "lake/catalog/keyspace.h"

namespace lake::metasrv {
namespace {

using metastore::CommitResult;
using metastore::Committed;
using metastore::FailedExpectation;
using metastore::Rejected;

}  // namespace

Result<TableResult> VersionMaker::Make(const Change& change, const catalog::PendingTable& table,
                                       const std::function<Status(Deadline)>& engine_commit) const {
  catalog::PendingOperation operation{.id = change.id,
                                      .record = {.kind = change.statement.kind,
                                                 .tables = {table},
                                                 .digest = change.digest,
                                                 .group = {change.id},
                                                 .epoch = change.epoch.value(),
                                                 .session = session_}};
  operation.bytes = catalog::Encode(operation.record);

  LAKE_TRY_VOID(Failpoint("before-reserve"));
  const std::string pending_key = catalog::PendingKey(change.id);
  const Result<CommitResult> reserved = deps_.operations.CommitKnown(
      catalog::Reserve({operation}), change.epoch, [&](const Rejected& rejected) {
        const FailedExpectation* failure = FindFailure(rejected, pending_key);
        return failure != nullptr && failure->actual == operation.bytes;
      });
  if (!reserved.has_value()) {
    if (reserved.error().code() == ErrorCode::kOutcomeUnknown) {
      return std::unexpected(Unknown(operation, reserved.error()));
    }
    return std::unexpected(reserved.error());
  }
  if (std::holds_alternative<Rejected>(*reserved)) {
    return Conflict(
        fmt::format("operation {}: it is being done by another process", change.id.ToString()));
  }

  if (const Status reached = Failpoint("after-reserve"); !reached.has_value()) {
    return GiveUp(change, operation, reached.error());
  }
  if (const Status written = engine_commit(deps_.clock.Now() + engine_timeout_);
      !written.has_value()) {
    return GiveUp(change, operation, written.error());
  }
  for (const std::string_view name : {"after-engine-commit", "before-publish"}) {
    if (const Status reached = Failpoint(name); !reached.has_value()) {
      return GiveUp(change, operation, reached.error());
    }
  }
  return Publish(change, operation);
}

Result<TableResult> VersionMaker::Publish(const Change& change,
                                          const catalog::PendingOperation& operation) const {
  Result<std::optional<catalog::VersionPublication>> publication =
      deps_.settler.Publication({operation}, change.epoch);
  if (!publication.has_value()) {
    return GiveUp(change, operation, publication.error());
  }
  if (!publication->has_value()) {
    return GiveUp(change, operation,
                  Error(ErrorCode::kConflict,
                        fmt::format("namespace {}: it was dropped meanwhile",
                                    operation.record.tables.front().name.ns.ToString())));
  }
  const Result<metastore::Transaction> transaction = catalog::Publish(**publication);
  if (!transaction.has_value()) {
    return GiveUp(change, operation, transaction.error());
  }
  const Result<CommitResult> published =
      deps_.operations.CommitOutcome(*transaction, change.epoch, change.id);
  if (!published.has_value()) {
    switch (published.error().code()) {
      case ErrorCode::kFenced:
      case ErrorCode::kNotLeader:
      case ErrorCode::kOutcomeUnknown:
        // The planned file is complete: a successor may finish the operation at any time.
        return std::unexpected(Unknown(operation, published.error()));
      default:
        return GiveUp(change, operation, published.error());
    }
  }
  if (std::holds_alternative<Rejected>(*published)) {
    return GiveUp(change, operation,
                  Error(ErrorCode::kConflict,
                        fmt::format("table {}: it changed while its next version was made",
                                    operation.record.tables.front().name.ToString())));
  }
  if (const Status reached = Failpoint("after-publish"); !reached.has_value()) {
    return std::unexpected(Unknown(operation, reached.error()));
  }
  const catalog::PendingTable& table = operation.record.tables.front();
  return TableResult{.incarnation = table.incarnation,
                     .metadata_location = table.planned_location,
                     .snapshot_id = table.snapshot_id,
                     .epoch = change.epoch.value()};
}

Result<TableResult> VersionMaker::GiveUp(const Change& change,
                                         const catalog::PendingOperation& operation,
                                         const Error& error) const {
  const std::string pending_key = catalog::PendingKey(operation.id);
  const Result<CommitResult> aborted = deps_.operations.CommitKnown(
      catalog::Abort({operation}), change.epoch, [&](const Rejected& rejected) {
        const FailedExpectation* failure = FindFailure(rejected, pending_key);
        return failure != nullptr && !failure->actual.has_value();
      });
  if (!aborted.has_value()) {
    return std::unexpected(Unknown(operation, error));
  }
  if (std::holds_alternative<Rejected>(*aborted)) {
    // A settler came first. If it published the operation, that is the answer.
    const Result<std::optional<TableResult>> ended =
        deps_.operations.Replay(change, operation.record.tables.front().name);
    if (!ended.has_value()) {
      return std::unexpected(Unknown(operation, ended.error()));
    }
    if (ended->has_value()) {
      return **ended;
    }
  }
  const catalog::PendingTable& table = operation.record.tables.front();
  IgnoreError(
      deps_.engine.RemoveAttempt(table.planned_location, iceberg::SnapshotId{table.snapshot_id},
                                 deps_.clock.Now() + engine_timeout_),
      "unreferenced files of an aborted attempt do no harm; orphan removal finds them");
  if (error.code() == ErrorCode::kOutcomeUnknown) {
    // What the object store left open does not matter any more: without its reservation nothing of it can be published.
    return Unavailable(error.message());
  }
  return std::unexpected(error);
}

Error VersionMaker::Unknown(const catalog::PendingOperation& operation, const Error& error) const {
  deps_.settler.Note(operation);
  return Error(
      ErrorCode::kOutcomeUnknown,
      fmt::format(
          "operation {}: it may or may not be done ({}); repeat it with the same id to learn which",
          operation.id.ToString(), error.message()));
}

}  // namespace lake::metasrv
