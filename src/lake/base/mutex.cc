#include "lake/base/mutex.h"

#include "lake/base/check.h"

namespace lake {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): it belongs to a thread.
thread_local Scheduler* current_scheduler = nullptr;

}  // namespace

Scheduler* Scheduler::Current() {
  return current_scheduler;
}

ScopedScheduler::ScopedScheduler(Scheduler* scheduler) : previous_(current_scheduler) {
  current_scheduler = scheduler;
}

ScopedScheduler::~ScopedScheduler() {
  current_scheduler = previous_;
}

void Mutex::Lock() LAKE_NO_THREAD_SAFETY_ANALYSIS {
  if (Scheduler* scheduler = Scheduler::Current(); scheduler != nullptr) {
    scheduler->Lock(*this);
  } else {
    mutex_.lock();
  }
}

void Mutex::Unlock() LAKE_NO_THREAD_SAFETY_ANALYSIS {
  if (Scheduler* scheduler = Scheduler::Current(); scheduler != nullptr) {
    scheduler->Unlock(*this);
  } else {
    mutex_.unlock();
  }
}

void CondVar::Wait(Mutex& mutex) {
  if (Scheduler* scheduler = Scheduler::Current(); scheduler != nullptr) {
    scheduler->Wait(*this, mutex);
    return;
  }
  std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
  cv_.wait(lock);  // NOLINT(bugprone-spuriously-wake-up-functions): the contract hands spurious
                   // wake-ups to the caller.
  static_cast<void>(lock.release());
}

void CondVar::WaitFor(Mutex& mutex, Duration timeout) {
  LAKE_CHECK(Scheduler::Current() == nullptr, "under a scheduler, real time does not pass");
  std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
  // NOLINTNEXTLINE(bugprone-spuriously-wake-up-functions): the contract hands spurious wake-ups to
  // the caller.
  static_cast<void>(cv_.wait_for(lock, timeout));
  static_cast<void>(lock.release());
}

void CondVar::NotifyOne() {
  if (Scheduler* scheduler = Scheduler::Current(); scheduler != nullptr) {
    scheduler->Notify(*this, false);
  } else {
    cv_.notify_one();
  }
}

void CondVar::NotifyAll() {
  if (Scheduler* scheduler = Scheduler::Current(); scheduler != nullptr) {
    scheduler->Notify(*this, true);
  } else {
    cv_.notify_all();
  }
}

}  // namespace lake
