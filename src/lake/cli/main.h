#pragma once

#include <string>
#include <vector>

#include "lake/cli/command.h"
#include "lake/cli/context.h"
#include "lake/cli/exit_code.h"
#include "lake/cli/failure.h"
#include "lake/cli/output.h"

namespace lake::cli {

// Runs one command and makes sure that its result is written.
Outcome RunCommand(const Command& command, Context& context);

// Writes a failure as people see it: "lake: <message>", and "next: <what to do>" if something is known.
void PrintFailure(const Failure& failure, Output& err);

// The whole program: reads the command line, runs the command and returns the exit code. Called once, from main.
ExitCode Main(const std::vector<std::string>& arguments);

}  // namespace lake::cli
