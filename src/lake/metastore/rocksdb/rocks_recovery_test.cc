// What a store finds when it is opened again: after a crash, after its process was killed, and after
// somebody has damaged its files.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/check.h"
#include "lake/base/clock.h"
#include "lake/base/mutex.h"
#include "lake/metastore/rocksdb/log_files.h"
#include "lake/metastore/rocksdb/rocks_metastore.h"
#include "lake/metastore/rocksdb/sync_ledger.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/run_together.h"
#include "lake/testing/temp_dir.h"

namespace lake::metastore {
namespace {

namespace fs = std::filesystem;

using std::chrono::hours;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::IsOk;
using testing::IsOkAnd;
using testing::ManualClock;
using testing::RunTogether;
using testing::TempDir;
using ::testing::VariantWith;

constexpr std::size_t kBlock = 32768;
constexpr std::size_t kHeader = 7;
constexpr std::size_t kHeaderBits = kHeader * 8;

const auto kCommitted = IsOkAnd(VariantWith<Committed>(Committed{}));

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  LAKE_CHECK(file.good(), "the file can be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

// Writes bytes where they stand, without cutting the file: that would wait for the disk.
void WriteAt(const std::string& path, std::size_t offset, std::string_view bytes) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  LAKE_CHECK(file.good(), "the file can be written");
}

void WriteAll(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  LAKE_CHECK(file.good(), "the file can be written");
}

// Where each record, or part of one, of a log begins.
std::vector<std::size_t> Headers(std::string_view log) {
  std::vector<std::size_t> headers;
  for (std::size_t offset = 0; offset + kHeader <= log.size();) {
    if (kBlock - (offset % kBlock) < kHeader) {
      offset += kBlock - (offset % kBlock);
      continue;
    }
    std::uint16_t length = 0;
    std::memcpy(&length, log.data() + offset + 4, sizeof(length));
    headers.push_back(offset);
    offset += kHeader + length;
  }
  return headers;
}

using Content = std::map<std::string, std::string>;

class RocksRecoveryTest : public ::testing::Test {
 protected:
  RocksRecoveryTest() : RocksRecoveryTest(std::string()) {}

  // With a path, the store lives there; otherwise in a directory of its own.
  explicit RocksRecoveryTest(std::string path)
      : store_path_(path.empty() ? dir_.Join("store") : std::move(path)) {}

  Deadline Later() const { return clock_.Now() + hours(1); }

  Result<std::unique_ptr<RocksMetaStore>> Open(const std::string& path) {
    RocksMetaStore::Options options;
    options.path = path;
    options.on_fatal = [](const Error& error) {
      ADD_FAILURE() << "the store has failed: " << error.ToString();
    };
    options.write_buffer_bytes = write_buffer_bytes_;
    return RocksMetaStore::Open(clock_, std::move(options));
  }

  Result<std::unique_ptr<RocksMetaStore>> Open() { return Open(store_path_); }

  // Commits `count` keys with values of `bytes` bytes and remembers them.
  void Fill(RocksMetaStore& store, int count, std::size_t bytes) {
    for (int i = 0; i < count; ++i) {
      const std::string key = "t/" + std::to_string(100000 + content_.size());
      std::string value = key;
      value.resize(std::max(bytes, key.size()), static_cast<char>('a' + (i % 26)));
      ASSERT_THAT(store.Commit(Transaction().Put(key, Expectation::Absent(), value), Later()),
                  kCommitted);
      content_[key] = value;
    }
  }

  // Makes a store with some commits and closes it.
  void Make(int count, std::size_t bytes) {
    const auto store = Open();
    ASSERT_THAT(store, IsOk());
    Fill(**store, count, bytes);
  }

  Content ReadContent(RocksMetaStore& store) {
    Content content;
    std::string after;
    while (true) {
      const Result<Page> page = store.Scan("t/", after, 1000, Later());
      LAKE_CHECK(page.has_value(), "the store can be read");
      for (const Entry& entry : page->entries) {
        content[entry.key] = entry.value;
      }
      if (!page->next.has_value()) {
        return content;
      }
      after = *page->next;
    }
  }

