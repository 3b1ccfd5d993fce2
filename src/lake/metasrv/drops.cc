#include "lake/metasrv/drops.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/failpoint.h"
#include "lake/base/log.h"
#include "lake/catalog/keyspace.h"
#include "lake/catalog/publications.h"

namespace lake::metasrv {
namespace {

using metastore::CommitResult;
using metastore::Rejected;

// How often the end of a drop starts again because its location's record changed.
constexpr int kRounds = 5;
// Tombstones of one scan page.
constexpr std::size_t kPageEntries = 1000;
// Purges that are remembered after their end, for those who wait for them.
constexpr std::size_t kRememberedMax = 1024;
// The most sentences that a sweep says about what failed.
constexpr std::size_t kProblemsMax = 100;
// How long one page of a sweep may take the store.
constexpr Duration kPageTimeout = std::chrono::seconds(10);

}  // namespace

Drops::Drops(Deps deps, Options options)
    : deps_(deps), options_(options), workers_({.name = "purges", .threads = options.workers}) {}

Drops::~Drops() {
  Stop();
}

void Drops::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  workers_.Stop();
}

Result<bool> Drops::StartPurge(const Uuid& incarnation, lease::Epoch epoch) {
  const MutexLock lock(mutex_);
  if (const auto found = purges_.find(incarnation);
      found != purges_.end() && found->second.running) {
    return false;
  }
  LAKE_TRY_VOID(workers_.Submit([this, incarnation, epoch] { Run(incarnation, epoch); }));
  if (purges_.size() >= kRememberedMax) {
    std::erase_if(purges_, [](const auto& entry) { return !entry.second.running; });
  }
  purges_[incarnation] = Purge();
  return true;
}

void Drops::Run(const Uuid& incarnation, lease::Epoch epoch) {
  const Status outcome = Remove(incarnation, epoch);
  if (!outcome.has_value() && outcome.error().code() != ErrorCode::kCancelled) {
    Log(LogLevel::kWarning, fmt::format("purge of table {} stopped; it will be tried again: {}",
                                        incarnation.ToString(), outcome.error().message()));
  }
  const MutexLock lock(mutex_);
  // It is not there yet if this task was quicker than who submitted it; but that holds the mutex.
  Purge& purge = purges_[incarnation];
  purge.running = false;
  purge.outcome = outcome;
  changed_.NotifyAll();
}

Status Drops::Remove(const Uuid& incarnation, lease::Epoch epoch) {
  LAKE_TRY(const std::optional<Found> found, ReadTombstone(incarnation));
  if (!found.has_value() || found->tombstone.state != catalog::kPurgingState) {
    return {};
  }
  const std::string what = "table " + found->tombstone.name.ToString();
  LAKE_TRY(const catalog::Registration table,
           WithContext(catalog::DecodeRegistration(found->tombstone.registration), what));
  if (table.incarnation != incarnation) {
    return Corruption(fmt::format("{}: the tombstone of {} holds the registration of {}", what,
                                  incarnation.ToString(), table.incarnation.ToString()));
  }
  using Extent = engine::RemovalPlan::Extent;
  LAKE_TRY(engine::TableRemoval removal,
           deps_.engine.StartRemoval({.incarnation = incarnation,
                                      .location = table.location,
                                      .metadata_location = table.metadata_location,
                                      .extent = deps_.locations.IsOurs(table.location, incarnation)
                                                    ? Extent::kEverything
                                                    : Extent::kWhatTheTableNames}));
  for (bool done = false; !done;) {
    LAKE_TRY_VOID(Failpoint("before-purge-page"));
    LAKE_TRY_VOID(CheckAuthority(epoch));
    LAKE_TRY(const engine::RemovalProgress progress,
             WithContext(removal.Continue(deps_.clock.Now() + options_.engine_timeout), what));
    done = progress.done;
    const MutexLock lock(mutex_);
    purges_[incarnation].removed = progress.removed;
    changed_.NotifyAll();
  }
  LAKE_TRY_VOID(Failpoint("before-purge-end"));
  LAKE_TRY_VOID(End(*found, epoch));
  return {};
}

Status Drops::CheckAuthority(lease::Epoch epoch) {
  {
    const MutexLock lock(mutex_);
    if (stopping_) {
      return Cancelled("the process is stopping; the next one goes on");
    }
  }
  LAKE_TRY(const lease::Epoch current, deps_.store.CurrentEpoch());
  if (current != epoch) {
    return Fenced(fmt::format("the purge began under epoch {}, and this is {}", epoch.value(),
                              current.value()));
  }
  return {};
}

