// What a store does when its disk fails: every step of its file system is made to fail in turn.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/file_system.h>
#include <rocksdb/io_status.h>
#include <sys/mount.h>

#include "lake/base/check.h"
#include "lake/base/mutex.h"
#include "lake/base/thread.h"
#include "lake/metastore/rocksdb/rocks_metastore.h"
#include "lake/metastore/rocksdb/rocks_metastore_internal.h"
#include "lake/testing/faulty_metastore.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/temp_dir.h"

namespace lake::metastore {
namespace {

namespace fs = std::filesystem;

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using std::chrono::hours;
using ::testing::AllOf;
using ::testing::AnyOf;
using testing::Gate;
using ::testing::HasSubstr;
using testing::IsError;
using testing::IsOk;
using testing::IsOkAnd;
using testing::ManualClock;
using ::testing::SizeIs;
using testing::TempDir;
using ::testing::VariantWith;

const auto kCommitted = IsOkAnd(VariantWith<Committed>(Committed{}));

// What RocksDB asks of its file system that changes something.
enum class Step { kCreate, kAppend, kFlush, kSync, kClose, kRename, kDelete, kSyncDirectory };

struct Fault {
  IOStatus answer;
  bool performed = false;  // It was done all the same.
};

// A file system whose steps a test watches and makes fail. Thread-safe.
class FaultyFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  // Is asked before each step; may block.
  using Rule = std::function<std::optional<Fault>(Step, const std::string& path)>;

  FaultyFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

  const char* Name() const override { return "FaultyFileSystem"; }

  void SetRule(Rule rule) {
    const MutexLock lock(mutex_);
    rule_ = std::move(rule);
  }

  // Carries out `step` as the rule wants it.
  template <typename Perform>
  IOStatus Do(Step step, const std::string& path, const Perform& perform) {
    Rule rule;
    {
      const MutexLock lock(mutex_);
      rule = rule_;
    }
    std::optional<Fault> fault;
    if (rule) {
      fault = rule(step, path);
    }
    if (!fault.has_value()) {
      return perform();
    }
    if (fault->performed) {
      static_cast<void>(perform());
    }
    return fault->answer;
  }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                           IODebugContext* debug) override;
  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* result,
                        IODebugContext* debug) override;

  IOStatus DeleteFile(const std::string& path, const IOOptions& options,
                      IODebugContext* debug) override {
    return Do(Step::kDelete, path,
              [&] { return FileSystemWrapper::DeleteFile(path, options, debug); });
  }

  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* debug) override {
    return Do(Step::kRename, to,
              [&] { return FileSystemWrapper::RenameFile(from, to, options, debug); });
  }

 private:
  Mutex mutex_;
  Rule rule_ GUARDED_BY(mutex_);
};

class FaultyFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using Base = rocksdb::FSWritableFileOwnerWrapper;

  FaultyFile(std::unique_ptr<rocksdb::FSWritableFile> file, std::string path,
             FaultyFileSystem& system)
      : Base(std::move(file)), path_(std::move(path)), system_(system) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  IODebugContext* debug) override {
    return system_.Do(Step::kAppend, path_, [&] { return Base::Append(data, options, debug); });
  }

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& verification,
                  IODebugContext* debug) override {
    return system_.Do(Step::kAppend, path_,
                      [&] { return Base::Append(data, options, verification, debug); });
  }

  IOStatus Flush(const IOOptions& options, IODebugContext* debug) override {
    return system_.Do(Step::kFlush, path_, [&] { return Base::Flush(options, debug); });
  }

  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return system_.Do(Step::kSync, path_, [&] { return Base::Sync(options, debug); });
  }

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return system_.Do(Step::kSync, path_, [&] { return Base::Fsync(options, debug); });
  }

  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return system_.Do(Step::kClose, path_, [&] { return Base::Close(options, debug); });
  }

 private:
  const std::string path_;
  FaultyFileSystem& system_;
};

class FaultyDirectory final : public rocksdb::FSDirectory {
 public:
  FaultyDirectory(std::unique_ptr<rocksdb::FSDirectory> directory, std::string path,
                  FaultyFileSystem& system)
      : directory_(std::move(directory)), path_(std::move(path)), system_(system) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return system_.Do(Step::kSyncDirectory, path_,
                      [&] { return directory_->Fsync(options, debug); });
  }

  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions& directory_options) override {
    return system_.Do(Step::kSyncDirectory, path_, [&] {
      return directory_->FsyncWithDirOptions(options, debug, directory_options);
    });
  }

  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return directory_->Close(options, debug);
  }

 private:
  const std::unique_ptr<rocksdb::FSDirectory> directory_;
  const std::string path_;
  FaultyFileSystem& system_;
};

