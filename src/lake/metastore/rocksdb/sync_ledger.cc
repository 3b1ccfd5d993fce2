#include "lake/metastore/rocksdb/sync_ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <sys/file.h>

#include "lake/base/check.h"
#include "lake/metastore/rocksdb/crc32c.h"
#include "lake/metastore/rocksdb/log_files.h"
#include "lake/metastore/rocksdb/posix_file.h"

namespace lake::metastore {
namespace {

static_assert(std::endian::native == std::endian::little);

// The file is one page: a sector for the header, and slots that never cross a sector, because a disk
// writes a sector whole or not at all.
constexpr std::size_t kFileBytes = 4096;
constexpr std::size_t kSectorBytes = 512;
constexpr std::size_t kSlotBytes = 32;
static_assert(kSectorBytes + SyncLedger::kEntriesMax * kSlotBytes == kFileBytes);
static_assert(kSectorBytes % kSlotBytes == 0);

// Header: magic (8), format (4), checksum of the twelve bytes before it (4), holder (8).
constexpr std::string_view kMagic = "LAKESYNC";
constexpr std::uint32_t kFormat = 1;
constexpr std::size_t kFormatOffset = 8;
constexpr std::size_t kChecksumOffset = 12;
constexpr std::size_t kHolderOffset = 16;

// Slot: checksum of the twenty bytes behind it (4), kind (4), number (8), synced bytes (8), zero (8).
// A free slot is zero.
constexpr std::size_t kSlotKindOffset = 4;
constexpr std::size_t kSlotNumberOffset = 8;
constexpr std::size_t kSlotSyncedOffset = 16;
constexpr std::size_t kSlotEndOffset = 24;
constexpr std::uint32_t kWalCode = 1;
constexpr std::uint32_t kManifestCode = 2;
constexpr std::uint32_t kRetiredFlag = 0x100;

using SlotBytes = std::array<char, kSlotBytes>;

template <typename T>
void Store(char* at, T value) {
  std::memcpy(at, &value, sizeof(value));
}

template <typename T>
T LoadAs(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

std::uint32_t SlotChecksum(const char* slot) {
  return MaskCrc32c(
      ExtendCrc32c(0, std::string_view(slot + kSlotKindOffset, kSlotEndOffset - kSlotKindOffset)));
}

SlotBytes EncodeSlot(const LedgerEntry& entry) {
  const std::uint32_t code = entry.kind == LogKind::kWal ? kWalCode : kManifestCode;
  SlotBytes bytes{};
  Store(bytes.data() + kSlotKindOffset, code | (entry.retired ? kRetiredFlag : 0));
  Store(bytes.data() + kSlotNumberOffset, entry.number);
  Store(bytes.data() + kSlotSyncedOffset, entry.synced_bytes);
  Store(bytes.data(), SlotChecksum(bytes.data()));
  return bytes;
}

// Returns nothing when the slot is damaged.
std::optional<LedgerEntry> DecodeSlot(const char* slot) {
  const auto flags = LoadAs<std::uint32_t>(slot + kSlotKindOffset);
  const std::uint32_t code = flags & ~kRetiredFlag;
  if (LoadAs<std::uint32_t>(slot) != SlotChecksum(slot) ||
      (code != kWalCode && code != kManifestCode)) {
    return std::nullopt;
  }
  return LedgerEntry{.kind = code == kWalCode ? LogKind::kWal : LogKind::kManifest,
                     .number = LoadAs<std::uint64_t>(slot + kSlotNumberOffset),
                     .synced_bytes = LoadAs<std::uint64_t>(slot + kSlotSyncedOffset),
                     .retired = (flags & kRetiredFlag) != 0};
}

std::uint32_t HeaderChecksum(std::string_view file) {
  return MaskCrc32c(ExtendCrc32c(0, file.substr(0, kChecksumOffset)));
}

// Returns the whole file of a ledger with these entries.
std::string EncodeFile(const std::vector<LedgerEntry>& entries) {
  std::string file(kFileBytes, '\0');
  std::ranges::copy(kMagic, file.begin());
  Store(file.data() + kFormatOffset, kFormat);
  Store(file.data() + kChecksumOffset, HeaderChecksum(file));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::ranges::copy(EncodeSlot(entries[i]), file.data() + kSectorBytes + (i * kSlotBytes));
  }
  return file;
}

bool HeaderIsWhole(std::string_view file) {
  return file.size() == kFileBytes && file.starts_with(kMagic) &&
         LoadAs<std::uint32_t>(file.data() + kChecksumOffset) == HeaderChecksum(file);
}

Status WriteAt(const Descriptor& file, const std::string& path, std::string_view bytes,
               std::size_t offset) {
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(file.value(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return PosixError("write", path, errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::size_t>(written);
  }
  return {};
}

// Writes a whole ledger and makes it and its name durable.
Status WriteFile(const Descriptor& file, const std::string& directory, const std::string& path,
                 const std::vector<LedgerEntry>& entries) {
  LAKE_TRY_VOID(WriteAt(file, path, EncodeFile(entries), 0));
  if (fsync(file.value()) != 0) {
    return PosixError("sync", path, errno);
  }
  return SyncDirectory(directory);
}

std::string LedgerPath(const std::string& directory) {
  return fmt::format("{}/{}", directory, kLedgerFileName);
}

// Says who holds the store, as far as they have told.
std::string DescribeHolder(const std::string& path) {
  const Result<std::string> file = ReadFile(path);
  if (file.has_value() && HeaderIsWhole(*file)) {
    if (const auto holder = LoadAs<std::uint64_t>(file->data() + kHolderOffset); holder != 0) {
      return fmt::format("process {}", holder);
    }
  }
  return "another process";
}

}  // namespace

Result<std::unique_ptr<SyncLedger>> SyncLedger::Open(const std::string& directory) {
  std::string path = LedgerPath(directory);
  LAKE_TRY(Descriptor file, OpenFile(path, O_RDWR | O_CREAT));
  if (flock(file.value(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return DeadlineExceeded(fmt::format("the store in {} is in use by {}; wait for it or stop it",
                                          directory, DescribeHolder(path)));
    }
    return PosixError("lock", path, errno);
  }
  std::unique_ptr<SyncLedger> ledger(new SyncLedger(directory, std::move(path), std::move(file)));
  LAKE_TRY_VOID(ledger->Load());
  return ledger;
}

Status SyncLedger::Create(const std::string& directory, const std::vector<LedgerEntry>& entries) {
  LAKE_CHECK(entries.size() <= kEntriesMax, "a store has few logs");
  const std::string path = LedgerPath(directory);
  LAKE_TRY(const Descriptor file, OpenFile(path, O_RDWR | O_CREAT | O_EXCL));
  return WriteFile(file, directory, path, entries);
}

SyncLedger::SyncLedger(std::string directory, std::string path, Descriptor file)
    : directory_(std::move(directory)),
      path_(std::move(path)),
      file_(std::move(file)),
      slots_(kEntriesMax) {}

SyncLedger::~SyncLedger() {
  IgnoreError(Sync(), "the ledger only knows less than it could");
}

Status SyncLedger::Load() {
  LAKE_TRY(std::string file, ReadFile(path_));
  if (!HeaderIsWhole(file)) {
    // A ledger is complete before the first file of its store is created.
    LAKE_TRY(const bool holds_store, HoldsStore(directory_));
    if (holds_store) {
      return Corruption(fmt::format(
          "{}: the ledger of this store is missing or damaged at byte 0; restore the last backup",
          path_));
    }
    LAKE_TRY_VOID(WriteFile(file_, directory_, path_, {}));
    file = EncodeFile({});
  }
  if (const auto format = LoadAs<std::uint32_t>(file.data() + kFormatOffset); format != kFormat) {
    return Corruption(
        fmt::format("{}: format {} is not known; use the lake that wrote it", path_, format));
  }
  const MutexLock lock(mutex_);
  for (std::size_t i = 0; i < kEntriesMax; ++i) {
    const std::size_t offset = kSectorBytes + (i * kSlotBytes);
    const std::string_view bytes = std::string_view(file).substr(offset, kSlotBytes);
    if (std::ranges::all_of(bytes, [](char c) { return c == '\0'; })) {
      continue;
    }
    const std::optional<LedgerEntry> entry = DecodeSlot(bytes.data());
    if (!entry.has_value()) {
      return Corruption(
          fmt::format("{}: damaged at byte {}; restore the last backup", path_, offset));
    }
    slots_[i] = {.entry = *entry, .used = true};
  }
  std::array<char, sizeof(std::uint64_t)> holder{};
  Store(holder.data(), static_cast<std::uint64_t>(getpid()));
  return WriteAt(file_, path_, {holder.data(), holder.size()}, kHolderOffset);
}

std::vector<LedgerEntry> SyncLedger::Entries() const {
  std::vector<LedgerEntry> entries;
  const MutexLock lock(mutex_);
  for (const Slot& slot : slots_) {
    if (slot.used) {
      entries.push_back(slot.entry);
    }
  }
  std::ranges::sort(entries, {}, [](const LedgerEntry& entry) {
    return std::pair(entry.kind != LogKind::kWal, entry.number);
  });
  return entries;
}

Status SyncLedger::Add(LedgerEntry entry) {
  const MutexLock lock(mutex_);
  Slot* slot = Find(entry.kind, entry.number);
  if (slot == nullptr) {
    const auto free = std::ranges::find(slots_, false, &Slot::used);
    if (free == slots_.end()) {
      return Unavailable(
          fmt::format("{}: {} logs exist, which is the most it can hold", path_, kEntriesMax));
    }
    slot = &*free;
  }
  return WriteSlot(*slot, {.entry = entry, .used = true});
}

Status SyncLedger::Retire(LogKind kind, std::uint64_t number) {
  const MutexLock lock(mutex_);
  Slot* slot = Find(kind, number);
  if (slot == nullptr) {
    return {};
  }
  Slot retired = *slot;
  retired.entry.retired = true;
  return WriteSlot(*slot, retired);
}

Status SyncLedger::Forget(LogKind kind, std::uint64_t number) {
  const MutexLock lock(mutex_);
  Slot* slot = Find(kind, number);
  return slot == nullptr ? Status() : WriteSlot(*slot, {});
}

Status SyncLedger::MarkSynced(LogKind kind, std::uint64_t number, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  Slot* slot = Find(kind, number);
  if (slot == nullptr || bytes <= slot->entry.synced_bytes) {
    return {};
  }
  Slot synced = *slot;
  synced.entry.synced_bytes = bytes;
  return WriteSlot(*slot, synced);
}

SyncLedger::Slot* SyncLedger::Find(LogKind kind, std::uint64_t number) {
  for (Slot& slot : slots_) {
    if (slot.used && slot.entry.kind == kind && slot.entry.number == number) {
      return &slot;
    }
  }
  return nullptr;
}

Status SyncLedger::WriteSlot(Slot& slot, const Slot& content) {
  const auto index = static_cast<std::size_t>(&slot - slots_.data());
  const SlotBytes bytes = content.used ? EncodeSlot(content.entry) : SlotBytes{};
  LAKE_TRY_VOID(
      WriteAt(file_, path_, {bytes.data(), bytes.size()}, kSectorBytes + (index * kSlotBytes)));
  slot = content;
  dirty_ = true;
  return {};
}

Status SyncLedger::Sync() {
  const MutexLock lock(mutex_);
  if (dirty_ && fdatasync(file_.value()) != 0) {
    return PosixError("sync", path_, errno);
  }
  dirty_ = false;
  return {};
}

}  // namespace lake::metastore
