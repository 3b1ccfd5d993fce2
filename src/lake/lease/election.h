#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread.h"
#include "lake/base/thread_annotations.h"
#include "lake/base/time.h"
#include "lake/lease/authority_slot.h"
#include "lake/lease/epoch.h"
#include "lake/lease/lease_config.h"
#include "lake/lease/lease_guard.h"
#include "lake/lease/lease_machine.h"
#include "lake/lease/records.h"
#include "lake/metastore/metastore.h"

namespace lake::lease {

// Reads who leads, without taking part: nothing when nobody ever led. Whether that leader still
// lives cannot be told from one read. kCorruption and kUnimplemented as DecodeTerm, otherwise as
// MetaStore::Get.
Result<std::optional<TermRecord>> ReadTerm(metastore::MetaStore& raw, Deadline deadline);

// Campaigns for the lease, keeps it alive while it is won, and publishes the authority into a slot.
// Drives a LeaseMachine on a thread of its own, with the raw store; nothing else writes the lease.
//
// On a store that is exclusive to a process which runs a single instance, the term is won at once:
// Start, WaitForAuthority and Release are then all that a short-lived command needs.
//
// Thread-safe, but Start, Stop, Release and destruction are one owner's, one at a time.
class Election {
 public:
  struct Options {
    LeaseIdentity identity;
    LeaseConfig config;
    // This process runs no second election over the same store. Together with an exclusive store it
    // means that whoever held the term is gone, and nobody needs to wait for its ttl.
    bool single_instance = false;
    // Called once for each epoch that this election wins, as soon as its authority holds. It runs
    // on the election's thread, between requests and with nothing locked: it must return quickly,
    // and may call anything but Start, Stop and Release. May be empty.
    std::function<void(Epoch)> on_won;
  };

  // Stops admitting and waits for what was begun, at most until the deadline it is given.
  using Drain = std::function<void(Deadline)>;

  // Borrows store, clock and slot for its lifetime; no other election may use the slot. Does
  // nothing before Start. kInvalidArgument when times or identity are not valid.
  static Result<std::unique_ptr<Election>> Create(metastore::MetaStore& raw, Clock& clock,
                                                  AuthoritySlot& slot, Options options);

  // Stops.
  ~Election();
  Election(const Election&) = delete;
  Election& operator=(const Election&) = delete;

  // Begins to observe and to campaign, and opens the slot to new work. Not while it runs; after
  // Stop or Release it may be started again, and whatever it wins then is a new epoch.
  void Start() EXCLUDES(mutex_);

  // Ends the thread and drops the authority without giving the term back: others take over after
  // its ttl. Waits for a request that is out, at most about `config.attempt`. Idempotent.
  void Stop() EXCLUDES(mutex_);

  // Hands the leadership over: closes the slot to new work, calls `drain` on this thread while
  // heartbeats go on, drops the authority, gives the term back so that a standby takes it at once,
  // and ends the thread. `drain` is given a deadline that leaves time for the last step; what it
  // leaves behind is fenced. OK also when this process does not lead. Otherwise the election has
  // stopped, the authority is dropped, and it is not certain that the term was given back:
  //   kOutcomeUnknown   not confirmed before the deadline. Others take over at the latest after the
  //                     ttl; there is nothing to do.
  // Blocks until the deadline, or about `config.attempt` longer when the store overstays its own.
  Status Release(const Drain& drain, Deadline deadline) EXCLUDES(mutex_);

  // Waits until this process holds the authority and returns the guard.
  //   kNotLeader   the deadline passed and another process leads; the message names it.
  //   kCorruption, kUnimplemented   at once: the lease's records cannot be read, or their epochs
  //                are used up. Nobody can lead before a human has looked.
  //   kUnavailable, or another error of the store   the deadline passed and the store's last answer
  //                was this.
  //   kCancelled   it was stopped, or never started.
  Result<LeaseGuard> WaitForAuthority(Deadline deadline) EXCLUDES(mutex_);

  // Returns the term as it was last seen, for those who forward to the leader: nothing when nobody
  // led or nothing was read so far. While this process does not lead it is at most about
  // `config.poll` old, as long as the store can be reached.
  std::optional<TermRecord> last_seen() const EXCLUDES(mutex_);

 private:
  // What the thread is to do, and how far it is. Start, Stop and Release move it, but for the steps
  // to kReleasing and kRested, which the thread itself makes.
  enum class Phase { kStopped, kRunning, kReleaseWanted, kReleasing, kRested, kStopWanted };

  Election(metastore::MetaStore& raw, Clock& clock, AuthoritySlot& slot, Options options);

  void Run() EXCLUDES(mutex_);
  // Carries a step's effects out and returns the event that follows; nothing when the thread ends.
  std::optional<LeaseEvent> Perform(const std::vector<LeaseEffect>& effects) EXCLUDES(mutex_);
  Result<LeaseBytes> Read(Deadline deadline);
  void Publish(const Authority& authority) EXCLUDES(mutex_);
  void NoteTerm(const std::optional<TermRecord>& term) EXCLUDES(mutex_);
  void NoteObstacle(const Error& error) EXCLUDES(mutex_);
  // Waits until `when` or until there is something else to do.
  std::optional<LeaseEvent> NextEvent(Instant when) EXCLUDES(mutex_);
  bool IsStopWanted() const EXCLUDES(mutex_);
  // Ends the thread, drops what authority is left, and leaves everything as before Start.
  void Finish() EXCLUDES(mutex_);

  metastore::MetaStore& raw_;
  Clock& clock_;
  AuthoritySlot& slot_;
  const Options options_;

  mutable Mutex mutex_;
  CondVar wake_;     // For the thread: phase_ or deposed_ was set.
  CondVar changed_;  // For those who wait for the thread: changes_ grew.
  Phase phase_ GUARDED_BY(mutex_) = Phase::kStopped;
  std::uint64_t changes_ GUARDED_BY(mutex_) = 0;
  std::optional<Epoch> deposed_ GUARDED_BY(mutex_);  // The fence has spoken; the machine must hear.
  std::optional<TermRecord> last_seen_ GUARDED_BY(mutex_);
  std::optional<Error> obstacle_ GUARDED_BY(mutex_);  // What the last step met with, if anything.

  // Touched by Start, Stop and Release, which do not run at once.
  std::unique_ptr<Thread> thread_;
  // Touched by the thread, and by Finish after its end.
  Epoch published_;  // The latest epoch an authority was published of.
  Epoch announced_;  // The latest epoch on_won was called for.
};

}  // namespace lake::lease
