#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rocksdb/file_system.h>

#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread_annotations.h"
#include "lake/metastore/rocksdb/log_files.h"
#include "lake/metastore/rocksdb/sync_ledger.h"

namespace lake::metastore {

// Stands between RocksDB and its file system and keeps the store's ledger by the ledger's rules: it
// sees every log being created, synced and deleted. Files outside the store's directory (a backup
// being made) pass through. Thread-safe.
class TrackedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  // Borrows `ledger` for its lifetime. `directory` is the store's, as RocksDB is told it.
  TrackedFileSystem(const std::shared_ptr<rocksdb::FileSystem>& base, std::string directory,
                    SyncLedger& ledger);

  const char* Name() const override { return "LakeTrackedFileSystem"; }

  // Returns how often something was appended to a write-ahead log, successfully or not. When a
  // write to RocksDB fails and this has not changed, the write has certainly not been applied.
  std::uint64_t wal_appends() const { return wal_appends_; }

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;

 private:
  // Returns the log of this store that a path names, or nothing.
  std::optional<LogName> TrackedLog(const std::string& path) const;

  // Keeps the ledger's rules for a log that has just been created, or is about to be deleted.
  Status AddLog(LogName name) EXCLUDES(mutex_);
  Status RetireLog(LogName name);
  // Makes the directory's entries durable and forgets the logs whose deletion became durable so.
  Status SyncDirectoryAndForget() EXCLUDES(mutex_);

  const std::string directory_;
  const std::string current_path_;
  SyncLedger& ledger_;
  std::atomic<std::uint64_t> wal_appends_ = 0;
  Mutex mutex_;
  std::vector<LogName> deleted_ GUARDED_BY(mutex_);  // Retired write-ahead logs without a file.
};

}  // namespace lake::metastore
