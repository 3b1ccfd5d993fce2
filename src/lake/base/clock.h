#pragma once

#include "lake/base/mutex.h"
#include "lake/base/thread_annotations.h"
#include "lake/base/time.h"

namespace lake {

// Where time comes from. Everything that reads a clock or waits for one takes a Clock&, so that a
// test owns time. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Returns the current instant of the boot-time clock. Never goes back.
  virtual Instant Now() const = 0;
  // Returns the civil time. May jump either way.
  virtual WallTime WallNow() const = 0;
  // Releases `mutex`, waits until `cv` is notified or `deadline` has passed, and owns `mutex` again
  // on return. May wake spuriously: the caller looks at its condition and at Now().
  virtual void WaitUntil(CondVar& cv, Mutex& mutex, Deadline deadline) REQUIRES(mutex) = 0;
};

// The machine's own clocks. The one place where real time is read.
class RealClock final : public Clock {
 public:
  Instant Now() const override;
  WallTime WallNow() const override;
  void WaitUntil(CondVar& cv, Mutex& mutex, Deadline deadline) REQUIRES(mutex) override;
};

}  // namespace lake
