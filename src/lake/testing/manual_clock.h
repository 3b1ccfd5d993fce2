#pragma once

#include <cstddef>
#include <list>

#include "lake/base/clock.h"
#include "lake/base/mutex.h"
#include "lake/base/thread_annotations.h"
#include "lake/base/time.h"

namespace lake::testing {

// A clock that moves only when a test says so. Thread-safe.
//
// A thread in WaitUntil waits without real time: it goes on when the clock reaches its deadline or
// somebody notifies its condition variable. To move time while threads wait, a test first makes
// sure that they do:
//
//   clock.WaitForWaiters(1);              // The election sleeps until its next heartbeat.
//   clock.Advance(heartbeat_interval);    // It wakes up.
class ManualClock final : public Clock {
 public:
  // Starts at an arbitrary instant well after zero, and at 2026-01-01T00:00:00Z.
  ManualClock();
  // Nobody may be waiting any more.
  ~ManualClock() override;
  ManualClock(const ManualClock&) = delete;
  ManualClock& operator=(const ManualClock&) = delete;

  Instant Now() const override EXCLUDES(mutex_);
  WallTime WallNow() const override EXCLUDES(mutex_);
  void WaitUntil(CondVar& cv, Mutex& mutex, Deadline deadline) override REQUIRES(mutex)
      EXCLUDES(mutex_);

  // Moves both clocks forward by `step`, which must not be negative, and wakes every thread whose
  // deadline has come. It may return before they run. The caller must not hold a mutex with which
  // somebody waits on this clock: Advance takes it.
  void Advance(Duration step) EXCLUDES(mutex_);

  // Moves both clocks to the earliest deadline for which somebody waits, and wakes who waits for it,
  // as Advance does. Returns false, with nothing done, when nobody waits.
  bool AdvanceToNextDeadline() EXCLUDES(mutex_);

  // Sets the civil time alone, forwards or back; instants, and so waiters, are not touched.
  void SetWall(WallTime wall) EXCLUDES(mutex_);
  // Moves the civil time alone by `step`, forwards or back.
  void JumpWall(Duration step) EXCLUDES(mutex_);

  // Waits (in real time, without limit) until at least `count` threads are in WaitUntil with a
  // deadline that has not come. Threads that the last Advance woke do not count any more; a thread
  // that was notified on its condition variable counts until it has left WaitUntil.
  void WaitForWaiters(std::size_t count) EXCLUDES(mutex_);

  // Returns how many threads WaitForWaiters would count now.
  std::size_t WaiterCount() const EXCLUDES(mutex_);

 private:
  // A thread in WaitUntil. Lives in waiters_ from before it sleeps until it has left.
  struct Waiter {
    CondVar& cv;
    Mutex& mutex;
    Deadline deadline;
    std::size_t pins = 0;  // Advance calls that are about to touch cv and mutex: the waiter must
                           // not leave before they have.
  };

  void MoveBy(Duration step) REQUIRES(mutex_);
  // Wakes every thread whose deadline has come.
  void WakeDue() EXCLUDES(mutex_);
  std::size_t CountWaiters() const REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;  // A waiter came, or a pin went.
  Instant now_ GUARDED_BY(mutex_);
  Duration wall_
      GUARDED_BY(mutex_);  // Since 1970, finer than WallTime, so that many small steps add up.
  std::list<Waiter> waiters_ GUARDED_BY(mutex_);
};

}  // namespace lake::testing