IOStatus FaultyFileSystem::NewWritableFile(const std::string& path,
                                           const rocksdb::FileOptions& options,
                                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                                           IODebugContext* debug) {
  return Do(Step::kCreate, path, [&] {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    IOStatus status = FileSystemWrapper::NewWritableFile(path, options, &file, debug);
    if (status.ok()) {
      *result = std::make_unique<FaultyFile>(std::move(file), path, *this);
    }
    return status;
  });
}

IOStatus FaultyFileSystem::NewDirectory(const std::string& path, const IOOptions& options,
                                        std::unique_ptr<rocksdb::FSDirectory>* result,
                                        IODebugContext* debug) {
  std::unique_ptr<rocksdb::FSDirectory> directory;
  IOStatus status = FileSystemWrapper::NewDirectory(path, options, &directory, debug);
  if (status.ok()) {
    *result = std::make_unique<FaultyDirectory>(std::move(directory), path, *this);
  }
  return status;
}

bool IsWal(const std::string& path) {
  return path.ends_with(".log");
}

// Fails all steps of this kind on write-ahead logs from now on.
FaultyFileSystem::Rule WalFails(Step which, const Fault& fault) {
  return [which, fault](Step step, const std::string& path) -> std::optional<Fault> {
    return step == which && IsWal(path) ? std::optional(fault) : std::nullopt;
  };
}

