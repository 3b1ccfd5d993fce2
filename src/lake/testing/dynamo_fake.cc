// Why a fake of our own. The emulators one can run execute one request at a time: with them no
// transaction ever meets another, and the answers that make DynamoDB hard (conflict, in progress, an
// item that is decided and still reads old) never come. Lake's safety rests on what happens then.
//
// The model is two-phase commit with one coordinator that never forgets. An item carries at most one
// mark, the name of the transaction that holds it between its preparing and its finishing. Nobody
// waits for a mark; whoever meets one is refused. That excludes both deadlock and dirty reads, and it
// is why two transactions that name the same items in opposite order can refuse each other.
//
// Invariants:
//   - A marked item's value does not change but by the transaction that marked it: what its
//     condition said in the preparing still holds at the decision.
//   - A transaction that has ended holds no mark.
//   - A token without a time of completion belongs to a transaction that has not ended.
//
// What the documentation leaves open, and what is chosen here:
//   - A token under way with other parameters is a mismatch, not in progress.
//   - A coordinator that has stalled is taken up again only by RunAll(). DynamoDB does that by itself
//     after some seconds; a client must be right however long it takes.
//   - An item named twice is a ValidationException of the request, an item that is too large a
//     ValidationError among the reasons.

#include "lake/testing/dynamo_fake.h"

#include <algorithm>
#include <expected>
#include <utility>

#include "lake/base/check.h"

