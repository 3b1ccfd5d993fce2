#pragma once

#include <set>
#include <string>

#include "lake/base/mutex.h"
#include "lake/base/thread_annotations.h"
#include "lake/sql/duckdb_internal.h"

namespace lake::sql {

// DuckDB's file system with writing forbidden, so that nothing a query can think of leaves a trace:
// COPY, ATTACH, logs, functions with side effects. Reading is as usual. Files may be written in the
// directory for spilled data, on the object store if the policy says so, and where a caller allowed
// it by name. A forbidden write throws a PermissionException. Thread-safe.
class GuardedFileSystem final : public duckdb::VirtualFileSystem {
 public:
  struct Policy {
    std::string temp_directory;  // Where DuckDB spills; empty: nowhere.
    bool write_objects = false;
  };

  explicit GuardedFileSystem(Policy policy);

  // Allows the file to be written until Forbid.
  void Allow(const std::string& path) EXCLUDES(mutex_);
  void Forbid(const std::string& path) EXCLUDES(mutex_);

  void CreateDirectory(const std::string& directory,
                       duckdb::optional_ptr<duckdb::FileOpener> opener) override;
  void RemoveDirectory(const std::string& directory,
                       duckdb::optional_ptr<duckdb::FileOpener> opener) override;
  void MoveFile(const std::string& source, const std::string& target,
                duckdb::optional_ptr<duckdb::FileOpener> opener) override;
  void RemoveFile(const std::string& path,
                  duckdb::optional_ptr<duckdb::FileOpener> opener) override;
  bool TryRemoveFile(const std::string& path,
                     duckdb::optional_ptr<duckdb::FileOpener> opener) override;

 protected:
  duckdb::unique_ptr<duckdb::FileHandle> OpenFileExtended(
      const duckdb::OpenFileInfo& file, duckdb::FileOpenFlags flags,
      duckdb::optional_ptr<duckdb::FileOpener> opener) override;

 private:
  void CheckWrite(const std::string& path) EXCLUDES(mutex_);

  const Policy policy_;
  Mutex mutex_;
  std::multiset<std::string> allowed_ GUARDED_BY(mutex_);
};

}  // namespace lake::sql
