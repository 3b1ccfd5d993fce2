#include "lake/metastore/rocksdb/sync_ledger.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "lake/base/check.h"
#include "lake/metastore/rocksdb/crc32c.h"
#include "lake/testing/matchers.h"
#include "lake/testing/temp_dir.h"

namespace lake::metastore {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using testing::TempDir;

constexpr std::size_t kFileBytes = 4096;
constexpr std::size_t kHeaderBytes = 16;  // What its checksum covers, and the checksum.
constexpr std::size_t kFirstSlot = 512;
constexpr std::size_t kSlotBytes = 32;
constexpr std::size_t kSlotUsedBytes = 24;

LedgerEntry Wal(std::uint64_t number, std::uint64_t synced = 0, bool retired = false) {
  return {.kind = LogKind::kWal, .number = number, .synced_bytes = synced, .retired = retired};
}

LedgerEntry Manifest(std::uint64_t number, std::uint64_t synced = 0) {
  return {.kind = LogKind::kManifest, .number = number, .synced_bytes = synced};
}

class SyncLedgerTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<SyncLedger>> Open() { return SyncLedger::Open(dir_.path()); }

  // Opens a ledger that must open.
  std::unique_ptr<SyncLedger> MustOpen() {
    Result<std::unique_ptr<SyncLedger>> ledger = Open();
    LAKE_CHECK(ledger.has_value(), "the ledger opens");
    return *std::move(ledger);
  }

  std::string path() const { return dir_.Join(kLedgerFileName); }

  std::string ReadFile() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void WriteFile(std::string_view bytes) const {
    std::ofstream file(path(), std::ios::binary | std::ios::trunc);
    file << bytes;
  }

  // Changes one byte where it stands: rewriting the file would wait for the disk each time.
  void WriteByte(std::size_t offset, char byte) const {
    std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
  }

  // Makes the directory look like that of a store.
  void MakeStoreFile(std::string_view name) const { std::ofstream(dir_.Join(name)) << "x"; }

  const TempDir dir_{TempDir::Medium::kMemory};
};

TEST_F(SyncLedgerTest, BeginsEmptyAndKeepsWhatItIsTold) {
  {
    const auto ledger = MustOpen();
    EXPECT_THAT(ledger->Entries(), IsEmpty());
    EXPECT_THAT(ledger->Add(Manifest(5)), IsOk());
    EXPECT_THAT(ledger->Add(Wal(9)), IsOk());
    EXPECT_THAT(ledger->Add(Wal(4)), IsOk());
    EXPECT_THAT(ledger->Add(Manifest(1)), IsOk());
    EXPECT_THAT(ledger->MarkSynced(LogKind::kWal, 9, 700), IsOk());
    EXPECT_THAT(ledger->MarkSynced(LogKind::kManifest, 5, 80), IsOk());
    EXPECT_THAT(ledger->Retire(LogKind::kWal, 4), IsOk());
    EXPECT_THAT(ledger->Forget(LogKind::kManifest, 1), IsOk());
  }
  EXPECT_THAT(MustOpen()->Entries(), ElementsAre(Wal(4, 0, true), Wal(9, 700), Manifest(5, 80)));
}

TEST_F(SyncLedgerTest, NeverGoesBackBelowWhatWasSynced) {
  const auto ledger = MustOpen();
  ASSERT_THAT(ledger->Add(Wal(3)), IsOk());
  for (const std::uint64_t bytes : {0U, 100U, 50U, 100U, 99U}) {
    ASSERT_THAT(ledger->MarkSynced(LogKind::kWal, 3, bytes), IsOk());
  }
  EXPECT_THAT(ledger->Entries(), ElementsAre(Wal(3, 100)));
  ASSERT_THAT(ledger->Add(Wal(3)), IsOk());
  EXPECT_THAT(ledger->Entries(), ElementsAre(Wal(3))) << "a log that is made anew starts anew";
}

