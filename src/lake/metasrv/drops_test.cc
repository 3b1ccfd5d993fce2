#include "lake/metasrv/drops.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
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

#include "lake/base/thread.h"
#include "lake/iceberg/table_metadata_json.h"
#include "lake/metasrv/metasrv_test_internal.h"
#include "lake/metastore/memory/memory_metastore.h"
#include "lake/objstore/memory/memory_objstore.h"
#include "lake/testing/faulty_metastore.h"
#include "lake/testing/faulty_objstore.h"
#include "lake/testing/seeded_random.h"

namespace lake::metasrv {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using testing::FaultyMetaStore;
using testing::FaultyObjectStore;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using ::testing::IsSupersetOf;
using ::testing::Not;
using Kind = FaultyMetaStore::Fault::Kind;

constexpr auto kRetention = std::chrono::hours(24 * 7);

// Two processes over one store. The first reaches it through stores that fail; the second does not.
struct World {
  World()
      : random(13),
        meta(clock, {}),
        objects(clock),
        faulty_meta(meta),
        faulty_objects(objects),
        leader(std::make_unique<Node>(faulty_meta, faulty_objects, clock, random)),
        successor(std::make_unique<Node>(meta, objects, clock, random)),
        files(objects, clock, random, {}) {
    clock.SetWall(WallTime(std::chrono::milliseconds(1'790'000'000'000)));
    leader->Win();
    EXPECT_THAT(leader->service().CreateNamespace({.ns = kNs}, Call()), IsOk());
  }

  Deadline Soon() const { return clock.Now() + std::chrono::seconds(60); }

  CallOptions Call() { return Call(Uuid::Random7(clock, random)); }

  CallOptions Call(const Uuid& id) {
    return {.operation = id, .retryable = true, .deadline = Soon()};
  }

  LoadedTable Load(const catalog::TableName& name) {
    return successor->service().LoadTable(name, Soon()).value();
  }

  iceberg::DataFile Stage(const std::string& location, std::int64_t rows) {
    const std::string path =
        fmt::format("{}/data/{}.parquet", location, Uuid::Random4(random).ToString());
    EXPECT_THAT(objects.PutIfAbsent(path, "PAR1", Soon()), IsOk());
    return {.file_path = path, .record_count = rows, .file_size_in_bytes = 4};
  }

  void AppendTo(Metasrv& service, const catalog::TableName& name, std::int64_t rows) {
    const LoadedTable table = Load(name);
    ASSERT_THAT(service.Append({.name = name,
                                .incarnation = table.registration.incarnation,
                                .content = {std::to_string(rows)},
                                .files = {Stage(table.registration.location, rows)}},
                               Call()),
                IsOk());
  }

  // A table in the warehouse with two versions that have rows.
  Uuid MakeTable(Metasrv& service, const catalog::TableName& name) {
    const auto made = service.CreateTable({.name = name, .schema = TestSchema()}, Call());
    EXPECT_THAT(made, IsOk());
    AppendTo(service, name, 5);
    AppendTo(service, name, 6);
    return made->incarnation;
  }

  // The files of a table that nobody has registered, with statistics; returns its metadata file.
  std::string MakeFiles(const std::string& location) {
    const Uuid incarnation = Uuid::Random4(random);
    const auto plan = [&](int version) {
      return fmt::format("{}/metadata/{:05}-1-{}.metadata.json", location, version,
                         Uuid::Random4(random).ToString());
    };
    const std::string first = plan(1);
    EXPECT_THAT(files.Create({.incarnation = incarnation,
                              .location = location,
                              .planned_location = first,
                              .schema = TestSchema(),
                              .now = clock.WallNow()},
                             Soon()),
                IsOk());
    const engine::AppendPlan append{.base = files.Load(first, Soon()).value(),
                                    .base_location = first,
                                    .planned_location = plan(2),
                                    .snapshot_id = iceberg::SnapshotId{10},
                                    .files = {Stage(location, 5), Stage(location, 6)},
                                    .now = clock.WallNow()};
    EXPECT_THAT(files.Append(append, Soon()), IsOk());
    iceberg::TableMetadata metadata = *files.Load(append.planned_location, Soon()).value();
    metadata.metadata_log.push_back({.metadata_file = append.planned_location});
    metadata.statistics.push_back({.snapshot_id = iceberg::SnapshotId{10},
                                   .statistics_path = location + "/metadata/stats",
                                   .file_size_in_bytes = 4});
    IgnoreError(objects.PutIfAbsent(location + "/metadata/stats", "PUF1", Soon()),
                "another table may be there");
    std::string last = plan(3);
    EXPECT_THAT(objects.PutIfAbsent(last, iceberg::WriteTableMetadata(metadata).value(), Soon()),
                IsOk());
    return last;
  }

  Result<TableResult> Register(const catalog::TableName& name, const std::string& metadata) {
    return leader->service().RegisterTable({.name = name, .metadata_location = metadata}, Call());
  }

  Result<TableResult> Drop(Metasrv& service, const catalog::TableName& name, bool purge) {
    return service.DropTable({.name = name, .purge = purge}, Call());
  }

  // Waits for a purge to its end.
  Status Await(Metasrv& service, const Uuid& incarnation) const {
    while (true) {
      LAKE_TRY(const PurgeProgress progress, service.AwaitPurge(incarnation, Deadline::max()));
      if (progress.done) {
        return {};
      }
    }
  }

  std::set<std::string> Paths(const std::string& prefix) {
    std::set<std::string> paths;
    const objstore::ObjectPage page = objects.List(prefix, "", 1000, Soon()).value();
    for (const objstore::ObjectInfo& info : page.objects) {
      paths.insert(info.path);
    }
    return paths;
  }

  std::optional<std::string> Read(const std::string& key) { return meta.Get(key, Soon()).value(); }

  std::optional<std::string> Tombstone(const Uuid& incarnation) {
    return Read(catalog::TombstoneKey(incarnation));
  }

