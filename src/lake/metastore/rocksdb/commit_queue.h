#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread_annotations.h"
#include "lake/base/time.h"
#include "lake/metastore/transaction.h"

namespace lake::metastore {

// A transaction in a group, and the answer to it.
struct GroupMember {
  const Transaction* transaction = nullptr;
  Result<CommitResult> answer = CommitResult(Committed{});
};

// What groups of transactions are committed to. Both calls come from one thread at a time, always in
// this order, and the members are the same.
class GroupTarget {
 public:
  virtual ~GroupTarget() = default;
  // Decides each transaction, in order, as if those before it had taken effect, and answers it
  // accordingly. Must not look at the transactions after it has returned.
  virtual void Evaluate(std::span<GroupMember* const> group) = 0;
  // Makes what was decided durable, all of it at once. Where that fails, changes the answers.
  virtual void Write(std::span<GroupMember* const> group) = 0;
};

// Lets many threads commit together. The first to come commits at once, on its own thread. Whoever
// comes while it does waits; when it has finished, the one who has waited longest commits everything
// that waits as one group. So a lone writer pays no hand-off, nobody waits for a timer, and one
// durable write serves as many transactions as there are writers. Thread-safe.
class CommitQueue {
 public:
  struct Options {
    std::size_t waiting_max = 4096;
    // A group ends before it exceeds one of these; a single transaction always fits.
    std::size_t group_members_max = 512;
    std::size_t group_bytes_max = std::size_t{8} * 1024 * 1024;
  };

  // Borrows the clock, on which deadlines are counted, and the target for its lifetime.
  CommitQueue(const Options& options, Clock& clock, GroupTarget& target);

  // Commits `transaction`, which must be valid, and returns its answer. Blocks while groups are
  // committed. kUnavailable when too many wait; kDeadlineExceeded when the deadline passes while it
  // waits; kOutcomeUnknown when it passes while its group is being written. A thread that commits for
  // others returns when it is done, also after its own deadline.
  Result<CommitResult> Commit(const Transaction& transaction, Deadline deadline) EXCLUDES(mutex_);

 private:
  struct Waiter;

  // Waits until `waiter` is answered or has to commit a group itself; then nothing is returned.
  std::optional<Result<CommitResult>> Wait(Waiter& waiter, Deadline deadline);
  // Commits `transaction` together with what waits, then lets the next one lead.
  Result<CommitResult> Lead(const Transaction& transaction) EXCLUDES(mutex_);
  // Takes the waiters that share a group with a transaction of `bytes`.
  std::vector<std::shared_ptr<Waiter>> TakeGroup(std::size_t bytes) EXCLUDES(mutex_);
  // Makes the first waiter that still waits the leader; without one, nobody leads.
  void PassOn() EXCLUDES(mutex_);

  const Options options_;
  Clock& clock_;
  GroupTarget& target_;
  Mutex mutex_;
  bool leading_ GUARDED_BY(mutex_) = false;  // Somebody commits. True whenever somebody waits.
  std::deque<std::shared_ptr<Waiter>> waiting_ GUARDED_BY(mutex_);
};

}  // namespace lake::metastore
