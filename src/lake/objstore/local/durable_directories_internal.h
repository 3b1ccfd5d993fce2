#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread_annotations.h"
#include "lake/objstore/local/file_calls_internal.h"

// Directories that a power cut cannot take away. Included by sources only.
namespace lake::objstore {

// How many directories are remembered as durable. When there are more, all are forgotten: that
// costs syncs, nothing else.
inline constexpr std::size_t kRememberedDirectoriesMax = 16384;

// Makes directories and the entries that lead to them durable, and remembers which ones are.
//
// That a directory is there does not mean that a power cut leaves it there: another thread or
// process may have made it a moment ago and not yet synced its parent, or died in between. So every
// entry on the way from "/" is synced once by this process, whoever made it, before anything in the
// directory may count as complete. Afterwards it is remembered by identity (inode and birth time):
// a directory that was removed and made again is another one. What is not covered: renaming a
// directory above a running store.
//
// Thread-safe.
class DurableDirectories {
 public:
  // `calls` must outlive the object.
  explicit DurableDirectories(const FileCalls& calls) : calls_(calls) {}

  // Opens the directory at `key` ("/" or "/a/b"), made with all its parents where missing, whose
  // every entry on the way is durable. Errors are those of ChangeError, naming `operation` and
  // `path`. Blocks.
  Result<OpenedFile> Open(const std::string& key, std::string_view operation, std::string_view path)
      EXCLUDES(mutex_);

 private:
  struct Remembered {
    std::string key;
    DirectoryIdentity identity;
  };

  OrErrno<void> MakeWithParents(const std::string& key) const;
  // Makes the entry of `key`, which is open as `directory`, and of all its parents durable.
  Status MakeEntriesDurable(const std::string& key, const OpenedFile& directory,
                            std::string_view operation, std::string_view path) EXCLUDES(mutex_);
  // Makes the entry of a directory in its parent durable; `below` is an open directory on the same
  // file system. Returns the parent, if it may be opened.
  OrErrno<std::optional<OpenedFile>> SyncParent(const std::string& parent,
                                                const OpenedFile& below) const;
  bool IsRemembered(const std::string& key, const DirectoryIdentity& identity) EXCLUDES(mutex_);
  void Remember(std::vector<Remembered> directories) EXCLUDES(mutex_);

  const FileCalls& calls_;
  Mutex mutex_;
  std::map<std::string, DirectoryIdentity, std::less<>> remembered_ GUARDED_BY(mutex_);
};

// Returns the directory that holds `key`: "/" for "/a", "/a" for "/a/b". Not for "/".
std::string ParentKey(std::string_view key);

}  // namespace lake::objstore
