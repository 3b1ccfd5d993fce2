#pragma once

#include <signal.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "lake/base/thread.h"

namespace lake::cli {

// While it lives, Ctrl-C (SIGINT) calls a function instead of ending the process. At most one lives at a time in a process.
// Single-threaded.
class InterruptGuard {
 public:
  // `on_interrupt` is called on a thread of this object after SIGINT came; several that come close together may be one. It must
  // not block for long.
  explicit InterruptGuard(std::function<void()> on_interrupt);
  // Gives SIGINT its earlier meaning back. When it returns, the function does not run any more.
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct Handler;

  void Watch();

  std::function<void()> on_interrupt_;
  std::unique_ptr<Handler> handler_;
  int stop_;  // Readable when the watch is over.
  std::unique_ptr<Thread> thread_;
};

// While it lives, a process that is told to end (SIGINT, SIGTERM, SIGHUP) first writes a text to standard error. It ends by the
// signal all the same; one that it was started to ignore, it still ignores. At most one lives at a time in a process.
// Single-threaded.
class LastWords {
 public:
  static constexpr std::size_t kTextMax = 1024;

  // `text` has at most kTextMax bytes.
  explicit LastWords(const std::string& text);
  // Gives the signals their earlier meanings back. Blocks for ever while the text is being written: the process is ending.
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

  std::array<struct sigaction, kSignals.size()> previous_{};
};

}  // namespace lake::cli
