// What is promised of operations that do not go well, promise by promise, over every store.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/check.h"
#include "lake/base/log.h"
#include "lake/catalog/keyspace.h"
#include "lake/catalog/publications.h"
#include "lake/engine/snapshot_reader.h"
#include "lake/metasrv/metasrv.h"
#include "lake/metasrv/operation_id.h"
#include "lake/metasrv/recovery_world_test_internal.h"
#include "lake/testing/matchers.h"
#include "lake/testing/run_together.h"

namespace lake::metasrv {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using testing::FaultyMetaStore;
using testing::FaultyObjectStore;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using testing::IsOkAnd;
using ::testing::StartsWith;
using Kind = FaultyMetaStore::Fault::Kind;
using Lost = FaultyObjectStore::Fault;

const Intent& IntentNamed(std::string_view name) {
  for (const Intent& intent : Intents()) {
    if (intent.name == name) {
      return intent;
    }
  }
  LAKE_CHECK(false, "there is no such intent");
  return Intents().front();
}

class RecoveryClaims : public ::testing::TestWithParam<std::size_t> {
 protected:
  static void SetUpTestSuite() { SetLogLevel(LogLevel::kError); }

  static void TearDownTestSuite() { SetLogLevel(LogLevel::kWarning); }

  RecoveryClaims() : world_(Stores()[GetParam()], IntentNamed("append")) {}

  Metasrv& leader() { return world_.leader().service(); }

  Metasrv& successor() { return world_.successor().service(); }

  CallOptions Call() { return world_.Call(world_.NewId()); }

  CallOptions Call(const Uuid& id) { return world_.Call(id); }

  LoadedTable Load(const catalog::TableName& name = kTable) {
    return successor().LoadTable(name, world_.Soon()).value();
  }

  // A request to append one staged file of `rows` rows.
  AppendRequest Stage(std::int64_t rows, const catalog::TableName& name = kTable) {
    const LoadedTable table = Load(name);
    const std::string path =
        fmt::format("{}/data/{}.parquet", table.registration.location, world_.NewId().ToString());
    EXPECT_THAT(world_.raw_objects().PutIfAbsent(path, "PAR1", world_.Soon()), IsOk());
    return {.name = name,
            .incarnation = table.registration.incarnation,
            .content = {path},
            .files = {{.file_path = path, .record_count = rows, .file_size_in_bytes = 4}}};
  }

  std::int64_t Rows() {
    return static_cast<std::int64_t>(engine::SnapshotReader(world_.raw_objects(), world_.clock())
                                         .Check(*Load().metadata, world_.Soon())
                                         ->rows);
  }

  std::set<std::string> Files() {
    std::set<std::string> files;
    const objstore::ObjectPage page =
        world_.raw_objects().List("/", "", 1000, world_.Soon()).value();
    for (const objstore::ObjectInfo& object : page.objects) {
      files.insert(object.path);
    }
    return files;
  }

  std::optional<std::string> Pending(const Uuid& id) {
    return world_.raw_meta().Get(catalog::PendingKey(id), world_.Soon()).value();
  }

  catalog::PendingOperation PendingOperation(const Uuid& id) {
    const std::string bytes = Pending(id).value();
    return {.id = id, .bytes = bytes, .record = catalog::DecodePendingRecord(bytes).value()};
  }

  // Publishes a pending creation in `ns` as it stands, as another settler would.
  void PublishAs(const catalog::PendingOperation& pending, const catalog::Namespace& ns) {
    catalog::FinishedOperation done{
        .id = pending.id,
        .record = {.kind = pending.record.kind,
                   .names = {pending.record.tables.front().name.ToString()},
                   .incarnations = {pending.record.tables.front().incarnation},
                   .digest = pending.record.digest,
                   .epoch = 1}};
    done.record.result = {.succeeded = true,
                          .metadata_location = pending.record.tables.front().planned_location};
    const std::string ns_bytes =
        world_.raw_meta().Get(catalog::NamespaceKey(ns).value(), world_.Soon()).value().value();
    const metastore::Transaction publication =
        catalog::Publish({.operations = {pending},
                          .outcomes = {done},
                          .namespaces = {{ns, ns_bytes}},
                          .directory = Uuid::Random4(world_.random())})
            .value();
    EXPECT_THAT(world_.raw_meta().Commit(publication, world_.Soon()),
                IsOkAnd(metastore::CommitResult(metastore::Committed{})));
  }

