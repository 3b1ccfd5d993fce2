#include "lake/base/turn_scheduler_test_internal.h"

#include "lake/base/check.h"

namespace lake {

TurnScheduler::TurnScheduler(std::uint64_t seed) : random_(seed) {
  tasks_.emplace_back();
  numbers_[std::this_thread::get_id()] = 0;
}

void TurnScheduler::Lock(Mutex& mutex) {
  Guard guard(mutex_);
  const std::size_t self = Record("lock");
  tasks_[self].wants = &mutex;
  TakeTurns(guard, self);
  tasks_[self].wants = nullptr;
  held_.insert(&mutex);
}

void TurnScheduler::Unlock(Mutex& mutex) {
  Guard guard(mutex_);
  const std::size_t self = Record("unlock");
  LAKE_CHECK(held_.erase(&mutex) == 1, "only a held mutex is given back");
  TakeTurns(guard, self);
}

void TurnScheduler::Wait(CondVar& cv, Mutex& mutex) {
  Guard guard(mutex_);
  const std::size_t self = Record("wait");
  LAKE_CHECK(held_.erase(&mutex) == 1, "only a held mutex is given back");
  tasks_[self].waits_for = &cv;
  tasks_[self].wants = &mutex;
  TakeTurns(guard, self);
  tasks_[self].wants = nullptr;
  held_.insert(&mutex);
}

void TurnScheduler::Notify(CondVar& cv, bool all) {
  Guard guard(mutex_);
  const std::size_t self = Record(all ? "notify all" : "notify one");
  std::vector<std::size_t> waiters;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].waits_for == &cv) {
      waiters.push_back(i);
    }
  }
  if (!all && !waiters.empty()) {
    waiters = {waiters[Below(waiters.size())]};
  }
  for (const std::size_t waiter : waiters) {
    tasks_[waiter].waits_for = nullptr;
  }
  TakeTurns(guard, self);
}

Scheduler::ThreadId TurnScheduler::ThreadCreate() {
  const Guard guard(mutex_);
  Record("create");
  tasks_.emplace_back();
  return ThreadId{tasks_.size() - 1};
}

void TurnScheduler::ThreadBegin(ThreadId id) {
  Guard guard(mutex_);
  const auto self = static_cast<std::size_t>(id);
  numbers_[std::this_thread::get_id()] = self;
  turn_changed_.wait(guard, [&] { return turn_ == self; });
  Record("begin");
}

void TurnScheduler::ThreadEnd() {
  const Guard guard(mutex_);
  const std::size_t self = Record("end");
  tasks_[self].ended = true;
  numbers_.erase(std::this_thread::get_id());
  ChooseNext();
}

void TurnScheduler::ThreadJoin(ThreadId id) {
  Guard guard(mutex_);
  const std::size_t self = Record("join");
  tasks_[self].joins = static_cast<std::size_t>(id);
  TakeTurns(guard, self);
  tasks_[self].joins = kNobody;
}

std::vector<TurnScheduler::Step> TurnScheduler::trace() const {
  const Guard guard(mutex_);
  return trace_;
}

std::size_t TurnScheduler::Record(const std::string& what) {
  const std::size_t self = numbers_.at(std::this_thread::get_id());
  LAKE_CHECK(turn_ == self, "only the thread whose turn it is takes a step");
  trace_.push_back({.thread = self, .what = what});
  return self;
}

std::size_t TurnScheduler::Below(std::size_t bound) {
  // The random numbers have a mutex of their own, which must not come back here.
  const ScopedScheduler none(nullptr);
  return random_.Below(bound);
}

bool TurnScheduler::CanRun(const Task& task) const {
  return !task.ended && task.waits_for == nullptr &&
         (task.wants == nullptr || !held_.contains(task.wants)) &&
         (task.joins == kNobody || tasks_[task.joins].ended);
}

void TurnScheduler::ChooseNext() {
  std::vector<std::size_t> able;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (CanRun(tasks_[i])) {
      able.push_back(i);
    }
  }
  LAKE_CHECK(!able.empty(), "somebody can run");
  turn_ = able[Below(able.size())];
  turn_changed_.notify_all();
}

void TurnScheduler::TakeTurns(Guard& guard, std::size_t self) {
  ChooseNext();
  turn_changed_.wait(guard, [&] { return turn_ == self; });
}

}  // namespace lake
