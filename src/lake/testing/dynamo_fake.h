#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/clock.h"
#include "lake/base/mutex.h"
#include "lake/base/thread_annotations.h"
#include "lake/base/time.h"
#include "lake/metastore/dynamodb/dynamo_client.h"
#include "lake/metastore/dynamodb/dynamo_protocol.h"

namespace lake::testing {

using metastore::CancellationReason;
using metastore::DynamoAction;
using metastore::DynamoAnswer;
using metastore::DynamoCondition;
using metastore::DynamoError;
using metastore::DynamoKey;
using metastore::DynamoPage;
using metastore::DynamoQuery;
using metastore::DynamoRead;
using metastore::TransactWriteItems;

// One DynamoDB table in memory, with the protocol of its transactions cut into steps, so that a
// test can stop one transaction anywhere and see what everybody else gets. What it promises is what
// DynamoDB documents and no more; where a choice is left, it takes the one that is worse for the
// caller.
//
// Laws:
//   1. A TransactWriteItems prepares its actions one by one. Preparing evaluates the condition and
//      puts a pending mark on the item, of a ConditionCheck or a missing item too. A refusal does
//      not end the preparing: the answer has a reason for every action.
//   2. An item has at most one mark. While it has one, every other transaction that names it is
//      refused with TransactionConflict, whatever its condition would say; so are TransactGetItems
//      and single-item writes.
//   3. When all are prepared one decision falls: committed if nothing was refused, else cancelled.
//      Then each marked item is finished on its own: the change applied or not, the mark gone.
//   4. GetItem and Query see each item as it stands, whatever transaction is under way: old until
//      that item is applied, though the decision has fallen and other items are new already.
//      TransactGetItems sees all of a transaction or nothing of it.
//   5. The answer comes when the last item is finished: after a success even plain strongly
//      consistent reads see everything.
//   6. A token that succeeded is remembered for ten minutes from its completion: the same request
//      succeeds again without effect, another one is an IdempotentParameterMismatch. While the
//      first is under way the same request is answered TransactionInProgress. A cancelled one leaves
//      nothing behind.
//   7. Eventually consistent reads answer from a replica that changes only in Replicate().
//
// A test drives transactions by hand, with Start and Step, or sends calls as a client would, with
// Transact and the others, and injects faults into these:
//
//   fake.Inject({.when = DynamoFake::Transactions,
//                .fault = {.kind = kStall, .steps = DynamoFake::StepsToDecision(request)}});
//
// leaves the next transaction decided, not visible, and unanswered until RunAll().
//
// A call takes the mutex for each step anew: calls of several threads interleave at every step, and
// under a Scheduler as it decides. Thread-safe.
class DynamoFake final : public metastore::DynamoClient {
 public:
  // Names a transaction of this fake.
  enum class TransactionId : std::uint64_t {};

  // How far a transaction has come.
  enum class Phase {
    kPreparing,  // The next step prepares an item or, when all are prepared, decides.
    kCommitted,  // Decided; some items are not applied yet.
    kCancelled,  // Decided; some marks are still there.
    kEnded,      // Nothing is left to do; the answer is there.
  };

  enum class Method {
    kGetItem,
    kTransactGetItems,
    kQuery,
    kPutItem,
    kDeleteItem,
    kTransactWriteItems,
  };

  // A call as a rule sees it.
  struct Call {
    Method method;
    std::vector<DynamoKey> keys;  // Of a Query, the partition and the prefix.
    const TransactWriteItems* transaction = nullptr;

    // Returns whether the call names `key`.
    bool Names(const DynamoKey& key) const;
  };

  // A number of steps that no transaction has.
  static constexpr std::size_t kAllSteps = std::numeric_limits<std::size_t>::max();
  // A number of times that never ends.
  static constexpr std::size_t kAlways = std::numeric_limits<std::size_t>::max();

  // What becomes of a call. The kinds from kDelayRequest on are for TransactWriteItems only.
  struct Fault {
    enum class Kind {
      kNone,          // It works; the rest of this struct still counts.
      kLoseRequest,   // It does not arrive. The answer is `error`.
      kLoseAnswer,    // It is done. The answer is `error`.
      kDelayRequest,  // The answer is `error`; the request arrives in DeliverDelayed().
      kStall,         // It stops after `steps` steps. The answer is `error`; RunAll() goes on.
      kDuplicate,     // It works, and arrives once more in DeliverDelayed().
    };

