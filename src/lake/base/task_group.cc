#include "lake/base/task_group.h"

#include <utility>

#include "lake/base/check.h"

namespace lake {

TaskGroup::TaskGroup(Options options) : options_(std::move(options)) {
  LAKE_CHECK(options_.threads > 0, "a task group has a thread");
  threads_.reserve(options_.threads);
  for (std::size_t i = 0; i < options_.threads; ++i) {
    threads_.push_back(std::make_unique<Thread>(options_.name, [this] { Work(); }));
  }
}

TaskGroup::~TaskGroup() {
  Stop();
}

Status TaskGroup::Submit(std::function<void()> task) {
  const MutexLock lock(mutex_);
  if (stopping_) {
    return Cancelled(options_.name + ": stopping");
  }
  if (queue_.size() >= options_.queue_max) {
    return Unavailable(options_.name + ": " + std::to_string(options_.queue_max) +
                       " tasks are waiting already");
  }
  queue_.push_back(std::move(task));
  wake_.NotifyOne();
  return {};
}

void TaskGroup::Stop() {
  {
    const MutexLock lock(mutex_);
    if (stopping_) {
      while (!joined_) {
        wake_.Wait(mutex_);
      }
      return;
    }
    stopping_ = true;
    wake_.NotifyAll();
  }
  for (auto& thread : threads_) {
    thread->Join();
  }
  const MutexLock lock(mutex_);
  joined_ = true;
  wake_.NotifyAll();
}

void TaskGroup::Work() {
  while (true) {
    std::function<void()> task;
    {
      const MutexLock lock(mutex_);
      while (queue_.empty() && !stopping_) {
        wake_.Wait(mutex_);
      }
      if (queue_.empty()) {
        return;
      }
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    task();
  }
}

}  // namespace lake
