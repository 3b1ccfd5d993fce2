#include "lake/iceberg/value_bounds.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

#include <fmt/format.h>

#include "lake/base/result.h"
#include "lake/iceberg/type.h"
#include "lake/iceberg/value.h"

namespace lake::iceberg {
namespace {

constexpr std::uint64_t kHighBits = 0x8080'8080'8080'8080;
constexpr char32_t kCodePointMax = 0x10FFFF;
constexpr char32_t kSurrogateFirst = 0xD800;
constexpr char32_t kSurrogateLast = 0xDFFF;

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;
};

// Decodes the code point at the start of `text`; nothing if the bytes there are not UTF-8.
std::optional<CodePoint> DecodeCodePoint(std::string_view text) {
  const auto lead = static_cast<std::uint8_t>(text.front());
  if (lead < 0x80) {
    return CodePoint{.value = lead, .bytes = 1};
  }
  // The lead byte says how many bytes follow and, with the smallest code point that needs so many,
  // which forms are overlong.
  std::size_t bytes = 0;
  char32_t value = 0;
  char32_t least = 0;
  if ((lead & 0xE0) == 0xC0) {
    bytes = 2;
    value = lead & 0x1F;
    least = 0x80;
  } else if ((lead & 0xF0) == 0xE0) {
    bytes = 3;
    value = lead & 0x0F;
    least = 0x800;
  } else if ((lead & 0xF8) == 0xF0) {
    bytes = 4;
    value = lead & 0x07;
    least = 0x10000;
  } else {
    return std::nullopt;
  }
  if (text.size() < bytes) {
    return std::nullopt;
  }
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if ((byte & 0xC0) != 0x80) {
      return std::nullopt;
    }
    value = (value << 6) | (byte & 0x3F);
  }
  if (value < least || value > kCodePointMax ||
      (value >= kSurrogateFirst && value <= kSurrogateLast)) {
    return std::nullopt;
  }
  return CodePoint{.value = value, .bytes = bytes};
}

void AppendCodePoint(std::string& out, char32_t value) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0 | (value >> 6));
    put(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    put(0xE0 | (value >> 12));
    put(0x80 | ((value >> 6) & 0x3F));
    put(0x80 | (value & 0x3F));
  } else {
    put(0xF0 | (value >> 18));
    put(0x80 | ((value >> 12) & 0x3F));
    put(0x80 | ((value >> 6) & 0x3F));
    put(0x80 | (value & 0x3F));
  }
}

bool IsNan(const Value& value) {
  if (const float* number = std::get_if<float>(&value)) {
    return std::isnan(*number);
  }
  if (const double* number = std::get_if<double>(&value)) {
    return std::isnan(*number);
  }
  return false;
}

// A writer that compared -0.0 and +0.0 as equal may hand over either; the sign of `zero` bounds
// both.
Value WithZero(const Value& value, double zero) {
  if (const float* number = std::get_if<float>(&value); number != nullptr && *number == 0) {
    return static_cast<float>(zero);
  }
  if (const double* number = std::get_if<double>(&value); number != nullptr && *number == 0) {
    return zero;
  }
  return value;
}

bool HasBound(const Value& value, const MetricsMode& mode) {
  return mode.kind != MetricsMode::Kind::kNone && mode.kind != MetricsMode::Kind::kCounts &&
         !IsNull(value) && !IsNan(value);
}

}  // namespace

Result<MetricsMode> MetricsMode::Parse(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "none") {
    return MetricsMode{.kind = Kind::kNone};
  }
  if (lower == "counts") {
    return MetricsMode{.kind = Kind::kCounts};
  }
  if (lower == "full") {
    return MetricsMode{.kind = Kind::kFull};
  }
  constexpr std::string_view kPrefix = "truncate(";
  if (lower.starts_with(kPrefix) && lower.ends_with(")")) {
    const std::string_view digits =
        std::string_view(lower).substr(kPrefix.size(), lower.size() - kPrefix.size() - 1);
    std::uint32_t width = 0;
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), width);
    if (failure == std::errc() && end == digits.data() + digits.size() && width > 0) {
      return MetricsMode{.kind = Kind::kTruncate, .width = width};
    }
  }
  return InvalidArgument(
      fmt::format("metrics mode '{}' is not none, counts, truncate(n) or full", text));
}

