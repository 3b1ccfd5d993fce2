#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "lake/base/time.h"

// The system calls of the local object store, in one place, so that a test can watch them and make
// any one of them fail. Included by sources only.
namespace lake::objstore {

// The calls that a test can watch.
enum class FileCall {
  kOpenDirectory,
  kMakeDirectory,
  kReadDirectory,
  kIdentify,
  kInspect,
  kOpenFile,
  kCreateFile,
  kRead,
  kWrite,
  kSync,
  kSyncFileSystem,
  kLink,
  kUnlink,
};

// What a call works on: an open file or directory, or a path, or a name in an open directory.
struct FileCallTarget {
  FileCall call;
  int fd = -1;
  std::string_view path;
};

// How a test bends one call.
struct FileFault {
  int error = 0;           // 0: no fault. Otherwise the call answers this errno …
  bool performed = false;  // … after doing its work, or instead of it.
  std::size_t bytes_max = std::numeric_limits<std::size_t>::max();  // Reads and writes do less.
};

// Sees every call. Thread-safe.
class FileHook {
 public:
  virtual ~FileHook() = default;
  // The call is about to be made.
  virtual FileFault Before(const FileCallTarget& target) = 0;
  // The call has answered: 0 or its errno. `fd` is what it opened, if it did.
  virtual void After(const FileCallTarget& target, int error, int fd) = 0;
};

// An open file descriptor, closed when it goes. What close() answers says nothing: whatever must be
// durable was synced before.
class OpenedFile {
 public:
  OpenedFile() = default;

  explicit OpenedFile(int fd) : fd_(fd) {}

  ~OpenedFile();

  OpenedFile(OpenedFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  OpenedFile& operator=(OpenedFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;

  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

// What tells a directory from a later one of the same name: inode numbers are used again, birth
// times are not.
struct DirectoryIdentity {
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
  std::int64_t born_s = 0;
  std::uint32_t born_ns = 0;

  bool operator==(const DirectoryIdentity&) const = default;
};

// What the system knows of a file.
struct FileInfo {
  bool is_regular = false;
  std::uint64_t size = 0;
  std::uint64_t links = 0;
  WallTime modified;
};

// A name in a directory.
struct DirectoryEntry {
  enum class Kind { kFile, kDirectory, kOther };

  std::string name;
  Kind kind = Kind::kOther;
};

// A value or an errno.
template <typename T>
using OrErrno = std::expected<T, int>;

// The calls. Each is one system call (ReadDirectory: those of one directory), is made again after
// EINTR, and answers its errno. All may block. Thread-safe.
class FileCalls {
 public:
  // `hook` may be null; otherwise it must outlive the object.
  explicit FileCalls(FileHook* hook) : hook_(hook) {}

  enum class Links { kFollow, kRefuse };

  // Opens a directory for reading. kRefuse: ELOOP or ENOTDIR if its last part is a symbolic link.
  OrErrno<OpenedFile> OpenDirectory(const std::string& path, Links links) const;
  OrErrno<void> MakeDirectory(const std::string& path) const;
  // Returns all entries but "." and "..", in no order. An entry whose kind the directory does not
  // tell is inspected.
  OrErrno<std::vector<DirectoryEntry>> ReadDirectory(const OpenedFile& directory) const;
  // Returns nothing for a file system that keeps no birth times.
  OrErrno<std::optional<DirectoryIdentity>> Identify(const std::string& path) const;

  // Looks at the thing itself, not at what a symbolic link names.
  OrErrno<FileInfo> Inspect(const std::string& path) const;
  OrErrno<FileInfo> Inspect(const OpenedFile& file) const;

  // Opens for reading, whatever it is, without waiting for it. ELOOP for a symbolic link.
  OrErrno<OpenedFile> OpenFile(const std::string& path) const;
  // Makes a new file for writing.
  OrErrno<OpenedFile> CreateFile(const OpenedFile& directory, const std::string& name) const;
  // Reads up to `size` bytes; 0 only at the end.
  OrErrno<std::size_t> Read(const OpenedFile& file, char* buffer, std::size_t size,
                            std::uint64_t offset) const;
  // Writes some of `bytes`, at least one.
  OrErrno<std::size_t> Write(const OpenedFile& file, std::string_view bytes) const;

  // Makes a file's bytes, or a directory's entries, durable.
  OrErrno<void> Sync(const OpenedFile& file) const;
  // Makes everything on the file system that holds `file` durable.
  OrErrno<void> SyncFileSystem(const OpenedFile& file) const;

  // Gives a file in `directory` a second name there; never overwrites.
  OrErrno<void> Link(const OpenedFile& directory, const std::string& from,
                     const std::string& to) const;
  OrErrno<void> Unlink(const OpenedFile& directory, const std::string& name) const;
  OrErrno<void> Unlink(const std::string& path) const;

 private:
  // Makes one call under the hook. `call(bytes_max)` answers as system calls do: -1 and errno.
  template <typename Call>
  OrErrno<std::int64_t> Make(const FileCallTarget& target, const Call& call) const;

  FileHook* const hook_;
};

}  // namespace lake::objstore
