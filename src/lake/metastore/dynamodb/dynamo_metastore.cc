// The problem. A TransactWriteItems can fail in ways that say nothing about its conditions: another
// transaction held an item, the table was too busy, nobody answered. A caller that takes one of them
// for a failed condition stops leading for nothing, or reports a change as failed that was made; a
// caller that just repeats it makes the change twice.
//
// The idea. Every Commit is one request value with one token, made once. DynamoDB answers a repeated
// token with the outcome of the first, as long as it remembers it. So repeating the request *is*
// asking what became of it, and nothing else is needed as long as somebody answers in time.
//
// What may have happened. `unanswered` is set by the first attempt that may have been applied, and
// stays set. Until then a cancellation is what it says. From then on:
//   - success is success, whichever attempt it was;
//   - a cancellation means that no attempt had been applied when it was judged, for otherwise the
//     token would have answered. It does not mean that none will be: a request that is still on its
//     way is judged when it arrives. Only a failed fence excludes that.
//   - no answer by the end: read back.
//
// Why the read back is a transaction. While DynamoDB applies a transaction, plain reads see some of
// its items new and some old. A TransactGetItems is cancelled then, and read again.
//
// Why time is bounded twice. The caller's deadline bounds the waiting. The nine minutes bound the
// harm: a token is forgotten ten minutes after its transaction succeeded, and the same request is
// then a new one. The limit is also the deadline of each attempt, so that a process that stood still
// between looking at the clock and sending is stopped by the client as well.
#include "lake/metastore/dynamodb/dynamo_metastore.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/mutex.h"
#include "lake/base/uuid.h"
#include "lake/metastore/arguments.h"
#include "lake/metastore/transaction.h"

namespace lake::metastore {
namespace {

static_assert(DynamoMetaStore::kResendFor < kDynamoTokenMemory);
static_assert(kKeyBytesMax <= kDynamoSortBytesMax && kKeyBytesMax <= kDynamoPartitionBytesMax);
static_assert(kKeyBytesMax + kValueBytesMax + 100 <= kDynamoItemBytesMax);
static_assert(kTransactionKeysMax <= kDynamoTransactionActionsMax);
static_assert(kTransactionBytesMax + kTransactionKeysMax * 100 <= kDynamoTransactionBytesMax);

// The pauses between the attempts of one call. Single-threaded (its call).
class Backoff {
 public:
  Backoff(Clock& clock, Random& random, const DynamoMetaStore::Options& options)
      : clock_(clock), random_(random), bound_(options.backoff), bound_max_(options.backoff_max) {}

  // Waits for the next pause. Returns false at once when nothing could be sent after it, so that
  // the time that is left can be used otherwise.
  bool Wait(Deadline until) {
    const auto ticks = static_cast<std::uint64_t>(bound_.count());
    const Duration pause(1 + static_cast<Duration::rep>(random_.Below(ticks)));
    bound_ = std::min(bound_ * 2, bound_max_);
    const Instant now = clock_.Now();
    if (now >= until || until - now <= pause) {
      return false;
    }
    Mutex mutex;
    CondVar nobody;  // Only time ends the pause.
    const MutexLock lock(mutex);
    while (clock_.Now() < now + pause) {
      clock_.WaitUntil(nobody, mutex, now + pause);
    }
    return clock_.Now() < until;
  }

