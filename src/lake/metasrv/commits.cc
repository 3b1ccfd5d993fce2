#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/catalog/publications.h"
#include "lake/metasrv/load_registered.h"
#include "lake/metasrv/metasrv.h"
#include "lake/metasrv/not_found.h"

// Commits that change metadata only. Everything they name is written by the caller; the leader writes one metadata file for each
// table and publishes all of them in one transaction. There is no reservation: until the publication nothing but unnamed files
// exists, and after it nothing is left to do.
namespace lake::metasrv {
namespace {

using catalog::OperationKind;

// Returns the snapshots that a commit adds.
std::vector<const iceberg::Snapshot*> AddedSnapshots(const TableCommit& commit) {
  std::vector<const iceberg::Snapshot*> added;
  for (const iceberg::TableUpdate& update : commit.updates) {
    if (const auto* add = std::get_if<iceberg::AddSnapshot>(&update); add != nullptr) {
      added.push_back(&add->snapshot);
    }
  }
  return added;
}

// Whether a branch or tag has the snapshot in its history.
bool IsInHistory(const iceberg::TableMetadata& metadata, const iceberg::SnapshotRef& ref,
                 iceberg::SnapshotId wanted) {
  std::set<iceberg::SnapshotId> seen;
  std::optional<iceberg::SnapshotId> id = ref.snapshot_id;
  while (id.has_value() && seen.insert(*id).second) {
    if (*id == wanted) {
      return true;
    }
    const iceberg::Snapshot* snapshot = metadata.FindSnapshot(*id);
    id = snapshot == nullptr ? std::nullopt : snapshot->parent_snapshot_id;
  }
  return false;
}

// Whether every branch and tag that a commit moves to a snapshot of its own has come past it. One that is not there any more has,
// if the commit was refused: something has happened since it was asked for.
bool AreRefsMoved(const TableCommit& commit, const iceberg::TableMetadata& metadata, bool refused) {
  return std::ranges::all_of(commit.updates, [&](const iceberg::TableUpdate& update) {
    const auto* move = std::get_if<iceberg::SetSnapshotRef>(&update);
    if (move == nullptr) {
      return true;
    }
    const auto found = metadata.refs.find(move->name);
    if (found == metadata.refs.end()) {
      return refused;
    }
    const bool rolled_back =
        move->name == iceberg::kMainBranch &&
        std::ranges::any_of(metadata.snapshot_log, [&](const iceberg::SnapshotLogEntry& entry) {
          return entry.snapshot_id == move->ref.snapshot_id;
        });
    return rolled_back || IsInHistory(metadata, found->second, move->ref.snapshot_id);
  });
}

// Whether the table shows that this very commit was made before: it has the snapshots that the commit adds, and they were not only
// staged.
bool IsMade(const TableCommit& commit, const iceberg::TableMetadata& metadata, bool refused) {
  const bool has_all =
      std::ranges::all_of(AddedSnapshots(commit), [&](const iceberg::Snapshot* snapshot) {
        const iceberg::Snapshot* there = metadata.FindSnapshot(snapshot->snapshot_id);
        return there != nullptr && there->manifest_list == snapshot->manifest_list;
      });
  return has_all && AreRefsMoved(commit, metadata, refused);
}

std::int64_t LastAddedSnapshot(const TableCommit& commit) {
  const std::vector<const iceberg::Snapshot*> added = AddedSnapshots(commit);
  return added.empty() ? -1 : std::to_underlying(added.back()->snapshot_id);
}

bool MovesTable(const TableCommit& commit, const iceberg::TableMetadata& metadata) {
  return std::ranges::any_of(commit.updates, [&](const iceberg::TableUpdate& update) {
    const auto* move = std::get_if<iceberg::SetLocation>(&update);
    return move != nullptr && move->location != metadata.location;
  });
}

Status CheckCommit(const TableCommit& commit, const iceberg::TableMetadata& metadata) {
  LAKE_TRY_VOID(iceberg::CheckRequirements(&metadata, commit.requirements));
  if (MovesTable(commit, metadata)) {
    return Unimplemented(
        fmt::format("table {}: a table stays where it was made; its location is {}",
                    commit.name.ToString(), metadata.location));
  }
  return {};
}

Status CheckNames(const std::vector<TableCommit>& commits) {
  if (commits.empty() || commits.size() > kCommitTablesMax) {
    return InvalidArgument(fmt::format("a commit is of 1 to {} tables, and this one is of {}",
                                       kCommitTablesMax, commits.size()));
  }
  std::set<catalog::TableName> names;
  for (const TableCommit& commit : commits) {
    LAKE_TRY_VOID(catalog::Validate(commit.name));
    if (!names.insert(commit.name).second) {
      return InvalidArgument(
          fmt::format("table {} is named twice in one commit", commit.name.ToString()));
    }
  }
  return {};
}

std::vector<catalog::TableName> NamesOf(const std::vector<TableCommit>& commits) {
  std::vector<catalog::TableName> names;
  names.reserve(commits.size());
  for (const TableCommit& commit : commits) {
    names.push_back(commit.name);
  }
  return names;
}

RequestStatement StatementOf(OperationKind kind, const std::vector<TableCommit>& commits,
                             const std::vector<std::string>& content) {
  RequestStatement statement{.kind = kind, .content = content};
  for (const TableCommit& commit : commits) {
    statement.names.push_back(commit.name.ToString());
  }
  return statement;
}

}  // namespace

Result<TableResult> Metasrv::CommitTable(const CommitTableRequest& request,
                                         const CallOptions& options) {
  const std::vector<TableCommit> commits = {request.commit};
  LAKE_TRY_VOID(CheckNames(commits));
  LAKE_TRY(Change change,
           Begin(StatementOf(OperationKind::kCommitTable, commits, request.content), options));
  return Commit(commits, std::move(change), options.deadline);
}

Result<ChangeResult> Metasrv::CommitTables(const CommitTablesRequest& request,
                                           const CallOptions& options) {
  LAKE_TRY_VOID(CheckNames(request.commits));
  LAKE_TRY(
      Change change,
      Begin(StatementOf(OperationKind::kCommitTables, request.commits, request.content), options));
  return WithoutVersion(Commit(request.commits, std::move(change), options.deadline));
}

Result<TableResult> Metasrv::Commit(std::vector<TableCommit> commits, Change change,
                                    Deadline deadline) {
  LAKE_TRY(std::optional<TableResult> earlier, FindEarlier(change, std::nullopt, NamesOf(commits)));
  if (earlier.has_value()) {
    return *std::move(earlier);
  }
  std::vector<Uuid> incarnations;
  std::set<std::string> turns;
  for (const TableCommit& commit : commits) {
    LAKE_TRY(const auto registration, reader_.ReadRegistration(commit.name));
    if (!registration.has_value()) {
      return operations_.Fail(change, NoSuchTable(commit.name), std::nullopt);
    }
    incarnations.push_back(registration->record.incarnation);
    turns.insert(TableTurn(registration->record.incarnation));
  }
  return RunInTurns(turns, deadline,
                    [this, commits = std::move(commits), incarnations = std::move(incarnations),
                     change = std::move(change)] {
                      return Publish(change, NamesOf(commits),
                                     "table " + commits.front().name.ToString(),
                                     [&] { return TryCommit(commits, incarnations, change); });
                    });
}

Result<std::vector<Metasrv::CommitBase>> Metasrv::ReadBases(const std::vector<TableCommit>& commits,
                                                            const std::vector<Uuid>& incarnations,
                                                            const Change& change) {
  std::vector<CommitBase> bases;
  for (std::size_t i = 0; i < commits.size(); ++i) {
    LAKE_TRY_VOID(settler_.SettleTable(incarnations[i], change.epoch));
    LAKE_TRY(auto registration, reader_.ReadRegistration(commits[i].name));
    if (!registration.has_value() || registration->record.incarnation != incarnations[i]) {
      // This is another table's turn.
      return Unavailable(
          fmt::format("table {}: the name was taken away or given to another table "
                      "meanwhile; retry",
                      commits[i].name.ToString()));
    }
    LAKE_TRY(engine::MetadataPtr metadata,
             LoadRegistered(deps_.engine, commits[i].name, registration->record,
                            deps_.clock.Now() + options_.engine_timeout));
    bases.push_back({.registration = *std::move(registration), .metadata = std::move(metadata)});
  }
  return bases;
}

Result<std::optional<TableResult>> Metasrv::TryCommit(const std::vector<TableCommit>& commits,
                                                      const std::vector<Uuid>& incarnations,
                                                      const Change& change) {
  LAKE_TRY(const std::vector<CommitBase> bases, ReadBases(commits, incarnations, change));
  TableResult result{.incarnation = incarnations.front(),
                     .snapshot_id = LastAddedSnapshot(commits.front())};
  catalog::FinishedOperation outcome = operations_.Succeeded(change, incarnations);
  // Only the outcome of one table has a place for its version.
  const auto finish = [&](const std::string& location) -> const catalog::FinishedOperation& {
    if (commits.size() == 1) {
      result.metadata_location = location;
      outcome.record.result.metadata_location = location;
      outcome.record.result.snapshot_id = result.snapshot_id;
    }
    return outcome;
  };
  std::optional<Error> refused;
  bool empty = true;
  for (std::size_t i = 0; i < commits.size(); ++i) {
    empty = empty && commits[i].updates.empty();
    const Status checked = CheckCommit(commits[i], *bases[i].metadata);
    if (!checked.has_value() && !refused.has_value()) {
      refused = checked.error();
    }
  }
  const bool made = AreMade(commits, bases, refused.has_value());
  if (refused.has_value() && !made) {
    return operations_.Fail(change, *refused, std::nullopt);
  }
  if (made || empty) {
    return CommitAttempt(
        catalog::Record(finish(bases.front().registration.record.metadata_location)), change,
        result);
  }

  if (const Status there = CheckAddedSnapshots(commits, bases); !there.has_value()) {
    return operations_.Fail(change, there.error(), std::nullopt);
  }
  const Result<std::vector<catalog::NextVersion>> versions = WriteVersions(commits, bases, change);
  if (!versions.has_value()) {
    return operations_.Fail(change, versions.error(), std::nullopt);
  }
  const std::optional<catalog::Registration>& first = versions->front().next;
  LAKE_TRY(const metastore::Transaction transaction,
           catalog::CommitVersions(*versions,
                                   finish(first.has_value() ? first->metadata_location : "")));
  Result<std::optional<TableResult>> committed = CommitAttempt(transaction, change, result);
  const bool open =
      !committed.has_value() && committed.error().code() == ErrorCode::kOutcomeUnknown;
  if (!open && (!committed.has_value() || !committed->has_value())) {
    // Certainly not published, now or later.
    RemoveVersions(*versions);
  }
  return committed;
}

// A commit is made in all its tables or in none, so those that add a snapshot tell for the others.
bool Metasrv::AreMade(const std::vector<TableCommit>& commits, const std::vector<CommitBase>& bases,
                      bool refused) {
  bool adds = false;
  for (std::size_t i = 0; i < commits.size(); ++i) {
    if (AddedSnapshots(commits[i]).empty()) {
      continue;
    }
    adds = true;
    if (!IsMade(commits[i], *bases[i].metadata, refused)) {
      return false;
    }
  }
  return adds;
}

Status Metasrv::CheckAddedSnapshots(const std::vector<TableCommit>& commits,
                                    const std::vector<CommitBase>& bases) {
  for (std::size_t i = 0; i < commits.size(); ++i) {
    std::set<iceberg::SnapshotId> added;
    for (const iceberg::Snapshot* snapshot : AddedSnapshots(commits[i])) {
      const auto refuse = [&](ErrorCode code, const std::string& why) -> Status {
        return std::unexpected(Error(
            code, fmt::format("commit to table {}: snapshot {}: {}", commits[i].name.ToString(),
                              std::to_underlying(snapshot->snapshot_id), why)));
      };
      const std::optional<iceberg::SnapshotId> parent = snapshot->parent_snapshot_id;
      if (parent.has_value() && !added.contains(*parent) &&
          bases[i].metadata->FindSnapshot(*parent) == nullptr) {
        // Files that only the parent reached may be gone.
        return refuse(ErrorCode::kConflict,
                      fmt::format("the table does not have its parent {} any more; refresh",
                                  std::to_underlying(*parent)));
      }
      added.insert(snapshot->snapshot_id);
      if (snapshot->manifest_list.empty()) {
        continue;  // Of format version 1, with its manifests in the metadata file.
      }
      const Status there = deps_.engine.CheckFile(snapshot->manifest_list,
                                                  deps_.clock.Now() + options_.engine_timeout);
      if (!there.has_value()) {
        return refuse(there.error().code() == ErrorCode::kNotFound ? ErrorCode::kInvalidArgument
                                                                   : there.error().code(),
                      "its manifest list: " + there.error().message());
      }
    }
  }
  return {};
}

Result<std::vector<catalog::NextVersion>> Metasrv::WriteVersions(
    const std::vector<TableCommit>& commits, const std::vector<CommitBase>& bases,
    const Change& change) {
  std::vector<catalog::NextVersion> versions;
  for (std::size_t i = 0; i < commits.size(); ++i) {
    const TableCommit& commit = commits[i];
    const catalog::Registration& current = bases[i].registration.record;
    versions.push_back(
        {.name = commit.name, .base = bases[i].registration.bytes, .next = std::nullopt});
    if (commit.updates.empty()) {
      // It only requires something, which must still hold when the others are published.
      continue;
    }
    catalog::Registration next = current;
    next.version += 1;
    next.last_operation = change.id;
    next.metadata_location = versions_.PlanLocation(current.location, next.version, change.epoch);
    versions.back().next = next;
    const Result<engine::MetadataPtr> written =
        deps_.engine.Commit({.base = bases[i].metadata,
                             .base_location = current.metadata_location,
                             .planned_location = next.metadata_location,
                             .updates = commit.updates,
                             .now = deps_.clock.WallNow()},
                            deps_.clock.Now() + options_.engine_timeout);
    if (!written.has_value()) {
      RemoveVersions(versions);
      // Whether its file is there does not matter: nothing names it.
      const ErrorCode code = written.error().code() == ErrorCode::kOutcomeUnknown
                                 ? ErrorCode::kUnavailable
                                 : written.error().code();
      return std::unexpected(
          Error(code, fmt::format("commit to table {}: {}", commit.name.ToString(),
                                  written.error().message())));
    }
  }
  return versions;
}

void Metasrv::RemoveVersions(const std::vector<catalog::NextVersion>& versions) {
  for (const catalog::NextVersion& version : versions) {
    if (version.next.has_value()) {
      IgnoreError(
          deps_.engine.RemoveAttempt(version.next->metadata_location, iceberg::SnapshotId{-1},
                                     deps_.clock.Now() + options_.engine_timeout),
          "a metadata file that nothing names does no harm; orphan removal finds it");
    }
  }
}

}  // namespace lake::metasrv
