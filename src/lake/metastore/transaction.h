#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lake/base/result.h"

namespace lake::metastore {

// Limits of every backend. A transaction has one key more than its author may use: the lease check
// that lease::FencedStore adds.
inline constexpr std::size_t kKeyBytesMax = 1024;
inline constexpr std::size_t kValueBytesMax = std::size_t{300} * 1024;
inline constexpr std::size_t kTransactionKeysMax = 100;
// 3.5 MiB, keys and values and expected values together.
inline constexpr std::size_t kTransactionBytesMax = std::size_t{3584} * 1024;

// What must be true of a key for a transaction to apply.
struct Expectation {
  enum class Kind { kAny, kAbsent, kExactly };

  Kind kind = Kind::kAny;
  std::string bytes;  // Only for kExactly: the exact bytes that were read.

  // Nothing must be true.
  static Expectation Any() { return {Kind::kAny, {}}; }

  // The key must be absent.
  static Expectation Absent() { return {Kind::kAbsent, {}}; }

  // The key must have exactly this value.
  static Expectation Exactly(std::string bytes) { return {Kind::kExactly, std::move(bytes)}; }

  // Returns whether a key with this value (or without one) meets the expectation.
  bool HoldsFor(std::optional<std::string_view> value) const;
  bool operator==(const Expectation&) const = default;
};

// One key's part in a transaction.
struct Item {
  enum class Action { kCheck, kPut, kDelete };

  std::string key;
  Expectation expectation;
  Action action = Action::kCheck;
  std::string value;  // Only for kPut.

  bool operator==(const Item&) const = default;
};

// A list of items that apply together or not at all, each key at most once. A value; build it with
// the three verbs:
//
//   Transaction t;
//   t.Check(ns_key, Expectation::Exactly(ns_bytes)).Put(table_key, Expectation::Absent(),
//   registration);
class Transaction {
 public:
  // Requires the expectation and changes nothing. Expecting kAny here is refused by Validate.
  Transaction& Check(std::string key, Expectation expectation);
  // Writes `value` if the expectation holds.
  Transaction& Put(std::string key, Expectation expectation, std::string value);
  // Removes the key if the expectation holds. Removing an absent key is not an error.
  Transaction& Delete(std::string key, Expectation expectation);

  const std::vector<Item>& items() const { return items_; }

  bool empty() const { return items_.empty(); }

  // Returns the bytes that count towards kTransactionBytesMax.
  std::size_t byte_size() const;

  // Checks every rule that does not depend on stored data: at least one item, well-formed keys,
  // each once, the limits (an expected value obeys kValueBytesMax too), no check of kAny.
  // kInvalidArgument names the first offence. Backends call it first.
  Status Validate() const;

  bool operator==(const Transaction&) const = default;

 private:
  std::vector<Item> items_;
};

// An expectation that did not hold: which item, and what is there (nothing: absent).
struct FailedExpectation {
  std::size_t item = 0;
  std::string key;
  std::optional<std::string> actual;

  bool operator==(const FailedExpectation&) const = default;
};

// The transaction was applied.
struct Committed {
  bool operator==(const Committed&) const = default;
};

// All expectations that failed, in item order; at least one.
struct Rejected {
  std::vector<FailedExpectation> failures;

  bool operator==(const Rejected&) const = default;
};

// How a transaction that the store has decided on ended.
using CommitResult = std::variant<Committed, Rejected>;

// The two parts of a key: "tbl/ns/t" is {"tbl", "ns/t"}. The partition part is the first path part,
// except that below "op" it is the first two: "op/0198c0ffee-3/0198…" is {"op/0198c0ffee-3",
// "0198…"}.
struct KeyParts {
  std::string_view partition;
  std::string_view rest;
};

// Splits a key, or a scan prefix with `rest` possibly empty. kInvalidArgument when there is no
// complete, non-empty partition part, when a key's rest is empty, or when it is longer than
// kKeyBytesMax. The parts point into the argument.
Result<KeyParts> SplitKey(std::string_view key);
Result<KeyParts> SplitPrefix(std::string_view prefix);

}  // namespace lake::metastore
