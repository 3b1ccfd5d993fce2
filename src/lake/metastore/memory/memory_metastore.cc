#include "lake/metastore/memory/memory_metastore.h"

#include <algorithm>
#include <utility>

#include "lake/metastore/arguments.h"

namespace lake::metastore {

MemoryMetaStore::MemoryMetaStore(const Clock& clock) : MemoryMetaStore(clock, Options()) {}

MemoryMetaStore::MemoryMetaStore(const Clock& clock, Options options)
    : clock_(clock), options_(options) {}

std::optional<std::string_view> MemoryMetaStore::Find(std::string_view key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    return std::nullopt;
  }
  return found->second;
}

Result<std::optional<std::string>> MemoryMetaStore::Get(std::string_view key, Deadline deadline) {
  LAKE_TRY_VOID(SplitKey(key));
  LAKE_TRY_VOID(CheckDeadline(clock_, deadline, "get"));
  const MutexLock lock(mutex_);
  return std::optional<std::string>(Find(key));
}

Result<std::vector<std::optional<std::string>>> MemoryMetaStore::GetTogether(
    const std::vector<std::string>& keys, Deadline deadline) {
  LAKE_TRY_VOID(CheckKeysTogether(keys));
  LAKE_TRY_VOID(CheckDeadline(clock_, deadline, "read together"));
  std::vector<std::optional<std::string>> values;
  values.reserve(keys.size());
  std::size_t bytes = 0;
  const MutexLock lock(mutex_);
  for (const std::string& key : keys) {
    const std::optional<std::string_view> value = Find(key);
    bytes += key.size() + value.value_or("").size();
    LAKE_TRY_VOID(CheckBytesTogether(bytes));
    values.emplace_back(value);
  }
  return values;
}

Result<Page> MemoryMetaStore::Scan(std::string_view prefix, std::string_view after,
                                   std::size_t limit, Deadline deadline) {
  LAKE_TRY_VOID(CheckScan(prefix, after, limit));
  LAKE_TRY_VOID(CheckDeadline(clock_, deadline, "scan"));
  Page page;
  std::size_t bytes = 0;
  const MutexLock lock(mutex_);
  auto entry = after < prefix ? entries_.lower_bound(prefix) : entries_.upper_bound(after);
  for (; entry != entries_.end() && entry->first.starts_with(prefix); ++entry) {
    if (page.entries.size() == limit || bytes >= kScanBytesMax) {
      page.next = page.entries.back().key;
      break;
    }
    bytes += entry->first.size() + entry->second.size();
    page.entries.push_back({.key = entry->first, .value = entry->second});
  }
  return page;
}

Result<CommitResult> MemoryMetaStore::Commit(const Transaction& transaction, Deadline deadline) {
  LAKE_TRY_VOID(transaction.Validate());
  LAKE_TRY_VOID(CheckDeadline(clock_, deadline, "commit"));
  const MutexLock lock(mutex_);
  Rejected rejected;
  for (std::size_t i = 0; i < transaction.items().size(); ++i) {
    const Item& item = transaction.items()[i];
    const std::optional<std::string_view> value = Find(item.key);
    if (!item.expectation.HoldsFor(value)) {
      rejected.failures.push_back(
          {.item = i, .key = item.key, .actual = std::optional<std::string>(value)});
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
        entries_.insert_or_assign(item.key, item.value);
        break;
      case Item::Action::kDelete:
        entries_.erase(item.key);
        break;
    }
  }
  return Committed{};
}

MetaStore::Traits MemoryMetaStore::traits() const {
  return {.exclusive = options_.exclusive, .shared_checks = options_.shared_checks};
}

}  // namespace lake::metastore
