#include "lake/testing/temp_dir.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <system_error>

#include "lake/base/check.h"

namespace lake::testing {
namespace {

constexpr const char* kMemoryPath = "/dev/shm";

}  // namespace

TempDir::TempDir(Medium medium) {
  std::error_code failure;
  std::filesystem::path parent =
      std::filesystem::canonical(std::filesystem::temp_directory_path(), failure);
  LAKE_CHECK(!failure, "the directory for temporary files exists");
  if (medium == Medium::kMemory && access(kMemoryPath, W_OK) == 0) {
    parent = kMemoryPath;
  }
  path_ = parent / "lake-test-XXXXXX";
  LAKE_CHECK(mkdtemp(path_.data()) != nullptr, "a temporary directory can be made");
}

TempDir::~TempDir() {
  std::error_code failure;
  std::filesystem::remove_all(path_, failure);
  if (failure) {
    // A destructor cannot fail a test; whoever reads its output learns what stayed behind.
    std::fprintf(stderr, "remove %s: %s\n", path_.c_str(), failure.message().c_str());
  }
}

std::string TempDir::Join(std::string_view name) const {
  return path_ + "/" + std::string(name);
}

}  // namespace lake::testing
