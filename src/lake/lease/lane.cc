// The problem. On DynamoDB a condition check counts as a write of the item it checks. Two
// transactions that check the same term conflict and one is cancelled; and one item takes only so
// many checks a second. A thousand publications that each check the term would spend their time
// cancelling each other.
//
// The idea. One transaction is in flight at a time. What arrives meanwhile waits, and the next
// transaction carries as much of it as the limits allow under a single check. Nobody waits for a
// timer: a publication that finds the lane idle is sent at once, and how much is combined follows
// from how long the store takes.
//
// What must not change is any answer.
//   - Rejected: members that failed are answered with their own failures. The others were not
//     applied either, by no fault of theirs: they are sent again, before everything that waits, in
//     order. Each such round answers at least one member, so it ends.
//   - Fenced: all members, and the authority is dropped. Those that wait then find no authority.
//   - An error of the store goes to every member: what may have happened may have happened to all.
//     Only "invalid argument" is taken apart, because then nothing was done and it can be the fault
//     of one member: each is sent again alone.
//   - Deadlines: the flight's is the latest of its members', and never beyond the authority's. A
//     caller whose own comes earlier leaves then: with "deadline exceeded" while it is still in the
//     queue, with "outcome unknown" while it is in flight.
//   - Order: a publication never overtakes an earlier one that names one of its keys.
#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/lease/fence_internal.h"
#include "lake/lease/lane_internal.h"

