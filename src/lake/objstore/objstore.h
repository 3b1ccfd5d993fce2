#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"

namespace lake::objstore {

// What a store knows of an object without reading it.
struct ObjectInfo {
  std::string path;
  std::uint64_t size = 0;
  WallTime modified;

  bool operator==(const ObjectInfo&) const = default;
};

// A page of a listing. Only an absent `next` ends the listing.
struct ObjectPage {
  std::vector<ObjectInfo> objects;
  std::optional<std::string> next;
};

// Writes one new object from front to back. Nothing is visible under the object's path before Finish succeeded; an object
// whose writer dies or is destroyed before that leaves nothing under its path. Single-threaded.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  // Adds bytes. kUnavailable (disk full, store failing) ends the writer: destroy it.
  virtual Status Append(std::string_view bytes) = 0;
  // Makes the object durable and visible under its path, all at once. kAlreadyExists: the path is taken, and nothing there was
  // touched. kOutcomeUnknown: it may be there. May be called once.
  virtual Status Finish() = 0;
};

// A store of immutable objects, named by paths. Local files or S3; a warehouse lives in one.
//
// A path is an absolute location as Iceberg metadata has it: "/data/x", "file:///data/x", "s3://bucket/x". Which forms a store
// takes, it says; others are kInvalidArgument.
//
// Laws, checked by testing/objstore_suite.h:
//   1. A put is complete when a power cut cannot undo it: bytes, name and every new directory entry on the way.
//   2. A put never overwrites. Of two puts to one path exactly one succeeds, the other answers kAlreadyExists.
//   3. What was put is read back unchanged, or the read fails; a reader never sees part of an object.
//   4. Delete is idempotent.
//
// Every method may block on disk or network until its deadline (counted on the clock given at construction) and returns:
//   kInvalidArgument  the path is not of a form this store takes.    kNotFound  no such object.
//   kAlreadyExists    (puts) the path is taken.                      kPermissionDenied  the store refuses.
//   kUnavailable      certainly not done; retry with backoff.        kOutcomeUnknown  (puts, deletes) may be done.
// Thread-safe.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // Returns the whole object. Larger than `size_max` is kInvalidArgument, so that a damaged or hostile file cannot fill memory.
  virtual Result<std::string> Get(std::string_view path, std::uint64_t size_max, Deadline deadline) = 0;

  // Returns `length` bytes from `offset`; a range that passes the end is kInvalidArgument.
  virtual Result<std::string> GetRange(std::string_view path, std::uint64_t offset, std::uint64_t length,
                                       Deadline deadline) = 0;

  // Returns size and time of the object.
  virtual Result<ObjectInfo> Stat(std::string_view path, Deadline deadline) = 0;

  // Creates the object with these bytes, complete on return (law 1), or answers kAlreadyExists.
  virtual Status PutIfAbsent(std::string_view path, std::string_view bytes, Deadline deadline) = 0;

  // Starts a large object. Whether the path is taken may be found only by Finish.
  virtual Result<std::unique_ptr<ObjectWriter>> StartWrite(std::string_view path, Deadline deadline) = 0;

  // Lists objects whose path starts with `prefix`, which must end in "/", and sorts after `after`, at most `limit`, in path
  // order, at every depth. Missing directories list as empty. Unfinished writes are not listed.
  virtual Result<ObjectPage> List(std::string_view prefix, std::string_view after, std::size_t limit,
                                  Deadline deadline) = 0;

  // Removes the objects; absent ones count as removed. On an error some may be gone.
  virtual Status Delete(const std::vector<std::string>& paths, Deadline deadline) = 0;
};

}  // namespace lake::objstore
