#pragma once

#include <expected>
#include <ostream>
#include <type_traits>
#include <utility>

#include <gmock/gmock.h>

#include "lake/base/result.h"

namespace lake {

// Printers that googletest finds, so that a failed expectation shows the error instead of its
// bytes.
inline void PrintTo(ErrorCode code, std::ostream* out) {
  *out << ErrorCodeName(code);
}

inline void PrintTo(const Error& error, std::ostream* out) {
  *out << error.ToString();
}

template <typename T>
void PrintTo(const std::expected<T, Error>& result, std::ostream* out) {
  if (!result.has_value()) {
    *out << "error " << result.error().ToString();
  } else if constexpr (std::is_void_v<T>) {
    *out << "OK";
  } else {
    *out << "OK with " << ::testing::PrintToString(*result);
  }
}

namespace testing {

// Matches a Result<T> or Status that holds a value.
//
//   EXPECT_THAT(store.Delete(paths, deadline), IsOk());
MATCHER(IsOk, negation ? "is an error" : "is OK") {
  if (!arg.has_value()) {
    *result_listener << "which is the error " << arg.error().ToString();
  }
  return arg.has_value();
}

// Matches a Result<T> whose value matches `value_matcher`, which may be a plain value.
//
//   EXPECT_THAT(store.Get(path, 100, deadline), IsOkAnd("bytes"));
MATCHER_P(IsOkAnd, value_matcher,
          (negation ? "is an error or has a value that does not match: "
                    : "is OK with a value that ") +
              ::testing::DescribeMatcher<typename std::remove_cvref_t<arg_type>::value_type>(
                  value_matcher)) {
  if (!arg.has_value()) {
    *result_listener << "which is the error " << arg.error().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(value_matcher, *arg, result_listener);
}

// Matches a Result<T> or Status that is an error with `code`.
//
//   EXPECT_THAT(store.Get("/none", 100, deadline), IsError(ErrorCode::kNotFound));
MATCHER_P(IsError, code,
          (negation ? "is not the error " : "is the error ") + ::testing::PrintToString(code)) {
  if (arg.has_value()) {
    *result_listener << "which is OK";
    return false;
  }
  *result_listener << "which is the error " << arg.error().ToString();
  return arg.error().code() == code;
}

// The same, and the message matches `message_matcher`: for errors that must name the thing that is
// wrong.
//
//   EXPECT_THAT(Parse("{"), IsError(ErrorCode::kInvalidArgument, HasSubstr("byte 1")));
MATCHER_P2(IsError, code, message_matcher,
           (negation ? "is not the error " : "is the error ") + ::testing::PrintToString(code) +
               " with a message that " + ::testing::DescribeMatcher<std::string>(message_matcher)) {
  if (arg.has_value()) {
    *result_listener << "which is OK";
    return false;
  }
  *result_listener << "which is the error " << arg.error().ToString();
  return arg.error().code() == code &&
         ::testing::ExplainMatchResult(message_matcher, arg.error().message(), result_listener);
}

}  // namespace testing
}  // namespace lake
