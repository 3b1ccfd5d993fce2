#pragma once

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/cli/connection.h"

namespace lake::cli {

// Returns what opens a data directory in this process. Clock and random must outlive every connection.
Connect EmbeddedConnect(Clock& clock, Random& random);

}  // namespace lake::cli
