#include "lake/server/data_dir.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "lake/base/json_internal.h"

namespace lake::server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormatWord = "lake ";
constexpr std::string_view kHomeWord = "home ";

std::unexpected<Error> SystemError(std::string_view what, const std::string& path, int number) {
  const std::string reason = std::error_code(number, std::generic_category()).message();
  std::string message = fmt::format("{} {}: {}", what, path, reason);
  if (number == EACCES || number == EPERM || number == EROFS) {
    return PermissionDenied(std::move(message));
  }
  return Unavailable(std::move(message));
}

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}

  ~Descriptor() {
    if (number_ >= 0) {
      close(number_);
    }
  }

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

Status SyncDirectory(const std::string& path) {
  const Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.number() < 0 || fsync(directory.number()) != 0) {
    return SystemError("sync directory", path, errno);
  }
  return {};
}

Status WriteSynced(const std::string& path, std::string_view bytes) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.number() < 0) {
    return SystemError("create", path, errno);
  }
  while (!bytes.empty()) {
    const ssize_t written = write(file.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return SystemError("write", path, errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fsync(file.number()) != 0) {
    return SystemError("sync", path, errno);
  }
  return {};
}

std::optional<std::string> ReadSmall(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return std::nullopt;
  }
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// Makes a directory and its missing parents, each durable under its parent.
Status MakeDirectories(const fs::path& path) {
  std::error_code failure;
  if (fs::is_directory(path, failure)) {
    return {};
  }
  if (path.has_parent_path() && path.parent_path() != path) {
    LAKE_TRY_VOID(MakeDirectories(path.parent_path()));
  }
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    return SystemError("create directory", path.string(), errno);
  }
  return SyncDirectory(path.parent_path().string());
}

// The file is complete before it has its name, and the name never replaces another's.
Status PutFormat(const DataDir& dir) {
  const std::string temporary = fmt::format("{}.{}", dir.format_path(), getpid());
  LAKE_TRY_VOID(WriteSynced(
      temporary, fmt::format("{}{}\n{}{}\n", kFormatWord, kDataDirFormat, kHomeWord, dir.root)));
  const int linked = link(temporary.c_str(), dir.format_path().c_str());
  const int number = errno;
  unlink(temporary.c_str());
  if (linked != 0 && number != EEXIST) {
    return SystemError("create", dir.format_path(), number);
  }
  return SyncDirectory(dir.root);
}

// What a FORMAT file says.
struct Format {
  int number = 0;
  std::string home;  // The path under which the directory was made: tables name their files by it.
};

// Returns nothing for a text that is no FORMAT file. One of another format may say other things after its number.
std::optional<Format> ParseFormat(std::string_view text) {
  if (!text.starts_with(kFormatWord) || !text.ends_with('\n')) {
    return std::nullopt;
  }
  text.remove_prefix(kFormatWord.size());
  Format format;
  const auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), format.number);
  if (failure != std::errc() || format.number < 1 || *end != '\n') {
    return std::nullopt;
  }
  if (format.number != kDataDirFormat) {
    return format;
  }
  text.remove_prefix(static_cast<std::size_t>(end + 1 - text.data()));
  if (!text.starts_with(kHomeWord)) {
    return std::nullopt;
  }
  text.remove_prefix(kHomeWord.size());
  text.remove_suffix(1);
  if (text.contains('\n')) {
    return std::nullopt;
  }
  format.home = text;
  return format;
}

// Reads what kind of data directory is there. Errors as for CheckDataDir.
Result<Format> ReadFormat(const DataDir& dir) {
  struct stat info{};
  if (stat(dir.root.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return NotFound(fmt::format(
          "there is no data directory at {}; 'lake namespace create NAME' makes one", dir.root));
    }
    return SystemError("data directory", dir.root, errno);
  }
  if (!S_ISDIR(info.st_mode)) {
    return InvalidArgument(fmt::format("{} is not a directory", dir.root));
  }
  const std::optional<std::string> text = ReadSmall(dir.format_path());
  if (!text.has_value()) {
    if (access(dir.root.c_str(), R_OK | X_OK) != 0 ||
        (access(dir.format_path().c_str(), F_OK) == 0)) {
      return SystemError("data directory", dir.root, errno == 0 ? EACCES : errno);
    }
    return InvalidArgument(fmt::format(
        "{} is not a lake data directory: it has no FORMAT file; choose another with --data-dir",
        dir.root));
  }
  std::optional<Format> format = ParseFormat(*text);
  if (!format.has_value()) {
    return InvalidArgument(
        fmt::format("{} is not a lake data directory: its FORMAT file is not ours", dir.root));
  }
  if (format->number > kDataDirFormat) {
    return Unimplemented(fmt::format(
        "{} has data directory format {}; this version of lake knows {}: use a newer lake",
        dir.root, format->number, kDataDirFormat));
  }
  if (format->number < kDataDirFormat) {
    return Unimplemented(fmt::format(
        "{} has data directory format {}, which was used only before lake 0.1 and does not say "
        "where the directory was made; make another, and register its tables there",
        dir.root, format->number));
  }
  return *std::move(format);
}

