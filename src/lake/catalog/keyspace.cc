#include "lake/catalog/keyspace.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/metastore/transaction.h"

namespace lake::catalog {
namespace {

constexpr char kLevelSeparator = '\x1F';

bool IsEscaped(unsigned char c) {
  return c == '/' || c == '%' || c < 0x20 || c == 0x7F;
}

std::string JoinLevels(const Namespace& ns) {
  std::string joined;
  for (const std::string& level : ns.levels) {
    if (!joined.empty()) {
      joined += kLevelSeparator;
    }
    joined += EscapeLevel(level);
  }
  return joined;
}

Result<std::string> Bounded(std::string key, std::string_view what) {
  if (key.size() > metastore::kKeyBytesMax) {
    return InvalidArgument(
        fmt::format("{}: the name needs a key of {} bytes; at most {} are allowed", what,
                    key.size(), metastore::kKeyBytesMax));
  }
  return key;
}

std::unexpected<Error> BadKey(std::string_view key) {
  return Corruption(fmt::format("metastore key '{}' is not of a known form", key));
}

Result<Namespace> SplitLevels(std::string_view joined, std::string_view key) {
  Namespace ns;
  while (true) {
    const std::size_t end = std::min(joined.find(kLevelSeparator), joined.size());
    LAKE_TRY(std::string level, UnescapeLevel(joined.substr(0, end)));
    ns.levels.push_back(std::move(level));
    if (end == joined.size()) {
      break;
    }
    joined.remove_prefix(end + 1);
  }
  if (!Validate(ns).has_value()) {
    return BadKey(key);
  }
  return ns;
}

Result<Uuid> ParseUuidKey(std::string_view key, std::string_view prefix) {
  if (!key.starts_with(prefix)) {
    return BadKey(key);
  }
  Result<Uuid> id = Uuid::Parse(key.substr(prefix.size()));
  if (!id.has_value() || id->ToString() != key.substr(prefix.size())) {
    return BadKey(key);
  }
  return id;
}

}  // namespace

std::string EscapeLevel(std::string_view level) {
  std::string escaped;
  escaped.reserve(level.size());
  for (const char c : level) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsEscaped(byte)) {
      escaped += fmt::format("%{:02X}", byte);
    } else {
      escaped += c;
    }
  }
  return escaped;
}

Result<std::string> UnescapeLevel(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') {
      return c - '0';
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  std::string level;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      level += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return BadKey(text);
    }
    level += static_cast<char>(high << 4 | low);
    i += 2;
  }
  // One level has one form; another form would be a second key for the same name.
  if (EscapeLevel(level) != text) {
    return BadKey(text);
  }
  return level;
}

Result<std::string> NamespaceKey(const Namespace& ns) {
  LAKE_TRY_VOID(Validate(ns));
  return Bounded(std::string(kNamespacePrefix) + JoinLevels(ns), "namespace " + ns.ToString());
}

Result<std::string> TableKey(const TableName& name) {
  LAKE_TRY_VOID(Validate(name));
  return Bounded(std::string(kTablePrefix) + JoinLevels(name.ns) + "/" + EscapeLevel(name.name),
                 "table " + name.ToString());
}

Result<std::string> ViewKey(const TableName& name) {
  LAKE_TRY_VOID(Validate(name));
  return Bounded(std::string(kViewPrefix) + JoinLevels(name.ns) + "/" + EscapeLevel(name.name),
                 "view " + name.ToString());
}

Result<std::string> LocationKey(std::string_view location) {
  std::string key = std::string(kLocationPrefix) + std::string(location);
  if (key.size() > metastore::kKeyBytesMax) {
    return InvalidArgument(fmt::format("location {}: it has {} bytes; at most {} are allowed",
                                       location, location.size(),
                                       metastore::kKeyBytesMax - kLocationPrefix.size()));
  }
  return key;
}

Result<std::string> LocationsPrefix(std::string_view location) {
  LAKE_TRY(std::string key, LocationKey(location));
  return key + "/";
}

std::string PendingKey(const Uuid& operation) {
  return std::string(kPendingPrefix) + operation.ToString();
}

std::chrono::hours OperationHour(WallTime time) {
  return std::chrono::floor<std::chrono::hours>(time).time_since_epoch();
}

std::string OperationsPrefix(std::chrono::hours hour, int shard) {
  // Ten digits keep the hours in order until long after a version 7 UUID runs out.
  return fmt::format("{}{:010}-{:x}/", kOperationPrefix, hour.count(), shard);
}

std::string OperationKey(const Uuid& operation) {
  return OperationsPrefix(OperationHour(operation.time()), operation.bytes().back() & 0x0F) +
         operation.ToString();
}

std::string TombstoneKey(const Uuid& incarnation) {
  return std::string(kTombstonePrefix) + incarnation.ToString();
}

Result<std::string> NamespaceChildrenPrefix(const Namespace& parent) {
  if (parent.levels.empty()) {
    return std::string(kNamespacePrefix);
  }
  LAKE_TRY(std::string key, NamespaceKey(parent));
  return key + kLevelSeparator;
}

Result<std::string> TablesPrefix(const Namespace& ns) {
  LAKE_TRY_VOID(Validate(ns));
  return std::string(kTablePrefix) + JoinLevels(ns) + "/";
}

Result<std::string> ViewsPrefix(const Namespace& ns) {
  LAKE_TRY_VOID(Validate(ns));
  return std::string(kViewPrefix) + JoinLevels(ns) + "/";
}

Result<Namespace> ParseNamespaceKey(std::string_view key) {
  if (!key.starts_with(kNamespacePrefix)) {
    return BadKey(key);
  }
  return SplitLevels(key.substr(kNamespacePrefix.size()), key);
}

Result<TableName> ParseTableKey(std::string_view key) {
  for (const std::string_view prefix : {kTablePrefix, kViewPrefix}) {
    if (!key.starts_with(prefix)) {
      continue;
    }
    const std::string_view rest = key.substr(prefix.size());
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) {
      return BadKey(key);
    }
    TableName name;
    LAKE_TRY(name.ns, SplitLevels(rest.substr(0, slash), key));
    LAKE_TRY(name.name, UnescapeLevel(rest.substr(slash + 1)));
    if (!Validate(name).has_value()) {
      return BadKey(key);
    }
    return name;
  }
  return BadKey(key);
}

Result<Uuid> ParsePendingKey(std::string_view key) {
  return ParseUuidKey(key, kPendingPrefix);
}

Result<Uuid> ParseOperationKey(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  if (slash == std::string_view::npos) {
    return BadKey(key);
  }
  LAKE_TRY(const Uuid id, ParseUuidKey(key, key.substr(0, slash + 1)));
  if (id.version() != 7 || OperationKey(id) != key) {
    return BadKey(key);
  }
  return id;
}

Result<Uuid> ParseTombstoneKey(std::string_view key) {
  return ParseUuidKey(key, kTombstonePrefix);
}

}  // namespace lake::catalog
