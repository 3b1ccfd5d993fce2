// What LocalObjectStore does when the operating system fails, and what a power cut would leave: a
// model of the disk watches every system call, and every one of them is made to fail in turn.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lake/base/check.h"
#include "lake/base/mutex.h"
#include "lake/base/thread.h"
#include "lake/objstore/local/file_calls_internal.h"
#include "lake/objstore/local/local_objstore.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/seeded_random.h"
#include "lake/testing/temp_dir.h"

namespace lake::objstore {
namespace {

namespace fs = std::filesystem;

using lake::testing::IsError;
using lake::testing::IsOk;
using lake::testing::IsOkAnd;
using lake::testing::ManualClock;
using lake::testing::SeededRandom;
using lake::testing::TempDir;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A file or directory by device and inode.
using FileId = std::pair<dev_t, ino_t>;

FileId IdOf(const std::string& path) {
  struct stat status{};
  LAKE_CHECK(::stat(path.c_str(), &status) == 0, "the path exists");
  return {status.st_dev, status.st_ino};
}

FileId IdOf(int fd) {
  struct stat status{};
  LAKE_CHECK(::fstat(fd, &status) == 0, "the file is open");
  return {status.st_dev, status.st_ino};
}

// Watches the calls of a store as a disk with a volatile cache would: a directory entry is volatile
// until its directory is synced, a file's bytes until the file is. And makes calls fail.
class WatchedDisk final : public FileHook {
 public:
  using Rule = std::function<FileFault(const FileCallTarget&)>;

  void SetRule(Rule rule) {
    const MutexLock lock(mutex_);
    rule_ = std::move(rule);
  }

  // Makes the n-th call from now fail; counted from 1.
  void FailNth(std::size_t n, FileFault fault) {
    const MutexLock lock(mutex_);
    calls_ = 0;
    failed_ = std::nullopt;
    nth_ = n;
    nth_fault_ = fault;
  }

  // Returns which call FailNth failed, if it was reached.
  std::optional<FileCall> failed() {
    const MutexLock lock(mutex_);
    return failed_;
  }

  // Says that the entry of `path`, made by somebody else, is not durable yet; and those above it.
  void MarkVolatile(fs::path path) {
    const MutexLock lock(mutex_);
    for (; path != "/"; path = path.parent_path()) {
      volatile_entries_.insert({IdOf(path.parent_path()), path.filename()});
    }
  }

  // Returns the names that a power cut would take away now, without temporary ones.
  std::vector<std::string> VolatileEntries() {
    const MutexLock lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [directory, name] : volatile_entries_) {
      names.push_back(name);
    }
    return names;
  }

  // Returns whether some file got its name before its bytes were durable.
  bool linked_too_early() {
    const MutexLock lock(mutex_);
    return linked_too_early_;
  }

  std::size_t Count(FileCall call) {
    const MutexLock lock(mutex_);
    return counts_[call];
  }

  FileFault Before(const FileCallTarget& target) override {
    Rule rule;
    {
      const MutexLock lock(mutex_);
      ++counts_[target.call];
      if (++calls_ == nth_) {
        failed_ = target.call;
        pending_ = nth_fault_;
        return nth_fault_;
      }
      rule = rule_;
    }
    return rule == nullptr ? FileFault() : rule(target);
  }

