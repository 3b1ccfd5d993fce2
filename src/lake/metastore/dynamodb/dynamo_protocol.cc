#include "lake/metastore/dynamodb/dynamo_protocol.h"

#include <map>
#include <set>

#include <fmt/format.h>

namespace lake::metastore {

namespace {

std::unexpected<DynamoError> Invalid(std::string message) {
  return std::unexpected(
      DynamoError{.kind = DynamoError::Kind::kValidation, .message = std::move(message)});
}

std::string_view NameOf(DynamoError::Kind kind) {
  using Kind = DynamoError::Kind;
  switch (kind) {
    case Kind::kNoAnswer:
      return "no answer";
    case Kind::kInternalServerError:
      return "InternalServerError";
    case Kind::kValidation:
      return "ValidationException";
    case Kind::kResourceNotFound:
      return "ResourceNotFoundException";
    case Kind::kAccessDenied:
      return "AccessDeniedException";
    case Kind::kThrottling:
      return "ThrottlingException";
    case Kind::kProvisionedThroughputExceeded:
      return "ProvisionedThroughputExceededException";
    case Kind::kRequestLimitExceeded:
      return "RequestLimitExceeded";
    case Kind::kTransactionCanceled:
      return "TransactionCanceledException";
    case Kind::kTransactionInProgress:
      return "TransactionInProgressException";
    case Kind::kIdempotentParameterMismatch:
      return "IdempotentParameterMismatchException";
    case Kind::kTransactionConflict:
      return "TransactionConflictException";
    case Kind::kConditionalCheckFailed:
      return "ConditionalCheckFailedException";
    case Kind::kMalformedItem:
      return "an item without a binary value";
  }
  return "unknown";
}

std::string_view NameOf(CancellationReason::Code code) {
  using Code = CancellationReason::Code;
  switch (code) {
    case Code::kNone:
      return "None";
    case Code::kConditionalCheckFailed:
      return "ConditionalCheckFailed";
    case Code::kItemCollectionSizeLimitExceeded:
      return "ItemCollectionSizeLimitExceeded";
    case Code::kTransactionConflict:
      return "TransactionConflict";
    case Code::kProvisionedThroughputExceeded:
      return "ProvisionedThroughputExceeded";
    case Code::kThrottlingError:
      return "ThrottlingError";
    case Code::kValidationError:
      return "ValidationError";
    case Code::kOther:
      return "unknown code";
  }
  return "unknown code";
}

}  // namespace

std::string DescribeDynamoError(const DynamoError& error) {
  std::string text(NameOf(error.kind));
  if (!error.message.empty()) {
    text += fmt::format(" ({})", error.message);
  }
  std::map<std::string_view, std::size_t> counts;
  for (const CancellationReason& reason : error.reasons) {
    ++counts[NameOf(reason.code)];
  }
  for (const auto& [name, count] : counts) {
    text += fmt::format(", {} × {}", count, name);
  }
  return text;
}

bool DynamoCondition::HoldsFor(const std::optional<std::string>& value) const {
  switch (kind) {
    case Kind::kNone:
      return true;
    case Kind::kAbsent:
      return !value.has_value();
    case Kind::kEquals:
      return value == bytes;
  }
  return false;
}

std::size_t DynamoItemBytes(const DynamoKey& key, std::string_view value) {
  return kDynamoPartitionAttribute.size() + key.partition.size() + kDynamoSortAttribute.size() +
         key.sort.size() + kDynamoValueAttribute.size() + value.size();
}

std::size_t DynamoTransactionBytes(const TransactWriteItems& request) {
  std::size_t bytes = 0;
  for (const DynamoAction& action : request.actions) {
    bytes += DynamoItemBytes(action.key, action.value) + action.condition.bytes.size();
  }
  return bytes;
}

DynamoAnswer<void> ValidateKey(const DynamoKey& key) {
  if (key.partition.empty() || key.sort.empty()) {
    return Invalid("a key attribute must not be empty");
  }
  if (key.partition.size() > kDynamoPartitionBytesMax) {
    return Invalid("the partition key is too long");
  }
  if (key.sort.size() > kDynamoSortBytesMax) {
    return Invalid("the sort key is too long");
  }
  return {};
}

DynamoAnswer<void> ValidateKeys(const std::vector<DynamoKey>& keys) {
  if (keys.empty() || keys.size() > kDynamoTransactionActionsMax) {
    return Invalid("a transaction has 1 to 100 items");
  }
  std::set<DynamoKey> seen;
  for (const DynamoKey& key : keys) {
    if (const DynamoAnswer<void> valid = ValidateKey(key); !valid) {
      return valid;
    }
    if (!seen.insert(key).second) {
      return Invalid("a transaction must not name an item twice");
    }
  }
  return {};
}

DynamoAnswer<void> ValidateTransaction(const TransactWriteItems& request) {
  if (const auto& token = request.client_request_token;
      token.has_value() && (token->empty() || token->size() > kDynamoTokenBytesMax)) {
    return Invalid("a client request token has 1 to 36 characters");
  }
  std::vector<DynamoKey> keys;
  for (const DynamoAction& action : request.actions) {
    keys.push_back(action.key);
    if (action.verb == DynamoAction::Verb::kConditionCheck &&
        action.condition.kind == DynamoCondition::Kind::kNone) {
      return Invalid("a ConditionCheck needs a condition");
    }
  }
  if (DynamoTransactionBytes(request) > kDynamoTransactionBytesMax) {
    return Invalid("a transaction has at most 4 MB");
  }
  return ValidateKeys(keys);
}

DynamoAnswer<void> ValidateQuery(const DynamoQuery& query) {
  if (query.partition.empty() || query.partition.size() > kDynamoPartitionBytesMax) {
    return Invalid("a partition key has 1 to 2048 bytes");
  }
  if (query.prefix.size() > kDynamoSortBytesMax || query.after.size() > kDynamoSortBytesMax) {
    return Invalid("the sort key is too long");
  }
  if (query.limit == 0) {
    return Invalid("a limit is at least 1");
  }
  if (!query.after.empty() && !query.after.starts_with(query.prefix)) {
    return Invalid("the starting key is outside what the query asks for");
  }
  return {};
}

}  // namespace lake::metastore
