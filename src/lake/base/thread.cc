#include "lake/base/thread.h"

#include <pthread.h>

#include <utility>

#include "lake/base/mutex.h"

namespace lake {

Thread::Thread(std::string name, std::function<void()> body)
    : thread_([name = std::move(name), body = std::move(body), scheduler = Scheduler::Current()] {
        static_cast<void>(pthread_setname_np(pthread_self(), name.substr(0, 15).c_str()));
        if (scheduler == nullptr) {
          body();
          return;
        }
        const ScopedScheduler scope(scheduler);
        scheduler->ThreadBegin();
        body();
        scheduler->ThreadEnd();
      }) {}

Thread::~Thread() {
  Join();
}

void Thread::Join() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace lake
