#include "lake/metastore/rocksdb/rocks_metastore.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/advanced_options.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/iterator.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>

#include "lake/base/log.h"
#include "lake/base/mutex.h"
#include "lake/metastore/arguments.h"
#include "lake/metastore/rocksdb/commit_queue.h"
#include "lake/metastore/rocksdb/log_files.h"
#include "lake/metastore/rocksdb/posix_file.h"
#include "lake/metastore/rocksdb/rocks_metastore_internal.h"
#include "lake/metastore/rocksdb/rocks_target_internal.h"
#include "lake/metastore/rocksdb/sync_ledger.h"
#include "lake/metastore/rocksdb/tracked_file_system_internal.h"

namespace lake::metastore {
namespace {

constexpr std::string_view kStagingSuffix = ".partial";
// How often a store that another process holds is tried again.
constexpr std::chrono::milliseconds kLockPoll{50};

// Passes RocksDB's complaints on; a log file of its own would be rolled even by those who find the
// store in use.
class ForwardingLogger final : public rocksdb::Logger {
 public:
  ForwardingLogger() : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}

  using rocksdb::Logger::Logv;

  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (level < GetInfoLogLevel() || level == rocksdb::InfoLogLevel::HEADER_LEVEL) {
      return;
    }
    std::array<char, 512> line{};
    static_cast<void>(std::vsnprintf(line.data(), line.size(), format, arguments));
    Log(level >= rocksdb::InfoLogLevel::ERROR_LEVEL ? LogLevel::kWarning : LogLevel::kInfo,
        fmt::format("rocksdb: {}", line.data()));
  }
};

// Keeps RocksDB from trying again by itself, on a timer of its own, after something in the background
// has failed: the next commit tries (RocksTarget::Write), so that it knows what it is answered for.
class NoAutomaticRecovery final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status /*error*/,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

rocksdb::Options MakeOptions(const RocksMetaStore::Options& options, rocksdb::Env* env) {
  rocksdb::Options result;
  result.env = env;
  result.create_if_missing = true;
  result.info_log = std::make_shared<ForwardingLogger>();

  // What makes a commit durable, and damage visible.
  result.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  result.track_and_verify_wals_in_manifest = true;
  result.recycle_log_file_num = 0;
  result.paranoid_checks = true;
  result.listeners.push_back(std::make_shared<NoAutomaticRecovery>());
  result.max_bgerror_resume_count = 0;

  // One thread writes at a time; RocksDB's own ways of combining writers would only cost.
  result.allow_concurrent_memtable_write = false;
  result.enable_write_thread_adaptive_yield = false;

  // A small store that opens fast.
  result.write_buffer_size = options.write_buffer_bytes;
  result.max_background_jobs = 2;
  result.max_open_files = 256;
  result.max_file_opening_threads = 1;
  result.skip_stats_update_on_db_open = true;
  result.stats_dump_period_sec = 0;
  result.stats_persist_period_sec = 0;
  result.max_manifest_file_size = std::size_t{16} * 1024 * 1024;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(options.block_cache_bytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  result.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return result;
}

// Releases a snapshot at the end of a scope.
class ScopedSnapshot {
 public:
  explicit ScopedSnapshot(rocksdb::DB& db) : db_(db), snapshot_(db.GetSnapshot()) {}

  ~ScopedSnapshot() { db_.ReleaseSnapshot(snapshot_); }

  ScopedSnapshot(const ScopedSnapshot&) = delete;
  ScopedSnapshot& operator=(const ScopedSnapshot&) = delete;

  const rocksdb::Snapshot* get() const { return snapshot_; }

 private:
  rocksdb::DB& db_;
  const rocksdb::Snapshot* snapshot_;
};

Result<std::optional<std::string>> Read(rocksdb::DB& db, const rocksdb::ReadOptions& options,
                                        std::string_view key) {
  std::string value;
  const rocksdb::Status status = db.Get(options, ToSlice(key), &value);
  if (status.IsNotFound()) {
    return std::nullopt;
  }
  if (!status.ok()) {
    return std::unexpected(ToError(fmt::format("get {}", QuoteKey(key)), status));
  }
  return value;
}

// Makes every file of a finished copy durable, and then the names.
Status SyncCopy(const std::string& directory) {
  std::error_code failure;
  std::filesystem::directory_iterator entry(directory, failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    LAKE_TRY_VOID(SyncFile(entry->path()));
  }
  if (failure) {
    return PosixError("list", directory, failure.value());
  }
  return SyncDirectory(directory);
}

Status CreateDirectories(const std::string& path) {
  std::error_code failure;
  if (std::filesystem::create_directories(path, failure)) {
    LAKE_TRY_VOID(SyncDirectory(std::filesystem::path(path).parent_path()));
  }
  if (failure) {
    return PosixError("create directory", path, failure.value());
  }
  return {};
}

// Opens the ledger, which locks the store, waiting for another holder.
Result<std::unique_ptr<SyncLedger>> LockStore(const std::string& path, Clock& clock,
                                              Duration wait) {
  const Deadline deadline = clock.Now() + wait;
  Mutex mutex;
  CondVar never;
  const MutexLock lock(mutex);
  while (true) {
    auto ledger = SyncLedger::Open(path);
    const bool in_use =
        !ledger.has_value() && ledger.error().code() == ErrorCode::kDeadlineExceeded;
    if (!in_use || clock.Now() >= deadline) {
      return ledger;
    }
    clock.WaitUntil(never, mutex, std::min(deadline, clock.Now() + kLockPoll));
  }
}

}  // namespace

