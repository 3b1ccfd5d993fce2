#include "lake/metastore/arguments.h"

#include <algorithm>

#include <fmt/format.h>

#include "lake/metastore/metastore.h"
#include "lake/metastore/transaction.h"

namespace lake::metastore {
namespace {

constexpr std::size_t kQuotedBytesMax = 100;

}  // namespace

Status CheckKeysTogether(const std::vector<std::string>& keys) {
  if (keys.size() > kTransactionKeysMax) {
    return InvalidArgument(fmt::format("read together: {} keys, at most {} are allowed; read fewer",
                                       keys.size(), kTransactionKeysMax));
  }
  std::vector<std::string_view> sorted(keys.begin(), keys.end());
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    return InvalidArgument(
        fmt::format("read together: key {} is named twice; name it once", QuoteKey(*twice)));
  }
  for (const std::string& key : keys) {
    LAKE_TRY_VOID(SplitKey(key));
  }
  return {};
}

Status CheckBytesTogether(std::size_t bytes) {
  if (bytes > kTransactionBytesMax) {
    return InvalidArgument(
        fmt::format("read together: keys and values have more than {} bytes; read fewer at once",
                    kTransactionBytesMax));
  }
  return {};
}

Status CheckScan(std::string_view prefix, std::string_view after, std::size_t limit) {
  LAKE_TRY_VOID(SplitPrefix(prefix));
  if (after.size() > kKeyBytesMax) {
    return InvalidArgument(fmt::format("scan {}: the start has {} bytes, a key has at most {}",
                                       QuoteKey(prefix), after.size(), kKeyBytesMax));
  }
  if (limit == 0 || limit > kScanLimitMax) {
    return InvalidArgument(fmt::format("scan {}: the limit is {}, it must be from 1 to {}",
                                       QuoteKey(prefix), limit, kScanLimitMax));
  }
  return {};
}

Status CheckDeadline(const Clock& clock, Deadline deadline, std::string_view operation) {
  if (clock.Now() >= deadline) {
    return DeadlineExceeded(
        fmt::format("{}: the deadline had passed before anything was done", operation));
  }
  return {};
}

std::string PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') {
    end.pop_back();
  }
  if (!end.empty()) {
    end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  }
  return end;
}

std::string QuoteKey(std::string_view key) {
  std::string quoted = "'";
  for (const char c : key.substr(0, kQuotedBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\'' && c != '\\') {
      quoted.push_back(c);
    } else {
      quoted += fmt::format("\\x{:02x}", byte);
    }
  }
  quoted += key.size() > kQuotedBytesMax ? "…'" : "'";
  return quoted;
}

}  // namespace lake::metastore
