#include "lake/objstore/local/local_objstore.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lake/base/check.h"
#include "lake/base/clock.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/objstore_suite.h"
#include "lake/testing/seeded_random.h"
#include "lake/testing/temp_dir.h"

namespace lake::testing {
namespace {

namespace fs = std::filesystem;

using objstore::kTemporaryNamePrefix;
using objstore::LocalObjectStore;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class LocalHarness final : public ObjectStoreHarness {
 public:
  explicit LocalHarness(std::string scheme) : scheme_(std::move(scheme)), store_(clock_, random_) {}

  ObjectStore& store() override { return store_; }

  ManualClock& clock() override { return clock_; }

  std::string root() const override { return scheme_ + dir_.path() + "/"; }

 private:
  const std::string scheme_;
  const TempDir dir_;
  ManualClock clock_;
  SeededRandom random_{1};
  LocalObjectStore store_;
};

ObjectStoreBackend Backend(std::string name, std::string scheme) {
  return {.name = std::move(name),
          .make = [scheme = std::move(scheme)] { return std::make_unique<LocalHarness>(scheme); },
          .has_directories = true};
}

INSTANTIATE_TEST_SUITE_P(Local, ObjectStoreSuite,
                         ::testing::Values(Backend("Paths", ""), Backend("Uris", "file://"),
                                           Backend("ShortUris", "file:")),
                         ObjectStoreBackendName);

class LocalObjectStoreTest : public ::testing::Test {
 protected:
  Deadline Later() { return clock_.Now() + std::chrono::hours(1); }

  std::string Path(std::string_view name) { return dir_.Join(name); }

  Status Put(std::string_view name, std::string_view bytes) {
    return store_.PutIfAbsent(Path(name), bytes, Later());
  }

  Result<std::string> Get(std::string_view name) { return store_.Get(Path(name), 1000, Later()); }

  std::vector<std::string> ListNames(std::string_view prefix) {
    const auto page = store_.List(prefix, "", 1000, Later());
    EXPECT_THAT(page, IsOk());
    std::vector<std::string> names;
    for (const ObjectInfo& info : page.value_or(ObjectPage()).objects) {
      names.push_back(info.path);
    }
    return names;
  }

  // Returns what the directory really holds.
  std::vector<std::string> RawNames(std::string_view directory) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(Path(directory))) {
      names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }

  std::size_t OpenDescriptors() {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), {}));
  }

  const TempDir dir_;
  ManualClock clock_;
  SeededRandom random_{1};
  LocalObjectStore store_{clock_, random_};
};

TEST_F(LocalObjectStoreTest, KnowsOneObjectByEveryForm) {
  ASSERT_THAT(store_.PutIfAbsent("file://" + Path("a%20b"), "x", Later()), IsOk());
  EXPECT_THAT(Get("a%20b"), IsOkAnd("x"));
  EXPECT_THAT(store_.Get("file:" + Path("a%20b"), 1, Later()), IsOkAnd("x"));
  EXPECT_THAT(Put("a%20b", "y"), IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(RawNames(""), ElementsAre("a%20b"));
}

TEST_F(LocalObjectStoreTest, PagesThroughAListingInTheFormOfItsPrefix) {
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_THAT(Put(name, name), IsOk());
  }
  const std::string prefix = "file://" + dir_.path() + "/";
  // Another form as the place to go on from is just a text: it sorts before or after all paths.
  EXPECT_EQ(store_.List(prefix, Path("b"), 10, Later())->objects.size(), 3U);
  EXPECT_EQ(store_.List(prefix, "file:" + Path("b"), 10, Later())->objects.size(), 0U);
  EXPECT_EQ(store_.List(prefix, "memory:///", 10, Later())->objects.size(), 0U);
  EXPECT_EQ(store_.List(prefix, prefix + "b", 10, Later())->objects.size(), 1U);
}