  void After(const FileCallTarget& target, int error, int fd) override {
    const MutexLock lock(mutex_);
    // A call that was done and reported as failed was done all the same.
    const bool done = error == 0 || std::exchange(pending_, FileFault()).performed;
    if (!done) {
      return;
    }
    switch (target.call) {
      case FileCall::kMakeDirectory:
        if (fs::exists(target.path)) {
          const fs::path path(target.path);
          volatile_entries_.insert({IdOf(path.parent_path()), path.filename()});
        }
        break;
      case FileCall::kCreateFile:
        if (fd >= 0) {
          dirty_files_.insert(IdOf(fd));
        }
        break;
      case FileCall::kWrite:
        dirty_files_.insert(IdOf(target.fd));
        break;
      case FileCall::kLink:
        linked_too_early_ = linked_too_early_ || !dirty_files_.empty();
        volatile_entries_.insert({IdOf(target.fd), std::string(target.path)});
        break;
      case FileCall::kSync: {
        const FileId id = IdOf(target.fd);
        dirty_files_.erase(id);
        std::erase_if(volatile_entries_, [&](const auto& entry) { return entry.first == id; });
        break;
      }
      case FileCall::kSyncFileSystem:
        std::erase_if(volatile_entries_, [&](const auto& entry) {
          return entry.first.first == IdOf(target.fd).first;
        });
        break;
      default:
        break;
    }
  }

 private:
  Mutex mutex_;
  Rule rule_ GUARDED_BY(mutex_);
  std::size_t calls_ GUARDED_BY(mutex_) = 0;
  std::size_t nth_ GUARDED_BY(mutex_) = 0;
  FileFault nth_fault_ GUARDED_BY(mutex_);
  FileFault pending_ GUARDED_BY(mutex_);
  std::optional<FileCall> failed_ GUARDED_BY(mutex_);
  std::map<FileCall, std::size_t> counts_ GUARDED_BY(mutex_);
  std::set<std::pair<FileId, std::string>> volatile_entries_ GUARDED_BY(mutex_);
  std::set<FileId> dirty_files_ GUARDED_BY(mutex_);
  bool linked_too_early_ GUARDED_BY(mutex_) = false;
};

// A fresh directory with a store that is watched and one that is not.
class World {
 public:
  World() : watched_(clock_, random_, disk_), healthy_(clock_, random_) {}

  Deadline Later() const { return clock_.Now() + std::chrono::hours(1); }

  std::string Path(std::string_view name) const { return dir_.Join(name); }

  WatchedDisk& disk() { return disk_; }

  LocalObjectStore& watched() { return watched_; }

  Result<std::string> HealthyGet(std::string_view name) {
    return healthy_.Get(Path(name), 1000000, Later());
  }

  Status HealthyPut(std::string_view name, std::string_view bytes) {
    return healthy_.PutIfAbsent(Path(name), bytes, Later());
  }

  // Returns the temporary files anywhere in the directory.
  std::vector<std::string> TemporaryFiles() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(dir_.path())) {
      if (entry.path().filename().string().starts_with(kTemporaryNamePrefix)) {
        found.push_back(entry.path());
      }
    }
    return found;
  }

 private:
  const TempDir dir_;
  ManualClock clock_;
  SeededRandom random_{1};
  WatchedDisk disk_;
  LocalObjectStore watched_;
  LocalObjectStore healthy_;
};

FileFault Failure(int error) {
  return {.error = error};
}

FileFault DoneButReportedAs(int error) {
  return {.error = error, .performed = true};
}

std::vector<FileFault> Faults() {
  std::vector<FileFault> faults;
  for (const int error : {EIO, ENOSPC, EACCES, EROFS, EMFILE}) {
    faults.push_back(Failure(error));
    faults.push_back(DoneButReportedAs(error));
  }
  return faults;
}

std::string Name(FileFault fault, std::size_t n) {
  return std::to_string(fault.error) + (fault.performed ? " though done" : "") + ", call " +
         std::to_string(n);
}

constexpr std::string_view kBytes = "the bytes of the object";

