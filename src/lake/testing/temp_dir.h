#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lake::testing {

// A fresh directory under $TMPDIR (or /tmp), removed with everything in it when the object goes;
// removal does not follow symbolic links. A directory that cannot be made ends the process: no test
// means anything then.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  // Returns the absolute path, without a slash at its end.
  const std::string& path() const { return path_; }

  // Returns the path of `name` inside. Creates nothing.
  std::string Join(std::string_view name) const;

 private:
  std::string path_;
};

}  // namespace lake::testing
