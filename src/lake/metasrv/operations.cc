#include "lake/metasrv/operations.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lake/base/check.h"
#include "lake/catalog/keyspace.h"
#include "lake/metasrv/operation_id.h"

namespace lake::metasrv {
namespace {

using metastore::CommitResult;
using metastore::Committed;
using metastore::Rejected;

// How often one commit is tried before its outcome is left open.
constexpr int kAttempts = 3;

std::optional<ErrorCode> ParseErrorCode(std::string_view name) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    if (ErrorCodeName(static_cast<ErrorCode>(code)) == name) {
      return static_cast<ErrorCode>(code);
    }
  }
  return std::nullopt;
}

Result<TableResult> ToResult(const catalog::OperationRecord& record, const Uuid& id) {
  if (!record.result.succeeded) {
    const std::optional<ErrorCode> code = ParseErrorCode(record.result.error_code);
    if (!code.has_value()) {
      return Corruption(fmt::format("operation {}: unknown error code '{}'", id.ToString(),
                                    record.result.error_code));
    }
    return std::unexpected(Error(*code, record.result.error_message));
  }
  return TableResult{
      .incarnation = record.incarnations.empty() ? Uuid() : record.incarnations.front(),
      .metadata_location = record.result.metadata_location,
      .snapshot_id = record.result.snapshot_id,
      .epoch = record.epoch,
      .replayed = true};
}

// Whether an attempt failed for now and was certainly not applied.
bool WasNotApplied(const Result<CommitResult>& result) {
  return !result.has_value() && (result.error().code() == ErrorCode::kUnavailable ||
                                 result.error().code() == ErrorCode::kDeadlineExceeded);
}

// Cuts a message to what a record may hold, at a character boundary.
std::string Shortened(std::string message) {
  if (message.size() > catalog::kErrorBytesMax) {
    std::size_t end = catalog::kErrorBytesMax;
    while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) {
      --end;
    }
    message.resize(end);
  }
  return message;
}

}  // namespace

bool Operations::IsFinal(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kConflict:
    case ErrorCode::kUnimplemented:
      return true;
    case ErrorCode::kUnauthenticated:
    case ErrorCode::kPermissionDenied:
    case ErrorCode::kNotLeader:
    case ErrorCode::kFenced:
    case ErrorCode::kOutcomeUnknown:
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kCancelled:
    case ErrorCode::kCorruption:
    case ErrorCode::kInternal:
      return false;
  }
  return false;
}

Result<Change> Operations::Begin(RequestStatement statement, const CallOptions& options) const {
  LAKE_TRY_VOID(AdmitOperation(options.operation, clock_.WallNow()));
  if (clock_.Now() >= options.deadline) {
    return DeadlineExceeded(fmt::format("{} {}: the time is over",
                                        catalog::OperationKindName(statement.kind),
                                        fmt::join(statement.names, ", ")));
  }
  LAKE_TRY(const lease::Epoch epoch, store_.CurrentEpoch());
  Change change{.id = options.operation,
                .retryable = options.retryable,
                .statement = std::move(statement),
                .epoch = epoch};
  change.digest = RequestDigest(change.statement);
  return change;
}

Result<std::optional<TableResult>> Operations::Replay(
    const Change& change, const std::optional<catalog::TableName>& table,
    const std::vector<catalog::TableName>& others) const {
  LAKE_TRY(const RecordReader::Outcome outcome, reader_.ReadOutcome(change.id, table, others));
  if (!outcome.operation.has_value()) {
    return std::nullopt;
  }
  const catalog::OperationRecord& record = *outcome.operation;
  if (record.digest != change.digest || record.kind != change.statement.kind) {
    return InvalidArgument(
        fmt::format("operation id {} was used before, for another request ({} {}); use a new id",
                    change.id.ToString(), catalog::OperationKindName(record.kind),
                    fmt::join(record.names, ", ")));
  }
  if (record.result.succeeded && record.kind == catalog::OperationKind::kAppend &&
      outcome.registration.has_value() && !record.incarnations.empty() &&
      outcome.registration->incarnation != record.incarnations.front()) {
    return Conflict(fmt::format(
        "operation {} was done to an earlier table {}, which has been dropped; use a new id",
        change.id.ToString(), fmt::join(record.names, ", ")));
  }
  LAKE_TRY(TableResult result, ToResult(record, change.id));
  return result;
}

catalog::FinishedOperation Operations::Succeeded(const Change& change,
                                                 std::vector<Uuid> incarnations) const {
  catalog::FinishedOperation finished{.id = change.id,
                                      .record = {.kind = change.statement.kind,
                                                 .names = change.statement.names,
                                                 .incarnations = std::move(incarnations),
                                                 .digest = change.digest,
                                                 .epoch = change.epoch.value(),
                                                 .finished = clock_.WallNow()}};
  finished.record.result.succeeded = true;
  return finished;
}