// A value that cannot be compressed.
std::string Noise(std::size_t bytes) {
  std::string noise(bytes, '\0');
  std::uint32_t state = 1;
  for (char& byte : noise) {
    state = (state * 1664525) + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return noise;
}

// Two keys that belong together.
Transaction Pair(const std::string& name, std::size_t bytes = 10) {
  return Transaction()
      .Put("t/" + name, Expectation::Absent(), name + Noise(bytes))
      .Put("u/" + name, Expectation::Absent(), name);
}

class RocksFaultsTest : public ::testing::Test {
 protected:
  Deadline Later() const { return clock_.Now() + hours(1); }

  Result<std::unique_ptr<RocksMetaStore>> Open(const std::string& path,
                                               const std::shared_ptr<rocksdb::FileSystem>& system) {
    RocksMetaStore::Options options;
    options.path = path;
    options.write_buffer_bytes = write_buffer_bytes_;
    options.on_fatal = [this](const Error& error) {
      const MutexLock lock(mutex_);
      fatal_.push_back(error);
    };
    return RocksMetaStoreOpener::Open(clock_, std::move(options), system);
  }

  std::unique_ptr<RocksMetaStore> MustOpen(const std::string& path) {
    auto store = Open(path, system_);
    EXPECT_THAT(store, IsOk());
    LAKE_CHECK(store.has_value(), "the store opens");
    return *std::move(store);
  }

  Result<CommitResult> Commit(RocksMetaStore& store, const std::string& name,
                              std::size_t bytes = 10) {
    return store.Commit(Pair(name, bytes), Later());
  }

  // Returns whether a pair is there; expects both of its keys or none.
  bool IsThere(RocksMetaStore& store, const std::string& name) {
    const auto values = store.GetTogether({"t/" + name, "u/" + name}, Later());
    EXPECT_THAT(values, IsOk());
    LAKE_CHECK(values.has_value(), "the store can be read");
    EXPECT_EQ((*values)[0].has_value(), (*values)[1].has_value()) << name << " is there by halves";
    return (*values)[0].has_value();
  }

  // Everything is refused, and nothing is said about what might be there.
  void ExpectRefusesEverything(RocksMetaStore& store) {
    const auto refused = IsError(ErrorCode::kUnavailable, HasSubstr("the process must end"));
    EXPECT_THAT(store.Get("t/before", Later()), refused);
    EXPECT_THAT(store.GetTogether({"t/before"}, Later()), refused);
    EXPECT_THAT(store.Scan("t/", "", 10, Later()), refused);
    EXPECT_THAT(Commit(store, "after"), refused);
    EXPECT_THAT(store.Checkpoint(dir_.Join("backup")), refused);
  }

  std::vector<Error> fatal() const {
    const MutexLock lock(mutex_);
    return fatal_;
  }

  const TempDir dir_{TempDir::Medium::kMemory};
  const std::string path_ = dir_.Join("store");
  ManualClock clock_;
  const std::shared_ptr<FaultyFileSystem> system_ = std::make_shared<FaultyFileSystem>();
  std::size_t write_buffer_bytes_ = std::size_t{64} * 1024;
  mutable Mutex mutex_;
  std::vector<Error> fatal_ GUARDED_BY(mutex_);
};

// The fsync of a group fails, whether or not the bytes have come to the disk.
TEST_F(RocksFaultsTest, AFailedSyncEndsTheStoreAndReopeningDecides) {
  for (const Step step : {Step::kAppend, Step::kSync}) {
    for (const bool performed : {false, true}) {
      SCOPED_TRACE("step " + std::to_string(static_cast<int>(step)) +
                   (performed ? ", done all the same" : ""));
      const std::string path =
          path_ + std::to_string(static_cast<int>(step)) + (performed ? "d" : "n");
      {
        const MutexLock lock(mutex_);
        fatal_.clear();
      }
      {
        const auto store = MustOpen(path);
        ASSERT_THAT(Commit(*store, "before"), kCommitted);
        system_->SetRule(
            WalFails(step, {.answer = IOStatus::IOError("injected"), .performed = performed}));
        EXPECT_THAT(Commit(*store, "doubtful"),
                    IsError(ErrorCode::kOutcomeUnknown, HasSubstr("injected")));
        EXPECT_THAT(fatal(), SizeIs(1));
        // Also when the disk works again.
        system_->SetRule({});
        ExpectRefusesEverything(*store);
        EXPECT_THAT(fatal(), SizeIs(1)) << "said once";
      }
      const auto store = MustOpen(path);
      EXPECT_TRUE(IsThere(*store, "before"));
      EXPECT_FALSE(IsThere(*store, "after"));
      const bool decided = IsThere(*store, "doubtful");
      if (performed) {
        EXPECT_TRUE(decided) << "it had come to the disk";
      }
      EXPECT_THAT(Commit(*store, "later"), kCommitted);
      EXPECT_EQ(IsThere(*store, "doubtful"), decided) << "and it stays so";
    }
  }
}

TEST_F(RocksFaultsTest, AFailedSyncIsUnknownToTheWholeGroupAndRefusesThoseBehindIt) {
  constexpr std::size_t kMembers = 6;
  {
    const auto store = MustOpen(path_);
    ASSERT_THAT(Commit(*store, "before"), kCommitted);
    Gate gate;
    std::atomic<int> syncs = 0;
    system_->SetRule([&](Step step, const std::string& path) -> std::optional<Fault> {
      if (step != Step::kSync || !IsWal(path)) {
        return std::nullopt;
      }
      if (++syncs == 1) {
        gate.Pass();  // The first one works, and lets a group gather behind it.
        return std::nullopt;
      }
      return Fault{.answer = IOStatus::IOError("injected")};
    });
    std::vector<std::optional<Result<CommitResult>>> answers(kMembers);
    std::optional<Result<CommitResult>> first;
    {
      Thread leader("leader", [&] { first = Commit(*store, "first"); });
      gate.WaitForArrivals(1);
      std::vector<std::unique_ptr<Thread>> members;
      for (std::size_t i = 0; i < kMembers; ++i) {
        members.push_back(std::make_unique<Thread>(
            "member", [&, i] { answers[i] = Commit(*store, "member" + std::to_string(i)); }));
        clock_.WaitForWaiters(i + 1);
      }
      gate.Open();
    }
    EXPECT_THAT(*first, kCommitted);
    for (const auto& answer : answers) {
      EXPECT_THAT(*answer, IsError(ErrorCode::kOutcomeUnknown));
    }
    EXPECT_EQ(syncs, 2) << "one write for all of them, and none after it";
    EXPECT_THAT(fatal(), SizeIs(1));
    system_->SetRule({});
    ExpectRefusesEverything(*store);
  }
  const auto store = MustOpen(path_);
  EXPECT_TRUE(IsThere(*store, "before"));
  EXPECT_TRUE(IsThere(*store, "first"));
  const bool decided = IsThere(*store, "member0");
  for (std::size_t i = 0; i < kMembers; ++i) {
    EXPECT_EQ(IsThere(*store, "member" + std::to_string(i)), decided) << "one write, one outcome";
  }
}

TEST_F(RocksFaultsTest, AFullDiskIsSaidClearlyAndLosesNothing) {
  {
    const auto store = MustOpen(path_);
    ASSERT_THAT(Commit(*store, "before"), kCommitted);
    system_->SetRule(WalFails(Step::kAppend, {.answer = IOStatus::NoSpace("injected")}));
    EXPECT_THAT(Commit(*store, "doubtful"),
                IsError(ErrorCode::kOutcomeUnknown, HasSubstr("the disk is full")));
    EXPECT_THAT(fatal(), SizeIs(1));
    EXPECT_THAT(Open(path_, system_), IsError(ErrorCode::kDeadlineExceeded, HasSubstr("in use")));
  }
  // Nothing is freed, and the store cannot be opened, or opens; but it is not taken for damaged.
  system_->SetRule([](Step step, const std::string&) -> std::optional<Fault> {
    return step == Step::kAppend ? std::optional(Fault{.answer = IOStatus::NoSpace("injected")})
                                 : std::nullopt;
  });
  EXPECT_THAT(Open(path_, system_),
              IsError(ErrorCode::kUnavailable, HasSubstr("the disk is full")));
  // Space is freed.
  system_->SetRule({});
  const auto store = MustOpen(path_);
  EXPECT_TRUE(IsThere(*store, "before"));
  EXPECT_FALSE(IsThere(*store, "doubtful"));
  EXPECT_THAT(Commit(*store, "later"), kCommitted);
}

// When a table cannot be written, what is in the log is safe: commits are refused until the cause is
// gone, reads go on, and the process need not end.
TEST_F(RocksFaultsTest, AFailureOutsideTheLogIsRefusedUntilItsCauseIsGone) {
  const auto store = MustOpen(path_);
  system_->SetRule([](Step step, const std::string& path) -> std::optional<Fault> {
    return step == Step::kAppend && path.ends_with(".sst")
               ? std::optional(Fault{.answer = IOStatus::NoSpace("injected")})
               : std::nullopt;
  });
  std::vector<std::string> acknowledged;
  Result<CommitResult> last = CommitResult(Committed{});
  for (int i = 0; i < 1000 && last.has_value(); ++i) {
    const std::string name = std::to_string(i);
    last = Commit(*store, name, 20000);
    if (last.has_value()) {
      acknowledged.push_back(name);
    }
  }
  EXPECT_THAT(last, IsError(ErrorCode::kUnavailable, HasSubstr("the disk is full")));
  EXPECT_THAT(fatal(), SizeIs(0));
  for (const std::string& name : acknowledged) {
    EXPECT_TRUE(IsThere(*store, name)) << name;
  }
  system_->SetRule({});
  EXPECT_THAT(Commit(*store, "later"), kCommitted);
  for (const std::string& name : acknowledged) {
    EXPECT_TRUE(IsThere(*store, name)) << name;
  }
}

// Enumerates: the first step fails, then the second, … until the run passes without reaching it.
TEST_F(RocksFaultsTest, WhicheverStepFailsNothingAcknowledgedIsLostAndTheStoreOpensAgain) {
  // Tables are written by recovery alone: RocksDB rests for a second after each failure of a thread of
  // its own, which AFailureOutsideTheLogIsRefusedUntilItsCauseIsGone is about.
  write_buffer_bytes_ = std::size_t{16} * 1024 * 1024;

  struct Kind {
    const char* name;
    Fault fault;
  };

  for (const Kind& kind :
       {Kind{"fails", {.answer = IOStatus::IOError("injected")}},
        Kind{"fails though done", {.answer = IOStatus::IOError("injected"), .performed = true}},
        Kind{"finds no space", {.answer = IOStatus::NoSpace("injected")}}}) {
    std::size_t n = 1;
    for (bool reached = true; reached; ++n) {
      SCOPED_TRACE("step " + std::to_string(n) + " " + kind.name);
      const std::string path = dir_.Join("run");
      std::atomic<std::size_t> steps = 0;
      std::string failed;
      {
        const MutexLock lock(mutex_);
        fatal_.clear();
      }
      system_->SetRule([&](Step step, const std::string& file) -> std::optional<Fault> {
        if (++steps != n) {
          return std::nullopt;
        }
        failed = std::to_string(static_cast<int>(step)) + " of " + file;
        return kind.fault;
      });
      std::vector<std::pair<std::string, Result<CommitResult>>> answers;
      // Creates the store; then opens it again, which recovers the log and deletes it.
      for (int round = 0; round < 2; ++round) {
        const auto store = Open(path, system_);
        if (!store.has_value()) {
          EXPECT_THAT(store, IsError(ErrorCode::kUnavailable));
          continue;
        }
        for (int i = 0; i < 6; ++i) {
          const std::string name = std::to_string(round) + "-" + std::to_string(i);
          answers.emplace_back(name, Commit(**store, name, i % 2 == 0 ? 10 : 50000));
        }
      }
      reached = steps >= n;
      system_->SetRule({});
      SCOPED_TRACE("the step was " + failed);
      auto store = Open(path, system_);
      ASSERT_THAT(store, IsOk()) << "a failure is no damage";
      std::size_t unknown = 0;
      for (const auto& [name, answer] : answers) {
        if (answer.has_value()) {
          EXPECT_TRUE(IsThere(**store, name)) << name;
        } else if (answer.error().code() == ErrorCode::kOutcomeUnknown) {
          ++unknown;
          IsThere(**store, name);
        } else {
          EXPECT_THAT(answer, IsError(ErrorCode::kUnavailable));
          EXPECT_FALSE(IsThere(**store, name)) << name << " was certainly not applied";
        }
      }
      EXPECT_EQ(fatal().size(), unknown == 0 ? 0U : 1U);
      EXPECT_THAT(Commit(**store, "later"), kCommitted);
      if (!reached) {
        EXPECT_THAT(answers, SizeIs(12));
        EXPECT_EQ(unknown, 0U);
      }
      store->reset();
      fs::remove_all(path);
    }
    EXPECT_GT(n, 60U) << "the run has many steps";
  }
}

// The same with a disk that is really full, where this process may mount one.
class SmallDisk {
 public:
  explicit SmallDisk(std::string path) : path_(std::move(path)) {
    fs::create_directory(path_);
    mounted_ = ::mount("none", path_.c_str(), "tmpfs", 0, "size=1m") == 0;
    reason_ = mounted_ ? 0 : errno;
  }

  ~SmallDisk() {
    if (mounted_) {
      static_cast<void>(::umount2(path_.c_str(), MNT_DETACH));
    }
  }

  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool is_mounted() const { return mounted_; }

  std::string reason() const { return std::generic_category().message(reason_); }

 private:
  const std::string path_;
  bool mounted_ = false;
  int reason_ = 0;
};

TEST_F(RocksFaultsTest, ADiskThatIsReallyFullIsSaidClearlyAndLosesNothing) {
  const SmallDisk disk(dir_.Join("disk"));
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "this process may not mount a small disk (" << disk.reason()
                 << "): run the tests as root to try a disk that is really full";
  }
  const std::string path = dir_.Join("disk/store");
  // Takes space that is given back later.
  std::ofstream(dir_.Join("disk/ballast")) << std::string(200000, 'x');
  std::vector<std::string> acknowledged;
  std::optional<std::string> doubtful;
  {
    const auto store = MustOpen(path);
    Result<CommitResult> last = CommitResult(Committed{});
    for (int i = 0; i < 1000 && last.has_value(); ++i) {
      const std::string name = std::to_string(i);
      last = Commit(*store, name, 5000);
      if (last.has_value()) {
        acknowledged.push_back(name);
      } else if (last.error().code() == ErrorCode::kOutcomeUnknown) {
        doubtful = name;
      }
    }
    EXPECT_THAT(last,
                AllOf(AnyOf(IsError(ErrorCode::kUnavailable), IsError(ErrorCode::kOutcomeUnknown)),
                      IsError(last.has_value() ? ErrorCode::kInternal : last.error().code(),
                              HasSubstr("No space left on device"))));
    EXPECT_GE(acknowledged.size(), 20U);
  }
  fs::remove(dir_.Join("disk/ballast"));
  const auto store = MustOpen(path);
  for (const std::string& name : acknowledged) {
    EXPECT_TRUE(IsThere(*store, name)) << name;
  }
  if (doubtful.has_value()) {
    IsThere(*store, *doubtful);
  }
  EXPECT_THAT(Commit(*store, "later"), kCommitted);
}

}  // namespace
}  // namespace lake::metastore