Result<std::optional<std::string>> LowerBound(const Type& type, const Value& min,
                                              const MetricsMode& mode) {
  if (!HasBound(min, mode)) {
    return std::nullopt;
  }
  LAKE_TRY(std::string bytes, EncodeValue(type, WithZero(min, -0.0)));
  if (type.kind() == TypeKind::kString && !IsUtf8(bytes)) {
    return std::nullopt;
  }
  if (mode.kind == MetricsMode::Kind::kFull) {
    return bytes;
  }
  switch (type.kind()) {
    case TypeKind::kString:
      return std::string(TruncateStringMin(bytes, mode.width));
    case TypeKind::kBinary:
    case TypeKind::kFixed:
      return std::string(TruncateBinaryMin(bytes, mode.width));
    default:
      return bytes;
  }
}

Result<std::optional<std::string>> UpperBound(const Type& type, const Value& max,
                                              const MetricsMode& mode) {
  if (!HasBound(max, mode)) {
    return std::nullopt;
  }
  LAKE_TRY(std::string bytes, EncodeValue(type, WithZero(max, 0.0)));
  if (type.kind() == TypeKind::kString && !IsUtf8(bytes)) {
    return std::nullopt;
  }
  if (mode.kind == MetricsMode::Kind::kFull) {
    return bytes;
  }
  switch (type.kind()) {
    case TypeKind::kString:
      return TruncateStringMax(bytes, mode.width);
    case TypeKind::kBinary:
    case TypeKind::kFixed:
      return TruncateBinaryMax(bytes, mode.width);
    default:
      return bytes;
  }
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    // Most texts are ASCII: eight bytes at once have no high bit.
    std::uint64_t word = 0;
    if (text.size() >= sizeof(word)) {
      std::memcpy(&word, text.data(), sizeof(word));
      if ((word & kHighBits) == 0) {
        text.remove_prefix(sizeof(word));
        continue;
      }
    }
    const std::optional<CodePoint> point = DecodeCodePoint(text);
    if (!point.has_value()) {
      return false;
    }
    text.remove_prefix(point->bytes);
  }
  return true;
}

std::string_view TruncateStringMin(std::string_view utf8, std::size_t width) {
  std::size_t bytes = 0;
  for (std::size_t count = 0; count < width && bytes < utf8.size(); ++count) {
    const std::optional<CodePoint> point = DecodeCodePoint(utf8.substr(bytes));
    if (!point.has_value()) {
      break;
    }
    bytes += point->bytes;
  }
  return utf8.substr(0, bytes);
}

std::string_view TruncateBinaryMin(std::string_view bytes, std::size_t width) {
  return bytes.substr(0, width);
}

std::optional<std::string> TruncateStringMax(std::string_view utf8, std::size_t width) {
  const std::string_view kept = TruncateStringMin(utf8, width);
  if (kept.size() == utf8.size()) {
    return std::string(utf8);
  }
  std::size_t end = kept.size();
  while (end > 0) {
    std::size_t begin = end - 1;
    while (begin > 0 && (static_cast<std::uint8_t>(kept[begin]) & 0xC0) == 0x80) {
      --begin;
    }
    const std::optional<CodePoint> point = DecodeCodePoint(kept.substr(begin, end - begin));
    if (point.has_value() && point->value < kCodePointMax) {
      std::string raised(kept.substr(0, begin));
      const char32_t next = point->value + 1;
      // Surrogates are no code points of UTF-8: the one after U+D7FF is U+E000.
      AppendCodePoint(raised, next == kSurrogateFirst ? kSurrogateLast + 1 : next);
      return raised;
    }
    end = begin;
  }
  return std::nullopt;
}

std::optional<std::string> TruncateBinaryMax(std::string_view bytes, std::size_t width) {
  if (bytes.size() <= width) {
    return std::string(bytes);
  }
  std::string raised(bytes.substr(0, width));
  while (!raised.empty()) {
    const auto last = static_cast<std::uint8_t>(raised.back());
    if (last < 0xFF) {
      raised.back() = static_cast<char>(last + 1);
      return raised;
    }
    raised.pop_back();
  }
  return std::nullopt;
}

}  // namespace lake::iceberg
