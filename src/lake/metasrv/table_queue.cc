#include "lake/metasrv/table_queue.h"

#include <utility>

#include <fmt/format.h>

#include "lake/base/check.h"

namespace lake::metasrv {

Status TableQueue::Submit(const std::string& key, std::function<void()> task) {
  const MutexLock lock(mutex_);
  if (const auto found = waiting_.find(key); found != waiting_.end()) {
    if (found->second.size() >= waiting_max_) {
      return Unavailable(
          fmt::format("{} changes of this table are waiting already; retry later", waiting_max_));
    }
    found->second.push_back(std::move(task));
    return {};
  }
  // The worker cannot finish with the key before it is entered here: it needs the mutex for that.
  LAKE_TRY_VOID(workers_.Submit([this, key, task = std::move(task)] { Run(key, task); }));
  waiting_.try_emplace(key);
  return {};
}

std::size_t TableQueue::busy_keys() {
  const MutexLock lock(mutex_);
  return waiting_.size();
}

void TableQueue::Run(const std::string& key, const std::function<void()>& first) {
  first();
  while (true) {
    std::function<void()> next;
    {
      const MutexLock lock(mutex_);
      const auto found = waiting_.find(key);
      LAKE_CHECK(found != waiting_.end(), "a key is busy while its task runs");
      if (found->second.empty()) {
        waiting_.erase(found);
        return;
      }
      next = std::move(found->second.front());
      found->second.pop_front();
    }
    next();
  }
}

}  // namespace lake::metasrv