// Runs `put` in a fresh world with its first call failing, then the second, … until it passes
// without reaching the failing one; checks the laws after each. Returns how many calls failed.
std::size_t EnumeratePuts(FileFault fault, const std::function<Status(World&)>& put) {
  for (std::size_t n = 1;; ++n) {
    SCOPED_TRACE(Name(fault, n));
    World world;
    fs::create_directory(world.Path("given"));
    world.disk().MarkVolatile(world.Path("given"));
    world.disk().FailNth(n, fault);
    const Status outcome = put(world);
    const std::optional<FileCall> failed = world.disk().failed();
    EXPECT_FALSE(world.disk().linked_too_early());
    const Result<std::string> read = world.HealthyGet("given/new/dirs/object");
    if (outcome.has_value()) {
      // Law 1 and law 3.
      EXPECT_THAT(read, IsOkAnd(kBytes));
      EXPECT_THAT(world.disk().VolatileEntries(), IsEmpty());
    } else if (outcome.error().code() == ErrorCode::kOutcomeUnknown) {
      EXPECT_THAT(read, AnyOf(IsOkAnd(kBytes), IsError(ErrorCode::kNotFound)));
    } else {
      EXPECT_THAT(outcome,
                  AnyOf(IsError(ErrorCode::kUnavailable), IsError(ErrorCode::kPermissionDenied)));
      EXPECT_THAT(read, IsError(ErrorCode::kNotFound));
      EXPECT_THAT(outcome.error().message(), HasSubstr(world.Path("given/new/dirs/object")));
    }
    if (failed != FileCall::kUnlink && failed != FileCall::kCreateFile) {
      EXPECT_THAT(world.TemporaryFiles(), IsEmpty());
    }
    // Whatever happened, putting again settles it, and then it is complete (law 2).
    world.disk().FailNth(0, {});
    EXPECT_THAT(
        world.watched().PutIfAbsent(world.Path("given/new/dirs/object"), kBytes, world.Later()),
        AnyOf(IsOk(), IsError(ErrorCode::kAlreadyExists)));
    EXPECT_THAT(world.HealthyGet("given/new/dirs/object"), IsOkAnd(kBytes));
    EXPECT_THAT(world.disk().VolatileEntries(), IsEmpty());
    if (!failed.has_value()) {
      EXPECT_THAT(outcome, IsOk());
      return n - 1;
    }
  }
}

TEST(LocalFaults, EveryCallOfAPutMayFail) {
  for (const FileFault fault : Faults()) {
    const std::size_t calls = EnumeratePuts(fault, [](World& world) {
      return world.watched().PutIfAbsent(world.Path("given/new/dirs/object"), kBytes,
                                         world.Later());
    });
    // open, mkdir, …, create, write, sync, link, unlink, sync.
    EXPECT_GT(calls, 12U);
  }
}

TEST(LocalFaults, EveryCallOfAWriterMayFail) {
  for (const FileFault fault : Faults()) {
    const std::size_t calls = EnumeratePuts(fault, [](World& world) -> Status {
      LAKE_TRY(const std::unique_ptr<ObjectWriter> writer,
               world.watched().StartWrite(world.Path("given/new/dirs/object"), world.Later()));
      LAKE_TRY_VOID(writer->Append(kBytes.substr(0, 5)));
      LAKE_TRY_VOID(writer->Append(kBytes.substr(5)));
      return writer->Finish();
    });
    EXPECT_GT(calls, 13U);
  }
}

TEST(LocalFaults, EveryCallOfAPutToATakenPathMayFail) {
  for (const FileFault fault : Faults()) {
    for (std::size_t n = 1;; ++n) {
      SCOPED_TRACE(Name(fault, n));
      World world;
      ASSERT_THAT(world.HealthyPut("d/object", "first"), IsOk());
      world.disk().MarkVolatile(world.Path("d/object"));
      world.disk().FailNth(n, fault);
      const Status outcome =
          world.watched().PutIfAbsent(world.Path("d/object"), kBytes, world.Later());
      EXPECT_THAT(
          outcome,
          AnyOf(IsError(ErrorCode::kAlreadyExists), IsError(ErrorCode::kUnavailable),
                IsError(ErrorCode::kPermissionDenied), IsError(ErrorCode::kOutcomeUnknown)));
      if (outcome.error().code() == ErrorCode::kAlreadyExists) {
        EXPECT_THAT(world.disk().VolatileEntries(), IsEmpty()) << "taken also says complete";
      }
      EXPECT_THAT(world.HealthyGet("d/object"), IsOkAnd("first"));
      if (!world.disk().failed().has_value()) {
        EXPECT_THAT(outcome, IsError(ErrorCode::kAlreadyExists));
        EXPECT_GT(n, 8U);
        break;
      }
    }
  }
}