TEST_F(LocalObjectStoreTest, WritesFilesThatOthersMayReadAsTheUmaskSays) {
  const mode_t before = ::umask(027);
  ASSERT_THAT(Put("d/a", "x"), IsOk());
  ::umask(before);
  struct stat status{};
  ASSERT_EQ(::stat(Path("d/a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
  EXPECT_EQ(status.st_nlink, 1U);
  ASSERT_EQ(::stat(Path("d").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0750U);
}

TEST_F(LocalObjectStoreTest, DatesObjectsByTheFileSystem) {
  ASSERT_THAT(Put("a", "x"), IsOk());
  const auto time = fs::file_time_type::clock::from_sys(
      std::chrono::sys_days(std::chrono::March / 5 / 2024) + std::chrono::microseconds(1500));
  fs::last_write_time(Path("a"), time);
  const auto info = store_.Stat(Path("a"), Later());
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(info->modified,
            std::chrono::sys_days(std::chrono::March / 5 / 2024) + std::chrono::milliseconds(1));
}

TEST_F(LocalObjectStoreTest, TakesNoSymbolicLinkForAnObject) {
  const TempDir outside;
  std::ofstream(outside.Join("secret")) << "secret";
  fs::create_symlink(outside.Join("secret"), Path("link"));
  fs::create_symlink(outside.Join("none"), Path("dangling"));
  for (const char* name : {"link", "dangling"}) {
    EXPECT_THAT(Get(name), IsError(ErrorCode::kNotFound)) << name;
    EXPECT_THAT(store_.GetRange(Path(name), 0, 1, Later()), IsError(ErrorCode::kNotFound)) << name;
    EXPECT_THAT(store_.Stat(Path(name), Later()), IsError(ErrorCode::kNotFound)) << name;
    EXPECT_THAT(Put(name, "x"), IsError(ErrorCode::kAlreadyExists)) << name;
    EXPECT_THAT(store_.Delete({Path(name)}, Later()), IsOk()) << name;
  }
  EXPECT_THAT(ListNames(dir_.path() + "/"), IsEmpty());
  EXPECT_THAT(RawNames(""), ElementsAre("dangling", "link"));
  EXPECT_TRUE(fs::exists(outside.Join("secret")));
  EXPECT_FALSE(fs::exists(outside.Join("none")));
}

TEST_F(LocalObjectStoreTest, FollowsLinksOnTheWayButListsNothingBehindThem) {
  const TempDir disk;
  fs::create_directory_symlink(disk.path(), Path("warehouse"));
  ASSERT_THAT(Put("warehouse/t/a", "x"), IsOk());
  EXPECT_THAT(Get("warehouse/t/a"), IsOkAnd("x"));
  EXPECT_TRUE(fs::exists(disk.Join("t/a")));
  // Asked for by name, the link is the warehouse; met on the way down, it could lead anywhere.
  EXPECT_THAT(ListNames(Path("warehouse/")), ElementsAre(Path("warehouse/t/a")));
  EXPECT_THAT(ListNames(dir_.path() + "/"), IsEmpty());
  fs::create_directory_symlink(dir_.path(), Path("loop"));
  EXPECT_THAT(ListNames(dir_.path() + "/"), IsEmpty());
}

TEST_F(LocalObjectStoreTest, DoesNotWaitAtANamedPipe) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(Get("pipe"), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(store_.Stat(Path("pipe"), Later()), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(store_.Delete({Path("pipe")}, Later()), IsOk());
  EXPECT_THAT(ListNames(dir_.path() + "/"), IsEmpty());
  EXPECT_TRUE(fs::exists(Path("pipe")));
}

TEST_F(LocalObjectStoreTest, KeepsTemporaryNamesForItself) {
  const std::string reserved(kTemporaryNamePrefix);
  for (const std::string& name : {reserved, reserved + "x", "d/" + reserved + "x"}) {
    EXPECT_THAT(Put(name, "x"), IsError(ErrorCode::kInvalidArgument, HasSubstr("reserved")));
    EXPECT_THAT(Get(name), IsError(ErrorCode::kInvalidArgument));
    EXPECT_THAT(store_.Delete({Path(name)}, Later()), IsError(ErrorCode::kInvalidArgument));
  }
  EXPECT_THAT(Put(".lake-tm", "x"), IsOk());
  EXPECT_THAT(Put(reserved + "d/x", "x"), IsOk());
}

TEST_F(LocalObjectStoreTest, LeavesNoFileOfAnAbandonedWriter) {
  {
    const auto writer = store_.StartWrite(Path("d/a"), Later());
    ASSERT_THAT(writer, IsOk());
    ASSERT_THAT((*writer)->Append("x"), IsOk());
    EXPECT_THAT(RawNames("d"), ElementsAre(StartsWith(std::string(kTemporaryNamePrefix))));
  }
  EXPECT_THAT(RawNames("d"), IsEmpty());
}

TEST_F(LocalObjectStoreTest, LeavesNoTemporaryFileOfAFinishedOne) {
  ASSERT_THAT(Put("d/a", "x"), IsOk());
  EXPECT_THAT(Put("d/a", "y"), IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(RawNames("d"), ElementsAre("a"));
}

TEST_F(LocalObjectStoreTest, LeavesOnlyASweepableFileOfAKilledProcess) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto writer = store_.StartWrite(Path("d/a"), Later());
    LAKE_CHECK(writer.has_value() && (*writer)->Append("half").has_value(), "a child can write");
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(Get("d/a"), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(ListNames(Path("d/")), IsEmpty());
  EXPECT_THAT(RawNames("d"), ElementsAre(StartsWith(std::string(kTemporaryNamePrefix))));

  const WallTime now = RealClock().WallNow();
  EXPECT_THAT(store_.RemoveUnfinished(Path("d/"), now - std::chrono::hours(1), Later()),
              IsOkAnd(0U));
  EXPECT_THAT(store_.RemoveUnfinished(Path("d/"), now + std::chrono::hours(1), Later()),
              IsOkAnd(1U));
  EXPECT_THAT(RawNames("d"), IsEmpty());
}

TEST_F(LocalObjectStoreTest, SweepsTemporaryFilesAlone) {
  const std::string temporary = std::string(kTemporaryNamePrefix) + "x";
  ASSERT_THAT(Put("a", "x"), IsOk());
  ASSERT_THAT(Put("d/e/b", "x"), IsOk());
  ASSERT_THAT(Put("d/e/x" + temporary, "x"), IsOk());
  fs::create_directories(Path("d/" + temporary + "/f"));
  const TempDir outside;
  std::ofstream(outside.Join(temporary)) << "x";
  fs::create_directory_symlink(outside.path(), Path("d/link"));
  fs::create_symlink(outside.Join(temporary), Path("d/e/" + temporary));
  std::ofstream(Path(temporary)) << "x";
  std::ofstream(Path("d/" + temporary + "/" + temporary)) << "x";
  const WallTime ahead = RealClock().WallNow() + std::chrono::hours(1);
  EXPECT_THAT(store_.RemoveUnfinished("file://" + dir_.path() + "/", ahead, Later()), IsOkAnd(2U));
  EXPECT_THAT(ListNames(dir_.path() + "/"),
              ElementsAre(Path("a"), Path("d/e/b"), Path("d/e/x" + temporary)));
  EXPECT_TRUE(fs::exists(outside.Join(temporary)));
  EXPECT_THAT(store_.RemoveUnfinished(Path("none/"), ahead, Later()), IsOkAnd(0U));
  EXPECT_THAT(store_.RemoveUnfinished(Path("a"), ahead, Later()),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(store_.RemoveUnfinished(dir_.path() + "/", ahead, clock_.Now()),
              IsError(ErrorCode::kDeadlineExceeded));
}

TEST_F(LocalObjectStoreTest, FailsAWriterWhoseFileWasSwept) {
  const auto writer = store_.StartWrite(Path("d/a"), Later());
  ASSERT_THAT(writer, IsOk());
  ASSERT_THAT((*writer)->Append("x"), IsOk());
  ASSERT_THAT(store_.RemoveUnfinished(dir_.path() + "/",
                                      RealClock().WallNow() + std::chrono::hours(1), Later()),
              IsOkAnd(1U));
  EXPECT_THAT((*writer)->Finish(), IsError(ErrorCode::kUnavailable, HasSubstr(Path("d/a"))));
  EXPECT_THAT(Get("d/a"), IsError(ErrorCode::kNotFound));
}

TEST_F(LocalObjectStoreTest, MakesADirectoryAgainThatWasRemovedUnderIt) {
  ASSERT_THAT(Put("d/e/a", "x"), IsOk());
  fs::remove_all(Path("d"));
  ASSERT_THAT(Put("d/e/a", "y"), IsOk());
  EXPECT_THAT(Get("d/e/a"), IsOkAnd("y"));
}

TEST_F(LocalObjectStoreTest, FailsAWriterWhoseDirectoryWasRemoved) {
  const auto writer = store_.StartWrite(Path("d/a"), Later());
  ASSERT_THAT(writer, IsOk());
  fs::remove_all(Path("d"));
  EXPECT_THAT((*writer)->Finish(), IsError(ErrorCode::kUnavailable));
}

TEST_F(LocalObjectStoreTest, ReadsWhatItCannotLinkTo) {
  // An object that another program wrote, and whose directory nobody synced.
  std::ofstream(Path("foreign")) << "bytes";
  EXPECT_THAT(Get("foreign"), IsOkAnd("bytes"));
  EXPECT_THAT(Put("foreign", "bytes"), IsError(ErrorCode::kAlreadyExists));
}

TEST_F(LocalObjectStoreTest, KeepsNoFileOpen) {
  const std::size_t before = OpenDescriptors();
  ASSERT_THAT(Put("d/e/a", "x"), IsOk());
  EXPECT_THAT(Put("d/e/a", "x"), IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(Put("d/e/a/b", "x"), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(Get("d/e/a"), IsOk());
  EXPECT_THAT(Get("d"), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(store_.GetRange(Path("d/e/a"), 5, 5, Later()), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ListNames(dir_.path() + "/"), ElementsAre(Path("d/e/a")));
  {
    EXPECT_THAT(store_.StartWrite(Path("f/a"), Later()), IsOk());
  }
  EXPECT_THAT(store_.Delete({Path("d/e/a")}, Later()), IsOk());
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST_F(LocalObjectStoreTest, ListsDirectoriesDeeperThanItHasDescriptors) {
  std::string name = "d";
  for (int i = 0; i < 700; ++i) {
    name += "/d";
  }
  ASSERT_THAT(Put(name + "/a", "x"), IsOk());
  EXPECT_THAT(ListNames(dir_.path() + "/"), ElementsAre(Path(name + "/a")));
}

using WriterDeathTest = LocalObjectStoreTest;

TEST_F(WriterDeathTest, IsFinishedOnce) {
  const auto writer = store_.StartWrite(Path("a"), Later());
  ASSERT_THAT(writer, IsOk());
  ASSERT_THAT((*writer)->Finish(), IsOk());
  EXPECT_DEATH(static_cast<void>((*writer)->Finish()), "finished once");
  EXPECT_DEATH(static_cast<void>((*writer)->Append("x")), "no more bytes");
}

}  // namespace
}  // namespace lake::testing
