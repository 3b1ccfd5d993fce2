#pragma once

#include "lake/base/mutex.h"
#include "lake/base/thread.h"
#include "lake/base/thread_annotations.h"
#include "lake/testing/manual_clock.h"

namespace lake::testing {

// While it lives, the time of a ManualClock passes as fast as somebody waits for it: whenever a
// thread waits on the clock, it moves to the earliest deadline that is waited for. So what waits
// for nine minutes is done at once, and threads that step aside for one another meet again.
//
//   const TimeLapse lapse(clock);
//   EXPECT_THAT(store.Commit(…), IsError(ErrorCode::kOutcomeUnknown));   // After many pauses.
//
// Time passes for everybody: threads that work, and do not wait, may find a lot of it gone.
class TimeLapse {
 public:
  // Borrows `clock` for its lifetime.
  explicit TimeLapse(ManualClock& clock);
  // Waits until time has stopped.
  ~TimeLapse();
  TimeLapse(const TimeLapse&) = delete;
  TimeLapse& operator=(const TimeLapse&) = delete;

 private:
  void Run() EXCLUDES(mutex_);

  ManualClock& clock_;
  Mutex mutex_;
  CondVar stopped_changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool stopped_ GUARDED_BY(mutex_) = false;
  Thread thread_;
};

}  // namespace lake::testing
