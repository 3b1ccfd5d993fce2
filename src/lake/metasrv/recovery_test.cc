#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/metasrv/metasrv.h"
#include "lake/metasrv/metasrv_test_internal.h"
#include "lake/metastore/memory/memory_metastore.h"
#include "lake/objstore/memory/memory_objstore.h"
#include "lake/testing/faulty_metastore.h"
#include "lake/testing/faulty_objstore.h"
#include "lake/testing/seeded_random.h"

// Recovery, enumerated: every change is made to fail at its first call of a store, then at its second, and so on until it runs
// through; each time in every way a call can fail, and each time with every way to go on. Whatever happens:
//
//   I5  the operation, repeated with its id, ends with exactly one effect, and answers the same for ever after;
//   I6  what was reported as failed is not visible, neither then nor later;
//   I4  every table is whole, and nothing stays pending.
namespace lake::metasrv {
namespace {

using ::testing::AnyOf;
using testing::FaultyMetaStore;
using testing::FaultyObjectStore;
using ::testing::IsEmpty;
using testing::IsOk;

enum class Intent {
  kCreateNamespace,
  kDropNamespace,
  kCreateTable,
  kAppend,
  kDropTable,
  kRegisterTable
};

constexpr Intent kIntents[] = {Intent::kCreateNamespace, Intent::kDropNamespace,
                               Intent::kCreateTable,     Intent::kAppend,
                               Intent::kDropTable,       Intent::kRegisterTable};

const char* Name(Intent intent) {
  switch (intent) {
    case Intent::kCreateNamespace:
      return "create namespace";
    case Intent::kDropNamespace:
      return "drop namespace";
    case Intent::kCreateTable:
      return "create table";
    case Intent::kAppend:
      return "append";
    case Intent::kDropTable:
      return "drop table";
    case Intent::kRegisterTable:
      return "register table";
  }
  return "?";
}

// How the story goes on after the first attempt.
enum class Sequel {
  kSameLeaderRepeats,
  kSuccessorRepeats,
  // Somebody else changes the table through the successor, which settles by itself; then the operation is repeated.
  kSuccessorSettlesFirst,
};

constexpr Sequel kSequels[] = {Sequel::kSameLeaderRepeats, Sequel::kSuccessorRepeats,
                               Sequel::kSuccessorSettlesFirst};

// Two processes over one store. The first reaches it through stores that fail; the second does not.
class World {
 public:
  explicit World(Intent intent)
      : intent_(intent),
        random_(11),
        meta_(clock_, {}),
        objects_(clock_),
        faulty_meta_(meta_),
        faulty_objects_(objects_),
        leader_(faulty_meta_, faulty_objects_, clock_, random_),
        successor_(meta_, objects_, clock_, random_) {
    clock_.SetWall(WallTime(std::chrono::milliseconds(1'790'000'000'000)));
    // An earlier leader makes what there is, so that the leader's cache is cold.
    Node earlier(meta_, objects_, clock_, random_);
    earlier.Win();
    EXPECT_THAT(earlier.service().CreateNamespace({.ns = kNs}, NewCall()), IsOk());
    EXPECT_THAT(earlier.service().CreateNamespace({.ns = kEmptyNs}, NewCall()), IsOk());
    MakeTable(earlier, kTable, 7);
    MakeTable(earlier, kDropped, 9);
    const LoadedTable dropped = Load(kDropped);
    EXPECT_THAT(earlier.service().DropTable({.name = kDropped}, NewCall()), IsOk());
    leader_.Win();
    request_ = Request(kTable, 5);
    other_request_ = Request(kTable, 3);
    register_ = {.name = kDropped, .metadata_location = dropped.registration.metadata_location};
    id_ = Uuid::Random7(clock_, random_);
  }

  FaultyMetaStore& meta() { return faulty_meta_; }

  FaultyObjectStore& objects() { return faulty_objects_; }

  Node& leader() { return leader_; }

  Node& successor() { return successor_; }

