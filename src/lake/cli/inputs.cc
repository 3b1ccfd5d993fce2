#include "lake/cli/inputs.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "lake/base/hash.h"
#include "lake/cli/text.h"

namespace lake::cli {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

// Closes a descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}

  ~Descriptor() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }

 private:
  int fd_;
};

// Reads until the end, handing each piece to `take`.
template <typename Take>
Status ReadAll(int fd, std::string_view shown, const Take& take) {
  std::string buffer(kReadBytes, '\0');
  while (true) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return Unavailable(fmt::format("{}: cannot be read: {}", shown, Reason(errno)));
    }
    if (got == 0) {
      return {};
    }
    LAKE_TRY_VOID(take(std::string_view(buffer).substr(0, static_cast<std::size_t>(got))));
  }
}

Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return Unavailable(fmt::format("{}: cannot be written: {}", path, Reason(errno)));
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

std::string_view Extension(engine::InputFormat format) {
  switch (format) {
    case engine::InputFormat::kParquet:
      return ".parquet";
    case engine::InputFormat::kCsv:
      return ".csv";
    case engine::InputFormat::kJson:
      return ".json";
  }
  return "";
}

std::string TemporaryDirectory() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing of ours sets the environment.
  const char* named = std::getenv("TMPDIR");
  return named == nullptr || *named == '\0' ? "/tmp" : named;
}

Status Stat(int fd, std::string_view shown, struct stat& out) {
  if (fstat(fd, &out) != 0) {
    return Unavailable(fmt::format("{}: cannot be read: {}", shown, Reason(errno)));
  }
  return {};
}

}  // namespace

// One input: the open file, and what it was like when it was opened.
class Inputs::File {
 public:
  static Result<std::unique_ptr<File>> Open(const InputArgument& argument, int standard_input) {
    const bool is_standard_input = argument.path == kStandardInput;
    std::string shown = is_standard_input ? "standard input" : argument.path;
    const int fd = is_standard_input ? fcntl(standard_input, F_DUPFD_CLOEXEC, 0)
                                     : open(argument.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      const int error = errno;
      const std::string message = fmt::format("{}: {}", shown, Reason(error));
      if (error == ENOENT || error == ENOTDIR) {
        return NotFound(message);
      }
      if (error == EACCES || error == EPERM) {
        return PermissionDenied(message);
      }
      return Unavailable(message);
    }
    auto file = std::make_unique<File>(fd, std::move(shown), argument);
    LAKE_TRY_VOID(Stat(fd, file->shown_, file->opened_as_));
    if (S_ISDIR(file->opened_as_.st_mode)) {
      return InvalidArgument(fmt::format("{}: is a directory; name its files", file->shown_));
    }
    file->needs_copy_ = is_standard_input || !S_ISREG(file->opened_as_.st_mode);
    return file;
  }

  File(int fd, std::string shown, const InputArgument& argument)
      : descriptor_(fd), shown_(std::move(shown)), path_(argument.path), format_(argument.format) {}

  ~File() {
    if (is_copy_) {
      unlink(path_.c_str());
    }
  }

  File(const File&) = delete;
  File& operator=(const File&) = delete;

  Status CopyIfNeeded() {
    if (!needs_copy_) {
      return {};
    }
    const std::string_view extension = Extension(format_);
    std::string path = TemporaryDirectory() + "/lake-input-XXXXXX" + std::string(extension);
    const Descriptor copy(mkostemps(path.data(), static_cast<int>(extension.size()), O_CLOEXEC));
    if (copy.get() < 0) {
      return Unavailable(fmt::format("{}: cannot be made, and {} has to be kept there: {}", path,
                                     shown_, Reason(errno)));
    }
    path_ = path;
    is_copy_ = true;
    return ReadAll(descriptor_.get(), shown_,
                   [&](std::string_view bytes) { return WriteAll(copy.get(), bytes, path); });
  }

  std::uint64_t size() const {
    return is_copy_ ? 0 : static_cast<std::uint64_t>(opened_as_.st_size);
  }

