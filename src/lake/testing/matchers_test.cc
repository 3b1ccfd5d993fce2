#include "lake/testing/matchers.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

template <typename M, typename V>
std::string Explain(const M& matcher, const V& value) {
  ::testing::StringMatchResultListener listener;
  ::testing::ExplainMatchResult(matcher, value, &listener);
  return listener.str();
}

const Status kGood;
const Status kBad = NotFound("table a.b");
const Result<int> kSeven = 7;
const Result<int> kNoInt = Conflict("version 3");

TEST(Matchers, IsOkTellsValuesFromErrors) {
  EXPECT_THAT(kGood, IsOk());
  EXPECT_THAT(kSeven, IsOk());
  EXPECT_THAT(kBad, Not(IsOk()));
  EXPECT_THAT(kNoInt, Not(IsOk()));
}

TEST(Matchers, IsOkAndLooksAtTheValue) {
  EXPECT_THAT(kSeven, IsOkAnd(7));
  EXPECT_THAT(kSeven, IsOkAnd(::testing::Gt(6)));
  EXPECT_THAT(kSeven, Not(IsOkAnd(8)));
  EXPECT_THAT(kNoInt, Not(IsOkAnd(7)));
  EXPECT_THAT((Result<std::unique_ptr<int>>(std::make_unique<int>(5))),
              IsOkAnd(::testing::Pointee(5)));
}

TEST(Matchers, IsErrorComparesTheCode) {
  EXPECT_THAT(kBad, IsError(ErrorCode::kNotFound));
  EXPECT_THAT(kBad, Not(IsError(ErrorCode::kConflict)));
  EXPECT_THAT(kGood, Not(IsError(ErrorCode::kNotFound)));
  EXPECT_THAT(kNoInt, IsError(ErrorCode::kConflict));
}

TEST(Matchers, IsErrorComparesTheMessageToo) {
  EXPECT_THAT(kBad, IsError(ErrorCode::kNotFound, HasSubstr("a.b")));
  EXPECT_THAT(kBad, Not(IsError(ErrorCode::kNotFound, HasSubstr("c.d"))));
  EXPECT_THAT(kBad, Not(IsError(ErrorCode::kConflict, HasSubstr("a.b"))));
}

TEST(Matchers, ExplainAnUnexpectedError) {
  EXPECT_EQ(Explain(IsOk(), kBad), "which is the error not_found: table a.b");
  EXPECT_EQ(Explain(IsOkAnd(7), kNoInt), "which is the error conflict: version 3");
  EXPECT_EQ(Explain(IsError(ErrorCode::kConflict), kBad),
            "which is the error not_found: table a.b");
}

TEST(Matchers, PrintResultsReadably) {
  EXPECT_EQ(::testing::PrintToString(kGood), "OK");
  EXPECT_EQ(::testing::PrintToString(kSeven), "OK with 7");
  EXPECT_EQ(::testing::PrintToString(kNoInt), "error conflict: version 3");
  EXPECT_EQ(::testing::PrintToString(ErrorCode::kFenced), "fenced");
  EXPECT_THAT(::testing::DescribeMatcher<Status>(IsError(ErrorCode::kFenced)),
              StartsWith("is the error fenced"));
}

}  // namespace
}  // namespace lake::testing