catalog::FinishedOperation Operations::Succeeded(const catalog::PendingOperation& operation,
                                                 lease::Epoch epoch) const {
  catalog::FinishedOperation finished{.id = operation.id,
                                      .record = {.kind = operation.record.kind,
                                                 .digest = operation.record.digest,
                                                 .epoch = epoch.value(),
                                                 .finished = clock_.WallNow()}};
  for (const catalog::PendingTable& table : operation.record.tables) {
    finished.record.names.push_back(table.name.ToString());
    finished.record.incarnations.push_back(table.incarnation);
  }
  finished.record.result.succeeded = true;
  finished.record.result.metadata_location = operation.record.tables.front().planned_location;
  finished.record.result.snapshot_id = operation.record.tables.front().snapshot_id;
  return finished;
}

Result<TableResult> Operations::Fail(const Change& change, const Error& error,
                                     const std::optional<catalog::TableName>& table) const {
  if (!change.retryable || !IsFinal(error.code())) {
    return std::unexpected(error);
  }
  catalog::FinishedOperation failed = Succeeded(change, {});
  failed.record.result.succeeded = false;
  failed.record.result.error_code = std::string(ErrorCodeName(error.code()));
  failed.record.result.error_message = Shortened(error.message());
  const Result<CommitResult> recorded =
      CommitOutcome(catalog::Record(failed), change.epoch, change.id);
  if (!recorded.has_value()) {
    const std::string message =
        fmt::format("operation {}: it failed ({}), and that could not be recorded: {}",
                    change.id.ToString(), error.message(), recorded.error().message());
    // A refusal after an attempt without an answer may be owed to another attempt of the same operation.
    return recorded.error().code() == ErrorCode::kOutcomeUnknown ? OutcomeUnknown(message)
                                                                 : Unavailable(message);
  }
  if (std::holds_alternative<Committed>(*recorded)) {
    return std::unexpected(error);
  }
  LAKE_TRY(std::optional<TableResult> earlier, Replay(change, table));
  if (!earlier.has_value()) {
    return OutcomeUnknown(fmt::format(
        "operation {}: it failed ({}), but another attempt of it is still open; repeat it with the "
        "same id",
        change.id.ToString(), error.message()));
  }
  return *std::move(earlier);
}

Result<CommitResult> Operations::CommitKnown(
    const metastore::Transaction& transaction, lease::Epoch epoch,
    const std::function<bool(const Rejected&)>& is_ours) const {
  bool in_doubt = false;
  std::string last_message;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<CommitResult> result = store_.Commit(transaction, epoch, clock_.Now() + timeout_);
    if (result.has_value()) {
      const auto* rejected = std::get_if<Rejected>(&*result);
      if (rejected == nullptr || !in_doubt) {
        return result;
      }
      if (is_ours(*rejected)) {
        return Committed{};
      }
      // The attempt without an answer may still arrive, at a moment when everything is as it expects again.
      return OutcomeUnknown("an attempt is still unanswered, and a later one was refused");
    }
    last_message = result.error().message();
    switch (result.error().code()) {
      case ErrorCode::kOutcomeUnknown:
        in_doubt = true;
        break;
      case ErrorCode::kUnavailable:
      case ErrorCode::kDeadlineExceeded:
        break;
      default:
        // An earlier attempt may have been applied; that this one was not says nothing about it.
        if (in_doubt) {
          return OutcomeUnknown(last_message);
        }
        return result;
    }
  }
  if (in_doubt) {
    return OutcomeUnknown(last_message);
  }
  return Unavailable(last_message);
}

Result<CommitResult> Operations::CommitOnce(const metastore::Transaction& transaction,
                                            lease::Epoch epoch) const {
  const auto send = [&] { return store_.Commit(transaction, epoch, clock_.Now() + timeout_); };
  Result<CommitResult> result = send();
  for (int attempt = 1; attempt < kAttempts && WasNotApplied(result); ++attempt) {
    result = send();
  }
  return result;
}

Result<CommitResult> Operations::CommitOutcome(const metastore::Transaction& transaction,
                                               lease::Epoch epoch, const Uuid& operation) const {
  const std::string key = catalog::OperationKey(operation);
  const auto put = std::ranges::find(transaction.items(), key, &metastore::Item::key);
  LAKE_CHECK(put != transaction.items().end() && put->action == metastore::Item::Action::kPut,
             "the transaction puts the outcome");
  return CommitKnown(transaction, epoch, [&](const Rejected& rejected) {
    const metastore::FailedExpectation* failure = FindFailure(rejected, key);
    return failure != nullptr && failure->actual == put->value;
  });
}

Result<CommitResult> Operations::CommitAbort(const std::vector<catalog::PendingOperation>& group,
                                             lease::Epoch epoch) const {
  return CommitKnown(catalog::Abort(group), epoch, [&](const Rejected& rejected) {
    return std::ranges::all_of(group, [&](const catalog::PendingOperation& operation) {
      const metastore::FailedExpectation* pending =
          FindFailure(rejected, catalog::PendingKey(operation.id));
      const bool is_gone = pending != nullptr && !pending->actual.has_value();
      return is_gone && FindFailure(rejected, catalog::OperationKey(operation.id)) == nullptr;
    });
  });
}

const metastore::FailedExpectation* FindFailure(const Rejected& rejected, std::string_view key) {
  const auto found = std::ranges::find(rejected.failures, key, &metastore::FailedExpectation::key);
  return found == rejected.failures.end() ? nullptr : &*found;
}

}  // namespace lake::metasrv
