#include "lake/objstore/memory/memory_objstore.h"

#include <utility>

#include "lake/base/check.h"
#include "lake/objstore/path.h"

namespace lake::objstore {
namespace {

constexpr std::string_view kScheme = "memory";

}  // namespace

class MemoryObjectStore::Writer final : public ObjectWriter {
 public:
  Writer(MemoryObjectStore& store, std::string_view key) : store_(store), key_(key) {}

  Status Append(std::string_view bytes) override {
    LAKE_CHECK(!finished_, "a finished writer takes no more bytes");
    bytes_ += bytes;
    return {};
  }

  Status Finish() override {
    LAKE_CHECK(!finished_, "a writer is finished once");
    finished_ = true;
    return store_.Insert(key_, std::move(bytes_));
  }

 private:
  MemoryObjectStore& store_;
  const std::string key_;
  std::string bytes_;
  bool finished_ = false;
};

Result<std::string> MemoryObjectStore::Get(std::string_view path, std::uint64_t size_max,
                                           Deadline deadline) {
  LAKE_TRY(const Object object, Find(path, deadline));
  if (object.bytes->size() > size_max) {
    return InvalidArgument("get " + std::string(path) + ": " +
                           std::to_string(object.bytes->size()) + " bytes, more than the " +
                           std::to_string(size_max) + " expected at most");
  }
  return *object.bytes;
}

Result<std::string> MemoryObjectStore::GetRange(std::string_view path, std::uint64_t offset,
                                                std::uint64_t length, Deadline deadline) {
  LAKE_TRY(const Object object, Find(path, deadline));
  const std::uint64_t size = object.bytes->size();
  if (offset > size || length > size - offset) {
    return InvalidArgument("get " + std::string(path) + ": " + std::to_string(length) +
                           " bytes from " + std::to_string(offset) + " pass its end at " +
                           std::to_string(size));
  }
  return object.bytes->substr(offset, length);
}

Result<ObjectInfo> MemoryObjectStore::Stat(std::string_view path, Deadline deadline) {
  LAKE_TRY(const Object object, Find(path, deadline));
  return ObjectInfo{
      .path = std::string(path), .size = object.bytes->size(), .modified = object.modified};
}

Status MemoryObjectStore::PutIfAbsent(std::string_view path, std::string_view bytes,
                                      Deadline deadline) {
  LAKE_TRY(const std::string_view key, ObjectKey(path, kScheme));
  LAKE_TRY_VOID(CheckDeadline(path, deadline));
  return Insert(key, std::string(bytes));
}

Result<std::unique_ptr<ObjectWriter>> MemoryObjectStore::StartWrite(std::string_view path,
                                                                    Deadline deadline) {
  LAKE_TRY(const std::string_view key, ObjectKey(path, kScheme));
  LAKE_TRY_VOID(CheckDeadline(path, deadline));
  return std::make_unique<Writer>(*this, key);
}

Result<ObjectPage> MemoryObjectStore::List(std::string_view prefix, std::string_view after,
                                           std::size_t limit, Deadline deadline) {
  LAKE_TRY(const std::string_view key, PrefixKey(prefix, kScheme));
  if (limit == 0) {
    return InvalidArgument("list " + std::string(prefix) + ": the limit must be positive");
  }
  LAKE_TRY_VOID(CheckDeadline(prefix, deadline));
  const std::string_view form = prefix.substr(0, prefix.size() - key.size());
  ObjectPage page;
  const MutexLock lock(mutex_);
  for (auto place = objects_.lower_bound(key);
       place != objects_.end() && place->first.starts_with(key); ++place) {
    std::string path = std::string(form) + place->first;
    if (path <= after) {
      continue;
    }
    if (page.objects.size() == limit) {
      page.next = page.objects.back().path;
      break;
    }
    page.objects.push_back({.path = std::move(path),
                            .size = place->second.bytes->size(),
                            .modified = place->second.modified});
  }
  return page;
}

Status MemoryObjectStore::Delete(const std::vector<std::string>& paths, Deadline deadline) {
  std::vector<std::string_view> keys;
  keys.reserve(paths.size());
  for (const std::string& path : paths) {
    LAKE_TRY(const std::string_view key, ObjectKey(path, kScheme));
    LAKE_TRY_VOID(CheckDeadline(path, deadline));
    keys.push_back(key);
  }
  const MutexLock lock(mutex_);
  for (const std::string_view key : keys) {
    if (const auto place = objects_.find(key); place != objects_.end()) {
      objects_.erase(place);
    }
  }
  return {};
}

Result<MemoryObjectStore::Object> MemoryObjectStore::Find(std::string_view path,
                                                          Deadline deadline) const {
  LAKE_TRY(const std::string_view key, ObjectKey(path, kScheme));
  LAKE_TRY_VOID(CheckDeadline(path, deadline));
  const MutexLock lock(mutex_);
  const auto place = objects_.find(key);
  if (place == objects_.end()) {
    return NotFound("object " + std::string(path) + " does not exist");
  }
  return place->second;
}

Status MemoryObjectStore::Insert(std::string_view key, std::string bytes) {
  const MutexLock lock(mutex_);
  for (std::size_t slash = key.find('/', 1); slash != std::string_view::npos;
       slash = key.find('/', slash + 1)) {
    if (objects_.contains(key.substr(0, slash))) {
      return InvalidArgument("put " + std::string(key) + ": " + std::string(key.substr(0, slash)) +
                             " is an object, and none can lie below it");
    }
  }
  const std::string below = std::string(key) + '/';
  const auto first_below = objects_.lower_bound(below);
  if (objects_.contains(key) ||
      (first_below != objects_.end() && first_below->first.starts_with(below))) {
    return AlreadyExists("put " + std::string(key) + ": the path is taken");
  }
  objects_.emplace(key, Object{.bytes = std::make_shared<const std::string>(std::move(bytes)),
                               .modified = clock_.WallNow()});
  return {};
}

Status MemoryObjectStore::CheckDeadline(std::string_view path, Deadline deadline) const {
  if (clock_.Now() >= deadline) {
    return DeadlineExceeded("object " + std::string(path) + ": no time is left to begin");
  }
  return {};
}

}  // namespace lake::objstore
