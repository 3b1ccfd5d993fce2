#include "lake/metastore/rocksdb/wal_verifier.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "lake/metastore/rocksdb/crc32c.h"

// The problem. RocksDB reads its newest log until the first record that it cannot read. When that
// is the last thing in the file, it takes it for the write that a crash interrupted. A flipped bit
// in a length, or a lost page, makes any record look like that, and the commits behind it vanish
// without a word.
//
// The idea. At most one write (for a MANIFEST: one batch of writes) is under way when a process or
// machine dies, it is the last thing in the file, and we know a lower bound of what was synced
// before. So everything up to that bound must be readable, and what cannot be read behind it must
// look like an interrupted write in every respect. Anything else is damage.
//
// What an interrupted write looks like. Its bytes are there, except that the file may end early and
// that whole sectors may be zero. So where the header of the unreadable record has reached the
// disk, it tells the truth: its type and its length are possible, and the record ends at or beyond
// the end of the file, because nothing was ever written behind it. Where it has not, the sector
// that should hold it is zero from there on. And no other write can stand behind it: a write batch
// with a later sequence number, found at any byte offset, proves that the unreadable record had
// been synced.
namespace lake::metastore {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kBlockBytes = 32768;
constexpr std::size_t kHeaderBytes = 7;        // Checksum (4), length (2), type (1).
constexpr std::size_t kSectorBytes = 512;      // What a disk writes whole or not at all.
constexpr std::size_t kBatchHeaderBytes = 12;  // Of a write batch: sequence number (8), count (4).

enum : std::uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

template <typename T>
T Load(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

std::size_t BlockEnd(std::size_t offset) {
  return offset - (offset % kBlockBytes) + kBlockBytes;
}

// A record header as it stands in the file, whether or not it is believable.
struct Header {
  std::uint32_t checksum;
  std::size_t length;
  std::uint8_t type;
};

Header LoadHeader(std::string_view bytes, std::size_t offset) {
  return {.checksum = Load<std::uint32_t>(bytes, offset),
          .length = Load<std::uint16_t>(bytes, offset + 4),
          .type = Load<std::uint8_t>(bytes, offset + 6)};
}

// Returns whether the checksum fits when the record at `offset` ends at `end`.
bool ChecksumFits(std::string_view bytes, std::size_t offset, std::size_t end) {
  const std::string_view covered = bytes.substr(offset + 6, end - offset - 6);
  return MaskCrc32c(ExtendCrc32c(0, covered)) == LoadHeader(bytes, offset).checksum;
}

// Returns whether a writer could have written this header at `offset`.
bool IsPossible(const Header& header, std::size_t offset) {
  const std::size_t room = BlockEnd(offset) - offset - kHeaderBytes;
  switch (header.type) {
    case kFull:
    case kLast:
      return header.length <= room;
    case kFirst:
    case kMiddle:
      return header.length == room;  // It goes on in the next block, so it fills this one.
    default:
      return false;
  }
}

// Returns the header of the record at `offset` if the record is whole and unharmed.
std::optional<Header> ReadRecord(std::string_view bytes, std::size_t offset) {
  if (BlockEnd(offset) - offset < kHeaderBytes || bytes.size() - offset < kHeaderBytes) {
    return std::nullopt;
  }
  const Header header = LoadHeader(bytes, offset);
  if (!IsPossible(header, offset) || header.length > bytes.size() - offset - kHeaderBytes ||
      !ChecksumFits(bytes, offset, offset + kHeaderBytes + header.length)) {
    return std::nullopt;
  }
  return header;
}

// Returns whether [begin, end) touches a sector of which everything from `begin` on is zero: the
// mark that a write which had not been synced leaves when the machine dies.
bool HasLostSector(std::string_view bytes, std::size_t begin, std::size_t end) {
  while (begin < end) {
    const std::size_t sector_end =
        std::min(begin - (begin % kSectorBytes) + kSectorBytes, bytes.size());
    if (std::ranges::all_of(bytes.substr(begin, sector_end - begin),
                            [](char c) { return c == '\0'; })) {
      return true;
    }
    begin = sector_end;
  }
  return false;
}

// Reads one log from its beginning. Single-threaded.
class Verification {
 public:
  Verification(std::string_view bytes, const LogFacts& facts)
      : bytes_(bytes), facts_(facts), last_sequence_(facts.last_sequence) {}

  Result<LogVerdict> Run() {
    while (const std::optional<std::size_t> offset = NextRecord()) {
      const std::optional<Header> header = ReadRecord(bytes_, *offset);
      if (!header.has_value()) {
        LAKE_TRY_VOID(JudgeUnreadable(*offset));
        break;
      }
      LAKE_TRY_VOID(Accept(*offset, *header));
    }
    if (whole_bytes_ < facts_.synced_bytes) {
      return Damage(whole_bytes_, fmt::format("the log ends early: {} bytes of it had been synced",
                                              facts_.synced_bytes));
    }
    if (!synced_boundary_seen_) {
      return Damage(facts_.synced_bytes, "no record ends where the log had been synced to");
    }
    return LogVerdict{.whole_bytes = whole_bytes_, .last_sequence = last_sequence_};
  }

 private:
  std::unexpected<Error> Damage(std::size_t offset, std::string_view reason) const {
    return Corruption(
        fmt::format("{}: damaged at byte {}: {}; commits may be lost: restore the last backup",
                    facts_.name, offset, reason));
  }

  // Returns where the next record begins, or nothing at the end of the file.
  std::optional<std::size_t> NextRecord() const {
    std::size_t offset = position_;
    if (BlockEnd(offset) - offset < kHeaderBytes) {
      offset = BlockEnd(offset);  // Too small for a header: the writer has filled it with zeros.
    }
    return offset < bytes_.size() ? std::optional(offset) : std::nullopt;
  }

  // Goes behind a record that was read.
  Status Accept(std::size_t offset, const Header& header) {
    const bool begins = header.type == kFull || header.type == kFirst;
    if (begins == inside_) {
      return Damage(offset, inside_ ? "a record begins where another one should go on"
                                    : "a record goes on that has not begun");
    }
    const std::string_view payload = bytes_.substr(offset + kHeaderBytes, header.length);
    if (begins) {
      batch_header_.clear();
    }
    batch_header_ += payload.substr(0, kBatchHeaderBytes - batch_header_.size());
    position_ = offset + kHeaderBytes + header.length;
    inside_ = header.type == kFirst || header.type == kMiddle;
    if (inside_) {
      return {};
    }
    if (facts_.kind == LogKind::kWal) {
      LAKE_TRY_VOID(AcceptBatch(offset));
    }
    whole_bytes_ = position_;
    synced_boundary_seen_ = synced_boundary_seen_ || whole_bytes_ == facts_.synced_bytes;
    return {};
  }

  // Checks that a whole write batch continues the sequence.
  Status AcceptBatch(std::size_t offset) {
    if (batch_header_.size() < kBatchHeaderBytes) {
      return Damage(offset, "the record is too short for a write batch");
    }
    const auto sequence = Load<std::uint64_t>(batch_header_, 0);
    const auto count = Load<std::uint32_t>(batch_header_, 8);
    if (sequence <= last_sequence_) {
      return Damage(offset,
                    fmt::format("sequence number {} comes after {}", sequence, last_sequence_));
    }
    if (count > 0) {
      last_sequence_ = sequence + count - 1;
    }
    return {};
  }

  // Decides whether the record at `offset`, which cannot be read, is an interrupted write. OK if
  // so.
  Status JudgeUnreadable(std::size_t offset) const {
    if (whole_bytes_ < facts_.synced_bytes) {
      return Damage(offset, fmt::format("the record cannot be read, but {} bytes had been synced",
                                        facts_.synced_bytes));
    }
    if (facts_.kind == LogKind::kWal) {
      if (const std::optional<std::size_t> later = FindLaterBatch(offset + 1)) {
        return Damage(
            offset,
            fmt::format("the record cannot be read, but a later one at byte {} can", *later));
      }
    }
    if (bytes_.size() - offset < kHeaderBytes ||
        HasLostSector(bytes_, offset, offset + kHeaderBytes)) {
      return {};  // The header itself is missing, so nothing tells how long the write was.
    }
    const Header header = LoadHeader(bytes_, offset);
    if (!IsPossible(header, offset)) {
      return Damage(offset, "no such record header can have been written");
    }
    const std::size_t end = offset + kHeaderBytes + header.length;
    if (end > bytes_.size()) {
      if (ChecksumFits(bytes_, offset, bytes_.size())) {
        return Damage(offset, "the record's length does not fit its checksum");
      }
      return {};  // The file ends inside the record.
    }
    if (!HasLostSector(bytes_, offset, end)) {
      return Damage(offset, "the record does not fit its checksum");
    }
    const bool goes_on = header.type == kFirst || header.type == kMiddle;
    if (facts_.kind == LogKind::kWal && !goes_on && end < bytes_.size()) {
      return Damage(offset, "the record does not fit its checksum, and the log goes on behind it");
    }
    return {};
  }

  // Returns the first offset from `begin` at which a write batch with a later sequence number
  // begins. Every offset is tried: a damaged length leads nowhere near the next record. The
  // sequence number keeps bytes of older logs that somebody stored as a value from being taken for
  // a record.
  std::optional<std::size_t> FindLaterBatch(std::size_t begin) const {
    for (std::size_t offset = begin; offset + kHeaderBytes + kBatchHeaderBytes <= bytes_.size();
         ++offset) {
      const auto type = Load<std::uint8_t>(bytes_, offset + 6);
      if (type != kFull && type != kFirst) {
        continue;
      }
      const std::optional<Header> header = ReadRecord(bytes_, offset);
      if (header.has_value() && header->length >= kBatchHeaderBytes &&
          Load<std::uint64_t>(bytes_, offset + kHeaderBytes) > last_sequence_) {
        return offset;
      }
    }
    return std::nullopt;
  }

  const std::string_view bytes_;
  const LogFacts& facts_;
  std::size_t position_ = 0;     // Behind the last record that was read.
  std::size_t whole_bytes_ = 0;  // Behind the last record that was whole.
  bool inside_ = false;          // The last record that was read goes on.
  bool synced_boundary_seen_ = facts_.synced_bytes == 0;
  std::string batch_header_;  // The first bytes of the current record, gathered from its parts.
  std::uint64_t last_sequence_;
};

}  // namespace

Result<LogVerdict> VerifyLog(std::string_view bytes, const LogFacts& facts) {
  return Verification(bytes, facts).Run();
}

}  // namespace lake::metastore
