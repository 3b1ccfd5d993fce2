// How Advance wakes a waiter without missing it and without touching what is gone.
//
// Not missed: a waiter enters its name in waiters_ while it holds its own mutex, and gives that
// mutex up only inside CondVar::Wait. Advance notifies while it holds the waiter's mutex, so the
// waiter is then either asleep, and wakes, or has not yet looked at the time. Looking and entering
// are one step under mutex_, so a waiter that saw the old time is in the list that Advance walks
// after it set the new one.
//
// Not gone: the owner may destroy condition variable and mutex as soon as WaitUntil has returned.
// Advance cannot hold mutex_ while it takes the waiter's mutex (waiters take the two in the other
// order), so it pins the waiter first; a waiter leaves only without pins. As Advance may need the
// waiter's mutex to finish, a pinned waiter gives it up while it waits for that.

#include "lake/testing/manual_clock.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "lake/base/check.h"

namespace lake::testing {

ManualClock::ManualClock()
    : now_(std::chrono::hours(1)),
      wall_(std::chrono::sys_days(std::chrono::January / 1 / 2026).time_since_epoch()) {}

ManualClock::~ManualClock() {
  const MutexLock lock(mutex_);
  LAKE_CHECK(waiters_.empty(), "nobody waits on a clock that goes");
}

Instant ManualClock::Now() const {
  const MutexLock lock(mutex_);
  return now_;
}

WallTime ManualClock::WallNow() const {
  const MutexLock lock(mutex_);
  return WallTime(std::chrono::floor<std::chrono::milliseconds>(wall_));
}

void ManualClock::WaitUntil(CondVar& cv, Mutex& mutex, Deadline deadline) {
  std::list<Waiter>::iterator self;
  {
    const MutexLock lock(mutex_);
    if (now_ >= deadline) {
      return;
    }
    self = waiters_.insert(waiters_.end(), Waiter{.cv = cv, .mutex = mutex, .deadline = deadline});
    changed_.NotifyAll();
  }
  cv.Wait(mutex);
  mutex_.Lock();
  if (self->pins > 0) {
    mutex_.Unlock();
    mutex.Unlock();
    mutex_.Lock();
    while (self->pins > 0) {
      changed_.Wait(mutex_);
    }
    // Off the list before the mutex is taken again: nobody holds mutex_ while waiting for another
    // mutex.
    waiters_.erase(self);
    mutex_.Unlock();
    mutex.Lock();
    return;
  }
  waiters_.erase(self);
  mutex_.Unlock();
}

void ManualClock::Advance(Duration step) {
  LAKE_CHECK(step >= Duration::zero(), "instants never go back");
  {
    const MutexLock lock(mutex_);
    MoveBy(step);
  }
  WakeDue();
}

bool ManualClock::AdvanceToNextDeadline() {
  {
    const MutexLock lock(mutex_);
    Deadline next = Deadline::max();
    for (const Waiter& waiter : waiters_) {
      if (waiter.deadline > now_) {
        next = std::min(next, waiter.deadline);
      }
    }
    if (next == Deadline::max()) {
      return false;
    }
    MoveBy(next - now_);
  }
  WakeDue();
  return true;
}

void ManualClock::MoveBy(Duration step) {
  now_ += step;
  wall_ += step;
}

void ManualClock::WakeDue() {
  std::vector<std::list<Waiter>::iterator> due;
  {
    const MutexLock lock(mutex_);
    for (auto waiter = waiters_.begin(); waiter != waiters_.end(); ++waiter) {
      if (waiter->deadline <= now_) {
        ++waiter->pins;
        due.push_back(waiter);
      }
    }
  }
  for (const auto waiter : due) {
    {
      const MutexLock lock(waiter->mutex);
      waiter->cv.NotifyAll();
    }
    const MutexLock lock(mutex_);
    --waiter->pins;
    changed_.NotifyAll();
  }
}

void ManualClock::SetWall(WallTime wall) {
  const MutexLock lock(mutex_);
  wall_ = wall.time_since_epoch();
}

void ManualClock::JumpWall(Duration step) {
  const MutexLock lock(mutex_);
  wall_ += step;
}

void ManualClock::WaitForWaiters(std::size_t count) {
  const MutexLock lock(mutex_);
  while (CountWaiters() < count) {
    changed_.Wait(mutex_);
  }
}

std::size_t ManualClock::WaiterCount() const {
  const MutexLock lock(mutex_);
  return CountWaiters();
}

std::size_t ManualClock::CountWaiters() const {
  std::size_t count = 0;
  for (const Waiter& waiter : waiters_) {
    count += waiter.deadline > now_ ? 1 : 0;
  }
  return count;
}

}  // namespace lake::testing
