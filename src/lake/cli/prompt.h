#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"

namespace lake::cli {

// Reads lines that a person types at a terminal, with editing, history and completion (libedit). Single-threaded; one at a time in
// a process.
class Prompt {
 public:
  struct Options {
    // Where lines are remembered between runs; empty: nowhere. A file that cannot be read or written is passed over: a prompt
    // works without history.
    std::string history_path;
    // Returns what may stand for the word that is being typed, e.g. {"select", "sequence"} for "se". Case is the candidates'.
    std::function<std::vector<std::string>(std::string_view word)> complete;
  };

  // What happened instead of a line.
  enum class NoLine {
    kEnd,        // End of input: Ctrl-D.
    kAbandoned,  // Ctrl-C: whatever was being typed is to be forgotten.
  };

  // kUnavailable: the terminal cannot be used.
  static Result<std::unique_ptr<Prompt>> Open(Options options);

  ~Prompt();
  Prompt(const Prompt&) = delete;
  Prompt& operator=(const Prompt&) = delete;

  // Shows `label` and returns the line that is typed, without its end. Blocks.
  std::expected<std::string, NoLine> ReadLine(std::string_view label);

  // Adds a finished statement, which may span lines, to the history.
  void Remember(std::string_view statement);

 private:
  struct State;

  explicit Prompt(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// Returns the word that ends at the end of `line`: the part after the last character that no name contains. Dots and an opening
// double quote belong to it.
std::string_view WordToComplete(std::string_view line);

// Returns the candidates that begin with `word`, compared without regard to case, sorted, each once.
std::vector<std::string> Matching(std::string_view word,
                                  const std::vector<std::string>& candidates);

// Returns the longest beginning that all texts share, by the case of the first.
std::string SharedBeginning(const std::vector<std::string>& texts);

}  // namespace lake::cli
