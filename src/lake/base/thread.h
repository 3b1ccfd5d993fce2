#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "lake/base/mutex.h"

namespace lake {

// A thread of ours. It runs under the scheduler of the thread that started it, if there is one.
// Single-threaded (its owner).
class Thread {
 public:
  // Starts a thread that runs `body`, which must not throw. `name` shows in debuggers (15
  // characters of it). A machine that has no thread left ends the process.
  Thread(std::string name, std::function<void()> body);
  // Joins; a thread never outlives its Thread.
  ~Thread();
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // Waits for the body to return. May be called more than once.
  void Join();

 private:
  Scheduler* const scheduler_;
  const Scheduler::ThreadId id_;  // Meaningful only under a scheduler.
  std::thread thread_;
};

}  // namespace lake