  // Opens the store at `path`, and expects it to hold `expected` and to work.
  void ExpectWorks(const std::string& path, const Content& expected) {
    const auto store = Open(path);
    ASSERT_THAT(store, IsOk());
    EXPECT_EQ(ReadContent(**store), expected);
    EXPECT_THAT((*store)->Commit(Transaction().Put("u/new", Expectation::Absent(), "1"), Later()),
                kCommitted);
    EXPECT_THAT((*store)->Get("u/new", Later()), IsOkAnd("1"));
  }

  // Returns the newest log of the store.
  LogName NewestLog() const {
    std::optional<LogName> newest;
    for (const auto& entry : fs::directory_iterator(store_path_)) {
      const std::optional<LogName> name = ParseLogName(entry.path().filename().string());
      if (name.has_value() && name->kind == LogKind::kWal &&
          (!newest.has_value() || newest->number < name->number)) {
        newest = name;
      }
    }
    LAKE_CHECK(newest.has_value(), "the store has a log");
    return *newest;
  }

  std::string File(std::string_view name) const { return store_path_ + "/" + std::string(name); }

  std::string NewestLogFile() const { return File(LogFileName(NewestLog())); }

  std::string ManifestFile() const {
    std::string name = ReadAll(File(kCurrentFileName));
    name.pop_back();
    return File(name);
  }

  // Lets the ledger know no more of a log than that this much was synced, as after a death of the
  // machine.
  static void SetSynced(const std::string& path, LogName name, std::uint64_t bytes) {
    const auto ledger = SyncLedger::Open(path);
    LAKE_CHECK(ledger.has_value(), "the ledger opens");
    const Status added = (*ledger)->Add(
        {.kind = name.kind, .number = name.number, .synced_bytes = bytes, .retired = false});
    LAKE_CHECK(added.has_value(), "the ledger can be written");
  }

  // Copies the closed store.
  std::string Copy(const std::string& name) const {
    fs::copy(store_path_, dir_.Join(name), fs::copy_options::recursive);
    return dir_.Join(name);
  }

  // Expects the store to be refused because of `file`.
  void ExpectDamage(const std::string& file) {
    EXPECT_THAT(Open(),
                IsError(ErrorCode::kCorruption, AllOf(HasSubstr(file), HasSubstr("at byte"))));
  }

