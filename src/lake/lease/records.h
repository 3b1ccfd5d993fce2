#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/lease/epoch.h"

namespace lake::lease {

// The partition of the lease's records. Nothing but the election writes below it.
inline constexpr std::string_view kLeasePrefix = "lease/";
inline constexpr std::string_view kTermKey = "lease/term";
inline constexpr std::string_view kHeartbeatKey = "lease/heartbeat";

// The format number that this version writes, and the newest it reads.
inline constexpr std::int64_t kRecordFormat = 1;

// The largest time to live that a heartbeat may claim. A larger one is taken for damage: nobody
// could take over within reason.
inline constexpr std::chrono::milliseconds kTtlMax = std::chrono::hours(1);

// The longest node name and the longest address that an election writes.
inline constexpr std::size_t kIdentityBytesMax = 255;

// Who leads, under which epoch. Changed only by a takeover and by a release, so that its bytes stay
// the same for a whole term: publications are fenced with them.
struct TermRecord {
  enum class State { kHeld, kReleased };

  Epoch epoch;          // At least 1.
  std::string node;     // Not empty.
  Uuid session;         // Of the process: a node that restarts has another one.
  std::string address;  // Where the leader takes forwarded requests; may be empty.
  State state = State::kHeld;
  // Members that this version does not know, as a JSON object; empty when there are none. They
  // survive a rewrite.
  std::string unknown_members;

  bool operator==(const TermRecord&) const = default;
};

// Proof that the leader of an epoch lives. Every heartbeat changes it.
struct HeartbeatRecord {
  Epoch epoch;                       // At least 1.
  Uuid session;                      // The leader's.
  std::uint64_t beat = 0;            // 0 when the term is won, one more with every heartbeat.
  std::chrono::milliseconds ttl{0};  // From 1 ms to kTtlMax.
  std::string unknown_members;       // As above.

  bool operator==(const HeartbeatRecord&) const = default;
};

// Returns the stored form. Equal records give equal bytes, and records of different terms, states
// or beats give different ones. What is compared in the store is always the bytes that were read,
// never another encoding of them.
std::string Encode(const TermRecord& record);
std::string Encode(const HeartbeatRecord& record);

// Reads the stored form. kCorruption: the bytes are not such a record; the message says what is
// wrong. kUnimplemented: a newer version of Lake wrote it; run that version.
Result<TermRecord> DecodeTerm(std::string_view bytes);
Result<HeartbeatRecord> DecodeHeartbeat(std::string_view bytes);

}  // namespace lake::lease
