#include "lake/metasrv/metasrv.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lake/base/log.h"
#include "lake/base/mutex.h"
#include "lake/base/thread_annotations.h"
#include "lake/catalog/keyspace.h"
#include "lake/lease/records.h"
#include "lake/metasrv/ticket.h"

namespace lake::metasrv {
namespace {

// How often a publication starts again because what it had read changed.
constexpr int kRounds = 10;
// How long recovery waits for the purges that it resumes: most end within it, also in a process that would soon be gone.
constexpr Duration kPurgeGrace = std::chrono::seconds(2);

// Counts tasks, and waits until all of them are done. Thread-safe.
class Countdown {
 public:
  void Add() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ++left_;
  }

  void Done() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    --left_;
    done_.NotifyAll();
  }

  void Await(Clock& clock, Deadline deadline) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (left_ > 0 && clock.Now() < deadline) {
      clock.WaitUntil(done_, mutex_, deadline);
    }
  }

 private:
  Mutex mutex_;
  CondVar done_;
  std::size_t left_ GUARDED_BY(mutex_) = 0;
};

}  // namespace

Metasrv::Metasrv(Deps deps, Options options)
    : deps_(deps),
      options_(std::move(options)),
      reader_(deps_.store, deps_.clock, options_.store_timeout),
      operations_(deps_.store, reader_, deps_.clock, options_.store_timeout),
      settler_({.reader = reader_,
                .operations = operations_,
                .engine = deps_.engine,
                .clock = deps_.clock,
                .random = deps_.random},
               options_.engine_timeout),
      versions_({.reader = reader_,
                 .operations = operations_,
                 .settler = settler_,
                 .clock = deps_.clock,
                 .random = deps_.random},
                options_.session, options_.engine_timeout),
      workers_({.name = "metasrv", .threads = options_.workers}),
      queue_(workers_, options_.waiting_max),
      appends_({.reader = reader_,
                .operations = operations_,
                .settler = settler_,
                .versions = versions_,
                .engine = deps_.engine,
                .queue = queue_,
                .clock = deps_.clock,
                .random = deps_.random},
               {.waiting_max = options_.waiting_max, .engine_timeout = options_.engine_timeout},
               [this](const Change& change, const std::optional<catalog::TableName>& table) {
                 return FindEarlier(change, table);
               }),
      locations_({.reader = reader_,
                  .operations = operations_,
                  .clock = deps_.clock,
                  .random = deps_.random},
                 options_.warehouse),
      drops_({.store = deps_.store,
              .reader = reader_,
              .operations = operations_,
              .locations = locations_,
              .engine = deps_.engine,
              .clock = deps_.clock},
             {.undrop_retention = options_.undrop_retention,
              .engine_timeout = options_.engine_timeout}),
      maintenance_({.store = deps_.store,
                    .reader = reader_,
                    .operations = operations_,
                    .settler = settler_,
                    .drops = drops_,
                    .versions = versions_,
                    .engine = deps_.engine,
                    .maintainer = deps_.maintainer,
                    .queue = queue_,
                    .clock = deps_.clock,
                    .random = deps_.random},
                   {.engine_timeout = options_.engine_timeout}) {}

Metasrv::~Metasrv() {
  Stop();
}

void Metasrv::Stop() {
  // A purge that is interrupted goes on in the next process; changes that have begun do not.
  drops_.Stop();
  // Before the workers, which do what it waits for.
  maintenance_.Stop();
  workers_.Stop();
}

Status Metasrv::Recover(Deadline deadline) {
  LAKE_TRY(const lease::Epoch epoch, deps_.store.CurrentEpoch());
  LAKE_TRY_VOID(settler_.EnsureScanned(epoch, deps_.clock, deadline));
  const auto unsettled = std::make_shared<Countdown>();
  for (const auto& [table, turn] : settler_.UnsettledTables()) {
    unsettled->Add();
    const Status taken = queue_.Submit(turn, [this, table, epoch, unsettled] {
      if (const auto settled = settler_.SettleTable(table, epoch); !settled.has_value()) {
        Log(LogLevel::kWarning,
            fmt::format("recovery of table {}: {}", table.ToString(), settled.error().message()));
      }
      unsettled->Done();
    });
    LAKE_TRY_VOID(taken);
  }
  unsettled->Await(deps_.clock, deadline);
  const Status resumed = drops_.ResumePurges(deadline);
  if (resumed.has_value()) {
    drops_.AwaitIdle(std::min(deadline, deps_.clock.Now() + kPurgeGrace));
  } else {
    Log(LogLevel::kWarning, fmt::format("purges were not resumed; the next sweep does it: {}",
                                        resumed.error().message()));
  }
  return {};
}

Result<Change> Metasrv::Begin(RequestStatement statement, const CallOptions& options) {
  LAKE_TRY(Change change, operations_.Begin(std::move(statement), options));
  LAKE_TRY_VOID(settler_.EnsureScanned(change.epoch, deps_.clock, options.deadline));
  return change;
}

Result<TableResult> Metasrv::RunInTurn(const std::string& key, Deadline deadline,
                                       std::function<Result<TableResult>()> work) {
  return RunInTurns({key}, deadline, std::move(work));
}

Result<TableResult> Metasrv::RunInTurns(const std::set<std::string>& keys, Deadline deadline,
                                        std::function<Result<TableResult>()> work) {
  const auto ticket = std::make_shared<Ticket>();
  LAKE_TRY_VOID(queue_.Submit(keys, [ticket, work = std::move(work)] {
    if (ticket->Begin()) {
      ticket->End(work());
    }
  }));
  return ticket->Await(deps_.clock, deadline);
}

