#include "lake/cli/result_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lake/testing/matchers.h"
#include "lake/testing/temp_dir.h"

namespace lake::cli {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using testing::IsError;
using testing::IsOk;

class ResultFileTest : public ::testing::Test {
 protected:
  ResultFileTest() {
    fs::create_directory(dir_.Join("lake"));
    fs::create_directory(dir_.Join("out"));
  }

  Result<ResultFile> Prepare(const std::string& path) {
    return ResultFile::Prepare(path, dir_.Join("lake"), random_);
  }

  static void Write(const std::string& path, std::string_view text) { std::ofstream(path) << text; }

  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::ptrdiff_t FilesInOut() const {
    return std::distance(fs::directory_iterator(dir_.Join("out")), {});
  }

  testing::TempDir dir_;
  SystemRandom random_;
};

TEST_F(ResultFileTest, ReplacesAFileWhenItIsComplete) {
  const std::string path = dir_.Join("out/x.csv");
  Write(path, "old");
  auto file = Prepare(path);
  ASSERT_THAT(file, IsOk());
  Write(file->staging_path(), "new");
  EXPECT_EQ(Read(path), "old");
  EXPECT_THAT(file->Commit(), IsOk());
  EXPECT_EQ(Read(path), "new");
  EXPECT_EQ(FilesInOut(), 1);
}

TEST_F(ResultFileTest, LeavesWhatWasThereWhenItIsNotCommitted) {
  const std::string path = dir_.Join("out/x.csv");
  Write(path, "old");
  {
    auto file = Prepare(path);
    ASSERT_THAT(file, IsOk());
    const ResultFile moved = *std::move(file);
    Write(moved.staging_path(), "half");
  }
  EXPECT_EQ(Read(path), "old");
  EXPECT_EQ(FilesInOut(), 1);
}

TEST_F(ResultFileTest, WritesThroughALink) {
  const std::string path = dir_.Join("out/x.csv");
  fs::create_symlink("real.csv", path);
  Write(dir_.Join("out/real.csv"), "old");
  auto file = Prepare(path);
  ASSERT_THAT(file, IsOk());
  Write(file->staging_path(), "new");
  EXPECT_THAT(file->Commit(), IsOk());
  EXPECT_TRUE(fs::is_symlink(path));
  EXPECT_EQ(Read(dir_.Join("out/real.csv")), "new");
}

TEST_F(ResultFileTest, WritesIntoADeviceOrAPipeAndNeverReplacesIt) {
  const std::string pipe = dir_.Join("out/pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  {
    auto file = Prepare(pipe);
    ASSERT_THAT(file, IsOk());
    EXPECT_TRUE(file->in_place());
    EXPECT_EQ(file->staging_path(), pipe);
    EXPECT_THAT(file->Commit(), IsOk());
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(ResultFileTest, RefusesTheDataDirectoryHoweverItIsSpelled) {
  fs::create_directory_symlink(dir_.Join("lake"), dir_.Join("out/link"));
  for (const char* path :
       {"lake/x.csv", "lake/metastore/CURRENT", "out/../lake/x.csv", "out/link/x.csv", "lake"}) {
    EXPECT_THAT(Prepare(dir_.Join(path)),
                IsError(ErrorCode::kInvalidArgument, HasSubstr("data directory")))
        << path;
  }
  EXPECT_THAT(Prepare(dir_.Join("lake2.csv")), IsOk());
  EXPECT_THAT(Prepare(dir_.Join("out")),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("directory")));
}

}  // namespace
}  // namespace lake::cli
