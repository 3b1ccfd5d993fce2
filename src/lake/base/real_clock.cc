#include <time.h>

#include <algorithm>
#include <chrono>

#include "lake/base/check.h"
#include "lake/base/clock.h"
#include "lake/base/mutex.h"
#include "lake/base/time.h"

namespace lake {

Instant RealClock::Now() const {
  timespec now{};
  LAKE_CHECK(clock_gettime(CLOCK_BOOTTIME, &now) == 0, "the boot-time clock can be read");
  return Instant(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

WallTime RealClock::WallNow() const {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

void RealClock::WaitUntil(CondVar& cv, Mutex& mutex, Deadline deadline) {
  // The condition variable counts on CLOCK_MONOTONIC, which stands still while the machine is
  // suspended; bounded pieces make sure that a wake-up after a suspend is noticed within a second.
  const Instant now = Now();
  if (now < deadline) {
    cv.WaitFor(mutex, std::min<Duration>(deadline - now, std::chrono::seconds(1)));
  }
}

}  // namespace lake