    Kind kind = Kind::kNone;
    // No answer, a throttling, a server error, a transaction in progress: whatever it says.
    DynamoError error = {};
    // How many steps a transaction makes before `during` runs and kStall stops it.
    std::size_t steps = kAllSteps;
    // Actions of a transaction, by their index, whose preparing is refused with this code.
    std::map<std::size_t, CancellationReason::Code> refusals = {};
    // Run on the calling thread: before the request arrives, after `steps` steps, and before the
    // answer goes back. May be empty, and may call the fake.
    std::function<void()> before = {};
    std::function<void()> during = {};
    std::function<void()> after = {};
  };

  using Predicate = std::function<bool(const Call&)>;

  // Which calls a fault is for: of those that `when` accepts, the first `skip` work, and the `times`
  // after them have the fault. `when` must not call the fake.
  struct Rule {
    Predicate when;
    std::size_t skip = 0;
    std::size_t times = 1;
    Fault fault;
  };

  // Accepts every call.
  static bool AnyCall(const Call& /*call*/) { return true; }

  // Accepts the TransactWriteItems.
  static bool Transactions(const Call& call) { return call.method == Method::kTransactWriteItems; }

  // Accepts the TransactWriteItems that name `key`.
  static Predicate TransactionsOf(DynamoKey key);

  // Returns after how many steps `request` has been decided and nothing of it applied.
  static std::size_t StepsToDecision(const TransactWriteItems& request);

  // Borrows `clock` for its lifetime: on it the ten minutes of a token and the deadlines of calls
  // are counted.
  explicit DynamoFake(Clock& clock) : clock_(clock) {}

  // --- Transactions by hand. They see no rules.

  // Begins a transaction. It has ended at once when the request is invalid or its token answers it.
  TransactionId Start(const TransactWriteItems& request) EXCLUDES(mutex_);
  // Makes the next step: prepares the first action that is not prepared, or decides, or finishes the
  // first marked item. Returns false, with nothing done, when the transaction has ended.
  bool Step(TransactionId id) EXCLUDES(mutex_);
  // Makes a step out of order: prepares or finishes this action, which must be waiting for that.
  void StepAction(TransactionId id, std::size_t action) EXCLUDES(mutex_);
  // Makes all steps that are left and returns the answer.
  DynamoAnswer<void> Run(TransactionId id) EXCLUDES(mutex_);
  // Runs every transaction that has not ended, in the order of their starts; returns how many.
  std::size_t RunAll() EXCLUDES(mutex_);
  // Returns how far the transaction has come.
  Phase PhaseOf(TransactionId id) const EXCLUDES(mutex_);
  // Returns the answer, or nothing before the transaction has ended.
  std::optional<DynamoAnswer<void>> AnswerOf(TransactionId id) const EXCLUDES(mutex_);

  // --- Calls of a client. Besides what DynamoClient names for them, each can answer whatever a rule
  // says. A request whose deadline has passed is not sent, and an answer that comes after it is
  // lost: both are kNoAnswer.

  DynamoAnswer<void> Transact(const TransactWriteItems& request, Deadline deadline) override
      EXCLUDES(mutex_);
  DynamoAnswer<std::optional<std::string>> GetItem(const DynamoKey& key, DynamoRead read,
                                                   Deadline deadline) override EXCLUDES(mutex_);
  DynamoAnswer<std::vector<std::optional<std::string>>> TransactGetItems(
      const std::vector<DynamoKey>& keys, Deadline deadline) override EXCLUDES(mutex_);
  DynamoAnswer<DynamoPage> Query(const DynamoQuery& query, Deadline deadline) override
      EXCLUDES(mutex_);
  // PutItem or DeleteItem, which Lake does not use; a ConditionCheck is not one of them.
  // kValidation, kTransactionConflict, kConditionalCheckFailed.
  DynamoAnswer<void> Write(const DynamoAction& action) EXCLUDES(mutex_);

  // The same calls without a deadline.
  DynamoAnswer<void> Transact(const TransactWriteItems& request) EXCLUDES(mutex_) {
    return Transact(request, Deadline::max());
  }

  DynamoAnswer<std::optional<std::string>> GetItem(const DynamoKey& key, DynamoRead read)
      EXCLUDES(mutex_) {
    return GetItem(key, read, Deadline::max());
  }

  DynamoAnswer<std::vector<std::optional<std::string>>> TransactGetItems(
      const std::vector<DynamoKey>& keys) EXCLUDES(mutex_) {
    return TransactGetItems(keys, Deadline::max());
  }

  DynamoAnswer<DynamoPage> Query(const DynamoQuery& query) EXCLUDES(mutex_) {
    return Query(query, Deadline::max());
  }

