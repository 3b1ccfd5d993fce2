#include "lake/objstore/local/local_objstore.h"

#include <cerrno>
#include <set>
#include <utility>

#include "lake/objstore/local/durable_directories_internal.h"
#include "lake/objstore/local/errno_error_internal.h"
#include "lake/objstore/local/file_calls_internal.h"
#include "lake/objstore/local/local_writer_internal.h"
#include "lake/objstore/local/tree_walk_internal.h"
#include "lake/objstore/path.h"

namespace lake::objstore {
namespace {

constexpr std::string_view kScheme = "file";

bool IsTemporary(std::string_view key) {
  return key.substr(key.rfind('/') + 1).starts_with(kTemporaryNamePrefix);
}

Result<std::string> LocalKey(std::string_view path) {
  LAKE_TRY(const std::string_view key, ObjectKey(path, kScheme));
  if (IsTemporary(key)) {
    return InvalidArgument("path '" + std::string(path) + "': names that begin with '" +
                           std::string(kTemporaryNamePrefix) + "' are reserved");
  }
  return std::string(key);
}

struct OpenedObject {
  OpenedFile file;
  std::uint64_t size = 0;
};

Result<OpenedObject> OpenObject(const FileCalls& calls, const std::string& key,
                                std::string_view path) {
  OrErrno<OpenedFile> file = calls.OpenFile(key);
  if (!file.has_value()) {
    return std::unexpected(ReadError("get", path, "open", file.error()));
  }
  const OrErrno<FileInfo> info = calls.Inspect(*file);
  if (!info.has_value()) {
    return std::unexpected(ReadError("get", path, "look at", info.error()));
  }
  if (!info->is_regular) {
    return NotFound("get " + std::string(path) + ": it is not a file");
  }
  return OpenedObject{.file = *std::move(file), .size = info->size};
}

// Reads what is known to be there.
Result<std::string> ReadFully(const FileCalls& calls, const OpenedFile& file, std::uint64_t offset,
                              std::uint64_t length, std::string_view path) {
  std::string bytes;
  int error = 0;
  std::size_t have = 0;
  bytes.resize_and_overwrite(length, [&](char* buffer, std::size_t size) {
    while (have < size) {
      const OrErrno<std::size_t> count =
          calls.Read(file, buffer + have, size - have, offset + have);
      if (!count.has_value() || *count == 0) {
        error = count.has_value() ? 0 : count.error();
        break;
      }
      have += *count;
    }
    return have;
  });
  if (error != 0) {
    return std::unexpected(ReadError("get", path, "read", error));
  }
  if (have < length) {
    return Unavailable("get " + std::string(path) + ": the file became shorter while it was read");
  }
  return bytes;
}

}  // namespace

LocalObjectStore::LocalObjectStore(const Clock& clock, Random& random)
    : LocalObjectStore(clock, random, nullptr) {}

LocalObjectStore::LocalObjectStore(const Clock& clock, Random& random, FileHook& hook)
    : LocalObjectStore(clock, random, &hook) {}

LocalObjectStore::LocalObjectStore(const Clock& clock, Random& random, FileHook* hook)
    : clock_(clock),
      random_(random),
      calls_(std::make_unique<const FileCalls>(hook)),
      directories_(std::make_unique<DurableDirectories>(*calls_)) {}

LocalObjectStore::~LocalObjectStore() = default;

Result<std::string> LocalObjectStore::Get(std::string_view path, std::uint64_t size_max,
                                          Deadline deadline) {
  LAKE_TRY(const std::string key, LocalKey(path));
  LAKE_TRY_VOID(CheckDeadline("get", path, deadline));
  LAKE_TRY(const OpenedObject object, OpenObject(*calls_, key, path));
  if (object.size > size_max) {
    return InvalidArgument("get " + std::string(path) + ": " + std::to_string(object.size) +
                           " bytes, more than the " + std::to_string(size_max) +
                           " expected at most");
  }
  return ReadFully(*calls_, object.file, 0, object.size, path);
}

Result<std::string> LocalObjectStore::GetRange(std::string_view path, std::uint64_t offset,
                                               std::uint64_t length, Deadline deadline) {
  LAKE_TRY(const std::string key, LocalKey(path));
  LAKE_TRY_VOID(CheckDeadline("get", path, deadline));
  LAKE_TRY(const OpenedObject object, OpenObject(*calls_, key, path));
  if (offset > object.size || length > object.size - offset) {
    return InvalidArgument("get " + std::string(path) + ": " + std::to_string(length) +
                           " bytes from " + std::to_string(offset) + " pass its end at " +
                           std::to_string(object.size));
  }
  return ReadFully(*calls_, object.file, offset, length, path);
}

Result<ObjectInfo> LocalObjectStore::Stat(std::string_view path, Deadline deadline) {
  LAKE_TRY(const std::string key, LocalKey(path));
  LAKE_TRY_VOID(CheckDeadline("stat", path, deadline));
  const OrErrno<FileInfo> info = calls_->Inspect(key);
  if (!info.has_value()) {
    return std::unexpected(ReadError("stat", path, "look at", info.error()));
  }
  if (!info->is_regular) {
    return NotFound("stat " + std::string(path) + ": it is not a file");
  }
  return ObjectInfo{.path = std::string(path), .size = info->size, .modified = info->modified};
}

Status LocalObjectStore::PutIfAbsent(std::string_view path, std::string_view bytes,
                                     Deadline deadline) {
  LAKE_TRY(const std::unique_ptr<ObjectWriter> writer, StartWrite(path, deadline));
  LAKE_TRY_VOID(writer->Append(bytes));
  return writer->Finish();
}

Result<std::unique_ptr<ObjectWriter>> LocalObjectStore::StartWrite(std::string_view path,
                                                                   Deadline deadline) {
  LAKE_TRY(const std::string key, LocalKey(path));
  LAKE_TRY_VOID(CheckDeadline("put", path, deadline));
  return LocalWriter::Start(*calls_, *directories_, random_, key, path);
}

Result<ObjectPage> LocalObjectStore::List(std::string_view prefix, std::string_view after,
                                          std::size_t limit, Deadline deadline) {
  LAKE_TRY(const std::string_view key, PrefixKey(prefix, kScheme));
  if (limit == 0) {
    return InvalidArgument("list " + std::string(prefix) + ": the limit must be positive");
  }
  LAKE_TRY_VOID(CheckDeadline("list", prefix, deadline));
  // All listed paths begin with the prefix's form ("file://"). A text that does not sorts before or
  // after all of them.
  const std::string form(prefix.substr(0, prefix.size() - key.size()));
  std::string after_key;
  if (after.starts_with(form)) {
    after_key = after.substr(form.size());
  } else if (after > form) {
    return ObjectPage();
  }
  ObjectPage page;
  const auto visit = [&](const std::string& file) -> Result<bool> {
    if (IsTemporary(file)) {
      return true;
    }
    if (page.objects.size() == limit) {
      page.next = page.objects.back().path;
      return false;
    }
    const OrErrno<FileInfo> info = calls_->Inspect(file);
    if (!info.has_value()) {
      if (info.error() == ENOENT || info.error() == ENOTDIR) {
        return true;
      }
      return std::unexpected(ReadError("list", prefix, "look at " + file, info.error()));
    }
    if (info->is_regular) {
      page.objects.push_back({.path = form + file, .size = info->size, .modified = info->modified});
    }
    return true;
  };
  LAKE_TRY_VOID(WalkFiles(*calls_,
                          {.directory = std::string(key),
                           .after = std::move(after_key),
                           .operation = "list",
                           .path = prefix},
                          visit));
  return page;
}

Status LocalObjectStore::Delete(const std::vector<std::string>& paths, Deadline deadline) {
  std::vector<std::string> keys;
  keys.reserve(paths.size());
  for (const std::string& path : paths) {
    LAKE_TRY(std::string key, LocalKey(path));
    LAKE_TRY_VOID(CheckDeadline("delete", path, deadline));
    keys.push_back(std::move(key));
  }
  // Also the directories of what is absent already: whoever removed it may have died before the
  // sync.
  std::set<std::string> directories;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    directories.insert(ParentKey(keys[i]));
    OrErrno<void> removed;
    const OrErrno<FileInfo> info = calls_->Inspect(keys[i]);
    if (!info.has_value()) {
      removed = std::unexpected(info.error());
    } else if (info->is_regular) {
      removed = calls_->Unlink(keys[i]);
    }
    if (!removed.has_value() && removed.error() != ENOENT && removed.error() != ENOTDIR) {
      return std::unexpected(ChangeError("delete", paths[i], "unlink", removed.error()));
    }
  }
  for (const std::string& directory : directories) {
    const OrErrno<OpenedFile> opened = calls_->OpenDirectory(directory, FileCalls::Links::kFollow);
    int error = opened.has_value() ? 0 : opened.error();
    if (opened.has_value()) {
      const OrErrno<void> synced = calls_->Sync(*opened);
      error = synced.has_value() ? 0 : synced.error();
    }
    if (error != 0 && error != ENOENT && error != ENOTDIR) {
      return std::unexpected(UnknownError("delete in", directory, "sync directory", error));
    }
  }
  return {};
}

