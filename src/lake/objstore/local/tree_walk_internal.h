#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lake/base/result.h"
#include "lake/objstore/local/file_calls_internal.h"

// Walking a tree of directories in path order. Included by sources only.
namespace lake::objstore {

// Which files are visited.
struct WalkRequest {
  std::string directory;       // A prefix key: "/" or "/a/b/".
  std::string after;           // Only files whose key sorts after this are visited.
  std::string_view operation;  // How messages name what is done, and to what.
  std::string_view path;
};

// Visits one regular file by its key; returns whether to go on.
using VisitFile = std::function<Result<bool>(const std::string& key)>;

// Visits the regular files below the directory in bytewise order of their keys. Symbolic links
// below the directory are neither followed nor visited. What is missing, or vanishes on the way,
// is empty. A directory that cannot be read ends the walk with its error (as ReadError): to leave
// it out would say that its files do not exist. Blocks.
Status WalkFiles(const FileCalls& calls, const WalkRequest& request, const VisitFile& visit);

}  // namespace lake::objstore
