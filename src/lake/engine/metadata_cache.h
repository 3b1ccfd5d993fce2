#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "lake/base/mutex.h"
#include "lake/base/thread_annotations.h"
#include "lake/iceberg/table_metadata.h"

namespace lake::engine {

// Parsed table metadata by location. Metadata files are immutable, so an entry is right for ever;
// the ones not asked for longest go when the bound is reached. Thread-safe.
class MetadataCache {
 public:
  // Keeps entries whose files together have at most `bytes_max` bytes; one larger file is not kept.
  explicit MetadataCache(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // Returns the metadata of a location, or nullptr.
  std::shared_ptr<const iceberg::TableMetadata> Find(std::string_view location) EXCLUDES(mutex_);

  // Keeps the metadata of a location whose file has `bytes` bytes.
  void Insert(std::string_view location, std::shared_ptr<const iceberg::TableMetadata> metadata,
              std::uint64_t bytes) EXCLUDES(mutex_);

 private:
  struct Entry {
    std::string location;
    std::shared_ptr<const iceberg::TableMetadata> metadata;
    std::uint64_t bytes = 0;
  };

  const std::uint64_t bytes_max_;
  Mutex mutex_;
  std::list<Entry> entries_ GUARDED_BY(mutex_);  // The one asked for last in front.
  std::map<std::string, std::list<Entry>::iterator, std::less<>> index_ GUARDED_BY(mutex_);
  std::uint64_t bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace lake::engine
