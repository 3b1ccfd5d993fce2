#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lake::cli {

// SQL text cut at its semicolons.
struct Statements {
  std::vector<std::string>
      complete;      // Each without its semicolon and without blanks around it; none is empty.
  std::string rest;  // What follows the last semicolon; empty if that is only blanks and comments.
};

// Cuts `text` into statements. Semicolons inside single or double quotes, dollar quotes and comments separate nothing. An
// unfinished quote or comment belongs to `rest`.
Statements SplitStatements(std::string_view text);

}  // namespace lake::cli
