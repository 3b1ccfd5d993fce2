#include <cerrno>
#include <utility>

#include "lake/base/check.h"
#include "lake/objstore/local/durable_directories_internal.h"
#include "lake/objstore/local/errno_error_internal.h"

namespace lake::objstore {

std::string ParentKey(std::string_view key) {
  LAKE_CHECK(key.size() > 1 && key.front() == '/', "only what is not the root lies in a directory");
  const std::size_t slash = key.rfind('/');
  return std::string(slash == 0 ? "/" : key.substr(0, slash));
}

Result<OpenedFile> DurableDirectories::Open(const std::string& key, std::string_view operation,
                                            std::string_view path) {
  OrErrno<OpenedFile> directory = calls_.OpenDirectory(key, FileCalls::Links::kFollow);
  if (!directory.has_value() && directory.error() == ENOENT) {
    if (const OrErrno<void> made = MakeWithParents(key); !made.has_value()) {
      return std::unexpected(ChangeError(operation, path, "make directory", made.error()));
    }
    directory = calls_.OpenDirectory(key, FileCalls::Links::kFollow);
  }
  if (!directory.has_value()) {
    return std::unexpected(ChangeError(operation, path, "open directory", directory.error()));
  }
  LAKE_TRY_VOID(MakeEntriesDurable(key, *directory, operation, path));
  return *std::move(directory);
}

OrErrno<void> DurableDirectories::MakeWithParents(const std::string& key) const {
  OrErrno<void> made = calls_.MakeDirectory(key);
  if (!made.has_value() && made.error() == ENOENT && key != "/") {
    if (OrErrno<void> parent = MakeWithParents(ParentKey(key)); !parent.has_value()) {
      return parent;
    }
    made = calls_.MakeDirectory(key);
  }
  // Somebody else may have been quicker. Whether it is a directory, opening it tells.
  if (!made.has_value() && made.error() == EEXIST) {
    return {};
  }
  return made;
}

Status DurableDirectories::MakeEntriesDurable(const std::string& key, const OpenedFile& directory,
                                              std::string_view operation, std::string_view path) {
  // A directory is remembered only when everything above it was, so the first one that is ends the
  // way up; and none of these is remembered before all are durable.
  std::vector<Remembered> durable;
  const OpenedFile* below = &directory;
  OpenedFile opened;
  for (std::string at = key; at != "/"; at = ParentKey(at)) {
    // Read before the sync: what is remembered is what the sync made durable, or something older.
    const auto identity = calls_.Identify(at);
    if (!identity.has_value()) {
      return std::unexpected(ChangeError(operation, path, "look at directory", identity.error()));
    }
    if (identity->has_value()) {
      if (IsRemembered(at, **identity)) {
        break;
      }
      durable.push_back({.key = at, .identity = **identity});
    }
    OrErrno<std::optional<OpenedFile>> parent = SyncParent(ParentKey(at), *below);
    if (!parent.has_value()) {
      return std::unexpected(ChangeError(operation, path, "sync directory", parent.error()));
    }
    if (parent->has_value()) {
      opened = **std::move(parent);
      below = &opened;
    }
  }
  Remember(std::move(durable));
  return {};
}

OrErrno<std::optional<OpenedFile>> DurableDirectories::SyncParent(const std::string& parent,
                                                                  const OpenedFile& below) const {
  OrErrno<OpenedFile> directory = calls_.OpenDirectory(parent, FileCalls::Links::kFollow);
  if (!directory.has_value() && directory.error() == EACCES) {
    // A directory that may be passed but not read cannot be synced. Its file system can be, through
    // what lies below it.
    LAKE_TRY_VOID(calls_.SyncFileSystem(below));
    return std::nullopt;
  }
  if (!directory.has_value()) {
    return std::unexpected(directory.error());
  }
  LAKE_TRY_VOID(calls_.Sync(*directory));
  return *std::move(directory);
}

bool DurableDirectories::IsRemembered(const std::string& key, const DirectoryIdentity& identity) {
  const MutexLock lock(mutex_);
  const auto place = remembered_.find(key);
  return place != remembered_.end() && place->second == identity;
}

void DurableDirectories::Remember(std::vector<Remembered> directories) {
  const MutexLock lock(mutex_);
  if (remembered_.size() + directories.size() > kRememberedDirectoriesMax) {
    remembered_.clear();
  }
  for (Remembered& directory : directories) {
    remembered_.insert_or_assign(std::move(directory.key), directory.identity);
  }
}

}  // namespace lake::objstore