  // --- Faults.

  // Adds a rule. A call is seen by every rule in the order of their adding until one applies to it;
  // rules that only skip it do not end that.
  void Inject(Rule rule) EXCLUDES(mutex_);
  // Removes all rules.
  void Clear() EXCLUDES(mutex_);
  // Lets the delayed requests and the duplicates arrive, in order and past all rules, and returns
  // the answers, which nobody receives.
  std::vector<DynamoAnswer<void>> DeliverDelayed() EXCLUDES(mutex_);
  // Brings the replica of the eventually consistent reads up to date.
  void Replicate() EXCLUDES(mutex_);

  // Return how many faults happened, calls of Transact were made, and transactions have applied
  // everything.
  std::size_t fault_count() const EXCLUDES(mutex_);
  std::size_t transact_count() const EXCLUDES(mutex_);
  std::size_t effect_count() const EXCLUDES(mutex_);

 private:
  enum class ActionState { kWaiting, kMarked, kRefused, kFinished };

  struct Transaction {
    TransactWriteItems request;  // Empty once it has ended.
    std::map<std::size_t, CancellationReason::Code> refusals;
    Phase phase = Phase::kPreparing;
    std::vector<ActionState> states;
    std::vector<CancellationReason> reasons;
    std::optional<DynamoAnswer<void>> answer;
  };

  // What is known of a token: its request, and when that succeeded, if it has.
  struct Token {
    TransactWriteItems request;
    std::optional<Instant> completed;
  };

  using Items = std::map<DynamoKey, std::string>;

  Fault Choose(const Call& call) EXCLUDES(mutex_);
  // Makes a call with what goes wrong with it: `act` is told the fault and carries out its kind.
  template <typename T, typename Act>
  DynamoAnswer<T> Send(const Call& call, Deadline deadline, const Act& act) EXCLUDES(mutex_);
  // The same for a call that is not a transaction.
  template <typename T, typename Act>
  DynamoAnswer<T> SendSimple(const Call& call, Deadline deadline, const Act& act) EXCLUDES(mutex_);
  DynamoAnswer<void> Deliver(const TransactWriteItems& request, const Fault& fault)
      EXCLUDES(mutex_);
  TransactionId Open(const TransactWriteItems& request,
                     std::map<std::size_t, CancellationReason::Code> refusals) EXCLUDES(mutex_);

  Transaction& Find(TransactionId id) REQUIRES(mutex_);
  const Transaction& Find(TransactionId id) const REQUIRES(mutex_);
  // Returns the answer that the token has for the request; nothing when the request is a new one,
  // which the token then remembers.
  std::optional<DynamoAnswer<void>> AskToken(const TransactWriteItems& request) REQUIRES(mutex_);
  // Step of a transaction that was found.
  bool MakeStep(TransactionId id, Transaction& transaction) REQUIRES(mutex_);
  void Prepare(TransactionId id, Transaction& transaction, std::size_t action) REQUIRES(mutex_);
  CancellationReason Examine(const Transaction& transaction, std::size_t action) const
      REQUIRES(mutex_);
  void Decide(Transaction& transaction) REQUIRES(mutex_);
  void Finish(Transaction& transaction, std::size_t action) REQUIRES(mutex_);
  void EndIfFinished(Transaction& transaction) REQUIRES(mutex_);
  std::optional<std::string> ValueOf(const DynamoKey& key) const REQUIRES(mutex_);
  void Apply(const DynamoAction& action) REQUIRES(mutex_);
  DynamoPage ReadPage(const DynamoQuery& query) const REQUIRES(mutex_);

  Clock& clock_;
  mutable Mutex mutex_;
  Items items_ GUARDED_BY(mutex_);
  Items replica_ GUARDED_BY(mutex_);
  std::map<DynamoKey, TransactionId> marks_ GUARDED_BY(mutex_);
  std::map<TransactionId, Transaction> transactions_ GUARDED_BY(mutex_);
  std::map<std::string, Token> tokens_ GUARDED_BY(mutex_);
  std::uint64_t last_id_ GUARDED_BY(mutex_) = 0;
  std::list<Rule> rules_ GUARDED_BY(mutex_);
  std::vector<TransactWriteItems> delayed_ GUARDED_BY(mutex_);
  std::size_t fault_count_ GUARDED_BY(mutex_) = 0;
  std::size_t transact_count_ GUARDED_BY(mutex_) = 0;
  std::size_t effect_count_ GUARDED_BY(mutex_) = 0;
};

}  // namespace lake::testing