Result<std::size_t> LocalObjectStore::RemoveUnfinished(std::string_view prefix, WallTime before,
                                                       Deadline deadline) {
  LAKE_TRY(const std::string_view key, PrefixKey(prefix, kScheme));
  LAKE_TRY_VOID(CheckDeadline("sweep", prefix, deadline));
  std::size_t removed = 0;
  const auto visit = [&](const std::string& file) -> Result<bool> {
    if (!IsTemporary(file)) {
      return true;
    }
    const OrErrno<FileInfo> info = calls_->Inspect(file);
    if (info.has_value() && info->modified >= before) {
      return true;
    }
    const OrErrno<void> unlinked =
        info.has_value() ? calls_->Unlink(file) : OrErrno<void>(std::unexpected(info.error()));
    if (unlinked.has_value()) {
      ++removed;
    } else if (unlinked.error() != ENOENT && unlinked.error() != ENOTDIR) {
      return std::unexpected(ChangeError("sweep", prefix, "unlink " + file, unlinked.error()));
    }
    return true;
  };
  LAKE_TRY_VOID(WalkFiles(
      *calls_, {.directory = std::string(key), .after = "", .operation = "sweep", .path = prefix},
      visit));
  return removed;
}

Status LocalObjectStore::CheckDeadline(std::string_view operation, std::string_view path,
                                       Deadline deadline) const {
  if (clock_.Now() >= deadline) {
    return DeadlineExceeded(std::string(operation) + " " + std::string(path) +
                            ": no time is left to begin");
  }
  return {};
}

}  // namespace lake::objstore
