#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "lake/base/check.h"
#include "lake/sql/error_internal.h"
#include "lake/sql/object_file_system_internal.h"

namespace lake::sql {
namespace {

constexpr const char* kSizeOption = "file_size";
constexpr const char* kValidateOption = "validate_external_file_cache";

// DuckDB's Parquet writer hands over single pages and 4 KiB buffers; the store gets larger pieces.
constexpr std::size_t kWriteBufferBytes = std::size_t{1} << 20;

class ReadHandle final : public duckdb::FileHandle {
 public:
  ReadHandle(duckdb::FileSystem& owner, const std::string& name, duckdb::FileOpenFlags open_flags,
             std::uint64_t size)
      : FileHandle(owner, name, open_flags), size_(size) {}

  void Close() override {}

  std::uint64_t size() const { return size_; }

  std::uint64_t position = 0;

 private:
  const std::uint64_t size_;
};

// Nothing is asked of the store before there is something to write: an error at opening would
// reach DuckDB while it moves from one file to the next, when another of its threads still writes
// to the one before, and that it does not survive.
class WriteHandle final : public duckdb::FileHandle {
 public:
  using Start = std::function<Result<std::unique_ptr<objstore::ObjectWriter>>()>;

  WriteHandle(duckdb::FileSystem& owner, const std::string& name, duckdb::FileOpenFlags open_flags,
              Start start)
      : FileHandle(owner, name, open_flags), start_(std::move(start)) {}

  void Append(const void* data, std::size_t bytes) {
    const std::string_view piece(static_cast<const char*>(data), bytes);
    if (closed_) {
      ThrowWhileRunning(Error(ErrorCode::kInternal, "write to a closed file " + path));
    }
    size_ += bytes;
    if (buffer_.size() + bytes > kWriteBufferBytes) {
      Flush();
    }
    if (bytes >= kWriteBufferBytes) {
      Write(piece);
    } else {
      buffer_.append(piece);
    }
  }

  // Idempotent: DuckDB closes a handle more than once. Only the first call can fail.
  void Close() override {
    if (closed_) {
      return;
    }
    closed_ = true;
    Flush();
    if (writer_ == nullptr) {
      Write("");  // An empty file is a file.
    }
    const auto writer = std::move(writer_);
    Check(writer->Finish());
  }

  std::uint64_t size() const { return size_; }

 private:
  void Flush() {
    if (!buffer_.empty()) {
      Write(buffer_);
      buffer_.clear();
    }
  }

  void Write(std::string_view bytes) {
    if (writer_ == nullptr) {
      auto started = start_();
      if (!started.has_value()) {
        ThrowWhileRunning(started.error().With("create " + std::string(FromObjectPath(path))));
      }
      writer_ = std::move(*started);
    }
    Check(writer_->Append(bytes));
  }

  void Check(const Status& status) const {
    if (!status.has_value()) {
      ThrowWhileRunning(status.error().With("write " + std::string(FromObjectPath(path))));
    }
  }

