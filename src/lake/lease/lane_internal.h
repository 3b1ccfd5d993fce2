#pragma once

#include <cstddef>
#include <deque>
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
#include "lake/lease/combination_internal.h"
#include "lake/lease/epoch.h"
#include "lake/lease/lease_guard.h"
#include "lake/metastore/metastore.h"
#include "lake/metastore/transaction.h"

namespace lake::lease {

// Keeps at most one fenced transaction in flight, and combines the publications that wait meanwhile
// into the next. Thread-safe.
class Lane {
 public:
  // Borrows the three for its lifetime. At most `waiting_max` publications may wait.
  Lane(metastore::MetaStore& raw, Clock& clock, AuthoritySlot& slot, std::size_t waiting_max);
  // Nobody may be in Commit. Waits for what is in flight.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // As FencedStore::Commit, for a publication that was checked already. Returns at the latest when
  // `deadline` has passed.
  Result<metastore::CommitResult> Commit(const metastore::Transaction& publication,
                                         Epoch begun_under, Deadline deadline) EXCLUDES(mutex_);

 private:
  // A publication on its way. Owned by its caller and by the lane, because a caller whose deadline
  // passes leaves while the transaction is in flight.
  struct Waiting {
    enum class State { kQueued, kInFlight, kAnswered };

    Waiting(const metastore::Transaction& p, Epoch e, Deadline d)
        : publication(p), begun_under(e), deadline(d) {}

    const metastore::Transaction publication;
    const Epoch begun_under;
    const Deadline deadline;
    // All below is guarded by the lane's mutex.
    State state = State::kQueued;
    bool alone = false;      // Was part of a combination that the store found invalid.
    bool abandoned = false;  // Its caller has left without an answer.
    std::optional<Result<metastore::CommitResult>> answer;
    CondVar answered;
  };

  using WaitingPtr = std::shared_ptr<Waiting>;

  // A transaction to send, and whose it is.
  struct Flight {
    Authority authority;
    Combination combination;
    std::vector<WaitingPtr> members;
    Deadline deadline;
  };

  void Run() EXCLUDES(mutex_);
  // Waits for work; nothing when the lane is going away.
  std::optional<Flight> NextFlight() EXCLUDES(mutex_);
  // Those whose time is over and those whose epoch is not the present one are answered and leave.
  void AnswerHopeless(const Result<Authority>& authority) REQUIRES(mutex_);
  // Takes the first in the queue and as many of those behind it as fit.
  std::optional<Flight> Pack(const Authority& authority) REQUIRES(mutex_);
  void Land(const Flight& flight, const Result<metastore::CommitResult>& result) EXCLUDES(mutex_);
  void LandRejected(const Flight& flight, const metastore::Rejected& rejected) REQUIRES(mutex_);
  void LandError(const Flight& flight, const Error& error) REQUIRES(mutex_);
  // Puts them back before everything that waits, in order; drops those that nobody waits for.
  void Requeue(const std::vector<WaitingPtr>& members) REQUIRES(mutex_);
  static void Answer(Waiting& waiting, Result<metastore::CommitResult> answer);

  metastore::MetaStore& raw_;
  Clock& clock_;
  AuthoritySlot& slot_;
  const std::size_t waiting_max_;
  Mutex mutex_;
  CondVar work_;  // A publication came, or stopping_ was set.
  std::deque<WaitingPtr> queue_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::unique_ptr<Thread> thread_;
};

}  // namespace lake::lease
