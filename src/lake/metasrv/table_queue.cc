#include "lake/metasrv/table_queue.h"

#include <utility>

#include <fmt/format.h>

#include "lake/base/check.h"

namespace lake::metasrv {

Status TableQueue::Submit(const std::string& key, std::function<void()> task) {
  return Submit(std::set<std::string>{key}, std::move(task));
}

Status TableQueue::Submit(const std::set<std::string>& keys, std::function<void()> task) {
  LAKE_CHECK(!keys.empty(), "a task belongs to a key");
  const auto entered = std::make_shared<Task>(Task{.keys = keys, .run = std::move(task)});
  const MutexLock lock(mutex_);
  for (const std::string& key : keys) {
    const auto line = lines_.find(key);
    if (line == lines_.end()) {
      continue;
    }
    // One of a line runs.
    if (line->second.size() > waiting_max_) {
      return Unavailable(
          fmt::format("{} changes of this table are waiting already; retry later", waiting_max_));
    }
    ++entered->turns_missing;
  }
  if (entered->turns_missing == 0) {
    // The worker cannot finish with the task before it is entered here: it needs the mutex for that.
    LAKE_TRY_VOID(workers_.Submit([this, entered] { Run(entered); }));
  }
  for (const std::string& key : keys) {
    lines_[key].push_back(entered);
  }
  return {};
}

std::size_t TableQueue::busy_keys() {
  const MutexLock lock(mutex_);
  return lines_.size();
}

void TableQueue::Run(TaskPtr task) {
  std::deque<TaskPtr> ready = {std::move(task)};
  while (!ready.empty()) {
    const TaskPtr current = std::move(ready.front());
    ready.pop_front();
    current->run();
    for (TaskPtr& next : Leave(*current)) {
      // The first goes on here. The others do as well if no worker can take them: they were taken, so they run.
      if (ready.empty() || !workers_.Submit([this, next] { Run(next); }).has_value()) {
        ready.push_back(std::move(next));
      }
    }
  }
}

std::vector<TableQueue::TaskPtr> TableQueue::Leave(const Task& ended) {
  std::vector<TaskPtr> ready;
  const MutexLock lock(mutex_);
  for (const std::string& key : ended.keys) {
    const auto line = lines_.find(key);
    LAKE_CHECK(line != lines_.end() && line->second.front().get() == &ended,
               "a task that runs stands at the head of its lines");
    line->second.pop_front();
    if (line->second.empty()) {
      lines_.erase(line);
      continue;
    }
    const TaskPtr& head = line->second.front();
    LAKE_CHECK(head->turns_missing > 0, "who was not at the head missed a turn");
    if (--head->turns_missing == 0) {
      ready.push_back(head);
    }
  }
  return ready;
}

}  // namespace lake::metasrv
