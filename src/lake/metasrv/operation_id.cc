#include "lake/metasrv/operation_id.h"

#include <fmt/format.h>

namespace lake::metasrv {

Status AdmitOperation(const Uuid& operation, WallTime now) {
  // RFC 9562: the variant is in the two top bits of the ninth byte.
  if (operation.version() != 7 || operation.bytes()[8] >> 6 != 0b10) {
    return InvalidArgument(
        fmt::format("operation id {}: not a version 7 UUID", operation.ToString()));
  }
  if (operation.time() < now - kOperationRetention) {
    return InvalidArgument(fmt::format(
        "operation id {}: older than {} days, so its outcome may be forgotten; use a new id",
        operation.ToString(), kOperationRetention.count() / 24));
  }
  if (operation.time() > now + kOperationAheadMax) {
    return InvalidArgument(fmt::format(
        "operation id {}: its time is more than {} hours in the future; check the clock",
        operation.ToString(), kOperationAheadMax.count()));
  }
  return {};
}

}  // namespace lake::metasrv
