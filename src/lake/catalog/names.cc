#include "lake/catalog/names.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace lake::catalog {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;
};

// Decodes the first code point of `text` as RFC 3629 defines UTF-8: no overlong forms, no
// surrogates, nothing above U+10FFFF.
std::optional<CodePoint> DecodeUtf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) {
    return CodePoint{first, 1};
  }
  std::size_t length = 0;
  std::uint32_t value = 0;
  std::uint32_t smallest = 0;
  if (first >> 5 == 0b110) {
    length = 2, value = first & 0x1FU, smallest = 0x80;
  } else if (first >> 4 == 0b1110) {
    length = 3, value = first & 0x0FU, smallest = 0x800;
  } else if (first >> 3 == 0b11110) {
    length = 4, value = first & 0x07U, smallest = 0x10000;
  } else {
    return std::nullopt;
  }
  if (text.size() < length) {
    return std::nullopt;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 0b10) {
      return std::nullopt;
    }
    value = value << 6 | (byte(i) & 0x3FU);
  }
  if (value < smallest || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
    return std::nullopt;
  }
  return CodePoint{value, length};
}

// A level that would read as something else without quotes.
bool NeedsQuotes(std::string_view level) {
  return level.find_first_of(".\" ") != std::string_view::npos;
}

void AppendLevel(std::string_view level, std::string& out) {
  if (!out.empty()) {
    out += '.';
  }
  if (!NeedsQuotes(level)) {
    out += level;
    return;
  }
  out += '"';
  for (const char c : level) {
    out += c;
    if (c == '"') {
      out += '"';
    }
  }
  out += '"';
}

// Takes one level, quoted or plain, from the front of `rest`.
Result<std::string> TakeLevel(std::string_view text, std::string_view& rest) {
  if (!rest.starts_with('"')) {
    const std::size_t end = std::min(rest.find_first_of(".\""), rest.size());
    if (end < rest.size() && rest[end] == '"') {
      return InvalidArgument("name '" + std::string(text) +
                             "': a double quote stands inside an unquoted level");
    }
    std::string level(rest.substr(0, end));
    rest.remove_prefix(end);
    return level;
  }
  rest.remove_prefix(1);
  std::string level;
  while (true) {
    const std::size_t quote = rest.find('"');
    if (quote == std::string_view::npos) {
      return InvalidArgument("name '" + std::string(text) + "': a double quote is not closed");
    }
    level += rest.substr(0, quote);
    rest.remove_prefix(quote + 1);
    if (!rest.starts_with('"')) {
      return level;
    }
    level += '"';
    rest.remove_prefix(1);
  }
}

Result<std::vector<std::string>> ParseLevels(std::string_view text) {
  std::vector<std::string> levels;
  std::string_view rest = text;
  while (true) {
    LAKE_TRY(std::string level, TakeLevel(text, rest));
    LAKE_TRY_VOID(WithContext(ValidateLevel(level), "name '" + std::string(text) + "'"));
    levels.push_back(std::move(level));
    if (rest.empty()) {
      return levels;
    }
    if (rest.front() != '.') {
      return InvalidArgument("name '" + std::string(text) +
                             "': expected a dot after a quoted level");
    }
    rest.remove_prefix(1);
  }
}

}  // namespace

std::string Namespace::ToString() const {
  std::string text;
  for (const std::string& level : levels) {
    AppendLevel(level, text);
  }
  return text;
}

Namespace Namespace::parent() const {
  Namespace up = *this;
  if (!up.levels.empty()) {
    up.levels.pop_back();
  }
  return up;
}

std::string TableName::ToString() const {
  std::string text = ns.ToString();
  AppendLevel(name, text);
  return text;
}

Status ValidateLevel(std::string_view level) {
  if (level.empty()) {
    return InvalidArgument("a level of a name is empty");
  }
  if (level.size() > kNameLevelBytesMax) {
    return InvalidArgument("a level of a name has " + std::to_string(level.size()) +
                           " bytes; at most " + std::to_string(kNameLevelBytesMax) +
                           " are allowed");
  }
  if (level == "." || level == "..") {
    return InvalidArgument("'" + std::string(level) + "' is not a name");
  }
  for (std::string_view rest = level; !rest.empty();) {
    const std::optional<CodePoint> point = DecodeUtf8(rest);
    if (!point.has_value()) {
      return InvalidArgument("a level of a name is not valid UTF-8");
    }
    if (point->value < 0x20 || (point->value >= 0x7F && point->value <= 0x9F)) {
      return InvalidArgument("a level of a name contains a control character");
    }
    rest.remove_prefix(point->bytes);
  }
  return {};
}

Status Validate(const Namespace& ns) {
  if (ns.levels.empty()) {
    return InvalidArgument("a namespace has at least one level");
  }
  for (const std::string& level : ns.levels) {
    LAKE_TRY_VOID(ValidateLevel(level));
  }
  return {};
}

Status Validate(const TableName& name) {
  LAKE_TRY_VOID(Validate(name.ns));
  return ValidateLevel(name.name);
}

Result<Namespace> ParseNamespace(std::string_view text) {
  LAKE_TRY(std::vector<std::string> levels, ParseLevels(text));
  return Namespace{std::move(levels)};
}

Result<TableName> ParseTableName(std::string_view text) {
  LAKE_TRY(std::vector<std::string> levels, ParseLevels(text));
  if (levels.size() < 2) {
    return InvalidArgument("name '" + std::string(text) + "': a table is named NAMESPACE.TABLE");
  }
  TableName name;
  name.name = std::move(levels.back());
  levels.pop_back();
  name.ns.levels = std::move(levels);
  return name;
}

}  // namespace lake::catalog
