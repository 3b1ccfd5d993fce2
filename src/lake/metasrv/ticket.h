#pragma once

#include <optional>

#include "lake/base/clock.h"
#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread_annotations.h"
#include "lake/base/time.h"
#include "lake/metasrv/service.h"

namespace lake::metasrv {

// Joins a change that is done in its table's turn with the caller who waits for it. The caller may go away
// first: a change that has begun then goes on by itself. Thread-safe.
class Ticket {
 public:
  // Says that the change begins. False: its caller has gone, and nothing may be done for it.
  bool Begin() EXCLUDES(mutex_);

  // Says how the change ended. At most once.
  void End(Result<TableResult> result) EXCLUDES(mutex_);

  // Waits for the end and returns its result.
  //   kDeadlineExceeded   the deadline passed before the change began; it never will.
  //   kOutcomeUnknown     the deadline passed while it was being done.
  Result<TableResult> Await(Clock& clock, Deadline deadline) EXCLUDES(mutex_);

 private:
  enum class State { kWaiting, kBegun, kAbandoned };

  Mutex mutex_;
  CondVar ended_;
  State state_ GUARDED_BY(mutex_) = State::kWaiting;
  std::optional<Result<TableResult>> result_ GUARDED_BY(mutex_);
};

}  // namespace lake::metasrv
