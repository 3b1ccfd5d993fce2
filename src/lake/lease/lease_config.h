#pragma once

#include <chrono>
#include <string>

#include "lake/base/result.h"
#include "lake/base/uuid.h"

namespace lake::lease {

// The times of a lease. Each process of a deployment may have its own; the ttl that counts for an
// observer is the one in the leader's heartbeat.
struct LeaseConfig {
  // How long a heartbeat must stand still before another process may take over.
  std::chrono::milliseconds ttl{10'000};
  // From the sending of one heartbeat to the next.
  std::chrono::milliseconds heartbeat{2'500};
  // The longest that one request of the election may take.
  std::chrono::milliseconds attempt{2'000};
  // How much earlier than its ttl a leader stops by itself: covers clocks that run at different
  // speeds and the time between looking at a clock and acting.
  std::chrono::milliseconds margin{1'000};
  // How often a standby reads the term, and how soon a failed request is tried again.
  std::chrono::milliseconds poll{250};

  // Checks that all are positive, that the ttl is at most kTtlMax, and that one heartbeat whose
  // request hangs for a whole attempt still leaves time for another before the authority ends:
  // heartbeat + 2 attempts <= ttl - margin. kInvalidArgument says which does not hold and with
  // which numbers.
  Status Validate() const;

  bool operator==(const LeaseConfig&) const = default;
};

// Who an election runs for. Leadership belongs to (node, session), never to an address.
struct LeaseIdentity {
  std::string node;     // Names the machine or the process for people. Stays across restarts.
  Uuid session;         // UUIDv7 made when the process starts; never used by another process.
  std::string address;  // Where this process takes forwarded requests; empty when it takes none.

  // Checks that node and session are there, and that node and address are printable ASCII without
  // spaces of at most kIdentityBytesMax bytes. kInvalidArgument names the offence.
  Status Validate() const;

  bool operator==(const LeaseIdentity&) const = default;
};

}  // namespace lake::lease
