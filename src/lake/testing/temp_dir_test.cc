#include "lake/testing/temp_dir.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace lake::testing {
namespace {

TEST(TempDir, IsFreshAndAbsolute) {
  const TempDir first;
  const TempDir second;
  EXPECT_NE(first.path(), second.path());
  EXPECT_TRUE(std::filesystem::path(first.path()).is_absolute());
  EXPECT_TRUE(std::filesystem::is_empty(first.path()));
  EXPECT_EQ(first.Join("a"), first.path() + "/a");
}

TEST(TempDir, MayLieInMemory) {
  const TempDir in_memory(TempDir::Medium::kMemory);
  EXPECT_TRUE(std::filesystem::is_empty(in_memory.path()));
  std::ofstream(in_memory.Join("a")) << "x";
  EXPECT_TRUE(std::filesystem::exists(in_memory.Join("a")));
}

TEST(TempDir, TakesItsContentsAlongButFollowsNoLink) {
  const TempDir other;
  std::ofstream(other.Join("kept")) << "x";
  std::optional<TempDir> dir(std::in_place);
  const std::string path = dir->path();
  std::filesystem::create_directories(dir->Join("a/b"));
  std::ofstream(dir->Join("a/b/c")) << "x";
  std::filesystem::create_directory_symlink(other.path(), dir->Join("link"));
  dir.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists(other.Join("kept")));
}

}  // namespace
}  // namespace lake::testing
