#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "lake/base/thread_annotations.h"
#include "lake/base/time.h"

namespace lake {

class Mutex;
class CondVar;

// The seam through which a test can decide which thread runs next. A scheduler installed for a
// thread (see ScopedScheduler) receives every lock, wait and wake-up of that thread and of the
// threads it starts; without one, the operating system does.
//
// Implementations must make Lock exclusive per mutex, and Wait atomic with respect to Notify,
// exactly as std does. Every thread that touches a given mutex runs under the same scheduler, and
// so does everything that waits with a time limit: a scheduler comes with a clock of its own.
class Scheduler {
 public:
  // Names a thread of the scheduler.
  enum class ThreadId : std::uint64_t {};

  virtual ~Scheduler() = default;
  // Blocks until the calling thread owns `mutex`.
  virtual void Lock(Mutex& mutex) = 0;
  // Gives `mutex`, which the calling thread owns, back.
  virtual void Unlock(Mutex& mutex) = 0;
  // Releases `mutex`, waits for a notification of `cv`, and owns `mutex` again on return. May wake
  // spuriously.
  virtual void Wait(CondVar& cv, Mutex& mutex) = 0;
  // Wakes one waiter of `cv`, or all of them.
  virtual void Notify(CondVar& cv, bool all) = 0;
  // The calling thread is about to start another one, which is known as the returned id from now
  // on.
  virtual ThreadId ThreadCreate() = 0;
  // The calling thread is the new one, `id`; this is its first call.
  virtual void ThreadBegin(ThreadId id) = 0;
  // The calling thread ends; this is its last call, and it must not wait for a turn: whoever joins
  // the thread has its turn.
  virtual void ThreadEnd() = 0;
  // Blocks until the thread `id` has called ThreadEnd.
  virtual void ThreadJoin(ThreadId id) = 0;

  // Returns the scheduler of the calling thread, or nullptr.
  static Scheduler* Current();
};

// Installs a scheduler for the calling thread while it lives.
class ScopedScheduler {
 public:
  explicit ScopedScheduler(Scheduler* scheduler);
  ~ScopedScheduler();
  ScopedScheduler(const ScopedScheduler&) = delete;
  ScopedScheduler& operator=(const ScopedScheduler&) = delete;

 private:
  Scheduler* previous_;
};

// A plain, non-recursive mutex. Thread-safe.
class LAKE_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  ~Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // Blocks until the calling thread owns the mutex, which it must not own already.
  void Lock() ACQUIRE();
  // Gives the mutex back; the calling thread must own it.
  void Unlock() RELEASE();

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a mutex for a scope.
class LAKE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }

  ~MutexLock() RELEASE() { mutex_.Unlock(); }

  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition variable. Waits may wake spuriously: callers loop. Waiting with a time limit is
// Clock::WaitUntil, so that a test clock decides when it ends. Thread-safe.
class CondVar {
 public:
  CondVar() = default;
  ~CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  // Releases `mutex`, waits for a notification, and owns `mutex` again on return.
  void Wait(Mutex& mutex) REQUIRES(mutex);
  // Wakes one waiter, if there is one.
  void NotifyOne();
  // Wakes every waiter.
  void NotifyAll();

 private:
  friend class RealClock;
  // Waits at most `timeout`; only the real clock measures real time.
  void WaitFor(Mutex& mutex, Duration timeout) REQUIRES(mutex);

  std::condition_variable cv_;
};

}  // namespace lake
