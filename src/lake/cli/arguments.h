#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lake/cli/command.h"
#include "lake/cli/failure.h"

namespace lake::cli {

// What the program prints instead of running anything.
struct HelpText {
  std::string text;
};

// Reads the command line behind the program's name. `environment_data_dir` is what LAKE_DATA_DIR holds: the data directory if
// the line names none; empty: ./lake-data. Every failure is a usage error.
std::expected<std::variant<Invocation, HelpText>, Failure> ParseArguments(
    const std::vector<std::string>& arguments, std::string_view environment_data_dir);

}  // namespace lake::cli
