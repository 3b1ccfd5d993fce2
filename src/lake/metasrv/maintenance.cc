#include "lake/metasrv/maintenance.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/mutex.h"
#include "lake/base/thread_annotations.h"
#include "lake/catalog/keyspace.h"
#include "lake/metasrv/load_registered.h"
#include "lake/metasrv/not_found.h"
#include "lake/metasrv/request_digest.h"
#include "lake/metasrv/ticket.h"

namespace lake::metasrv {
namespace {

// The most records that a report says it passed over.
constexpr std::size_t kProblemsMax = 100;

// What ends the whole work, not only a part of it.
bool EndsWork(const Error& error) {
  return error.code() == ErrorCode::kFenced || error.code() == ErrorCode::kNotLeader ||
         error.code() == ErrorCode::kCancelled;
}

void AddProblem(std::vector<std::string>& problems, std::string problem) {
  if (problems.size() < kProblemsMax) {
    problems.push_back(std::move(problem));
  }
}

}  // namespace

// The tables of one call, and what has become of them. Thread-safe.
class Maintenance::Sweep {
 public:
  explicit Sweep(Work work) : work_(std::move(work)) {}

  const Work& work() const { return work_; }

  // Before any lane runs.
  void Add(std::string key, std::optional<Table> table) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    items_.push_back(
        {.key = std::move(key), .done = !table.has_value(), .table = std::move(table)});
  }

  void AddLane() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ++lanes_;
  }

  void LeaveLane() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    --lanes_;
    lane_left_.NotifyAll();
  }

  // Returns the next table, nothing when there is none or the work has ended.
  std::optional<std::pair<std::size_t, Table>> Take() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!ended_.has_value() && taken_ < items_.size()) {
      const std::size_t i = taken_++;
      if (!items_[i].done) {
        return std::pair(i, *items_[i].table);
      }
    }
    return std::nullopt;
  }

  void Finish(std::size_t i, TableMaintenance report) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    items_[i].done = true;
    items_[i].report = std::move(report);
  }

  void End(const Error& error) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ended_ = error;
  }

  // Waits until all lanes have ended or the deadline has come, and says what was done. `more`: there are tables after these.
  Status Await(Clock& clock, bool more, MaintenanceReport& report) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (lanes_ > 0 && clock.Now() < work_.deadline) {
      clock.WaitUntil(lane_left_, mutex_, work_.deadline);
    }
    if (ended_.has_value()) {
      return std::unexpected(*ended_);
    }
    std::string reached = work_.request.after;
    bool in_order = true;
    for (Item& item : items_) {
      in_order = in_order && item.done;
      reached = in_order ? item.key : reached;
      if (item.done && item.table.has_value()) {
        ++report.tables_seen;
        if (!item.report.empty()) {
          report.tables.push_back(item.report);
        }
      }
    }
    report.complete = in_order && !more;
    report.next = report.complete ? "" : reached;
    return {};
  }

 private:
  struct Item {
    std::string key;
    bool done = false;
    std::optional<Table> table;
    TableMaintenance report;
  };

  const Work work_;
  Mutex mutex_;
  CondVar lane_left_;
  std::vector<Item> items_ GUARDED_BY(mutex_);
  std::size_t taken_ GUARDED_BY(mutex_) = 0;
  std::size_t lanes_ GUARDED_BY(mutex_) = 0;
  std::optional<Error> ended_ GUARDED_BY(mutex_);
};

Maintenance::Maintenance(Deps deps, Options options)
    : deps_(deps),
      options_(options),
      operation_expiry_({.store = deps.store,
                         .reader = deps.reader,
                         .operations = deps.operations,
                         .clock = deps.clock}),
      workers_({.name = "maintenance", .threads = options.tables_at_once}) {}

Maintenance::~Maintenance() {
  Stop();
}

void Maintenance::Stop() {
  stopping_ = true;
  workers_.Stop();
}

Result<MaintenanceReport> Maintenance::Run(const MaintenanceRequest& request, Deadline deadline) {
  if (request.orphan_age < kOrphanAgeMin) {
    return InvalidArgument(
        "files younger than 24 hours are not removed: they may be published yet");
  }
  LAKE_TRY(const lease::Epoch epoch, deps_.store.CurrentEpoch());
  const Work work{.request = request, .epoch = epoch, .deadline = deadline};
  LAKE_TRY_VOID(deps_.settler.EnsureScanned(epoch, deps_.clock, deadline));
  MaintenanceReport report{.dry_run = request.dry_run};
  const bool whole = !request.table.has_value() && request.after.empty();
  const bool dropped =
      !request.table.has_value() && request.steps.contains(MaintenanceStep::kDropped);
  if (whole && dropped) {
    LAKE_TRY_VOID(SweepDropped(work, report));
    if (!report.complete) {
      return report;
    }
  }
  if (whole && request.steps.contains(MaintenanceStep::kSettle)) {
    LAKE_TRY_VOID(SettleAll(work, report));
  }
  if (whole && request.steps.contains(MaintenanceStep::kOperations)) {
    LAKE_TRY_VOID(ForgetOperations(work, report));
    if (!report.complete) {
      return report;
    }
  }
  LAKE_TRY_VOID(SweepTables(work, report));
  if (dropped && report.complete) {
    LAKE_TRY_VOID(AwaitPurges(work, report));
  }
  return report;
}

