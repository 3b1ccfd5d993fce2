#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/task_group.h"
#include "lake/base/thread_annotations.h"
#include "lake/base/uuid.h"
#include "lake/catalog/names.h"

namespace lake::metasrv {

// The key under which a table's changes run one after another.
inline std::string TableTurn(const Uuid& incarnation) {
  return incarnation.ToString();
}

// The key under which the creations of a name run one after another, so that a repeated request finds its own first attempt ended.
inline std::string NameTurn(const catalog::TableName& name) {
  return "name:" + name.ToString();
}

// The serialiser of tables: tasks of one key run one after another, in the order they came; tasks of different keys run in parallel
// on the workers of a TaskGroup. Keys without tasks are forgotten. Thread-safe.
class TableQueue {
 public:
  // `workers` must outlive this. At most `waiting_max` tasks of one key may wait.
  TableQueue(TaskGroup& workers, std::size_t waiting_max)
      : workers_(workers), waiting_max_(waiting_max) {}

  // Takes `task` to run after the tasks of `key` that came before it; a task once taken runs to its end. kUnavailable when too many
  // wait for this key or for a worker, kCancelled when the workers are stopping; then the task never runs.
  Status Submit(const std::string& key, std::function<void()> task) EXCLUDES(mutex_);

  // Returns how many keys have a task that runs or waits.
  std::size_t busy_keys() EXCLUDES(mutex_);

 private:
  void Run(const std::string& key, const std::function<void()>& first) EXCLUDES(mutex_);

  TaskGroup& workers_;
  const std::size_t waiting_max_;
  Mutex mutex_;
  // A key is here while one of its tasks runs; the deque holds those that wait for it.
  std::map<std::string, std::deque<std::function<void()>>> waiting_ GUARDED_BY(mutex_);
};

}  // namespace lake::metasrv
