#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/metastore/rocksdb/sync_ledger.h"
#include "lake/metastore/rocksdb/wal_verifier.h"

namespace lake::metastore {

// The file that names a store's MANIFEST.
inline constexpr std::string_view kCurrentFileName = "CURRENT";

// A log as RocksDB names its file: "000012.log" or "MANIFEST-000011".
struct LogName {
  LogKind kind = LogKind::kWal;
  std::uint64_t number = 0;

  bool operator==(const LogName&) const = default;
};

// Returns the log that a file name (without directory) names, or nothing.
std::optional<LogName> ParseLogName(std::string_view file_name);
// Returns the file name of a log.
std::string LogFileName(LogName name);

// Returns whether the directory holds files of a store other than its ledger and locks. kUnavailable
// and kPermissionDenied when it cannot be read.
Result<bool> HoldsStore(const std::string& directory);

// Checks every log of the closed store in `directory`, whose lock the caller holds, against its
// ledger, and cuts off what an interrupted write has left at a log's end. To be called before RocksDB
// opens the store. Blocks on disk, for about a second per GiB of logs.
//
// kCorruption, with file and offset, when a log is missing, damaged, or not the one that the ledger
// knows. kUnavailable and kPermissionDenied when a file cannot be read or cut.
Status CheckLogs(const std::string& directory, SyncLedger& ledger);

// Verifies the logs of a copy that RocksDB has made of an open store, of which nothing is known yet,
// cuts off what was still being written when it was copied, and returns what the copy's ledger must
// say. Blocks and fails like CheckLogs.
Result<std::vector<LedgerEntry>> CheckCopiedLogs(const std::string& directory);

}  // namespace lake::metastore
