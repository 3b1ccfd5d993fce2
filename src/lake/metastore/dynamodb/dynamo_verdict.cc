#include "lake/metastore/dynamodb/dynamo_verdict.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lake::metastore {
namespace {

using Code = CancellationReason::Code;
using ErrorKind = DynamoError::Kind;
using VerdictKind = DynamoVerdict::Kind;

// How much a reason says about sending the same request again.
enum class Weight { kNothing, kCondition, kAgain, kNever };

Weight WeightOf(Code code) {
  switch (code) {
    case Code::kNone:
      return Weight::kNothing;
    case Code::kConditionalCheckFailed:
      return Weight::kCondition;
    case Code::kTransactionConflict:
    case Code::kProvisionedThroughputExceeded:
    case Code::kThrottlingError:
    case Code::kOther:
      return Weight::kAgain;
    case Code::kItemCollectionSizeLimitExceeded:
    case Code::kValidationError:
      return Weight::kNever;
  }
  return Weight::kAgain;
}

DynamoVerdict Refuse(ErrorCode code, const DynamoError& error) {
  return {.kind = VerdictKind::kRefused,
          .error = Error(
              code, fmt::format("commit: DynamoDB refused it: {}", DescribeDynamoError(error)))};
}

// Returns the failed conditions; nothing when the list cannot be about this request.
std::optional<std::vector<DynamoVerdict::Failure>> FailuresOf(
    const TransactWriteItems& request, const std::vector<CancellationReason>& reasons) {
  if (reasons.size() != request.actions.size()) {
    return std::nullopt;
  }
  std::vector<DynamoVerdict::Failure> failures;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (reasons[i].code != Code::kConditionalCheckFailed) {
      continue;
    }
    if (request.actions[i].condition.HoldsFor(reasons[i].item)) {
      return std::nullopt;
    }
    failures.push_back({.action = i, .actual = reasons[i].item});
  }
  return failures;
}

DynamoVerdict JudgeCancellation(const TransactWriteItems& request, const DynamoError& error) {
  std::optional<std::vector<DynamoVerdict::Failure>> failures = FailuresOf(request, error.reasons);
  if (!failures.has_value()) {
    return {.kind = VerdictKind::kResend};
  }
  const bool is_final = IsFence(request) && !failures->empty() && failures->front().action == 0;
  const auto has = [&](Weight weight) {
    return std::ranges::any_of(error.reasons, [&](const CancellationReason& reason) {
      return WeightOf(reason.code) == weight;
    });
  };
  if (!is_final && has(Weight::kNever)) {
    const bool is_ours = std::ranges::any_of(error.reasons, [](const CancellationReason& reason) {
      return reason.code == Code::kValidationError;
    });
    return Refuse(is_ours ? ErrorCode::kInvalidArgument : ErrorCode::kUnavailable, error);
  }
  if (!is_final && (has(Weight::kAgain) || failures->empty())) {
    return {.kind = VerdictKind::kResend};
  }
  return {.kind = VerdictKind::kRejected, .failures = *std::move(failures), .is_final = is_final};
}

}  // namespace

bool IsFence(const TransactWriteItems& request) {
  return !request.actions.empty() &&
         request.actions.front().verb == DynamoAction::Verb::kConditionCheck &&
         request.actions.front().condition.kind == DynamoCondition::Kind::kEquals;
}

DynamoVerdict JudgeWrite(const TransactWriteItems& request, const DynamoAnswer<void>& answer) {
  if (answer.has_value()) {
    return {.kind = VerdictKind::kCommitted};
  }
  switch (answer.error().kind) {
    case ErrorKind::kTransactionCanceled:
      return JudgeCancellation(request, answer.error());
    case ErrorKind::kThrottling:
    case ErrorKind::kProvisionedThroughputExceeded:
    case ErrorKind::kRequestLimitExceeded:
    case ErrorKind::kTransactionConflict:
      return {.kind = VerdictKind::kResend};
    case ErrorKind::kNoAnswer:
    case ErrorKind::kInternalServerError:
    case ErrorKind::kTransactionInProgress:
    // No transaction answers these two; who knows what happened.
    case ErrorKind::kConditionalCheckFailed:
    case ErrorKind::kMalformedItem:
      return {.kind = VerdictKind::kUnanswered};
    case ErrorKind::kValidation:
      return Refuse(ErrorCode::kInvalidArgument, answer.error());
    case ErrorKind::kResourceNotFound:
    case ErrorKind::kAccessDenied:
    case ErrorKind::kIdempotentParameterMismatch:
      return Refuse(ErrorCode::kUnavailable, answer.error());
  }
  return {.kind = VerdictKind::kUnanswered};
}

std::optional<Error> JudgeRead(const DynamoError& error) {
  const auto refuse = [&](ErrorCode code) {
    return Error(code, fmt::format("DynamoDB refused it: {}", DescribeDynamoError(error)));
  };
  switch (error.kind) {
    case ErrorKind::kTransactionCanceled:
      // Of a read that can only be its size: its keys were checked.
      return std::ranges::any_of(error.reasons,
                                 [](const CancellationReason& reason) {
                                   return WeightOf(reason.code) == Weight::kNever;
                                 })
                 ? std::optional(refuse(ErrorCode::kInvalidArgument))
                 : std::nullopt;
    case ErrorKind::kNoAnswer:
    case ErrorKind::kInternalServerError:
    case ErrorKind::kThrottling:
    case ErrorKind::kProvisionedThroughputExceeded:
    case ErrorKind::kRequestLimitExceeded:
    case ErrorKind::kTransactionConflict:
    case ErrorKind::kTransactionInProgress:
    case ErrorKind::kIdempotentParameterMismatch:
    case ErrorKind::kConditionalCheckFailed:
      return std::nullopt;
    case ErrorKind::kValidation:
      return refuse(ErrorCode::kInvalidArgument);
    case ErrorKind::kResourceNotFound:
    case ErrorKind::kAccessDenied:
      return refuse(ErrorCode::kUnavailable);
    case ErrorKind::kMalformedItem:
      return refuse(ErrorCode::kCorruption);
  }
  return std::nullopt;
}

}  // namespace lake::metastore
