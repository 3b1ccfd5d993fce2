// The problem. Several processes share a store. At most one of them may change the metadata at a
// time, a process that dies must be replaced, and one that is paused for an hour and wakes up must
// do no harm, whatever it believes.
//
// The idea. Safety and liveness are separate. Safety is the fence: every publication checks, in its
// own transaction, that the term record still has the bytes its author wrote (see fenced_store.cc).
// So a takeover that comes too early is a nuisance and no danger, and clocks cannot break anything.
// Liveness is this machine: a leader proves its life by changing the heartbeat record, and a
// standby takes over once that record has stood still for its ttl.
//
// Two records, because the fence compares the term's bytes: if heartbeats changed them, each would
// fence the leader's own publications in flight.
//
// Counting time. Only instants of one machine's boot-time clock are ever compared with each other;
// no instant is stored. A holder counts from before it sent a request, an observer from after its
// read returned: each errs in the safe direction, by as much as the call took. The holder also
// stops `margin` earlier. So while clocks run at nearly the same speed, authorities do not overlap
// in time at all; the fence is for when they do not.
//
// Invariants.
//   - Authority comes only from a transaction of this session that the store confirmed, by answering
//     or by showing our own bytes afterwards. Finding our node's name in the record means nothing.
//   - The guard of a term never changes. A round replaces the authority as a whole: same guard,
//     later deadline.
//   - What is lost stays lost: after DropAuthority of an epoch none of that epoch or an older one is
//     published again. Leading again takes a takeover, and so a new epoch.
//   - No bytes return. Heartbeats differ in (epoch, session, beat), terms in (epoch, session,
//     state). "Exactly these bytes" therefore means "nobody wrote since".
//
// Failure cases.
//   - A heartbeat's answer is lost: read back. Our next beat there: it had succeeded, and as we do
//     not know by which sending, the deadline counts from the first. Our last beat: send the same
//     next beat again. Anything else: somebody took over.
//   - A takeover's answer is lost: read back. It may also be applied later, so it is remembered until
//     the records that it needs to find are gone for good; whenever our own bytes turn up, we won,
//     counted from its first sending, which often means with an authority that has already ended
//     and that the next heartbeat revives or refutes.
//   - The store cannot be reached: the authority ends at its deadline, by itself; heartbeats go on.
//     If one succeeds later, nobody took over in between, and the term goes on.
//   - The stored term cannot be decoded, or its epoch is the last number: nobody takes over. A
//     human must look.
#include "lake/lease/lease_machine.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/lease/overloaded_internal.h"

