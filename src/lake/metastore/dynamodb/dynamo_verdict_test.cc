#include "lake/metastore/dynamodb/dynamo_verdict.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/metastore/dynamodb/dynamo_protocol.h"

namespace lake::metastore {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Code = CancellationReason::Code;
using ErrorKind = DynamoError::Kind;
using Failure = DynamoVerdict::Failure;
using Kind = DynamoVerdict::Kind;

const std::vector<Code> kCodes = {Code::kNone,
                                  Code::kConditionalCheckFailed,
                                  Code::kItemCollectionSizeLimitExceeded,
                                  Code::kTransactionConflict,
                                  Code::kProvisionedThroughputExceeded,
                                  Code::kThrottlingError,
                                  Code::kValidationError,
                                  Code::kOther};

// Three actions: one that checks exact bytes, in first place or not, and two puts.
TransactWriteItems Request(bool is_fenced) {
  const DynamoAction check{.key = {.partition = "lease", .sort = "term"},
                           .verb = DynamoAction::Verb::kConditionCheck,
                           .condition = DynamoCondition::Equals("mine")};
  const DynamoAction put{.key = {.partition = "tbl", .sort = "a"},
                         .verb = DynamoAction::Verb::kPut,
                         .condition = DynamoCondition::Absent(),
                         .value = "1"};
  DynamoAction other = put;
  other.key.sort = "b";
  TransactWriteItems request{.client_request_token = "t", .actions = {put, other}};
  request.actions.insert(is_fenced ? request.actions.begin() : request.actions.end(), check);
  return request;
}

DynamoAnswer<void> Failed(ErrorKind kind) {
  return std::unexpected(DynamoError{.kind = kind});
}

// Every failed condition shows an item that fails all three.
DynamoAnswer<void> Cancelled(const std::vector<Code>& codes) {
  DynamoError error{.kind = ErrorKind::kTransactionCanceled};
  for (const Code code : codes) {
    error.reasons.push_back({.code = code, .item = std::nullopt});
    if (code == Code::kConditionalCheckFailed) {
      error.reasons.back().item = "theirs";
    }
  }
  return std::unexpected(std::move(error));
}

bool Has(const std::vector<Code>& codes, Code code) {
  return std::ranges::find(codes, code) != codes.end();
}

// B2. All 512 lists of reasons, with a fence and without: what is concluded from which.
TEST(JudgeWrite, ConcludesFromTheWholeListAndFromAFailedFenceAlone) {
  std::size_t rejected = 0;
  std::size_t fenced = 0;
  for (const bool is_fenced : {true, false}) {
    const TransactWriteItems request = Request(is_fenced);
    for (const Code first : kCodes) {
      for (const Code second : kCodes) {
        for (const Code third : kCodes) {
          const std::vector<Code> codes = {first, second, third};
          const DynamoVerdict verdict = JudgeWrite(request, Cancelled(codes));
          std::vector<std::size_t> failed;
          for (const Failure& failure : verdict.failures) {
            EXPECT_EQ(failure.actual, "theirs");
            failed.push_back(failure.action);
          }
          const bool is_fence_gone = is_fenced && first == Code::kConditionalCheckFailed;
          const bool is_pure = std::ranges::all_of(codes, [](Code code) {
            return code == Code::kNone || code == Code::kConditionalCheckFailed;
          });
          const bool is_hopeless = Has(codes, Code::kValidationError) ||
                                   Has(codes, Code::kItemCollectionSizeLimitExceeded);
          SCOPED_TRACE(::testing::PrintToString(std::vector<int>{
              static_cast<int>(first), static_cast<int>(second), static_cast<int>(third)}));
          if (is_fence_gone || (is_pure && Has(codes, Code::kConditionalCheckFailed))) {
            ASSERT_EQ(verdict.kind, Kind::kRejected);
            EXPECT_EQ(verdict.is_final, is_fence_gone);
            std::vector<std::size_t> expected;
            for (std::size_t i = 0; i < codes.size(); ++i) {
              if (codes[i] == Code::kConditionalCheckFailed) {
                expected.push_back(i);
              }
            }
            EXPECT_EQ(failed, expected);
            ++rejected;
            fenced += verdict.is_final ? 1 : 0;
          } else {
            EXPECT_EQ(verdict.kind, is_hopeless ? Kind::kRefused : Kind::kResend);
            EXPECT_THAT(failed, IsEmpty());
            EXPECT_EQ(verdict.error.has_value(), is_hopeless);
          }
        }
      }
    }
  }
  EXPECT_EQ(fenced, 64U);
  EXPECT_EQ(rejected, 64U + 3U + 7U);
}

TEST(JudgeWrite, AnItemThatCanNeverBeWrittenIsRefusedAsTheCallersOrAsTheTables) {
  const TransactWriteItems request = Request(true);
  const DynamoVerdict too_large =
      JudgeWrite(request, Cancelled({Code::kNone, Code::kValidationError, Code::kNone}));
  EXPECT_EQ(too_large.error->code(), ErrorCode::kInvalidArgument);
  const DynamoVerdict full = JudgeWrite(
      request, Cancelled({Code::kNone, Code::kItemCollectionSizeLimitExceeded, Code::kNone}));
  EXPECT_EQ(full.error->code(), ErrorCode::kUnavailable);
}

TEST(JudgeWrite, ShowsAbsentWhereTheItemIsNotThere) {
  const TransactWriteItems request = Request(true);
  DynamoAnswer<void> answer =
      Cancelled({Code::kConditionalCheckFailed, Code::kNone, Code::kConditionalCheckFailed});
  answer.error().reasons[0].item = std::nullopt;
  EXPECT_THAT(JudgeWrite(request, answer).failures,
              ElementsAre(Failure{.action = 0, .actual = std::nullopt},
                          Failure{.action = 2, .actual = "theirs"}));
}

TEST(JudgeWrite, DoesNotBelieveAListThatDoesNotFitTheRequest) {
  const TransactWriteItems request = Request(true);
  EXPECT_EQ(JudgeWrite(request, Cancelled({})).kind, Kind::kResend);
  EXPECT_EQ(JudgeWrite(request, Cancelled({Code::kConditionalCheckFailed})).kind, Kind::kResend);
  EXPECT_EQ(JudgeWrite(request, Cancelled({Code::kNone, Code::kNone, Code::kNone})).kind,
            Kind::kResend)
      << "cancelled for no reason";
  // The old items were not returned: what failed is said, what is there is not.
  DynamoAnswer<void> silent = Cancelled({Code::kNone, Code::kConditionalCheckFailed, Code::kNone});
  silent.error().reasons[1].item = std::nullopt;
  EXPECT_EQ(JudgeWrite(request, silent).kind, Kind::kResend) << "absent is what it expects";
  DynamoAnswer<void> wrong = Cancelled({Code::kConditionalCheckFailed, Code::kNone, Code::kNone});
  wrong.error().reasons[0].item = "mine";
  EXPECT_EQ(JudgeWrite(request, wrong).kind, Kind::kResend) << "the fence holds for what it shows";
}

TEST(JudgeWrite, TellsWhatCannotHaveHappenedFromWhatMay) {
  const TransactWriteItems request = Request(true);
  EXPECT_EQ(JudgeWrite(request, {}).kind, Kind::kCommitted);
  for (const ErrorKind kind : {ErrorKind::kThrottling, ErrorKind::kProvisionedThroughputExceeded,
                               ErrorKind::kRequestLimitExceeded}) {
    EXPECT_EQ(JudgeWrite(request, Failed(kind)).kind, Kind::kResend);
  }
  for (const ErrorKind kind : {ErrorKind::kNoAnswer, ErrorKind::kInternalServerError,
                               ErrorKind::kTransactionInProgress, ErrorKind::kMalformedItem}) {
    EXPECT_EQ(JudgeWrite(request, Failed(kind)).kind, Kind::kUnanswered);
  }
  for (const auto& [kind, code] :
       {std::pair(ErrorKind::kValidation, ErrorCode::kInvalidArgument),
        std::pair(ErrorKind::kResourceNotFound, ErrorCode::kUnavailable),
        std::pair(ErrorKind::kAccessDenied, ErrorCode::kUnavailable),
        std::pair(ErrorKind::kIdempotentParameterMismatch, ErrorCode::kUnavailable)}) {
    const DynamoVerdict verdict = JudgeWrite(request, Failed(kind));
    EXPECT_EQ(verdict.kind, Kind::kRefused);
    EXPECT_EQ(verdict.error->code(), code);
  }
}

TEST(JudgeWrite, NeverLooksAtAMessage) {
  const TransactWriteItems request = Request(true);
  DynamoAnswer<void> conflict = Cancelled({Code::kTransactionConflict, Code::kNone, Code::kNone});
  conflict.error().message = "Transaction cancelled [ConditionalCheckFailed, None, None]";
  EXPECT_EQ(JudgeWrite(request, conflict).kind, Kind::kResend);
}

TEST(IsFence, IsACheckOfExactBytesInFirstPlaceAlone) {
  EXPECT_TRUE(IsFence(Request(true)));
  EXPECT_FALSE(IsFence(Request(false)));
  TransactWriteItems absent = Request(true);
  absent.actions[0].condition = DynamoCondition::Absent();
  EXPECT_FALSE(IsFence(absent)) << "what is absent may be absent again";
  TransactWriteItems put = Request(true);
  put.actions[0].verb = DynamoAction::Verb::kPut;
  EXPECT_FALSE(IsFence(put));
  EXPECT_FALSE(IsFence({}));
}

TEST(JudgeRead, ReadsAgainUnlessThatCannotHelp) {
  for (const ErrorKind kind :
       {ErrorKind::kNoAnswer, ErrorKind::kInternalServerError, ErrorKind::kThrottling,
        ErrorKind::kProvisionedThroughputExceeded, ErrorKind::kRequestLimitExceeded}) {
    EXPECT_EQ(JudgeRead({.kind = kind}), std::nullopt);
  }
  EXPECT_EQ(JudgeRead(Cancelled({Code::kNone, Code::kTransactionConflict}).error()), std::nullopt);
  EXPECT_EQ(JudgeRead(Cancelled({Code::kNone, Code::kValidationError}).error())->code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(JudgeRead({.kind = ErrorKind::kValidation})->code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(JudgeRead({.kind = ErrorKind::kResourceNotFound})->code(), ErrorCode::kUnavailable);
  EXPECT_EQ(JudgeRead({.kind = ErrorKind::kAccessDenied})->code(), ErrorCode::kUnavailable);
  EXPECT_EQ(JudgeRead({.kind = ErrorKind::kMalformedItem})->code(), ErrorCode::kCorruption);
}

TEST(DescribeDynamoError, NamesTheExceptionAndCountsTheReasons) {
  DynamoError error = Cancelled({Code::kTransactionConflict, Code::kNone, Code::kNone}).error();
  error.message = "why";
  EXPECT_EQ(DescribeDynamoError(error),
            "TransactionCanceledException (why), 2 × None, 1 × TransactionConflict");
  EXPECT_EQ(DescribeDynamoError({.kind = ErrorKind::kNoAnswer}), "no answer");
}

}  // namespace
}  // namespace lake::metastore
