#pragma once

#include <expected>
#include <string>
#include <utility>

#include "lake/base/result.h"
#include "lake/cli/exit_code.h"

namespace lake::cli {

// Why a command did not do what it was asked, and what its user can do next. An Error becomes one without advice.
struct Failure {
  // NOLINTNEXTLINE(google-explicit-constructor): LAKE_TRY passes an Error on as the Failure it is.
  Failure(Error why) : error(std::move(why)), exit_code(ExitCodeFor(error.code())) {}

  Failure(Error why, std::string next_step)
      : error(std::move(why)), next(std::move(next_step)), exit_code(ExitCodeFor(error.code())) {}

  Error error;
  std::string next;  // One line, often a command to type; empty if there is nothing useful to say.
  ExitCode exit_code;
};

// What a command gives back.
using Outcome = std::expected<void, Failure>;

// Returns the failure for a command line that is wrong.
inline std::unexpected<Failure> UsageError(std::string message, std::string next) {
  Failure failure(Error(ErrorCode::kInvalidArgument, std::move(message)), std::move(next));
  failure.exit_code = ExitCode::kUsage;
  return std::unexpected(std::move(failure));
}

// Returns the failure for `error`, with advice.
inline std::unexpected<Failure> Fail(Error error, std::string next) {
  return std::unexpected(Failure(std::move(error), std::move(next)));
}

}  // namespace lake::cli
