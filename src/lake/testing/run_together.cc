#include "lake/testing/run_together.h"

#include <memory>
#include <vector>

#include "lake/base/mutex.h"
#include "lake/base/thread.h"

namespace lake::testing {

void RunTogether(std::size_t count, const std::function<void(std::size_t)>& body) {
  Mutex mutex;
  CondVar all_here;
  std::size_t here = 0;
  std::vector<std::unique_ptr<Thread>> threads;
  threads.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    threads.push_back(std::make_unique<Thread>("together", [&, i] {
      {
        const MutexLock lock(mutex);
        if (++here == count) {
          all_here.NotifyAll();
        }
        while (here < count) {
          all_here.Wait(mutex);
        }
      }
      body(i);
    }));
  }
}

}  // namespace lake::testing
