#include <cerrno>
#include <utility>

#include "lake/base/check.h"
#include "lake/base/uuid.h"
#include "lake/objstore/local/errno_error_internal.h"
#include "lake/objstore/local/local_objstore.h"
#include "lake/objstore/local/local_writer_internal.h"

namespace lake::objstore {
namespace {

constexpr std::string_view kPut = "put";

// A random name is taken once in a lifetime; twice, and something else is wrong.
constexpr int kTemporaryNameAttemptsMax = 3;

}  // namespace

Result<std::unique_ptr<LocalWriter>> LocalWriter::Start(const FileCalls& calls,
                                                        DurableDirectories& directories,
                                                        Random& random, std::string_view key,
                                                        std::string_view path) {
  LAKE_TRY(OpenedFile directory, directories.Open(ParentKey(key), kPut, path));
  auto writer = std::make_unique<LocalWriter>(Token(), calls, std::move(directory),
                                              key.substr(key.rfind('/') + 1), path);
  LAKE_TRY_VOID(writer->CreateTemporary(random));
  return writer;
}

LocalWriter::~LocalWriter() {
  RemoveTemporary();
}

Status LocalWriter::CreateTemporary(Random& random) {
  int error = EEXIST;
  for (int attempt = 0; attempt < kTemporaryNameAttemptsMax && error == EEXIST; ++attempt) {
    std::string name = std::string(kTemporaryNamePrefix) + Uuid::Random4(random).ToString();
    OrErrno<OpenedFile> file = calls_.CreateFile(directory_, name);
    if (file.has_value()) {
      file_ = *std::move(file);
      temporary_ = std::move(name);
      return {};
    }
    error = file.error();
  }
  return std::unexpected(ChangeError(kPut, path_, "create temporary file", error));
}

Status LocalWriter::Append(std::string_view bytes) {
  LAKE_CHECK(state_ != State::kFinished, "a finished writer takes no more bytes");
  if (state_ == State::kFailed) {
    return Unavailable("put " + path_ + ": an earlier write failed; start again");
  }
  while (!bytes.empty()) {
    const OrErrno<std::size_t> written = calls_.Write(file_, bytes);
    if (!written.has_value() || *written == 0) {
      state_ = State::kFailed;
      return std::unexpected(
          ChangeError(kPut, path_, "write", written.has_value() ? EIO : written.error()));
    }
    bytes.remove_prefix(*written);
  }
  return {};
}

Status LocalWriter::Finish() {
  LAKE_CHECK(state_ != State::kFinished, "a writer is finished once");
  const bool failed = std::exchange(state_, State::kFinished) == State::kFailed;
  if (failed) {
    RemoveTemporary();
    return Unavailable("put " + path_ + ": an earlier write failed; start again");
  }
  // After a failed sync the bytes may be lost although a second sync succeeds: the file is given up.
  if (const OrErrno<void> synced = calls_.Sync(file_); !synced.has_value()) {
    RemoveTemporary();
    return std::unexpected(ChangeError(kPut, path_, "sync file", synced.error()));
  }
  const Status published = Publish();
  RemoveTemporary();
  if (!published.has_value()) {
    return published;
  }
  if (const OrErrno<void> synced = calls_.Sync(directory_); !synced.has_value()) {
    // It is visible, so a reader may have relied on it already: it is not taken back.
    return std::unexpected(UnknownError(kPut, path_, "sync directory", synced.error()));
  }
  return {};
}

Status LocalWriter::Publish() {
  const OrErrno<void> linked = calls_.Link(directory_, temporary_, name_);
  if (linked.has_value()) {
    return {};
  }
  // Whatever the answer was, and network file systems can lose the true one: our file has a second
  // name exactly if the link was made.
  const OrErrno<FileInfo> file = calls_.Inspect(file_);
  if (!file.has_value()) {
    return std::unexpected(UnknownError(kPut, path_, "link", linked.error()));
  }
  if (file->links > 1) {
    return {};
  }
  if (linked.error() != EEXIST) {
    return std::unexpected(
        ChangeError(kPut, path_, "link, which needs hard links", linked.error()));
  }
  // The other writer may not have come to this yet, and "taken" also says "complete".
  if (const OrErrno<void> synced = calls_.Sync(directory_); !synced.has_value()) {
    return std::unexpected(ChangeError(kPut, path_, "sync directory", synced.error()));
  }
  return AlreadyExists("put " + path_ + ": the path is taken");
}

void LocalWriter::RemoveTemporary() {
  if (temporary_.empty()) {
    return;
  }
  // A failure changes nothing for anybody: a sweep removes what stays.
  static_cast<void>(calls_.Unlink(directory_, temporary_));
  temporary_.clear();
}

}  // namespace lake::objstore
