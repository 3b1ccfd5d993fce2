#include "lake/metastore/transaction.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lake/metastore/arguments.h"

namespace lake::metastore {
namespace {

// Below this first part the partition has two parts: finished operations are spread over hours and
// shards.
constexpr std::string_view kTwoPartRoot = "op/";

// Splits after the slash that ends the partition part; `what` names the argument in messages.
Result<KeyParts> Split(std::string_view key, std::string_view what) {
  if (key.size() > kKeyBytesMax) {
    return InvalidArgument(fmt::format("{} {}: {} bytes, at most {} are allowed", what,
                                       QuoteKey(key), key.size(), kKeyBytesMax));
  }
  const std::size_t begin = key.starts_with(kTwoPartRoot) ? kTwoPartRoot.size() : 0;
  const std::size_t slash = key.find('/', begin);
  if (slash == std::string_view::npos || slash == begin) {
    return InvalidArgument(
        fmt::format("{} {}: it must begin with a whole partition part and a slash, like 'tbl/' or "
                    "'op/<shard>/'",
                    what, QuoteKey(key)));
  }
  return KeyParts{.partition = key.substr(0, slash), .rest = key.substr(slash + 1)};
}

Status CheckItem(const Item& item) {
  LAKE_TRY_VOID(SplitKey(item.key));
  if (item.action == Item::Action::kCheck && item.expectation.kind == Expectation::Kind::kAny) {
    return InvalidArgument(fmt::format("transaction: the check of {} expects nothing; leave it out",
                                       QuoteKey(item.key)));
  }
  if (item.value.size() > kValueBytesMax) {
    return InvalidArgument(
        fmt::format("transaction: the value of {} has {} bytes, at most {} are allowed",
                    QuoteKey(item.key), item.value.size(), kValueBytesMax));
  }
  if (item.expectation.bytes.size() > kValueBytesMax) {
    return InvalidArgument(
        fmt::format("transaction: the expected value of {} has {} bytes, a value has at most {}",
                    QuoteKey(item.key), item.expectation.bytes.size(), kValueBytesMax));
  }
  return {};
}

}  // namespace

bool Expectation::HoldsFor(std::optional<std::string_view> value) const {
  switch (kind) {
    case Kind::kAny:
      return true;
    case Kind::kAbsent:
      return !value.has_value();
    case Kind::kExactly:
      return value.has_value() && *value == bytes;
  }
  return false;
}

Transaction& Transaction::Check(std::string key, Expectation expectation) {
  items_.push_back({.key = std::move(key), .expectation = std::move(expectation)});
  return *this;
}

Transaction& Transaction::Put(std::string key, Expectation expectation, std::string value) {
  items_.push_back({.key = std::move(key),
                    .expectation = std::move(expectation),
                    .action = Item::Action::kPut,
                    .value = std::move(value)});
  return *this;
}

Transaction& Transaction::Delete(std::string key, Expectation expectation) {
  items_.push_back({.key = std::move(key),
                    .expectation = std::move(expectation),
                    .action = Item::Action::kDelete});
  return *this;
}

std::size_t Transaction::byte_size() const {
  std::size_t bytes = 0;
  for (const Item& item : items_) {
    bytes += item.key.size() + item.expectation.bytes.size() + item.value.size();
  }
  return bytes;
}

Status Transaction::Validate() const {
  if (items_.empty()) {
    return InvalidArgument("transaction: it has no items; there is nothing to commit");
  }
  if (items_.size() > kTransactionKeysMax) {
    return InvalidArgument(fmt::format("transaction: {} keys, at most {} are allowed; split it",
                                       items_.size(), kTransactionKeysMax));
  }
  std::vector<std::string_view> keys;
  keys.reserve(items_.size());
  for (const Item& item : items_) {
    LAKE_TRY_VOID(CheckItem(item));
    keys.push_back(item.key);
  }
  std::ranges::sort(keys);
  if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end()) {
    return InvalidArgument(
        fmt::format("transaction: key {} appears twice; a key may appear once", QuoteKey(*twice)));
  }
  if (const std::size_t bytes = byte_size(); bytes > kTransactionBytesMax) {
    return InvalidArgument(fmt::format("transaction: {} bytes, at most {} are allowed; split it",
                                       bytes, kTransactionBytesMax));
  }
  return {};
}

Result<KeyParts> SplitKey(std::string_view key) {
  LAKE_TRY(const KeyParts parts, Split(key, "key"));
  if (parts.rest.empty()) {
    return InvalidArgument(
        fmt::format("key {}: nothing follows the partition part", QuoteKey(key)));
  }
  return parts;
}

Result<KeyParts> SplitPrefix(std::string_view prefix) {
  return Split(prefix, "scan prefix");
}

}  // namespace lake::metastore
