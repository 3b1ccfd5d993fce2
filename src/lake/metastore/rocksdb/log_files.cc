#include "lake/metastore/rocksdb/log_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "lake/base/log.h"
#include "lake/metastore/rocksdb/posix_file.h"

namespace lake::metastore {
namespace {

constexpr std::string_view kWalSuffix = ".log";
constexpr std::string_view kManifestPrefix = "MANIFEST-";
constexpr std::string_view kTableSuffix = ".sst";
// The MANIFEST that RocksDB writes first of all in a new store, before CURRENT exists.
constexpr LogName kFirstManifest = {.kind = LogKind::kManifest, .number = 1};

std::optional<std::uint64_t> ParseNumber(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(digits.begin(), digits.end(), number);
  if (failure != std::errc() || end != digits.end()) {
    return std::nullopt;
  }
  return number;
}

Result<std::vector<std::string>> ListFiles(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code failure;
  std::filesystem::directory_iterator entry(directory, failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    names.push_back(entry->path().filename());
  }
  if (failure) {
    return PosixError("list", directory, failure.value());
  }
  return names;
}

// The logs of a store that is being checked.
struct StoreLogs {
  std::string directory;
  std::vector<LedgerEntry> known;
  std::vector<std::string> files;

  std::string Path(std::string_view file) const { return fmt::format("{}/{}", directory, file); }

  bool Exists(std::string_view file) const { return std::ranges::find(files, file) != files.end(); }

