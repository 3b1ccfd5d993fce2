#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "lake/base/clock.h"
#include "lake/base/time.h"
#include "lake/objstore/objstore.h"
#include "lake/sql/duckdb_internal.h"

namespace lake::sql {

// What stands before a path of the object store, so that DuckDB leaves it to ObjectFileSystem.
inline constexpr std::string_view kObjectPrefix = "lake-object:";

// Returns the name under which DuckDB reaches the object at `path`.
std::string ToObjectPath(std::string_view path);
// Returns the object store's path of such a name, which must start with kObjectPrefix.
std::string_view FromObjectPath(std::string_view name);
// Returns what to open: the object at `path`, whose size is known, so that opening it costs no
// request.
duckdb::OpenFileInfo ToOpenFileInfo(std::string_view path, std::uint64_t size);

// The object store as a DuckDB file system. Files are immutable: a name is read, or written once
// from front to back.
//
// A written file is complete (objstore law 1) when its handle's Close() returned. A handle that is
// destroyed without Close(), as DuckDB does after an error, leaves nothing. Errors are thrown by
// ThrowWhileRunning. Thread-safe; a handle is used by one thread at a time, except for reads at a
// position.
class ObjectFileSystem final : public duckdb::FileSystem {
 public:
  struct Options {
    Duration request_timeout;  // For one read of the object store.
    Duration write_timeout;    // For one whole file.
    // Called with the path of every object whose writing begins, by several threads at once. May
    // be empty.
    std::function<void(const std::string&)> on_started;
  };

  // `objects` and `clock` must outlive the file system.
  ObjectFileSystem(objstore::ObjectStore& objects, const Clock& clock, Options options);

  bool CanHandleFile(const std::string& path) override;
  std::string GetName() const override;

  void Read(duckdb::FileHandle& handle, void* buffer, std::int64_t bytes,
            duckdb::idx_t location) override;
  std::int64_t Read(duckdb::FileHandle& handle, void* buffer, std::int64_t bytes) override;
  void Write(duckdb::FileHandle& handle, void* buffer, std::int64_t bytes,
             duckdb::idx_t location) override;
  std::int64_t Write(duckdb::FileHandle& handle, void* buffer, std::int64_t bytes) override;
  void FileSync(duckdb::FileHandle& handle) override;

  std::int64_t GetFileSize(duckdb::FileHandle& handle) override;
  duckdb::timestamp_t GetLastModifiedTime(duckdb::FileHandle& handle) override;
  std::string GetVersionTag(duckdb::FileHandle& handle) override;
  duckdb::FileType GetFileType(duckdb::FileHandle& handle) override;

  bool CanSeek() override { return true; }

  bool OnDiskFile(duckdb::FileHandle& handle) override;
  void Seek(duckdb::FileHandle& handle, duckdb::idx_t location) override;
  void Reset(duckdb::FileHandle& handle) override;
  duckdb::idx_t SeekPosition(duckdb::FileHandle& handle) override;

  // An object store has no directories: every one exists and none needs to be made.
  bool DirectoryExists(const std::string& directory,
                       duckdb::optional_ptr<duckdb::FileOpener> opener) override;
  void CreateDirectory(const std::string& directory,
                       duckdb::optional_ptr<duckdb::FileOpener> opener) override;
  bool FileExists(const std::string& path,
                  duckdb::optional_ptr<duckdb::FileOpener> opener) override;
  bool IsPipe(const std::string& path, duckdb::optional_ptr<duckdb::FileOpener> opener) override;
  // Returns the path itself: names of objects are never patterns.
  duckdb::vector<duckdb::OpenFileInfo> Glob(const std::string& path,
                                            duckdb::FileOpener* opener) override;

  std::string PathSeparator(const std::string& path) override;

 protected:
  duckdb::unique_ptr<duckdb::FileHandle> OpenFileExtended(
      const duckdb::OpenFileInfo& file, duckdb::FileOpenFlags flags,
      duckdb::optional_ptr<duckdb::FileOpener> opener) override;

  bool SupportsOpenFileExtended() const override { return true; }

  bool ListFilesExtended(const std::string& directory,
                         const std::function<void(duckdb::OpenFileInfo& info)>& callback,
                         duckdb::optional_ptr<duckdb::FileOpener> opener) override;

  bool SupportsListFilesExtended() const override { return true; }

 private:
  objstore::ObjectStore& objects_;
  const Clock& clock_;
  const Options options_;
};

}  // namespace lake::sql