namespace lake::testing {

namespace {

using Code = CancellationReason::Code;
using FaultKind = DynamoFake::Fault::Kind;
using Verb = DynamoAction::Verb;

std::unexpected<DynamoError> Fail(DynamoError::Kind kind, std::string message) {
  return std::unexpected(DynamoError{.kind = kind, .message = std::move(message)});
}

std::unexpected<DynamoError> Cancelled(std::vector<CancellationReason> reasons) {
  return std::unexpected(DynamoError{.kind = DynamoError::Kind::kTransactionCanceled,
                                     .message = "the transaction was cancelled",
                                     .reasons = std::move(reasons)});
}

void CallIfThere(const std::function<void()>& function) {
  if (function) {
    function();
  }
}

template <typename Items>
std::optional<std::string> Lookup(const Items& items, const DynamoKey& key) {
  const auto found = items.find(key);
  return found == items.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

bool DynamoFake::Call::Names(const DynamoKey& key) const {
  return std::ranges::find(keys, key) != keys.end();
}

DynamoFake::Predicate DynamoFake::TransactionsOf(DynamoKey key) {
  return [key = std::move(key)](const Call& call) { return Transactions(call) && call.Names(key); };
}

std::size_t DynamoFake::StepsToDecision(const TransactWriteItems& request) {
  return request.actions.size() + 1;
}

DynamoFake::TransactionId DynamoFake::Start(const TransactWriteItems& request) {
  return Open(request, {});
}

DynamoFake::TransactionId DynamoFake::Open(
    const TransactWriteItems& request, std::map<std::size_t, CancellationReason::Code> refusals) {
  const MutexLock lock(mutex_);
  const TransactionId id{++last_id_};
  Transaction transaction{.request = request,
                          .refusals = std::move(refusals),
                          .states = std::vector(request.actions.size(), ActionState::kWaiting),
                          .reasons = std::vector<CancellationReason>(request.actions.size())};
  if (DynamoAnswer<void> valid = metastore::ValidateTransaction(request); !valid) {
    transaction.answer = std::move(valid);
  } else {
    transaction.answer = AskToken(request);
  }
  if (transaction.answer.has_value()) {
    transaction.phase = Phase::kEnded;
  }
  transactions_.emplace(id, std::move(transaction));
  return id;
}

std::optional<DynamoAnswer<void>> DynamoFake::AskToken(const TransactWriteItems& request) {
  const Instant now = clock_.Now();
  std::erase_if(tokens_, [&](const auto& entry) {
    return entry.second.completed.has_value() &&
           now >= *entry.second.completed + metastore::kDynamoTokenMemory;
  });
  if (!request.client_request_token.has_value()) {
    return std::nullopt;
  }
  const auto [token, is_new] = tokens_.try_emplace(*request.client_request_token,
                                                   Token{.request = request, .completed = {}});
  if (is_new) {
    return std::nullopt;
  }
  if (token->second.request != request) {
    return Fail(DynamoError::Kind::kIdempotentParameterMismatch,
                "the token belongs to another request");
  }
  if (!token->second.completed.has_value()) {
    return Fail(DynamoError::Kind::kTransactionInProgress, "the request has not ended");
  }
  return DynamoAnswer<void>();
}

bool DynamoFake::Step(TransactionId id) {
  const MutexLock lock(mutex_);
  return MakeStep(id, Find(id));
}

bool DynamoFake::MakeStep(TransactionId id, Transaction& transaction) {
  if (transaction.phase == Phase::kEnded) {
    return false;
  }
  const bool preparing = transaction.phase == Phase::kPreparing;
  const auto next = std::ranges::find(transaction.states,
                                      preparing ? ActionState::kWaiting : ActionState::kMarked);
  const auto action = static_cast<std::size_t>(next - transaction.states.begin());
  if (!preparing) {
    Finish(transaction, action);
  } else if (next == transaction.states.end()) {
    Decide(transaction);
  } else {
    Prepare(id, transaction, action);
  }
  return true;
}

void DynamoFake::StepAction(TransactionId id, std::size_t action) {
  const MutexLock lock(mutex_);
  Transaction& transaction = Find(id);
  LAKE_CHECK(action < transaction.states.size(), "the transaction has this action");
  if (transaction.phase == Phase::kPreparing) {
    LAKE_CHECK(transaction.states[action] == ActionState::kWaiting, "an action is prepared once");
    Prepare(id, transaction, action);
  } else {
    Finish(transaction, action);
  }
}

DynamoAnswer<void> DynamoFake::Run(TransactionId id) {
  while (Step(id)) {
  }
  return *AnswerOf(id);
}

std::size_t DynamoFake::RunAll() {
  std::vector<TransactionId> unfinished;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, transaction] : transactions_) {
      if (transaction.phase != Phase::kEnded) {
        unfinished.push_back(id);
      }
    }
  }
  // One that a call is running in another thread may end, and go, in between.
  const auto step_if_there = [this](TransactionId id) {
    const MutexLock lock(mutex_);
    const auto found = transactions_.find(id);
    return found != transactions_.end() && MakeStep(id, found->second);
  };
  for (const TransactionId id : unfinished) {
    while (step_if_there(id)) {
    }
  }
  return unfinished.size();
}

DynamoFake::Phase DynamoFake::PhaseOf(TransactionId id) const {
  const MutexLock lock(mutex_);
  return Find(id).phase;
}

std::optional<DynamoAnswer<void>> DynamoFake::AnswerOf(TransactionId id) const {
  const MutexLock lock(mutex_);
  return Find(id).answer;
}

DynamoFake::Transaction& DynamoFake::Find(TransactionId id) {
  const auto found = transactions_.find(id);
  LAKE_CHECK(found != transactions_.end(), "a transaction is named by whoever started it");
  return found->second;
}

const DynamoFake::Transaction& DynamoFake::Find(TransactionId id) const {
  const auto found = transactions_.find(id);
  LAKE_CHECK(found != transactions_.end(), "a transaction is named by whoever started it");
  return found->second;
}

void DynamoFake::Prepare(TransactionId id, Transaction& transaction, std::size_t action) {
  CancellationReason reason = Examine(transaction, action);
  if (reason.code == Code::kNone) {
    marks_.emplace(transaction.request.actions[action].key, id);
    transaction.states[action] = ActionState::kMarked;
  } else {
    transaction.states[action] = ActionState::kRefused;
  }
  transaction.reasons[action] = std::move(reason);
}