Result<std::optional<TableResult>> Metasrv::FindEarlier(
    const Change& change, const std::optional<catalog::TableName>& table,
    const std::vector<catalog::TableName>& others) {
  LAKE_TRY(std::optional<TableResult> earlier, operations_.Replay(change, table, others));
  if (earlier.has_value()) {
    return earlier;
  }
  LAKE_TRY(const std::optional<catalog::PendingOperation> pending, reader_.ReadPending(change.id));
  if (!pending.has_value()) {
    return std::nullopt;
  }
  if (pending->record.digest != change.digest || pending->record.kind != change.statement.kind) {
    return InvalidArgument(
        fmt::format("operation id {} is in use by another request ({} {}); use a new id",
                    change.id.ToString(), catalog::OperationKindName(pending->record.kind),
                    pending->record.tables.front().name.ToString()));
  }
  settler_.Note(*pending);
  LAKE_TRY_VOID(settler_.SettleOperation(change.id, change.epoch));
  return operations_.Replay(change, table, others);
}

Result<ChangeResult> Metasrv::WithoutVersion(const Result<TableResult>& result) {
  LAKE_TRY_VOID(result);
  return ChangeResult{.epoch = result->epoch, .replayed = result->replayed};
}

Result<TableResult> Metasrv::Publish(const Change& change,
                                     const std::vector<catalog::TableName>& tables,
                                     const std::string& what, const Attempt& attempt) {
  for (int round = 0; round < kRounds; ++round) {
    LAKE_TRY(std::optional<TableResult> earlier, FindEarlier(change, std::nullopt, tables));
    if (earlier.has_value()) {
      return *std::move(earlier);
    }
    LAKE_TRY(std::optional<TableResult> done, attempt());
    if (done.has_value()) {
      return *std::move(done);
    }
  }
  return Unavailable(fmt::format("{}: it keeps changing; retry", what));
}

Result<std::optional<TableResult>> Metasrv::CommitAttempt(const metastore::Transaction& transaction,
                                                          const Change& change,
                                                          const TableResult& result) {
  LAKE_TRY(const metastore::CommitResult committed,
           operations_.CommitOutcome(transaction, change.epoch, change.id));
  if (std::holds_alternative<metastore::Rejected>(committed)) {
    return std::nullopt;
  }
  TableResult done = result;
  done.epoch = change.epoch.value();
  return done;
}

Result<TableResult> Metasrv::WithoutFalseCertainty(const Uuid& operation,
                                                   Result<TableResult> result) {
  if (result.has_value() || Operations::IsFinal(result.error().code()) ||
      !settler_.MayBePending(operation)) {
    return result;
  }
  return OutcomeUnknown(result.error().message());
}

Result<OperationView> Metasrv::FindOperation(const Uuid& operation, Deadline /*deadline*/) {
  if (operation.version() != 7) {
    return InvalidArgument(
        fmt::format("operation id {}: not a version 7 UUID", operation.ToString()));
  }
  OperationView view{.id = operation};
  // In this order: an operation that ends between the two reads is found finished.
  LAKE_TRY(std::optional<catalog::PendingOperation> pending, reader_.ReadPending(operation));
  LAKE_TRY(RecordReader::Outcome outcome, reader_.ReadOutcome(operation, std::nullopt));
  if (outcome.operation.has_value()) {
    view.finished = std::move(outcome.operation);
    return view;
  }
  if (!pending.has_value()) {
    return NotFound(fmt::format("operation {}: there is no record of it", operation.ToString()));
  }
  view.pending = std::move(pending->record);
  return view;
}

Result<MaintenanceReport> Metasrv::Maintain(const MaintenanceRequest& request, Deadline deadline) {
  if (request.table.has_value()) {
    LAKE_TRY_VOID(catalog::Validate(*request.table));
  }
  return maintenance_.Run(request, deadline);
}

Result<ServiceStatus> Metasrv::GetStatus(Deadline deadline) {
  ServiceStatus status;
  LAKE_TRY(const std::optional<std::string> term_bytes,
           reader_.ReadBytes(std::string(lease::kTermKey)));
  if (term_bytes.has_value()) {
    LAKE_TRY(const lease::TermRecord term, lease::DecodeTerm(*term_bytes));
    status.has_term = true;
    status.epoch = term.epoch.value();
    status.leader_node = term.node;
    status.leader_session = term.session;
    status.released = term.state == lease::TermRecord::State::kReleased;
  }
  status.leading = deps_.store.CurrentEpoch().has_value();
  LAKE_TRY_VOID(reader_.ForEachPending(deadline, [&](const catalog::PendingOperation& operation) {
    if (status.pending.size() < kStatusPendingMax) {
      status.pending.push_back({.id = operation.id, .pending = operation.record});
    }
  }));
  const auto count = [&](std::string_view prefix, std::uint64_t& total) {
    return reader_.ForEach(std::string(prefix), deadline, [&](const metastore::Entry&) -> Status {
      ++total;
      return {};
    });
  };
  LAKE_TRY_VOID(count(catalog::kNamespacePrefix, status.namespaces));
  LAKE_TRY_VOID(count(catalog::kTablePrefix, status.tables));
  return status;
}

}  // namespace lake::metasrv
