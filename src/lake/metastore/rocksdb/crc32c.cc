#include "lake/metastore/rocksdb/crc32c.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace lake::metastore {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t kReversedPolynomial = 0x82f63b78;
constexpr std::size_t kStride = 8;  // Bytes that are looked up together.

using Table = std::array<std::uint32_t, 256>;

// Table i holds the checksum of a byte followed by i zero bytes.
constexpr std::array<Table, kStride> MakeTables() {
  std::array<Table, kStride> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    }
    tables[0][byte] = crc;
  }
  for (std::size_t i = 1; i < kStride; ++i) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t previous = tables[i - 1][byte];
      tables[i][byte] = (previous >> 8) ^ tables[0][previous & 0xff];
    }
  }
  return tables;
}

constexpr std::array<Table, kStride> kTables = MakeTables();

}  // namespace

std::uint32_t ExtendCrc32c(std::uint32_t crc, std::string_view bytes) {
  crc = ~crc;
  while (bytes.size() >= kStride) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), kStride);
    word ^= crc;
    crc = 0;
    for (std::size_t i = 0; i < kStride; ++i) {
      crc ^= kTables[kStride - 1 - i][(word >> (8 * i)) & 0xff];
    }
    bytes.remove_prefix(kStride);
  }
  for (const char c : bytes) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(c)) & 0xff];
  }
  return ~crc;
}

std::uint32_t MaskCrc32c(std::uint32_t crc) {
  return std::rotr(crc, 15) + 0xa282ead8;
}

}  // namespace lake::metastore
