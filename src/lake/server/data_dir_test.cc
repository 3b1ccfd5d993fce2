#include "lake/server/data_dir.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lake/testing/matchers.h"
#include "lake/testing/temp_dir.h"

namespace lake::server {
namespace {

using ::testing::HasSubstr;
using testing::IsError;
using testing::IsOk;

class DataDirTest : public ::testing::Test {
 protected:
  DataDir At(const std::string& name) const {
    return LocateDataDir(dir_.path() + "/" + name).value();
  }

  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }

  testing::TempDir dir_;
};

TEST_F(DataDirTest, AMissingDirectoryIsMadeWithItsParentsAndFoundAgain) {
  const DataDir dir = At("a/b/lake");
  EXPECT_THAT(CheckDataDir(dir), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(EnsureDataDir(dir), IsOk());
  EXPECT_THAT(CheckDataDir(dir), IsOk());
  EXPECT_THAT(EnsureDataDir(dir), IsOk());
}

TEST_F(DataDirTest, AnEmptyDirectoryIsTakenAndAForeignOneIsNotTouched) {
  const DataDir empty = At("empty");
  std::filesystem::create_directory(empty.root);
  EXPECT_THAT(EnsureDataDir(empty), IsOk());
  const DataDir foreign = At("foreign");
  std::filesystem::create_directory(foreign.root);
  Write(foreign.root + "/thesis.txt", "x");
  EXPECT_THAT(EnsureDataDir(foreign), IsError(ErrorCode::kInvalidArgument));
  EXPECT_FALSE(std::filesystem::exists(foreign.format_path()));
  Write(dir_.path() + "/file", "x");
  EXPECT_THAT(EnsureDataDir(At("file")), IsError(ErrorCode::kInvalidArgument));
}

TEST_F(DataDirTest, ANewerFormatIsRefusedAndADamagedOneIsNotOurs) {
  const DataDir dir = At("lake");
  ASSERT_THAT(EnsureDataDir(dir), IsOk());
  for (const std::string text : {"lake 1\n", "lake 3\n", "lake 3\nmore\n"}) {
    Write(dir.format_path(), text);
    EXPECT_THAT(CheckDataDir(dir), IsError(ErrorCode::kUnimplemented)) << text;
  }
  for (const std::string text : {"", "lake", "lake x\n", "lake 0\n", "lake 2x\n", "lake 2\n",
                                 "pond 2\n", "lake 99999999999999999999\n", "lake 2\nhome",
                                 "lake 2\nhome /x", "lake 2\nhome /x\nmore\n"}) {
    Write(dir.format_path(), text);
    EXPECT_THAT(CheckDataDir(dir), IsError(ErrorCode::kInvalidArgument)) << text;
  }
}

TEST_F(DataDirTest, ACopyOrAMovedDirectoryIsReadAndNotWritten) {
  const DataDir dir = At("lake");
  ASSERT_THAT(EnsureDataDir(dir), IsOk());
  std::filesystem::create_directory_symlink(dir.root, dir_.path() + "/link");
  EXPECT_THAT(EnsureDataDir(At("link")), IsOk());
  const DataDir copy = At("copy");
  std::filesystem::copy(dir.root, copy.root, std::filesystem::copy_options::recursive);
  EXPECT_THAT(CheckDataDir(copy), IsOk());
  EXPECT_THAT(EnsureDataDir(copy), IsError(ErrorCode::kConflict, HasSubstr(dir.root)));
  std::filesystem::remove_all(dir.root);
  EXPECT_THAT(EnsureDataDir(copy), IsError(ErrorCode::kConflict, HasSubstr(dir.root)));
  // A restored one is where it was.
  std::filesystem::rename(copy.root, dir.root);
  EXPECT_THAT(EnsureDataDir(dir), IsOk());
}

TEST_F(DataDirTest, TheOwnerIsDescribedByProcessAndPurpose) {
  const DataDir dir = At("lake");
  ASSERT_THAT(EnsureDataDir(dir), IsOk());
  EXPECT_THAT(DescribeOwner(dir), HasSubstr("another process"));
  ASSERT_THAT(WriteOwner(dir, "lake append"), IsOk());
  EXPECT_THAT(DescribeOwner(dir), HasSubstr("lake append"));
  Write(dir.owner_path(), "{");
  EXPECT_THAT(DescribeOwner(dir), HasSubstr("another process"));
}

TEST_F(DataDirTest, PathsAreAbsoluteAndNormal) {
  EXPECT_EQ(LocateDataDir("/a/./b/../c/").value().root, "/a/c");
  EXPECT_TRUE(LocateDataDir("x").value().root.starts_with('/'));
  EXPECT_THAT(LocateDataDir(""), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(LocateDataDir("a\nb"), IsError(ErrorCode::kInvalidArgument));
}

}  // namespace
}  // namespace lake::server