  // The commits that move the registration of a table.
  static FaultyMetaStore::Predicate Publications(const catalog::TableName& name = kTable) {
    return FaultyMetaStore::CommitsOf(catalog::TableKey(name).value());
  }

  // Makes nothing of a table be published by the leader from now on; it cannot know that.
  void LosePublications(const catalog::TableName& name = kTable) {
    world_.meta().Inject({.when = Publications(name),
                          .times = FaultyMetaStore::kAlways,
                          .fault = {.kind = Kind::kLoseRequest}});
  }

  // Leaves the operation `id` pending: its files are written, and its publication did not arrive.
  void LeaveWritten(const AppendRequest& request, const Uuid& id) {
    LosePublications();
    EXPECT_THAT(leader().Append(request, Call(id)), IsError(ErrorCode::kOutcomeUnknown));
    world_.StopHarm();
    EXPECT_TRUE(Pending(id).has_value());
  }

  World world_;
};

INSTANTIATE_TEST_SUITE_P(Every, RecoveryClaims, ::testing::Range(std::size_t{0}, Stores().size()),
                         [](const auto& param) { return std::string(Stores()[param.param].name); });

// --- Two leaders.

TEST_P(RecoveryClaims, APausedLeaderWithAFinishedEngineCommitIsFencedAndItsSuccessorPublishesOnce) {
  const AppendRequest request = Stage(5);
  const Uuid id = world_.NewId();
  TableResult published;
  FaultyMetaStore::Fault pause{.kind = Kind::kNone};
  pause.before = [&] {
    world_.successor().Win();
    const Result<TableResult> result = successor().Append(request, Call(id));
    ASSERT_THAT(result, IsOk());
    published = *result;
  };
  world_.meta().Inject({.when = Publications(), .fault = pause});

  EXPECT_THAT(leader().Append(request, Call(id)), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_THAT(world_.leader().store().current_guard(), IsError(ErrorCode::kNotLeader))
      << "the fence ended its term";
  const LoadedTable table = Load();
  EXPECT_EQ(table.registration.version, 3U);
  EXPECT_EQ(table.registration.last_operation, id);
  EXPECT_EQ(table.registration.metadata_location, published.metadata_location);
  EXPECT_EQ(table.metadata->current_snapshot()->summary.at("lake.operation-ids"), id.ToString());
  EXPECT_EQ(Rows(), 7 + 5);
  const Result<TableResult> again = successor().Append(request, Call(id));
  ASSERT_THAT(again, IsOk());
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(again->metadata_location, published.metadata_location);
  EXPECT_EQ(Rows(), 7 + 5);
}

TEST_P(RecoveryClaims, AStaleLeadersFilesNeverCollideWithItsSuccessors) {
  const AppendRequest request = Stage(5);
  const Uuid id = world_.NewId();
  const std::set<std::string> before = Files();
  std::set<std::string> by_successor;
  world_.objects().SetRule([](const FaultyObjectStore::Request& request_to_store) {
    return request_to_store.operation == FaultyObjectStore::Operation::kDelete ? Lost::kRefuse
                                                                               : Lost::kNone;
  });
  // It stands still when it has reserved, before its first file, while its successor makes the same version.
  FaultyMetaStore::Fault pause{.kind = Kind::kNone};
  pause.after = [&] {
    world_.successor().Win();
    ASSERT_THAT(successor().Append(request, Call(id)), IsOk());
    by_successor = Files();
    for (const std::string& file : before) {
      by_successor.erase(file);
    }
  };
  world_.meta().Inject(
      {.when = FaultyMetaStore::CommitsOf(catalog::PendingKey(id)), .fault = pause});

  EXPECT_THAT(leader().Append(request, Call(id)), IsError(ErrorCode::kOutcomeUnknown));
  std::set<std::string> by_stale_leader;
  for (const FaultyObjectStore::Request& put : world_.objects().requests()) {
    if (put.operation == FaultyObjectStore::Operation::kPut) {
      by_stale_leader.insert(put.path);
    }
  }
  EXPECT_EQ(by_successor.size(), 3U) << "manifest, manifest list and metadata file";
  EXPECT_EQ(by_stale_leader.size(), 3U);
  for (const std::string& file : by_stale_leader) {
    EXPECT_FALSE(by_successor.contains(file)) << file;
    EXPECT_TRUE(Files().contains(file)) << "it was written beside the successor's";
  }
  EXPECT_EQ(Rows(), 7 + 5);
  EXPECT_EQ(Load().registration.version, 3U);
}

// --- The same id.

TEST_P(RecoveryClaims, AnIdInUseIsRefusedForOtherContentOrAnotherTableWithoutEffect) {
  const AppendRequest request = Stage(5);
  const Uuid id = world_.NewId();
  LeaveWritten(request, id);
  const std::string pending = Pending(id).value();
  ASSERT_THAT(leader().CreateTable({.name = kNewTable, .schema = TestSchema()}, Call()), IsOk());
  for (const AppendRequest& other : {Stage(6), Stage(5, kNewTable)}) {
    for (Metasrv* service : {&leader(), &successor()}) {
      if (service == &successor()) {
        world_.successor().Win();
      }
      EXPECT_THAT(service->FindAppend(other, Call(id)), IsError(ErrorCode::kInvalidArgument));
    }
    world_.leader().Win();
  }
  EXPECT_EQ(Pending(id), pending) << "it is as it was";
  EXPECT_EQ(Load().registration.version, 2U);
  EXPECT_EQ(Load(kNewTable).registration.version, 1U);

  ASSERT_THAT(leader().Append(request, Call(id)), IsOk());
  for (const AppendRequest& other : {Stage(6), Stage(5, kNewTable)}) {
    EXPECT_THAT(leader().Append(other, Call(id)), IsError(ErrorCode::kInvalidArgument));
  }
  EXPECT_EQ(Rows(), 7 + 5);
  EXPECT_EQ(Load(kNewTable).registration.version, 1U);
}

TEST_P(RecoveryClaims, AnIdThatWasUsedForAnOlderIncarnationIsRefusedWithoutEffect) {
  const AppendRequest request = Stage(5);
  const Uuid id = world_.NewId();
  ASSERT_THAT(leader().Append(request, Call(id)), IsOk());
  ASSERT_THAT(leader().DropTable({.name = kTable}, Call()), IsOk());
  ASSERT_THAT(leader().CreateTable({.name = kTable, .schema = TestSchema()}, Call()), IsOk());
  // The client asks with the table it knew, and with the one that is there now.
  AppendRequest renewed = Stage(5);
  renewed.content = request.content;
  for (const AppendRequest& repeated : {request, renewed}) {
    EXPECT_THAT(leader().Append(repeated, Call(id)), IsError(ErrorCode::kConflict));
  }
  EXPECT_EQ(Load().registration.version, 1U);
  EXPECT_EQ(world_.PendingCount(), 0U);
}

TEST_P(RecoveryClaims, IdsThatAreTooOldOrTooFarAheadAreRefusedWithoutEffect) {
  const AppendRequest request = Stage(5);
  const auto id_at = [&](Duration offset) {
    world_.clock().JumpWall(offset);
    const Uuid id = world_.NewId();
    world_.clock().JumpWall(-offset);
    return id;
  };
  constexpr auto kJust = std::chrono::milliseconds(1);
  const std::string before = world_.State();
  for (const Uuid& id : {id_at(-kOperationRetention - kJust), id_at(kOperationAheadMax + kJust)}) {
    EXPECT_THAT(leader().Append(request, Call(id)), IsError(ErrorCode::kInvalidArgument));
    EXPECT_THAT(leader().FindOperation(id, world_.Soon()), IsError(ErrorCode::kNotFound));
  }
  EXPECT_EQ(world_.State(), before);
  EXPECT_THAT(leader().Append(Stage(1), Call(id_at(-kOperationRetention))), IsOk());
  EXPECT_THAT(leader().Append(Stage(1), Call(id_at(kOperationAheadMax))), IsOk());
}

// --- Abandoned operations.

TEST_P(RecoveryClaims, AnAbandonedOperationIsSettledByTheNextLeaderWithoutItsClient) {
  const Uuid written = world_.NewId();
  LeaveWritten(Stage(5), written);
  world_.successor().Win();
  ASSERT_THAT(successor().Recover(world_.Soon()), IsOk());
  EXPECT_EQ(world_.PendingCount(), 0U);
  EXPECT_EQ(Rows(), 7 + 5) << "its files were all there";
  EXPECT_TRUE(successor().FindOperation(written, world_.Soon())->finished->result.succeeded);
}

TEST_P(RecoveryClaims, AnAbandonedOperationIsSettledByOneRecoveryOfTheSameLeader) {
  const Uuid written = world_.NewId();
  LeaveWritten(Stage(5), written);
  ASSERT_THAT(leader().Recover(world_.Soon()), IsOk());
  EXPECT_EQ(world_.PendingCount(), 0U);
  EXPECT_EQ(Rows(), 7 + 5);
}

TEST_P(RecoveryClaims, AnAbandonedOperationBlocksNoOtherAppend) {
  LeaveWritten(Stage(5), world_.NewId());
  ASSERT_THAT(leader().Append(Stage(3), Call()), IsOk());
  EXPECT_EQ(world_.PendingCount(), 0U);
  EXPECT_EQ(Rows(), 7 + 5 + 3);
  // One of which only the reservation is there.
  world_.objects().SetRule([](const FaultyObjectStore::Request& request) {
    return request.operation == FaultyObjectStore::Operation::kPut ? Lost::kRefuse : Lost::kNone;
  });
  world_.meta().Inject({.when = FaultyMetaStore::Commits,
                        .skip = 1,
                        .times = FaultyMetaStore::kAlways,
                        .fault = {.kind = Kind::kLoseRequest}});
  EXPECT_THAT(leader().Append(Stage(50), Call()), IsError(ErrorCode::kOutcomeUnknown));
  world_.StopHarm();
  EXPECT_EQ(world_.PendingCount(), 1U);
  world_.successor().Win();
  ASSERT_THAT(successor().Append(Stage(2), Call()), IsOk());
  EXPECT_EQ(world_.PendingCount(), 0U);
  EXPECT_EQ(Rows(), 7 + 5 + 3 + 2);
}

// A name with a pending creation may be taken by a view before the creation is settled.
TEST_P(RecoveryClaims, ACreationWhoseNameWasTakenByAViewIsGivenUp) {
  const Uuid id = world_.NewId();
  LosePublications(kNewTable);
  const auto create = [&](Metasrv& service) {
    return service.CreateTable({.name = kNewTable, .schema = TestSchema()}, Call(id));
  };
  EXPECT_THAT(create(leader()), IsError(ErrorCode::kOutcomeUnknown));
  metastore::Transaction view;
  view.Put(catalog::ViewKey(kNewTable).value(), metastore::Expectation::Absent(), "{}");
  ASSERT_THAT(world_.raw_meta().Commit(view, world_.Soon()), IsOk());
  world_.successor().Win();
  ASSERT_THAT(successor().Recover(world_.Soon()), IsOk());
  EXPECT_EQ(world_.PendingCount(), 0U);
  EXPECT_THAT(create(successor()), IsError(ErrorCode::kAlreadyExists));
}

TEST_P(RecoveryClaims, ADamagedMemberOfAGroupDoesNotBlockTheTable) {
  const Uuid id = world_.NewId();
  LeaveWritten(Stage(5), id);
  // Its reservation says that it shares its version with another one, which cannot be read any more.
  catalog::PendingOperation pending = PendingOperation(id);
  const Uuid damaged = world_.NewId();
  pending.record.group.push_back(damaged);
  metastore::Transaction damage;
  damage.Put(catalog::PendingKey(id), metastore::Expectation::Exactly(pending.bytes),
             catalog::Encode(pending.record));
  damage.Put(catalog::PendingKey(damaged), metastore::Expectation::Absent(), "not a record");
  ASSERT_THAT(world_.raw_meta().Commit(damage, world_.Soon()), IsOk());
  world_.successor().Win();
  ASSERT_THAT(successor().Append(Stage(3), Call()), IsOk());
  EXPECT_EQ(Rows(), 7 + 3);
  EXPECT_FALSE(Pending(id).has_value());
}

// --- Poison.

TEST_P(RecoveryClaims, APoisonAppendEndsAtOnceAndLeavesNeitherPendingRecordNorFiles) {
  const AppendRequest good = Stage(5);
  std::vector<AppendRequest> poison(5, good);
  poison[0].files[0].null_value_counts.Set(iceberg::FieldId{9},
                                           0);  // A column that the table has not.
  poison[1].files[0].null_value_counts.Set(iceberg::FieldId{1}, 1);  // A null where none may be.
  poison[2].files[0].file_path += "x";                               // No such file.
  poison[3].files[0].equality_ids = {iceberg::FieldId{1}};           // No data file.
  poison[4].files[0].first_row_id = 1;                               // Not of this format version.
  const std::set<std::string> before = Files();
  for (const AppendRequest& request : poison) {
    const Uuid id = world_.NewId();
    const std::size_t commits = world_.meta().commit_count();
    const Result<TableResult> refused = leader().Append(request, Call(id));
    ASSERT_THAT(refused, IsError(ErrorCode::kInvalidArgument));
    EXPECT_EQ(world_.meta().commit_count() - commits, 1U)
        << "its failure is recorded, and that is all";
    EXPECT_FALSE(Pending(id).has_value());
    const Result<TableResult> again = leader().Append(request, Call(id));
    ASSERT_THAT(again, IsError(ErrorCode::kInvalidArgument));
    EXPECT_EQ(again.error().message(), refused.error().message());
  }
  EXPECT_EQ(Files(), before);
  EXPECT_EQ(world_.PendingCount(), 0U);
  EXPECT_EQ(Load().registration.version, 2U);
  EXPECT_THAT(leader().Append(good, Call()), IsOk());
}

// --- Settlers.

TEST_P(RecoveryClaims, TwoSettlersAtOnceConverge) {
  for (int round = 0; round < 10; ++round) {
    const AppendRequest request = Stage(5);
    const Uuid id = world_.NewId();
    const std::int64_t rows = Rows();
    LeaveWritten(request, id);
    world_.leader().Win();
    testing::RunTogether(3, [&](std::size_t i) {
      if (i == 0) {
        EXPECT_THAT(leader().Recover(world_.Soon()), IsOk());
      } else {
        EXPECT_THAT(leader().Append(request, Call(id)), IsOk());
      }
    });
    EXPECT_EQ(Rows(), rows + 5);
    EXPECT_EQ(world_.PendingCount(), 0U);
  }
}

// --- No false certainty.

// What is told of a repeated call is told of the operation: one that is known to be open has not failed.
TEST_P(RecoveryClaims, ARepeatedOperationThatCannotBeSettledNowIsNotCalledFailed) {
  const AppendRequest request = Stage(5);
  const Uuid id = world_.NewId();
  LeaveWritten(request, id);
  world_.objects().RefuseFrom(1);
  EXPECT_THAT(leader().Append(request, Call(id)), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_THAT(leader().FindAppend(request, Call(id)), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_THAT(leader().Append(Stage(1), Call()), IsError(ErrorCode::kUnavailable))
      << "another one has certainly not been done";
  world_.StopHarm();
  ASSERT_THAT(leader().Append(request, Call(id)), IsOk());
  EXPECT_EQ(Rows(), 7 + 5);
}

TEST_P(RecoveryClaims, ARepeatedCreationThatCannotBeSettledNowIsNotCalledFailed) {
  const Uuid id = world_.NewId();
  const auto create = [&] {
    return leader().CreateTable({.name = kNewTable, .schema = TestSchema()}, Call(id));
  };
  LosePublications(kNewTable);
  EXPECT_THAT(create(), IsError(ErrorCode::kOutcomeUnknown));
  world_.StopHarm();
  world_.objects().RefuseFrom(1);
  EXPECT_THAT(create(), IsError(ErrorCode::kOutcomeUnknown));
  world_.StopHarm();
  EXPECT_THAT(create(), IsOk());
}

// Whoever gives an operation up removes its files. An abort without an answer, after which the operation was published by another
// settler, must not be taken for one that was applied: the files are the table.
TEST_P(RecoveryClaims, AnAbortIsNotTakenForAppliedWhenTheOperationWasPublishedMeanwhile) {
  const Uuid id = world_.NewId();
  const auto create = [&] {
    return leader().CreateTable({.name = kNewTable, .schema = TestSchema()}, Call(id));
  };
  // The publication is never sent, and the planned file is late.
  LosePublications(kNewTable);
  ASSERT_THAT(create(), IsError(ErrorCode::kOutcomeUnknown));
  world_.StopHarm();
  const catalog::PendingOperation pending = PendingOperation(id);
  const std::string planned = pending.record.tables.front().planned_location;
  const std::string file = world_.raw_objects().Get(planned, 1'000'000, world_.Soon()).value();
  ASSERT_THAT(world_.raw_objects().Delete({planned}, world_.Soon()), IsOk());

  // The settler finds it incomplete and gives it up. Before its request is lost the file arrives, and another settler publishes.
  bool struck = false;
  world_.meta().Inject(
      {.when = FaultyMetaStore::CommitsOf(catalog::PendingKey(id)),
       .fault = {.kind = Kind::kLoseRequest, .before = [&] {
                   struck = true;
                   ASSERT_THAT(world_.raw_objects().PutIfAbsent(planned, file, world_.Soon()),
                               IsOk());
                   PublishAs(pending, kNewTable.ns);
                 }}});
  const Result<TableResult> second = create();
  EXPECT_TRUE(struck) << "the abort was sent";
  if (!second.has_value()) {
    EXPECT_EQ(second.error().code(), ErrorCode::kOutcomeUnknown) << second.error().message();
  }
  const Result<TableResult> third = create();
  ASSERT_THAT(third, IsOk());
  EXPECT_TRUE(third->replayed);
  EXPECT_EQ(third->metadata_location, planned);
  world_.CheckTables();
}

// A successor's reads see what its predecessor had all but finished.
TEST_P(RecoveryClaims, RecoveryAtTakeoverIsOverWhenItReturns) {
  LosePublications(kNewTable);
  EXPECT_THAT(leader().CreateTable({.name = kNewTable, .schema = TestSchema()}, Call()),
              IsError(ErrorCode::kOutcomeUnknown));
  world_.successor().Win();
  ASSERT_THAT(successor().Recover(world_.Soon()), IsOk());
  EXPECT_THAT(successor().LoadTable(kNewTable, world_.Soon()), IsOk());
  EXPECT_EQ(world_.PendingCount(), 0U);
}

// The outcome of another attempt under the same id is not taken for one's own.
TEST_P(RecoveryClaims, AFailureIsNotTakenForRecordedWhenAnotherAttemptSucceededMeanwhile) {
  const Uuid id = world_.NewId();
  const auto create = [&] { return leader().CreateNamespace({.ns = kNewNs}, Call(id)); };
  ASSERT_THAT(leader().CreateNamespace({.ns = kNewNs}, Call()), IsOk());
  // The name is taken. Before that can be recorded the namespace is dropped, and another attempt makes it and says so.
  const auto succeed_elsewhere = [&] {
    catalog::OperationRecord done{
        .kind = catalog::OperationKind::kCreateNamespace,
        .names = {kNewNs.ToString()},
        .digest = RequestDigest(
            {.kind = catalog::OperationKind::kCreateNamespace, .names = {kNewNs.ToString()}})};
    done.result.succeeded = true;
    metastore::Transaction other;
    other.Put(catalog::OperationKey(id), metastore::Expectation::Absent(), catalog::Encode(done));
    ASSERT_THAT(world_.raw_meta().Commit(other, world_.Soon()), IsOk());
  };
  world_.meta().Inject({.when = FaultyMetaStore::CommitsOf(catalog::OperationKey(id)),
                        .fault = {.kind = Kind::kLoseRequest, .before = succeed_elsewhere}});
  EXPECT_THAT(create(), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_THAT(create(), IsOk());
}

}  // namespace
}  // namespace lake::metasrv