CancellationReason DynamoFake::Examine(const Transaction& transaction, std::size_t index) const {
  const DynamoAction& action = transaction.request.actions[index];
  if (const auto refusal = transaction.refusals.find(index);
      refusal != transaction.refusals.end()) {
    return {.code = refusal->second};
  }
  if (marks_.contains(action.key)) {
    return {.code = Code::kTransactionConflict};
  }
  if (metastore::DynamoItemBytes(action.key, action.value) > metastore::kDynamoItemBytesMax) {
    return {.code = Code::kValidationError};
  }
  std::optional<std::string> value = ValueOf(action.key);
  if (action.condition.HoldsFor(value)) {
    return {};
  }
  if (action.on_failure == DynamoAction::OnFailure::kNone) {
    value.reset();
  }
  return {.code = Code::kConditionalCheckFailed, .item = std::move(value)};
}

void DynamoFake::Decide(Transaction& transaction) {
  const bool refused =
      std::ranges::find(transaction.states, ActionState::kRefused) != transaction.states.end();
  transaction.phase = refused ? Phase::kCancelled : Phase::kCommitted;
  EndIfFinished(transaction);
}

void DynamoFake::Finish(Transaction& transaction, std::size_t index) {
  LAKE_CHECK(index < transaction.states.size() && transaction.states[index] == ActionState::kMarked,
             "an action is finished once, and only if it was prepared");
  const DynamoAction& action = transaction.request.actions[index];
  if (transaction.phase == Phase::kCommitted) {
    Apply(action);
  }
  LAKE_CHECK(marks_.erase(action.key) == 1, "a mark stays until its transaction lifts it");
  transaction.states[index] = ActionState::kFinished;
  EndIfFinished(transaction);
}

void DynamoFake::EndIfFinished(Transaction& transaction) {
  if (std::ranges::find(transaction.states, ActionState::kMarked) != transaction.states.end()) {
    return;
  }
  const std::optional<std::string>& token = transaction.request.client_request_token;
  if (transaction.phase == Phase::kCommitted) {
    ++effect_count_;
    transaction.answer = DynamoAnswer<void>();
    if (token.has_value()) {
      tokens_.at(*token).completed = clock_.Now();
    }
  } else {
    transaction.answer = Cancelled(std::move(transaction.reasons));
    if (token.has_value()) {
      tokens_.erase(*token);
    }
  }
  transaction.phase = Phase::kEnded;
  transaction.request = {};
}

std::optional<std::string> DynamoFake::ValueOf(const DynamoKey& key) const {
  return Lookup(items_, key);
}

void DynamoFake::Apply(const DynamoAction& action) {
  switch (action.verb) {
    case Verb::kConditionCheck:
      return;
    case Verb::kPut:
      items_.insert_or_assign(action.key, action.value);
      return;
    case Verb::kDelete:
      items_.erase(action.key);
      return;
  }
}

DynamoAnswer<void> DynamoFake::Transact(const TransactWriteItems& request, Deadline deadline) {
  Call call{.method = Method::kTransactWriteItems, .keys = {}, .transaction = &request};
  for (const DynamoAction& action : request.actions) {
    call.keys.push_back(action.key);
  }
  return Send<void>(call, deadline, [&](const Fault& fault) { return Deliver(request, fault); });
}

DynamoAnswer<void> DynamoFake::Deliver(const TransactWriteItems& request, const Fault& fault) {
  if (fault.kind == FaultKind::kDelayRequest || fault.kind == FaultKind::kDuplicate) {
    const MutexLock lock(mutex_);
    delayed_.push_back(request);
  }
  if (fault.kind == FaultKind::kLoseRequest || fault.kind == FaultKind::kDelayRequest) {
    return std::unexpected(fault.error);
  }
  const TransactionId id = Open(request, fault.refusals);
  std::size_t steps = 0;
  while (steps < fault.steps && Step(id)) {
    ++steps;
  }
  CallIfThere(fault.during);
  if (fault.kind == FaultKind::kStall) {
    return std::unexpected(fault.error);
  }
  DynamoAnswer<void> answer = Run(id);
  {
    const MutexLock lock(mutex_);
    transactions_.erase(id);
  }
  if (fault.kind == FaultKind::kLoseAnswer) {
    return std::unexpected(fault.error);
  }
  return answer;
}

