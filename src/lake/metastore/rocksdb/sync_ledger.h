#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread_annotations.h"
#include "lake/metastore/rocksdb/posix_file.h"
#include "lake/metastore/rocksdb/wal_verifier.h"

namespace lake::metastore {

// The name of the ledger's file in a store's directory.
inline constexpr std::string_view kLedgerFileName = "SYNC_LEDGER";

// A log of a store and how much of it is known to be synced.
struct LedgerEntry {
  LogKind kind = LogKind::kWal;
  std::uint64_t number = 0;
  std::uint64_t synced_bytes = 0;
  bool retired = false;  // The log is not needed any more; its file may be gone or not.

  bool operator==(const LedgerEntry&) const = default;
};

// Remembers beside a store which logs exist and how far each of them has been synced, because
// RocksDB does not notice when the newest log is missing or has become shorter. The file's format
// stands in docs/internals/metastore.md. It is also the store's lock: who holds the ledger open
// holds the store, until it is closed or its process ends, whatever else happens to the files.
//
// The rules that make it trustworthy after a crash at any point:
//   * A write-ahead log is added after its directory entry is durable, and the ledger is synced before
//     anything is written to the log. It is retired, and the ledger synced, before the log's file is
//     deleted; it is forgotten once the deletion is durable.
//   * A MANIFEST is added when it is created, and the ledger is synced before CURRENT names it. It is
//     forgotten when it is deleted.
//   * synced_bytes never exceeds what a successful sync of the log covered. The ledger is not synced
//     with every commit: after the death of the machine it may be too low, never too high.
//
// Nothing but Open, Create and Sync waits for the disk. Errors: kUnavailable when the file system
// fails; the ledger then keeps what it held. Thread-safe.
class SyncLedger {
 public:
  // How many logs a ledger can hold. A store has a handful.
  static constexpr std::size_t kEntriesMax = 112;

  // Opens the ledger of the store in `directory`, which must exist, and locks the store; creates the
  // ledger when the directory does not hold a store yet. kDeadlineExceeded when somebody holds the
  // store (the message says who): try again later. kPermissionDenied when the directory may not be
  // written. kCorruption when a store has no ledger or a damaged one.
  static Result<std::unique_ptr<SyncLedger>> Open(const std::string& directory);

  // Writes the ledger of a copied store into `directory`, which must not have one, durably. For
  // backups only: everything else goes through Open. kUnavailable and kPermissionDenied when the file
  // cannot be written.
  static Status Create(const std::string& directory, const std::vector<LedgerEntry>& entries);

  // Syncs the ledger and gives the store back.
  ~SyncLedger();
  SyncLedger(const SyncLedger&) = delete;
  SyncLedger& operator=(const SyncLedger&) = delete;

  // Returns the entries: write-ahead logs first, each kind by rising number.
  std::vector<LedgerEntry> Entries() const EXCLUDES(mutex_);

  // Records that a log exists. One that is known already starts anew. kUnavailable also when the
  // ledger is full.
  Status Add(LedgerEntry entry) EXCLUDES(mutex_);

  // Records that a log is about to be deleted. One that is not known stays unknown.
  Status Retire(LogKind kind, std::uint64_t number) EXCLUDES(mutex_);

  // Forgets a log whose file is gone. One that is not known stays unknown.
  Status Forget(LogKind kind, std::uint64_t number) EXCLUDES(mutex_);

  // Records that a log was synced up to `bytes`; a smaller number than before is ignored, and so is
  // a log that is not known.
  Status MarkSynced(LogKind kind, std::uint64_t number, std::uint64_t bytes) EXCLUDES(mutex_);

  // Makes everything recorded so far durable. Blocks on disk.
  Status Sync() EXCLUDES(mutex_);

 private:
  struct Slot {
    LedgerEntry entry;
    bool used = false;
  };

  SyncLedger(std::string directory, std::string path, Descriptor file);

  // Reads the file, or writes it for a new store.
  Status Load() EXCLUDES(mutex_);
  // Returns the slot of a log, or nullptr.
  Slot* Find(LogKind kind, std::uint64_t number) REQUIRES(mutex_);
  // Puts `content` into a slot, here and in the file. On failure the slot keeps what it held.
  Status WriteSlot(Slot& slot, const Slot& content) REQUIRES(mutex_);
  const std::string directory_;
  const std::string path_;
  const Descriptor file_;
  mutable Mutex mutex_;
  std::vector<Slot> slots_ GUARDED_BY(mutex_);
  bool dirty_ GUARDED_BY(mutex_) = false;  // Something was written since the last sync.
};

}  // namespace lake::metastore
