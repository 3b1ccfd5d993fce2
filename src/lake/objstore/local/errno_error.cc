#include <cctype>
#include <cerrno>
#include <string>
#include <system_error>

#include "lake/objstore/local/errno_error_internal.h"

namespace lake::objstore {
namespace {

std::string Describe(std::string_view operation, std::string_view path, std::string_view step,
                     int error) {
  // The library's texts begin like sentences; "I/O error" and the like stay as they are.
  std::string reason = std::generic_category().message(error);
  if (reason.size() > 1 && std::islower(static_cast<unsigned char>(reason[1])) != 0) {
    reason[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(reason[0])));
  }
  std::string text(operation);
  text += ' ';
  text += path;
  text += ": ";
  text += step;
  text += ": ";
  text += reason;
  return text;
}

// The codes that mean the same for every operation.
ErrorCode CommonCode(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
    case EOPNOTSUPP:
    case ENOSYS:
      return ErrorCode::kPermissionDenied;
    case ENAMETOOLONG:
      return ErrorCode::kInvalidArgument;
    default:
      // Full disks, failing disks, no more file descriptors: it may be better later.
      return ErrorCode::kUnavailable;
  }
}

}  // namespace

Error ReadError(std::string_view operation, std::string_view path, std::string_view step,
                int error) {
  const bool absent = error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENXIO;
  return {absent ? ErrorCode::kNotFound : CommonCode(error),
          Describe(operation, path, step, error)};
}

Error ChangeError(std::string_view operation, std::string_view path, std::string_view step,
                  int error) {
  const bool no_place = error == ENOTDIR || error == ELOOP;
  return {no_place ? ErrorCode::kInvalidArgument : CommonCode(error),
          Describe(operation, path, step, error)};
}

Error UnknownError(std::string_view operation, std::string_view path, std::string_view step,
                   int error) {
  return {ErrorCode::kOutcomeUnknown, Describe(operation, path, step, error)};
}

}  // namespace lake::objstore
