#include "lake/base/thread.h"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace lake {
namespace {

std::thread Start(std::string name, std::function<void()> body, Scheduler* scheduler,
                  Scheduler::ThreadId id) {
  auto run = [name = std::move(name), body = std::move(body), scheduler, id] {
    static_cast<void>(pthread_setname_np(pthread_self(), name.substr(0, 15).c_str()));
    if (scheduler == nullptr) {
      body();
      return;
    }
    const ScopedScheduler scope(scheduler);
    scheduler->ThreadBegin(id);
    body();
    scheduler->ThreadEnd();
  };
  try {
    return std::thread(std::move(run));
  } catch (const std::system_error& failure) {
    // Whoever starts a thread has threads already that wait for this one's work: there is no
    // half-started state to go on from.
    std::fprintf(stderr, "lake: starting a thread failed: %s\n", failure.what());
    std::abort();
  }
}

}  // namespace

Thread::Thread(std::string name, std::function<void()> body)
    : scheduler_(Scheduler::Current()),
      id_(scheduler_ == nullptr ? Scheduler::ThreadId{} : scheduler_->ThreadCreate()),
      thread_(Start(std::move(name), std::move(body), scheduler_, id_)) {}

Thread::~Thread() {
  Join();
}

void Thread::Join() {
  if (!thread_.joinable()) {
    return;
  }
  if (scheduler_ != nullptr && Scheduler::Current() == scheduler_) {
    scheduler_->ThreadJoin(id_);
  }
  thread_.join();
}

}  // namespace lake
