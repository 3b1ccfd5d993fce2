#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lake/sql/error_internal.h"

namespace lake::sql {
namespace {

constexpr const char* kCodeKey = "lake_code";
constexpr const char* kMessageKey = "lake_message";

constexpr std::array kAllCodes = {
    ErrorCode::kInvalidArgument, ErrorCode::kUnauthenticated,  ErrorCode::kPermissionDenied,
    ErrorCode::kNotFound,        ErrorCode::kAlreadyExists,    ErrorCode::kConflict,
    ErrorCode::kNotLeader,       ErrorCode::kFenced,           ErrorCode::kOutcomeUnknown,
    ErrorCode::kUnavailable,     ErrorCode::kDeadlineExceeded, ErrorCode::kCancelled,
    ErrorCode::kCorruption,      ErrorCode::kUnimplemented,    ErrorCode::kInternal,
};

std::unordered_map<std::string, std::string> ExtraInfo(const Error& error) {
  return {{kCodeKey, std::string(ErrorCodeName(error.code()))}, {kMessageKey, error.message()}};
}

ErrorCode CodeFor(const duckdb::ErrorData& data) {
  using duckdb::ExceptionType;
  switch (data.Type()) {
    case ExceptionType::PERMISSION:
      return ErrorCode::kPermissionDenied;
    case ExceptionType::INTERRUPT:
      return ErrorCode::kCancelled;
    case ExceptionType::NOT_IMPLEMENTED:
    case ExceptionType::MISSING_EXTENSION:
    case ExceptionType::AUTOLOAD:
      return ErrorCode::kUnimplemented;
    case ExceptionType::INTERNAL:
    case ExceptionType::FATAL:
      return ErrorCode::kInternal;
    case ExceptionType::OUT_OF_MEMORY:
    case ExceptionType::IO:
    case ExceptionType::HTTP:
    case ExceptionType::NETWORK:
    case ExceptionType::CONNECTION:
      return ErrorCode::kUnavailable;
    case ExceptionType::CATALOG: {
      const auto& extra = data.ExtraInfo();
      const auto subtype = extra.find("error_subtype");
      return subtype != extra.end() && subtype->second == "MISSING_ENTRY"
                 ? ErrorCode::kNotFound
                 : ErrorCode::kInvalidArgument;
    }
    default:
      return ErrorCode::kInvalidArgument;
  }
}

}  // namespace

void ThrowWhileBinding(const Error& error) {
  throw duckdb::CatalogException(error.message(), ExtraInfo(error));
}

void ThrowWhileRunning(const Error& error) {
  throw duckdb::IOException(error.message(), ExtraInfo(error));
}

bool IsLakeError(const duckdb::ErrorData& data) {
  return data.ExtraInfo().contains(kCodeKey);
}

Error ToError(const duckdb::ErrorData& data) {
  const auto& extra = data.ExtraInfo();
  const auto code = extra.find(kCodeKey);
  const auto message = extra.find(kMessageKey);
  if (code != extra.end() && message != extra.end()) {
    for (const ErrorCode candidate : kAllCodes) {
      if (ErrorCodeName(candidate) == code->second) {
        return Error(candidate, message->second);
      }
    }
  }
  return Error(CodeFor(data), data.Message());
}

}  // namespace lake::sql