  // Carries the operation out through `node`.
  Status Perform(Node& node) {
    Metasrv& service = node.service();
    const CallOptions call{.operation = id_, .retryable = true, .deadline = Soon()};
    last_result_.reset();
    const auto keep = [this](Result<TableResult> result) -> Status {
      if (!result.has_value()) {
        return std::unexpected(result.error());
      }
      last_result_ = *std::move(result);
      return {};
    };
    const auto only_status = [](const Result<NamespaceResult>& result) -> Status {
      return result.has_value() ? Status() : Status(std::unexpected(result.error()));
    };
    switch (intent_) {
      case Intent::kCreateNamespace:
        return only_status(service.CreateNamespace({.ns = kNewNs}, call));
      case Intent::kDropNamespace:
        return only_status(service.DropNamespace(kEmptyNs, call));
      case Intent::kCreateTable:
        return keep(service.CreateTable({.name = kNewTable, .schema = TestSchema()}, call));
      case Intent::kAppend:
        return keep(service.Append(request_, call));
      case Intent::kDropTable:
        return keep(service.DropTable({.name = kTable}, call));
      case Intent::kRegisterTable:
        return keep(service.RegisterTable(register_, call));
    }
    return InvalidArgument("no such intent");
  }

  const std::optional<TableResult>& last_result() const { return last_result_; }

  // Makes a change that has nothing to do with the operation but, of an append, the table.
  void PerformOther(Node& node) {
    if (intent_ == Intent::kAppend) {
      ASSERT_THAT(node.service().Append(other_request_, NewCall()), IsOk());
    } else {
      ASSERT_THAT(node.service().CreateNamespace({.ns = kOtherNs}, NewCall()), IsOk());
    }
  }

  // Returns what everybody sees, without identities.
  std::string State() {
    std::string state;
    Metasrv& service = successor_.service();
    const auto namespaces = service.ListNamespaces({}, Soon()).value();
    for (const catalog::Namespace& ns : namespaces) {
      state += fmt::format("{}:", ns.ToString());
      const auto tables = service.ListTables(ns, Soon()).value();
      for (const catalog::TableName& name : tables) {
        const LoadedTable table = Load(name);
        const engine::CheckReport report =
            engine::SnapshotReader(objects_, clock_).Check(*table.metadata, Soon()).value();
        EXPECT_THAT(report.problems, IsEmpty());
        state += fmt::format(" {} v{} snapshots={} rows={}", name.name, table.registration.version,
                             table.metadata->snapshots.size(), report.rows);
      }
      state += '\n';
    }
    return state;
  }

  std::size_t PendingCount() { return successor_.service().GetStatus(Soon())->pending.size(); }

  Deadline Soon() const { return clock_.Now() + std::chrono::seconds(60); }

  static inline const catalog::TableName kNewTable{.ns = {{"n"}}, .name = "new"};

 private:
  CallOptions NewCall() {
    return {.operation = Uuid::Random7(clock_, random_), .retryable = false, .deadline = Soon()};
  }

  LoadedTable Load(const catalog::TableName& name) {
    return successor_.service().LoadTable(name, Soon()).value();
  }

  AppendRequest Request(const catalog::TableName& name, std::int64_t rows) {
    const LoadedTable table = Load(name);
    const std::string path = fmt::format("{}/data/{}.parquet", table.registration.location, rows);
    EXPECT_THAT(objects_.PutIfAbsent(path, "PAR1", Soon()), IsOk());
    return {.name = name,
            .incarnation = table.registration.incarnation,
            .content = {std::to_string(rows)},
            .files = {{.file_path = path, .record_count = rows, .file_size_in_bytes = 4}}};
  }

  void MakeTable(Node& node, const catalog::TableName& name, std::int64_t rows) {
    EXPECT_THAT(node.service().CreateTable({.name = name, .schema = TestSchema()}, NewCall()),
                IsOk());
    EXPECT_THAT(node.service().Append(Request(name, rows), NewCall()), IsOk());
  }

  static inline const catalog::Namespace kNs{{"n"}};
  static inline const catalog::Namespace kEmptyNs{{"empty"}};
  static inline const catalog::Namespace kNewNs{{"new"}};
  static inline const catalog::Namespace kOtherNs{{"other"}};
  static inline const catalog::TableName kTable{.ns = kNs, .name = "t"};
  static inline const catalog::TableName kDropped{.ns = kNs, .name = "dropped"};

  const Intent intent_;
  testing::ManualClock clock_;
  testing::SeededRandom random_;
  metastore::MemoryMetaStore meta_;
  objstore::MemoryObjectStore objects_;
  FaultyMetaStore faulty_meta_;
  FaultyObjectStore faulty_objects_;
  Node leader_;
  Node successor_;
  AppendRequest request_;
  AppendRequest other_request_;
  RegisterTableRequest register_;
  Uuid id_;
  std::optional<TableResult> last_result_;
};

// What everybody sees when nothing fails: without and with the operation, without and with the other change.
struct Reference {
  explicit Reference(Intent intent) {
    for (const bool done : {false, true}) {
      for (const bool other : {false, true}) {
        World world(intent);
        if (done) {
          EXPECT_THAT(world.Perform(world.leader()), IsOk());
        }
        if (other) {
          world.PerformOther(world.leader());
        }
        state[done ? 1 : 0][other ? 1 : 0] = world.State();
      }
    }
  }

