#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"

namespace lake {

// Named places at which a test can make the process stop, die or fail. They are compiled into every
// build and do nothing unless the environment says so when the process starts:
//
//   LAKE_FAILPOINTS=name=pause|exit|error[@n][,name=…]
//
//   pause   the process stops itself (SIGSTOP) and goes on at SIGCONT
//   exit    the process ends at once, without clean-up, with status kFailpointExitStatus
//   error   the failpoint returns kUnavailable
//   @n      only the n-th time it is reached, counted from 1; without it every time
//
// A name that no code knows, or a wrong form, is refused by CheckFailpointConfig.
inline constexpr int kFailpointExitStatus = 86;

// Acts as the environment says for `name`, which must be in FailpointNames(). Returns kUnavailable
// for `error`, otherwise OK. Costs one load when no failpoint is set. Thread-safe.
Status Failpoint(std::string_view name);

// Returns whether any failpoint is set. A process that listens beyond loopback must refuse to start
// then.
bool FailpointsActive();

// Returns kInvalidArgument, naming the piece, when LAKE_FAILPOINTS has a wrong form or an unknown
// name; the message then also lists the known ones.
Status CheckFailpointConfig();

// Returns the names that code may reach, sorted.
std::vector<std::string> FailpointNames();

}  // namespace lake
