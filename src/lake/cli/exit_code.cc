#include "lake/cli/exit_code.h"

#include "lake/base/check.h"

namespace lake::cli {

ExitCode ExitCodeFor(ErrorCode code) {
  switch (code) {
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kConflict:
      return ExitCode::kConflict;
    case ErrorCode::kOutcomeUnknown:
      return ExitCode::kOutcomeUnknown;
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnauthenticated:
    case ErrorCode::kPermissionDenied:
    case ErrorCode::kNotFound:
    case ErrorCode::kNotLeader:
    case ErrorCode::kFenced:
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kCancelled:
    case ErrorCode::kCorruption:
    case ErrorCode::kUnimplemented:
    case ErrorCode::kInternal:
      return ExitCode::kFailed;
  }
  LAKE_CHECK(false, "an error code has an exit code");
}

}  // namespace lake::cli