 private:
  Clock& clock_;
  Random& random_;
  Duration bound_;
  const Duration bound_max_;
};

Result<DynamoKey> ToDynamoKey(std::string_view key) {
  LAKE_TRY(const KeyParts parts, SplitKey(key));
  return DynamoKey{.partition = std::string(parts.partition), .sort = std::string(parts.rest)};
}

DynamoCondition ToCondition(const Expectation& expectation) {
  switch (expectation.kind) {
    case Expectation::Kind::kAny:
      return DynamoCondition::None();
    case Expectation::Kind::kAbsent:
      return DynamoCondition::Absent();
    case Expectation::Kind::kExactly:
      return DynamoCondition::Equals(expectation.bytes);
  }
  return DynamoCondition::None();
}

DynamoAction::Verb ToVerb(Item::Action action) {
  switch (action) {
    case Item::Action::kCheck:
      return DynamoAction::Verb::kConditionCheck;
    case Item::Action::kPut:
      return DynamoAction::Verb::kPut;
    case Item::Action::kDelete:
      return DynamoAction::Verb::kDelete;
  }
  return DynamoAction::Verb::kConditionCheck;
}

Result<TransactWriteItems> ToRequest(const Transaction& transaction, std::string token) {
  TransactWriteItems request{.client_request_token = std::move(token), .actions = {}};
  request.actions.reserve(transaction.items().size());
  for (const Item& item : transaction.items()) {
    LAKE_TRY(DynamoKey key, ToDynamoKey(item.key));
    request.actions.push_back({.key = std::move(key),
                               .verb = ToVerb(item.action),
                               .condition = ToCondition(item.expectation),
                               .value = item.value,
                               .on_failure = DynamoAction::OnFailure::kAllOld});
  }
  return request;
}

Rejected ToRejected(const Transaction& transaction, std::vector<DynamoVerdict::Failure> failures) {
  Rejected rejected;
  for (DynamoVerdict::Failure& failure : failures) {
    rejected.failures.push_back({.item = failure.action,
                                 .key = transaction.items()[failure.action].key,
                                 .actual = std::move(failure.actual)});
  }
  LAKE_CHECK(!rejected.failures.empty(), "a rejection names what failed");
  return rejected;
}

// What a write leaves behind.
std::optional<std::string> OutcomeOf(const DynamoAction& action) {
  return action.verb == DynamoAction::Verb::kPut ? std::optional(action.value) : std::nullopt;
}

}  // namespace

DynamoMetaStore::DynamoMetaStore(DynamoClient& client, Clock& clock, Random& random)
    : DynamoMetaStore(client, clock, random, Options()) {}

DynamoMetaStore::DynamoMetaStore(DynamoClient& client, Clock& clock, Random& random,
                                 Options options)
    : client_(client), clock_(clock), random_(random), options_(options) {
  LAKE_CHECK(options.attempt > Duration::zero() && options.backoff > Duration::zero() &&
                 options.backoff_max >= options.backoff,
             "an attempt takes time, and so does a pause");
}

Deadline DynamoMetaStore::AttemptDeadline(Deadline deadline) const {
  const Instant now = clock_.Now();
  return deadline - now > options_.attempt ? now + options_.attempt : deadline;
}

template <typename T, typename Call>
Result<T> DynamoMetaStore::Read(std::string_view operation, Deadline deadline, const Call& call) {
  LAKE_TRY_VOID(CheckDeadline(clock_, deadline, operation));
  Backoff backoff(clock_, random_, options_);
  while (true) {
    DynamoAnswer<T> answer = call(AttemptDeadline(deadline));
    if (answer.has_value()) {
      return *std::move(answer);
    }
    if (const std::optional<Error> error = JudgeRead(answer.error()); error.has_value()) {
      return std::unexpected(error->With(operation));
    }
    if (!backoff.Wait(deadline)) {
      return Unavailable(fmt::format("{}: not read before the deadline; DynamoDB's last answer: {}",
                                     operation, DescribeDynamoError(answer.error())));
    }
  }
}

Result<std::optional<std::string>> DynamoMetaStore::Get(std::string_view key, Deadline deadline) {
  LAKE_TRY(const DynamoKey item, ToDynamoKey(key));
  return Read<std::optional<std::string>>("get", deadline, [&](Deadline attempt) {
    return client_.GetItem(item, DynamoRead::kStrong, attempt);
  });
}

Result<std::vector<std::optional<std::string>>> DynamoMetaStore::GetTogether(
    const std::vector<std::string>& keys, Deadline deadline) {
  using Values = std::vector<std::optional<std::string>>;
  LAKE_TRY_VOID(CheckKeysTogether(keys));
  LAKE_TRY_VOID(CheckDeadline(clock_, deadline, "read together"));
  if (keys.empty()) {
    return Values();
  }
  std::vector<DynamoKey> items;
  items.reserve(keys.size());
  for (const std::string& key : keys) {
    LAKE_TRY(DynamoKey item, ToDynamoKey(key));
    items.push_back(std::move(item));
  }
  LAKE_TRY(Values values, Read<Values>("read together", deadline, [&](Deadline attempt) {
             return client_.TransactGetItems(items, attempt);
           }));
  LAKE_CHECK(values.size() == keys.size(), "a client answers every key");
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    bytes += keys[i].size() + (values[i].has_value() ? values[i]->size() : 0);
    LAKE_TRY_VOID(CheckBytesTogether(bytes));
  }
  return values;
}

