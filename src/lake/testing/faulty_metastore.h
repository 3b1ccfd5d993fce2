#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread_annotations.h"
#include "lake/base/time.h"
#include "lake/metastore/metastore.h"
#include "lake/metastore/transaction.h"

namespace lake::testing {

// A place where calls wait until the test lets them on. Thread-safe.
class Gate {
 public:
  // Blocks until the gate is open, without a limit.
  void Pass() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ++arrived_;
    changed_.NotifyAll();
    while (!open_) {
      changed_.Wait(mutex_);
    }
  }

  // Blocks until `count` calls have come to the gate, whether or not they have gone on.
  void WaitForArrivals(std::size_t count) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (arrived_ < count) {
      changed_.Wait(mutex_);
    }
  }

  // Lets everybody on, now and from now on.
  void Open() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
  }

  // Returns how many calls have come.
  std::size_t arrived() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return arrived_;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::size_t arrived_ GUARDED_BY(mutex_) = 0;
  bool open_ GUARDED_BY(mutex_) = false;
};

// A store whose calls fail when and how a test says, in front of a store that works. Thread-safe.
//
//   faulty.Inject({.when = FaultyMetaStore::Commits, .skip = 2, .fault = {.kind = kLoseAnswer}});
//
// loses the answer of the third Commit from now on.
class FaultyMetaStore final : public metastore::MetaStore {
 public:
  enum class Method { kGet, kGetTogether, kScan, kCommit };

  // A call as a rule sees it.
  struct Call {
    Method method;
    std::vector<std::string_view> keys;  // Of a scan, the prefix.
    Deadline deadline;
    const metastore::Transaction* transaction = nullptr;  // Only of a Commit.

    // Returns whether the call names `key`.
    bool Names(std::string_view key) const {
      for (const std::string_view named : keys) {
        if (named == key) {
          return true;
        }
      }
      return false;
    }
  };

  // What becomes of a call.
  struct Fault {
    enum class Kind {
      kNone,         // It works; `before` and `after` still run.
      kError,        // The store is not asked. The answer is `error`.
      kLoseRequest,  // The store is not asked. A Commit's outcome is unknown, a read is unavailable.
      kLoseAnswer,   // The store does it. The answer is as for kLoseRequest.
      kDelay,        // As kLoseRequest, but DeliverDelayed sends a Commit later.
    };

    Kind kind = Kind::kNone;
    ErrorCode error = ErrorCode::kUnavailable;
    // Run on the calling thread before the store is asked and after it has answered: to move a clock,
    // to wait at a gate, to do what another process would do at this moment. May be empty.
    std::function<void()> before = {};
    std::function<void()> after = {};
  };

  using Predicate = std::function<bool(const Call&)>;

  // Which calls a fault is for: of those that `when` accepts, the first `skip` work, and the `times`
  // after them have the fault.
  struct Rule {
    Predicate when;
    std::size_t skip = 0;
    std::size_t times = 1;
    Fault fault;
  };

  static constexpr std::size_t kAlways = std::numeric_limits<std::size_t>::max();

  static bool AnyCall(const Call& /*call*/) { return true; }

  static bool Commits(const Call& call) { return call.method == Method::kCommit; }

  static bool Reads(const Call& call) { return call.method != Method::kCommit; }

  // Accepts the Commits that name `key`.
  static Predicate CommitsOf(std::string key) {
    return [key = std::move(key)](const Call& call) { return Commits(call) && call.Names(key); };
  }

  // Borrows `under` for its lifetime.
  explicit FaultyMetaStore(metastore::MetaStore& under) : under_(under) {}

