#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lake/base/clock.h"
#include "lake/cli/output.h"

namespace lake::cli {

// A bar that shows how far long work has come. On anything but a terminal it writes nothing. Single-threaded.
class Progress {
 public:
  // How often it is drawn anew, at most.
  static constexpr Duration kRedrawInterval = std::chrono::milliseconds(100);

  // `out` is the terminal, or nullptr: then nothing is shown.
  Progress(Output* out, const Clock& clock) : out_(out), clock_(clock) {}

  // Clears.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows what is being done and how much of it, from 0 to 1, is behind us.
  void Show(std::string_view what, double fraction);

  // Shows what is being done and how many times it was done so far; how often it will be is not known.
  void Count(std::string_view what, std::uint64_t count);

  // Removes the bar, so that something else can be written.
  void Clear();

 private:
  // Whether it is time to draw.
  bool IsDue();
  void Draw(std::string_view text);

  Output* out_;
  const Clock& clock_;
  Instant next_draw_{};
  bool visible_ = false;
};

}  // namespace lake::cli