// Checks that the directory is where it was made, by whatever path. Elsewhere, its tables' files are not its own.
Status CheckIsAtHome(const DataDir& dir, const Format& format) {
  std::error_code failure;
  if (format.home == dir.root || fs::equivalent(format.home, dir.root, failure)) {
    return {};
  }
  return Conflict(fmt::format(
      "data directory {}: it was made as {}, and its tables' files are there; it is a copy, or was "
      "moved, and can only be read: put it back, or link to it from there",
      dir.root, format.home));
}

// Whether a directory holds nothing but what another process that makes it has put there so far.
Result<bool> IsFresh(const DataDir& dir) {
  std::error_code failure;
  fs::directory_iterator entries(dir.root, failure);
  if (failure) {
    return SystemError("read directory", dir.root, failure.value());
  }
  for (const fs::directory_entry& entry : entries) {
    if (!entry.path().filename().string().starts_with("FORMAT.")) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<DataDir> LocateDataDir(std::string_view path) {
  if (path.empty()) {
    return InvalidArgument("the data directory's path is empty");
  }
  if (path.contains('\n')) {
    return InvalidArgument("the data directory's path has a line break");
  }
  std::error_code failure;
  const fs::path absolute = fs::absolute(fs::path(path), failure);
  if (failure) {
    return SystemError("data directory", std::string(path), failure.value());
  }
  std::string root = absolute.lexically_normal().string();
  while (root.size() > 1 && root.ends_with('/')) {
    root.pop_back();
  }
  return DataDir{std::move(root)};
}

Status CheckDataDir(const DataDir& dir) {
  LAKE_TRY_VOID(ReadFormat(dir));
  return {};
}

Status EnsureDataDir(const DataDir& dir) {
  Result<Format> format = ReadFormat(dir);
  if (!format.has_value()) {
    const ErrorCode code = format.error().code();
    if (code == ErrorCode::kNotFound) {
      LAKE_TRY_VOID(MakeDirectories(dir.root));
    } else if (code == ErrorCode::kInvalidArgument && fs::is_directory(dir.root)) {
      LAKE_TRY(const bool fresh, IsFresh(dir));
      if (!fresh) {
        return std::unexpected(format.error());
      }
    } else {
      return std::unexpected(format.error());
    }
    LAKE_TRY_VOID(PutFormat(dir));
    LAKE_TRY(format, ReadFormat(dir));
  }
  return CheckIsAtHome(dir, *format);
}

Status WriteOwner(const DataDir& dir, std::string_view purpose) {
  const boost::json::object owner = {
      {"pid", getpid()}, {"purpose", boost::json::string(purpose.data(), purpose.size())}};
  const std::string temporary = dir.owner_path() + ".new";
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file << json::Write(owner) << '\n';
    if (!file.flush()) {
      return Unavailable(fmt::format("write {}", temporary));
    }
  }
  if (rename(temporary.c_str(), dir.owner_path().c_str()) != 0) {
    return SystemError("replace", dir.owner_path(), errno);
  }
  return {};
}

std::string DescribeOwner(const DataDir& dir) {
  const std::optional<std::string> text = ReadSmall(dir.owner_path());
  if (!text.has_value()) {
    return "another process holds it";
  }
  const Result<boost::json::value> parsed = json::Parse(*text);
  if (!parsed.has_value() || !parsed->is_object()) {
    return "another process holds it";
  }
  const Result<std::int64_t> pid = json::GetInt(parsed->get_object(), "pid");
  const Result<std::string> purpose = json::GetString(parsed->get_object(), "purpose");
  if (!pid.has_value() || !purpose.has_value()) {
    return "another process holds it";
  }
  return fmt::format("process {} ({}) holds it", *pid, *purpose);
}

}  // namespace lake::server
