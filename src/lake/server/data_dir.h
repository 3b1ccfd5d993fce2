#pragma once

#include <string>
#include <string_view>

#include "lake/base/result.h"

namespace lake::server {

// The newest form of a data directory that this program knows, and the one it makes.
inline constexpr int kDataDirFormat = 2;

// Where things are in a data directory.
struct DataDir {
  std::string root;  // Absolute, without "." or "..", without a trailing slash.

  std::string format_path() const { return root + "/FORMAT"; }

  std::string metastore_path() const { return root + "/metastore"; }

  std::string warehouse_path() const { return root + "/warehouse"; }

  std::string owner_path() const { return root + "/owner"; }
};

// Returns the paths of the data directory that `path` names, without looking at it.
// kInvalidArgument: the path is empty, or has a line break.
Result<DataDir> LocateDataDir(std::string_view path);

// Checks that the directory exists and has a form this program knows.
//   kNotFound         there is nothing at that path.
//   kInvalidArgument  something else is there: not a directory, or one that Lake did not make.
//   kUnimplemented    a newer version of Lake made it, or one from before the first release.
//   kPermissionDenied, kUnavailable   it cannot be read.
Status CheckDataDir(const DataDir& dir);

// Makes the directory if nothing, or an empty directory, is there. When it returns, the directory has
// a known form, and a power cut cannot undo that. Several processes may do so at once. Errors as for
// CheckDataDir; kPermissionDenied or kUnavailable when it cannot be made; kConflict when it is a copy,
// or was moved: its tables' files are where it was made, and are not its own to change.
Status EnsureDataDir(const DataDir& dir);

// Writes who holds the directory, for others to read: the caller holds the metastore's lock. It is
// advice for people: nothing depends on it.
Status WriteOwner(const DataDir& dir, std::string_view purpose);

// Returns a sentence on who holds the directory, as far as that is known.
std::string DescribeOwner(const DataDir& dir);

}  // namespace lake::server
