#include "lake/metastore/rocksdb/wal_verifier.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/metastore/rocksdb/crc32c.h"
#include "lake/testing/matchers.h"

namespace lake::metastore {
namespace {

using ::testing::HasSubstr;
using testing::IsError;
using testing::IsOk;
using testing::IsOkAnd;

constexpr std::size_t kBlock = 32768;
constexpr std::size_t kHeader = 7;
constexpr std::size_t kSector = 512;
constexpr std::size_t kHeaderBits = kHeader * 8;
constexpr std::string_view kName = "store/000007.log";

enum Type : std::uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

template <typename T>
std::string Bytes(T value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

// A write batch: sequence number, count, and `size` bytes none of which is zero.
std::string Batch(std::uint64_t sequence, std::uint32_t count, std::size_t size) {
  std::string batch = Bytes(sequence) + Bytes(count);
  for (std::size_t i = 0; i < size; ++i) {
    batch.push_back(static_cast<char>(1 + ((sequence * 31 + i * 7) % 255)));
  }
  return batch;
}

// Writes a log as the format says, and remembers where everything is.
class LogWriter {
 public:
  // A part of a payload: what one header stands before.
  struct Fragment {
    std::size_t offset = 0;
    std::size_t length = 0;
  };

  void AddFragment(Type type, std::string_view payload) {
    std::string covered(1, static_cast<char>(type));
    covered += payload;
    fragments_.push_back({.offset = bytes_.size(), .length = payload.size()});
    bytes_ += Bytes(MaskCrc32c(ExtendCrc32c(0, covered)));
    bytes_ += Bytes(static_cast<std::uint16_t>(payload.size()));
    bytes_ += covered;
  }

  void AddRecord(std::string_view payload) {
    bool begins = true;
    while (true) {
      const std::size_t left = kBlock - (bytes_.size() % kBlock);
      if (left < kHeader) {
        bytes_.append(left, '\0');
        continue;
      }
      if (begins) {
        starts_.push_back(bytes_.size());
      }
      const std::size_t length = std::min(left - kHeader, payload.size());
      const bool ends = length == payload.size();
      AddFragment(begins ? (ends ? kFull : kFirst) : (ends ? kLast : kMiddle),
                  payload.substr(0, length));
      payload.remove_prefix(length);
      begins = false;
      if (ends) {
        ends_.push_back(bytes_.size());
        return;
      }
    }
  }

  const std::string& bytes() const { return bytes_; }

  // Where each header stands.
  const std::vector<Fragment>& fragments() const { return fragments_; }

  // Where each record begins and ends.
  const std::vector<std::size_t>& starts() const { return starts_; }

  const std::vector<std::size_t>& ends() const { return ends_; }

 private:
  std::string bytes_;
  std::vector<Fragment> fragments_;
  std::vector<std::size_t> starts_;
  std::vector<std::size_t> ends_;
};

// A log of batches with these payload sizes, each of two entries.
LogWriter LogOf(const std::vector<std::size_t>& sizes) {
  LogWriter log;
  std::uint64_t sequence = 101;
  for (const std::size_t size : sizes) {
    log.AddRecord(Batch(sequence, 2, size));
    sequence += 2;
  }
  return log;
}

// Several small records, so that every bit of all of them can be tried.
LogWriter SmallLog() {
  return LogOf({40, 0, 75, 1, 60, 33});
}

// One whole block and a second one that begins with the rest of a record.
LogWriter TwoBlockLog() {
  return LogOf({30000, 5000, 200, 900, 64, 1500, 12});
}

Result<LogVerdict> Verify(std::string_view bytes, std::size_t synced_bytes,
                          LogKind kind = LogKind::kWal) {
  return VerifyLog(
      bytes, {.name = kName, .kind = kind, .synced_bytes = synced_bytes, .last_sequence = 100});
}

std::string Flip(std::string bytes, std::size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  return bytes;
}

auto IsDamageAt(std::size_t offset) {
  return IsError(ErrorCode::kCorruption,
                 ::testing::AllOf(HasSubstr(std::string(kName)),
                                  HasSubstr("at byte " + std::to_string(offset) + ":")));
}

TEST(WalVerifier, AcceptsAnEmptyLog) {
  EXPECT_THAT(Verify("", 0), IsOkAnd(LogVerdict{.whole_bytes = 0, .last_sequence = 100}));
}

TEST(WalVerifier, AcceptsAWholeLogWhateverWasSynced) {
  for (const LogWriter& log : {SmallLog(), TwoBlockLog(), LogOf({kBlock - kHeader - 12, 20}),
                               LogOf({100000}), LogOf({kBlock - kHeader - 12 - 5, 20})}) {
    const LogVerdict whole = {.whole_bytes = log.bytes().size(),
                              .last_sequence = 100 + (2 * log.ends().size())};
    EXPECT_THAT(Verify(log.bytes(), 0), IsOkAnd(whole));
    for (const std::size_t end : log.ends()) {
      EXPECT_THAT(Verify(log.bytes(), end), IsOkAnd(whole));
    }
  }
}

// Blocks end in 0 to 6 bytes that are too few for a header.
TEST(WalVerifier, AcceptsEveryWayInWhichABlockCanEnd) {
  for (std::size_t left = 0; left < 2 * kHeader; ++left) {
    const LogWriter log = LogOf({kBlock - kHeader - 12 - left, 50});
    EXPECT_THAT(Verify(log.bytes(), log.ends()[1]),
                IsOkAnd(LogVerdict{.whole_bytes = log.bytes().size(), .last_sequence = 104}))
        << left << " bytes are left";
  }
}

// Every byte of a log at which it can be cut; of a long one every byte of and around its headers, and
// one in each sector.
std::vector<std::size_t> Cuts(const LogWriter& log, std::size_t begin) {
  const std::size_t size = log.bytes().size();
  std::set<std::size_t> cuts;
  for (std::size_t cut = begin; cut < size; cut += size < kSector * 8 ? 1 : kSector - 1) {
    cuts.insert(cut);
  }
  for (const LogWriter::Fragment& fragment : log.fragments()) {
    const std::size_t from = fragment.offset < 2 * kHeader ? 0 : fragment.offset - (2 * kHeader);
    for (std::size_t cut = std::max(from, begin); cut < size && cut < fragment.offset + 32; ++cut) {
      cuts.insert(cut);
    }
  }
  return {cuts.begin(), cuts.end()};
}

// What a crash leaves of the last write: the file ends anywhere in it.
TEST(WalVerifier, CutsAnInterruptedWriteAtEveryByte) {
  for (const LogWriter& log : {SmallLog(), TwoBlockLog(), LogOf({50, 70000}), LogOf({20, 3000})}) {
    const std::size_t records = log.starts().size();
    const std::size_t last = log.ends()[records - 2];
    for (const std::size_t cut : Cuts(log, last)) {
      const std::string_view torn = std::string_view(log.bytes()).substr(0, cut);
      for (const std::size_t synced : {std::size_t{0}, last}) {
        ASSERT_THAT(
            Verify(torn, synced),
            IsOkAnd(LogVerdict{.whole_bytes = last, .last_sequence = 100 + (2 * (records - 1))}))
            << "cut at " << cut;
      }
    }
  }
}

TEST(WalVerifier, RefusesALogThatEndsBeforeWhatWasSyncedAtEveryByte) {
  for (const LogWriter& log : {SmallLog(), TwoBlockLog()}) {
    for (const std::size_t cut : Cuts(log, 0)) {
      ASSERT_THAT(Verify(std::string_view(log.bytes()).substr(0, cut), log.bytes().size()),
                  IsError(ErrorCode::kCorruption, HasSubstr(std::string(kName))))
          << "cut at " << cut;
    }
  }
}

// The heart of the matter: no flipped bit of a header makes a record look like an interrupted
// write, not even where the ledger knows nothing of the log.
TEST(WalVerifier, RefusesEveryFlippedBitOfEveryHeaderInTheLastBlock) {
  for (const LogWriter& log : {SmallLog(), TwoBlockLog(), LogOf({100, 70000, 30, 40})}) {
    const std::size_t last_block = (log.bytes().size() - 1) / kBlock * kBlock;
    std::size_t headers = 0;
    for (const LogWriter::Fragment& fragment : log.fragments()) {
      if (fragment.offset < last_block) {
        continue;
      }
      ++headers;
      for (std::size_t bit = 0; bit < kHeaderBits; ++bit) {
        const std::string damaged = Flip(log.bytes(), (fragment.offset * 8) + bit);
        for (const std::size_t synced : {log.bytes().size(), std::size_t{0}}) {
          ASSERT_THAT(Verify(damaged, synced), IsDamageAt(fragment.offset))
              << "bit " << bit << " of the header at " << fragment.offset << ", synced " << synced;
        }
      }
    }
    EXPECT_GE(headers, 3U);
  }
}

TEST(WalVerifier, RefusesEveryFlippedBitOfEveryHeaderInEarlierBlocks) {
  const LogWriter log = LogOf({50, 70000, 30, 40});
  for (const LogWriter::Fragment& fragment : log.fragments()) {
    for (std::size_t bit = 0; bit < kHeaderBits; ++bit) {
      const std::string damaged = Flip(log.bytes(), (fragment.offset * 8) + bit);
      for (const std::size_t synced : {log.bytes().size(), std::size_t{0}}) {
        ASSERT_THAT(Verify(damaged, synced), IsDamageAt(fragment.offset))
            << "bit " << bit << " of the header at " << fragment.offset << ", synced " << synced;
      }
    }
  }
}

TEST(WalVerifier, RefusesEveryFlippedBitOfASmallLog) {
  const LogWriter log = SmallLog();
  for (std::size_t bit = 0; bit < log.bytes().size() * 8; ++bit) {
    const std::string damaged = Flip(log.bytes(), bit);
    for (const std::size_t synced : {log.bytes().size(), std::size_t{0}}) {
      ASSERT_THAT(Verify(damaged, synced), IsError(ErrorCode::kCorruption))
          << "bit " << bit << ", synced " << synced;
    }
  }
}

TEST(WalVerifier, RefusesEveryZeroedPage) {
  constexpr std::size_t kPage = 4096;
  const LogWriter log = LogOf(std::vector<std::size_t>(300, 250));
  ASSERT_GT(log.bytes().size(), 2 * kBlock);
  for (std::size_t page = 0; page < log.bytes().size(); page += kPage) {
    std::string damaged = log.bytes();
    const std::size_t length = std::min(kPage, damaged.size() - page);
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(page), length, '\0');
    EXPECT_THAT(Verify(damaged, damaged.size()), IsError(ErrorCode::kCorruption)) << page;
    // Where the ledger knows nothing, a later record gives the damage away.
    const bool a_later_record_stands = log.starts().back() >= page + length;
    if (a_later_record_stands) {
      EXPECT_THAT(Verify(damaged, 0), IsError(ErrorCode::kCorruption)) << page;
    }
  }
}

// A machine that dies may have written any of the sectors that were not synced. Whichever it did
// not, the log opens without the write.
TEST(WalVerifier, AcceptsEverySubsetOfTheSectorsOfAnInterruptedWrite) {
  const LogWriter log = LogOf({90, 300, 4000});
  const std::size_t begin = log.ends()[1];
  std::vector<std::pair<std::size_t, std::size_t>> sectors;
  for (std::size_t at = begin; at < log.bytes().size();) {
    const std::size_t end = std::min((at / kSector + 1) * kSector, log.bytes().size());
    sectors.emplace_back(at, end);
    at = end;
  }
  ASSERT_GE(sectors.size(), 8U);
  for (std::size_t lost = 1; lost < (std::size_t{1} << sectors.size()); ++lost) {
    std::string torn = log.bytes();
    for (std::size_t i = 0; i < sectors.size(); ++i) {
      if ((lost >> i & 1) != 0) {
        std::fill(torn.begin() + static_cast<std::ptrdiff_t>(sectors[i].first),
                  torn.begin() + static_cast<std::ptrdiff_t>(sectors[i].second), '\0');
      }
    }
    ASSERT_THAT(Verify(torn, begin),
                IsOkAnd(LogVerdict{.whole_bytes = begin, .last_sequence = 104}))
        << "subset " << lost;
  }
}

TEST(WalVerifier, AcceptsAnyLostSectorOfAWriteOfSeveralBlocks) {
  const LogWriter log = LogOf({90, 80000});
  const std::size_t begin = log.ends()[0];
  const LogVerdict expected = {.whole_bytes = begin, .last_sequence = 102};
  for (std::size_t sector = begin / kSector; sector * kSector < log.bytes().size(); ++sector) {
    const std::size_t from = std::max(begin, sector * kSector);
    const std::size_t to = std::min((sector + 1) * kSector, log.bytes().size());
    std::string one_lost = log.bytes();
    std::fill(one_lost.begin() + static_cast<std::ptrdiff_t>(from),
              one_lost.begin() + static_cast<std::ptrdiff_t>(to), '\0');
    ASSERT_THAT(Verify(one_lost, begin), IsOkAnd(expected)) << "sector " << sector;
    // All up to it.
    std::string front_lost = log.bytes();
    std::fill(front_lost.begin() + static_cast<std::ptrdiff_t>(begin),
              front_lost.begin() + static_cast<std::ptrdiff_t>(to), '\0');
    ASSERT_THAT(Verify(front_lost, begin), IsOkAnd(expected)) << "up to sector " << sector;
    // All from it.
    std::string back_lost = log.bytes();
    std::fill(back_lost.begin() + static_cast<std::ptrdiff_t>(from), back_lost.end(), '\0');
    ASSERT_THAT(Verify(back_lost, begin), IsOkAnd(expected)) << "from sector " << sector;
  }
}

TEST(WalVerifier, AcceptsZerosThatAFileSystemHasAddedAtTheEnd) {
  const LogWriter log = SmallLog();
  for (const std::size_t zeros : {1U, 6U, 7U, 511U, 512U, 4096U, 40000U}) {
    EXPECT_THAT(Verify(log.bytes() + std::string(zeros, '\0'), log.bytes().size()),
                IsOkAnd(LogVerdict{.whole_bytes = log.bytes().size(), .last_sequence = 112}));
  }
}

TEST(WalVerifier, RefusesALogThatWasNotSyncedToTheEndOfARecord) {
  const LogWriter log = SmallLog();
  for (std::size_t synced = 1; synced <= log.bytes().size(); ++synced) {
    if (std::ranges::find(log.ends(), synced) == log.ends().end()) {
      ASSERT_THAT(Verify(log.bytes(), synced), IsDamageAt(synced));
    }
  }
}

TEST(WalVerifier, RefusesAnEarlierLogInThePlaceOfALaterOne) {
  const LogWriter log = SmallLog();
  EXPECT_THAT(VerifyLog(log.bytes(), {.name = kName, .last_sequence = 101}), IsDamageAt(0));
  EXPECT_THAT(VerifyLog(log.bytes(), {.name = kName, .last_sequence = 5000}), IsDamageAt(0));
}

TEST(WalVerifier, RefusesARecordThatStandsThereTwice) {
  LogWriter log;
  log.AddRecord(Batch(101, 2, 10));
  log.AddRecord(Batch(103, 2, 10));
  log.AddRecord(Batch(103, 2, 10));
  EXPECT_THAT(Verify(log.bytes(), 0), IsDamageAt(log.starts()[2]));
}

TEST(WalVerifier, AcceptsABatchWithoutEntries) {
  LogWriter log;
  log.AddRecord(Batch(101, 0, 0));
  log.AddRecord(Batch(102, 1, 10));
  EXPECT_THAT(Verify(log.bytes(), 0),
              IsOkAnd(LogVerdict{.whole_bytes = log.bytes().size(), .last_sequence = 102}));
}

TEST(WalVerifier, RefusesWhatNoWriterWrites) {
  const std::string batch = Batch(101, 2, 20);
  {
    LogWriter log;
    log.AddFragment(kLast, batch);
    EXPECT_THAT(Verify(log.bytes(), 0), IsDamageAt(0)) << "it has not begun";
  }
  {
    LogWriter log;
    log.AddFragment(kFull, batch.substr(0, 11));
    EXPECT_THAT(Verify(log.bytes(), 0), IsDamageAt(0)) << "too short for a batch";
  }
  {
    LogWriter log;
    log.AddFragment(kFirst, Batch(101, 2, kBlock - kHeader - 12));
    log.AddRecord(Batch(103, 2, 20));
    EXPECT_THAT(Verify(log.bytes(), 0), IsDamageAt(kBlock)) << "the first one does not end";
  }
  // All types but the four; 5 to 8 are those of logs whose files are used again.
  for (int type = 0; type < 256; ++type) {
    if (type >= kFull && type <= kLast) {
      continue;
    }
    LogWriter log;
    log.AddFragment(static_cast<Type>(type), batch);
    EXPECT_THAT(Verify(log.bytes(), 0), IsDamageAt(0)) << "type " << type;
  }
  // A part that goes on without filling its block.
  for (const Type type : {kFirst, kMiddle}) {
    LogWriter log;
    log.AddFragment(type, batch);
    EXPECT_THAT(Verify(log.bytes(), 0), IsDamageAt(0));
  }
}

// Bytes of an older log are an ordinary value.
TEST(WalVerifier, TakesNoOldRecordInsideAValueForALaterOne) {
  const LogWriter old = LogOf({20, 30});
  LogWriter log;
  log.AddRecord(Batch(201, 1, 10));
  log.AddRecord(Batch(202, 1, 10) + old.bytes() + Batch(1, 1, 700));
  const std::size_t begin = log.starts()[1];
  for (std::size_t cut = begin; cut < log.bytes().size(); ++cut) {
    ASSERT_THAT(VerifyLog(std::string_view(log.bytes()).substr(0, cut),
                          {.name = kName, .synced_bytes = begin, .last_sequence = 200}),
                IsOkAnd(LogVerdict{.whole_bytes = begin, .last_sequence = 201}));
  }
}

// A MANIFEST's records are no write batches, and several may be written before one sync.
TEST(WalVerifier, CutsSeveralInterruptedWritesOfAManifest) {
  LogWriter log;
  for (const char* edit : {"comparator", "log number", "new file", "next file"}) {
    log.AddRecord(edit);
  }
  const std::size_t synced = log.ends()[0];
  for (std::size_t cut = synced; cut <= log.bytes().size(); ++cut) {
    std::size_t whole = 0;
    for (const std::size_t end : log.ends()) {
      whole = end <= cut ? end : whole;
    }
    ASSERT_THAT(Verify(std::string_view(log.bytes()).substr(0, cut), synced, LogKind::kManifest),
                IsOkAnd(LogVerdict{.whole_bytes = whole, .last_sequence = 100}));
  }
}

TEST(WalVerifier, RefusesEveryFlippedBitOfAManifest) {
  LogWriter log;
  for (const char* edit : {"comparator", "log number", "new file", "next file"}) {
    log.AddRecord(edit);
  }
  for (std::size_t bit = 0; bit < log.bytes().size() * 8; ++bit) {
    const std::string damaged = Flip(log.bytes(), bit);
    ASSERT_THAT(Verify(damaged, log.bytes().size(), LogKind::kManifest),
                IsError(ErrorCode::kCorruption))
        << "bit " << bit;
  }
}

}  // namespace
}  // namespace lake::metastore
