#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/mutex.h"
#include "lake/base/thread_annotations.h"
#include "lake/objstore/objstore.h"

namespace lake::objstore {

// Objects that live and die with the store: for tests, simulation and examples. Paths are "/x" and
// "memory:///x" (path.h).
//
// It behaves like a tree of files where a bucket would not, so that code tested on it works on
// both: a path that other objects lie under is taken (kAlreadyExists), and a put below an object is
// kInvalidArgument. `modified` is the clock's wall time at the put. Nothing blocks; no other errors
// than the arguments' and kDeadlineExceeded. Thread-safe.
class MemoryObjectStore final : public ObjectStore {
 public:
  // `clock`, on which deadlines are counted, must outlive the store.
  explicit MemoryObjectStore(const Clock& clock) : clock_(clock) {}

  Result<std::string> Get(std::string_view path, std::uint64_t size_max, Deadline deadline) override
      EXCLUDES(mutex_);
  Result<std::string> GetRange(std::string_view path, std::uint64_t offset, std::uint64_t length,
                               Deadline deadline) override EXCLUDES(mutex_);
  Result<ObjectInfo> Stat(std::string_view path, Deadline deadline) override EXCLUDES(mutex_);
  Status PutIfAbsent(std::string_view path, std::string_view bytes, Deadline deadline) override
      EXCLUDES(mutex_);
  Result<std::unique_ptr<ObjectWriter>> StartWrite(std::string_view path,
                                                   Deadline deadline) override EXCLUDES(mutex_);
  Result<ObjectPage> List(std::string_view prefix, std::string_view after, std::size_t limit,
                          Deadline deadline) override EXCLUDES(mutex_);
  Status Delete(const std::vector<std::string>& paths, Deadline deadline) override EXCLUDES(mutex_);

 private:
  class Writer;

  struct Object {
    std::shared_ptr<const std::string> bytes;
    WallTime modified;
  };

  // Returns the object at `path`. kInvalidArgument, kNotFound, kDeadlineExceeded.
  Result<Object> Find(std::string_view path, Deadline deadline) const EXCLUDES(mutex_);
  // Puts an object under a valid key, unless the tree refuses.
  Status Insert(std::string_view key, std::string bytes) EXCLUDES(mutex_);
  Status CheckDeadline(std::string_view path, Deadline deadline) const;

  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<std::string, Object, std::less<>> objects_ GUARDED_BY(mutex_);  // By key.
};

}  // namespace lake::objstore