TEST(LocalFaults, EveryCallOfADeleteMayFail) {
  for (const FileFault fault : Faults()) {
    for (std::size_t n = 1;; ++n) {
      SCOPED_TRACE(Name(fault, n));
      World world;
      ASSERT_THAT(world.HealthyPut("d/a", "a"), IsOk());
      ASSERT_THAT(world.HealthyPut("e/b", "b"), IsOk());
      ASSERT_THAT(world.HealthyPut("e/kept", "kept"), IsOk());
      const std::vector<std::string> paths = {world.Path("d/a"), world.Path("e/b")};
      world.disk().FailNth(n, fault);
      const Status outcome = world.watched().Delete(paths, world.Later());
      const bool reached = world.disk().failed().has_value();
      if (outcome.has_value()) {
        EXPECT_THAT(world.HealthyGet("d/a"), IsError(ErrorCode::kNotFound));
        EXPECT_THAT(world.HealthyGet("e/b"), IsError(ErrorCode::kNotFound));
      } else {
        EXPECT_THAT(outcome,
                    AnyOf(IsError(ErrorCode::kUnavailable), IsError(ErrorCode::kPermissionDenied),
                          IsError(ErrorCode::kOutcomeUnknown)));
      }
      world.disk().FailNth(0, {});
      EXPECT_THAT(world.watched().Delete(paths, world.Later()), IsOk());
      EXPECT_THAT(world.HealthyGet("d/a"), IsError(ErrorCode::kNotFound));
      EXPECT_THAT(world.HealthyGet("e/b"), IsError(ErrorCode::kNotFound));
      EXPECT_THAT(world.HealthyGet("e/kept"), IsOkAnd("kept"));
      if (!reached) {
        EXPECT_THAT(outcome, IsOk());
        EXPECT_GT(n, 8U);
        break;
      }
    }
  }
}

TEST(LocalFaults, EveryCallOfAReadMayFail) {
  for (const FileFault fault : Faults()) {
    for (std::size_t n = 1;; ++n) {
      SCOPED_TRACE(Name(fault, n));
      World world;
      ASSERT_THAT(world.HealthyPut("d/a", kBytes), IsOk());
      LocalObjectStore& store = world.watched();
      const auto failing =
          AnyOf(IsError(ErrorCode::kUnavailable), IsError(ErrorCode::kPermissionDenied));
      std::size_t failures = 0;
      world.disk().FailNth(n, fault);
      const auto get = store.Get(world.Path("d/a"), 1000, world.Later());
      const auto range = store.GetRange(world.Path("d/a"), 4, 5, world.Later());
      const auto stat = store.Stat(world.Path("d/a"), world.Later());
      const auto page = store.List(world.Path(""), "", 10, world.Later());
      EXPECT_THAT(get, AnyOf(IsOkAnd(kBytes), failing));
      EXPECT_THAT(range, AnyOf(IsOkAnd(kBytes.substr(4, 5)), failing));
      EXPECT_THAT(stat, AnyOf(IsOk(), failing));
      EXPECT_THAT(page, AnyOf(IsOk(), failing));
      if (page.has_value()) {
        EXPECT_EQ(page->objects.size(), 1U) << "what cannot be read is not left out";
      }
      for (const bool ok :
           {get.has_value(), range.has_value(), stat.has_value(), page.has_value()}) {
        failures += ok ? 0 : 1;
      }
      EXPECT_EQ(failures, world.disk().failed().has_value() ? 1U : 0U);
      if (!world.disk().failed().has_value()) {
        EXPECT_GT(n, 10U);
        break;
      }
    }
  }
}

