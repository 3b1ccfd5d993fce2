#include "lake/engine/metadata_cache.h"

#include <utility>

namespace lake::engine {

std::shared_ptr<const iceberg::TableMetadata> MetadataCache::Find(std::string_view location) {
  const MutexLock lock(mutex_);
  const auto found = index_.find(location);
  if (found == index_.end()) {
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->metadata;
}

void MetadataCache::Insert(std::string_view location,
                           std::shared_ptr<const iceberg::TableMetadata> metadata,
                           std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  if (bytes > bytes_max_ || index_.contains(location)) {
    return;
  }
  while (bytes_ + bytes > bytes_max_) {
    bytes_ -= entries_.back().bytes;
    index_.erase(entries_.back().location);
    entries_.pop_back();
  }
  entries_.push_front(
      {.location = std::string(location), .metadata = std::move(metadata), .bytes = bytes});
  index_.emplace(location, entries_.begin());
  bytes_ += bytes;
}

}  // namespace lake::engine
