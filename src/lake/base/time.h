#pragma once

#include <chrono>
#include <cstdint>

namespace lake {

// A length of time, wherever one is meant.
using Duration = std::chrono::nanoseconds;

// The boot-time clock (CLOCK_BOOTTIME): it never jumps, it goes on while the machine sleeps, and it
// means nothing on another machine. Leases, deadlines and time-outs are counted on it.
struct BootClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};

// A moment of this machine's boot-time clock.
using Instant = BootClock::time_point;

// A moment of the civil clock, in milliseconds since 1970. It may jump; it only labels things
// (snapshots, ids, ages in days).
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;

// The instant after which a call may give up. Every call that can wait takes one.
using Deadline = Instant;

}  // namespace lake
