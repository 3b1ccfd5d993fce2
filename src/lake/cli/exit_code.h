#pragma once

#include "lake/base/result.h"

namespace lake::cli {

// How the program ends. Scripts branch on these numbers: they never change. docs/reference/cli.md lists them.
enum class ExitCode : int {
  kDone = 0,
  kFailed = 1,    // It did not happen; the message says why.
  kUsage = 2,     // The command line itself is wrong; nothing was looked at.
  kConflict = 3,  // The name is taken, or what the command assumed no longer holds.
  kOutcomeUnknown =
      4,  // It may have happened: repeat it with the operation id that the message names.
};

// Returns how a command that failed with `code` ends. Errors of the command line are no ErrorCode: they are kUsage wherever
// they are found.
ExitCode ExitCodeFor(ErrorCode code);

}  // namespace lake::cli
