#include "lake/metastore/rocksdb/commit_queue.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "lake/base/check.h"

namespace lake::metastore {

// A thread in Wait. It shares the waiter with the queue, because it may leave at its deadline while
// its group is being written. Each waiter has a mutex and a condition variable of its own: a group is
// woken without its members fighting over one lock.
struct CommitQueue::Waiter {
  enum class State : std::uint8_t {
    kQueued,      // May leave at its deadline: it is not applied.
    kEvaluating,  // The leader reads the transaction: must stay.
    kWriting,     // May leave at its deadline: the outcome is unknown.
    kAnswered,
    kLeading,
    kWithdrawn,  // Left while queued.
  };

  explicit Waiter(const Transaction& transaction)
      : bytes(transaction.byte_size()), member{.transaction = &transaction} {}

  const std::size_t bytes;
  GroupMember member;  // Belongs to the leader until the state is kAnswered.
  Mutex mutex;
  CondVar changed;
  State state GUARDED_BY(mutex) = State::kQueued;
  bool impatient GUARDED_BY(mutex) = false;  // Waits for the end of kEvaluating.
};

CommitQueue::CommitQueue(const Options& options, Clock& clock, GroupTarget& target)
    : options_(options), clock_(clock), target_(target) {}

Result<CommitResult> CommitQueue::Commit(const Transaction& transaction, Deadline deadline) {
  std::shared_ptr<Waiter> waiter;
  {
    const MutexLock lock(mutex_);
    if (leading_) {
      if (waiting_.size() >= options_.waiting_max) {
        return Unavailable(
            fmt::format("commit: {} transactions wait already; try again later", waiting_.size()));
      }
      waiter = std::make_shared<Waiter>(transaction);
      waiting_.push_back(waiter);
    } else {
      leading_ = true;
    }
  }
  if (waiter != nullptr) {
    if (std::optional<Result<CommitResult>> answer = Wait(*waiter, deadline)) {
      return *std::move(answer);
    }
  }
  return Lead(transaction);
}

std::optional<Result<CommitResult>> CommitQueue::Wait(Waiter& waiter, Deadline deadline) {
  using State = Waiter::State;
  const MutexLock lock(waiter.mutex);
  while (true) {
    switch (waiter.state) {
      case State::kAnswered:
        return std::move(waiter.member.answer);
      case State::kLeading:
        return std::nullopt;
      case State::kQueued:
        if (clock_.Now() >= deadline) {
          waiter.state = State::kWithdrawn;
          return DeadlineExceeded("commit: the deadline passed in the queue; nothing was done");
        }
        break;
      case State::kWriting:
        if (clock_.Now() >= deadline) {
          return OutcomeUnknown(
              "commit: the deadline passed while the transaction was being written; read back");
        }
        break;
      case State::kEvaluating:
        if (clock_.Now() >= deadline) {
          waiter.impatient = true;
          waiter.changed.Wait(waiter.mutex);
          continue;
        }
        break;
      case State::kWithdrawn:
        LAKE_CHECK(false, "a withdrawn waiter does not wait");
    }
    clock_.WaitUntil(waiter.changed, waiter.mutex, deadline);
  }
}

Result<CommitResult> CommitQueue::Lead(const Transaction& transaction) {
  using State = Waiter::State;
  GroupMember mine = {.transaction = &transaction};
  std::vector<std::shared_ptr<Waiter>> followers = TakeGroup(transaction.byte_size());
  std::vector<GroupMember*> group = {&mine};
  for (const std::shared_ptr<Waiter>& waiter : followers) {
    group.push_back(&waiter->member);
  }
  target_.Evaluate(group);
  for (const std::shared_ptr<Waiter>& waiter : followers) {
    const MutexLock lock(waiter->mutex);
    waiter->state = State::kWriting;
    if (waiter->impatient) {
      waiter->changed.NotifyOne();
    }
  }
  target_.Write(group);
  // The next group begins while this one's members are still being woken.
  PassOn();
  for (const std::shared_ptr<Waiter>& waiter : followers) {
    {
      const MutexLock lock(waiter->mutex);
      waiter->state = State::kAnswered;
    }
    waiter->changed.NotifyOne();
  }
  return std::move(mine.answer);
}

std::vector<std::shared_ptr<CommitQueue::Waiter>> CommitQueue::TakeGroup(std::size_t bytes) {
  std::vector<std::shared_ptr<Waiter>> taken;
  {
    const MutexLock lock(mutex_);
    while (!waiting_.empty() && taken.size() + 1 < options_.group_members_max &&
           bytes + waiting_.front()->bytes <= options_.group_bytes_max) {
      bytes += waiting_.front()->bytes;
      taken.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
  }
  std::erase_if(taken, [](const std::shared_ptr<Waiter>& waiter) {
    const MutexLock lock(waiter->mutex);
    if (waiter->state == Waiter::State::kWithdrawn) {
      return true;
    }
    waiter->state = Waiter::State::kEvaluating;
    return false;
  });
  return taken;
}

void CommitQueue::PassOn() {
  std::shared_ptr<Waiter> next;
  {
    const MutexLock lock(mutex_);
    LAKE_CHECK(leading_, "only a leader passes on");
    while (!waiting_.empty() && next == nullptr) {
      std::shared_ptr<Waiter> first = std::move(waiting_.front());
      waiting_.pop_front();
      const MutexLock waiter_lock(first->mutex);
      if (first->state == Waiter::State::kQueued) {
        first->state = Waiter::State::kLeading;
        next = first;
      }
    }
    leading_ = next != nullptr;
  }
  if (next != nullptr) {
    next->changed.NotifyOne();
  }
}

}  // namespace lake::metastore