namespace lake::lease {

using metastore::CommitResult;
using metastore::Rejected;
using metastore::Transaction;

Lane::Lane(metastore::MetaStore& raw, Clock& clock, AuthoritySlot& slot, std::size_t waiting_max)
    : raw_(raw),
      clock_(clock),
      slot_(slot),
      waiting_max_(waiting_max),
      thread_(std::make_unique<Thread>("lake-lane", [this] { Run(); })) {}

Lane::~Lane() {
  {
    const MutexLock lock(mutex_);
    LAKE_CHECK(queue_.empty(), "nobody commits through a lane that goes");
    stopping_ = true;
    work_.NotifyAll();
  }
  thread_->Join();
}

Result<CommitResult> Lane::Commit(const Transaction& publication, Epoch begun_under,
                                  Deadline deadline) {
  // Those who are not entitled are told so at once, not when their turn comes.
  LAKE_TRY_VOID(AuthorityFor(slot_, begun_under));
  const auto mine = std::make_shared<Waiting>(publication, begun_under, deadline);
  const MutexLock lock(mutex_);
  if (queue_.size() >= waiting_max_) {
    return Unavailable(
        fmt::format("publish: {} publications are waiting already; try again", queue_.size()));
  }
  queue_.push_back(mine);
  work_.NotifyOne();
  while (mine->state != Waiting::State::kAnswered) {
    if (clock_.Now() >= deadline) {
      if (mine->state == Waiting::State::kQueued) {
        std::erase(queue_, mine);
        return DeadlineExceeded("publish: the deadline passed before its turn came");
      }
      mine->abandoned = true;
      return OutcomeUnknown("publish: no answer before the deadline");
    }
    clock_.WaitUntil(mine->answered, mutex_, deadline);
  }
  return *std::move(mine->answer);
}

void Lane::Run() {
  while (const std::optional<Flight> flight = NextFlight()) {
    Land(*flight, raw_.Commit(flight->combination.Build(), flight->deadline));
  }
}

std::optional<Lane::Flight> Lane::NextFlight() {
  const MutexLock lock(mutex_);
  while (true) {
    while (queue_.empty() && !stopping_) {
      work_.Wait(mutex_);
    }
    if (queue_.empty()) {
      return std::nullopt;
    }
    const Result<Authority> authority = slot_.Current();
    AnswerHopeless(authority);
    if (authority.has_value() && !queue_.empty()) {
      if (std::optional<Flight> flight = Pack(*authority); flight.has_value()) {
        return flight;
      }
    }
  }
}

void Lane::AnswerHopeless(const Result<Authority>& authority) {
  const Instant now = clock_.Now();
  std::erase_if(queue_, [&](const WaitingPtr& waiting) {
    if (now >= waiting->deadline) {
      Answer(*waiting, DeadlineExceeded("publish: the deadline passed before its turn came"));
    } else if (!authority.has_value()) {
      Answer(*waiting, std::unexpected(authority.error()));
    } else if (const Status status = CheckEpoch(*authority, waiting->begun_under);
               !status.has_value()) {
      Answer(*waiting, std::unexpected(status.error()));
    } else {
      return false;
    }
    return true;
  });
}

std::optional<Lane::Flight> Lane::Pack(const Authority& authority) {
  Flight flight{.authority = authority,
                .combination = Combination(authority.guard),
                .members = {},
                .deadline = Instant::min()};
  std::deque<WaitingPtr> left;
  std::set<std::string_view> passed_over;  // Their keys; what names one of them must not overtake.
  bool full = false;
  while (!queue_.empty()) {
    const WaitingPtr waiting = std::move(queue_.front());
    queue_.pop_front();
    const std::vector<metastore::Item>& items = waiting->publication.items();
    const bool overtakes = std::ranges::any_of(
        items, [&](const metastore::Item& item) { return passed_over.contains(item.key); });
    const bool alone = !flight.members.empty() && (waiting->alone || flight.members[0]->alone);
    if (!full && !overtakes && !alone) {
      const Combination::Added added = flight.combination.Add(waiting->publication);
      if (added == Combination::Added::kYes) {
        waiting->state = Waiting::State::kInFlight;
        flight.deadline = std::max(flight.deadline, waiting->deadline);
        flight.members.push_back(waiting);
        continue;
      }
      if (flight.members.empty()) {
        Answer(*waiting, InvalidArgument("publish: too large beside the fence; split it"));
        continue;
      }
      full = added == Combination::Added::kNoRoom;
    }
    for (const metastore::Item& item : items) {
      passed_over.insert(item.key);
    }
    left.push_back(waiting);
    if (full || flight.members[0]->alone) {
      left.insert(left.end(), queue_.begin(), queue_.end());
      queue_.clear();
    }
  }
  queue_ = std::move(left);
  if (flight.members.empty()) {
    return std::nullopt;
  }
  flight.deadline = std::min(flight.deadline, authority.deadline);
  return flight;
}

void Lane::Land(const Flight& flight, const Result<CommitResult>& result) {
  const MutexLock lock(mutex_);
  if (!result.has_value()) {
    LandError(flight, result.error());
  } else if (const auto* rejected = std::get_if<Rejected>(&*result); rejected != nullptr) {
    LandRejected(flight, *rejected);
  } else {
    for (const WaitingPtr& member : flight.members) {
      Answer(*member, *result);
    }
  }
}

void Lane::LandRejected(const Flight& flight, const Rejected& rejected) {
  if (IsTermFailure(rejected)) {
    const Error fenced = DropFenced(flight.authority.guard.epoch(), slot_);
    for (const WaitingPtr& member : flight.members) {
      Answer(*member, std::unexpected(fenced));
    }
    return;
  }
  const std::vector<std::optional<Rejected>> failures = flight.combination.Split(rejected);
  std::vector<WaitingPtr> innocent;
  for (std::size_t i = 0; i < flight.members.size(); ++i) {
    if (failures[i].has_value()) {
      Answer(*flight.members[i], CommitResult(*failures[i]));
    } else {
      innocent.push_back(flight.members[i]);
    }
  }
  LAKE_CHECK(innocent.size() < flight.members.size(), "a rejection is somebody's");
  Requeue(innocent);
}

void Lane::LandError(const Flight& flight, const Error& error) {
  if (error.code() == ErrorCode::kInvalidArgument && flight.members.size() > 1) {
    for (const WaitingPtr& member : flight.members) {
      member->alone = true;
    }
    Requeue(flight.members);
    return;
  }
  const Instant now = clock_.Now();
  for (const WaitingPtr& member : flight.members) {
    if (error.code() == ErrorCode::kDeadlineExceeded && now < member->deadline) {
      Answer(*member, NotLeader("publish: the authority ended before anything was sent"));
    } else {
      Answer(*member, std::unexpected(error));
    }
  }
}

void Lane::Requeue(const std::vector<WaitingPtr>& members) {
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (!(*member)->abandoned) {
      (*member)->state = Waiting::State::kQueued;
      queue_.push_front(*member);
    }
  }
}

void Lane::Answer(Waiting& waiting, Result<CommitResult> answer) {
  waiting.state = Waiting::State::kAnswered;
  waiting.answer = std::move(answer);
  waiting.answered.NotifyAll();
}

}  // namespace lake::lease
