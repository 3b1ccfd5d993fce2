#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/time.h"
#include "lake/objstore/objstore.h"

namespace lake::objstore {

class DurableDirectories;
class FileCalls;
class FileHook;

// How the names of unfinished files begin; a version 4 UUID follows. They lie in the directory of
// the object they are to become. No object may have such a name.
inline constexpr std::string_view kTemporaryNamePrefix = ".lake-tmp-";

// Objects in the files of this machine. Paths are "/x", "file:///x" and "file:/x", taken byte for
// byte (path.h). docs/internals/objstore.md says how durability is reached.
//
// An object is a regular file. Symbolic links are followed in the directories that lead to it, and
// never as the object itself: a link, directory or pipe at a path is no object to a read (kNotFound)
// and to Delete (nothing to remove), takes the path for a put (kAlreadyExists), and is not listed.
// A put below an object is kInvalidArgument. Directories are made as needed and never removed.
//
// Every error names the path and carries the operating system's text. A deadline is looked at
// before the first system call only: a slow disk can make a call last longer.
//
// The file system must have hard links. Nobody else may write, rename or remove anything below a
// warehouse while a store works in it; several stores and processes may share one. Thread-safe.
class LocalObjectStore final : public ObjectStore {
 public:
  // `clock`, on which deadlines are counted, and `random`, which makes temporary names, must
  // outlive the store.
  LocalObjectStore(const Clock& clock, Random& random);
  // The same with every system call shown to `hook`, for tests. `hook` must outlive the store.
  LocalObjectStore(const Clock& clock, Random& random, FileHook& hook);
  ~LocalObjectStore() override;
  LocalObjectStore(const LocalObjectStore&) = delete;
  LocalObjectStore& operator=(const LocalObjectStore&) = delete;

  Result<std::string> Get(std::string_view path, std::uint64_t size_max,
                          Deadline deadline) override;
  Result<std::string> GetRange(std::string_view path, std::uint64_t offset, std::uint64_t length,
                               Deadline deadline) override;
  Result<ObjectInfo> Stat(std::string_view path, Deadline deadline) override;
  Status PutIfAbsent(std::string_view path, std::string_view bytes, Deadline deadline) override;
  Result<std::unique_ptr<ObjectWriter>> StartWrite(std::string_view path,
                                                   Deadline deadline) override;
  Result<ObjectPage> List(std::string_view prefix, std::string_view after, std::size_t limit,
                          Deadline deadline) override;
  Status Delete(const std::vector<std::string>& paths, Deadline deadline) override;

  // Removes what writers that died left below `prefix`, which must end in "/": temporary files
  // that were last written before `before` on the machine's civil clock. Returns how many. A writer
  // that is still at work on one of them fails with kUnavailable. Errors as List; some files may be
  // gone then. May be called again.
  Result<std::size_t> RemoveUnfinished(std::string_view prefix, WallTime before, Deadline deadline);

 private:
  LocalObjectStore(const Clock& clock, Random& random, FileHook* hook);

  Status CheckDeadline(std::string_view operation, std::string_view path, Deadline deadline) const;

  const Clock& clock_;
  Random& random_;
  const std::unique_ptr<const FileCalls> calls_;
  const std::unique_ptr<DurableDirectories> directories_;
};

}  // namespace lake::objstore
