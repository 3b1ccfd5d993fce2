#pragma once

#include <functional>
#include <memory>

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

}  // namespace lake::cli
