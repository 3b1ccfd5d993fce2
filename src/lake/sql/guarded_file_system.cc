#include <filesystem>
#include <utility>

#include "lake/base/check.h"
#include "lake/sql/guarded_file_system_internal.h"
#include "lake/sql/object_file_system_internal.h"

namespace lake::sql {
namespace {

std::string Normalize(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

GuardedFileSystem::GuardedFileSystem(Policy policy)
    : policy_{
          .temp_directory = policy.temp_directory.empty() ? "" : Normalize(policy.temp_directory),
          .write_objects = policy.write_objects} {}

void GuardedFileSystem::Allow(const std::string& path) {
  const std::string file = Normalize(path);
  const MutexLock lock(mutex_);
  allowed_.insert(file);
}

void GuardedFileSystem::Forbid(const std::string& path) {
  const std::string file = Normalize(path);
  const MutexLock lock(mutex_);
  const auto found = allowed_.find(file);
  LAKE_CHECK(found != allowed_.end(), "only what was allowed is forbidden again");
  allowed_.erase(found);
}

void GuardedFileSystem::CheckWrite(const std::string& path) {
  if (path.starts_with(kObjectPrefix)) {
    if (policy_.write_objects) {
      return;
    }
  } else {
    const std::string file = Normalize(path);
    if (!policy_.temp_directory.empty() &&
        (file == policy_.temp_directory || file.starts_with(policy_.temp_directory + "/"))) {
      return;
    }
    const MutexLock lock(mutex_);
    if (allowed_.contains(file)) {
      return;
    }
  }
  throw duckdb::PermissionException("sql only reads: \"%s\" cannot be written", path);
}

duckdb::unique_ptr<duckdb::FileHandle> GuardedFileSystem::OpenFileExtended(
    const duckdb::OpenFileInfo& file, duckdb::FileOpenFlags flags,
    duckdb::optional_ptr<duckdb::FileOpener> opener) {
  if (flags.OpenForWriting()) {
    CheckWrite(file.path);
  }
  return VirtualFileSystem::OpenFileExtended(file, flags, opener);
}

void GuardedFileSystem::CreateDirectory(const std::string& directory,
                                        duckdb::optional_ptr<duckdb::FileOpener> opener) {
  CheckWrite(directory);
  VirtualFileSystem::CreateDirectory(directory, opener);
}

void GuardedFileSystem::RemoveDirectory(const std::string& directory,
                                        duckdb::optional_ptr<duckdb::FileOpener> opener) {
  CheckWrite(directory);
  VirtualFileSystem::RemoveDirectory(directory, opener);
}

void GuardedFileSystem::MoveFile(const std::string& source, const std::string& target,
                                 duckdb::optional_ptr<duckdb::FileOpener> opener) {
  CheckWrite(source);
  CheckWrite(target);
  VirtualFileSystem::MoveFile(source, target, opener);
}

void GuardedFileSystem::RemoveFile(const std::string& path,
                                   duckdb::optional_ptr<duckdb::FileOpener> opener) {
  CheckWrite(path);
  VirtualFileSystem::RemoveFile(path, opener);
}

bool GuardedFileSystem::TryRemoveFile(const std::string& path,
                                      duckdb::optional_ptr<duckdb::FileOpener> opener) {
  CheckWrite(path);
  return VirtualFileSystem::TryRemoveFile(path, opener);
}

}  // namespace lake::sql