  const Start start_;
  std::unique_ptr<objstore::ObjectWriter> writer_;  // Null before the first byte, and once closed.
  bool closed_ = false;
  std::string buffer_;
  std::uint64_t size_ = 0;
};

}  // namespace

std::string ToObjectPath(std::string_view path) {
  return std::string(kObjectPrefix) + std::string(path);
}

std::string_view FromObjectPath(std::string_view name) {
  LAKE_CHECK(name.starts_with(kObjectPrefix), "only names with the prefix reach this file system");
  return name.substr(kObjectPrefix.size());
}

duckdb::OpenFileInfo ToOpenFileInfo(std::string_view path, std::uint64_t size) {
  duckdb::OpenFileInfo info(ToObjectPath(path));
  info.extended_info = duckdb::make_shared_ptr<duckdb::ExtendedOpenFileInfo>();
  info.extended_info->options[kSizeOption] = duckdb::Value::UBIGINT(size);
  // A path never gets other bytes, so a cached range needs no look at the store.
  info.extended_info->options[kValidateOption] = duckdb::Value::BOOLEAN(false);
  return info;
}

ObjectFileSystem::ObjectFileSystem(objstore::ObjectStore& objects, const Clock& clock,
                                   Options options)
    : objects_(objects), clock_(clock), options_(std::move(options)) {}

bool ObjectFileSystem::CanHandleFile(const std::string& path) {
  return path.starts_with(kObjectPrefix);
}

std::string ObjectFileSystem::GetName() const {
  return "LakeObjectFileSystem";
}

duckdb::unique_ptr<duckdb::FileHandle> ObjectFileSystem::OpenFileExtended(
    const duckdb::OpenFileInfo& file, duckdb::FileOpenFlags flags,
    duckdb::optional_ptr<duckdb::FileOpener> /*opener*/) {
  const std::string path(FromObjectPath(file.path));
  if (flags.OpenForWriting()) {
    return duckdb::make_uniq<WriteHandle>(*this, file.path, flags, [this, path] {
      if (options_.on_started) {
        options_.on_started(path);
      }
      return objects_.StartWrite(path, clock_.Now() + options_.write_timeout);
    });
  }
  if (file.extended_info != nullptr) {
    const auto size = file.extended_info->options.find(kSizeOption);
    if (size != file.extended_info->options.end()) {
      return duckdb::make_uniq<ReadHandle>(*this, file.path, flags,
                                           duckdb::UBigIntValue::Get(size->second));
    }
  }
  const auto info = objects_.Stat(path, clock_.Now() + options_.request_timeout);
  if (!info.has_value()) {
    if (info.error().code() == ErrorCode::kNotFound && flags.ReturnNullIfNotExists()) {
      return nullptr;
    }
    ThrowWhileRunning(info.error().With("open " + path));
  }
  return duckdb::make_uniq<ReadHandle>(*this, file.path, flags, info->size);
}

void ObjectFileSystem::Read(duckdb::FileHandle& handle, void* buffer, std::int64_t bytes,
                            duckdb::idx_t location) {
  if (bytes == 0) {
    return;
  }
  const std::string_view path = FromObjectPath(handle.path);
  const auto data = objects_.GetRange(path, location, static_cast<std::uint64_t>(bytes),
                                      clock_.Now() + options_.request_timeout);
  if (!data.has_value()) {
    // A table names a file that is gone or shorter than its metadata says.
    const ErrorCode code = data.error().code();
    const bool damaged = code == ErrorCode::kNotFound || code == ErrorCode::kInvalidArgument;
    ThrowWhileRunning(Error(damaged ? ErrorCode::kCorruption : code, data.error().message())
                          .With("read " + std::string(path)));
  }
  LAKE_CHECK(data->size() == static_cast<std::size_t>(bytes), "a range is returned whole");
  std::memcpy(buffer, data->data(), data->size());
}

std::int64_t ObjectFileSystem::Read(duckdb::FileHandle& handle, void* buffer, std::int64_t bytes) {
  auto& file = handle.Cast<ReadHandle>();
  const std::uint64_t left = file.size() - std::min(file.position, file.size());
  const auto count =
      static_cast<std::int64_t>(std::min<std::uint64_t>(static_cast<std::uint64_t>(bytes), left));
  Read(handle, buffer, count, file.position);
  file.position += static_cast<std::uint64_t>(count);
  return count;
}

void ObjectFileSystem::Write(duckdb::FileHandle& handle, void* buffer, std::int64_t bytes,
                             duckdb::idx_t location) {
  auto& file = handle.Cast<WriteHandle>();
  if (location != file.size()) {
    ThrowWhileRunning(
        Error(ErrorCode::kInternal, "objects are written from front to back, not at a position"));
  }
  file.Append(buffer, static_cast<std::size_t>(bytes));
}

std::int64_t ObjectFileSystem::Write(duckdb::FileHandle& handle, void* buffer, std::int64_t bytes) {
  handle.Cast<WriteHandle>().Append(buffer, static_cast<std::size_t>(bytes));
  return bytes;
}

void ObjectFileSystem::FileSync(duckdb::FileHandle& /*handle*/) {
  // Nothing is promised before Close(), which makes the file durable.
}

std::int64_t ObjectFileSystem::GetFileSize(duckdb::FileHandle& handle) {
  if (handle.flags.OpenForWriting()) {
    return static_cast<std::int64_t>(handle.Cast<WriteHandle>().size());
  }
  return static_cast<std::int64_t>(handle.Cast<ReadHandle>().size());
}

duckdb::timestamp_t ObjectFileSystem::GetLastModifiedTime(duckdb::FileHandle& /*handle*/) {
  return duckdb::timestamp_t(0);
}

std::string ObjectFileSystem::GetVersionTag(duckdb::FileHandle& /*handle*/) {
  // There is one version of every object. DuckDB's cache takes an empty tag for "ask the time".
  return "immutable";
}

duckdb::FileType ObjectFileSystem::GetFileType(duckdb::FileHandle& /*handle*/) {
  return duckdb::FileType::FILE_TYPE_REGULAR;
}

bool ObjectFileSystem::OnDiskFile(duckdb::FileHandle& /*handle*/) {
  // Makes DuckDB read a row group's columns in a few large pieces.
  return false;
}

void ObjectFileSystem::Seek(duckdb::FileHandle& handle, duckdb::idx_t location) {
  handle.Cast<ReadHandle>().position = location;
}

void ObjectFileSystem::Reset(duckdb::FileHandle& handle) {
  Seek(handle, 0);
}

duckdb::idx_t ObjectFileSystem::SeekPosition(duckdb::FileHandle& handle) {
  return handle.Cast<ReadHandle>().position;
}

bool ObjectFileSystem::DirectoryExists(const std::string& /*directory*/,
                                       duckdb::optional_ptr<duckdb::FileOpener> /*opener*/) {
  return true;
}

void ObjectFileSystem::CreateDirectory(const std::string& /*directory*/,
                                       duckdb::optional_ptr<duckdb::FileOpener> /*opener*/) {}

bool ObjectFileSystem::FileExists(const std::string& path,
                                  duckdb::optional_ptr<duckdb::FileOpener> /*opener*/) {
  const auto info = objects_.Stat(FromObjectPath(path), clock_.Now() + options_.request_timeout);
  if (!info.has_value() && info.error().code() != ErrorCode::kNotFound) {
    ThrowWhileRunning(info.error());
  }
  return info.has_value();
}

bool ObjectFileSystem::IsPipe(const std::string& /*path*/,
                              duckdb::optional_ptr<duckdb::FileOpener> /*opener*/) {
  return false;
}

duckdb::vector<duckdb::OpenFileInfo> ObjectFileSystem::Glob(const std::string& path,
                                                            duckdb::FileOpener* /*opener*/) {
  return {duckdb::OpenFileInfo(path)};
}

bool ObjectFileSystem::ListFilesExtended(
    const std::string& /*directory*/,
    const std::function<void(duckdb::OpenFileInfo& info)>& /*callback*/,
    duckdb::optional_ptr<duckdb::FileOpener> /*opener*/) {
  return false;
}

std::string ObjectFileSystem::PathSeparator(const std::string& /*path*/) {
  return "/";
}

}  // namespace lake::sql