Status Maintenance::SweepDropped(const Work& work, MaintenanceReport& report) {
  const Result<DropSweep> sweep =
      work.request.dry_run
          ? deps_.drops.Survey(work.deadline)
          : deps_.drops.Sweep(work.deadline, std::numeric_limits<std::size_t>::max());
  if (!sweep.has_value()) {
    if (EndsWork(sweep.error())) {
      return std::unexpected(sweep.error());
    }
    AddProblem(report.problems, "dropped tables: " + sweep.error().message());
    return {};
  }
  report.purges_running = work.request.dry_run ? sweep->started : 0;
  report.tables_forgotten = sweep->forgotten;
  report.complete = sweep->whole;
  for (const std::string& problem : sweep->problems) {
    AddProblem(report.problems, problem);
  }
  return {};
}

Status Maintenance::AwaitPurges(const Work& work, MaintenanceReport& report) {
  if (work.request.dry_run) {
    return {};
  }
  const PurgeSummary purges = deps_.drops.AwaitPurges(work.deadline);
  report.purges_ended = purges.ended;
  report.purges_running = purges.running;
  report.files_purged = purges.removed;
  for (const std::string& problem : purges.problems) {
    AddProblem(report.problems, problem);
  }
  // What they stopped for may be that this process no longer leads.
  return MayGoOn(work.epoch);
}

Status Maintenance::SettleAll(const Work& work, MaintenanceReport& report) {
  if (work.request.dry_run) {
    return deps_.reader.ForEachPending(
        work.deadline, [&](const catalog::PendingOperation&) { ++report.operations_settled; });
  }
  for (const auto& [incarnation, turn] : deps_.settler.UnsettledTables()) {
    LAKE_TRY_VOID(MayGoOn(work.epoch));
    const auto count = std::make_shared<std::atomic<std::size_t>>(0);
    const Status settled =
        RunInTurn(turn, work.deadline, [this, incarnation, count, epoch = work.epoch]() -> Status {
          LAKE_TRY(*count, deps_.settler.SettleTable(incarnation, epoch));
          return {};
        });
    report.operations_settled += *count;
    if (!settled.has_value()) {
      if (EndsWork(settled.error())) {
        return settled;
      }
      AddProblem(report.problems,
                 fmt::format("table {}: {}", incarnation.ToString(), settled.error().message()));
    }
  }
  return {};
}

Status Maintenance::ForgetOperations(const Work& work, MaintenanceReport& report) {
  const Result<OperationExpiry::Report> walked =
      operation_expiry_.Run(work.epoch, work.request.dry_run, work.deadline);
  if (!walked.has_value()) {
    if (EndsWork(walked.error())) {
      return std::unexpected(walked.error());
    }
    AddProblem(report.problems, walked.error().message());
    return {};
  }
  report.operations_forgotten = walked->removed;
  report.complete = walked->complete;
  for (const std::string& problem : walked->problems) {
    AddProblem(report.problems, problem);
  }
  return {};
}

Status Maintenance::SweepTables(const Work& work, MaintenanceReport& report) {
  const auto sweep = std::make_shared<Sweep>(work);
  LAKE_TRY(const bool more, FindTables(work, *sweep, report));
  for (std::size_t lane = 0; lane < options_.tables_at_once; ++lane) {
    sweep->AddLane();
    const Status taken = workers_.Submit([this, sweep] {
      MaintainTables(sweep);
      sweep->LeaveLane();
    });
    if (!taken.has_value()) {
      sweep->LeaveLane();
      // The lanes that run do the work of all.
      if (lane == 0) {
        return taken;
      }
    }
  }
  return sweep->Await(deps_.clock, more, report);
}

