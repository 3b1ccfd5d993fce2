#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

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

// The serialiser of tables: tasks of one key run one after another, in the order they came; tasks without a common key run in
// parallel on the workers of a TaskGroup. A task of several keys runs when its turn of each has come; all turns are taken at one
// instant, so that tasks never wait for each other in a circle. Keys without tasks are forgotten. Thread-safe.
class TableQueue {
 public:
  // `workers` must outlive this. At most `waiting_max` tasks of one key may wait.
  TableQueue(TaskGroup& workers, std::size_t waiting_max)
      : workers_(workers), waiting_max_(waiting_max) {}

  // Takes `task` to run after the tasks of `key` that came before it; a task once taken runs to its end. kUnavailable when too many
  // wait for this key or for a worker, kCancelled when the workers are stopping; then the task never runs.
  Status Submit(const std::string& key, std::function<void()> task) EXCLUDES(mutex_);
  // The same after the tasks of every one of `keys`, of which there is at least one.
  Status Submit(const std::set<std::string>& keys, std::function<void()> task) EXCLUDES(mutex_);

  // Returns how many keys have a task that runs or waits.
  std::size_t busy_keys() EXCLUDES(mutex_);

 private:
  struct Task {
    std::set<std::string> keys;
    std::function<void()> run;
    std::size_t turns_missing = 0;  // Keys in whose line others stand before it.
  };

  using TaskPtr = std::shared_ptr<Task>;

  void Run(TaskPtr task) EXCLUDES(mutex_);
  // Takes a task that has ended out of its lines and returns those whose turn has come by that.
  std::vector<TaskPtr> Leave(const Task& ended) EXCLUDES(mutex_);

  TaskGroup& workers_;
  const std::size_t waiting_max_;
  Mutex mutex_;
  // The line of each key; the task at its head runs, or waits for its turn of another key.
  std::map<std::string, std::deque<TaskPtr>> lines_ GUARDED_BY(mutex_);
};

}  // namespace lake::metasrv
