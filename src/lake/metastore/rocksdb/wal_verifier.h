#pragma once

#include <cstdint>
#include <string_view>

#include "lake/base/result.h"

namespace lake::metastore {

// Which of RocksDB's two kinds of log a file is. Both have the format of blocks and records that
// docs/internals/metastore.md describes.
enum class LogKind {
  // A write-ahead log (NNNNNN.log). Every record is a write batch and is synced before the next one
  // is begun, so at most the last one can be unfinished.
  kWal,
  // A MANIFEST. Several records may be written before one sync.
  kManifest,
};

// What is known about a log from elsewhere.
struct LogFacts {
  std::string_view name;  // For messages.
  LogKind kind = LogKind::kWal;
  std::uint64_t synced_bytes = 0;  // A sync up to here has succeeded; zero when nothing is known.
  // For kWal: the last sequence number of the logs before this one.
  std::uint64_t last_sequence = 0;
};

// What a healthy log holds.
struct LogVerdict {
  // The whole records end here. What follows is a write that a crash interrupted before it was
  // synced: it was never acknowledged and may be cut off.
  std::uint64_t whole_bytes = 0;
  std::uint64_t last_sequence = 0;  // For kWal: of the last whole record, or LogFacts'.

  bool operator==(const LogVerdict&) const = default;
};

// Tells a log that a crash interrupted from one that was damaged later. A crash is assumed to leave
// each 512-byte sector that had not been synced as it was written, zero, or beyond the end of the
// file. Then:
//
//   * A log that only a crash has touched is never refused: the verdict tells how much of it stands.
//   * Damage before `synced_bytes` is always kCorruption.
//   * Damage behind it is kCorruption unless a crash could have left exactly these bytes. That is so
//     only when the damage looks like missing or zeroed sectors at the end of the log.
//
// kCorruption names the log and the offset of the first record that cannot be read.
Result<LogVerdict> VerifyLog(std::string_view bytes, const LogFacts& facts);

}  // namespace lake::metastore
