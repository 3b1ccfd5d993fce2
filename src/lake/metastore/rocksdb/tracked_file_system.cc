#include <algorithm>
#include <atomic>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/file_system.h>
#include <rocksdb/io_status.h>

#include "lake/metastore/rocksdb/posix_file.h"
#include "lake/metastore/rocksdb/tracked_file_system_internal.h"

namespace lake::metastore {
namespace {

rocksdb::IOStatus ToIoStatus(const Status& status) {
  return status.has_value() ? rocksdb::IOStatus::OK()
                            : rocksdb::IOStatus::IOError(status.error().message());
}

// A log being written. RocksDB appends from one thread at a time; a sync may run beside an append and
// then vouches only for what had been appended when it began.
class TrackedLogFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  TrackedLogFile(std::unique_ptr<rocksdb::FSWritableFile> file, LogName name, SyncLedger& ledger,
                 std::atomic<std::uint64_t>& wal_appends)
      : FSWritableFileOwnerWrapper(std::move(file)),
        name_(name),
        ledger_(ledger),
        wal_appends_(wal_appends) {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    CountAppend();
    return Count(data.size(), FSWritableFileOwnerWrapper::Append(data, options, debug));
  }

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& verification,
                           rocksdb::IODebugContext* debug) override {
    CountAppend();
    return Count(data.size(),
                 FSWritableFileOwnerWrapper::Append(data, options, verification, debug));
  }

  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* debug) override {
    const std::uint64_t bytes = appended_bytes_;
    return Record(bytes, FSWritableFileOwnerWrapper::Sync(options, debug));
  }

  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override {
    const std::uint64_t bytes = appended_bytes_;
    return Record(bytes, FSWritableFileOwnerWrapper::Fsync(options, debug));
  }

 private:
  void CountAppend() {
    if (name_.kind == LogKind::kWal) {
      ++wal_appends_;
    }
  }

  rocksdb::IOStatus Count(std::size_t bytes, rocksdb::IOStatus appended) {
    if (appended.ok()) {
      appended_bytes_ += bytes;
    }
    return appended;
  }

  rocksdb::IOStatus Record(std::uint64_t bytes, const rocksdb::IOStatus& synced) {
    return synced.ok() ? ToIoStatus(ledger_.MarkSynced(name_.kind, name_.number, bytes)) : synced;
  }

  const LogName name_;
  SyncLedger& ledger_;
  std::atomic<std::uint64_t>& wal_appends_;
  std::atomic<std::uint64_t> appended_bytes_ = 0;
};

}  // namespace

TrackedFileSystem::TrackedFileSystem(const std::shared_ptr<rocksdb::FileSystem>& base,
                                     std::string directory, SyncLedger& ledger)
    : FileSystemWrapper(base),
      directory_(std::move(directory)),
      current_path_(fmt::format("{}/{}", directory_, kCurrentFileName)),
      ledger_(ledger) {}

std::optional<LogName> TrackedFileSystem::TrackedLog(const std::string& path) const {
  std::string_view file = path;
  if (!file.starts_with(directory_)) {
    return std::nullopt;
  }
  file.remove_prefix(directory_.size());
  if (!file.starts_with('/') || file.rfind('/') != 0) {
    return std::nullopt;
  }
  return ParseLogName(file.substr(1));
}

Status TrackedFileSystem::SyncDirectoryAndForget() {
  std::vector<LogName> deleted;
  {
    const MutexLock lock(mutex_);
    deleted.swap(deleted_);
  }
  Status status = SyncDirectory(directory_);
  while (status.has_value() && !deleted.empty()) {
    status = ledger_.Forget(deleted.back().kind, deleted.back().number);
    if (status.has_value()) {
      deleted.pop_back();
    }
  }
  const MutexLock lock(mutex_);
  deleted_.insert(deleted_.end(), deleted.begin(), deleted.end());
  return status;
}

