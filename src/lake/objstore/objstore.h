#pragma once

#include <cstddef>
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

// A page of a listing. Only an absent `next` ends the listing; a page may be short, or empty.
struct ObjectPage {
  std::vector<ObjectInfo> objects;
  std::optional<std::string> next;  // The `after` of the next page.
};

// Writes one new object from front to back. Nothing is visible under the object's path before
// Finish succeeded; an object whose writer dies or is destroyed before that leaves nothing under
// its path. Its store must outlive it. Single-threaded.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  // Adds bytes. kUnavailable (disk full, store failing) ends the writer: destroy it. Blocks.
  virtual Status Append(std::string_view bytes) = 0;
  // Makes the object complete (law 1) and visible under its path, all at once. kAlreadyExists: the
  // path is taken, nothing there was touched, and what is there is complete. kOutcomeUnknown: it
  // may be there. kUnavailable, kPermissionDenied: it is not there. Blocks. May be called once, and
  // ends the writer.
  virtual Status Finish() = 0;
};

// A store of immutable objects, named by paths. Local files or S3; a warehouse lives in one.
//
// A path is an absolute location as Iceberg metadata has it: "/data/x", "file:///data/x",
// "s3://bucket/x". Which forms a store takes, it says; others are kInvalidArgument. A path is
// normalised, that is, without empty, "." and ".." parts and without a slash at its end (path.h);
// stores refuse others, so that one object has one name.
//
// Laws, checked by testing/objstore_suite.h:
//   1. A put is complete when a power cut cannot undo it: bytes, name and every new directory entry
//      on the way. A put that succeeded is complete.
//   2. A put never overwrites. Of two puts to one path exactly one succeeds, the other answers
//      kAlreadyExists; that answer, too, says that what is there is complete.
//   3. What was put is read back unchanged, or the read fails; a reader never sees part of an
//      object.
//   4. Delete is idempotent.
//
// Seeing an object is not knowing that it is complete: its writer may have died between the two.
// Whoever publishes an object that it found but did not put first puts the same bytes again and
// takes kAlreadyExists for the confirmation (law 2).
//
// Every method may block on disk or network until its deadline (counted on the clock given at
// construction) and returns:
//   kInvalidArgument   the path is not of a form this store takes: correct it.
//   kNotFound          (reads) there is no such object.
//   kAlreadyExists     (puts) the path is taken.
//   kPermissionDenied  the store refuses: nothing was done, and a retry cannot help.
//   kUnavailable       certainly not done; retry with backoff.
//   kOutcomeUnknown    (puts, deletes) may be done: read back; put the same bytes again (law 2).
//   kDeadlineExceeded  the deadline had passed before anything was sent.
// Thread-safe.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // Returns the whole object. Larger than `size_max` is kInvalidArgument, so that a damaged or
  // hostile file cannot fill memory.
  virtual Result<std::string> Get(std::string_view path, std::uint64_t size_max,
                                  Deadline deadline) = 0;

  // Returns `length` bytes from `offset`; a range that passes the end is kInvalidArgument.
  virtual Result<std::string> GetRange(std::string_view path, std::uint64_t offset,
                                       std::uint64_t length, Deadline deadline) = 0;

  // Returns size and time of the object, and its path as given.
  virtual Result<ObjectInfo> Stat(std::string_view path, Deadline deadline) = 0;

  // Creates the object with these bytes, complete on return (law 1), or answers kAlreadyExists.
  virtual Status PutIfAbsent(std::string_view path, std::string_view bytes, Deadline deadline) = 0;

  // Starts a large object. Whether the path is taken may be found only by Finish.
  virtual Result<std::unique_ptr<ObjectWriter>> StartWrite(std::string_view path,
                                                           Deadline deadline) = 0;

  // Lists objects whose path starts with `prefix`, which must end in "/", and sorts after `after`,
  // at most `limit` (positive), in bytewise path order, at every depth. Paths are listed in the
  // form that the prefix has. Missing directories list as empty. Unfinished writes are not listed.
  // What is put or deleted while a listing goes on may be in it or not.
  virtual Result<ObjectPage> List(std::string_view prefix, std::string_view after,
                                  std::size_t limit, Deadline deadline) = 0;

  // Removes the objects for good; absent ones count as removed. On an error some may be gone; as
  // Delete is idempotent, it may be called again.
  virtual Status Delete(const std::vector<std::string>& paths, Deadline deadline) = 0;
};

}  // namespace lake::objstore
