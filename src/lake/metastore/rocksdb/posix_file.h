#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "lake/base/result.h"

namespace lake::metastore {

// Owns an open file descriptor. Single-threaded.
class Descriptor {
 public:
  Descriptor() = default;

  explicit Descriptor(int value) : value_(value) {}

  ~Descriptor();

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}

  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }

  int value() const { return value_; }

 private:
  int value_ = -1;
};

// Returns what `errno_value` means to a caller: kPermissionDenied where somebody must grant access,
// otherwise kUnavailable. The message reads "<operation> <path>: <reason>".
std::unexpected<Error> PosixError(std::string_view operation, std::string_view path,
                                  int errno_value);

// Opens a file with open(2)'s flags (O_CLOEXEC is added); a new file may be read by its owner alone.
Result<Descriptor> OpenFile(const std::string& path, int flags);

// Returns the whole content of a file. Blocks on disk.
Result<std::string> ReadFile(const std::string& path);

// Returns the size of a file in bytes.
Result<std::uint64_t> FileSize(const std::string& path);

// Deletes a file. Its name may come back until the directory is synced.
Status DeleteFile(const std::string& path);

// Makes the entries of a directory durable. Blocks on disk.
Status SyncDirectory(const std::string& path);

// Makes a file's content durable. Blocks on disk.
Status SyncFile(const std::string& path);

// Cuts a file to `bytes`, durably. Blocks on disk.
Status TruncateFile(const std::string& path, std::uint64_t bytes);

}  // namespace lake::metastore
