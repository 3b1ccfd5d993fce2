// Why the fence is a check inside the publication's own transaction, and not a question asked
// before it: a process can stand still between any two of its instructions, for as long as it
// likes. What is asked before is history when the write arrives. Here the question and the write
// are one step of the store.
//
// Why the latest authority is taken at the last moment: a heartbeat between the beginning of a
// piece of work and its publication moves the deadline, and one that was captured early would make
// work fail that is perfectly entitled. The guard inside is the same; so a publication that was
// begun before a heartbeat and sent after it succeeds.
//
// Why work belongs to the epoch it began under: a process may lose the term, and win it again. What
// it read under the old term may have been changed by the leader in between, and the new guard
// would let it through. So the epochs are compared here, before anything is sent.
#include "lake/lease/fenced_store.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lake/lease/fence_internal.h"
#include "lake/lease/lane_internal.h"
#include "lake/lease/records.h"

namespace lake::lease {
namespace {

using metastore::CommitResult;
using metastore::Item;
using metastore::Rejected;
using metastore::Transaction;

Status CheckPublication(const Transaction& transaction) {
  LAKE_TRY_VOID(WithContext(transaction.Validate(), "publish"));
  if (transaction.items().size() > kPublicationKeysMax) {
    return InvalidArgument(fmt::format("publish: {} keys, at most {} are allowed beside the fence",
                                       transaction.items().size(), kPublicationKeysMax));
  }
  for (const Item& item : transaction.items()) {
    if (item.key.starts_with(kLeasePrefix)) {
      return InvalidArgument(fmt::format(
          "publish: key {} belongs to the election; nobody else may name it", item.key));
    }
  }
  return {};
}

}  // namespace

Status CheckEpoch(const Authority& authority, Epoch begun_under) {
  if (authority.guard.epoch() != begun_under) {
    return Fenced(fmt::format("publish: the work began under epoch {}, the present one is {}",
                              begun_under.ToString(), authority.guard.epoch().ToString()));
  }
  return {};
}

Result<Authority> AuthorityFor(const AuthoritySlot& slot, Epoch begun_under) {
  LAKE_TRY(Authority authority, slot.Current());
  LAKE_TRY_VOID(CheckEpoch(authority, begun_under));
  return authority;
}

Transaction TermCheck(const LeaseGuard& guard) {
  Transaction transaction;
  transaction.Check(std::string(kTermKey), metastore::Expectation::Exactly(guard.term_bytes()));
  return transaction;
}

void AppendItem(const Item& item, Transaction& transaction) {
  switch (item.action) {
    case Item::Action::kCheck:
      transaction.Check(item.key, item.expectation);
      break;
    case Item::Action::kPut:
      transaction.Put(item.key, item.expectation, item.value);
      break;
    case Item::Action::kDelete:
      transaction.Delete(item.key, item.expectation);
      break;
  }
}

bool IsTermFailure(const Rejected& rejected) {
  return std::ranges::any_of(rejected.failures, [](const metastore::FailedExpectation& failure) {
    return failure.item == kTermItem;
  });
}

Error DropFenced(Epoch epoch, AuthoritySlot& slot) {
  slot.Drop(epoch);
  return Error(
      ErrorCode::kFenced,
      fmt::format("publish: epoch {} is over, somebody else took the term; nothing was done",
                  epoch.ToString()));
}

FencedStore::FencedStore(metastore::MetaStore& raw, Clock& clock, AuthoritySlot& slot)
    : raw_(raw), clock_(clock), slot_(slot) {
  if (!raw_.traits().shared_checks) {
    lane_ = std::make_unique<Lane>(raw_, clock_, slot_, kLaneWaitingMax);
  }
}

FencedStore::~FencedStore() = default;

Result<std::optional<std::string>> FencedStore::Get(std::string_view key, Deadline deadline) const {
  return raw_.Get(key, deadline);
}

Result<std::vector<std::optional<std::string>>> FencedStore::GetTogether(
    const std::vector<std::string>& keys, Deadline deadline) const {
  return raw_.GetTogether(keys, deadline);
}

Result<metastore::Page> FencedStore::Scan(std::string_view prefix, std::string_view after,
                                          std::size_t limit, Deadline deadline) const {
  return raw_.Scan(prefix, after, limit, deadline);
}

Result<CommitResult> FencedStore::Commit(const Transaction& transaction, Epoch begun_under,
                                         Deadline deadline) {
  LAKE_TRY_VOID(CheckPublication(transaction));
  if (lane_ != nullptr) {
    return lane_->Commit(transaction, begun_under, deadline);
  }
  return Send(transaction, begun_under, deadline);
}

Result<CommitResult> FencedStore::Send(const Transaction& transaction, Epoch begun_under,
                                       Deadline deadline) {
  LAKE_TRY(const Authority authority, AuthorityFor(slot_, begun_under));
  Transaction fenced = TermCheck(authority.guard);
  for (const Item& item : transaction.items()) {
    AppendItem(item, fenced);
  }
  Result<CommitResult> answer = raw_.Commit(fenced, std::min(deadline, authority.deadline));
  if (!answer.has_value()) {
    if (answer.error().code() == ErrorCode::kDeadlineExceeded && clock_.Now() < deadline) {
      return NotLeader("publish: the authority ended before anything was sent");
    }
    return answer;
  }
  if (auto* rejected = std::get_if<Rejected>(&*answer); rejected != nullptr) {
    if (IsTermFailure(*rejected)) {
      return std::unexpected(DropFenced(authority.guard.epoch(), slot_));
    }
    for (metastore::FailedExpectation& failure : rejected->failures) {
      --failure.item;
    }
  }
  return answer;
}

Result<LeaseGuard> FencedStore::current_guard() const {
  LAKE_TRY(Authority authority, slot_.Current());
  return std::move(authority.guard);
}

Result<Epoch> FencedStore::CurrentEpoch() const {
  return slot_.EpochForNewWork();
}

}  // namespace lake::lease
