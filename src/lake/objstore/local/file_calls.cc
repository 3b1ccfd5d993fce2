#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>

#include <sys/stat.h>

#include "lake/base/result.h"
#include "lake/objstore/local/file_calls_internal.h"

namespace lake::objstore {
namespace {

// The umask takes away what its owner does not want.
constexpr mode_t kFileMode = 0666;
constexpr mode_t kDirectoryMode = 0777;

FileInfo ToFileInfo(const struct stat& status) {
  const auto since_1970 = std::chrono::seconds(status.st_mtim.tv_sec) +
                          std::chrono::nanoseconds(status.st_mtim.tv_nsec);
  return {.is_regular = S_ISREG(status.st_mode),
          .size = static_cast<std::uint64_t>(status.st_size),
          .links = status.st_nlink,
          .modified = WallTime(std::chrono::floor<std::chrono::milliseconds>(since_1970))};
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

DirectoryEntry::Kind ToKind(mode_t mode) {
  if (S_ISREG(mode)) {
    return DirectoryEntry::Kind::kFile;
  }
  return S_ISDIR(mode) ? DirectoryEntry::Kind::kDirectory : DirectoryEntry::Kind::kOther;
}

// Fills `entries` and returns 0, or returns -1 with errno set.
int ReadEntries(int fd, std::vector<DirectoryEntry>& entries) {
  // The stream closes what it is given, and a second open has a position of its own.
  const int own_fd = ::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own_fd < 0) {
    return -1;
  }
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(own_fd));
  if (stream == nullptr) {
    const int failure = errno;
    ::close(own_fd);
    errno = failure;
    return -1;
  }
  while (true) {
    errno = 0;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) {
      return errno == 0 ? 0 : -1;
    }
    const std::string_view name = static_cast<const char*>(entry->d_name);
    if (name == "." || name == "..") {
      continue;
    }
    mode_t mode = DTTOIF(entry->d_type);
    if (entry->d_type == DT_UNKNOWN) {
      struct stat status{};
      if (::fstatat(own_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) {
          continue;
        }
        return -1;
      }
      mode = status.st_mode;
    }
    entries.push_back({.name = std::string(name), .kind = ToKind(mode)});
  }
}

}  // namespace

OpenedFile::~OpenedFile() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

template <typename Call>
OrErrno<std::int64_t> FileCalls::Make(const FileCallTarget& target, const Call& call) const {
  const FileFault fault = hook_ == nullptr ? FileFault() : hook_->Before(target);
  std::int64_t result = -1;
  int error = fault.error;
  if (error == 0 || fault.performed) {
    do {
      result = call(fault.bytes_max);
      // NOLINTNEXTLINE(clang-analyzer-unix.Errno): `call` is a system call, which sets errno when it fails.
    } while (result < 0 && errno == EINTR);
    error = result < 0 ? errno : fault.error;
  }
  if (hook_ != nullptr) {
    const bool opens = target.call == FileCall::kOpenDirectory ||
                       target.call == FileCall::kOpenFile || target.call == FileCall::kCreateFile;
    hook_->After(target, error, opens && error == 0 ? static_cast<int>(result) : -1);
    if (opens && error != 0 && result >= 0) {
      ::close(static_cast<int>(result));
    }
  }
  if (error != 0) {
    return std::unexpected(error);
  }
  return result;
}

OrErrno<OpenedFile> FileCalls::OpenDirectory(const std::string& path, Links links) const {
  const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (links == Links::kRefuse ? O_NOFOLLOW : 0);
  LAKE_TRY(const std::int64_t fd, Make({.call = FileCall::kOpenDirectory, .path = path},
                                       [&](std::size_t) { return ::open(path.c_str(), flags); }));
  return OpenedFile(static_cast<int>(fd));
}

OrErrno<void> FileCalls::MakeDirectory(const std::string& path) const {
  LAKE_TRY_VOID(Make({.call = FileCall::kMakeDirectory, .path = path},
                     [&](std::size_t) { return ::mkdir(path.c_str(), kDirectoryMode); }));
  return {};
}

OrErrno<std::vector<DirectoryEntry>> FileCalls::ReadDirectory(const OpenedFile& directory) const {
  std::vector<DirectoryEntry> entries;
  LAKE_TRY_VOID(Make({.call = FileCall::kReadDirectory, .fd = directory.fd()}, [&](std::size_t) {
    entries.clear();
    return ReadEntries(directory.fd(), entries);
  }));
  return entries;
}

