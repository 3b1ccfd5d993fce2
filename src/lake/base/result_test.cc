#include "lake/base/result.h"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/testing/matchers.h"

namespace lake {
namespace {

using lake::testing::IsError;
using lake::testing::IsOk;
using lake::testing::IsOkAnd;

constexpr std::string_view kAllNames[] = {
    "invalid_argument", "unauthenticated", "permission_denied", "not_found",
    "already_exists",   "conflict",        "not_leader",        "fenced",
    "outcome_unknown",  "unavailable",     "deadline_exceeded", "cancelled",
    "corruption",       "unimplemented",   "internal"};

TEST(ErrorCode, EachHasItsOwnStableName) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    EXPECT_EQ(ErrorCodeName(static_cast<ErrorCode>(i)), kAllNames[i]);
    names.insert(ErrorCodeName(static_cast<ErrorCode>(i)));
  }
  EXPECT_EQ(names.size(), std::size(kAllNames));
}

TEST(Error, EachMakerMakesItsCode) {
  const std::vector<std::unexpected<Error>> made = {
      InvalidArgument("m"), Unauthenticated("m"), PermissionDenied("m"), NotFound("m"),
      AlreadyExists("m"),   Conflict("m"),        NotLeader("m"),        Fenced("m"),
      OutcomeUnknown("m"),  Unavailable("m"),     DeadlineExceeded("m"), Cancelled("m"),
      Corruption("m"),      Unimplemented("m"),   Internal("m")};
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(made[i].error(), Error(static_cast<ErrorCode>(i), "m"));
  }
}

TEST(Error, WithPutsTheContextBeforeTheMessageAndKeepsTheCode) {
  const Error error(ErrorCode::kNotFound, "no such file");
  EXPECT_EQ(error.With("load table a.b"),
            Error(ErrorCode::kNotFound, "load table a.b: no such file"));
  EXPECT_EQ(error.ToString(), "not_found: no such file");
}

TEST(WithContext, TouchesErrorsOnly) {
  EXPECT_THAT(WithContext(Result<int>(3), "reading"), IsOkAnd(3));
  EXPECT_THAT(WithContext(Status(), "reading"), IsOk());
  EXPECT_THAT(WithContext(Result<int>(Conflict("x")), "reading"),
              IsError(ErrorCode::kConflict, "reading: x"));
}

Result<int> Half(int n) {
  if (n % 2 != 0) {
    return InvalidArgument("odd: " + std::to_string(n));
  }
  return n / 2;
}

Result<int> Quarter(int n) {
  LAKE_TRY(const int half, Half(n));
  LAKE_TRY(const int quarter, Half(half));
  return quarter;
}

TEST(LakeTry, BindsTheValueOrReturnsTheError) {
  EXPECT_THAT(Quarter(12), IsOkAnd(3));
  EXPECT_THAT(Quarter(6), IsError(ErrorCode::kInvalidArgument, "odd: 3"));
  EXPECT_THAT(Quarter(5), IsError(ErrorCode::kInvalidArgument, "odd: 5"));
}

Result<std::unique_ptr<int>> MakeBox(int n) {
  return std::make_unique<int>(n);
}

Result<int> Unbox() {
  LAKE_TRY(const std::unique_ptr<int> box, MakeBox(4));
  return *box;
}

TEST(LakeTry, MovesAValueThatCannotBeCopied) {
  EXPECT_THAT(Unbox(), IsOkAnd(4));
}

Result<std::string> Copy(const Result<std::string>& source) {
  LAKE_TRY(std::string value, source);
  return value;
}

Result<std::string> CopyNamed(Result<std::string>& source) {
  LAKE_TRY(std::string value, source);
  return value;
}

TEST(LakeTry, LeavesAResultThatHasANameAsItWas) {
  Result<std::string> value = "a string too long for the small buffer";
  EXPECT_THAT(Copy(value), IsOkAnd(*value));
  EXPECT_THAT(CopyNamed(value), IsOkAnd("a string too long for the small buffer"));
  EXPECT_THAT(value, IsOkAnd("a string too long for the small buffer"));
  Result<std::string> error = NotFound("an error too long for the small buffer");
  EXPECT_THAT(CopyNamed(error),
              IsError(ErrorCode::kNotFound, "an error too long for the small buffer"));
  EXPECT_THAT(error, IsError(ErrorCode::kNotFound, "an error too long for the small buffer"));
}

Result<std::string> BindReference() {
  LAKE_TRY(const std::string& value,
           Result<std::string>("a temporary that must outlive the statement"));
  return value;
}

TEST(LakeTry, KeepsATemporaryAliveThatIsBoundToAReference) {
  EXPECT_THAT(BindReference(), IsOkAnd("a temporary that must outlive the statement"));
}

Status AllEven(const std::vector<int>& numbers, int& looked_at) {
  for (const int n : numbers) {
    ++looked_at;
    LAKE_TRY_VOID(Half(n));
  }
  return {};
}

TEST(LakeTryVoid, GoesOnOrReturnsTheError) {
  int looked_at = 0;
  EXPECT_THAT(AllEven({2, 4, 6}, looked_at), IsOk());
  EXPECT_EQ(looked_at, 3);
  looked_at = 0;
  EXPECT_THAT(AllEven({2, 3, 4}, looked_at), IsError(ErrorCode::kInvalidArgument, "odd: 3"));
  EXPECT_EQ(looked_at, 2);
}

}  // namespace
}  // namespace lake
