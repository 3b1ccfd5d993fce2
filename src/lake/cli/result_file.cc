#include "lake/cli/result_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "lake/base/uuid.h"

namespace lake::cli {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> CannotWrite(const std::string& path, const std::error_code& why) {
  std::string message = fmt::format("{}: cannot be written: {}", path, why.message());
  return why == std::errc::permission_denied || why == std::errc::read_only_file_system
             ? PermissionDenied(std::move(message))
             : Unavailable(std::move(message));
}

std::error_code LastError() {
  return {errno, std::generic_category()};
}

// Whether `path` lies in `directory` or below, links followed as far as there is something.
bool IsBelow(const std::string& path, std::string_view directory) {
  std::error_code ignored;  // What cannot be resolved is compared as it is written.
  const fs::path file = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  const fs::path root = fs::weakly_canonical(fs::absolute(directory, ignored), ignored);
  const fs::path relative = file.lexically_relative(root);
  return !file.empty() && !relative.empty() && *relative.begin() != "..";
}

Status SyncPath(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) {
    return CannotWrite(path, LastError());
  }
  const int failed = fsync(file);
  const std::error_code why = LastError();
  close(file);
  return failed == 0 ? Status() : CannotWrite(path, why);
}

}  // namespace

Result<ResultFile> ResultFile::Prepare(std::string path, std::string_view data_dir,
                                       Random& random) {
  if (IsBelow(path, data_dir)) {
    return InvalidArgument(
        fmt::format("{}: lies in the data directory {}, where only lake writes", path, data_dir));
  }
  // A link stays; what it points to is replaced.
  std::error_code failure;
  fs::path target = path;
  if (fs::is_symlink(fs::symlink_status(target, failure))) {
    target = fs::weakly_canonical(target, failure);
  }
  const fs::file_status status = fs::status(target, failure);
  if (failure && status.type() == fs::file_type::none) {
    return CannotWrite(path, failure);
  }
  if (fs::is_directory(status)) {
    return InvalidArgument(fmt::format("{}: is a directory", path));
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return ResultFile(path, path);
  }
  const fs::path staging =
      target.parent_path() / fmt::format(".{}.{}.partial", target.filename().string(),
                                         Uuid::Random4(random).ToString().substr(0, 8));
  return ResultFile(target.string(), staging.string());
}

ResultFile::ResultFile(std::string path, std::string staging_path)
    : path_(std::move(path)), staging_path_(std::move(staging_path)) {}

ResultFile::ResultFile(ResultFile&& other) noexcept
    : path_(std::move(other.path_)), staging_path_(std::exchange(other.staging_path_, {})) {}

ResultFile::~ResultFile() {
  if (!staging_path_.empty() && !in_place()) {
    unlink(staging_path_.c_str());
  }
}

Status ResultFile::Commit() {
  if (in_place()) {
    return {};
  }
  LAKE_TRY_VOID(SyncPath(staging_path_, O_RDONLY));
  std::error_code failure;
  fs::rename(staging_path_, path_, failure);
  if (failure) {
    return CannotWrite(path_, failure);
  }
  staging_path_.clear();
  const fs::path directory = fs::path(path_).parent_path();
  return SyncPath(directory.empty() ? "." : directory.string(), O_RDONLY | O_DIRECTORY);
}

}  // namespace lake::cli
