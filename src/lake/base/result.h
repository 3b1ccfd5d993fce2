#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace lake {

// The kinds of failure that a caller reacts to differently. A code exists only if somebody branches
// on it; everything else a person needs to know goes into the message.
enum class ErrorCode {
  kInvalidArgument,   // The caller's input is wrong: correct it; do not retry.
  kUnauthenticated,   // The caller did not say who it is: log in.
  kPermissionDenied,  // The caller may not do this: ask for the right.
  kNotFound,          // The named thing does not exist.
  kAlreadyExists,     // The name is taken.
  kConflict,          // A requirement no longer holds: re-read, rebase, retry.
  kNotLeader,         // This process holds no authority: go to the leader. Nothing was sent.
  kFenced,            // A newer epoch exists: stop leading now. Nothing was applied.
  kOutcomeUnknown,    // It may or may not have happened: read back, never retry blindly.
  kUnavailable,       // Certainly not applied; retry with backoff.
  kDeadlineExceeded,  // The caller's time ran out before anything was sent.
  kCancelled,         // The work was told to stop before it had any effect.
  kCorruption,        // Stored bytes break an invariant: stop and report; retrying cannot help.
  kUnimplemented,     // Lake does not do this.
  kInternal,          // A defect of ours.
};

// Returns the code's stable lower-case name, e.g. "not_found".
std::string_view ErrorCodeName(ErrorCode code);

// A failure: a code for programs and a message for people. Messages are lower-case, name the thing
// and the operation and carry no secrets.
class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }

  const std::string& message() const { return message_; }

  // Returns the same failure with "context: " before its message. Each layer adds at most one.
  Error With(std::string_view context) const;

  // Returns "code: message" for logs.
  std::string ToString() const;

  bool operator==(const Error&) const = default;

 private:
  ErrorCode code_;
  std::string message_;
};

// What a call that can fail returns: its value, or the failure.
template <typename T>
using Result = std::expected<T, Error>;

// The same for a call that returns nothing.
using Status = Result<void>;

// One maker for each code, so that a return statement reads as a sentence: `return NotFound("table
// a.b")`.
std::unexpected<Error> InvalidArgument(std::string message);
std::unexpected<Error> Unauthenticated(std::string message);
std::unexpected<Error> PermissionDenied(std::string message);
std::unexpected<Error> NotFound(std::string message);
std::unexpected<Error> AlreadyExists(std::string message);
std::unexpected<Error> Conflict(std::string message);
std::unexpected<Error> NotLeader(std::string message);
std::unexpected<Error> Fenced(std::string message);
std::unexpected<Error> OutcomeUnknown(std::string message);
std::unexpected<Error> Unavailable(std::string message);
std::unexpected<Error> DeadlineExceeded(std::string message);
std::unexpected<Error> Cancelled(std::string message);
std::unexpected<Error> Corruption(std::string message);
std::unexpected<Error> Unimplemented(std::string message);
std::unexpected<Error> Internal(std::string message);

// Says that a failure is dropped on purpose, and why.
template <typename T>
void IgnoreError(const Result<T>& /*result*/, std::string_view /*why*/) {}

// Adds context to the error of a result, if it has one.
template <typename T>
[[nodiscard]] Result<T> WithContext(Result<T> result, std::string_view context) {
  if (result.has_value()) {
    return result;
  }
  return std::unexpected(result.error().With(context));
}

}  // namespace lake

// The parts of LAKE_TRY; nobody else uses them.
#define LAKE_INTERNAL_CONCAT_(a, b) a##b
#define LAKE_INTERNAL_CONCAT(a, b) LAKE_INTERNAL_CONCAT_(a, b)
#define LAKE_INTERNAL_TRY(result, declaration, ...)                         \
  auto&& result = (__VA_ARGS__);                                            \
  if (!result.has_value()) {                                                \
    return std::unexpected(std::forward<decltype(result)>(result).error()); \
  }                                                                         \
  declaration = *std::forward<decltype(result)>(result)

// LAKE_TRY(auto x, F()) binds the value of F() to x, or returns F()'s error from the enclosing
// function.
#define LAKE_TRY(declaration, ...) \
  LAKE_INTERNAL_TRY(LAKE_INTERNAL_CONCAT(lake_try_, __COUNTER__), declaration, __VA_ARGS__)

// LAKE_TRY_VOID(F()) returns F()'s error, if any, from the enclosing function.
#define LAKE_TRY_VOID(...)                                                    \
  do {                                                                        \
    if (auto lake_try_status = (__VA_ARGS__); !lake_try_status.has_value()) { \
      return std::unexpected(std::move(lake_try_status).error());             \
    }                                                                         \
  } while (false)