  const TempDir dir_{TempDir::Medium::kMemory};
  const std::string store_path_;
  ManualClock clock_;
  std::size_t write_buffer_bytes_ = std::size_t{16} * 1024 * 1024;
  Content content_;
};

// A crash in the middle of the last commit, which was never acknowledged: cut at every byte of it.
TEST_F(RocksRecoveryTest, OpensWithoutTheLastCommitWhereverItWasCut) {
  Make(6, 20);
  const LogName name = NewestLog();
  const std::string log = ReadAll(NewestLogFile());
  const std::vector<std::size_t> headers = Headers(log);
  ASSERT_EQ(headers.size(), 6U);
  Content expected = content_;
  expected.erase(std::prev(expected.end()));
  for (std::size_t cut = headers.back(); cut < log.size(); ++cut) {
    SCOPED_TRACE(cut);
    const std::string copy = Copy("cut" + std::to_string(cut));
    fs::resize_file(copy + "/" + LogFileName(name), cut);
    SetSynced(copy, name, headers.back());
    ExpectWorks(copy, expected);
    fs::remove_all(copy);
  }
}

// RocksDB makes a log at every opening and never deletes one that stayed empty.
TEST_F(RocksRecoveryTest, CanBeOpenedAnyNumberOfTimesWithoutACommit) {
  Make(3, 20);
  for (std::size_t i = 0; i < SyncLedger::kEntriesMax + 2; ++i) {
    ASSERT_THAT(Open(), IsOk()) << "opening " << i;
  }
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(store_path_)) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_LE(files, 12U);
  ExpectWorks(store_path_, content_);
}

// A process that was killed while it deleted empty logs.
TEST_F(RocksRecoveryTest, DeletesAnEmptyLogThatWasRetiredAndOneThatIsNotKnown) {
  Make(3, 20);
  const std::string retired = File(LogFileName({.kind = LogKind::kWal, .number = 900}));
  const std::string unknown = File(LogFileName({.kind = LogKind::kWal, .number = 901}));
  {
    const auto ledger = SyncLedger::Open(store_path_);
    ASSERT_THAT(ledger, IsOk());
    ASSERT_THAT((*ledger)->Add({.kind = LogKind::kWal, .number = 900, .retired = true}), IsOk());
  }
  WriteAll(retired, "");
  WriteAll(unknown, "");
  ExpectWorks(store_path_, content_);
  EXPECT_FALSE(fs::exists(retired));
  EXPECT_FALSE(fs::exists(unknown));
}

TEST_F(RocksRecoveryTest, WaitsForAnotherHolderAsLongAsItIsTold) {
  Make(3, 20);
  std::unique_ptr<RocksMetaStore> holder = *Open();
  RealClock clock;
  const auto open = [this, &clock](Duration wait) {
    return RocksMetaStore::Open(clock, {.path = store_path_, .lock_wait = wait});
  };
  EXPECT_THAT(open({}), IsError(ErrorCode::kDeadlineExceeded, HasSubstr("in use")));
  Result<std::unique_ptr<RocksMetaStore>> waited = Internal("not opened yet");
  RunTogether(2, [&](std::size_t i) {
    if (i == 0) {
      waited = open(hours(1));
    } else {
      holder.reset();
    }
  });
  EXPECT_THAT(waited, IsOk());
}

// A machine that dies may have made the file longer and lost what should stand there.
TEST_F(RocksRecoveryTest, OpensWithoutTheLastCommitWhenItsSectorsWereLost) {
  Make(4, 3000);
  const LogName name = NewestLog();
  const std::string log = ReadAll(NewestLogFile());
  const std::size_t begin = Headers(log).back();
  Content expected = content_;
  expected.erase(std::prev(expected.end()));
  for (std::size_t sector = begin / 512; sector * 512 < log.size(); ++sector) {
    SCOPED_TRACE(sector);
    const std::string copy = Copy("sector" + std::to_string(sector));
    const std::size_t from = std::max(begin, sector * 512);
    const std::size_t to = std::min((sector + 1) * 512, log.size());
    WriteAt(copy + "/" + LogFileName(name), from, std::string(to - from, '\0'));
    SetSynced(copy, name, begin);
    ExpectWorks(copy, expected);
    fs::remove_all(copy);
  }
}

TEST_F(RocksRecoveryTest, RefusesALogThatIsShorterThanWhatWasAcknowledgedAtEveryByte) {
  Make(6, 20);
  const std::string file = NewestLogFile();
  const std::string log = ReadAll(file);
  for (std::size_t length = log.size(); length-- > 0;) {
    SCOPED_TRACE(length);
    fs::resize_file(file, length);
    ExpectDamage(file);
  }
  WriteAll(file, log);
  ExpectWorks(store_path_, content_);
}

// RocksDB alone opens many of these, with commits missing.
TEST_F(RocksRecoveryTest, RefusesEveryFlippedBitOfEveryHeaderInTheLastBlock) {
  Make(44, 1000);
  const LogName name = NewestLog();
  const std::string file = NewestLogFile();
  const std::string log = ReadAll(file);
  ASSERT_GT(log.size(), kBlock);
  const std::size_t last_block = (log.size() - 1) / kBlock * kBlock;
  std::size_t headers = 0;
  for (const std::size_t synced : {log.size(), std::size_t{0}}) {
    SetSynced(store_path_, name, synced);
    for (const std::size_t offset : Headers(log)) {
      if (offset < last_block) {
        continue;
      }
      ++headers;
      for (std::size_t bit = 0; bit < kHeaderBits; ++bit) {
        const std::size_t at = offset + (bit / 8);
        WriteAt(file, at, std::string(1, static_cast<char>(log[at] ^ (1 << (bit % 8)))));
        ASSERT_THAT(Open(), IsError(ErrorCode::kCorruption,
                                    AllOf(HasSubstr(file),
                                          HasSubstr("at byte " + std::to_string(offset) + ":"))))
            << "bit " << bit << ", synced " << synced;
        WriteAt(file, at, log.substr(at, 1));
      }
    }
  }
  EXPECT_GE(headers, 20U);
  EXPECT_EQ(ReadAll(file), log) << "a refused store is left as it was";
  ExpectWorks(store_path_, content_);
}

TEST_F(RocksRecoveryTest, RefusesEveryZeroedPageOfALog) {
  constexpr std::size_t kPage = 4096;
  Make(44, 1000);
  const LogName name = NewestLog();
  const std::string file = NewestLogFile();
  const std::string log = ReadAll(file);
  for (std::size_t page = 0; page < log.size(); page += kPage) {
    SCOPED_TRACE(page);
    const std::string was = log.substr(page, kPage);
    WriteAt(file, page, std::string(was.size(), '\0'));
    SetSynced(store_path_, name, log.size());
    ExpectDamage(file);
    if (Headers(log).back() >= page + kPage) {  // A later commit shows that it is damage.
      SetSynced(store_path_, name, 0);
      ExpectDamage(file);
    }
    WriteAt(file, page, was);
  }
  SetSynced(store_path_, name, log.size());
  ExpectWorks(store_path_, content_);
}

TEST_F(RocksRecoveryTest, RefusesEveryFlippedBitOfEveryHeaderOfTheManifest) {
  Make(3, 20);
  {
    ASSERT_THAT(Open(), IsOk());  // Recovery writes the log's commits into a table.
  }
  const std::string file = ManifestFile();
  const std::string manifest = ReadAll(file);
  const std::vector<std::size_t> headers = Headers(manifest);
  ASSERT_GE(headers.size(), 3U);
  for (const std::size_t offset : headers) {
    for (std::size_t bit = 0; bit < kHeaderBits; ++bit) {
      const std::size_t at = offset + (bit / 8);
      WriteAt(file, at, std::string(1, static_cast<char>(manifest[at] ^ (1 << (bit % 8)))));
      ASSERT_THAT(Open(), IsError(ErrorCode::kCorruption,
                                  AllOf(HasSubstr(file),
                                        HasSubstr("at byte " + std::to_string(offset) + ":"))))
          << "bit " << bit;
      WriteAt(file, at, manifest.substr(at, 1));
    }
  }
  ExpectWorks(store_path_, content_);
}

TEST_F(RocksRecoveryTest, RefusesAStoreOfWhichAFileIsMissing) {
  Make(3, 20);
  const std::string current = File(kCurrentFileName);
  const std::string ledger = File(kLedgerFileName);
  const std::string log = NewestLogFile();
  // Which file is missing, and which one the message names: CURRENT names a manifest that is gone.
  const std::vector<std::pair<std::string, std::string>> cases = {
      {log, log}, {ManifestFile(), current}, {current, current}, {ledger, ledger}};
  for (const auto& [missing, named] : cases) {
    SCOPED_TRACE(missing);
    const std::string aside = dir_.Join("aside");
    fs::rename(missing, aside);
    ExpectDamage(named);
    fs::remove(missing);  // A ledger that was refused may stand there again, empty.
    fs::rename(aside, missing);
  }
  ExpectWorks(store_path_, content_);
}

TEST_F(RocksRecoveryTest, RefusesEveryFlippedBitAndEveryLengthOfCurrent) {
  Make(3, 20);
  const std::string file = File(kCurrentFileName);
  const std::string current = ReadAll(file);
  for (std::size_t bit = 0; bit < current.size() * 8; ++bit) {
    SCOPED_TRACE(bit);
    const std::size_t at = bit / 8;
    WriteAt(file, at, std::string(1, static_cast<char>(current[at] ^ (1 << (bit % 8)))));
    ExpectDamage(file);
    WriteAt(file, at, current.substr(at, 1));
  }
  for (std::size_t length = current.size(); length-- > 0;) {
    fs::resize_file(file, length);
    ExpectDamage(file);
  }
  WriteAll(file, current);
  ExpectWorks(store_path_, content_);
}

TEST_F(RocksRecoveryTest, RefusesAnOlderCopyOfALog) {
  Make(3, 20);
  const std::string file = NewestLogFile();
  const std::string log = ReadAll(file);
  WriteAll(file, log.substr(0, Headers(log).back()));
  ExpectDamage(file);
}

TEST_F(RocksRecoveryTest, RefusesALogThatNobodyKnowsUnlessItIsEmpty) {
  Make(3, 20);
  const std::string foreign = File("000999.log");
  WriteAll(foreign, ReadAll(NewestLogFile()));
  ExpectDamage(foreign);
  WriteAll(foreign, "");
  ExpectWorks(store_path_, content_);
}

TEST_F(RocksRecoveryTest, RefusesAMissingTableAndADamagedOne) {
  Make(50, 1000);
  {
    ASSERT_THAT(Open(), IsOk());
  }
  std::string table;
  for (const auto& entry : fs::directory_iterator(store_path_)) {
    if (entry.path().extension() == ".sst") {
      table = entry.path();
    }
  }
  ASSERT_FALSE(table.empty());
  const std::string aside = dir_.Join("aside");
  fs::rename(table, aside);
  EXPECT_THAT(Open(), IsError(ErrorCode::kCorruption, HasSubstr(fs::path(table).stem().string())));
  fs::rename(aside, table);
  const std::string bytes = ReadAll(table);
  WriteAt(table, 100, std::string(1, static_cast<char>(bytes[100] ^ 1)));
  {
    const auto store = Open();
    ASSERT_THAT(store, IsOk());
    EXPECT_THAT((*store)->Scan("t/", "", 100, Later()), IsError(ErrorCode::kCorruption));
    EXPECT_THAT((*store)->Get(content_.begin()->first, Later()), IsError(ErrorCode::kCorruption));
    EXPECT_THAT(
        (*store)->Commit(Transaction().Put(content_.begin()->first, Expectation::Absent(), "1"),
                         Later()),
        IsError(ErrorCode::kCorruption));
  }
  WriteAt(table, 100, bytes.substr(100, 1));
  ExpectWorks(store_path_, content_);
}

TEST_F(RocksRecoveryTest, SaysWhoHoldsTheStore) {
  const auto store = Open();
  ASSERT_THAT(store, IsOk());
  Fill(**store, 2, 20);
  EXPECT_THAT(Open(), IsError(ErrorCode::kDeadlineExceeded,
                              AllOf(HasSubstr(store_path_), HasSubstr("process "))));
  // Who copies the folder opens and closes all of its files.
  const std::string copy = Copy("copy");
  EXPECT_THAT(Open(), IsError(ErrorCode::kDeadlineExceeded));
  Fill(**store, 2, 20);
  EXPECT_EQ(ReadContent(**store), content_);
}

// Logs come and go; the ledger follows, and nothing is lost on the way.
TEST_F(RocksRecoveryTest, KeepsEverythingWhileLogsRollOver) {
  write_buffer_bytes_ = std::size_t{64} * 1024;
  for (int round = 0; round < 4; ++round) {
    const auto store = Open();
    ASSERT_THAT(store, IsOk());
    EXPECT_EQ(ReadContent(**store), content_);
    Fill(**store, 100, 3000);
  }
  {
    const auto ledger = SyncLedger::Open(store_path_);
    ASSERT_THAT(ledger, IsOk());
    EXPECT_LE((*ledger)->Entries().size(), 16U) << "logs are forgotten when they are gone";
  }
  ExpectWorks(store_path_, content_);
}

TEST_F(RocksRecoveryTest, ACheckpointIsAStoreOfItsOwn) {
  write_buffer_bytes_ = std::size_t{64} * 1024;
  const std::string backup = dir_.Join("backup");
  {
    const auto store = Open();
    ASSERT_THAT(store, IsOk());
    Fill(**store, 60, 3000);
    ASSERT_THAT((*store)->Checkpoint(backup), IsOk());
    const Content then = content_;
    Fill(**store, 60, 3000);
    EXPECT_THAT((*store)->Checkpoint(backup), IsError(ErrorCode::kAlreadyExists));
    ExpectWorks(backup, then);
    EXPECT_EQ(ReadContent(**store), content_);
  }
  ExpectWorks(store_path_, content_);
}

TEST_F(RocksRecoveryTest, ACheckpointHoldsWhatWasAcknowledgedBeforeItBegan) {
  const auto opened = Open();
  ASSERT_THAT(opened, IsOk());
  RocksMetaStore& store = **opened;
  std::atomic<bool> done = false;
  std::vector<std::size_t> at_least;
  std::atomic<std::size_t> acknowledged = 0;
  RunTogether(2, [&](std::size_t thread) {
    if (thread == 0) {
      for (int i = 0; !done; ++i) {
        const std::string key = "t/" + std::to_string(100000 + i);
        ASSERT_THAT(store.Commit(Transaction()
                                     .Put(key, Expectation::Absent(), std::string(500, 'v'))
                                     .Put("u/last", Expectation::Any(), key),
                                 Later()),
                    kCommitted);
        ++acknowledged;
      }
      return;
    }
    for (int i = 0; i < 4; ++i) {
      at_least.push_back(acknowledged);
      EXPECT_THAT(store.Checkpoint(dir_.Join("backup" + std::to_string(i))), IsOk());
    }
    done = true;
  });
  for (std::size_t i = 0; i < at_least.size(); ++i) {
    const auto copy = Open(dir_.Join("backup" + std::to_string(i)));
    ASSERT_THAT(copy, IsOk());
    const Content content = ReadContent(**copy);
    EXPECT_GE(content.size(), at_least[i]);
    if (!content.empty()) {
      EXPECT_THAT((*copy)->Get("u/last", Later()), IsOkAnd(content.rbegin()->first))
          << "no transaction is in it by halves";
    }
  }
}

TEST_F(RocksRecoveryTest, RefusesTheBeginningOfACheckpoint) {
  const std::string backup = dir_.Join("backup");
  Make(3, 20);
  {
    const auto store = Open();
    ASSERT_THAT(store, IsOk());
    ASSERT_THAT((*store)->Checkpoint(backup), IsOk());
  }
  fs::remove(backup + "/" + std::string(kLedgerFileName));  // It is written last.
  EXPECT_THAT(Open(backup), IsError(ErrorCode::kCorruption));
}

// A real process that is killed while eight threads commit; whatever it had acknowledged is there.

constexpr const char* kKilledStoreVariable = "LAKE_TEST_KILLED_STORE";
constexpr std::size_t kKilledThreads = 8;

// The store of the process that is to be killed; empty in its parent.
std::string KilledStore() {
  const char* path =
      std::getenv(kKilledStoreVariable);  // NOLINT(concurrency-mt-unsafe): one thread so far.
  return path == nullptr ? std::string() : path;
}

class RocksKillTest : public RocksRecoveryTest {
 protected:
  RocksKillTest() : RocksRecoveryTest(KilledStore()) {}