  // Reads the input by its path: the bytes that the writer of data files will see.
  Result<std::string> Digest(const std::function<void(std::size_t)>& on_bytes) const {
    const Descriptor reader(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (reader.get() < 0) {
      return Unavailable(fmt::format("{}: cannot be read: {}", shown_, Reason(errno)));
    }
    Sha256 digest;
    LAKE_TRY_VOID(ReadAll(reader.get(), shown_, [&](std::string_view bytes) {
      digest.Update(bytes);
      on_bytes(bytes.size());
      return Status();
    }));
    return digest.Finish();
  }

  Status CheckUnchanged() const {
    struct stat now{};
    if (is_copy_) {
      return {};
    }
    const bool there = stat(path_.c_str(), &now) == 0;
    const bool same = there && now.st_dev == opened_as_.st_dev && now.st_ino == opened_as_.st_ino &&
                      now.st_size == opened_as_.st_size &&
                      now.st_mtim.tv_sec == opened_as_.st_mtim.tv_sec &&
                      now.st_mtim.tv_nsec == opened_as_.st_mtim.tv_nsec;
    if (!same) {
      return Conflict(fmt::format("{}: changed while it was being read", shown_));
    }
    return {};
  }

  engine::StageInput ToStage() const { return {.path = path_, .format = format_}; }

  std::string InPersonsWords(std::string message) const {
    if (is_copy_) {
      for (std::size_t at = message.find(path_); at != std::string::npos;
           at = message.find(path_, at + shown_.size())) {
        message.replace(at, path_.size(), shown_);
      }
    }
    return message;
  }

 private:
  Descriptor descriptor_;
  std::string shown_;  // What the person calls it.
  std::string path_;   // Where its bytes are.
  engine::InputFormat format_;
  struct stat opened_as_{};
  bool needs_copy_ = false;
  bool is_copy_ = false;
};

Inputs::Inputs(std::vector<std::unique_ptr<File>> files) : files_(std::move(files)) {}

Inputs::~Inputs() = default;
Inputs::Inputs(Inputs&&) noexcept = default;
Inputs& Inputs::operator=(Inputs&&) noexcept = default;

Result<Inputs> Inputs::Open(const std::vector<InputArgument>& arguments, int standard_input) {
  std::vector<std::unique_ptr<File>> files;
  for (const InputArgument& argument : arguments) {
    LAKE_TRY(std::unique_ptr<File> file, File::Open(argument, standard_input));
    files.push_back(std::move(file));
  }
  for (const std::unique_ptr<File>& file : files) {
    LAKE_TRY_VOID(file->CopyIfNeeded());
  }
  return Inputs(std::move(files));
}

Result<std::vector<std::string>> Inputs::Digest(const OnProgress& on_progress) const {
  std::uint64_t total = 0;
  for (const std::unique_ptr<File>& file : files_) {
    total += file->size();
  }
  std::uint64_t done = 0;
  std::vector<std::string> digests;
  for (const std::unique_ptr<File>& file : files_) {
    LAKE_TRY(std::string digest, file->Digest([&](std::size_t bytes) {
      done += bytes;
      on_progress(total == 0 ? 0 : static_cast<double>(done) / static_cast<double>(total));
    }));
    digests.push_back(std::move(digest));
  }
  return digests;
}

std::vector<engine::StageInput> Inputs::ToStage() const {
  std::vector<engine::StageInput> inputs;
  inputs.reserve(files_.size());
  for (const std::unique_ptr<File>& file : files_) {
    inputs.push_back(file->ToStage());
  }
  return inputs;
}

Status Inputs::CheckUnchanged() const {
  for (const std::unique_ptr<File>& file : files_) {
    LAKE_TRY_VOID(file->CheckUnchanged());
  }
  return {};
}

Error Inputs::InPersonsWords(const Error& error) const {
  std::string message = error.message();
  for (const std::unique_ptr<File>& file : files_) {
    message = file->InPersonsWords(std::move(message));
  }
  return Error(error.code(), std::move(message));
}

Result<iceberg::Schema> InferSchema(const Inputs& inputs, Connection& lake) {
  LAKE_TRY(engine::DataFileWriter * writer, lake.writer());
  Result<iceberg::Schema> schema = writer->InferSchema(inputs.ToStage().front());
  if (!schema.has_value()) {
    return std::unexpected(inputs.InPersonsWords(schema.error()));
  }
  return schema;
}

}  // namespace lake::cli
