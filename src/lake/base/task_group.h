#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread.h"
#include "lake/base/thread_annotations.h"

namespace lake {

// A bounded pool of workers that own the tasks given to them: a task, once taken, runs to its end
// whether or not anybody still waits for it. Thread-safe.
class TaskGroup {
 public:
  struct Options {
    std::string name = "tasks";
    std::size_t threads = 1;
    std::size_t queue_max = 1024;  // Tasks that may wait; more are refused.
  };

  explicit TaskGroup(Options options);
  // Stops.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Takes `task` to run on a worker. kUnavailable when the queue is full, kCancelled after Stop();
  // then the task never runs.
  Status Submit(std::function<void()> task) EXCLUDES(mutex_);

  // Takes no more tasks, runs those already taken, and returns when all have ended. Idempotent;
  // concurrent calls all wait. Not for a task of this group, which would wait for itself.
  void Stop() EXCLUDES(mutex_);

 private:
  void Work() EXCLUDES(mutex_);

  const Options options_;
  Mutex mutex_;
  CondVar wake_;  // A task came, or stopping_ or joined_ was set.
  std::deque<std::function<void()>> queue_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool joined_ GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<Thread>>
      threads_;  // Touched only by the constructor and the first Stop().
};

}  // namespace lake
