#include <utility>

#include <fmt/format.h>
#include <rocksdb/options.h>

#include "lake/metastore/arguments.h"
#include "lake/metastore/rocksdb/rocks_target_internal.h"

namespace lake::metastore {
namespace {

// A batch that grew beyond this gives its memory back.
constexpr std::size_t kIdleBatchBytesMax = std::size_t{1024} * 1024;

void AnswerAll(std::span<GroupMember* const> group, const Error& error) {
  for (GroupMember* member : group) {
    member->answer = std::unexpected(error);
  }
}

}  // namespace

Error ToError(std::string_view operation, const rocksdb::Status& status) {
  const std::string message = fmt::format("{}: {}", operation, status.ToString());
  if (status.IsCorruption()) {
    return {ErrorCode::kCorruption, message + "; restore the last backup"};
  }
  if (status.IsNoSpace()) {
    return {ErrorCode::kUnavailable, message + "; the disk is full: free some space"};
  }
  if (status.IsIOError() || status.IsBusy() || status.IsTimedOut() || status.IsTryAgain() ||
      status.IsAborted() || status.IsShutdownInProgress()) {
    return {ErrorCode::kUnavailable, message};
  }
  return {ErrorCode::kInternal, message};
}

Result<RocksTarget::Seen*> RocksTarget::Look(std::string_view key) {
  const auto [found, is_new] = seen_.try_emplace(key);
  Seen& seen = found->second;
  if (!is_new) {
    return &seen;
  }
  const rocksdb::Status status =
      db_.Get(rocksdb::ReadOptions(), db_.DefaultColumnFamily(), ToSlice(key), &seen.stored);
  if (status.ok()) {
    seen.value = ToView(seen.stored);
  } else if (!status.IsNotFound()) {
    seen_.erase(found);
    return std::unexpected(ToError(fmt::format("commit: read {}", QuoteKey(key)), status));
  }
  return &seen;
}

Result<CommitResult> RocksTarget::Decide(const Transaction& transaction) {
  Rejected rejected;
  for (std::size_t i = 0; i < transaction.items().size(); ++i) {
    const Item& item = transaction.items()[i];
    if (item.expectation.kind == Expectation::Kind::kAny) {
      continue;
    }
    LAKE_TRY(const Seen* seen, Look(item.key));
    if (!item.expectation.HoldsFor(seen->value)) {
      rejected.failures.push_back(
          {.item = i, .key = item.key, .actual = std::optional<std::string>(seen->value)});
    }
  }
  if (!rejected.failures.empty()) {
    return rejected;
  }
  for (const Item& item : transaction.items()) {
    switch (item.action) {
      case Item::Action::kCheck:
        break;
      case Item::Action::kPut:
        batch_.Put(ToSlice(item.key), ToSlice(item.value));
        seen_[item.key].value = item.value;
        break;
      case Item::Action::kDelete:
        batch_.Delete(ToSlice(item.key));
        seen_[item.key].value = std::nullopt;
        break;
    }
  }
  return Committed{};
}

void RocksTarget::Evaluate(std::span<GroupMember* const> group) {
  if (const Status failed = failure(); !failed.has_value()) {
    AnswerAll(group, failed.error());
    return;
  }
  for (GroupMember* member : group) {
    member->answer = Decide(*member->transaction);
  }
  seen_.clear();
}

void RocksTarget::Write(std::span<GroupMember* const> group) {
  if (batch_.Count() == 0) {
    return;  // Nothing but checks, rejections and failed reads: all answered from durable values.
  }
  const std::uint64_t appends = file_system_.wal_appends();
  rocksdb::Status status = WriteBatch();
  if (!status.ok() && file_system_.wal_appends() == appends) {
    // RocksDB has refused the write before it touched the log, because something in the background
    // has failed. Perhaps the cause is gone.
    if (db_.Resume().ok()) {
      status = WriteBatch();
    }
  }
  batch_.Clear();
  if (batch_.Data().capacity() > kIdleBatchBytesMax) {
    batch_ = rocksdb::WriteBatch();
  }
  if (status.ok()) {
    return;
  }
  const Error error = ToError("commit", status);
  if (file_system_.wal_appends() == appends) {
    AnswerAll(group,
              {error.code() == ErrorCode::kCorruption ? error.code() : ErrorCode::kUnavailable,
               error.message()});
    return;
  }
  fatal_ =
      error.With("the write-ahead log has failed; the process must end and open the store again");
  health_ = Health::kFailed;
  AnswerAll(group, {ErrorCode::kOutcomeUnknown, fatal_.message()});
}

rocksdb::Status RocksTarget::WriteBatch() {
  rocksdb::WriteOptions options;
  options.sync = true;
  return db_.Write(options, &batch_);
}

Status RocksTarget::failure() const {
  if (health_ == Health::kGood) {
    return {};
  }
  return Unavailable(fatal_.message());
}

std::optional<Error> RocksTarget::TakeFatal() {
  Health failed = Health::kFailed;
  if (health_.compare_exchange_strong(failed, Health::kReported)) {
    return fatal_;
  }
  return std::nullopt;
}

}  // namespace lake::metastore
