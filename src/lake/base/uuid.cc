#include "lake/base/uuid.h"

#include <chrono>
#include <cstddef>
#include <span>

#include "lake/base/check.h"
#include "lake/base/hash.h"

namespace lake {
namespace {

constexpr std::size_t kTextLength = 36;

bool IsDashPosition(std::size_t i) {
  return i == 8 || i == 13 || i == 18 || i == 23;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  if (c >= 'A' && c <= 'F') {
    return c - 'A' + 10;
  }
  return -1;
}

Uuid WithVersion(std::array<std::uint8_t, 16> bytes, std::uint8_t version) {
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0F) | (version << 4));
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3F) | 0x80);
  return Uuid(bytes);
}

}  // namespace

Uuid Uuid::Random4(Random& random) {
  std::array<std::uint8_t, 16> bytes{};
  random.Fill(std::as_writable_bytes(std::span(bytes)));
  return WithVersion(bytes, 4);
}

Uuid Uuid::Random7(const Clock& clock, Random& random) {
  std::array<std::uint8_t, 16> bytes{};
  random.Fill(std::as_writable_bytes(std::span(bytes)));
  const auto millis = static_cast<std::uint64_t>(clock.WallNow().time_since_epoch().count());
  for (std::size_t i = 0; i < 6; ++i) {
    bytes[i] = static_cast<std::uint8_t>(millis >> (8 * (5 - i)));
  }
  return WithVersion(bytes, 7);
}

Uuid Uuid::Hashed8(std::string_view text) {
  const std::string digest = Sha256Hex(text);
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] =
        static_cast<std::uint8_t>(HexDigit(digest[2 * i]) << 4 | HexDigit(digest[2 * i + 1]));
  }
  return WithVersion(bytes, 8);
}

Result<Uuid> Uuid::Parse(std::string_view text) {
  std::array<std::uint8_t, 16> bytes{};
  std::size_t nibble = 0;
  bool valid = text.size() == kTextLength;
  for (std::size_t i = 0; valid && i < kTextLength; ++i) {
    if (IsDashPosition(i)) {
      valid = text[i] == '-';
      continue;
    }
    const int digit = HexDigit(text[i]);
    valid = digit >= 0;
    if (valid) {
      bytes[nibble / 2] = static_cast<std::uint8_t>(bytes[nibble / 2] << 4 | digit);
      ++nibble;
    }
  }
  if (!valid) {
    return InvalidArgument("not a UUID: '" + std::string(text.substr(0, 64)) + "'");
  }
  return Uuid(bytes);
}

std::string Uuid::ToString() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(kTextLength);
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (IsDashPosition(text.size())) {
      text += '-';
    }
    text += kDigits[bytes_[i] >> 4];
    text += kDigits[bytes_[i] & 0x0F];
  }
  return text;
}

WallTime Uuid::time() const {
  LAKE_CHECK(version() == 7, "only a version 7 UUID carries a time");
  std::int64_t millis = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    millis = millis << 8 | bytes_[i];
  }
  return WallTime(std::chrono::milliseconds(millis));
}

}  // namespace lake