struct CodeCase {
  int error;
  ErrorCode code;
  const char* text;
};

TEST(LocalFaults, AFailedPutSaysWhatTheOperatingSystemSaid) {
  for (const auto& [error, code, text] :
       std::vector<CodeCase>{{ENOSPC, ErrorCode::kUnavailable, "no space left on device"},
                             {EDQUOT, ErrorCode::kUnavailable, "isk quota exceeded"},
                             {EIO, ErrorCode::kUnavailable, "nput/output error"},
                             {EMFILE, ErrorCode::kUnavailable, "too many open files"},
                             {EACCES, ErrorCode::kPermissionDenied, "permission denied"},
                             {EPERM, ErrorCode::kPermissionDenied, "operation not permitted"},
                             {EROFS, ErrorCode::kPermissionDenied, "read-only file system"},
                             {ENAMETOOLONG, ErrorCode::kInvalidArgument, "file name too long"}}) {
    for (const FileCall call : {FileCall::kOpenDirectory, FileCall::kCreateFile, FileCall::kWrite,
                                FileCall::kSync, FileCall::kLink}) {
      World world;
      world.disk().SetRule([&](const FileCallTarget& target) {
        return target.call == call ? Failure(error) : FileFault();
      });
      EXPECT_THAT(world.watched().PutIfAbsent(world.Path("a"), kBytes, world.Later()),
                  IsError(code, ::testing::AllOf(HasSubstr(world.Path("a")), HasSubstr(text))));
      EXPECT_THAT(world.HealthyGet("a"), IsError(ErrorCode::kNotFound));
    }
  }
}

TEST(LocalFaults, AReadOnlyDirectoryIsPermissionDenied) {
  World world;
  world.disk().SetRule([](const FileCallTarget& target) {
    return target.call == FileCall::kMakeDirectory ? Failure(EROFS) : FileFault();
  });
  EXPECT_THAT(world.watched().PutIfAbsent(world.Path("new/a"), kBytes, world.Later()),
              IsError(ErrorCode::kPermissionDenied, HasSubstr("read-only")));
  world.disk().SetRule([](const FileCallTarget& target) {
    return target.call == FileCall::kUnlink && target.fd < 0 ? Failure(EROFS) : FileFault();
  });
  ASSERT_THAT(world.HealthyPut("a", kBytes), IsOk());
  EXPECT_THAT(world.watched().Delete({world.Path("a")}, world.Later()),
              IsError(ErrorCode::kPermissionDenied, HasSubstr(world.Path("a"))));
}