  std::string state[2][2];
};

// Follows a first attempt that answered `first` to its end. `other` says whether the other change has happened already.
void FollowUp(World& world, const Reference& reference, const Status& first, Sequel sequel,
              bool other) {
  if (sequel != Sequel::kSameLeaderRepeats && !other) {
    world.successor().Win();
  }
  if (sequel == Sequel::kSuccessorSettlesFirst && !other) {
    world.PerformOther(world.successor());
    other = true;
  }
  const std::size_t column = other ? 1 : 0;
  if (first.has_value()) {
    EXPECT_EQ(world.State(), reference.state[1][column]) << "it was acknowledged";
  } else if (first.error().code() != ErrorCode::kOutcomeUnknown) {
    EXPECT_EQ(world.State(), reference.state[0][column])
        << "it was reported as failed: " << first.error().message();
  } else if (other) {
    // Settled, one way or the other.
    EXPECT_THAT(world.State(), AnyOf(reference.state[0][1], reference.state[1][1]));
  }
  if (!first.has_value()) {
    EXPECT_FALSE(Operations::IsFinal(first.error().code())) << first.error().message();
  }

  Node& node = sequel == Sequel::kSameLeaderRepeats ? world.leader() : world.successor();
  ASSERT_THAT(world.Perform(node), IsOk());
  const std::optional<TableResult> result = world.last_result();
  EXPECT_EQ(world.State(), reference.state[1][column]);
  ASSERT_THAT(world.Perform(node), IsOk());
  if (result.has_value()) {
    EXPECT_TRUE(world.last_result()->replayed);
    EXPECT_EQ(world.last_result()->metadata_location, result->metadata_location);
    EXPECT_EQ(world.last_result()->snapshot_id, result->snapshot_id);
  }
  EXPECT_EQ(world.State(), reference.state[1][column]);
  EXPECT_EQ(world.PendingCount(), 0U);
}

// Runs `story(n)` for n = 1, 2, … until it says that its fault was not reached, and checks that there was a point to fail at.
void Enumerate(const char* what, std::size_t points_min,
               const std::function<bool(std::size_t)>& story) {
  std::size_t n = 1;
  while (story(n)) {
    ++n;
    ASSERT_LT(n, 200U) << what << " never ends";
    if (::testing::Test::HasFailure()) {
      return;
    }
  }
  EXPECT_GT(n - 1, points_min) << what;
}

class Recovery : public ::testing::TestWithParam<Intent> {};

TEST_P(Recovery, EndsWithOneEffectWhicheverCallOfTheMetastoreFails) {
  using Kind = FaultyMetaStore::Fault::Kind;
  const Reference reference(GetParam());
  for (const Kind kind : {Kind::kError, Kind::kLoseRequest, Kind::kLoseAnswer}) {
    for (const Sequel sequel : kSequels) {
      Enumerate("failing calls", 2, [&](std::size_t n) {
        SCOPED_TRACE(fmt::format("{}, call {}, fault {}, sequel {}", Name(GetParam()), n,
                                 static_cast<int>(kind), static_cast<int>(sequel)));
        World world(GetParam());
        world.meta().Inject(
            {.when = FaultyMetaStore::AnyCall, .skip = n - 1, .fault = {.kind = kind}});
        const Status first = world.Perform(world.leader());
        if (world.meta().fault_count() == 0) {
          return false;
        }
        FollowUp(world, reference, first, sequel, false);
        return true;
      });
    }
  }
}

TEST_P(Recovery, EndsWithOneEffectWhereverTheProcessDies) {
  using Kind = FaultyMetaStore::Fault::Kind;
  const Reference reference(GetParam());
  // The last call before the death: not sent, or done without an answer.
  for (const Kind last : {Kind::kLoseRequest, Kind::kLoseAnswer}) {
    for (const Sequel sequel : {Sequel::kSuccessorRepeats, Sequel::kSuccessorSettlesFirst}) {
      Enumerate("points of death", 2, [&](std::size_t n) {
        SCOPED_TRACE(fmt::format("{}, dies at call {}, last {}, sequel {}", Name(GetParam()), n,
                                 static_cast<int>(last), static_cast<int>(sequel)));
        World world(GetParam());
        world.meta().Inject(
            {.when = FaultyMetaStore::AnyCall, .skip = n - 1, .fault = {.kind = last}});
        world.meta().Inject({.when = FaultyMetaStore::AnyCall,
                             .skip = n - 1,
                             .times = FaultyMetaStore::kAlways,
                             .fault = {.kind = Kind::kLoseRequest}});
        const Status first = world.Perform(world.leader());
        if (first.has_value()) {
          return false;
        }
        FollowUp(world, reference, OutcomeUnknown("the dead do not answer"), sequel, false);
        return true;
      });
    }
  }
}

TEST_P(Recovery, EndsWithOneEffectWhenACommitArrivesAfterEverythingElse) {
  using Kind = FaultyMetaStore::Fault::Kind;
  const Reference reference(GetParam());
  for (const Sequel sequel : kSequels) {
    Enumerate("delayed commits", 0, [&](std::size_t n) {
      SCOPED_TRACE(fmt::format("{}, commit {} is late, sequel {}", Name(GetParam()), n,
                               static_cast<int>(sequel)));
      World world(GetParam());
      world.meta().Inject(
          {.when = FaultyMetaStore::Commits, .skip = n - 1, .fault = {.kind = Kind::kDelay}});
      const Status first = world.Perform(world.leader());
      if (world.meta().fault_count() == 0) {
        return false;
      }
      FollowUp(world, reference, first, sequel, false);
      const std::string before = world.State();
      EXPECT_EQ(world.meta().DeliverDelayed(world.Soon()).size(), 1U);
      EXPECT_EQ(world.State(), before) << "the late commit did something";
      EXPECT_EQ(world.PendingCount(), 0U);
      return true;
    });
  }
}

TEST_P(Recovery, EndsWithOneEffectWheneverASuccessorTakesOver) {
  using Kind = FaultyMetaStore::Fault::Kind;
  const Reference reference(GetParam());
  for (const bool before_call : {false, true}) {
    for (const Sequel sequel : {Sequel::kSuccessorRepeats, Sequel::kSuccessorSettlesFirst}) {
      Enumerate("takeovers", 2, [&](std::size_t n) {
        SCOPED_TRACE(fmt::format("{}, deposed {} call {}, sequel {}", Name(GetParam()),
                                 before_call ? "before" : "after", n, static_cast<int>(sequel)));
        World world(GetParam());
        FaultyMetaStore::Fault pause{.kind = Kind::kNone};
        (before_call ? pause.before : pause.after) = [&] {
          world.successor().Win();
          world.PerformOther(world.successor());
        };
        world.meta().Inject({.when = FaultyMetaStore::AnyCall, .skip = n - 1, .fault = pause});
        const Status first = world.Perform(world.leader());
        if (world.meta().fault_count() == 0) {
          return false;
        }
        FollowUp(world, reference, first, sequel, true);
        return true;
      });
    }
  }
}

TEST_P(Recovery, EndsWithOneEffectWhicheverRequestOfTheObjectStoreFails) {
  using Fault = FaultyObjectStore::Fault;
  const Reference reference(GetParam());
  const std::set<Intent> without_files = {Intent::kCreateNamespace, Intent::kDropNamespace,
                                          Intent::kDropTable};
  for (const Fault fault : {Fault::kRefuse, Fault::kLoseRequest, Fault::kLoseAnswer}) {
    for (const Sequel sequel : kSequels) {
      std::size_t points = 0;
      for (std::size_t n = 1;; ++n) {
        SCOPED_TRACE(fmt::format("{}, request {}, fault {}, sequel {}", Name(GetParam()), n,
                                 static_cast<int>(fault), static_cast<int>(sequel)));
        World world(GetParam());
        const std::size_t earlier = world.objects().requests().size();
        world.objects().FailNth(n, fault);
        const Status first = world.Perform(world.leader());
        if (world.objects().requests().size() - earlier < n) {
          break;
        }
        ++points;
        FollowUp(world, reference, first, sequel, false);
        ASSERT_FALSE(HasFailure());
      }
      EXPECT_EQ(points > 0, !without_files.contains(GetParam())) << points;
    }
  }
}

// Whoever gives an operation up removes its files. An abort without an answer, after which the operation was published by another
// settler, must not be taken for one that was applied: the files are the table.
TEST(Settling, AnAbortIsNotTakenForAppliedWhenTheOperationWasPublishedMeanwhile) {
  using Kind = FaultyMetaStore::Fault::Kind;
  testing::ManualClock clock;
  clock.SetWall(WallTime(std::chrono::milliseconds(1'790'000'000'000)));
  testing::SeededRandom random(5);
  metastore::MemoryMetaStore meta(clock, {});
  objstore::MemoryObjectStore objects(clock);
  FaultyMetaStore faulty(meta);
  Node node(faulty, objects, clock, random);
  node.Win();
  const auto soon = [&] { return clock.Now() + std::chrono::seconds(60); };
  const catalog::TableName name{.ns = {{"n"}}, .name = "t"};
  ASSERT_THAT(
      node.service().CreateNamespace(
          {.ns = name.ns},
          {.operation = Uuid::Random7(clock, random), .retryable = false, .deadline = soon()}),
      IsOk());
  const Uuid id = Uuid::Random7(clock, random);
  const auto create = [&] {
    return node.service().CreateTable({.name = name, .schema = TestSchema()},
                                      {.operation = id, .retryable = true, .deadline = soon()});
  };

  // The publication is never sent, and the planned file is late.
  faulty.Inject({.when = FaultyMetaStore::CommitsOf(catalog::TableKey(name).value()),
                 .times = FaultyMetaStore::kAlways,
                 .fault = {.kind = Kind::kLoseRequest}});
  ASSERT_THAT(create(), testing::IsError(ErrorCode::kOutcomeUnknown));
  faulty.Clear();
  const std::string pending_bytes = meta.Get(catalog::PendingKey(id), soon()).value().value();
  const catalog::PendingOperation pending{
      .id = id,
      .bytes = pending_bytes,
      .record = catalog::DecodePendingRecord(pending_bytes).value()};
  const std::string planned = pending.record.tables.front().planned_location;
  const std::string file = objects.Get(planned, 1'000'000, soon()).value();
  ASSERT_THAT(objects.Delete({planned}, soon()), IsOk());

  // The settler finds it incomplete and gives it up. Before its request is lost the file arrives, and another settler publishes.
  faulty.Inject(
      {.when = FaultyMetaStore::CommitsOf(catalog::PendingKey(id)),
       .fault = {.kind = Kind::kLoseRequest, .before = [&] {
                   EXPECT_THAT(objects.PutIfAbsent(planned, file, soon()), IsOk());
                   catalog::FinishedOperation done{
                       .id = id,
                       .record = {.kind = pending.record.kind,
                                  .names = {name.ToString()},
                                  .incarnations = {pending.record.tables.front().incarnation},
                                  .digest = pending.record.digest,
                                  .epoch = 1}};
                   done.record.result = {.succeeded = true, .metadata_location = planned};
                   const auto published = meta.Commit(
                       catalog::Publish(
                           {.operations = {pending},
                            .outcomes = {done},
                            .namespaces = {{name.ns,
                                            meta.Get(catalog::NamespaceKey(name.ns).value(), soon())
                                                .value()
                                                .value()}},
                            .directory = Uuid::Random4(random)})
                           .value(),
                       soon());
                   EXPECT_TRUE(std::holds_alternative<metastore::Committed>(published.value()));
                 }}});
  const Result<TableResult> second = create();
  EXPECT_EQ(faulty.fault_count() > 1, true) << "the abort was sent";
  if (!second.has_value()) {
    EXPECT_EQ(second.error().code(), ErrorCode::kOutcomeUnknown) << second.error().message();
  }
  const Result<TableResult> third = create();
  ASSERT_THAT(third, IsOk());
  EXPECT_TRUE(third->replayed);
  EXPECT_EQ(third->metadata_location, planned);
  EXPECT_THAT(objects.Get(planned, 1'000'000, soon()), testing::IsOkAnd(file))
      << "the table's only file";
}

// A successor's reads see what its predecessor had all but finished.
TEST(RecoveryAtTakeover, IsOverWhenItReturns) {
  World world(Intent::kCreateTable);
  world.meta().Inject(
      {.when = FaultyMetaStore::CommitsOf(catalog::TableKey(World::kNewTable).value()),
       .times = FaultyMetaStore::kAlways,
       .fault = {.kind = FaultyMetaStore::Fault::Kind::kLoseRequest}});
  EXPECT_THAT(world.Perform(world.leader()), testing::IsError(ErrorCode::kOutcomeUnknown));
  world.successor().Win();
  ASSERT_THAT(world.successor().service().Recover(world.Soon()), IsOk());
  EXPECT_THAT(world.successor().service().LoadTable(World::kNewTable, world.Soon()), IsOk());
  EXPECT_THAT(world.successor().service().GetStatus(world.Soon())->pending, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Every, Recovery, ::testing::ValuesIn(kIntents), [](const auto& param) {
  std::string name = Name(param.param);
  std::erase(name, ' ');
  return name;
});

}  // namespace
}  // namespace lake::metasrv