// Members are destroyed from the last to the first: the database closes before what it writes through.
struct RocksMetaStore::Core {
  Core(Clock& clock_in, Options options_in, std::unique_ptr<SyncLedger> ledger_in,
       const std::shared_ptr<rocksdb::FileSystem>& base)
      : clock(clock_in),
        options(std::move(options_in)),
        ledger(std::move(ledger_in)),
        file_system(std::make_shared<TrackedFileSystem>(base, options.path, *ledger)),
        env(rocksdb::NewCompositeEnv(file_system)) {}

  Clock& clock;
  const Options options;
  const std::unique_ptr<SyncLedger> ledger;
  const std::shared_ptr<TrackedFileSystem> file_system;
  const std::unique_ptr<rocksdb::Env> env;
  std::unique_ptr<rocksdb::DB> db;
  std::optional<RocksTarget> target;
  std::optional<CommitQueue> queue;
};

Result<std::unique_ptr<RocksMetaStore>> RocksMetaStore::Open(Clock& clock, Options options) {
  return RocksMetaStoreOpener::Open(clock, std::move(options), rocksdb::FileSystem::Default());
}

Result<std::unique_ptr<RocksMetaStore>> RocksMetaStoreOpener::Open(
    Clock& clock, RocksMetaStore::Options options,
    std::shared_ptr<rocksdb::FileSystem> file_system) {
  // One spelling of the path, so that a file's directory can be compared.
  std::error_code failure;
  options.path = std::filesystem::absolute(options.path, failure).lexically_normal();
  while (options.path.size() > 1 && options.path.ends_with('/')) {
    options.path.pop_back();
  }
  if (failure) {
    return PosixError("open store", options.path, failure.value());
  }
  LAKE_TRY_VOID(CreateDirectories(options.path));
  LAKE_TRY(std::unique_ptr<SyncLedger> ledger, LockStore(options.path, clock, options.lock_wait));
  LAKE_TRY_VOID(CheckLogs(options.path, *ledger));

  auto core = std::make_unique<RocksMetaStore::Core>(clock, std::move(options), std::move(ledger),
                                                     file_system);
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::Open(MakeOptions(core->options, core->env.get()), core->options.path, &db);
  if (!status.ok()) {
    return std::unexpected(ToError(fmt::format("open store {}", core->options.path), status));
  }
  core->db.reset(db);
  core->target.emplace(*core->db, *core->file_system);
  core->queue.emplace(CommitQueue::Options{.waiting_max = core->options.waiting_max}, core->clock,
                      *core->target);
  return std::unique_ptr<RocksMetaStore>(new RocksMetaStore(std::move(core)));
}

RocksMetaStore::RocksMetaStore(std::unique_ptr<Core> core) : core_(std::move(core)) {}

RocksMetaStore::~RocksMetaStore() = default;

Result<std::optional<std::string>> RocksMetaStore::Get(std::string_view key, Deadline deadline) {
  LAKE_TRY_VOID(SplitKey(key));
  LAKE_TRY_VOID(CheckDeadline(core_->clock, deadline, "get"));
  LAKE_TRY_VOID(core_->target->failure());
  return Read(*core_->db, rocksdb::ReadOptions(), key);
}

