#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lake/base/check.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/lease/lease_config.h"
#include "lake/lease/lease_machine.h"
#include "lake/lease/records.h"
#include "lake/metastore/transaction.h"

// What the tests of the lease share.
namespace lake::lease {

// Returns a session that is another one for every number.
inline Uuid TestSession(std::uint8_t number) {
  std::array<std::uint8_t, 16> bytes{};
  bytes[6] = 0x70;
  bytes[8] = 0x80;
  bytes[15] = number;
  return Uuid(bytes);
}

// Returns the identity of node "n<number>" in its session `session`.
inline LeaseIdentity TestIdentity(std::uint8_t number, std::uint8_t session) {
  return {.node = "n" + std::to_string(number),
          .session = TestSession(session),
          .address = "host" + std::to_string(number) + ":7411"};
}

inline LeaseIdentity TestIdentity(std::uint8_t number) {
  return TestIdentity(number, number);
}

// The whole of a store, for machines without I/O. A value.
class StoredKeys {
 public:
  std::optional<std::string> Get(std::string_view key) const {
    const auto found = entries_.find(std::string(key));
    return found == entries_.end() ? std::nullopt : std::optional(found->second);
  }

  void Set(std::string_view key, std::string value) {
    entries_[std::string(key)] = std::move(value);
  }

  void Erase(std::string_view key) { entries_.erase(std::string(key)); }

  LeaseBytes lease() const { return {.term = Get(kTermKey), .heartbeat = Get(kHeartbeatKey)}; }

  metastore::CommitResult Commit(const metastore::Transaction& transaction) {
    LAKE_CHECK(transaction.Validate().has_value(), "only valid transactions are sent");
    metastore::Rejected rejected;
    for (std::size_t i = 0; i < transaction.items().size(); ++i) {
      const metastore::Item& item = transaction.items()[i];
      if (const auto actual = Get(item.key); !item.expectation.HoldsFor(actual)) {
        rejected.failures.push_back({.item = i, .key = item.key, .actual = actual});
      }
    }
    if (!rejected.failures.empty()) {
      return rejected;
    }
    for (const metastore::Item& item : transaction.items()) {
      switch (item.action) {
        case metastore::Item::Action::kCheck:
          break;
        case metastore::Item::Action::kPut:
          Set(item.key, item.value);
          break;
        case metastore::Item::Action::kDelete:
          Erase(item.key);
          break;
      }
    }
    return metastore::Committed{};
  }

 private:
  std::map<std::string, std::string> entries_;
};

// Returns the one effect of type T among `effects`, or nothing.
template <typename T>
std::optional<T> EffectOf(const std::vector<LeaseEffect>& effects) {
  std::optional<T> found;
  for (const LeaseEffect& effect : effects) {
    if (const T* match = std::get_if<T>(&effect); match != nullptr) {
      LAKE_CHECK(!found.has_value(), "a step has one effect of a kind");
      found = *match;
    }
  }
  return found;
}

}  // namespace lake::lease