  static std::string AcknowledgementFile(const std::string& store, std::size_t thread) {
    return store + ".acknowledged." + std::to_string(thread);
  }

  // Commits and writes down what was acknowledged until the process dies.
  [[noreturn]] void CommitUntilKilled(int round) {
    const auto store = Open();
    LAKE_CHECK(store.has_value(), "the store opens");
    std::atomic<int> acknowledged = 0;
    RunTogether(kKilledThreads, [&](std::size_t thread) {
      std::ofstream record(AcknowledgementFile(store_path_, thread), std::ios::app);
      for (int i = 0;; ++i) {
        const std::string name =
            std::to_string(round) + "-" + std::to_string(thread) + "-" + std::to_string(i);
        const auto result =
            (*store)->Commit(Transaction()
                                 .Put("t/" + name, Expectation::Absent(), std::string(300, 'v'))
                                 .Put("u/" + name, Expectation::Absent(), name),
                             Later());
        LAKE_CHECK(result.has_value(), "the store works");
        record << name << '\n' << std::flush;
        if (++acknowledged == 40 + (round * 17)) {
          ::raise(SIGKILL);
        }
      }
    });
    std::abort();
  }
};

TEST_F(RocksKillTest, KeepsEveryAcknowledgedCommitOfAKilledProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // The child runs this test again, alone.
  if (KilledStore().empty()) {
    ASSERT_EQ(::setenv(kKilledStoreVariable, store_path_.c_str(), 1), 0);
  }
  std::size_t before = 0;
  for (int round = 0; round < 5; ++round) {
    EXPECT_EXIT(CommitUntilKilled(round), ::testing::KilledBySignal(SIGKILL), "");
    const auto store = Open();
    ASSERT_THAT(store, IsOk());
    std::size_t acknowledged = 0;
    for (std::size_t thread = 0; thread < kKilledThreads; ++thread) {
      std::ifstream record(AcknowledgementFile(store_path_, thread));
      for (std::string name; std::getline(record, name); ++acknowledged) {
        EXPECT_THAT((*store)->Get("u/" + name, Later()), IsOkAnd(name));
      }
    }
    EXPECT_GE(acknowledged, before + 40);
    before = acknowledged;
    const Content content = ReadContent(**store);
    EXPECT_GE(content.size(), acknowledged);
    for (const auto& [key, value] : content) {
      EXPECT_THAT((*store)->Get("u/" + key.substr(2), Later()), IsOkAnd(key.substr(2)))
          << "both keys of a transaction or none";
    }
  }
  ::unsetenv(kKilledStoreVariable);
}

}  // namespace
}  // namespace lake::metastore
