#pragma once

#include <chrono>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"

namespace lake::metasrv {

// How long the record of a finished operation is kept at least, and with it how old an id may be that is admitted.
inline constexpr std::chrono::hours kOperationRetention{7 * 24};
// How far an id may lie ahead of the leader's clock.
inline constexpr std::chrono::hours kOperationAheadMax{24};

// Decides whether an operation may run under `operation`: a version 7 UUID, not older than kOperationRetention and not more than
// kOperationAheadMax ahead of `now`. A record is kept until its id's time and its own are older than both together, so an id is
// never admitted whose record may be gone. kInvalidArgument says which rule is broken.
Status AdmitOperation(const Uuid& operation, WallTime now);

}  // namespace lake::metasrv
