#include "lake/metastore/rocksdb/posix_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>

namespace lake::metastore {
namespace {

constexpr mode_t kOwnerOnly = 0600;

}  // namespace

Descriptor::~Descriptor() {
  if (value_ >= 0) {
    // Nothing can be done about a failure here; whoever needs durability has synced before.
    static_cast<void>(close(value_));
  }
}

std::unexpected<Error> PosixError(std::string_view operation, std::string_view path,
                                  int errno_value) {
  std::string message =
      fmt::format("{} {}: {}", operation, path, std::generic_category().message(errno_value));
  switch (errno_value) {
    case EACCES:
    case EPERM:
    case EROFS:
      return PermissionDenied(std::move(message));
    case ENOSPC:
    case EDQUOT:
      return Unavailable(std::move(message) + "; free some space");
    default:
      return Unavailable(std::move(message));
  }
}

Result<Descriptor> OpenFile(const std::string& path, int flags) {
  Descriptor descriptor(open(path.c_str(), flags | O_CLOEXEC, kOwnerOnly));
  if (descriptor.value() < 0) {
    return PosixError("open", path, errno);
  }
  return descriptor;
}

Result<std::string> ReadFile(const std::string& path) {
  LAKE_TRY(const Descriptor file, OpenFile(path, O_RDONLY));
  struct stat status{};
  if (fstat(file.value(), &status) != 0) {
    return PosixError("read", path, errno);
  }
  std::string content(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = read(file.value(), content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return PosixError("read", path, errno);
    }
    if (got == 0) {
      break;  // It has become shorter.
    }
    done += static_cast<std::size_t>(got);
  }
  content.resize(done);
  return content;
}

Result<std::uint64_t> FileSize(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    return PosixError("look at", path, errno);
  }
  return static_cast<std::uint64_t>(status.st_size);
}

Status DeleteFile(const std::string& path) {
  if (unlink(path.c_str()) != 0) {
    return PosixError("delete", path, errno);
  }
  return {};
}

Status SyncDirectory(const std::string& path) {
  LAKE_TRY(const Descriptor directory, OpenFile(path, O_RDONLY | O_DIRECTORY));
  if (fsync(directory.value()) != 0) {
    return PosixError("sync", path, errno);
  }
  return {};
}

Status SyncFile(const std::string& path) {
  LAKE_TRY(const Descriptor file, OpenFile(path, O_RDONLY));
  if (fsync(file.value()) != 0) {
    return PosixError("sync", path, errno);
  }
  return {};
}

Status TruncateFile(const std::string& path, std::uint64_t bytes) {
  LAKE_TRY(const Descriptor file, OpenFile(path, O_WRONLY));
  if (ftruncate(file.value(), static_cast<off_t>(bytes)) != 0) {
    return PosixError("truncate", path, errno);
  }
  if (fsync(file.value()) != 0) {
    return PosixError("sync", path, errno);
  }
  return {};
}

}  // namespace lake::metastore