Status TrackedFileSystem::RetireLog(LogName name) {
  LAKE_TRY_VOID(ledger_.Retire(name.kind, name.number));
  return ledger_.Sync();
}

Status TrackedFileSystem::AddLog(LogName name) {
  if (name.kind == LogKind::kWal) {
    LAKE_TRY_VOID(SyncDirectoryAndForget());
  }
  LAKE_TRY_VOID(ledger_.Add({.kind = name.kind, .number = name.number}));
  if (name.kind == LogKind::kWal) {
    LAKE_TRY_VOID(ledger_.Sync());
  }
  return {};
}

rocksdb::IOStatus TrackedFileSystem::NewWritableFile(
    const std::string& path, const rocksdb::FileOptions& options,
    std::unique_ptr<rocksdb::FSWritableFile>* result, rocksdb::IODebugContext* debug) {
  const std::optional<LogName> name = TrackedLog(path);
  if (!name.has_value()) {
    return FileSystemWrapper::NewWritableFile(path, options, result, debug);
  }
  const std::vector<LedgerEntry> known = ledger_.Entries();
  const bool holds_commits = std::ranges::any_of(known, [&name](const LedgerEntry& entry) {
    return entry.kind == LogKind::kWal && LogName{entry.kind, entry.number} == *name &&
           entry.synced_bytes > 0;
  });
  if (holds_commits) {
    return rocksdb::IOStatus::IOError(path, "this log exists and holds commits");
  }
  std::unique_ptr<rocksdb::FSWritableFile> file;
  rocksdb::IOStatus status = FileSystemWrapper::NewWritableFile(path, options, &file, debug);
  if (status.ok()) {
    status = ToIoStatus(AddLog(*name));
  }
  if (status.ok()) {
    *result = std::make_unique<TrackedLogFile>(std::move(file), *name, ledger_, wal_appends_);
  }
  return status;
}

rocksdb::IOStatus TrackedFileSystem::ReuseWritableFile(
    const std::string& path, const std::string& old_path, const rocksdb::FileOptions& options,
    std::unique_ptr<rocksdb::FSWritableFile>* result, rocksdb::IODebugContext* debug) {
  if (TrackedLog(path).has_value() || TrackedLog(old_path).has_value()) {
    return rocksdb::IOStatus::NotSupported(path, "a log is never reused");
  }
  return FileSystemWrapper::ReuseWritableFile(path, old_path, options, result, debug);
}

rocksdb::IOStatus TrackedFileSystem::DeleteFile(const std::string& path,
                                                const rocksdb::IOOptions& options,
                                                rocksdb::IODebugContext* debug) {
  const std::optional<LogName> name = TrackedLog(path);
  rocksdb::IOStatus status;
  if (name.has_value() && name->kind == LogKind::kWal) {
    status = ToIoStatus(RetireLog(*name));
  }
  if (status.ok()) {
    status = FileSystemWrapper::DeleteFile(path, options, debug);
  }
  if (status.ok() && name.has_value()) {
    if (name->kind == LogKind::kManifest) {
      return ToIoStatus(ledger_.Forget(name->kind, name->number));
    }
    // Not forgotten yet: the file would come back as an unknown log if the machine died now.
    const MutexLock lock(mutex_);
    deleted_.push_back(*name);
  }
  return status;
}

rocksdb::IOStatus TrackedFileSystem::RenameFile(const std::string& from, const std::string& to,
                                                const rocksdb::IOOptions& options,
                                                rocksdb::IODebugContext* debug) {
  if (TrackedLog(from).has_value() || TrackedLog(to).has_value()) {
    return rocksdb::IOStatus::NotSupported(from, "a log is never renamed");
  }
  if (to == current_path_) {
    if (rocksdb::IOStatus status = ToIoStatus(ledger_.Sync()); !status.ok()) {
      return status;
    }
  }
  return FileSystemWrapper::RenameFile(from, to, options, debug);
}

}  // namespace lake::metastore
