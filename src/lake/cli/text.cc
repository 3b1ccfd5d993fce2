#include "lake/cli/text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <system_error>

#include <fmt/format.h>

namespace lake::cli {
namespace {

struct CodePoint {
  char32_t value = 0;
  std::size_t length = 0;
};

// Decodes the first character of `text`, which is not empty; nothing when it is not UTF-8.
std::optional<CodePoint> DecodeFirst(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) {
    return CodePoint{.value = lead, .length = 1};
  }
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) {
    return std::nullopt;
  }
  char32_t value = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return std::nullopt;
    }
    value = value << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[length] || value > 0x10FFFF || surrogate) {
    return std::nullopt;
  }
  return CodePoint{.value = value, .length = length};
}

struct Range {
  char32_t first;
  char32_t last;
};

bool Contains(std::span<const Range> ranges, char32_t value) {
  const auto after = std::ranges::upper_bound(ranges, value, {}, &Range::first);
  return after != ranges.begin() && value <= std::prev(after)->last;
}

// Characters that take no room: combining marks, joiners, variation selectors. The common ranges of Unicode's Mn, Me and Cf.
constexpr std::array kZeroWidth = std::to_array<Range>({
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},   {0x064B, 0x065F},
    {0x06D6, 0x06DC}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E},   {0x1AB0, 0x1AFF},
    {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064},   {0x20D0, 0x20F0},
    {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
});

// Characters that take two columns: East Asian wide and fullwidth, and emoji.
constexpr std::array kDoubleWidth = std::to_array<Range>({
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},
    {0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26C4, 0x26C5},
    {0x2705, 0x2705},   {0x270A, 0x270B},   {0x2728, 0x2728},   {0x2753, 0x2755},
    {0x2795, 0x2797},   {0x2B1B, 0x2B1C},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
    {0x3400, 0x4DBF},   {0x4E00, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF},
    {0x20000, 0x3FFFD},
});

std::size_t Width(char32_t value) {
  if (Contains(kZeroWidth, value)) {
    return 0;
  }
  return Contains(kDoubleWidth, value) ? 2 : 1;
}

void AppendVisible(char32_t value, std::string& out) {
  switch (value) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += fmt::format("\\x{:02X}", static_cast<std::uint32_t>(value));
  }
}

bool IsControl(char32_t value) {
  // The bidirectional overrides can make a line read as something it is not.
  return value < 0x20 || (value >= 0x7F && value < 0xA0) || (value >= 0x202A && value <= 0x202E) ||
         (value >= 0x2066 && value <= 0x2069);
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::optional<CodePoint> first = DecodeFirst(text);
    if (!first.has_value()) {
      AppendVisible(static_cast<unsigned char>(text[0]), out);
      text.remove_prefix(1);
      continue;
    }
    if (IsControl(first->value)) {
      AppendVisible(first->value, out);
    } else {
      out += text.substr(0, first->length);
    }
    text.remove_prefix(first->length);
  }
  return out;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::optional<CodePoint> first = DecodeFirst(text);
    if (!first.has_value()) {
      return false;
    }
    text.remove_prefix(first->length);
  }
  return true;
}

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::optional<CodePoint> first = DecodeFirst(text);
    width += first.has_value() ? Width(first->value) : 1;
    text.remove_prefix(first.has_value() ? first->length : 1);
  }
  return width;
}

std::string DoubleQuoted(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    quoted += c;
    if (c == '"') {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string Reason(int number) {
  return std::generic_category().message(number);
}

std::string TimeText(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::string Count(std::uint64_t number, std::string_view noun) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) {
      text += ',';
    }
    text += digits[i];
  }
  return fmt::format("{} {}{}", text, noun, number == 1 ? "" : "s");
}

std::string SizeText(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1000 && unit + 1 < kUnits.size()) {
    size /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", size, kUnits[unit]);
}

}  // namespace lake::cli
