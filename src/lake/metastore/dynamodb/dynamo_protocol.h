#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lake/base/time.h"

namespace lake::metastore {

// DynamoDB as Lake uses it, as values: requests, answers and limits of one table, without a word of
// how they travel. A client (dynamo_client.h) sends them.

// The attributes of an item, all binary: partition key, sort key, and the one value. DynamoDB counts
// their names with every item.
inline constexpr std::string_view kDynamoPartitionAttribute = "p";
inline constexpr std::string_view kDynamoSortAttribute = "s";
inline constexpr std::string_view kDynamoValueAttribute = "v";

// Limits of DynamoDB.
inline constexpr std::size_t kDynamoPartitionBytesMax = 2048;
inline constexpr std::size_t kDynamoSortBytesMax = 1024;
inline constexpr std::size_t kDynamoItemBytesMax = std::size_t{400} * 1024;
inline constexpr std::size_t kDynamoTransactionActionsMax = 100;
inline constexpr std::size_t kDynamoTransactionBytesMax = std::size_t{4} * 1024 * 1024;
inline constexpr std::size_t kDynamoTokenBytesMax = 36;
inline constexpr std::size_t kDynamoPageBytesMax = std::size_t{1024} * 1024;
// How long a token is remembered after its transaction succeeded.
inline constexpr Duration kDynamoTokenMemory = std::chrono::minutes(10);

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
    kOther,  // A code that this version does not know.
  };

  Code code = Code::kNone;
  // The item that failed the condition, when it exists and the action asked for ALL_OLD.
  std::optional<std::string> item = {};

  bool operator==(const CancellationReason&) const = default;
};

// What a call answers when it does not succeed; named after DynamoDB's exceptions. The kind alone
// decides what is done about it; the message is for people.
struct DynamoError {
  enum class Kind {
    kNoAnswer,             // Nothing came back. It may or may not have happened.
    kInternalServerError,  // Any 5xx: the service failed. It may or may not have happened.
    kValidation,           // The request breaks a rule. Nothing happened.
    kResourceNotFound,     // No such table, or it is not active. Nothing happened.
    kAccessDenied,         // Unknown, expired or not entitled. Nothing happened.
    kThrottling,           // Nothing happened.
    kProvisionedThroughputExceeded,  // Nothing happened.
    kRequestLimitExceeded,           // Nothing happened.
    kTransactionCanceled,            // Nothing happened; `reasons` has one entry per action or key.
    kTransactionInProgress,          // An earlier request with this token has not ended.
    kIdempotentParameterMismatch,    // The token was used for another request. Nothing happened.
    kTransactionConflict,            // Single-item writes only. Nothing happened.
    kConditionalCheckFailed,         // Single-item writes only. Nothing happened.
    kMalformedItem,                  // Reads only. An item has no binary value: it is not Lake's.
  };

  Kind kind = Kind::kNoAnswer;
  std::string message = {};
  std::vector<CancellationReason> reasons = {};
  std::optional<std::string> item = {};  // Only of kConditionalCheckFailed: as in a reason.

  bool operator==(const DynamoError&) const = default;
};

// Returns the failure for people: the exception's name, its message, and how many actions were
// cancelled for which reason. Without keys and values.
std::string DescribeDynamoError(const DynamoError& error);

// The answer to a call.
template <typename T>
using DynamoAnswer = std::expected<T, DynamoError>;

// ConsistentRead. An eventually consistent read may answer from a replica that lags.
enum class DynamoRead { kEventual, kStrong };

// A Query of one partition in ascending order: items whose sort key begins with `prefix` (empty: no
// such condition) and comes after `after` (ExclusiveStartKey; empty: from the start), which must
// begin with `prefix` too.
struct DynamoQuery {
  std::string partition;
  std::string prefix = {};
  std::string after = {};
  std::size_t limit = 100;  // At least 1.
  DynamoRead read = DynamoRead::kStrong;
};

// A page of a Query. Only an absent `last_evaluated` ends the reading: where the limit or the size
// ended the page there is one, even if no item follows. A page with one may be empty.
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

// Returns what a request counts towards kDynamoTransactionBytesMax. DynamoDB documents "the items of
// the transaction" and not what it counts of an action that writes none; this counts all that is
// sent: the key, the value put, and the value compared with.
std::size_t DynamoTransactionBytes(const TransactWriteItems& request);

// Check what can be checked without stored data: the limits, empty keys, an item named twice, a
// ConditionCheck without a condition, a token that is too long or empty. kValidation with the first
// offence.
DynamoAnswer<void> ValidateKey(const DynamoKey& key);
DynamoAnswer<void> ValidateTransaction(const TransactWriteItems& request);
DynamoAnswer<void> ValidateKeys(const std::vector<DynamoKey>& keys);
DynamoAnswer<void> ValidateQuery(const DynamoQuery& query);

// Returns what an item counts towards the limits: the names and the bytes of its attributes.
std::size_t DynamoItemBytes(const DynamoKey& key, std::string_view value);

}  // namespace lake::metastore