  void Write(const std::string& key, const std::optional<std::string>& value) {
    metastore::Transaction transaction;
    if (value.has_value()) {
      transaction.Put(key, metastore::Expectation::Any(), *value);
    } else {
      transaction.Delete(key, metastore::Expectation::Any());
    }
    ASSERT_TRUE(
        std::holds_alternative<metastore::Committed>(meta.Commit(transaction, Soon()).value()));
  }

  std::size_t Deletions() const {
    const auto requests = faulty_objects.requests();
    return static_cast<std::size_t>(std::ranges::count(
        requests, FaultyObjectStore::Operation::kDelete, &FaultyObjectStore::Request::operation));
  }

  std::uint64_t Rows(const catalog::TableName& name) {
    const LoadedTable table = Load(name);
    const engine::CheckReport report =
        engine::SnapshotReader(objects, clock).Check(*table.metadata, Soon()).value();
    EXPECT_THAT(report.problems, IsEmpty());
    return report.rows;
  }

  // What the process that led until now leaves is taken over.
  void TakeOver() {
    successor->Win();
    ASSERT_THAT(successor->service().Recover(Soon()), IsOk());
  }

  static inline const catalog::Namespace kNs{{"n"}};
  static inline const catalog::TableName kT{.ns = kNs, .name = "t"};
  static inline const catalog::TableName kU{.ns = kNs, .name = "u"};

  testing::ManualClock clock;
  testing::SeededRandom random;
  metastore::MemoryMetaStore meta;
  objstore::MemoryObjectStore objects;
  FaultyMetaStore faulty_meta;
  FaultyObjectStore faulty_objects;
  std::unique_ptr<Node> leader;
  std::unique_ptr<Node> successor;
  engine::IcebergEngine files;
};

const catalog::TableName& kT = World::kT;
const catalog::TableName& kU = World::kU;

// A table of either kind: in the warehouse, or registered where it was.
struct Victim {
  Uuid incarnation;
  std::string location;
};

Victim MakeVictim(World& world, bool registered) {
  if (!registered) {
    const Uuid incarnation = world.MakeTable(world.leader->service(), kT);
    return {.incarnation = incarnation, .location = "/w/" + incarnation.ToString()};
  }
  const auto made = world.Register(kT, world.MakeFiles("/x/t"));
  EXPECT_THAT(made, IsOk());
  return {.incarnation = made->incarnation, .location = "/x/t"};
}

TEST(Purge, WhatWasPurgedIsNotRegisteredAgainOutOfMemory) {
  World world;
  Metasrv& service = world.leader->service();
  const Uuid incarnation = world.MakeTable(service, kT);
  const auto loaded = service.LoadTable(kT, world.Soon());
  ASSERT_THAT(loaded, IsOk());
  ASSERT_THAT(world.Drop(service, kT, true), IsOk());
  for (bool done = false; !done;) {
    const auto progress = service.AwaitPurge(incarnation, Deadline::max());
    ASSERT_THAT(progress, IsOk());
    done = progress->done;
  }
  EXPECT_THAT(world.Register(kT, loaded->registration.metadata_location),
              IsError(ErrorCode::kNotFound));
}

TEST(Purge, ATableThatSaysItsFilesMayBelongToOthersIsNotPurged) {
  World world;
  Metasrv& service = world.leader->service();
  world.MakeTable(service, kT);
  const auto set = [&](const std::string& value) {
    return service.CommitTable(
        {.commit = {.name = kT,
                    .requirements = {},
                    .updates = {iceberg::SetProperties{.updates = {{"gc.enabled", value}}}}},
         .content = {value}},
        world.Call());
  };
  ASSERT_THAT(set("false"), IsOk());
  EXPECT_THAT(world.Drop(service, kT, true), IsError(ErrorCode::kConflict));
  EXPECT_THAT(service.LoadTable(kT, world.Soon()), IsOk());
  ASSERT_THAT(set("true"), IsOk());
  EXPECT_THAT(world.Drop(service, kT, true), IsOk());
}

TEST(Purge, RemovesEveryFileAndThenTheTombstone) {
  for (const bool registered : {false, true}) {
    World world;
    const Victim victim = MakeVictim(world, registered);
    EXPECT_THAT(world.Paths(victim.location + "/"), Not(IsEmpty()));
    ASSERT_THAT(world.Drop(world.leader->service(), kT, true), IsOk());
    EXPECT_THAT(world.leader->service().LoadTable(kT, world.Soon()), IsError(ErrorCode::kNotFound));
    ASSERT_THAT(world.Await(world.leader->service(), victim.incarnation), IsOk());
    EXPECT_THAT(world.Paths(victim.location + "/"), IsEmpty());
    EXPECT_EQ(world.Tombstone(victim.incarnation), std::nullopt);
    EXPECT_EQ(world.Read("loc/file:///x/t"), std::nullopt);
    EXPECT_THAT(world.leader->service().ListDropped({}, world.Soon()).value(), IsEmpty());
  }
}

TEST(Purge, ADropThatIsNotCommittedDeletesNothing) {
  for (const bool registered : {false, true}) {
    for (const Kind kind : {Kind::kError, Kind::kLoseRequest}) {
      World world;
      const Victim victim = MakeVictim(world, registered);
      const std::set<std::string> before = world.Paths("/");
      world.faulty_meta.Inject(
          {.when = FaultyMetaStore::CommitsOf(catalog::TombstoneKey(victim.incarnation)),
           .times = FaultyMetaStore::kAlways,
           .fault = {.kind = kind}});
      EXPECT_THAT(
          world.Drop(world.leader->service(), kT, true),
          IsError(kind == Kind::kError ? ErrorCode::kUnavailable : ErrorCode::kOutcomeUnknown));
      world.leader->service().Stop();
      EXPECT_EQ(world.Deletions(), 0U);
      world.TakeOver();
      ASSERT_THAT(world.successor->service().SweepDrops(world.Soon(), 100), IsOk());
      world.successor->service().Stop();
      EXPECT_EQ(world.Paths("/"), before);
      EXPECT_EQ(world.Rows(kT), 11U);
    }
  }
}

// The store fails at the first call, then at the second, …, from then on or once, in every way. Files go only if the drop is there to be
// read, and if it is, a successor ends it.
TEST(Purge, WhicheverCallOfTheMetastoreFailsEitherTheTableIsWholeOrEverythingGoes) {
  for (const Kind kind : {Kind::kError, Kind::kLoseRequest, Kind::kLoseAnswer}) {
    for (const std::size_t times : {std::size_t{1}, FaultyMetaStore::kAlways}) {
      for (std::size_t n = 1;; ++n) {
        SCOPED_TRACE(fmt::format("fault {}, call {}, times {}", static_cast<int>(kind), n, times));
        World world;
        const Victim victim = MakeVictim(world, n % 2 == 0);
        const std::set<std::string> before = world.Paths("/");
        world.faulty_meta.Inject({.when = FaultyMetaStore::AnyCall,
                                  .skip = n - 1,
                                  .times = times,
                                  .fault = {.kind = kind}});
        const auto dropped = world.Drop(world.leader->service(), kT, true);
        if (dropped.has_value()) {
          IgnoreError(world.Await(world.leader->service(), victim.incarnation), "it may fail");
        }
        world.leader->service().Stop();
        const bool reached = world.faulty_meta.fault_count() > 0;
        if (world.Read(catalog::TableKey(kT).value()).has_value()) {
          EXPECT_FALSE(dropped.has_value());
          EXPECT_EQ(world.Paths("/"), before);
          EXPECT_EQ(world.Deletions(), 0U);
          EXPECT_EQ(world.Rows(kT), 11U);
        } else {
          if (!dropped.has_value()) {
            EXPECT_THAT(dropped, IsError(ErrorCode::kOutcomeUnknown));
          }
          world.TakeOver();
          ASSERT_THAT(world.Await(world.successor->service(), victim.incarnation), IsOk());
          EXPECT_THAT(world.Paths(victim.location + "/"), IsEmpty());
          EXPECT_EQ(world.Tombstone(victim.incarnation), std::nullopt);
        }
        if (!reached) {
          EXPECT_GT(n, 6U);
          break;
        }
      }
    }
  }
}

// The process loses its object store, and with it everything, at its first call, then at its second, …
TEST(Purge, ResumesUnderALaterLeaderWhereverTheProcessDied) {
  for (const bool registered : {false, true}) {
    for (std::size_t n = 1;; ++n) {
      SCOPED_TRACE(fmt::format("registered {}, call {}", registered, n));
      World world;
      const Victim victim = MakeVictim(world, registered);
      world.faulty_objects.RefuseFrom(n);
      ASSERT_THAT(world.Drop(world.leader->service(), kT, true), IsOk());
      const Status ended = world.Await(world.leader->service(), victim.incarnation);
      world.leader->service().Stop();
      if (ended.has_value()) {
        EXPECT_GT(n, 5U);
        break;
      }
      EXPECT_THAT(ended, IsError(ErrorCode::kUnavailable, HasSubstr("n.t")));
      EXPECT_NE(world.Tombstone(victim.incarnation), std::nullopt);
      EXPECT_THAT(world.successor->service().ListDropped({}, world.Soon()).value(),
                  ElementsAre(Field(&DroppedTable::purging, true)));
      world.TakeOver();
      ASSERT_THAT(world.Await(world.successor->service(), victim.incarnation), IsOk());
      EXPECT_THAT(world.Paths(victim.location + "/"), IsEmpty());
      EXPECT_EQ(world.Tombstone(victim.incarnation), std::nullopt);
    }
  }
}

// An object store that removes the first half of what it is to delete, and fails; as often as it is told.
class HalfwayStore final : public objstore::ObjectStore {
 public:
  explicit HalfwayStore(objstore::ObjectStore& under) : under_(under) {}