TEST_F(SyncLedgerTest, KeepsLogsOfTwoKindsApartThoughTheirNumbersAreEqual) {
  const auto ledger = MustOpen();
  ASSERT_THAT(ledger->Add(Wal(3)), IsOk());
  ASSERT_THAT(ledger->Add(Manifest(3)), IsOk());
  ASSERT_THAT(ledger->MarkSynced(LogKind::kManifest, 3, 9), IsOk());
  EXPECT_THAT(ledger->Entries(), ElementsAre(Wal(3), Manifest(3, 9)));
  ASSERT_THAT(ledger->Forget(LogKind::kWal, 3), IsOk());
  EXPECT_THAT(ledger->Entries(), ElementsAre(Manifest(3, 9)));
}

TEST_F(SyncLedgerTest, IgnoresLogsThatItDoesNotKnow) {
  const auto ledger = MustOpen();
  EXPECT_THAT(ledger->MarkSynced(LogKind::kWal, 3, 9), IsOk());
  EXPECT_THAT(ledger->Retire(LogKind::kWal, 3), IsOk());
  EXPECT_THAT(ledger->Forget(LogKind::kWal, 3), IsOk());
  EXPECT_THAT(ledger->Entries(), IsEmpty());
}

TEST_F(SyncLedgerTest, HoldsSoManyLogsAndNoMore) {
  const auto ledger = MustOpen();
  for (std::uint64_t i = 1; i <= SyncLedger::kEntriesMax; ++i) {
    ASSERT_THAT(ledger->Add(Wal(i)), IsOk());
  }
  EXPECT_THAT(ledger->Add(Wal(1000)), IsError(ErrorCode::kUnavailable, HasSubstr(path())));
  EXPECT_EQ(ledger->Entries().size(), SyncLedger::kEntriesMax);
  ASSERT_THAT(ledger->Forget(LogKind::kWal, 50), IsOk());
  EXPECT_THAT(ledger->Add(Wal(1000)), IsOk());
  EXPECT_EQ(ReadFile().size(), kFileBytes);
}

TEST_F(SyncLedgerTest, HoldsTheStoreUntilItIsClosedWhateverElseIsDoneToItsFile) {
  {
    const auto ledger = MustOpen();
    const std::string process = "process " + std::to_string(::getpid());
    EXPECT_THAT(Open(), IsError(ErrorCode::kDeadlineExceeded,
                                AllOf(HasSubstr(dir_.path()), HasSubstr(process))));
    // Whoever copies the directory opens and closes every file of it.
    EXPECT_EQ(ReadFile().size(), kFileBytes);
    EXPECT_THAT(Open(), IsError(ErrorCode::kDeadlineExceeded));
  }
  EXPECT_THAT(Open(), IsOk());
}

TEST_F(SyncLedgerTest, GivesTheStoreBackWhenItsProcessIsKilled) {
  {
    const auto ledger = MustOpen();
  }
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto ledger = MustOpen();
    LAKE_CHECK(ledger->Add(Wal(7)).has_value(), "a child can write");
    LAKE_CHECK(::write(ready[1], "x", 1) == 1, "the parent listens");
    while (true) {
      ::pause();
    }
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THAT(Open(),
              IsError(ErrorCode::kDeadlineExceeded, HasSubstr("process " + std::to_string(child))));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_THAT(MustOpen()->Entries(), ElementsAre(Wal(7)));
}

TEST_F(SyncLedgerTest, RefusesAStoreWithoutALedger) {
  for (const char* file : {"CURRENT", "000004.log", "MANIFEST-000001", "000009.sst"}) {
    const TempDir dir;
    std::ofstream(dir.Join(file)) << "x";
    EXPECT_THAT(SyncLedger::Open(dir.path()),
                IsError(ErrorCode::kCorruption,
                        AllOf(HasSubstr(dir.Join(kLedgerFileName)), HasSubstr("at byte 0"))))
        << file;
  }
}

TEST_F(SyncLedgerTest, BeginsAnewWhenItWasNotFinishedBeforeItsStoreBegan) {
  for (const std::size_t length : {0U, 1U, 15U, 16U, 512U, 4095U}) {
    {
      const auto ledger = MustOpen();
    }
    WriteFile(ReadFile().substr(0, length));
    EXPECT_THAT(MustOpen()->Entries(), IsEmpty()) << length;
    EXPECT_EQ(ReadFile().size(), kFileBytes);
  }
}

