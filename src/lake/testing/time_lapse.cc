#include "lake/testing/time_lapse.h"

namespace lake::testing {

TimeLapse::TimeLapse(ManualClock& clock)
    : clock_(clock), thread_("time-lapse", [this] { Run(); }) {}

TimeLapse::~TimeLapse() {
  const MutexLock lock(mutex_);
  stopping_ = true;
  while (!stopped_) {
    // The thread may be waiting for somebody who waits.
    clock_.WaitUntil(stopped_changed_, mutex_, Deadline::max());
  }
}

void TimeLapse::Run() {
  while (true) {
    clock_.WaitForWaiters(1);
    {
      const MutexLock lock(mutex_);
      if (stopping_) {
        stopped_ = true;
        stopped_changed_.NotifyAll();
        return;
      }
    }
    clock_.AdvanceToNextDeadline();
  }
}

}  // namespace lake::testing
