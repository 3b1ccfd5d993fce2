#include "lake/base/result.h"

namespace lake {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kUnauthenticated:
      return "unauthenticated";
    case ErrorCode::kPermissionDenied:
      return "permission_denied";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kAlreadyExists:
      return "already_exists";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kNotLeader:
      return "not_leader";
    case ErrorCode::kFenced:
      return "fenced";
    case ErrorCode::kOutcomeUnknown:
      return "outcome_unknown";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kDeadlineExceeded:
      return "deadline_exceeded";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kCorruption:
      return "corruption";
    case ErrorCode::kUnimplemented:
      return "unimplemented";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

Error Error::With(std::string_view context) const {
  std::string message(context);
  message += ": ";
  message += message_;
  return Error(code_, std::move(message));
}

std::string Error::ToString() const {
  std::string text(ErrorCodeName(code_));
  text += ": ";
  text += message_;
  return text;
}

std::unexpected<Error> InvalidArgument(std::string message) {
  return std::unexpected(Error(ErrorCode::kInvalidArgument, std::move(message)));
}

std::unexpected<Error> Unauthenticated(std::string message) {
  return std::unexpected(Error(ErrorCode::kUnauthenticated, std::move(message)));
}

std::unexpected<Error> PermissionDenied(std::string message) {
  return std::unexpected(Error(ErrorCode::kPermissionDenied, std::move(message)));
}

std::unexpected<Error> NotFound(std::string message) {
  return std::unexpected(Error(ErrorCode::kNotFound, std::move(message)));
}

std::unexpected<Error> AlreadyExists(std::string message) {
  return std::unexpected(Error(ErrorCode::kAlreadyExists, std::move(message)));
}

std::unexpected<Error> Conflict(std::string message) {
  return std::unexpected(Error(ErrorCode::kConflict, std::move(message)));
}

std::unexpected<Error> NotLeader(std::string message) {
  return std::unexpected(Error(ErrorCode::kNotLeader, std::move(message)));
}

std::unexpected<Error> Fenced(std::string message) {
  return std::unexpected(Error(ErrorCode::kFenced, std::move(message)));
}

std::unexpected<Error> OutcomeUnknown(std::string message) {
  return std::unexpected(Error(ErrorCode::kOutcomeUnknown, std::move(message)));
}

std::unexpected<Error> Unavailable(std::string message) {
  return std::unexpected(Error(ErrorCode::kUnavailable, std::move(message)));
}

std::unexpected<Error> DeadlineExceeded(std::string message) {
  return std::unexpected(Error(ErrorCode::kDeadlineExceeded, std::move(message)));
}

std::unexpected<Error> Cancelled(std::string message) {
  return std::unexpected(Error(ErrorCode::kCancelled, std::move(message)));
}

std::unexpected<Error> Corruption(std::string message) {
  return std::unexpected(Error(ErrorCode::kCorruption, std::move(message)));
}

std::unexpected<Error> Unimplemented(std::string message) {
  return std::unexpected(Error(ErrorCode::kUnimplemented, std::move(message)));
}

std::unexpected<Error> Internal(std::string message) {
  return std::unexpected(Error(ErrorCode::kInternal, std::move(message)));
}

}  // namespace lake