DynamoFake::Fault DynamoFake::Choose(const Call& call) {
  const MutexLock lock(mutex_);
  transact_count_ += Transactions(call) ? 1 : 0;
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

template <typename T, typename Act>
DynamoAnswer<T> DynamoFake::Send(const Call& call, Deadline deadline, const Act& act) {
  const Fault fault = Choose(call);
  CallIfThere(fault.before);
  if (clock_.Now() >= deadline) {
    return Fail(DynamoError::Kind::kNoAnswer, "the deadline passed before it was sent");
  }
  DynamoAnswer<T> answer = act(fault);
  CallIfThere(fault.after);
  if (clock_.Now() >= deadline) {
    return Fail(DynamoError::Kind::kNoAnswer, "the deadline passed before the answer came");
  }
  return answer;
}

template <typename T, typename Act>
DynamoAnswer<T> DynamoFake::SendSimple(const Call& call, Deadline deadline, const Act& act) {
  return Send<T>(call, deadline, [&](const Fault& fault) -> DynamoAnswer<T> {
    LAKE_CHECK(fault.kind < FaultKind::kDelayRequest, "this fault is for transactions");
    if (fault.kind == FaultKind::kLoseRequest) {
      return std::unexpected(fault.error);
    }
    DynamoAnswer<T> answer = act();
    if (fault.kind == FaultKind::kLoseAnswer) {
      return std::unexpected(fault.error);
    }
    return answer;
  });
}

DynamoAnswer<std::optional<std::string>> DynamoFake::GetItem(const DynamoKey& key, DynamoRead read,
                                                             Deadline deadline) {
  using Value = std::optional<std::string>;
  return SendSimple<Value>({.method = Method::kGetItem, .keys = {key}}, deadline,
                           [&]() -> DynamoAnswer<Value> {
                             if (DynamoAnswer<void> valid = metastore::ValidateKey(key); !valid) {
                               return std::unexpected(std::move(valid).error());
                             }
                             const MutexLock lock(mutex_);
                             return Lookup(read == DynamoRead::kStrong ? items_ : replica_, key);
                           });
}

DynamoAnswer<std::vector<std::optional<std::string>>> DynamoFake::TransactGetItems(
    const std::vector<DynamoKey>& keys, Deadline deadline) {
  using Values = std::vector<std::optional<std::string>>;
  return SendSimple<Values>(
      {.method = Method::kTransactGetItems, .keys = keys}, deadline, [&]() -> DynamoAnswer<Values> {
        if (DynamoAnswer<void> valid = metastore::ValidateKeys(keys); !valid) {
          return std::unexpected(std::move(valid).error());
        }
        const MutexLock lock(mutex_);
        Values values;
        std::vector<CancellationReason> reasons;
        std::size_t bytes = 0;
        bool conflict = false;
        for (const DynamoKey& key : keys) {
          const bool marked = marks_.contains(key);
          conflict = conflict || marked;
          reasons.push_back({.code = marked ? Code::kTransactionConflict : Code::kNone});
          values.push_back(ValueOf(key));
          bytes += values.back().has_value() ? metastore::DynamoItemBytes(key, *values.back()) : 0;
        }
        if (conflict) {
          return Cancelled(std::move(reasons));
        }
        if (bytes > metastore::kDynamoTransactionBytesMax) {
          return Fail(DynamoError::Kind::kValidation, "a transaction has at most 4 MB");
        }
        return values;
      });
}

DynamoAnswer<DynamoPage> DynamoFake::Query(const DynamoQuery& query, Deadline deadline) {
  const DynamoKey from{.partition = query.partition, .sort = query.prefix};
  return SendSimple<DynamoPage>(
      {.method = Method::kQuery, .keys = {from}}, deadline, [&]() -> DynamoAnswer<DynamoPage> {
        if (DynamoAnswer<void> valid = metastore::ValidateQuery(query); !valid) {
          return std::unexpected(std::move(valid).error());
        }
        const MutexLock lock(mutex_);
        return ReadPage(query);
      });
}

DynamoPage DynamoFake::ReadPage(const DynamoQuery& query) const {
  const Items& items = query.read == DynamoRead::kStrong ? items_ : replica_;
  auto at = query.after.empty() ? items.lower_bound({query.partition, query.prefix})
                                : items.upper_bound({query.partition, query.after});
  DynamoPage page;
  std::size_t bytes = 0;
  for (; at != items.end() && at->first.partition == query.partition &&
         at->first.sort.starts_with(query.prefix);
       ++at) {
    bytes += metastore::DynamoItemBytes(at->first, at->second);
    if (bytes > metastore::kDynamoPageBytesMax) {
      page.last_evaluated = page.items.back().sort;
      return page;
    }
    page.items.push_back({.sort = at->first.sort, .value = at->second});
    if (page.items.size() == query.limit) {
      page.last_evaluated = at->first.sort;
      return page;
    }
  }
  return page;
}

DynamoAnswer<void> DynamoFake::Write(const DynamoAction& action) {
  LAKE_CHECK(action.verb != Verb::kConditionCheck, "a single write puts or deletes");
  const Method method = action.verb == Verb::kPut ? Method::kPutItem : Method::kDeleteItem;
  return SendSimple<void>(
      {.method = method, .keys = {action.key}}, Deadline::max(), [&]() -> DynamoAnswer<void> {
        if (DynamoAnswer<void> valid = metastore::ValidateKey(action.key); !valid) {
          return valid;
        }
        if (metastore::DynamoItemBytes(action.key, action.value) > metastore::kDynamoItemBytesMax) {
          return Fail(DynamoError::Kind::kValidation, "the item is too large");
        }
        const MutexLock lock(mutex_);
        if (marks_.contains(action.key)) {
          return Fail(DynamoError::Kind::kTransactionConflict, "a transaction holds the item");
        }
        std::optional<std::string> value = ValueOf(action.key);
        if (!action.condition.HoldsFor(value)) {
          DynamoError error{.kind = DynamoError::Kind::kConditionalCheckFailed,
                            .message = "the condition does not hold"};
          if (action.on_failure == DynamoAction::OnFailure::kAllOld) {
            error.item = std::move(value);
          }
          return std::unexpected(std::move(error));
        }
        Apply(action);
        return {};
      });
}

void DynamoFake::Inject(Rule rule) {
  const MutexLock lock(mutex_);
  rules_.push_back(std::move(rule));
}

void DynamoFake::Clear() {
  const MutexLock lock(mutex_);
  rules_.clear();
}

std::vector<DynamoAnswer<void>> DynamoFake::DeliverDelayed() {
  std::vector<TransactWriteItems> delayed;
  {
    const MutexLock lock(mutex_);
    delayed = std::exchange(delayed_, {});
  }
  std::vector<DynamoAnswer<void>> answers;
  answers.reserve(delayed.size());
  for (const TransactWriteItems& request : delayed) {
    answers.push_back(Deliver(request, {}));
  }
  return answers;
}

void DynamoFake::Replicate() {
  const MutexLock lock(mutex_);
  replica_ = items_;
}

std::size_t DynamoFake::fault_count() const {
  const MutexLock lock(mutex_);
  return fault_count_;
}

std::size_t DynamoFake::transact_count() const {
  const MutexLock lock(mutex_);
  return transact_count_;
}

std::size_t DynamoFake::effect_count() const {
  const MutexLock lock(mutex_);
  return effect_count_;
}

}  // namespace lake::testing