Result<Page> DynamoMetaStore::Scan(std::string_view prefix, std::string_view after,
                                   std::size_t limit, Deadline deadline) {
  LAKE_TRY_VOID(CheckScan(prefix, after, limit));
  LAKE_TRY_VOID(CheckDeadline(clock_, deadline, "scan"));
  LAKE_TRY(const KeyParts parts, SplitPrefix(prefix));
  const std::string_view partition = prefix.substr(0, prefix.size() - parts.rest.size());
  DynamoQuery query{.partition = std::string(parts.partition),
                    .prefix = std::string(parts.rest),
                    .after = {},
                    .limit = limit,
                    .read = DynamoRead::kStrong};
  if (after.starts_with(prefix)) {
    // The bare partition is no item's key; nothing sorts before what follows it.
    query.after = after.substr(partition.size());
  } else if (after > prefix) {
    // Behind everything with the prefix. DynamoDB would refuse such a start.
    return Page();
  }
  LAKE_TRY(DynamoPage found, Read<DynamoPage>("scan", deadline, [&](Deadline attempt) {
             return client_.Query(query, attempt);
           }));
  const auto to_key = [&](const std::string& sort) { return std::string(partition) + sort; };
  Page page;
  page.entries.reserve(found.items.size());
  for (DynamoPage::Item& item : found.items) {
    page.entries.push_back({.key = to_key(item.sort), .value = std::move(item.value)});
  }
  if (found.last_evaluated.has_value()) {
    page.next = to_key(*found.last_evaluated);
  }
  return page;
}

Result<CommitResult> DynamoMetaStore::Commit(const Transaction& transaction, Deadline deadline) {
  LAKE_TRY_VOID(transaction.Validate());
  LAKE_TRY_VOID(CheckDeadline(clock_, deadline, "commit"));
  LAKE_TRY(const TransactWriteItems request,
           ToRequest(transaction, Uuid::Random4(random_).ToString()));
  const Deadline resend_until = std::min(deadline, clock_.Now() + kResendFor);
  Backoff backoff(clock_, random_, options_);
  bool unanswered = false;
  const auto unknown_unless_seen = [&](const std::string& why) -> Result<CommitResult> {
    if (ReadBack(request, deadline) == Sight::kApplied) {
      return Committed{};
    }
    return OutcomeUnknown(fmt::format("commit: {}", why));
  };
  while (true) {
    const DynamoAnswer<void> answer = client_.Transact(request, AttemptDeadline(resend_until));
    DynamoVerdict verdict = JudgeWrite(request, answer);
    switch (verdict.kind) {
      case DynamoVerdict::Kind::kCommitted:
        return Committed{};
      case DynamoVerdict::Kind::kRejected:
        if (!unanswered) {
          return ToRejected(transaction, std::move(verdict.failures));
        }
        return SettleRejection(transaction, request, std::move(verdict), deadline);
      case DynamoVerdict::Kind::kRefused:
        if (!unanswered) {
          return std::unexpected(*std::move(verdict.error));
        }
        return unknown_unless_seen(
            fmt::format("an attempt was not answered; then: {}", verdict.error->message()));
      case DynamoVerdict::Kind::kUnanswered:
        unanswered = true;
        break;
      case DynamoVerdict::Kind::kResend:
        break;
    }
    if (!backoff.Wait(resend_until)) {
      const std::string last = DescribeDynamoError(answer.error());
      if (unanswered) {
        return unknown_unless_seen("no answer in time; DynamoDB's last one: " + last);
      }
      return Unavailable("commit: not accepted in time; DynamoDB's last answer: " + last);
    }
  }
}

Result<CommitResult> DynamoMetaStore::SettleRejection(const Transaction& transaction,
                                                      const TransactWriteItems& request,
                                                      DynamoVerdict verdict, Deadline deadline) {
  switch (ReadBack(request, deadline)) {
    case Sight::kApplied:
      return Committed{};
    case Sight::kNotApplied:
      if (verdict.is_final) {
        return ToRejected(transaction, std::move(verdict.failures));
      }
      break;
    case Sight::kUnreadable:
      break;
  }
  return OutcomeUnknown("commit: an attempt was not answered and a later one was rejected");
}

DynamoMetaStore::Sight DynamoMetaStore::ReadBack(const TransactWriteItems& request,
                                                 Deadline deadline) {
  std::vector<DynamoKey> keys;
  std::vector<std::optional<std::string>> outcomes;
  bool is_evidence = false;
  for (const DynamoAction& action : request.actions) {
    if (action.verb != DynamoAction::Verb::kConditionCheck) {
      keys.push_back(action.key);
      outcomes.push_back(OutcomeOf(action));
      is_evidence = is_evidence || !action.condition.HoldsFor(outcomes.back());
    }
  }
  if (!is_evidence) {
    return Sight::kNotApplied;
  }
  using Values = std::vector<std::optional<std::string>>;
  const Result<Values> values = Read<Values>("read back", deadline, [&](Deadline attempt) {
    return client_.TransactGetItems(keys, attempt);
  });
  if (!values.has_value()) {
    return Sight::kUnreadable;
  }
  return *values == outcomes ? Sight::kApplied : Sight::kNotApplied;
}

MetaStore::Traits DynamoMetaStore::traits() const {
  return {.exclusive = false, .shared_checks = false};
}

}  // namespace lake::metastore