// The bytes may be gone although the next sync succeeds, so the file must not be used.
TEST(LocalFaults, AFileThatCouldNotBeSyncedIsGivenUp) {
  World world;
  bool failed = false;
  world.disk().SetRule([&](const FileCallTarget& target) {
    struct stat status{};
    if (target.call != FileCall::kSync || failed || ::fstat(target.fd, &status) != 0 ||
        !S_ISREG(status.st_mode)) {
      return FileFault();
    }
    failed = true;
    return Failure(EIO);
  });
  EXPECT_THAT(world.watched().PutIfAbsent(world.Path("a"), kBytes, world.Later()),
              IsError(ErrorCode::kUnavailable, HasSubstr("sync file")));
  EXPECT_TRUE(failed);
  EXPECT_THAT(world.HealthyGet("a"), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(world.TemporaryFiles(), IsEmpty());
}

// The object is visible and may have been read: taking it back would be worse than not knowing.
TEST(LocalFaults, AnObjectWhoseDirectoryCouldNotBeSyncedIsUnknownAndStays) {
  World world;
  world.disk().SetRule([&](const FileCallTarget& target) {
    return target.call == FileCall::kSync && world.disk().Count(FileCall::kLink) > 0 ? Failure(EIO)
                                                                                     : FileFault();
  });
  EXPECT_THAT(world.watched().PutIfAbsent(world.Path("a"), kBytes, world.Later()),
              IsError(ErrorCode::kOutcomeUnknown, HasSubstr(world.Path("a"))));
  EXPECT_THAT(world.HealthyGet("a"), IsOkAnd(kBytes));
  // Until the directory can be synced, nobody is told that the object is complete.
  EXPECT_THAT(world.watched().PutIfAbsent(world.Path("a"), kBytes, world.Later()),
              IsError(ErrorCode::kUnavailable));
  world.disk().SetRule(nullptr);
  EXPECT_THAT(world.watched().PutIfAbsent(world.Path("a"), kBytes, world.Later()),
              IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(world.disk().VolatileEntries(), IsEmpty());
}

TEST(LocalFaults, ALostAnswerOfALinkIsFoundOut) {
  World world;
  world.disk().SetRule([](const FileCallTarget& target) {
    return target.call == FileCall::kLink ? DoneButReportedAs(EIO) : FileFault();
  });
  EXPECT_THAT(world.watched().PutIfAbsent(world.Path("a"), kBytes, world.Later()), IsOk());
  EXPECT_THAT(world.HealthyGet("a"), IsOkAnd(kBytes));
  // The first attempt of a network file system was applied, and its second found the name taken.
  world.disk().SetRule([](const FileCallTarget& target) {
    return target.call == FileCall::kLink ? DoneButReportedAs(EEXIST) : FileFault();
  });
  EXPECT_THAT(world.watched().PutIfAbsent(world.Path("b"), kBytes, world.Later()), IsOk());
}

TEST(LocalFaults, ALinkThatCannotBeLookedIntoIsUnknown) {
  World world;
  world.disk().SetRule([](const FileCallTarget& target) {
    return target.call == FileCall::kLink || target.call == FileCall::kInspect ? Failure(EIO)
                                                                               : FileFault();
  });
  EXPECT_THAT(world.watched().PutIfAbsent(world.Path("a"), kBytes, world.Later()),
              IsError(ErrorCode::kOutcomeUnknown, HasSubstr("link")));
}

TEST(LocalFaults, AWriterThatFailedStaysFailed) {
  World world;
  const auto writer = world.watched().StartWrite(world.Path("a"), world.Later());
  ASSERT_THAT(writer, IsOk());
  ASSERT_THAT((*writer)->Append("x"), IsOk());
  world.disk().FailNth(1, Failure(ENOSPC));
  EXPECT_THAT((*writer)->Append("y"), IsError(ErrorCode::kUnavailable, HasSubstr("no space")));
  EXPECT_THAT((*writer)->Append("z"), IsError(ErrorCode::kUnavailable));
  EXPECT_THAT((*writer)->Finish(), IsError(ErrorCode::kUnavailable));
  EXPECT_THAT(world.HealthyGet("a"), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(world.TemporaryFiles(), IsEmpty());
}

TEST(LocalFaults, ReadsAndWritesGoOnAfterShortOnes) {
  for (const std::size_t bytes_max : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
    World world;
    world.disk().SetRule([&](const FileCallTarget&) { return FileFault{.bytes_max = bytes_max}; });
    ASSERT_THAT(world.watched().PutIfAbsent(world.Path("a"), kBytes, world.Later()), IsOk());
    EXPECT_THAT(world.HealthyGet("a"), IsOkAnd(kBytes));
    EXPECT_THAT(world.watched().Get(world.Path("a"), 1000, world.Later()), IsOkAnd(kBytes));
    EXPECT_THAT(world.watched().GetRange(world.Path("a"), 3, 9, world.Later()),
                IsOkAnd(kBytes.substr(3, 9)));
  }
}

TEST(LocalFaults, AWriteThatNeverGetsOnFails) {
  World world;
  world.disk().SetRule([](const FileCallTarget& target) {
    return target.call == FileCall::kWrite ? FileFault{.bytes_max = 0} : FileFault();
  });
  EXPECT_THAT(world.watched().PutIfAbsent(world.Path("a"), kBytes, world.Later()),
              IsError(ErrorCode::kUnavailable));
}

TEST(LocalFaults, AFileThatBecomesShorterWhileItIsReadFails) {
  World world;
  ASSERT_THAT(world.HealthyPut("a", kBytes), IsOk());
  world.disk().SetRule([&](const FileCallTarget& target) {
    if (target.call == FileCall::kRead) {
      fs::resize_file(world.Path("a"), 3);
    }
    return FileFault();
  });
  EXPECT_THAT(world.watched().Get(world.Path("a"), 1000, world.Later()),
              IsError(ErrorCode::kUnavailable, HasSubstr("shorter")));
}

// Law 1: also what somebody else made, and did not sync, on the way.
TEST(LocalDurability, APutSyncsEveryEntryOnItsWay) {
  World world;
  fs::create_directories(world.Path("made/by/others"));
  world.disk().MarkVolatile(world.Path("made/by/others"));
  ASSERT_THAT(
      world.watched().PutIfAbsent(world.Path("made/by/others/or/us/a"), kBytes, world.Later()),
      IsOk());
  EXPECT_THAT(world.disk().VolatileEntries(), IsEmpty());
}

TEST(LocalDurability, ALaterPutSyncsOnlyWhatIsNew) {
  World world;
  ASSERT_THAT(world.watched().PutIfAbsent(world.Path("d/e/a"), kBytes, world.Later()), IsOk());
  std::size_t before = world.disk().Count(FileCall::kSync);
  ASSERT_THAT(world.watched().PutIfAbsent(world.Path("d/e/b"), kBytes, world.Later()), IsOk());
  EXPECT_EQ(world.disk().Count(FileCall::kSync) - before, 2U) << "the file and its directory";
  before = world.disk().Count(FileCall::kSync);
  ASSERT_THAT(world.watched().PutIfAbsent(world.Path("d/f/a"), kBytes, world.Later()), IsOk());
  EXPECT_EQ(world.disk().Count(FileCall::kSync) - before, 3U) << "and the parent of a new one";
  EXPECT_THAT(world.disk().VolatileEntries(), IsEmpty());
}

TEST(LocalDurability, ADirectoryThatWasMadeAgainIsSyncedAgain) {
  World world;
  ASSERT_THAT(world.watched().PutIfAbsent(world.Path("d/e/a"), kBytes, world.Later()), IsOk());
  // On many file systems the new directory has the inode number of the old one.
  fs::remove_all(world.Path("d"));
  fs::create_directories(world.Path("d/e"));
  world.disk().MarkVolatile(world.Path("d/e"));
  ASSERT_THAT(world.watched().PutIfAbsent(world.Path("d/e/a"), kBytes, world.Later()), IsOk());
  EXPECT_THAT(world.disk().VolatileEntries(), ::testing::Not(Contains("d")));
  EXPECT_THAT(world.disk().VolatileEntries(), ::testing::Not(Contains("e")));
  EXPECT_THAT(world.disk().VolatileEntries(), ::testing::Not(Contains("a")));
}

// A directory is there for everybody before its entry is durable.
TEST(LocalDurability, APutDoesNotRelyOnAnotherThreadsUnfinishedSync) {
  World world;
  fs::create_directory(world.Path("d"));
  const FileId parent = IdOf(world.Path("d"));
  Mutex mutex;
  CondVar changed;
  bool holding = false;
  bool released = false;
  world.disk().SetRule([&](const FileCallTarget& target) {
    const MutexLock lock(mutex);
    if (target.call == FileCall::kSync && !holding && IdOf(target.fd) == parent) {
      holding = true;
      changed.NotifyAll();
      while (!released) {
        changed.Wait(mutex);
      }
    }
    return FileFault();
  });
  Thread slow("slow", [&] {
    EXPECT_THAT(world.watched().PutIfAbsent(world.Path("d/new/slow"), kBytes, world.Later()),
                IsOk());
  });
  {
    const MutexLock lock(mutex);
    while (!holding) {
      changed.Wait(mutex);
    }
  }
  EXPECT_THAT(world.disk().VolatileEntries(), Contains("new"));
  EXPECT_THAT(world.watched().PutIfAbsent(world.Path("d/new/quick"), kBytes, world.Later()),
              IsOk());
  EXPECT_THAT(world.disk().VolatileEntries(), IsEmpty());
  {
    const MutexLock lock(mutex);
    released = true;
    changed.NotifyAll();
  }
  slow.Join();
}

TEST(LocalDurability, AFailedSyncOfADirectoryIsNotRemembered) {
  World world;
  bool failed = false;
  world.disk().SetRule([&](const FileCallTarget& target) {
    if (target.call != FileCall::kSync || std::exchange(failed, true)) {
      return FileFault();
    }
    return Failure(EIO);
  });
  EXPECT_THAT(world.watched().PutIfAbsent(world.Path("d/e/a"), kBytes, world.Later()),
              IsError(ErrorCode::kUnavailable));
  ASSERT_TRUE(failed);
  EXPECT_THAT(world.disk().VolatileEntries(), Contains("e"));
  EXPECT_THAT(world.watched().PutIfAbsent(world.Path("d/e/a"), kBytes, world.Later()), IsOk());
  EXPECT_THAT(world.disk().VolatileEntries(), IsEmpty());
}

TEST(LocalDurability, AParentThatMayNotBeReadIsSyncedWithItsFileSystem) {
  World world;
  fs::create_directories(world.Path("closed/open"));
  world.disk().MarkVolatile(world.Path("closed/open"));
  world.disk().SetRule([&](const FileCallTarget& target) {
    return target.call == FileCall::kOpenDirectory && target.path == world.Path("closed")
               ? Failure(EACCES)
               : FileFault();
  });
  ASSERT_THAT(world.watched().PutIfAbsent(world.Path("closed/open/a"), kBytes, world.Later()),
              IsOk());
  EXPECT_EQ(world.disk().Count(FileCall::kSyncFileSystem), 1U);
  EXPECT_THAT(world.disk().VolatileEntries(), IsEmpty());
}

TEST(LocalDurability, ADeleteSyncsEachDirectoryOnce) {
  World world;
  ASSERT_THAT(world.HealthyPut("d/a", "x"), IsOk());
  ASSERT_THAT(world.HealthyPut("d/b", "x"), IsOk());
  ASSERT_THAT(world.HealthyPut("e/c", "x"), IsOk());
  EXPECT_THAT(world.watched().Delete(
                  {world.Path("d/a"), world.Path("d/b"), world.Path("e/c"), world.Path("none/d")},
                  world.Later()),
              IsOk());
  EXPECT_EQ(world.disk().Count(FileCall::kSync), 2U);
}

TEST(LocalDurability, ADirectoryThatCannotBeReadEndsAListing) {
  World world;
  ASSERT_THAT(world.HealthyPut("a/x", "x"), IsOk());
  ASSERT_THAT(world.HealthyPut("b/x", "x"), IsOk());
  world.disk().SetRule([&](const FileCallTarget& target) {
    return target.call == FileCall::kOpenDirectory && target.path == world.Path("b")
               ? Failure(EACCES)
               : FileFault();
  });
  EXPECT_THAT(world.watched().List(world.Path(""), "", 10, world.Later()),
              IsError(ErrorCode::kPermissionDenied, HasSubstr(world.Path("b"))));
}

}  // namespace
}  // namespace lake::objstore