  // Adds a rule. A call is seen by every rule in the order of their adding until one applies to it;
  // rules that only skip it do not end that.
  void Inject(Rule rule) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    rules_.push_back(std::move(rule));
  }

  // Removes all rules; what they hold at a gate stays there.
  void Clear() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    rules_.clear();
  }

  // Returns how many faults have happened, so that a test can see that its own did.
  std::size_t fault_count() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return fault_count_;
  }

  // Returns how many Commits were called.
  std::size_t commit_count() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return commit_count_;
  }

  // Sends the delayed Commits to the store, in order, and returns what became of each.
  std::vector<Result<metastore::CommitResult>> DeliverDelayed(Deadline deadline) EXCLUDES(mutex_) {
    std::vector<metastore::Transaction> delayed;
    {
      const MutexLock lock(mutex_);
      delayed = std::exchange(delayed_, {});
    }
    std::vector<Result<metastore::CommitResult>> results;
    results.reserve(delayed.size());
    for (const metastore::Transaction& transaction : delayed) {
      results.push_back(under_.Commit(transaction, deadline));
    }
    return results;
  }

  Result<std::optional<std::string>> Get(std::string_view key, Deadline deadline) override {
    return Run<std::optional<std::string>>(
        {.method = Method::kGet, .keys = {key}, .deadline = deadline},
        [&] { return under_.Get(key, deadline); });
  }

  Result<std::vector<std::optional<std::string>>> GetTogether(const std::vector<std::string>& keys,
                                                              Deadline deadline) override {
    return Run<std::vector<std::optional<std::string>>>(
        {.method = Method::kGetTogether, .keys = {keys.begin(), keys.end()}, .deadline = deadline},
        [&] { return under_.GetTogether(keys, deadline); });
  }

  Result<metastore::Page> Scan(std::string_view prefix, std::string_view after, std::size_t limit,
                               Deadline deadline) override {
    return Run<metastore::Page>({.method = Method::kScan, .keys = {prefix}, .deadline = deadline},
                                [&] { return under_.Scan(prefix, after, limit, deadline); });
  }

  Result<metastore::CommitResult> Commit(const metastore::Transaction& transaction,
                                         Deadline deadline) override {
    Call call{
        .method = Method::kCommit, .keys = {}, .deadline = deadline, .transaction = &transaction};
    for (const metastore::Item& item : transaction.items()) {
      call.keys.push_back(item.key);
    }
    return Run<metastore::CommitResult>(call, [&] { return under_.Commit(transaction, deadline); });
  }

  Traits traits() const override { return under_.traits(); }

 private:
  // Returns the fault of the rule that applies, and counts.
  Fault Choose(const Call& call) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    commit_count_ += call.method == Method::kCommit ? 1 : 0;
    for (auto rule = rules_.begin(); rule != rules_.end(); ++rule) {
      if (!rule->when(call)) {
        continue;
      }
      if (rule->skip > 0) {
        --rule->skip;
        continue;
      }
      ++fault_count_;
      Fault fault = rule->fault;
      if (fault.kind == Fault::Kind::kDelay && call.transaction != nullptr) {
        delayed_.push_back(*call.transaction);
      }
      if (rule->times != kAlways) {
        --rule->times;
        if (rule->times == 0) {
          rules_.erase(rule);
        }
      }
      return fault;
    }
    return {};
  }

  template <typename T, typename Send>
  Result<T> Run(const Call& call, const Send& send) EXCLUDES(mutex_) {
    const Fault fault = Choose(call);
    if (fault.before) {
      fault.before();
    }
    std::optional<Result<T>> answer;
    if (fault.kind == Fault::Kind::kNone || fault.kind == Fault::Kind::kLoseAnswer) {
      answer.emplace(send());
    }
    if (fault.after) {
      fault.after();
    }
    if (fault.kind == Fault::Kind::kNone) {
      return *std::move(answer);
    }
    if (fault.kind == Fault::Kind::kError) {
      return std::unexpected(Error(fault.error, "injected: the store failed"));
    }
    if (call.method == Method::kCommit) {
      return OutcomeUnknown("injected: no answer");
    }
    return Unavailable("injected: no answer");
  }

  metastore::MetaStore& under_;
  mutable Mutex mutex_;
  std::list<Rule> rules_ GUARDED_BY(mutex_);
  std::vector<metastore::Transaction> delayed_ GUARDED_BY(mutex_);
  std::size_t fault_count_ GUARDED_BY(mutex_) = 0;
  std::size_t commit_count_ GUARDED_BY(mutex_) = 0;
};

}  // namespace lake::testing
