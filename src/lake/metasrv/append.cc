#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lake/catalog/keyspace.h"
#include "lake/catalog/publications.h"
#include "lake/metasrv/metasrv.h"

namespace lake::metasrv {
namespace {

using metastore::CommitResult;
using metastore::Rejected;

// How often an append starts again because its table changed.
constexpr int kRounds = 10;

RequestStatement StatementOf(const AppendRequest& request) {
  return {.kind = catalog::OperationKind::kAppend,
          .names = {request.name.ToString()},
          .content = request.content};
}

// Snapshot ids are random, positive, and new to the table.
iceberg::SnapshotId NewSnapshotId(const iceberg::TableMetadata& metadata, Random& random) {
  while (true) {
    std::uint64_t bits = 0;
    random.Fill(std::as_writable_bytes(std::span(&bits, 1)));
    const iceberg::SnapshotId id{static_cast<std::int64_t>(bits >> 1)};
    if (id != iceberg::SnapshotId{0} && metadata.FindSnapshot(id) == nullptr) {
      return id;
    }
  }
}

}  // namespace

Result<std::optional<TableResult>> Metasrv::FindAppend(const AppendRequest& request,
                                                       const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(request.name));
  LAKE_TRY(Change change, Begin(StatementOf(request), options));
  LAKE_TRY(std::optional<TableResult> earlier, operations_.Replay(change, request.name));
  if (earlier.has_value()) {
    return earlier;
  }
  LAKE_TRY(const std::optional<catalog::PendingOperation> pending, reader_.ReadPending(change.id));
  if (!pending.has_value()) {
    return std::nullopt;
  }
  // In the table's turn: if this process is doing it, it has ended by then.
  const std::string turn = pending->record.tables.front().incarnation.ToString();
  const auto settled = std::make_shared<std::optional<TableResult>>();
  LAKE_TRY_VOID(RunInTurn(turn, options.deadline,
                          [this, settled, change, name = request.name]() -> Result<TableResult> {
                            LAKE_TRY(*settled, FindEarlier(change, name));
                            return TableResult{};
                          }));
  return *settled;
}

Result<TableResult> Metasrv::Append(const AppendRequest& request, const CallOptions& options) {
  LAKE_TRY_VOID(catalog::Validate(request.name));
  LAKE_TRY(Change change, Begin(StatementOf(request), options));
  return RunInTurn(
      request.incarnation.ToString(), options.deadline,
      [this, request, change = std::move(change)] { return AppendInTurn(request, change); });
}

Result<TableResult> Metasrv::AppendInTurn(const AppendRequest& request, const Change& change) {
  const auto fail = [&](const Error& error) {
    return operations_.Fail(change, error, request.name);
  };
  for (int round = 0; round < kRounds; ++round) {
    LAKE_TRY(const std::optional<TableResult> earlier, FindEarlier(change, request.name));
    if (earlier.has_value()) {
      return *earlier;
    }
    LAKE_TRY_VOID(settler_.SettleTable(request.incarnation, change.epoch));
    LAKE_TRY(const auto registration, reader_.ReadRegistration(request.name));
    if (!registration.has_value()) {
      return fail(Error(ErrorCode::kNotFound,
                        fmt::format("table {} does not exist", request.name.ToString())));
    }
    if (registration->record.incarnation != request.incarnation) {
      return fail(Error(
          ErrorCode::kConflict,
          fmt::format(
              "table {} was dropped and created again since its files were written; append again",
              request.name.ToString())));
    }
    const Deadline deadline = deps_.clock.Now() + options_.engine_timeout;
    LAKE_TRY(const engine::MetadataPtr metadata,
             LoadMetadata(request.name, registration->record, deadline));
    if (const Status checked = deps_.engine.CheckAppend(*metadata, request.files, deadline);
        !checked.has_value()) {
      return fail(checked.error().With("append to " + request.name.ToString()));
    }
    if (request.files.empty()) {
      Result<TableResult> recorded = RecordEmptyAppend(request, change);
      if (recorded.has_value() || recorded.error().code() != ErrorCode::kConflict) {
        return recorded;
      }
      continue;
    }
    const std::string& location = registration->record.location;
    const iceberg::SnapshotId snapshot_id = NewSnapshotId(*metadata, deps_.random);
    const catalog::PendingTable table{
        .name = request.name,
        .incarnation = request.incarnation,
        .base = registration->bytes,
        .location = location,
        .planned_location = PlanLocation(location, registration->record.version + 1, change.epoch),
        .snapshot_id = std::to_underlying(snapshot_id)};
    const Result<TableResult> made = versions_.Make(change, table, [&](Deadline engine_deadline) {
      return deps_.engine.Append({.base = metadata,
                                  .base_location = registration->record.metadata_location,
                                  .planned_location = table.planned_location,
                                  .snapshot_id = snapshot_id,
                                  .files = request.files,
                                  .summary = {{"lake.epoch", change.epoch.ToString()},
                                              {"lake.operation-ids", change.id.ToString()}},
                                  .now = deps_.clock.WallNow()},
                                 engine_deadline);
    });
    if (made.has_value()) {
      return made;
    }
    if (made.error().code() != ErrorCode::kConflict) {
      return fail(made.error());
    }
  }
  return Unavailable(fmt::format("table {}: it keeps changing; retry", request.name.ToString()));
}

Result<TableResult> Metasrv::RecordEmptyAppend(const AppendRequest& request, const Change& change) {
  const catalog::FinishedOperation outcome = operations_.Succeeded(change, {request.incarnation});
  LAKE_TRY(const CommitResult result,
           operations_.CommitOutcome(catalog::Record(outcome), change.epoch, change.id));
  if (std::holds_alternative<Rejected>(result)) {
    return Conflict(fmt::format("operation {}: it ended meanwhile", change.id.ToString()));
  }
  return TableResult{.incarnation = request.incarnation, .epoch = change.epoch.value()};
}

}  // namespace lake::metasrv