OrErrno<std::optional<DirectoryIdentity>> FileCalls::Identify(const std::string& path) const {
  struct statx status{};
  LAKE_TRY_VOID(Make({.call = FileCall::kIdentify, .path = path}, [&](std::size_t) {
    return ::statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &status);
  }));
  if ((status.stx_mask & STATX_BTIME) == 0) {
    return std::nullopt;
  }
  return DirectoryIdentity{.device_major = status.stx_dev_major,
                           .device_minor = status.stx_dev_minor,
                           .inode = status.stx_ino,
                           .born_s = status.stx_btime.tv_sec,
                           .born_ns = status.stx_btime.tv_nsec};
}

OrErrno<FileInfo> FileCalls::Inspect(const std::string& path) const {
  struct stat status{};
  LAKE_TRY_VOID(Make({.call = FileCall::kInspect, .path = path},
                     [&](std::size_t) { return ::lstat(path.c_str(), &status); }));
  return ToFileInfo(status);
}

OrErrno<FileInfo> FileCalls::Inspect(const OpenedFile& file) const {
  struct stat status{};
  LAKE_TRY_VOID(Make({.call = FileCall::kInspect, .fd = file.fd()},
                     [&](std::size_t) { return ::fstat(file.fd(), &status); }));
  return ToFileInfo(status);
}

OrErrno<OpenedFile> FileCalls::OpenFile(const std::string& path) const {
  // O_NONBLOCK keeps a named pipe without a writer from holding us.
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  LAKE_TRY(const std::int64_t fd, Make({.call = FileCall::kOpenFile, .path = path},
                                       [&](std::size_t) { return ::open(path.c_str(), kFlags); }));
  return OpenedFile(static_cast<int>(fd));
}

OrErrno<OpenedFile> FileCalls::CreateFile(const OpenedFile& directory,
                                          const std::string& name) const {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  LAKE_TRY(
      const std::int64_t fd,
      Make({.call = FileCall::kCreateFile, .fd = directory.fd(), .path = name},
           [&](std::size_t) { return ::openat(directory.fd(), name.c_str(), kFlags, kFileMode); }));
  return OpenedFile(static_cast<int>(fd));
}

OrErrno<std::size_t> FileCalls::Read(const OpenedFile& file, char* buffer, std::size_t size,
                                     std::uint64_t offset) const {
  LAKE_TRY(const std::int64_t count,
           Make({.call = FileCall::kRead, .fd = file.fd()}, [&](std::size_t bytes_max) {
             return ::pread(file.fd(), buffer, std::min(size, bytes_max),
                            static_cast<off_t>(offset));
           }));
  return static_cast<std::size_t>(count);
}

OrErrno<std::size_t> FileCalls::Write(const OpenedFile& file, std::string_view bytes) const {
  LAKE_TRY(const std::int64_t count,
           Make({.call = FileCall::kWrite, .fd = file.fd()}, [&](std::size_t bytes_max) {
             return ::write(file.fd(), bytes.data(), std::min(bytes.size(), bytes_max));
           }));
  return static_cast<std::size_t>(count);
}

OrErrno<void> FileCalls::Sync(const OpenedFile& file) const {
  LAKE_TRY_VOID(Make({.call = FileCall::kSync, .fd = file.fd()},
                     [&](std::size_t) { return ::fsync(file.fd()); }));
  return {};
}

OrErrno<void> FileCalls::SyncFileSystem(const OpenedFile& file) const {
  LAKE_TRY_VOID(Make({.call = FileCall::kSyncFileSystem, .fd = file.fd()},
                     [&](std::size_t) { return ::syncfs(file.fd()); }));
  return {};
}

OrErrno<void> FileCalls::Link(const OpenedFile& directory, const std::string& from,
                              const std::string& to) const {
  LAKE_TRY_VOID(Make({.call = FileCall::kLink, .fd = directory.fd(), .path = to}, [&](std::size_t) {
    return ::linkat(directory.fd(), from.c_str(), directory.fd(), to.c_str(), 0);
  }));
  return {};
}

OrErrno<void> FileCalls::Unlink(const OpenedFile& directory, const std::string& name) const {
  LAKE_TRY_VOID(Make({.call = FileCall::kUnlink, .fd = directory.fd(), .path = name},
                     [&](std::size_t) { return ::unlinkat(directory.fd(), name.c_str(), 0); }));
  return {};
}

OrErrno<void> FileCalls::Unlink(const std::string& path) const {
  LAKE_TRY_VOID(Make({.call = FileCall::kUnlink, .path = path},
                     [&](std::size_t) { return ::unlink(path.c_str()); }));
  return {};
}

}  // namespace lake::objstore
