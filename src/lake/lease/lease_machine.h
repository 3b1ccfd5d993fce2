#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/lease/epoch.h"
#include "lake/lease/lease_config.h"
#include "lake/lease/lease_guard.h"
#include "lake/lease/records.h"
#include "lake/metastore/transaction.h"

namespace lake::lease {

// What a read of the lease found: the term first, then the heartbeat, each absent or its exact
// bytes. The two need not be of one instant; takeovers check both again.
struct LeaseBytes {
  std::optional<std::string> term;
  std::optional<std::string> heartbeat;

  bool operator==(const LeaseBytes&) const = default;
};

// Events: what happens to the machine.

// Begin to observe, and to campaign when that is allowed.
struct StartRequested {};

// Nothing happened but time.
struct TimePassed {};

// The answer to ReadLease.
struct LeaseRead {
  Result<LeaseBytes> result;
};

// The answer to CommitLease.
struct LeaseCommitted {
  Result<metastore::CommitResult> result;
};

// A publication was fenced: the store's term is no longer that of `epoch`.
struct Deposed {
  Epoch epoch;
};

// Give the term back if it is held, and rest.
struct ReleaseRequested {};

// Any of the events.
using LeaseEvent =
    std::variant<StartRequested, TimePassed, LeaseRead, LeaseCommitted, Deposed, ReleaseRequested>;

// Effects: what its driver must do, in order.

// From now on this is the process's authority, as a whole; its deadline may have passed already.
struct PublishAuthority {
  Authority authority;
};

// No authority of this epoch or an older one may be used again.
struct DropAuthority {
  Epoch epoch;
};

// The term as it stands in the store: nobody, or who leads, for those who forward to the leader.
struct TermSeen {
  std::optional<TermRecord> term;
};

// Something keeps this process from winning or renewing the term. The machine goes on trying.
struct Obstacle {
  Error error;
};

// Read the term, then the heartbeat; answer with LeaseRead.
struct ReadLease {
  Deadline deadline;
};

// Commit exactly this; answer with LeaseCommitted.
struct CommitLease {
  metastore::Transaction transaction;
  Deadline deadline;
};

// Answer with TimePassed at this instant, or with another event before it.
struct WakeAt {
  Instant when;
};

// There is nothing to do until StartRequested.
struct Rest {};

// Any of the effects.
using LeaseEffect = std::variant<PublishAuthority, DropAuthority, TermSeen, Obstacle, ReadLease,
                                 CommitLease, WakeAt, Rest>;

// Whether another process or another election of this process can hold the same lease at once.
enum class Rivals {
  kPossible,
  kExcluded,  // The store is exclusive to this process, which runs a single election.
};

// The lease protocol as a pure function: an event at an instant changes the state and yields
// effects. It reads no clock, does no I/O and takes no locks; equal histories give equal machines.
//
// The contract with its driver:
//   - The last effect of a step, and no other, is ReadLease, CommitLease, WakeAt or Rest: what the
//     driver does next. One request is out at a time; until it is answered no other event comes.
//   - `now` of a step is read before the step's requests are sent, and after the answer that its
//     event carries has returned. That is what makes holders count from before and observers from
//     after.
//   - PublishAuthority and DropAuthority are carried out before anything else is done.
// Breaking it ends the process: it is a defect of ours.
//
// Copyable and comparable, so that a test can explore every history.
class LeaseMachine {
 public:
  // Both arguments were validated; the machine rests.
  LeaseMachine(const LeaseConfig& config, LeaseIdentity self, Rivals rivals);

  // Advances the machine. Never fails and never blocks.
  std::vector<LeaseEffect> Handle(Instant now, const LeaseEvent& event);

  bool operator==(const LeaseMachine&) const = default;

 private:
  // The bytes of the lease, and since when they have been seen unchanged.
  struct Sighting {
    LeaseBytes bytes;
    Instant since;

    bool operator==(const Sighting&) const = default;
  };

  // A takeover: what it needs to find, what it writes, and when it was first sent.
  struct Takeover {
    LeaseBytes base;
    TermRecord term_record;
    std::string term;
    HeartbeatRecord heartbeat_record;
    std::string heartbeat;
    Instant first_sent;

    bool operator==(const Takeover&) const = default;
  };

  struct Resting {
    bool operator==(const Resting&) const = default;
  };

  struct Observing {
    std::optional<Sighting> sighting;
    std::optional<Takeover> unresolved;  // Sent by this process, and may still be applied.
    bool reading_back = false;           // The next read asks about `unresolved`.
    Instant next_read;

    bool operator==(const Observing&) const = default;
  };

  struct Campaigning {
    Sighting sighting;
    Takeover takeover;
    Instant sent;
    bool unresolved_before = false;  // An earlier sending may have been applied.

    bool operator==(const Campaigning&) const = default;
  };

  // A heartbeat on its way from one record to the next.
  struct Beat {
    HeartbeatRecord record;
    std::string bytes;
    Instant first_sent;
    bool unresolved = false;  // A sending may have been applied.

    bool operator==(const Beat&) const = default;
  };

  struct Leading {
    LeaseGuard guard;
    TermRecord term;
    HeartbeatRecord heartbeat;
    std::string heartbeat_bytes;
    std::optional<Beat> next;
    Instant sent;
    Instant next_round;

    bool operator==(const Leading&) const = default;
  };

  struct Releasing {
    LeaseGuard guard;
    std::string released;
    Instant next_attempt;

    bool operator==(const Releasing&) const = default;
  };

  enum class Request { kNone, kRead, kCommit };

  using Effects = std::vector<LeaseEffect>;

  void OnTime(Instant now, Effects& effects);
  void OnRead(Instant now, const Result<LeaseBytes>& result, Effects& effects);
  void OnCommit(Instant now, const Result<metastore::CommitResult>& result, Effects& effects);
  void OnRelease(Instant now, Effects& effects);

  void Observe(Instant now, const LeaseBytes& seen, Effects& effects);
  void Campaign(Instant now, const std::optional<TermRecord>& term,
                const std::optional<HeartbeatRecord>& heartbeat, Effects& effects);
  void OnCampaignAnswer(Instant now, const Result<metastore::CommitResult>& result,
                        Effects& effects);
  void Win(const Takeover& takeover, Instant counted_from, Instant now, Effects& effects);
  void OnHeartbeatAnswer(Instant now, const Result<metastore::CommitResult>& result,
                         Effects& effects);
  void ReadBackHeartbeat(Instant now, const Result<LeaseBytes>& result, Effects& effects);
  void Renew(Instant counted_from, Instant now, Effects& effects);
  void StepDown(Instant now, Effects& effects);
  void OnReleaseAnswer(Instant now, const Result<metastore::CommitResult>& result,
                       Effects& effects);

  void SendRead(Instant now, Effects& effects);
  void SendCommit(Instant now, metastore::Transaction transaction, Effects& effects);
  void SendHeartbeat(Instant now, Effects& effects);
  void SendRelease(Instant now, Effects& effects);

  LeaseConfig config_;
  LeaseIdentity self_;
  Rivals rivals_;
  Request out_ = Request::kNone;
  std::variant<Resting, Observing, Campaigning, Leading, Releasing> state_;
};

}  // namespace lake::lease
