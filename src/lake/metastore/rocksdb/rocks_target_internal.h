#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include <rocksdb/db.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/write_batch.h>

#include "lake/base/result.h"
#include "lake/metastore/rocksdb/commit_queue.h"
#include "lake/metastore/rocksdb/tracked_file_system_internal.h"

namespace lake::metastore {

// Returns the same bytes as RocksDB names them.
inline rocksdb::Slice ToSlice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

// Returns the same bytes as we name them.
inline std::string_view ToView(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

// Returns what a status of RocksDB means to a caller of a store. `operation` says what failed; the
// status must not be OK.
Error ToError(std::string_view operation, const rocksdb::Status& status);

// Commits groups of transactions to a RocksDB: reads what they expect, gathers what they write, and
// writes that as one synced batch. Calls of GroupTarget come from one thread at a time; failure() is
// thread-safe.
class RocksTarget final : public GroupTarget {
 public:
  // Borrows both for its lifetime. `file_system` is the one that `db` writes through.
  RocksTarget(rocksdb::DB& db, const TrackedFileSystem& file_system)
      : db_(db), file_system_(file_system) {}

  void Evaluate(std::span<GroupMember* const> group) override;
  void Write(std::span<GroupMember* const> group) override;

  // Returns OK, or what every call answers since the write-ahead log has failed: kUnavailable.
  Status failure() const;

  // Returns the failure of the write-ahead log, to the first caller after it; nothing otherwise.
  std::optional<Error> TakeFatal();

 private:
  enum class Health : std::uint8_t { kGood, kFailed, kReported };

  // The value of a key as the next transaction of the group sees it.
  struct Seen {
    std::optional<std::string_view> value;  // Into `stored`, or into the transaction that wrote it.
    rocksdb::PinnableSlice stored;
  };

  // Returns the key as the group has left it so far, reading it the first time.
  Result<Seen*> Look(std::string_view key);
  // Answers one transaction and, if it holds, adds its writes to the batch.
  Result<CommitResult> Decide(const Transaction& transaction);
  // Writes the batch, synced.
  rocksdb::Status WriteBatch();

  rocksdb::DB& db_;
  const TrackedFileSystem& file_system_;
  // What the group has read or written so far; empty between Evaluate and Write.
  std::unordered_map<std::string_view, Seen> seen_;
  rocksdb::WriteBatch batch_;
  Error fatal_ = Error(ErrorCode::kInternal, "");  // Constant once health_ is not kGood.
  std::atomic<Health> health_ = Health::kGood;
};

}  // namespace lake::metastore
