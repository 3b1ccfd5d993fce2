#include "lake/metasrv/append_service.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lake/base/check.h"
#include "lake/metasrv/load_registered.h"
#include "lake/metasrv/not_found.h"

namespace lake::metasrv {
namespace {

using metastore::CommitResult;
using metastore::Rejected;

// How often a group starts again because its table changed.
constexpr int kRounds = 10;
// After how many versions in a row the table's other changes get a turn.
constexpr int kVersionsPerTurn = 16;

}  // namespace

Result<TableResult> AppendService::Append(const AppendRequest& request, const Change& change,
                                          Deadline deadline) {
  const auto waiting = std::make_shared<Waiting>();
  waiting->request = request;
  waiting->change = change;
  {
    const MutexLock lock(mutex_);
    const auto [found, is_new] = waiting_.try_emplace(request.incarnation);
    if (found->second.size() >= options_.waiting_max) {
      return Unavailable(fmt::format("table {}: {} appends are waiting already; retry later",
                                     request.name.ToString(), options_.waiting_max));
    }
    if (is_new) {
      // The task cannot run out of appends before this one is entered: it needs the mutex to see them.
      const Status submitted =
          deps_.queue.Submit(TableTurn(request.incarnation),
                             [this, incarnation = request.incarnation] { Drain(incarnation); });
      if (!submitted.has_value()) {
        waiting_.erase(found);
        return std::unexpected(submitted.error());
      }
    }
    found->second.push_back(waiting);
  }
  return waiting->ticket.Await(deps_.clock, deadline);
}

void AppendService::Drain(const Uuid& incarnation) {
  // What the table's registration is after a version of ours: nobody else changes it during this turn.
  std::optional<Registered> base;
  for (int versions = 0;; ++versions) {
    Group group = TakeGroup(incarnation);
    if (group.empty()) {
      return;
    }
    RunGroup(std::move(group), base);
    if (versions < kVersionsPerTurn) {
      continue;
    }
    // Behind the changes that came meanwhile. If that is refused, this turn goes on.
    if (deps_.queue.Submit(TableTurn(incarnation), [this, incarnation] { Drain(incarnation); })
            .has_value()) {
      return;
    }
  }
}

AppendService::Group AppendService::TakeGroup(const Uuid& incarnation) {
  const MutexLock lock(mutex_);
  const auto found = waiting_.find(incarnation);
  LAKE_CHECK(found != waiting_.end(), "appends are served by one task");
  std::deque<std::shared_ptr<Waiting>>& queue = found->second;
  Group group;
  while (!queue.empty() && group.size() < kAppendGroupMax) {
    const std::shared_ptr<Waiting>& next = queue.front();
    // A version is made under one epoch, for one name, and holds an id once.
    const bool fits =
        group.empty() || (next->change.epoch == group.front()->change.epoch &&
                          next->request.name == group.front()->request.name &&
                          std::ranges::none_of(group, [&](const std::shared_ptr<Waiting>& member) {
                            return member->change.id == next->change.id;
                          }));
    if (!fits) {
      break;
    }
    if (next->ticket.Begin()) {
      group.push_back(next);
    }
    queue.pop_front();
  }
  if (group.empty()) {
    waiting_.erase(found);
  }
  return group;
}

void AppendService::RunGroup(Group group, std::optional<Registered>& base) {
  for (int round = 0; round < kRounds && !group.empty(); ++round) {
    const Waiting& first = *group.front();
    const Result<std::optional<Registered>> current = FindBase(first, base);
    if (!current.has_value()) {
      AnswerAll(group, current.error());
      return;
    }
    if (!current->has_value()) {
      AnswerAll(group, NoSuchTable(first.request.name));
      return;
    }
    if ((*current)->record.incarnation != first.request.incarnation) {
      AnswerAll(group, Error(ErrorCode::kConflict,
                             fmt::format("table {} was dropped and created again since these files "
                                         "were written; append again",
                                         first.request.name.ToString())));
      return;
    }
    const Result<engine::MetadataPtr> metadata =
        LoadRegistered(deps_.engine, first.request.name, (*current)->record,
                       deps_.clock.Now() + options_.engine_timeout);
    if (!metadata.has_value()) {
      AnswerAll(group, metadata.error());
      return;
    }
    DropBadMembers(group, *metadata);
    if (group.empty()) {
      return;
    }
    const Result<TableResult> made = MakeVersion(group, **current, *metadata);
    if (made.has_value() && made->replayed) {
      // Somebody else ended the first one. How the others ended, their own records say.
      base.reset();
      AnswerEarlier(group);
      continue;
    }
    if (made.has_value()) {
      // The next version's base, without reading it back.
      base.reset();
      const catalog::PendingTable published{.base = (*current)->bytes,
                                            .planned_location = made->metadata_location};
      if (Result<catalog::Registration> next =
              catalog::NextRegistration(published, group.front()->change.id);
          next.has_value()) {
        std::string bytes = catalog::Encode(*next);
        base = Registered{.bytes = std::move(bytes), .record = *std::move(next)};
      }
      for (const std::shared_ptr<Waiting>& member : group) {
        member->ticket.End(made);
      }
      return;
    }
    base.reset();
    if (made.error().code() == ErrorCode::kConflict) {
      AnswerEarlier(group);
      continue;
    }
    if (group.size() > 1 && Operations::IsFinal(made.error().code())) {
      // It is the fault of one of them, and only that one may fail.
      for (const std::shared_ptr<Waiting>& member : group) {
        RunGroup({member}, base);
      }
      return;
    }
    AnswerAll(group, made.error());
    return;
  }
  AnswerAll(group, Error(ErrorCode::kUnavailable, "the table keeps changing; retry"));
}

Result<std::optional<AppendService::Registered>> AppendService::FindBase(
    const Waiting& first, std::optional<Registered>& base) {
  if (base.has_value()) {
    return base;
  }
  LAKE_TRY_VOID(deps_.settler.SettleTable(first.request.incarnation, first.change.epoch));
  return deps_.reader.ReadRegistration(first.request.name);
}

void AppendService::DropBadMembers(Group& group, const engine::MetadataPtr& metadata) {
  std::erase_if(group, [&](const std::shared_ptr<Waiting>& member) {
    const Status checked = deps_.engine.CheckAppend(*metadata, member->request.files,
                                                    deps_.clock.Now() + options_.engine_timeout);
    if (!checked.has_value()) {
      member->ticket.End(
          Fail(*member, checked.error().With("append to " + member->request.name.ToString())));
      return true;
    }
    if (member->request.files.empty()) {
      member->ticket.End(RecordEmpty(*member));
      return true;
    }
    return false;
  });
}

void AppendService::AnswerEarlier(Group& group) {
  std::erase_if(group, [&](const std::shared_ptr<Waiting>& member) {
    const Result<std::optional<TableResult>> earlier =
        find_earlier_(member->change, member->request.name);
    if (!earlier.has_value()) {
      // Some operation of the group is known already. That it could not be read does not say that this one is not.
      const bool certain = Operations::IsFinal(earlier.error().code());
      member->ticket.End(certain ? std::unexpected(earlier.error())
                                 : OutcomeUnknown(earlier.error().message()));
      return true;
    }
    if (earlier->has_value()) {
      member->ticket.End(**earlier);
      return true;
    }
    return false;
  });
}

void AppendService::AnswerAll(Group& group, const Error& error) {
  for (const std::shared_ptr<Waiting>& member : group) {
    member->ticket.End(Fail(*member, error));
  }
  group.clear();
}

Result<TableResult> AppendService::MakeVersion(const Group& group, const Registered& base,
                                               const engine::MetadataPtr& metadata) {
  const Waiting& first = *group.front();
  const iceberg::SnapshotId snapshot_id = deps_.versions.PlanSnapshotId(*metadata);
  const catalog::PendingTable table{
      .name = first.request.name,
      .incarnation = first.request.incarnation,
      .base = base.bytes,
      .location = base.record.location,
      .planned_location = deps_.versions.PlanLocation(base.record.location, base.record.version + 1,
                                                      first.change.epoch),
      .snapshot_id = std::to_underlying(snapshot_id)};
  std::vector<Change> changes;
  std::vector<std::string> ids;
  std::vector<iceberg::DataFile> files;
  for (const std::shared_ptr<Waiting>& member : group) {
    changes.push_back(member->change);
    ids.push_back(member->change.id.ToString());
    files.insert(files.end(), member->request.files.begin(), member->request.files.end());
  }
  return deps_.versions.Make(changes, table, [&](Deadline deadline) {
    return deps_.engine.Append(
        {.base = metadata,
         .base_location = base.record.metadata_location,
         .planned_location = table.planned_location,
         .snapshot_id = snapshot_id,
         .files = files,
         .summary = {{"lake.epoch", first.change.epoch.ToString()},
                     {"lake.operation-ids", fmt::format("{}", fmt::join(ids, ","))}},
         .now = deps_.clock.WallNow()},
        deadline);
  });
}

Result<TableResult> AppendService::RecordEmpty(const Waiting& waiting) {
  const catalog::FinishedOperation outcome =
      deps_.operations.Succeeded(waiting.change, {waiting.request.incarnation});
  LAKE_TRY(const CommitResult result,
           deps_.operations.CommitOutcome(catalog::Record(outcome), waiting.change.epoch,
                                          waiting.change.id));
  if (std::holds_alternative<Rejected>(result)) {
    LAKE_TRY(const std::optional<TableResult> earlier,
             find_earlier_(waiting.change, waiting.request.name));
    if (earlier.has_value()) {
      return *earlier;
    }
    return Unavailable(
        fmt::format("operation {}: it ended meanwhile; retry", waiting.change.id.ToString()));
  }
  return TableResult{.incarnation = waiting.request.incarnation,
                     .epoch = waiting.change.epoch.value()};
}

Result<TableResult> AppendService::Fail(const Waiting& waiting, const Error& error) {
  if (!Operations::IsFinal(error.code())) {
    return std::unexpected(error);
  }
  LAKE_TRY(const std::optional<TableResult> earlier,
           find_earlier_(waiting.change, waiting.request.name));
  if (earlier.has_value()) {
    return *earlier;
  }
  return deps_.operations.Fail(waiting.change, error, waiting.request.name);
}

}  // namespace lake::metasrv