TEST_F(SyncLedgerTest, RefusesATruncatedLedgerOfAStore) {
  {
    const auto ledger = MustOpen();
    ASSERT_THAT(ledger->Add(Wal(3)), IsOk());
  }
  MakeStoreFile("CURRENT");
  const std::string whole = ReadFile();
  for (std::size_t length = kFileBytes; length-- > 0;) {
    std::filesystem::resize_file(path(), length);
    ASSERT_THAT(Open(), IsError(ErrorCode::kCorruption, HasSubstr("at byte 0"))) << length;
  }
  WriteFile(whole + "x");
  EXPECT_THAT(Open(), IsError(ErrorCode::kCorruption));
}

// A flipped bit is found, or it stands where nothing is kept.
TEST_F(SyncLedgerTest, IsNeverDeceivedByAFlippedBit) {
  const std::vector<LedgerEntry> entries = {Wal(3, 0, true), Wal(8, 123456), Manifest(5, 99)};
  {
    const auto ledger = MustOpen();
    for (const LedgerEntry& entry : entries) {
      ASSERT_THAT(ledger->Add(entry), IsOk());
    }
  }
  MakeStoreFile("CURRENT");
  const std::string whole = ReadFile();
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < kFileBytes * 8; ++bit) {
    const std::size_t byte = bit / 8;
    if (byte >= kFirstSlot + ((entries.size() + 1) * kSlotBytes) &&
        byte < kFileBytes - kSlotBytes) {
      continue;  // Free slots are alike: the first and the last one will do.
    }
    WriteByte(byte, static_cast<char>(whole[byte] ^ (1 << (bit % 8))));
    const Result<std::unique_ptr<SyncLedger>> ledger = Open();
    WriteByte(byte, whole[byte]);
    const std::size_t slot = byte < kFirstSlot ? 0 : (byte - kFirstSlot) / kSlotBytes;
    const bool in_header = byte < kHeaderBytes;
    const bool in_used_slot = byte >= kFirstSlot && slot < entries.size() &&
                              (byte - kFirstSlot) % kSlotBytes < kSlotUsedBytes;
    const bool in_free_slot = byte >= kFirstSlot && slot >= entries.size();
    if (in_header || in_used_slot || in_free_slot) {
      const std::size_t offset = in_header ? 0 : kFirstSlot + (slot * kSlotBytes);
      ASSERT_THAT(ledger,
                  IsError(ErrorCode::kCorruption,
                          AllOf(HasSubstr(path()), HasSubstr("byte " + std::to_string(offset)))))
          << "bit " << bit;
      ++refused;
    } else {
      ASSERT_THAT(ledger, IsOk()) << "bit " << bit;
      ASSERT_EQ((*ledger)->Entries(), entries) << "bit " << bit;
    }
  }
  EXPECT_EQ(refused, 8 * (kHeaderBytes + (entries.size() * kSlotUsedBytes) + (2 * kSlotBytes)));
}

TEST_F(SyncLedgerTest, SaysThatANewerVersionWroteIt) {
  {
    const auto ledger = MustOpen();
  }
  std::string newer = ReadFile();
  newer[8] = 2;
  const std::uint32_t checksum = MaskCrc32c(ExtendCrc32c(0, std::string_view(newer).substr(0, 12)));
  std::memcpy(newer.data() + 12, &checksum, sizeof(checksum));
  WriteFile(newer);
  EXPECT_THAT(Open(), IsError(ErrorCode::kCorruption, HasSubstr("format 2")));
  EXPECT_EQ(ReadFile(), newer) << "and leaves it alone";
}

TEST_F(SyncLedgerTest, IsWrittenWholeForACopy) {
  const std::vector<LedgerEntry> entries = {Wal(8, 123456), Manifest(5, 99)};
  ASSERT_THAT(SyncLedger::Create(dir_.path(), entries), IsOk());
  EXPECT_EQ(MustOpen()->Entries(), entries);
  EXPECT_THAT(SyncLedger::Create(dir_.path(), {}), IsError(ErrorCode::kUnavailable));
  EXPECT_EQ(MustOpen()->Entries(), entries);
}

TEST_F(SyncLedgerTest, SaysThatTheDirectoryIsMissing) {
  EXPECT_THAT(SyncLedger::Open(dir_.Join("none")),
              IsError(ErrorCode::kUnavailable, HasSubstr(dir_.Join("none"))));
}

}  // namespace
}  // namespace lake::metastore
