#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/mutex.h"
#include "lake/base/thread_annotations.h"
#include "lake/metastore/metastore.h"

namespace lake::metastore {

// A MetaStore that lives and dies with the object: for tests, simulation and examples. It keeps
// every law of MetaStore except durability, and its answers are the real backends' answers.
//
// Errors: kInvalidArgument and kDeadlineExceeded as MetaStore says; no other. Calls block only for
// one another. Thread-safe.
class MemoryMetaStore final : public MetaStore {
 public:
  struct Options {
    // Reported as traits().exclusive. True makes an election treat the store as RocksDB.
    bool exclusive = false;
    // Reported as traits().shared_checks. False makes callers treat the store as DynamoDB: one
    // transaction in flight per checked key. Transactions that break this are still applied
    // correctly, as DynamoDB's are after resending.
    bool shared_checks = true;
  };

  // Borrows `clock`, on which deadlines are counted, for its lifetime.
  explicit MemoryMetaStore(const Clock& clock);
  MemoryMetaStore(const Clock& clock, Options options);

  Result<std::optional<std::string>> Get(std::string_view key, Deadline deadline) override;
  Result<std::vector<std::optional<std::string>>> GetTogether(const std::vector<std::string>& keys,
                                                              Deadline deadline) override;
  Result<Page> Scan(std::string_view prefix, std::string_view after, std::size_t limit,
                    Deadline deadline) override;
  Result<CommitResult> Commit(const Transaction& transaction, Deadline deadline) override;

  Traits traits() const override;

 private:
  // Returns the value of `key`, or nothing. The view lives until the entry changes.
  std::optional<std::string_view> Find(std::string_view key) const REQUIRES(mutex_);

  const Clock& clock_;
  const Options options_;
  mutable Mutex mutex_;
  std::map<std::string, std::string, std::less<>> entries_ GUARDED_BY(mutex_);
};

}  // namespace lake::metastore