Result<std::optional<Drops::Found>> Drops::ReadTombstone(const Uuid& incarnation) const {
  LAKE_TRY(std::optional<std::string> bytes,
           deps_.reader.ReadBytes(catalog::TombstoneKey(incarnation)));
  if (!bytes.has_value()) {
    return std::nullopt;
  }
  LAKE_TRY(catalog::Tombstone tombstone, WithContext(catalog::DecodeTombstone(*bytes),
                                                     "dropped table " + incarnation.ToString()));
  return Found{
      .incarnation = incarnation, .bytes = *std::move(bytes), .tombstone = std::move(tombstone)};
}

Result<bool> Drops::End(const Found& found, lease::Epoch epoch) const {
  const std::string key = catalog::TombstoneKey(found.incarnation);
  LAKE_TRY(const catalog::Registration table,
           WithContext(catalog::DecodeRegistration(found.tombstone.registration), key));
  const auto is_gone = [&](const Rejected& rejected) {
    const metastore::FailedExpectation* failure = FindFailure(rejected, key);
    return failure != nullptr && !failure->actual.has_value();
  };
  for (int round = 0; round < kRounds; ++round) {
    LAKE_TRY(const std::optional<catalog::LocationClaim> location,
             deps_.locations.Find(table.location, found.incarnation));
    LAKE_TRY(const metastore::Transaction transaction,
             catalog::EndDrop(found.incarnation, found.bytes, location));
    LAKE_TRY(const CommitResult result, deps_.operations.CommitKnown(transaction, epoch, is_gone));
    const auto* rejected = std::get_if<Rejected>(&result);
    if (rejected == nullptr || is_gone(*rejected)) {
      return rejected == nullptr;
    }
    if (FindFailure(*rejected, key) != nullptr) {
      return Conflict(fmt::format("{}: somebody else changed it", key));
    }
  }
  return Unavailable(fmt::format("{}: the record of its location keeps changing", key));
}

Result<DropSweep> Drops::Sweep(Deadline deadline, std::size_t budget) {
  std::string after;
  {
    const MutexLock lock(mutex_);
    after = sweep_after_;
  }
  Result<DropSweep> sweep = VisitAll(after, Visiting::kSweep, deadline, budget);
  const MutexLock lock(mutex_);
  sweep_after_ = after;
  return sweep;
}

Result<DropSweep> Drops::Survey(Deadline deadline) {
  std::string after;
  return VisitAll(after, Visiting::kLook, deadline, std::numeric_limits<std::size_t>::max());
}

Status Drops::ResumePurges(Deadline deadline) {
  std::string after;
  LAKE_TRY_VOID(
      VisitAll(after, Visiting::kResume, deadline, std::numeric_limits<std::size_t>::max()));
  return {};
}

Result<DropSweep> Drops::VisitAll(std::string& after, Visiting visiting, Deadline deadline,
                                  std::size_t budget) {
  LAKE_TRY(const lease::Epoch epoch, deps_.store.CurrentEpoch());
  DropSweep sweep;
  std::size_t dealt_with = 0;
  while (true) {
    LAKE_TRY(const metastore::Page page,
             deps_.store.Scan(catalog::kTombstonePrefix, after, kPageEntries,
                              deps_.clock.Now() + kPageTimeout));
    for (const metastore::Entry& entry : page.entries) {
      if (dealt_with >= budget || deps_.clock.Now() >= deadline) {
        return sweep;
      }
      after = entry.key;
      const Result<Uuid> incarnation = catalog::ParseTombstoneKey(entry.key);
      Result<catalog::Tombstone> tombstone = catalog::DecodeTombstone(entry.value);
      const Result<bool> visited =
          !incarnation.has_value() ? Result<bool>(std::unexpected(incarnation.error()))
          : !tombstone.has_value() ? Result<bool>(std::unexpected(tombstone.error()))
                                   : Visit({.incarnation = *incarnation,
                                            .bytes = entry.value,
                                            .tombstone = *std::move(tombstone)},
                                           epoch, visiting, sweep);
      if (visited.has_value()) {
        dealt_with += *visited ? 1 : 0;
        continue;
      }
      const ErrorCode code = visited.error().code();
      if (code == ErrorCode::kNotLeader || code == ErrorCode::kFenced ||
          code == ErrorCode::kCancelled) {
        return std::unexpected(visited.error());
      }
      // It holds up no other.
      ++sweep.failed;
      ++dealt_with;
      std::string problem = fmt::format("{}: {}", entry.key, visited.error().message());
      Log(LogLevel::kError, problem);
      if (sweep.problems.size() < kProblemsMax) {
        sweep.problems.push_back(std::move(problem));
      }
    }
    if (!page.next.has_value()) {
      after.clear();
      sweep.whole = true;
      return sweep;
    }
    after = *page.next;
  }
}

