#pragma once

#include <compare>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lake::testing {

// Limits of DynamoDB that the fake enforces. An item's bytes are those of its key and its value;
// DynamoDB counts the attribute names too, which the fake does not know.
inline constexpr std::size_t kDynamoPartitionBytesMax = 2048;
inline constexpr std::size_t kDynamoSortBytesMax = 1024;
inline constexpr std::size_t kDynamoItemBytesMax = std::size_t{400} * 1024;
inline constexpr std::size_t kDynamoTransactionActionsMax = 100;
inline constexpr std::size_t kDynamoTransactionBytesMax = std::size_t{4} * 1024 * 1024;
inline constexpr std::size_t kDynamoTokenBytesMax = 36;
inline constexpr std::size_t kDynamoPageBytesMax = std::size_t{1024} * 1024;

// The primary key of an item: partition key and sort key, both bytes. Sorts bytewise.
struct DynamoKey {
  std::string partition;
  std::string sort;

  auto operator<=>(const DynamoKey&) const = default;
};

// A condition expression: the item does not exist, or its value is exactly these bytes.
struct DynamoCondition {
  enum class Kind { kNone, kAbsent, kEquals };

  Kind kind = Kind::kNone;
  std::string bytes;  // Only for kEquals.

  // No condition.
  static DynamoCondition None() { return {Kind::kNone, {}}; }

  // attribute_not_exists.
  static DynamoCondition Absent() { return {Kind::kAbsent, {}}; }

  // value = :bytes; false when the item does not exist.
  static DynamoCondition Equals(std::string bytes) { return {Kind::kEquals, std::move(bytes)}; }

  // Returns whether an item with this value (or none) meets the condition.
  bool HoldsFor(const std::optional<std::string>& value) const;
  bool operator==(const DynamoCondition&) const = default;
};

// One action of a TransactWriteItems, or a single-item write.
struct DynamoAction {
  enum class Verb { kConditionCheck, kPut, kDelete };
  // ReturnValuesOnConditionCheckFailure.
  enum class OnFailure { kNone, kAllOld };

  DynamoKey key;
  Verb verb = Verb::kConditionCheck;
  DynamoCondition condition;
  std::string value = {};  // Only for kPut.
  OnFailure on_failure = OnFailure::kAllOld;

  bool operator==(const DynamoAction&) const = default;
};

// A TransactWriteItems request. Without a token nothing makes a second sending harmless.
struct TransactWriteItems {
  std::optional<std::string> client_request_token;
  std::vector<DynamoAction> actions;

  bool operator==(const TransactWriteItems&) const = default;
};

// Why a transaction was cancelled, as far as one action of it is concerned.
struct CancellationReason {
  enum class Code {
    kNone,  // This action would have gone through.
    kConditionalCheckFailed,
    kItemCollectionSizeLimitExceeded,
    kTransactionConflict,
    kProvisionedThroughputExceeded,
    kThrottlingError,
    kValidationError,
  };

  Code code = Code::kNone;
  // The item that failed the condition, when it exists and the action asked for ALL_OLD.
  std::optional<std::string> item = {};

  bool operator==(const CancellationReason&) const = default;
};

// What a call answers when it does not succeed; named after DynamoDB's exceptions.
struct DynamoError {
  enum class Kind {
    kNoAnswer,                       // Nothing came back. It may or may not have happened.
    kInternalServerError,            // The service failed. It may or may not have happened.
    kValidation,                     // The request breaks a rule. Nothing happened.
    kResourceNotFound,               // No such table. Nothing happened.
    kThrottling,                     // Nothing happened.
    kProvisionedThroughputExceeded,  // Nothing happened.
    kRequestLimitExceeded,           // Nothing happened.
    kTransactionCanceled,            // Nothing happened; `reasons` has one entry per action or key.
    kTransactionInProgress,          // An earlier request with this token has not ended.
    kIdempotentParameterMismatch,    // The token was used for another request. Nothing happened.
    kTransactionConflict,            // Single-item writes only. Nothing happened.
    kConditionalCheckFailed,         // Single-item writes only. Nothing happened.
  };

  Kind kind = Kind::kNoAnswer;
  std::string message = {};
  std::vector<CancellationReason> reasons = {};
  std::optional<std::string> item = {};  // Only of kConditionalCheckFailed: as in a reason.

  bool operator==(const DynamoError&) const = default;
};

// The answer to a call.
template <typename T>
using DynamoAnswer = std::expected<T, DynamoError>;

// ConsistentRead. An eventually consistent read may answer from a replica that lags.
enum class DynamoRead { kEventual, kStrong };

// A Query of one partition in ascending order: items whose sort key begins with `prefix` (empty: no
// such condition) and comes after `after` (ExclusiveStartKey; empty: from the start).
struct DynamoQuery {
  std::string partition;
  std::string prefix = {};
  std::string after = {};
  std::size_t limit = kDynamoTransactionActionsMax;
  DynamoRead read = DynamoRead::kStrong;
};

// A page of a Query. Only an absent `last_evaluated` ends it: where the limit or the size ended the
// page there is one, even if no item follows.
struct DynamoPage {
  struct Item {
    std::string sort;
    std::string value;

    bool operator==(const Item&) const = default;
  };

  std::vector<Item> items;
  std::optional<std::string> last_evaluated;

  bool operator==(const DynamoPage&) const = default;
};

// Check what can be checked without stored data: the limits, empty keys, an item named twice, a
// ConditionCheck without a condition, a token that is too long or empty. kValidation with the first
// offence.
DynamoAnswer<void> ValidateKey(const DynamoKey& key);
DynamoAnswer<void> ValidateTransaction(const TransactWriteItems& request);
DynamoAnswer<void> ValidateKeys(const std::vector<DynamoKey>& keys);
DynamoAnswer<void> ValidateQuery(const DynamoQuery& query);

// Returns what counts of an item towards the limits.
std::size_t DynamoItemBytes(const DynamoKey& key, std::string_view value);

}  // namespace lake::testing