  bool Knows(LogName name) const {
    return std::ranges::any_of(known, [name](const LedgerEntry& entry) {
      return LogName{entry.kind, entry.number} == name;
    });
  }
};

std::unexpected<Error> Damage(const std::string& path, std::string_view reason) {
  return Corruption(
      fmt::format("{}: {}; commits may be lost: restore the last backup", path, reason));
}

// Checks that exactly the write-ahead logs exist that the ledger knows. One that it does not know may
// be empty: then it was just being created.
Status CheckPresence(const StoreLogs& logs) {
  for (const LedgerEntry& entry : logs.known) {
    const std::string file = LogFileName({.kind = entry.kind, .number = entry.number});
    if (entry.kind == LogKind::kWal && !entry.retired && !logs.Exists(file)) {
      return Damage(logs.Path(file),
                    fmt::format("missing at byte 0, although {} bytes of it had been synced",
                                entry.synced_bytes));
    }
  }
  for (const std::string& file : logs.files) {
    const std::optional<LogName> name = ParseLogName(file);
    if (!name.has_value() || name->kind == LogKind::kManifest || logs.Knows(*name)) {
      continue;
    }
    LAKE_TRY(const std::string content, ReadFile(logs.Path(file)));
    if (!content.empty()) {
      return Damage(
          logs.Path(file),
          fmt::format("not empty at byte 0, although {} does not know this log", kLedgerFileName));
    }
  }
  return {};
}

// Returns the MANIFEST that describes the store, or nothing when the store was never finished.
Result<std::optional<LogName>> CheckCurrent(const StoreLogs& logs) {
  const std::string path = logs.Path(kCurrentFileName);
  if (!logs.Exists(kCurrentFileName)) {
    for (const LedgerEntry& entry : logs.known) {
      if (LogName{entry.kind, entry.number} != kFirstManifest) {
        return Damage(path, "missing at byte 0");
      }
    }
    return std::nullopt;
  }
  LAKE_TRY(const std::string content, ReadFile(path));
  std::string_view file = content;
  if (!file.ends_with('\n')) {
    return Damage(path, "damaged at byte 0: it does not end with a line feed");
  }
  file.remove_suffix(1);
  const std::optional<LogName> name = ParseLogName(file);
  if (!name.has_value() || name->kind != LogKind::kManifest || !logs.Knows(*name) ||
      !logs.Exists(file)) {
    return Damage(path, "damaged at byte 0: it does not name a manifest of this store");
  }
  return name;
}

// Forgets the logs that are not needed and have no file: their deletion was begun, or a manifest was
// never finished.
Status ForgetDeleted(const StoreLogs& logs, SyncLedger& ledger) {
  for (const LedgerEntry& entry : logs.known) {
    const bool needed = entry.kind == LogKind::kWal && !entry.retired;
    if (!needed && !logs.Exists(LogFileName({.kind = entry.kind, .number = entry.number}))) {
      // The deletion must not be undone by a later death of the machine.
      LAKE_TRY_VOID(SyncDirectory(logs.directory));
      LAKE_TRY_VOID(ledger.Forget(entry.kind, entry.number));
    }
  }
  return {};
}

// Verifies one log and cuts off an interrupted write.
Result<LogVerdict> CheckLog(const std::string& path, const LedgerEntry& entry,
                            std::uint64_t last_sequence) {
  LAKE_TRY(const std::string content, ReadFile(path));
  LAKE_TRY(const LogVerdict verdict, VerifyLog(content, {.name = path,
                                                         .kind = entry.kind,
                                                         .synced_bytes = entry.synced_bytes,
                                                         .last_sequence = last_sequence}));
  if (verdict.whole_bytes < content.size()) {
    // RocksDB would drop the same bytes in most cases, but not in all: it refuses some of them.
    Log(LogLevel::kInfo, fmt::format("{}: cut {} bytes of an interrupted write at byte {}", path,
                                     content.size() - verdict.whole_bytes, verdict.whole_bytes));
    LAKE_TRY_VOID(TruncateFile(path, verdict.whole_bytes));
  }
  return verdict;
}

// Deletes the write-ahead logs that hold nothing. RocksDB makes a log at every opening and deletes those
// whose commits are in tables, but leaves one into which nothing was written, for ever.
Status RemoveEmptyLogs(const StoreLogs& logs, SyncLedger& ledger) {
  std::vector<LogName> empty;
  for (const std::string& file : logs.files) {
    const std::optional<LogName> name = ParseLogName(file);
    if (!name.has_value() || name->kind != LogKind::kWal) {
      continue;
    }
    LAKE_TRY(const std::uint64_t bytes, FileSize(logs.Path(file)));
    if (bytes == 0) {
      LAKE_TRY_VOID(ledger.Retire(name->kind, name->number));
      empty.push_back(*name);
    }
  }
  if (empty.empty()) {
    return {};
  }
  LAKE_TRY_VOID(ledger.Sync());
  for (const LogName& name : empty) {
    LAKE_TRY_VOID(DeleteFile(logs.Path(LogFileName(name))));
  }
  LAKE_TRY_VOID(SyncDirectory(logs.directory));
  for (const LogName& name : empty) {
    LAKE_TRY_VOID(ledger.Forget(name.kind, name.number));
  }
  return {};
}

// Write-ahead logs first, each kind by rising number.
void SortLogs(std::vector<LedgerEntry>& logs) {
  std::ranges::sort(logs, {}, [](const LedgerEntry& entry) {
    return std::pair(entry.kind != LogKind::kWal, entry.number);
  });
}

}  // namespace

std::optional<LogName> ParseLogName(std::string_view file_name) {
  LogName name;
  if (file_name.ends_with(kWalSuffix)) {
    file_name.remove_suffix(kWalSuffix.size());
  } else if (file_name.starts_with(kManifestPrefix)) {
    name.kind = LogKind::kManifest;
    file_name.remove_prefix(kManifestPrefix.size());
  } else {
    return std::nullopt;
  }
  const std::optional<std::uint64_t> number = ParseNumber(file_name);
  if (!number.has_value()) {
    return std::nullopt;
  }
  name.number = *number;
  return name;
}

std::string LogFileName(LogName name) {
  return name.kind == LogKind::kWal ? fmt::format("{:06}{}", name.number, kWalSuffix)
                                    : fmt::format("{}{:06}", kManifestPrefix, name.number);
}

Result<bool> HoldsStore(const std::string& directory) {
  LAKE_TRY(const std::vector<std::string> files, ListFiles(directory));
  return std::ranges::any_of(files, [](const std::string& file) {
    return file == kCurrentFileName || file.ends_with(kTableSuffix) ||
           ParseLogName(file).has_value();
  });
}

Status CheckLogs(const std::string& directory, SyncLedger& ledger) {
  StoreLogs logs = {.directory = directory, .known = ledger.Entries()};
  LAKE_TRY(logs.files, ListFiles(directory));
  LAKE_TRY_VOID(CheckPresence(logs));
  LAKE_TRY(const std::optional<LogName> manifest, CheckCurrent(logs));
  LAKE_TRY_VOID(ForgetDeleted(logs, ledger));
  std::uint64_t last_sequence = 0;
  for (const LedgerEntry& entry : logs.known) {
    const LogName name = {.kind = entry.kind, .number = entry.number};
    if (entry.retired) {
      continue;  // Its commits are in tables.
    }
    if (name.kind == LogKind::kManifest && name != manifest) {
      continue;  // It described an earlier state, or it was never finished.
    }
    LAKE_TRY(const LogVerdict verdict,
             CheckLog(logs.Path(LogFileName(name)), entry, last_sequence));
    last_sequence = verdict.last_sequence;
  }
  return RemoveEmptyLogs(logs, ledger);
}

Result<std::vector<LedgerEntry>> CheckCopiedLogs(const std::string& directory) {
  LAKE_TRY(const std::vector<std::string> files, ListFiles(directory));
  std::vector<LedgerEntry> logs;
  for (const std::string& file : files) {
    if (const std::optional<LogName> name = ParseLogName(file)) {
      logs.push_back({.kind = name->kind, .number = name->number});
    }
  }
  SortLogs(logs);
  std::uint64_t last_sequence = 0;
  for (LedgerEntry& entry : logs) {
    const std::string file = LogFileName({.kind = entry.kind, .number = entry.number});
    LAKE_TRY(const LogVerdict verdict,
             CheckLog(fmt::format("{}/{}", directory, file), entry, last_sequence));
    entry.synced_bytes = verdict.whole_bytes;
    last_sequence = verdict.last_sequence;
  }
  return logs;
}

}  // namespace lake::metastore