Result<bool> Drops::Visit(const Found& found, lease::Epoch epoch, Visiting visiting,
                          DropSweep& sweep) {
  if (found.tombstone.state == catalog::kPurgingState) {
    if (visiting == Visiting::kLook) {
      ++sweep.started;
      return true;
    }
    LAKE_TRY(const bool started, StartPurge(found.incarnation, epoch));
    sweep.started += started ? 1 : 0;
    return started;
  }
  const auto retention =
      std::chrono::duration_cast<std::chrono::milliseconds>(options_.undrop_retention);
  if (visiting == Visiting::kResume ||
      deps_.clock.WallNow() - found.tombstone.dropped < retention) {
    return false;
  }
  if (visiting == Visiting::kLook) {
    ++sweep.forgotten;
    return true;
  }
  LAKE_TRY(const bool ended, End(found, epoch));
  sweep.forgotten += ended ? 1 : 0;
  return true;
}

void Drops::AwaitIdle(Deadline deadline) {
  const MutexLock lock(mutex_);
  const auto runs = [](const auto& entry) { return entry.second.running; };
  while (std::ranges::any_of(purges_, runs) && deps_.clock.Now() < deadline) {
    deps_.clock.WaitUntil(changed_, mutex_, deadline);
  }
}

PurgeSummary Drops::AwaitPurges(Deadline deadline) {
  AwaitIdle(deadline);
  PurgeSummary summary;
  const MutexLock lock(mutex_);
  for (auto& [incarnation, purge] : purges_) {
    summary.removed += purge.removed - std::exchange(purge.removed_told, purge.removed);
    if (purge.running) {
      ++summary.running;
      continue;
    }
    if (std::exchange(purge.end_told, true)) {
      continue;
    }
    if (purge.outcome.has_value()) {
      ++summary.ended;
      continue;
    }
    const Error& error = purge.outcome.error();
    if (error.code() != ErrorCode::kCancelled && error.code() != ErrorCode::kFenced &&
        error.code() != ErrorCode::kNotLeader) {
      summary.problems.push_back(
          fmt::format("purge of table {}: {}", incarnation.ToString(), error.message()));
    }
  }
  return summary;
}

Result<PurgeProgress> Drops::Await(const Uuid& incarnation, Deadline deadline) {
  LAKE_TRY(const std::optional<PurgeProgress> known, AwaitKnown(incarnation, deadline));
  if (known.has_value()) {
    return *known;
  }
  LAKE_TRY(const std::optional<Found> tombstone, ReadTombstone(incarnation));
  if (!tombstone.has_value()) {
    return PurgeProgress{.removed = 0, .done = true};
  }
  if (tombstone->tombstone.state != catalog::kPurgingState) {
    return Conflict(fmt::format("table {} ({}) was dropped to keep its files",
                                tombstone->tombstone.name.ToString(), incarnation.ToString()));
  }
  LAKE_TRY(const lease::Epoch epoch, deps_.store.CurrentEpoch());
  LAKE_TRY_VOID(StartPurge(incarnation, epoch));
  LAKE_TRY(const std::optional<PurgeProgress> started, AwaitKnown(incarnation, deadline));
  return started.value_or(PurgeProgress{});
}

Result<std::optional<PurgeProgress>> Drops::AwaitKnown(const Uuid& incarnation, Deadline deadline) {
  const MutexLock lock(mutex_);
  while (true) {
    const auto found = purges_.find(incarnation);
    if (found == purges_.end()) {
      return std::nullopt;
    }
    const PurgeProgress progress{.removed = found->second.removed, .done = !found->second.running};
    if (found->second.running) {
      if (deps_.clock.Now() >= deadline) {
        return progress;
      }
      deps_.clock.WaitUntil(changed_, mutex_, deadline);
      continue;
    }
    if (found->second.outcome.has_value()) {
      return progress;
    }
    Error error = found->second.outcome.error();
    purges_.erase(found);
    return std::unexpected(std::move(error));
  }
}

}  // namespace lake::metasrv
