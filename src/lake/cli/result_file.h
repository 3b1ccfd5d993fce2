#pragma once

#include <string>
#include <string_view>

#include "lake/base/random.h"
#include "lake/base/result.h"

namespace lake::cli {

// The file into which a query's result goes. What was at its place stays until the result is complete, and replaces it then at
// once; a device or a pipe is written as it is. Single-threaded.
class ResultFile {
 public:
  // Prepares to write to `path`; nothing is made yet. kInvalidArgument when it is a directory or lies below `data_dir`, which is
  // Lake's own; kUnavailable when it cannot be looked at.
  static Result<ResultFile> Prepare(std::string path, std::string_view data_dir, Random& random);

  // Removes what was written unless Commit has succeeded.
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;
  ResultFile(ResultFile&& other) noexcept;
  ResultFile& operator=(ResultFile&& other) = delete;

  // Where the caller writes.
  const std::string& staging_path() const { return staging_path_; }

  // Whether anything but a regular file is there, which is written in place.
  bool in_place() const { return staging_path_ == path_; }

  // Makes what was written the file's content, durably. Blocks on disk. kUnavailable or kPermissionDenied when it cannot.
  Status Commit();

 private:
  ResultFile(std::string path, std::string staging_path);

  std::string path_;
  std::string staging_path_;  // Empty when there is nothing to remove.
};

}  // namespace lake::cli