Result<std::vector<std::optional<std::string>>> RocksMetaStore::GetTogether(
    const std::vector<std::string>& keys, Deadline deadline) {
  LAKE_TRY_VOID(CheckKeysTogether(keys));
  LAKE_TRY_VOID(CheckDeadline(core_->clock, deadline, "read together"));
  LAKE_TRY_VOID(core_->target->failure());
  const ScopedSnapshot snapshot(*core_->db);
  rocksdb::ReadOptions options;
  options.snapshot = snapshot.get();
  std::vector<std::optional<std::string>> values;
  values.reserve(keys.size());
  std::size_t bytes = 0;
  for (const std::string& key : keys) {
    LAKE_TRY(std::optional<std::string> value, Read(*core_->db, options, key));
    bytes += key.size() + (value.has_value() ? value->size() : 0);
    LAKE_TRY_VOID(CheckBytesTogether(bytes));
    values.push_back(std::move(value));
  }
  return values;
}

Result<Page> RocksMetaStore::Scan(std::string_view prefix, std::string_view after,
                                  std::size_t limit, Deadline deadline) {
  LAKE_TRY_VOID(CheckScan(prefix, after, limit));
  LAKE_TRY_VOID(CheckDeadline(core_->clock, deadline, "scan"));
  LAKE_TRY_VOID(core_->target->failure());
  const std::string end = PrefixEnd(prefix);
  const rocksdb::Slice end_slice(end);
  rocksdb::ReadOptions options;
  if (!end.empty()) {
    options.iterate_upper_bound = &end_slice;
  }
  const std::unique_ptr<rocksdb::Iterator> entry(core_->db->NewIterator(options));
  entry->Seek(ToSlice(std::max(prefix, after)));
  if (entry->Valid() && ToView(entry->key()) == after) {
    entry->Next();
  }
  Page page;
  std::size_t bytes = 0;
  for (; entry->Valid(); entry->Next()) {
    if (page.entries.size() == limit || bytes >= kScanBytesMax) {
      page.next = page.entries.back().key;
      break;
    }
    bytes += entry->key().size() + entry->value().size();
    page.entries.push_back({.key = entry->key().ToString(), .value = entry->value().ToString()});
  }
  if (!entry->status().ok()) {
    return std::unexpected(ToError(fmt::format("scan {}", QuoteKey(prefix)), entry->status()));
  }
  return page;
}

Result<CommitResult> RocksMetaStore::Commit(const Transaction& transaction, Deadline deadline) {
  LAKE_TRY_VOID(transaction.Validate());
  LAKE_TRY_VOID(CheckDeadline(core_->clock, deadline, "commit"));
  LAKE_TRY_VOID(core_->target->failure());
  Result<CommitResult> result = core_->queue->Commit(transaction, deadline);
  if (const std::optional<Error> fatal = core_->target->TakeFatal();
      fatal.has_value() && core_->options.on_fatal) {
    core_->options.on_fatal(*fatal);
  }
  return result;
}

MetaStore::Traits RocksMetaStore::traits() const {
  return {.exclusive = true, .shared_checks = true};
}

Status RocksMetaStore::Checkpoint(const std::string& path) {
  LAKE_TRY_VOID(core_->target->failure());
  const std::string staging = fmt::format("{}{}", path, kStagingSuffix);
  for (const std::string& taken : {path, staging}) {
    std::error_code failure;
    if (std::filesystem::exists(taken, failure)) {
      return AlreadyExists(
          fmt::format("backup: {} exists; remove it or choose another place", taken));
    }
    if (failure) {
      return PosixError("backup: look at", taken, failure.value());
    }
  }
  rocksdb::Checkpoint* raw = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(core_->db.get(), &raw);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  if (status.ok()) {
    status = checkpoint->CreateCheckpoint(staging);
  }
  if (!status.ok()) {
    return std::unexpected(ToError(fmt::format("backup to {}", path), status));
  }
  LAKE_TRY(const std::vector<LedgerEntry> logs, CheckCopiedLogs(staging));
  LAKE_TRY_VOID(SyncCopy(staging));
  LAKE_TRY_VOID(SyncLedger::Create(staging, logs));
  std::error_code failure;
  std::filesystem::rename(staging, path, failure);
  if (failure) {
    return PosixError("backup: rename to", path, failure.value());
  }
  return SyncDirectory(std::filesystem::absolute(path).parent_path());
}

}  // namespace lake::metastore