  // The n-th deletion from now stops halfway.
  void StopAt(std::size_t n) { left_ = n; }

  Result<std::string> Get(std::string_view path, std::uint64_t size_max,
                          Deadline deadline) override {
    return under_.Get(path, size_max, deadline);
  }

  Result<std::string> GetRange(std::string_view path, std::uint64_t offset, std::uint64_t length,
                               Deadline deadline) override {
    return under_.GetRange(path, offset, length, deadline);
  }

  Result<objstore::ObjectInfo> Stat(std::string_view path, Deadline deadline) override {
    return under_.Stat(path, deadline);
  }

  Status PutIfAbsent(std::string_view path, std::string_view bytes, Deadline deadline) override {
    return under_.PutIfAbsent(path, bytes, deadline);
  }

  Result<std::unique_ptr<objstore::ObjectWriter>> StartWrite(std::string_view path,
                                                             Deadline deadline) override {
    return under_.StartWrite(path, deadline);
  }

  Result<objstore::ObjectPage> List(std::string_view prefix, std::string_view after,
                                    std::size_t limit, Deadline deadline) override {
    return under_.List(prefix, after, limit, deadline);
  }

  Status Delete(const std::vector<std::string>& paths, Deadline deadline) override {
    if (left_ == 0 || --left_ > 0) {
      return under_.Delete(paths, deadline);
    }
    const auto half = static_cast<std::ptrdiff_t>(paths.size() / 2);
    LAKE_TRY_VOID(under_.Delete({paths.begin(), paths.begin() + half}, deadline));
    return OutcomeUnknown("half of it is done");
  }

