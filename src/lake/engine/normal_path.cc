#include "lake/engine/normal_path.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace lake::engine {
namespace {

std::unexpected<Error> Refuse(std::string_view path, std::string_view why) {
  return InvalidArgument(fmt::format("path '{}': {}", path, why));
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
  }
  return lower;
}

// A path in its two parts: "s3://bucket" and "/a/b".
struct Parts {
  std::string root;
  std::string_view rest;
};

Result<Parts> Split(std::string_view path) {
  if (path.starts_with('/')) {
    return Parts{.root = "file://", .rest = path};
  }
  const std::size_t colon = path.find(':');
  if (colon == std::string_view::npos || colon == 0 || path.substr(0, colon).contains('/')) {
    return Refuse(path, "it is not absolute");
  }
  std::string scheme = LowerCase(path.substr(0, colon));
  const std::string_view after = path.substr(colon + 1);
  if (scheme == "file") {
    if (after.starts_with("///")) {
      return Parts{.root = "file://", .rest = after.substr(2)};
    }
    if (!after.starts_with('/') || after.starts_with("//")) {
      return Refuse(path, "expected file:///…, without a host");
    }
    return Parts{.root = "file://", .rest = after};
  }
  if (scheme == "s3a" || scheme == "s3n") {
    scheme = "s3";
  }
  const std::size_t slash = after.find('/', 2);
  if (!after.starts_with("//") || slash == 2 || after.size() == 2) {
    return Refuse(path, fmt::format("expected {}://…/…", scheme));
  }
  const std::string_view authority =
      after.substr(2, slash == std::string_view::npos ? slash : slash - 2);
  return Parts{.root = fmt::format("{}://{}", scheme, authority),
               .rest = slash == std::string_view::npos ? std::string_view() : after.substr(slash)};
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

Result<std::string> NormalPath(std::string_view path) {
  LAKE_TRY(Parts parts, Split(path));
  while (parts.rest.ends_with('/')) {
    parts.rest.remove_suffix(1);
  }
  if (parts.rest.empty()) {
    return Refuse(path, "it is the root of its store");
  }
  std::size_t start = 1;
  while (start <= parts.rest.size()) {
    const std::size_t end = std::min(parts.rest.find('/', start), parts.rest.size());
    const std::string_view part = parts.rest.substr(start, end - start);
    if (part.empty() || part == "." || part == "..") {
      return Refuse(path, fmt::format("it has a part '{}'; write the path without it", part));
    }
    start = end + 1;
  }
  return parts.root + std::string(parts.rest);
}

bool IsWithin(std::string_view inner, std::string_view outer) {
  return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '/');
}

std::string Unescaped(std::string path) {
  while (true) {
    std::string decoded;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const int high = path[i] == '%' && i + 2 < path.size() ? HexDigit(path[i + 1]) : -1;
      const int low = high >= 0 ? HexDigit(path[i + 2]) : -1;
      if (low < 0) {
        decoded += path[i];
        continue;
      }
      decoded += static_cast<char>(high << 4 | low);
      i += 2;
    }
    if (decoded.size() == path.size()) {
      return decoded;
    }
    path = std::move(decoded);
  }
}

Result<LocationScope> LocationScope::Make(std::string_view location) {
  LAKE_TRY(std::string normal, NormalPath(location));
  return LocationScope(std::move(normal));
}

LocationScope::LocationScope(std::string location)
    : location_(std::move(location)), decoded_(Unescaped(location_)) {}

LocationScope::Place LocationScope::Find(std::string_view path) const {
  const Result<std::string> normal = NormalPath(path);
  if (!normal.has_value()) {
    return Place::kUnclear;
  }
  if (IsWithin(*normal, location_)) {
    return normal->size() == location_.size() ? Place::kOutside : Place::kInside;
  }
  return IsWithin(Unescaped(*normal), decoded_) ? Place::kUnclear : Place::kOutside;
}

}  // namespace lake::engine
