#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lake::testing {

// A fresh directory, removed with everything in it when the object goes;
// removal does not follow symbolic links. A directory that cannot be made ends the process: no test
// means anything then.
class TempDir {
 public:
  enum class Medium {
    kDisk,    // Under $TMPDIR, or /tmp.
    kMemory,  // Under /dev/shm where there is one, for tests that would wait for the disk thousands
              // of times and learn nothing from it.
  };

  // A directory on disk.
  TempDir() : TempDir(Medium::kDisk) {}

  explicit TempDir(Medium medium);
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