namespace lake::lease {
namespace {

using metastore::CommitResult;
using metastore::Committed;
using metastore::Expectation;
using metastore::Rejected;
using metastore::Transaction;

// Whether the error says that the request certainly had no effect. Everything else may have.
bool IsCertainlyNotApplied(const Error& error) {
  return error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kDeadlineExceeded ||
         error.code() == ErrorCode::kInvalidArgument;
}

Expectation AsSeen(const std::optional<std::string>& bytes) {
  return bytes.has_value() ? Expectation::Exactly(*bytes) : Expectation::Absent();
}

// Returns whether the rejection shows that `key` holds exactly `bytes`.
bool Shows(const Rejected& rejected, std::string_view key, const std::string& bytes) {
  return std::ranges::any_of(rejected.failures, [&](const metastore::FailedExpectation& failure) {
    return failure.key == key && failure.actual == bytes;
  });
}

// Returns the record that the bytes hold, or nothing when there are none or they are damaged. An
// error only for one that a newer version wrote: it must not be overwritten.
Result<std::optional<HeartbeatRecord>> ReadableHeartbeat(const std::optional<std::string>& bytes) {
  if (!bytes.has_value()) {
    return std::nullopt;
  }
  Result<HeartbeatRecord> record = DecodeHeartbeat(*bytes);
  if (record.has_value()) {
    return *std::move(record);
  }
  if (record.error().code() == ErrorCode::kUnimplemented) {
    return std::unexpected(std::move(record).error());
  }
  return std::nullopt;
}

bool IsContinuation(const LeaseEffect& effect) {
  return std::visit(
      Overloaded{[](const PublishAuthority&) { return false; },
                 [](const DropAuthority&) { return false; }, [](const TermSeen&) { return false; },
                 [](const Obstacle&) { return false; }, [](const ReadLease&) { return true; },
                 [](const CommitLease&) { return true; }, [](const WakeAt&) { return true; },
                 [](const Rest&) { return true; }},
      effect);
}

}  // namespace

LeaseMachine::LeaseMachine(const LeaseConfig& config, LeaseIdentity self, Rivals rivals)
    : config_(config), self_(std::move(self)), rivals_(rivals) {
  LAKE_CHECK(config_.Validate().has_value(), "the times were validated");
  LAKE_CHECK(self_.Validate().has_value(), "the identity was validated");
}

std::vector<LeaseEffect> LeaseMachine::Handle(Instant now, const LeaseEvent& event) {
  Effects effects;
  const Request answered =
      std::visit(Overloaded{[](const LeaseRead&) { return Request::kRead; },
                            [](const LeaseCommitted&) { return Request::kCommit; },
                            [](const auto&) { return Request::kNone; }},
                 event);
  LAKE_CHECK(answered == out_, "the event answers the request that is out, if one is");
  out_ = Request::kNone;
  std::visit(
      Overloaded{[&](const StartRequested&) {
                   LAKE_CHECK(std::holds_alternative<Resting>(state_), "started once");
                   state_ = Observing{.next_read = now};
                   SendRead(now, effects);
                 },
                 [&](const TimePassed&) { OnTime(now, effects); },
                 [&](const LeaseRead& read) { OnRead(now, read.result, effects); },
                 [&](const LeaseCommitted& commit) { OnCommit(now, commit.result, effects); },
                 [&](const Deposed& deposed) {
                   const auto* leading = std::get_if<Leading>(&state_);
                   if (leading != nullptr && leading->guard.epoch() == deposed.epoch) {
                     StepDown(now, effects);
                   } else {
                     OnTime(now, effects);
                   }
                 },
                 [&](const ReleaseRequested&) { OnRelease(now, effects); }},
      event);
  LAKE_CHECK(std::ranges::count_if(effects, IsContinuation) == 1 && IsContinuation(effects.back()),
             "a step ends with the one thing to do next");
  return effects;
}

void LeaseMachine::OnTime(Instant now, Effects& effects) {
  std::visit(Overloaded{[&](const Resting&) { effects.emplace_back(Rest{}); },
                        [&](const Observing& me) {
                          if (now < me.next_read) {
                            effects.emplace_back(WakeAt{me.next_read});
                          } else {
                            SendRead(now, effects);
                          }
                        },
                        [&](const Campaigning&) { LAKE_CHECK(false, "a takeover is out"); },
                        [&](const Leading& me) {
                          if (now < me.next_round) {
                            effects.emplace_back(WakeAt{me.next_round});
                          } else {
                            SendHeartbeat(now, effects);
                          }
                        },
                        [&](const Releasing& me) {
                          if (now < me.next_attempt) {
                            effects.emplace_back(WakeAt{me.next_attempt});
                          } else {
                            SendRelease(now, effects);
                          }
                        }},
             state_);
}

void LeaseMachine::OnRead(Instant now, const Result<LeaseBytes>& result, Effects& effects) {
  if (std::holds_alternative<Leading>(state_)) {
    ReadBackHeartbeat(now, result, effects);
    return;
  }
  auto* me = std::get_if<Observing>(&state_);
  LAKE_CHECK(me != nullptr, "only observers and leaders read");
  if (result.has_value()) {
    Observe(now, *result, effects);
    return;
  }
  // A failed read is no change: the bytes seen before and after it are the same or not, and if they
  // are, they stood still in between.
  effects.emplace_back(Obstacle{result.error().With("read the lease")});
  me->next_read = now + config_.poll;
  effects.emplace_back(WakeAt{me->next_read});
}

void LeaseMachine::OnCommit(Instant now, const Result<CommitResult>& result, Effects& effects) {
  std::visit(
      Overloaded{[&](const Resting&) { LAKE_CHECK(false, "a resting machine sends nothing"); },
                 [&](const Observing&) { LAKE_CHECK(false, "an observer only reads"); },
                 [&](const Campaigning&) { OnCampaignAnswer(now, result, effects); },
                 [&](const Leading&) { OnHeartbeatAnswer(now, result, effects); },
                 [&](const Releasing&) { OnReleaseAnswer(now, result, effects); }},
      state_);
}

void LeaseMachine::OnRelease(Instant now, Effects& effects) {
  if (const auto* leading = std::get_if<Leading>(&state_); leading != nullptr) {
    TermRecord released = leading->term;
    released.state = TermRecord::State::kReleased;
    effects.emplace_back(DropAuthority{leading->guard.epoch()});
    state_ = Releasing{.guard = leading->guard, .released = Encode(released), .next_attempt = now};
    SendRelease(now, effects);
    return;
  }
  if (std::holds_alternative<Releasing>(state_)) {
    OnTime(now, effects);
    return;
  }
  // A takeover whose fate is unknown may still be applied after this. It then stands as a term
  // without heartbeats, and others take over after its ttl.
  state_ = Resting{};
  effects.emplace_back(Rest{});
}

void LeaseMachine::Observe(Instant now, const LeaseBytes& seen, Effects& effects) {
  auto& me = std::get<Observing>(state_);
  me.next_read = now + config_.poll;
  const bool reading_back = std::exchange(me.reading_back, false);
  if (me.unresolved.has_value()) {
    const Takeover& mine = *me.unresolved;
    if (seen.term == mine.term && seen.heartbeat == mine.heartbeat) {
      const Takeover won = mine;
      Win(won, won.first_sent, now, effects);
      return;
    }
    if (seen.heartbeat == mine.heartbeat) {
      // The term was read before the takeover was applied and the heartbeat after it. The next read
      // shows both.
      effects.emplace_back(WakeAt{me.next_read});
      return;
    }
    if (seen != mine.base) {
      // What it needs to find is gone for good.
      me.unresolved.reset();
    }
  }
  if (!me.sighting.has_value() || me.sighting->bytes != seen) {
    me.sighting = Sighting{.bytes = seen, .since = now};
  }

  std::optional<TermRecord> term;
  if (seen.term.has_value()) {
    Result<TermRecord> decoded = DecodeTerm(*seen.term);
    if (!decoded.has_value()) {
      effects.emplace_back(Obstacle{std::move(decoded).error()});
      effects.emplace_back(WakeAt{me.next_read});
      return;
    }
    term = *std::move(decoded);
  }
  effects.emplace_back(TermSeen{term});
  const Result<std::optional<HeartbeatRecord>> heartbeat = ReadableHeartbeat(seen.heartbeat);
  if (!heartbeat.has_value()) {
    effects.emplace_back(Obstacle{heartbeat.error()});
    effects.emplace_back(WakeAt{me.next_read});
    return;
  }
  if (reading_back && me.unresolved.has_value()) {
    // Not applied so far. Time before the next attempt keeps a store that answers nothing from
    // being asked without pause.
    effects.emplace_back(WakeAt{me.next_read});
    return;
  }
  // A heartbeat that is missing or damaged says nothing about its ttl; ours is as good a guess as
  // any, because the fence decides and not the clock.
  const Duration ttl = heartbeat->has_value() ? (*heartbeat)->ttl : config_.ttl;
  const bool allowed = !term.has_value() || term->state == TermRecord::State::kReleased ||
                       rivals_ == Rivals::kExcluded || now - me.sighting->since >= ttl;
  if (allowed) {
    Campaign(now, term, *heartbeat, effects);
  } else {
    effects.emplace_back(WakeAt{me.next_read});
  }
}

void LeaseMachine::Campaign(Instant now, const std::optional<TermRecord>& term,
                            const std::optional<HeartbeatRecord>& heartbeat, Effects& effects) {
  auto& me = std::get<Observing>(state_);
  const LeaseBytes& base = me.sighting->bytes;
  // The heartbeat remembers the last epoch should somebody have deleted the term by hand.
  if (!term.has_value() && base.heartbeat.has_value() && !heartbeat.has_value()) {
    effects.emplace_back(Obstacle{Error(
        ErrorCode::kCorruption,
        fmt::format("{} is absent and {} cannot be read, so the last epoch is not known; restore "
                    "the term before anybody may lead",
                    kTermKey, kHeartbeatKey))});
    effects.emplace_back(WakeAt{me.next_read});
    return;
  }
  const Epoch last = term.has_value()        ? term->epoch
                     : heartbeat.has_value() ? heartbeat->epoch
                                             : Epoch();
  const std::optional<Epoch> epoch = last.Next();
  if (!epoch.has_value()) {
    effects.emplace_back(
        Obstacle{Error(ErrorCode::kCorruption,
                       fmt::format("{} has the last epoch there is, {}; nobody can take over",
                                   kTermKey, last.ToString()))});
    effects.emplace_back(WakeAt{me.next_read});
    return;
  }

  Takeover takeover{
      .base = base,
      .term_record = {.epoch = *epoch,
                      .node = self_.node,
                      .session = self_.session,
                      .address = self_.address,
                      .unknown_members = term.has_value() ? term->unknown_members : std::string()},
      .heartbeat_record = {.epoch = *epoch,
                           .session = self_.session,
                           .ttl = config_.ttl,
                           .unknown_members =
                               heartbeat.has_value() ? heartbeat->unknown_members : std::string()},
      .first_sent = now};
  takeover.term = Encode(takeover.term_record);
  takeover.heartbeat = Encode(takeover.heartbeat_record);
  const bool unresolved_before = me.unresolved.has_value();
  if (unresolved_before) {
    LAKE_CHECK(me.unresolved->base == base && me.unresolved->term == takeover.term,
               "the same records lead to the same takeover");
    takeover.first_sent = me.unresolved->first_sent;
  }
  Transaction transaction;
  transaction.Put(std::string(kTermKey), AsSeen(base.term), takeover.term)
      .Put(std::string(kHeartbeatKey), AsSeen(base.heartbeat), takeover.heartbeat);
  state_ = Campaigning{.sighting = *me.sighting,
                       .takeover = std::move(takeover),
                       .sent = now,
                       .unresolved_before = unresolved_before};
  SendCommit(now, std::move(transaction), effects);
}

void LeaseMachine::OnCampaignAnswer(Instant now, const Result<CommitResult>& result,
                                    Effects& effects) {
  const Campaigning me = std::get<Campaigning>(state_);
  if (!result.has_value()) {
    const bool unresolved = me.unresolved_before || !IsCertainlyNotApplied(result.error());
    const bool reading_back = !IsCertainlyNotApplied(result.error());
    effects.emplace_back(Obstacle{result.error().With("take over the term")});
    state_ = Observing{.sighting = me.sighting,
                       .unresolved = unresolved ? std::optional(me.takeover) : std::nullopt,
                       .reading_back = reading_back,
                       .next_read = reading_back ? now : now + config_.poll};
    OnTime(now, effects);
    return;
  }
  if (const auto* rejected = std::get_if<Rejected>(&*result); rejected != nullptr) {
    if (Shows(*rejected, kTermKey, me.takeover.term) &&
        Shows(*rejected, kHeartbeatKey, me.takeover.heartbeat)) {
      Win(me.takeover, me.takeover.first_sent, now, effects);
      return;
    }
    // A record changed, which also settles every earlier sending: it can never apply.
    state_ = Observing{.next_read = now + config_.poll};
    OnTime(now, effects);
    return;
  }
  // Committed: applied between this sending and its answer, whatever became of earlier ones.
  Win(me.takeover, me.sent, now, effects);
}

void LeaseMachine::Win(const Takeover& takeover, Instant counted_from, Instant now,
                       Effects& effects) {
  effects.emplace_back(TermSeen{takeover.term_record});
  state_ = Leading{.guard = LeaseGuard(takeover.term_record.epoch, takeover.term),
                   .term = takeover.term_record,
                   .heartbeat = takeover.heartbeat_record,
                   .heartbeat_bytes = takeover.heartbeat};
  Renew(counted_from, now, effects);
}

void LeaseMachine::Renew(Instant counted_from, Instant now, Effects& effects) {
  auto& me = std::get<Leading>(state_);
  effects.emplace_back(PublishAuthority{
      Authority{.guard = me.guard, .deadline = counted_from + config_.ttl - config_.margin}});
  me.next_round = counted_from + config_.heartbeat;
  OnTime(now, effects);
}

void LeaseMachine::OnHeartbeatAnswer(Instant now, const Result<CommitResult>& result,
                                     Effects& effects) {
  auto& me = std::get<Leading>(state_);
  LAKE_CHECK(me.next.has_value(), "a heartbeat was sent");
  Beat& next = *me.next;
  Instant counted_from = me.sent;
  if (!result.has_value()) {
    effects.emplace_back(Obstacle{result.error().With("send a heartbeat")});
    if (!IsCertainlyNotApplied(result.error())) {
      next.unresolved = true;
      SendRead(now, effects);
      return;
    }
    me.next_round = now + config_.poll;
    effects.emplace_back(WakeAt{me.next_round});
    return;
  }
  if (const auto* rejected = std::get_if<Rejected>(&*result); rejected != nullptr) {
    if (!Shows(*rejected, kHeartbeatKey, next.bytes)) {
      StepDown(now, effects);
      return;
    }
    counted_from = next.first_sent;
  }
  me.heartbeat = std::move(next.record);
  me.heartbeat_bytes = std::move(next.bytes);
  me.next.reset();
  Renew(counted_from, now, effects);
}

void LeaseMachine::ReadBackHeartbeat(Instant now, const Result<LeaseBytes>& result,
                                     Effects& effects) {
  auto& me = std::get<Leading>(state_);
  LAKE_CHECK(me.next.has_value(), "a heartbeat is being read back");
  me.next_round = now + config_.poll;
  if (!result.has_value()) {
    effects.emplace_back(Obstacle{result.error().With("read the heartbeat back")});
    effects.emplace_back(WakeAt{me.next_round});
    return;
  }
  if (result->term != me.guard.term_bytes()) {
    StepDown(now, effects);
  } else if (result->heartbeat == me.next->bytes) {
    const Beat next = *std::exchange(me.next, std::nullopt);
    me.heartbeat = next.record;
    me.heartbeat_bytes = next.bytes;
    Renew(next.first_sent, now, effects);
  } else if (result->heartbeat == me.heartbeat_bytes) {
    // Not applied so far; the same beat is sent again, and its first sending still counts.
    effects.emplace_back(WakeAt{me.next_round});
  } else {
    StepDown(now, effects);
  }
}

void LeaseMachine::StepDown(Instant now, Effects& effects) {
  effects.emplace_back(DropAuthority{std::get<Leading>(state_).guard.epoch()});
  state_ = Observing{.next_read = now};
  SendRead(now, effects);
}

void LeaseMachine::OnReleaseAnswer(Instant now, const Result<CommitResult>& result,
                                   Effects& effects) {
  if (result.has_value()) {
    // Committed, or rejected: then the term is released already by an earlier sending, or
    // another's.
    state_ = Resting{};
    effects.emplace_back(Rest{});
    return;
  }
  // The same transaction again is a question as much as a request: a rejection ends it either way.
  auto& me = std::get<Releasing>(state_);
  effects.emplace_back(Obstacle{result.error().With("release the term")});
  me.next_attempt = now + config_.poll;
  effects.emplace_back(WakeAt{me.next_attempt});
}

void LeaseMachine::SendRead(Instant now, Effects& effects) {
  out_ = Request::kRead;
  effects.emplace_back(ReadLease{now + config_.attempt});
}

void LeaseMachine::SendCommit(Instant now, Transaction transaction, Effects& effects) {
  out_ = Request::kCommit;
  effects.emplace_back(CommitLease{std::move(transaction), now + config_.attempt});
}

void LeaseMachine::SendHeartbeat(Instant now, Effects& effects) {
  auto& me = std::get<Leading>(state_);
  me.sent = now;
  if (!me.next.has_value()) {
    Beat next{.record = me.heartbeat, .first_sent = now};
    ++next.record.beat;
    next.bytes = Encode(next.record);
    me.next = std::move(next);
  } else if (!me.next->unresolved) {
    // Every earlier sending certainly had no effect, so the time it took need not count.
    me.next->first_sent = now;
  }
  Transaction transaction;
  transaction.Put(std::string(kHeartbeatKey), Expectation::Exactly(me.heartbeat_bytes),
                  me.next->bytes);
  SendCommit(now, std::move(transaction), effects);
}

void LeaseMachine::SendRelease(Instant now, Effects& effects) {
  const auto& me = std::get<Releasing>(state_);
  Transaction transaction;
  transaction.Put(std::string(kTermKey), Expectation::Exactly(me.guard.term_bytes()), me.released);
  SendCommit(now, std::move(transaction), effects);
}

}  // namespace lake::lease
