#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/mutex.h"
#include "lake/base/thread_annotations.h"
#include "lake/objstore/objstore.h"

namespace lake::testing {

// An object store between a test and the real one that loses, refuses and holds requests.
//
// Every call of the store and of its writers is a request, numbered from 1 in the order in which
// they come. The test's rule says what happens to each. To enumerate failures: fail request 1 of a
// fresh run, then request 2, … until a run ends without having reached it. Thread-safe.
class FaultyObjectStore final : public objstore::ObjectStore {
 public:
  enum class Operation {
    kGet,
    kGetRange,
    kStat,
    kPut,
    kStartWrite,
    kAppend,
    kFinish,
    kList,
    kDelete
  };

  struct Request {
    Operation operation;
    std::string path;        // The prefix for kList, the first path for kDelete.
    std::size_t number = 0;  // From 1.
  };

  enum class Fault {
    kNone,
    kRefuse,       // Not done; kUnavailable.
    kLoseRequest,  // Not done; the caller cannot know that.
    kLoseAnswer,   // Done; the caller cannot know that.
    kHoldRequest,  // Waits for Release() before it is done.
    kHoldAnswer,   // Is done, and waits for Release() before it answers.
  };

  using Rule = std::function<Fault(const Request& request)>;

  // `store` must outlive the object. Without a rule nothing happens to requests.
  explicit FaultyObjectStore(objstore::ObjectStore& store) : store_(store) {}

  // Applies `rule` to the requests that come from now on. It is called under a mutex of the store
  // and must not call the store.
  void SetRule(Rule rule) EXCLUDES(mutex_);
  // Makes `fault` happen to the `n`-th request from now, counted from 1, and to no other.
  void FailNth(std::size_t n, Fault fault) EXCLUDES(mutex_);
  // Makes every request from the `n`-th from now on fail as if this process had lost its store.
  void RefuseFrom(std::size_t n) EXCLUDES(mutex_);

  // Runs `before` on the calling thread before the `n`-th request from now, counted from 1, is done,
  // and `after` before it answers: to do what another process would do at this moment. Either may be
  // empty, and may call the store. The rule for the request still counts. One call at a time is kept.
  void InterruptNth(std::size_t n, std::function<void()> before, std::function<void()> after)
      EXCLUDES(mutex_);

  // Waits (in real time, without limit) until at least `count` requests are held.
  void WaitForHeld(std::size_t count) EXCLUDES(mutex_);
  // Lets all requests go on that are held now.
  void Release() EXCLUDES(mutex_);

  // Returns the requests so far, in order.
  std::vector<Request> requests() const EXCLUDES(mutex_);

  // A lost request or answer is kOutcomeUnknown for puts, Finish and deletes, and kUnavailable for
  // everything else; kRefuse is kUnavailable for all.
  Result<std::string> Get(std::string_view path, std::uint64_t size_max,
                          Deadline deadline) override;
  Result<std::string> GetRange(std::string_view path, std::uint64_t offset, std::uint64_t length,
                               Deadline deadline) override;
  Result<objstore::ObjectInfo> Stat(std::string_view path, Deadline deadline) override;
  Status PutIfAbsent(std::string_view path, std::string_view bytes, Deadline deadline) override;
  Result<std::unique_ptr<objstore::ObjectWriter>> StartWrite(std::string_view path,
                                                             Deadline deadline) override;
  Result<objstore::ObjectPage> List(std::string_view prefix, std::string_view after,
                                    std::size_t limit, Deadline deadline) override;
  Status Delete(const std::vector<std::string>& paths, Deadline deadline) override;

 private:
  class Writer;

  // Lets one request through as the rule says. `call` does it.
  template <typename T>
  Result<T> Pass(Operation operation, std::string_view path, const std::function<Result<T>()>& call)
      EXCLUDES(mutex_);

  // What happens at one request besides its fault.
  struct Interruption {
    std::size_t number = 0;  // Of the request; 0: none.
    std::function<void()> before;
    std::function<void()> after;
  };

  struct Begun {
    Fault fault = Fault::kNone;
    Interruption interruption;  // Empty functions when it is not at this request.
  };

  Begun Begin(Operation operation, std::string_view path) EXCLUDES(mutex_);
  template <typename T>
  Result<T> Act(Fault fault, Operation operation, std::string_view path,
                const std::function<Result<T>()>& call) EXCLUDES(mutex_);
  void Hold() EXCLUDES(mutex_);

  objstore::ObjectStore& store_;
  mutable Mutex mutex_;
  CondVar changed_;  // A request is held, or was released.
  Rule rule_ GUARDED_BY(mutex_);
  Interruption interruption_ GUARDED_BY(mutex_);
  std::vector<Request> requests_ GUARDED_BY(mutex_);
  std::size_t held_ GUARDED_BY(mutex_) = 0;
  std::size_t releases_ GUARDED_BY(mutex_) = 0;
};

}  // namespace lake::testing