Result<bool> Maintenance::FindTables(const Work& work, Sweep& sweep, MaintenanceReport& report) {
  if (work.request.table.has_value()) {
    const catalog::TableName& name = *work.request.table;
    LAKE_TRY(const auto found, deps_.reader.ReadRegistration(name));
    if (!found.has_value()) {
      return std::unexpected(NoSuchTable(name));
    }
    LAKE_TRY(std::string key, catalog::TableKey(name));
    sweep.Add(std::move(key), Table{.name = name, .registration = found->record});
    return false;
  }
  std::string after = work.request.after;
  std::size_t count = 0;
  while (true) {
    LAKE_TRY(const metastore::Page page,
             deps_.reader.ReadPage(std::string(catalog::kTablePrefix), after));
    for (const metastore::Entry& entry : page.entries) {
      if (count == kMaintenanceTablesMax) {
        return true;
      }
      ++count;
      const Result<catalog::TableName> name = catalog::ParseTableKey(entry.key);
      Result<catalog::Registration> registration =
          name.has_value() ? catalog::DecodeRegistration(entry.value)
                           : Result<catalog::Registration>(std::unexpected(name.error()));
      if (!registration.has_value()) {
        AddProblem(report.problems,
                   fmt::format("{} is passed over: {}", entry.key, registration.error().message()));
        sweep.Add(entry.key, std::nullopt);
        continue;
      }
      sweep.Add(entry.key, Table{.name = *name, .registration = *std::move(registration)});
    }
    if (!page.next.has_value()) {
      return false;
    }
    after = *page.next;
  }
}

void Maintenance::MaintainTables(const std::shared_ptr<Sweep>& sweep) {
  const Work& work = sweep->work();
  while (deps_.clock.Now() < work.deadline) {
    if (const Status may = MayGoOn(work.epoch); !may.has_value()) {
      sweep->End(may.error());
      return;
    }
    const auto next = sweep->Take();
    if (!next.has_value()) {
      return;
    }
    const auto& [index, table] = *next;
    TableMaintenance report{.name = table.name};
    using Step = Status (Maintenance::*)(const Work&, const Table&, TableMaintenance&);
    const std::pair<MaintenanceStep, Step> steps[] = {
        {MaintenanceStep::kMergeManifests, &Maintenance::MergeManifests},
        {MaintenanceStep::kExpireSnapshots, &Maintenance::ExpireSnapshots},
        {MaintenanceStep::kRemoveOrphans, &Maintenance::RemoveOrphans}};
    for (const auto& [step, run] : steps) {
      if (!work.request.steps.contains(step)) {
        continue;
      }
      const Status done = (this->*run)(work, table, report);
      if (!done.has_value() && EndsWork(done.error())) {
        sweep->End(done.error());
        return;
      }
      if (!done.has_value()) {
        AddProblem(report.problems, done.error().message());
      }
    }
    sweep->Finish(index, std::move(report));
  }
}

Result<std::optional<Maintenance::TurnBase>> Maintenance::ReadInTurn(const Work& work,
                                                                     const Table& table) {
  const Uuid incarnation = table.registration.incarnation;
  LAKE_TRY_VOID(deps_.settler.SettleTable(incarnation, work.epoch));
  LAKE_TRY(auto registration, deps_.reader.ReadRegistration(table.name));
  if (!registration.has_value() || registration->record.incarnation != incarnation) {
    return std::nullopt;
  }
  LAKE_TRY(engine::MetadataPtr metadata,
           LoadRegistered(deps_.engine, table.name, registration->record,
                          deps_.clock.Now() + options_.engine_timeout));
  return TurnBase{.registration = *std::move(registration), .metadata = std::move(metadata)};
}

catalog::PendingTable Maintenance::PlanVersion(const Work& work, const Table& table,
                                               const TurnBase& base) const {
  const catalog::Registration& current = base.registration.record;
  return {.name = table.name,
          .incarnation = current.incarnation,
          .base = base.registration.bytes,
          .location = current.location,
          .planned_location =
              deps_.versions.PlanLocation(current.location, current.version + 1, work.epoch)};
}

Status Maintenance::RunInTurn(const std::string& key, Deadline deadline,
                              std::function<Status()> work) {
  const auto ticket = std::make_shared<Ticket>();
  LAKE_TRY_VOID(deps_.queue.Submit(key, [ticket, work = std::move(work)] {
    if (!ticket->Begin()) {
      return;
    }
    const Status done = work();
    ticket->End(done.has_value() ? Result<TableResult>(TableResult{})
                                 : Result<TableResult>(std::unexpected(done.error())));
  }));
  const Result<TableResult> ended = ticket->Await(deps_.clock, deadline);
  return ended.has_value() ? Status() : Status(std::unexpected(ended.error()));
}

Change Maintenance::Begin(const Work& work, catalog::OperationKind kind,
                          const catalog::TableName& name) const {
  Change change{.id = Uuid::Random7(deps_.clock, deps_.random),
                .statement = {.kind = kind, .names = {name.ToString()}},
                .epoch = work.epoch};
  change.digest = RequestDigest(change.statement);
  return change;
}

Status Maintenance::MayGoOn(lease::Epoch epoch) const {
  if (stopping_) {
    return std::unexpected(Error(ErrorCode::kCancelled, "maintenance: the process is stopping"));
  }
  LAKE_TRY(const lease::Epoch now, deps_.store.CurrentEpoch());
  if (now != epoch) {
    return std::unexpected(
        Error(ErrorCode::kFenced, "maintenance: it began under an earlier epoch"));
  }
  return {};
}

}  // namespace lake::metasrv