 private:
  objstore::ObjectStore& under_;
  std::size_t left_ = 0;  // Set before and used by one purge.
};

TEST(Purge, IsCompleteAfterItWasInterruptedInMidPage) {
  for (const bool registered : {false, true}) {
    for (std::size_t n = 1;; ++n) {
      SCOPED_TRACE(fmt::format("registered {}, deletion {}", registered, n));
      World world;
      const Victim victim = MakeVictim(world, registered);
      HalfwayStore halfway(world.objects);
      Node node(world.meta, halfway, world.clock, world.random);
      node.Win();
      halfway.StopAt(n);
      ASSERT_THAT(world.Drop(node.service(), kT, true), IsOk());
      const Status ended = world.Await(node.service(), victim.incarnation);
      node.service().Stop();
      if (ended.has_value()) {
        EXPECT_GT(n, 2U);
        break;
      }
      EXPECT_THAT(ended, IsError(ErrorCode::kOutcomeUnknown));
      EXPECT_THAT(world.Paths(victim.location + "/"), Not(IsEmpty()));
      world.TakeOver();
      ASSERT_THAT(world.Await(world.successor->service(), victim.incarnation), IsOk());
      EXPECT_THAT(world.Paths(victim.location + "/"), IsEmpty());
    }
  }
}

TEST(Purge, ADelayedOneCannotTouchTheRecreatedTable) {
  World world;
  const Victim victim = MakeVictim(world, false);
  world.faulty_objects.SetRule([](const FaultyObjectStore::Request& request) {
    return request.operation == FaultyObjectStore::Operation::kDelete
               ? FaultyObjectStore::Fault::kHoldRequest
               : FaultyObjectStore::Fault::kNone;
  });
  ASSERT_THAT(world.Drop(world.leader->service(), kT, true), IsOk());
  world.faulty_objects.WaitForHeld(1);
  world.TakeOver();
  ASSERT_THAT(world.Await(world.successor->service(), victim.incarnation), IsOk());
  world.MakeTable(world.successor->service(), kT);
  const std::set<std::string> files = world.Paths("/w/");
  world.faulty_objects.SetRule(nullptr);
  world.faulty_objects.Release();
  EXPECT_THAT(world.Await(world.leader->service(), victim.incarnation),
              IsError(ErrorCode::kFenced));
  world.leader->service().Stop();
  EXPECT_EQ(world.Paths("/w/"), files);
  EXPECT_EQ(world.Rows(kT), 11U);
}

TEST(Purge, AStaleLeaderCannotClearATombstone) {
  World world;
  const Victim victim = MakeVictim(world, false);
  // The files are gone and the leader is about to say so, when another process wins.
  world.faulty_meta.Inject(
      {.when = FaultyMetaStore::CommitsOf(catalog::TombstoneKey(victim.incarnation)),
       .skip = 1,
       .fault = {.before = [&] { world.successor->Win(); }}});
  ASSERT_THAT(world.Drop(world.leader->service(), kT, true), IsOk());
  EXPECT_THAT(world.Await(world.leader->service(), victim.incarnation),
              IsError(ErrorCode::kFenced));
  EXPECT_NE(world.Tombstone(victim.incarnation), std::nullopt);
  EXPECT_THAT(world.leader->service().SweepDrops(world.Soon(), 10), IsError(ErrorCode::kNotLeader));
  ASSERT_THAT(world.successor->service().Recover(world.Soon()), IsOk());
  ASSERT_THAT(world.Await(world.successor->service(), victim.incarnation), IsOk());
  EXPECT_EQ(world.Tombstone(victim.incarnation), std::nullopt);
}

TEST(Purge, ALeaderThatWasDeposedStopsBeforeTheNextPage) {
  World world;
  const Victim victim = MakeVictim(world, false);
  world.faulty_objects.SetRule([](const FaultyObjectStore::Request& request) {
    return request.operation == FaultyObjectStore::Operation::kList
               ? FaultyObjectStore::Fault::kHoldAnswer
               : FaultyObjectStore::Fault::kNone;
  });
  ASSERT_THAT(world.Drop(world.leader->service(), kT, true), IsOk());
  world.faulty_objects.WaitForHeld(1);
  world.successor->Win();
  // It learns so from any publication.
  EXPECT_THAT(world.leader->service().CreateNamespace({.ns = {{"m"}}}, world.Call()),
              IsError(ErrorCode::kFenced));
  world.faulty_objects.SetRule(nullptr);
  world.faulty_objects.Release();
  EXPECT_THAT(world.Await(world.leader->service(), victim.incarnation),
              AnyOf(IsError(ErrorCode::kFenced), IsError(ErrorCode::kNotLeader)));
  EXPECT_EQ(world.Deletions(), 0U);
}

TEST(Purge, AStoppingProcessLeavesTheRestToTheNext) {
  World world;
  const Victim victim = MakeVictim(world, true);
  world.faulty_objects.SetRule([](const FaultyObjectStore::Request& request) {
    return request.operation == FaultyObjectStore::Operation::kDelete
               ? FaultyObjectStore::Fault::kHoldAnswer
               : FaultyObjectStore::Fault::kNone;
  });
  ASSERT_THAT(world.Drop(world.leader->service(), kT, true), IsOk());
  world.faulty_objects.WaitForHeld(1);
  Thread stopping("stopping", [&] { world.leader->service().Stop(); });
  // It has come to know that it stops, or comes to know it before the deletion is answered: both end the purge early or late.
  world.faulty_objects.SetRule(nullptr);
  world.faulty_objects.Release();
  stopping.Join();
  world.TakeOver();
  ASSERT_THAT(world.Await(world.successor->service(), victim.incarnation), IsOk());
  EXPECT_THAT(world.Paths("/x/"), IsEmpty());
}

TEST(Purge, RepeatedDropsConvergeAcrossAHandover) {
  World world;
  const Victim victim = MakeVictim(world, true);
  const Uuid id = world.Call().operation;
  world.faulty_meta.Inject(
      {.when = FaultyMetaStore::CommitsOf(catalog::TombstoneKey(victim.incarnation)),
       .times = FaultyMetaStore::kAlways,
       .fault = {.kind = Kind::kLoseAnswer, .after = [&] { world.successor->Win(); }}});
  EXPECT_THAT(world.leader->service().DropTable({.name = kT, .purge = true}, world.Call(id)),
              IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_EQ(world.Deletions(), 0U) << "it does not know that it may";
  for (int round = 0; round < 3; ++round) {
    const auto again =
        world.successor->service().DropTable({.name = kT, .purge = true}, world.Call(id));
    ASSERT_THAT(again, IsOk());
    EXPECT_TRUE(again->replayed);
    EXPECT_EQ(again->incarnation, victim.incarnation);
    ASSERT_THAT(world.Await(world.successor->service(), again->incarnation), IsOk());
    EXPECT_THAT(world.Paths("/x/"), IsEmpty());
  }
  EXPECT_THAT(world.Drop(world.successor->service(), kT, true), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(world.successor->service().DropTable({.name = kT}, world.Call(id)),
              IsError(ErrorCode::kInvalidArgument))
      << "without purge it is another request";
}

TEST(Purge, AVersionRaceDuringADropLeavesEitherTheTableOrTheDrop) {
  for (const std::size_t versions : {1U, 3U, 1000U}) {
    World world;
    const Victim victim = MakeVictim(world, false);
    const std::string key = catalog::TableKey(kT).value();
    std::size_t made = 0;
    world.faulty_meta.Inject(
        {.when = FaultyMetaStore::CommitsOf(catalog::TombstoneKey(victim.incarnation)),
         .times = versions,
         .fault = {.before = [&] {
           catalog::Registration next = catalog::DecodeRegistration(*world.Read(key)).value();
           next.version += 1;
           world.Write(key, catalog::Encode(next));
           ++made;
         }}});
    const auto dropped = world.leader->service().DropTable({.name = kT}, world.Call());
    const auto tombstone = world.Tombstone(victim.incarnation);
    EXPECT_NE(world.Read(key).has_value(), tombstone.has_value());
    EXPECT_EQ(dropped.has_value(), tombstone.has_value());
    if (versions == 1000U) {
      EXPECT_THAT(dropped, IsError(ErrorCode::kUnavailable));
      EXPECT_EQ(world.Rows(kT), 11U);
    } else {
      ASSERT_TRUE(tombstone.has_value());
      const std::string bytes = catalog::DecodeTombstone(*tombstone)->registration;
      EXPECT_EQ(catalog::DecodeRegistration(bytes)->version, 3U + made);
    }
  }
}

TEST(Purge, ATableWhoseNameBeginsAlikeKeepsItsFiles) {
  World world;
  const auto test = world.Register(kT, world.MakeFiles("/x/test"));
  ASSERT_THAT(test, IsOk());
  ASSERT_THAT(world.Register(kU, world.MakeFiles("/x/test2")), IsOk());
  const std::set<std::string> kept = world.Paths("/x/test2/");
  ASSERT_THAT(world.Drop(world.leader->service(), kT, true), IsOk());
  ASSERT_THAT(world.Await(world.leader->service(), test->incarnation), IsOk());
  EXPECT_EQ(world.Paths("/"), kept);
  EXPECT_EQ(world.Rows(kU), 11U);
}

TEST(Purge, AForeignTableUnderTheLocationStopsItAndHoldsUpNoOther) {
  World world;
  const Victim victim = MakeVictim(world, true);
  world.MakeFiles("/x/t/nested");
  const std::set<std::string> before = world.Paths("/x/");
  const Uuid other = world.MakeTable(world.leader->service(), kU);
  ASSERT_THAT(world.Drop(world.leader->service(), kT, true), IsOk());
  ASSERT_THAT(world.Drop(world.leader->service(), kU, true), IsOk());
  EXPECT_THAT(world.Await(world.leader->service(), victim.incarnation),
              IsError(ErrorCode::kConflict, HasSubstr("/x/t/nested/")));
  ASSERT_THAT(world.Await(world.leader->service(), other), IsOk());
  EXPECT_EQ(world.Paths("/"), before);
  EXPECT_NE(world.Tombstone(victim.incarnation), std::nullopt);
}

TEST(Purge, ADamagedManifestStopsItUntilAPersonHasDealtWithIt) {
  World world;
  const Victim victim = MakeVictim(world, true);
  std::string manifest;
  for (const std::string& path : world.Paths("/x/t/metadata/")) {
    manifest = path.ends_with("-m0.avro") ? path : manifest;
  }
  ASSERT_THAT(world.objects.Delete({manifest}, world.Soon()), IsOk());
  ASSERT_THAT(world.objects.PutIfAbsent(manifest, "damaged", world.Soon()), IsOk());
  ASSERT_THAT(world.Drop(world.leader->service(), kT, true), IsOk());
  EXPECT_THAT(world.Await(world.leader->service(), victim.incarnation),
              IsError(ErrorCode::kCorruption, HasSubstr(manifest)));
  EXPECT_THAT(world.Paths("/x/t/data/"), Not(IsEmpty()));
  ASSERT_THAT(world.objects.Delete({manifest}, world.Soon()), IsOk());
  const auto sweep = world.leader->service().SweepDrops(world.Soon(), 10);
  ASSERT_THAT(sweep, IsOk());
  EXPECT_EQ(sweep->started, 1U);
  ASSERT_THAT(world.Await(world.leader->service(), victim.incarnation), IsOk());
  EXPECT_THAT(world.Paths("/x/t/metadata/"), IsEmpty());
}

TEST(Purge, ATableThatIsBeingPurgedIsNeitherRegisteredNorUndropped) {
  World world;
  const std::string metadata = world.MakeFiles("/x/t");
  ASSERT_THAT(world.Register(kT, metadata), IsOk());
  world.faulty_objects.SetRule([](const FaultyObjectStore::Request& request) {
    return request.operation == FaultyObjectStore::Operation::kDelete
               ? FaultyObjectStore::Fault::kHoldRequest
               : FaultyObjectStore::Fault::kNone;
  });
  ASSERT_THAT(world.Drop(world.leader->service(), kT, true), IsOk());
  world.faulty_objects.WaitForHeld(1);
  EXPECT_THAT(world.Register(kT, metadata), IsError(ErrorCode::kConflict));
  EXPECT_THAT(world.leader->service().UndropTable({.name = kT}, world.Call()),
              IsError(ErrorCode::kConflict));
  world.faulty_objects.SetRule(nullptr);
  world.faulty_objects.Release();
}

TEST(Locations, SharedAndNestedOnesAreRefused) {
  World world;
  ASSERT_THAT(world.Register(kT, world.MakeFiles("/x/y/test")), IsOk());
  EXPECT_NE(world.Read("loc/file:///x/y/test"), std::nullopt);
  const auto refused = IsError(ErrorCode::kAlreadyExists, HasSubstr("belongs to table n.t"));
  EXPECT_THAT(world.Register(kU, world.MakeFiles("/x/y/test")), refused);
  EXPECT_THAT(world.Register(kU, world.MakeFiles("/x/y/test/below/it")), refused);
  EXPECT_THAT(world.Register(kU, world.MakeFiles("/x/y")), refused);
  EXPECT_THAT(world.Register(kU, world.MakeFiles("/x")), refused);
  EXPECT_THAT(world.Register(kU, world.MakeFiles("/x/y/test2")), IsOk());
  EXPECT_THAT(world.Register({.ns = World::kNs, .name = "v"}, world.MakeFiles("/x/y/tes")), IsOk());
}

TEST(Locations, TheWarehouseAndItsTablesFoldersAreTakenAndTheRestOfItIsFree) {
  World world;
  const Uuid table = world.MakeTable(world.leader->service(), kT);
  EXPECT_THAT(world.Register(kU, world.MakeFiles("/w")), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(world.Register(kU, world.MakeFiles("/w/" + table.ToString() + "/x")),
              IsError(ErrorCode::kAlreadyExists, HasSubstr(table.ToString())));
  EXPECT_THAT(world.Register(kU, world.MakeFiles("/w/" + table.ToString())),
              IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(world.Register(kU, world.MakeFiles("/w/imported/u")), IsOk());
  EXPECT_THAT(world.Register(kT, world.Load(kT).registration.metadata_location),
              IsError(ErrorCode::kAlreadyExists));
}

TEST(Locations, ADroppedTableHoldsItsOwnUntilItIsForgotten) {
  World world;
  const std::string metadata = world.MakeFiles("/x/t");
  ASSERT_THAT(world.Register(kT, metadata), IsOk());
  ASSERT_THAT(world.Drop(world.leader->service(), kT, false), IsOk());
  const std::string other = world.MakeFiles("/x/t/below");
  EXPECT_THAT(world.Register(kU, other),
              IsError(ErrorCode::kAlreadyExists, HasSubstr("the dropped table n.t")));
  ASSERT_THAT(world.Register(kT, metadata), IsOk()) << "it is its own";
  ASSERT_THAT(world.Drop(world.leader->service(), kT, false), IsOk());
  world.clock.SetWall(world.clock.WallNow() + kRetention);
  ASSERT_THAT(world.leader->service().SweepDrops(world.Soon(), 10), IsOk());
  EXPECT_EQ(world.Read("loc/file:///x/t"), std::nullopt);
  EXPECT_THAT(world.Register(kU, other), IsOk());
}

TEST(Locations, TablesThatHaveNoRecordYetAreNotOverlooked) {
  for (const bool dropped : {false, true}) {
    World world;
    const Uuid inside = world.MakeTable(world.leader->service(), kU);
    const std::string metadata = world.MakeFiles("/x/t");
    ASSERT_THAT(world.Register(kT, metadata), IsOk());
    if (dropped) {
      ASSERT_THAT(world.Drop(world.leader->service(), kT, false), IsOk());
    }
    world.Write("loc/file:///x/t", std::nullopt);
    world.Write(std::string(catalog::kLocationsKey), std::nullopt);
    const catalog::TableName v{.ns = World::kNs, .name = "v"};
    EXPECT_THAT(world.Register(v, world.MakeFiles("/x/t/below")),
                IsError(ErrorCode::kAlreadyExists, HasSubstr("n.t")));
    EXPECT_NE(world.Read("loc/file:///x/t"), std::nullopt);
    EXPECT_NE(world.Read(std::string(catalog::kLocationsKey)), std::nullopt);
    EXPECT_EQ(world.Read("loc/file:///w/" + inside.ToString()), std::nullopt);
    if (dropped) {
      EXPECT_THAT(world.leader->service().UndropTable({.name = kT}, world.Call()), IsOk());
    }
  }
}

TEST(Locations, AreFoundWithoutLookingAtEveryTable) {
  World world;
  for (int i = 0; i < 30; ++i) {
    ASSERT_THAT(
        world.leader->service().CreateTable(
            {.name = {.ns = World::kNs, .name = fmt::format("t{}", i)}, .schema = TestSchema()},
            world.Call()),
        IsOk());
  }
  ASSERT_THAT(world.Register(kT, world.MakeFiles("/x/t")), IsOk());
  std::size_t scans = 0;
  world.faulty_meta.Inject({.when =
                                [](const FaultyMetaStore::Call& call) {
                                  return call.method == FaultyMetaStore::Method::kScan &&
                                         call.Names(catalog::kTablePrefix);
                                },
                            .times = FaultyMetaStore::kAlways,
                            .fault = {.before = [&] { ++scans; }}});
  ASSERT_THAT(world.Register(kU, world.MakeFiles("/x/u")), IsOk());
  EXPECT_EQ(scans, 0U);
}

TEST(Undrop, BringsTheTableBackAsItWas) {
  for (const bool registered : {false, true}) {
    World world;
    const Victim victim = MakeVictim(world, registered);
    const LoadedTable before = world.Load(kT);
    ASSERT_THAT(world.Drop(world.leader->service(), kT, false), IsOk());
    const auto listed = world.leader->service().ListDropped(World::kNs, world.Soon()).value();
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].name, kT);
    EXPECT_EQ(listed[0].incarnation, victim.incarnation);
    EXPECT_EQ(listed[0].location, victim.location);
    EXPECT_FALSE(listed[0].purging);
    EXPECT_EQ(listed[0].kept_until - listed[0].dropped, kRetention);
    EXPECT_THAT(
        world.leader->service().ListDropped(catalog::Namespace{{"m"}}, world.Soon()).value(),
        IsEmpty());
    const Uuid id = world.Call().operation;
    const auto back = world.leader->service().UndropTable({.name = kT}, world.Call(id));
    ASSERT_THAT(back, IsOk());
    EXPECT_EQ(back->incarnation, victim.incarnation);
    const LoadedTable after = world.Load(kT);
    EXPECT_EQ(after.registration.metadata_location, before.registration.metadata_location);
    EXPECT_EQ(after.registration.version, before.registration.version);
    EXPECT_EQ(world.Rows(kT), 11U);
    EXPECT_EQ(world.Tombstone(victim.incarnation), std::nullopt);
    const auto again = world.leader->service().UndropTable({.name = kT}, world.Call(id));
    ASSERT_THAT(again, IsOk());
    EXPECT_TRUE(again->replayed);
    world.AppendTo(world.leader->service(), kT, 3);
    EXPECT_EQ(world.Rows(kT), 14U);
  }
}

TEST(Undrop, IsRefusedWhenTheNameIsTakenOrNothingIsThere) {
  World world;
  Metasrv& service = world.leader->service();
  EXPECT_THAT(service.UndropTable({.name = kT}, world.Call()), IsError(ErrorCode::kNotFound));
  const Uuid first = world.MakeTable(service, kT);
  ASSERT_THAT(world.Drop(service, kT, false), IsOk());
  world.MakeTable(service, kT);
  const Uuid id = world.Call().operation;
  EXPECT_THAT(service.UndropTable({.name = kT}, world.Call(id)),
              IsError(ErrorCode::kAlreadyExists));
  EXPECT_NE(world.Tombstone(first), std::nullopt);
  ASSERT_THAT(world.Drop(service, kT, false), IsOk());
  EXPECT_THAT(service.UndropTable({.name = kT}, world.Call(id)), IsError(ErrorCode::kAlreadyExists))
      << "it was told no";
  EXPECT_THAT(service.UndropTable({.name = kU}, world.Call()), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(service.UndropTable({.name = kU, .incarnation = first}, world.Call()),
              IsError(ErrorCode::kNotFound));
}

TEST(Undrop, TakesTheTableThatWasDroppedLastOrTheOneThatIsNamed) {
  World world;
  Metasrv& service = world.leader->service();
  std::vector<Uuid> incarnations;
  for (int i = 0; i < 3; ++i) {
    incarnations.push_back(world.MakeTable(service, kT));
    ASSERT_THAT(world.Drop(service, kT, false), IsOk());
    world.clock.SetWall(world.clock.WallNow() + std::chrono::seconds(1));
  }
  const auto listed = service.ListDropped({}, world.Soon()).value();
  ASSERT_EQ(listed.size(), 3U);
  EXPECT_EQ(listed[0].incarnation, incarnations[0]);
  EXPECT_EQ(listed[2].incarnation, incarnations[2]);
  const auto last = service.UndropTable({.name = kT}, world.Call());
  ASSERT_THAT(last, IsOk());
  EXPECT_EQ(last->incarnation, incarnations[2]);
  ASSERT_THAT(world.Drop(service, kT, false), IsOk());
  const auto named =
      service.UndropTable({.name = kT, .incarnation = incarnations[0]}, world.Call());
  ASSERT_THAT(named, IsOk());
  EXPECT_EQ(named->incarnation, incarnations[0]);
}

TEST(Undrop, IsRefusedWhenTheFilesAreGone) {
  World world;
  Metasrv& service = world.leader->service();
  const Uuid incarnation = world.MakeTable(service, kT);
  const std::string metadata = world.Load(kT).registration.metadata_location;
  ASSERT_THAT(world.Drop(service, kT, false), IsOk());
  ASSERT_THAT(world.objects.Delete({metadata}, world.Soon()), IsOk());
  world.TakeOver();
  EXPECT_THAT(world.successor->service().UndropTable({.name = kT}, world.Call()),
              IsError(ErrorCode::kCorruption, HasSubstr(metadata)));
  EXPECT_NE(world.Tombstone(incarnation), std::nullopt);
}

TEST(Undrop, ADropWhoseNamespaceIsGoneWaitsForIt) {
  World world;
  Metasrv& service = world.leader->service();
  world.MakeTable(service, kT);
  ASSERT_THAT(world.Drop(service, kT, false), IsOk());
  ASSERT_THAT(service.DropNamespace(World::kNs, world.Call()), IsOk());
  EXPECT_THAT(service.UndropTable({.name = kT}, world.Call()),
              IsError(ErrorCode::kNotFound, HasSubstr("namespace n")));
  ASSERT_THAT(service.CreateNamespace({.ns = World::kNs}, world.Call()), IsOk());
  EXPECT_THAT(service.UndropTable({.name = kT}, world.Call()), IsOk());
}

TEST(Undrop, ExpiryAgainstUndropHasExactlyOneWinner) {
  for (const bool registered : {false, true}) {
    for (const bool expiry_first : {false, true}) {
      World world;
      const Victim victim = MakeVictim(world, registered);
      ASSERT_THAT(world.Drop(world.leader->service(), kT, false), IsOk());
      world.clock.SetWall(world.clock.WallNow() + kRetention);
      Result<DropSweep> sweep;
      Result<TableResult> undrop;
      // One of them runs as a whole just before the other one's publication.
      const auto expire = [&] { sweep = world.leader->service().SweepDrops(world.Soon(), 10); };
      const auto bring_back = [&] {
        undrop = world.leader->service().UndropTable({.name = kT}, world.Call());
      };
      world.faulty_meta.Inject(
          {.when = FaultyMetaStore::CommitsOf(catalog::TombstoneKey(victim.incarnation)),
           .fault = {.before = [&] { expiry_first ? expire() : bring_back(); }}});
      expiry_first ? bring_back() : expire();
      ASSERT_THAT(sweep, IsOk());
      EXPECT_EQ(sweep->forgotten, expiry_first ? 1U : 0U);
      EXPECT_EQ(world.Tombstone(victim.incarnation), std::nullopt);
      if (expiry_first) {
        EXPECT_THAT(undrop, IsError(ErrorCode::kNotFound));
        EXPECT_EQ(world.Read(catalog::TableKey(kT).value()), std::nullopt);
        EXPECT_EQ(world.Read("loc/file:///x/t"), std::nullopt);
      } else {
        EXPECT_THAT(undrop, IsOk());
        EXPECT_EQ(world.Rows(kT), 11U);
        EXPECT_EQ(world.Read("loc/file:///x/t").has_value(), registered);
      }
    }
  }
}

TEST(Undrop, HappensAtMostOnceWhicheverCallOfTheMetastoreFails) {
  for (const Kind kind : {Kind::kError, Kind::kLoseRequest, Kind::kLoseAnswer}) {
    for (std::size_t n = 1;; ++n) {
      SCOPED_TRACE(fmt::format("fault {}, call {}", static_cast<int>(kind), n));
      World world;
      const Victim victim = MakeVictim(world, n % 2 == 0);
      ASSERT_THAT(world.Drop(world.leader->service(), kT, false), IsOk());
      const Uuid id = world.Call().operation;
      world.faulty_meta.Inject(
          {.when = FaultyMetaStore::AnyCall, .skip = n - 1, .fault = {.kind = kind}});
      const auto first = world.leader->service().UndropTable({.name = kT}, world.Call(id));
      if (world.faulty_meta.fault_count() == 0) {
        EXPECT_THAT(first, IsOk());
        EXPECT_GT(n, 5U);
        break;
      }
      EXPECT_NE(world.Read(catalog::TableKey(kT).value()).has_value(),
                world.Tombstone(victim.incarnation).has_value());
      world.TakeOver();
      const auto again = world.successor->service().UndropTable({.name = kT}, world.Call(id));
      ASSERT_THAT(again, IsOk());
      EXPECT_EQ(again->incarnation, victim.incarnation);
      EXPECT_EQ(world.Rows(kT), 11U);
    }
  }
}

TEST(Undrop, AnAttemptFromBeforeTheDropIsNotPublishedAfterIt) {
  World world;
  world.MakeTable(world.leader->service(), kT);
  const std::string before = *world.Read(catalog::TableKey(kT).value());
  ASSERT_THAT(world.Drop(world.leader->service(), kT, false), IsOk());
  ASSERT_THAT(world.leader->service().UndropTable({.name = kT}, world.Call()), IsOk());
  EXPECT_NE(*world.Read(catalog::TableKey(kT).value()), before);
}

TEST(DropSweep, ForgetsWhatIsOldEnoughAndKeepsTheFiles) {
  World world;
  Metasrv& service = world.leader->service();
  const Uuid old = world.MakeTable(service, kT);
  ASSERT_THAT(world.Drop(service, kT, false), IsOk());
  const std::set<std::string> files = world.Paths("/");
  world.clock.SetWall(world.clock.WallNow() + kRetention - std::chrono::milliseconds(1));
  const Uuid young = world.MakeTable(service, kT);
  ASSERT_THAT(world.Drop(service, kT, false), IsOk());
  EXPECT_EQ(service.SweepDrops(world.Soon(), 10)->forgotten, 0U);
  world.clock.SetWall(world.clock.WallNow() + std::chrono::milliseconds(1));
  EXPECT_EQ(service.SweepDrops(world.Soon(), 10)->forgotten, 1U);
  EXPECT_EQ(world.Tombstone(old), std::nullopt);
  EXPECT_NE(world.Tombstone(young), std::nullopt);
  EXPECT_THAT(world.Paths("/"), IsSupersetOf(files));
  EXPECT_THAT(service.UndropTable({.name = kT, .incarnation = old}, world.Call()),
              IsError(ErrorCode::kNotFound));
}

TEST(DropSweep, StaysWithinItsBudgetAndGoesOnWhereItStopped) {
  World world;
  Metasrv& service = world.leader->service();
  for (int i = 0; i < 7; ++i) {
    ASSERT_THAT(service.CreateTable({.name = kT, .schema = TestSchema()}, world.Call()), IsOk());
    ASSERT_THAT(world.Drop(service, kT, false), IsOk());
  }
  world.clock.SetWall(world.clock.WallNow() + kRetention);
  std::vector<std::size_t> forgotten;
  for (bool whole = false; !whole;) {
    const DropSweep sweep = service.SweepDrops(world.Soon(), 3).value();
    forgotten.push_back(sweep.forgotten);
    whole = sweep.whole;
  }
  EXPECT_THAT(forgotten, ElementsAre(3U, 3U, 1U));
  EXPECT_FALSE(service.SweepDrops(world.clock.Now(), 3)->failed > 0);
}

TEST(DropSweep, ADamagedTombstoneIsReportedAndHoldsUpNoOther) {
  World world;
  Metasrv& service = world.leader->service();
  const Uuid incarnation = world.MakeTable(service, kT);
  ASSERT_THAT(world.Drop(service, kT, false), IsOk());
  world.Write("drop/00000000-0000-4000-8000-000000000000", "damaged");
  world.Write("drop/x", "damaged");
  world.clock.SetWall(world.clock.WallNow() + kRetention);
  const DropSweep sweep = service.SweepDrops(world.Soon(), 10).value();
  EXPECT_EQ(sweep.failed, 2U);
  EXPECT_EQ(sweep.forgotten, 1U);
  EXPECT_TRUE(sweep.whole);
  EXPECT_EQ(world.Tombstone(incarnation), std::nullopt);
  EXPECT_THAT(service.ListDropped({}, world.Soon()).value(), IsEmpty());
}

}  // namespace
}  // namespace lake::metasrv
