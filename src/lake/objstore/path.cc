#include "lake/objstore/path.h"

#include <algorithm>
#include <string>

namespace lake::objstore {
namespace {

// Long enough to recognise a path by, short enough for a message.
constexpr std::size_t kQuotedBytesMax = 256;

std::unexpected<Error> Refuse(std::string_view path, std::string_view why) {
  std::string message = "path '";
  for (const char c : path.substr(0, kQuotedBytesMax)) {
    message += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  }
  message += path.size() > kQuotedBytesMax ? "…': " : "': ";
  message += why;
  return InvalidArgument(std::move(message));
}

// Returns what follows the scheme, or all of a path without one.
Result<std::string_view> AfterScheme(std::string_view path, std::string_view scheme) {
  if (path.starts_with('/')) {
    return path;
  }
  const std::string expected = "expected /… or " + std::string(scheme) + ":///…";
  if (!path.starts_with(scheme) || !path.substr(scheme.size()).starts_with(":/")) {
    return Refuse(path, expected);
  }
  const std::string_view rest = path.substr(scheme.size() + 1);
  if (!rest.starts_with("//")) {
    return rest;
  }
  if (!rest.starts_with("///")) {
    return Refuse(path, expected + ", without a host");
  }
  return rest.substr(2);
}

// Checks the parts of a key that starts with "/" and does not end with one.
Status CheckParts(std::string_view key, std::string_view path) {
  std::size_t start = 1;
  while (true) {
    const std::size_t end = std::min(key.find('/', start), key.size());
    const std::string_view part = key.substr(start, end - start);
    if (part.empty()) {
      return Refuse(path,
                    "it has an empty part; write one slash, and none at the end of an object");
    }
    if (part == "." || part == "..") {
      return Refuse(path, "it has a part '" + std::string(part) + "'; write the path without it");
    }
    if (part.size() > kPathPartBytesMax) {
      return Refuse(path, "a part is longer than " + std::to_string(kPathPartBytesMax) + " bytes");
    }
    if (end == key.size()) {
      return {};
    }
    start = end + 1;
  }
}

Result<std::string_view> CheckedKey(std::string_view path, std::string_view scheme) {
  LAKE_TRY(const std::string_view key, AfterScheme(path, scheme));
  if (key.size() > kPathBytesMax) {
    return Refuse(path, "it is longer than " + std::to_string(kPathBytesMax) + " bytes");
  }
  if (key.find('\0') != std::string_view::npos) {
    return Refuse(path, "it has a NUL byte");
  }
  return key;
}

}  // namespace

Result<std::string_view> ObjectKey(std::string_view path, std::string_view scheme) {
  LAKE_TRY(const std::string_view key, CheckedKey(path, scheme));
  LAKE_TRY_VOID(CheckParts(key, path));
  return key;
}

Result<std::string_view> PrefixKey(std::string_view prefix, std::string_view scheme) {
  LAKE_TRY(const std::string_view key, CheckedKey(prefix, scheme));
  if (!key.ends_with('/')) {
    return Refuse(prefix, "a prefix ends in '/'");
  }
  if (key.size() > 1) {
    LAKE_TRY_VOID(CheckParts(key.substr(0, key.size() - 1), prefix));
  }
  return key;
}

}  // namespace lake::objstore
