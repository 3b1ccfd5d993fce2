#include "lake/lease/election.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/log.h"
#include "lake/lease/overloaded_internal.h"

namespace lake::lease {
namespace {

// Whether waiting cannot help: a human must look at the store first.
bool NeedsHuman(const Error& error) {
  return error.code() == ErrorCode::kCorruption || error.code() == ErrorCode::kUnimplemented;
}

}  // namespace

Result<std::optional<TermRecord>> ReadTerm(metastore::MetaStore& raw, Deadline deadline) {
  LAKE_TRY(const std::optional<std::string> bytes, raw.Get(kTermKey, deadline));
  if (!bytes.has_value()) {
    return std::nullopt;
  }
  LAKE_TRY(TermRecord term, DecodeTerm(*bytes));
  return term;
}

Result<std::unique_ptr<Election>> Election::Create(metastore::MetaStore& raw, Clock& clock,
                                                   AuthoritySlot& slot, Options options) {
  LAKE_TRY_VOID(options.config.Validate());
  LAKE_TRY_VOID(options.identity.Validate());
  return std::unique_ptr<Election>(new Election(raw, clock, slot, std::move(options)));
}

Election::Election(metastore::MetaStore& raw, Clock& clock, AuthoritySlot& slot, Options options)
    : raw_(raw), clock_(clock), slot_(slot), options_(std::move(options)) {}

Election::~Election() {
  Stop();
}

void Election::Start() {
  {
    const MutexLock lock(mutex_);
    LAKE_CHECK(phase_ == Phase::kStopped, "an election is started once at a time");
    phase_ = Phase::kRunning;
    deposed_.reset();
    obstacle_.reset();
  }
  slot_.OpenToNewWork();
  slot_.SetDropListener([this](Epoch epoch) {
    const MutexLock lock(mutex_);
    deposed_ = epoch;
    wake_.NotifyAll();
  });
  thread_ = std::make_unique<Thread>("lake-election", [this] { Run(); });
}

void Election::Stop() {
  if (thread_ == nullptr) {
    return;
  }
  Finish();
}

Status Election::Release(const Drain& drain, Deadline deadline) {
  slot_.CloseToNewWork();
  if (thread_ == nullptr) {
    return {};
  }
  // Heartbeats go on while this drains, so that what was begun can still be published.
  if (drain) {
    drain(deadline - options_.config.attempt);
  }
  {
    const MutexLock lock(mutex_);
    phase_ = Phase::kReleaseWanted;
    wake_.NotifyAll();
    while (phase_ != Phase::kRested && clock_.Now() < deadline) {
      clock_.WaitUntil(changed_, mutex_, deadline);
    }
    if (phase_ != Phase::kRested) {
      phase_ = Phase::kStopWanted;
      wake_.NotifyAll();
    }
  }
  thread_->Join();
  bool rested = false;
  {
    const MutexLock lock(mutex_);
    rested = phase_ == Phase::kRested;
  }
  Finish();
  if (!rested) {
    return OutcomeUnknown(
        fmt::format("release the term: not confirmed in time; others take over after {} ms",
                    options_.config.ttl.count()));
  }
  return {};
}

void Election::Finish() {
  {
    const MutexLock lock(mutex_);
    phase_ = Phase::kStopWanted;
    wake_.NotifyAll();
  }
  thread_->Join();
  thread_.reset();
  slot_.SetDropListener({});
  slot_.Drop(published_);
  const MutexLock lock(mutex_);
  phase_ = Phase::kStopped;
  ++changes_;
  changed_.NotifyAll();
}

Result<LeaseGuard> Election::WaitForAuthority(Deadline deadline) {
  while (true) {
    std::uint64_t seen = 0;
    Phase phase = Phase::kStopped;
    std::optional<Error> obstacle;
    std::optional<TermRecord> term;
    {
      const MutexLock lock(mutex_);
      seen = changes_;
      phase = phase_;
      obstacle = obstacle_;
      term = last_seen_;
    }
    // Asked with nothing locked: the slot calls the election with the slot locked.
    if (Result<Authority> authority = slot_.Current(); authority.has_value()) {
      return std::move(authority->guard);
    }
    if (phase != Phase::kRunning) {
      return Cancelled("wait for the lease: the election does not run");
    }
    if (obstacle.has_value() && NeedsHuman(*obstacle)) {
      return std::unexpected(obstacle->With("wait for the lease"));
    }
    if (clock_.Now() >= deadline) {
      if (obstacle.has_value()) {
        return std::unexpected(obstacle->With("wait for the lease"));
      }
      if (!term.has_value()) {
        return NotLeader("wait for the lease: not won in time");
      }
      return NotLeader(fmt::format("wait for the lease: not won in time; node {}{}{} has epoch {}",
                                   term->node, term->address.empty() ? "" : " at ", term->address,
                                   term->epoch.ToString()));
    }
    const MutexLock lock(mutex_);
    while (changes_ == seen && clock_.Now() < deadline) {
      clock_.WaitUntil(changed_, mutex_, deadline);
    }
  }
}

std::optional<TermRecord> Election::last_seen() const {
  const MutexLock lock(mutex_);
  return last_seen_;
}

void Election::Run() {
  const bool alone = options_.single_instance && raw_.traits().exclusive;
  LeaseMachine machine(options_.config, options_.identity,
                       alone ? Rivals::kExcluded : Rivals::kPossible);
  std::optional<LeaseEvent> event = StartRequested{};
  while (event.has_value()) {
    // The clock is read here: after the answer in `event` has come, before the next request goes.
    event = Perform(machine.Handle(clock_.Now(), *event));
  }
}

std::optional<LeaseEvent> Election::Perform(const std::vector<LeaseEffect>& effects) {
  std::optional<LeaseEvent> next;
  for (const LeaseEffect& effect : effects) {
    std::visit(Overloaded{[&](const PublishAuthority& publish) { Publish(publish.authority); },
                          [&](const DropAuthority& drop) {
                            Log(LogLevel::kInfo,
                                fmt::format("lease: epoch {} is over", drop.epoch.ToString()));
                            slot_.Drop(drop.epoch);
                          },
                          [&](const TermSeen& seen) { NoteTerm(seen.term); },
                          [&](const Obstacle& obstacle) { NoteObstacle(obstacle.error); },
                          [&](const ReadLease& read) {
                            if (!IsStopWanted()) {
                              next = LeaseRead{Read(read.deadline)};
                            }
                          },
                          [&](const CommitLease& commit) {
                            if (!IsStopWanted()) {
                              next =
                                  LeaseCommitted{raw_.Commit(commit.transaction, commit.deadline)};
                            }
                          },
                          [&](const WakeAt& wake) { next = NextEvent(wake.when); },
                          [&](const Rest&) {
                            const MutexLock lock(mutex_);
                            phase_ = Phase::kRested;
                            ++changes_;
                            changed_.NotifyAll();
                          }},
               effect);
  }
  return next;
}

Result<LeaseBytes> Election::Read(Deadline deadline) {
  LeaseBytes bytes;
  LAKE_TRY(bytes.term, raw_.Get(kTermKey, deadline));
  LAKE_TRY(bytes.heartbeat, raw_.Get(kHeartbeatKey, deadline));
  return bytes;
}

void Election::Publish(const Authority& authority) {
  slot_.Publish(authority);
  const Epoch epoch = authority.guard.epoch();
  published_ = epoch;
  {
    const MutexLock lock(mutex_);
    obstacle_.reset();
    ++changes_;
    changed_.NotifyAll();
  }
  // A term may be won by an answer that came too late to act on, or be over again already. It is
  // announced when there is something to do with it.
  const Result<Authority> current = slot_.Current();
  if (epoch > announced_ && current.has_value() && current->guard.epoch() == epoch) {
    announced_ = epoch;
    Log(LogLevel::kInfo, fmt::format("lease: leading under epoch {}", epoch.ToString()));
    if (options_.on_won) {
      options_.on_won(epoch);
    }
  }
}

void Election::NoteTerm(const std::optional<TermRecord>& term) {
  const MutexLock lock(mutex_);
  last_seen_ = term;
  obstacle_.reset();
}

void Election::NoteObstacle(const Error& error) {
  const MutexLock lock(mutex_);
  if (obstacle_ != error) {
    Log(LogLevel::kWarning, "lease: " + error.ToString());
  }
  obstacle_ = error;
  ++changes_;
  changed_.NotifyAll();
}

std::optional<LeaseEvent> Election::NextEvent(Instant when) {
  const MutexLock lock(mutex_);
  while (true) {
    if (phase_ == Phase::kStopWanted) {
      return std::nullopt;
    }
    if (phase_ == Phase::kReleaseWanted) {
      phase_ = Phase::kReleasing;
      return ReleaseRequested{};
    }
    if (deposed_.has_value()) {
      return Deposed{*std::exchange(deposed_, std::nullopt)};
    }
    if (clock_.Now() >= when) {
      return TimePassed{};
    }
    clock_.WaitUntil(wake_, mutex_, when);
  }
}

bool Election::IsStopWanted() const {
  const MutexLock lock(mutex_);
  return phase_ == Phase::kStopWanted;
}

}  // namespace lake::lease
