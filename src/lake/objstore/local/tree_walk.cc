#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "lake/objstore/local/errno_error_internal.h"
#include "lake/objstore/local/tree_walk_internal.h"

namespace lake::objstore {
namespace {

bool IsAbsent(int error) {
  return error == ENOENT || error == ENOTDIR;
}

// The parts below an entry sort as if its name ended in "/".
std::vector<std::string> SortedNames(std::vector<DirectoryEntry> entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (DirectoryEntry& entry : entries) {
    if (entry.kind == DirectoryEntry::Kind::kDirectory) {
      entry.name += '/';
    }
    if (entry.kind != DirectoryEntry::Kind::kOther) {
      names.push_back(std::move(entry.name));
    }
  }
  std::ranges::sort(names);
  return names;
}

// Returns whether everything below `directory` ("/a/b/") sorts up to `after`.
bool LiesBefore(const std::string& directory, const std::string& after) {
  return directory < after && !after.starts_with(directory);
}

class Walk {
 public:
  Walk(const FileCalls& calls, const WalkRequest& request, const VisitFile& visit)
      : calls_(calls), request_(request), visit_(visit) {}

  // Visits what is below `directory`, which ends in "/"; returns whether to go on.
  Result<bool> Visit(const std::string& directory, FileCalls::Links links) {
    LAKE_TRY(const std::vector<std::string> names, ReadNames(directory, links));
    for (const std::string& name : names) {
      const std::string key = directory + name;
      if (key.ends_with('/')) {
        if (LiesBefore(key, request_.after)) {
          continue;
        }
        LAKE_TRY(const bool go_on, Visit(key, FileCalls::Links::kRefuse));
        if (!go_on) {
          return false;
        }
      } else if (key > request_.after) {
        LAKE_TRY(const bool go_on, visit_(key));
        if (!go_on) {
          return false;
        }
      }
    }
    return true;
  }

 private:
  // The directory is closed again before anything below it is opened, so that depth costs no file
  // descriptors.
  Result<std::vector<std::string>> ReadNames(const std::string& directory, FileCalls::Links links) {
    // With its last slash, a symbolic link would be followed whatever the flags say.
    const std::string name =
        directory == "/" ? directory : directory.substr(0, directory.size() - 1);
    const OrErrno<OpenedFile> opened = calls_.OpenDirectory(name, links);
    if (!opened.has_value()) {
      if (IsAbsent(opened.error()) ||
          (links == FileCalls::Links::kRefuse && opened.error() == ELOOP)) {
        return std::vector<std::string>();
      }
      return std::unexpected(
          ReadError(request_.operation, request_.path, "open directory " + name, opened.error()));
    }
    OrErrno<std::vector<DirectoryEntry>> entries = calls_.ReadDirectory(*opened);
    if (!entries.has_value()) {
      if (IsAbsent(entries.error())) {
        return std::vector<std::string>();
      }
      return std::unexpected(
          ReadError(request_.operation, request_.path, "read directory " + name, entries.error()));
    }
    return SortedNames(*std::move(entries));
  }

  const FileCalls& calls_;
  const WalkRequest& request_;
  const VisitFile& visit_;
};

}  // namespace

Status WalkFiles(const FileCalls& calls, const WalkRequest& request, const VisitFile& visit) {
  LAKE_TRY_VOID(Walk(calls, request, visit).Visit(request.directory, FileCalls::Links::kFollow));
  return {};
}

}  // namespace lake::objstore
