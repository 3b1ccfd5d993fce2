#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lake/base/mutex.h"
#include "lake/testing/seeded_random.h"

namespace lake {

// A scheduler that lets one thread run at a time and chooses the next one by its seed at every
// step, and keeps a trace. The thread that makes it is its thread 0. When nobody can run it ends
// the process. Thread-safe.
class TurnScheduler final : public Scheduler {
 public:
  struct Step {
    std::size_t thread = 0;
    std::string what;

    bool operator==(const Step&) const = default;
  };

  explicit TurnScheduler(std::uint64_t seed);

  void Lock(Mutex& mutex) override;
  void Unlock(Mutex& mutex) override;
  void Wait(CondVar& cv, Mutex& mutex) override;
  void Notify(CondVar& cv, bool all) override;
  ThreadId ThreadCreate() override;
  void ThreadBegin(ThreadId id) override;
  void ThreadEnd() override;
  void ThreadJoin(ThreadId id) override;

  // Returns the steps in the order in which they were taken.
  std::vector<Step> trace() const;

 private:
  struct Task {
    Mutex* wants = nullptr;        // Runs when this is free.
    CondVar* waits_for = nullptr;  // Runs when this was notified.
    std::size_t joins = kNobody;   // Runs when this has ended.
    bool ended = false;
  };

  using Guard = std::unique_lock<std::mutex>;
  static constexpr std::size_t kNobody = ~std::size_t{0};

  // Records a step of the calling thread and returns its number.
  std::size_t Record(const std::string& what);
  std::size_t Below(std::size_t bound);
  bool CanRun(const Task& task) const;
  void ChooseNext();
  // Chooses who runs next and returns when it is the turn of `self`.
  void TakeTurns(Guard& guard, std::size_t self);

  mutable std::mutex mutex_;
  std::condition_variable turn_changed_;
  testing::SeededRandom random_;
  std::vector<Task> tasks_;
  std::map<std::thread::id, std::size_t> numbers_;
  std::set<const Mutex*> held_;
  std::size_t turn_ = 0;
  std::vector<Step> trace_;
};

}  // namespace lake
