#include "lake/metasrv/recovery_world_test_internal.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/check.h"
#include "lake/base/mutex.h"
#include "lake/base/thread_annotations.h"
#include "lake/catalog/keyspace.h"
#include "lake/engine/snapshot_reader.h"
#include "lake/iceberg/snapshot_expiry.h"
#include "lake/metastore/dynamodb/dynamo_metastore.h"
#include "lake/metastore/memory/memory_metastore.h"
#include "lake/metastore/rocksdb/rocks_metastore.h"
#include "lake/metastore/transaction.h"
#include "lake/testing/dynamo_fake.h"
#include "lake/testing/recording_metastore.h"
#include "lake/testing/temp_dir.h"
#include "lake/testing/time_lapse.h"

namespace lake::metasrv {
namespace {

using ::testing::IsEmpty;
using testing::IsOk;

constexpr WallTime kToday{std::chrono::milliseconds(1'790'000'000'000)};

// --- Stores.

// A RocksDB in a directory of its own, with the semantics of every RocksMetaStore, synced writes included; only what the directory lies
// on is quick, where the machine has such a place.
class RocksInTempDir final : public metastore::MetaStore {
 public:
  RocksInTempDir()
      : directory_(testing::TempDir::Medium::kMemory),
        store_(metastore::RocksMetaStore::Open(clock_,
                                               {.path = directory_.Join("meta"), .on_fatal = {}})
                   .value()) {}

  // Removes all that was ever put.
  void Empty() {
    std::set<std::string> keys;
    {
      const MutexLock lock(mutex_);
      keys = std::exchange(keys_, {});
    }
    metastore::Transaction removal;
    for (const std::string& key : keys) {
      removal.Delete(key, metastore::Expectation::Any());
    }
    if (!keys.empty()) {
      EXPECT_THAT(store_->Commit(removal, Deadline::max()), IsOk());
    }
  }

  Result<std::optional<std::string>> Get(std::string_view key, Deadline deadline) override {
    return store_->Get(key, deadline);
  }

  Result<std::vector<std::optional<std::string>>> GetTogether(const std::vector<std::string>& keys,
                                                              Deadline deadline) override {
    return store_->GetTogether(keys, deadline);
  }

  Result<metastore::Page> Scan(std::string_view prefix, std::string_view after, std::size_t limit,
                               Deadline deadline) override {
    return store_->Scan(prefix, after, limit, deadline);
  }

  Result<metastore::CommitResult> Commit(const metastore::Transaction& transaction,
                                         Deadline deadline) override EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      for (const metastore::Item& item : transaction.items()) {
        if (item.action == metastore::Item::Action::kPut) {
          keys_.insert(item.key);
        }
      }
    }
    return store_->Commit(transaction, deadline);
  }

  Traits traits() const override { return store_->traits(); }

 private:
  testing::ManualClock clock_;
  const testing::TempDir directory_;
  const std::unique_ptr<metastore::RocksMetaStore> store_;
  Mutex mutex_;
  std::set<std::string> keys_ GUARDED_BY(mutex_);
};

// Opening a RocksDB takes longer than a story, so one of them serves many stories, one after another; removed keys make its scans
// slower, so not for ever.
class RocksOfManyStories final : public ::testing::Environment {
 public:
  static std::shared_ptr<metastore::MetaStore> Lend(Clock& /*clock*/) {
    constexpr std::size_t kStoriesMax = 50;
    std::shared_ptr<RocksInTempDir>& store = Store();
    static std::size_t stories = 0;
    if (store == nullptr || store.use_count() > 1 || ++stories > kStoriesMax) {
      store = std::make_shared<RocksInTempDir>();
      stories = 0;
    }
    store->Empty();
    return store;
  }

  // It must not outlive RocksDB's own globals.
  void TearDown() override { Store().reset(); }

 private:
  static std::shared_ptr<RocksInTempDir>& Store() {
    static std::shared_ptr<RocksInTempDir> store;
    return store;
  }
};

const ::testing::Environment* const kRocks =
    ::testing::AddGlobalTestEnvironment(std::make_unique<RocksOfManyStories>().release());

// DynamoDB, as it is faked, with the store over it. It has a clock of its own, which passes whenever the store waits before it asks
// again: such a pause is no time for anybody else.
class DynamoOverFake final : public metastore::MetaStore {
 public:
  Result<std::optional<std::string>> Get(std::string_view key, Deadline deadline) override {
    return store_.Get(key, deadline);
  }

  Result<std::vector<std::optional<std::string>>> GetTogether(const std::vector<std::string>& keys,
                                                              Deadline deadline) override {
    return store_.GetTogether(keys, deadline);
  }

  Result<metastore::Page> Scan(std::string_view prefix, std::string_view after, std::size_t limit,
                               Deadline deadline) override {
    return store_.Scan(prefix, after, limit, deadline);
  }

  Result<metastore::CommitResult> Commit(const metastore::Transaction& transaction,
                                         Deadline deadline) override {
    return store_.Commit(transaction, deadline);
  }

  Traits traits() const override { return store_.traits(); }

 private:
  testing::ManualClock clock_;
  testing::SeededRandom random_{17};
  testing::DynamoFake fake_{clock_};
  metastore::DynamoMetaStore store_{fake_, clock_, random_};
  const testing::TimeLapse lapse_{clock_};
};

// A read of the world as it is, which nothing brings to harm.
template <typename T>
T Must(Result<T> result) {
  EXPECT_THAT(result, IsOk());
  LAKE_CHECK(result.has_value(), "the world can be read");
  return *std::move(result);
}

// --- The scene.

std::string StagedPath(const LoadedTable& table, std::int64_t rows) {
  return fmt::format("{}/data/{}.parquet", table.registration.location, rows);
}

// Makes the scene with an earlier leader, which is gone when it is made.
class SceneMaker {
 public:
  Scene Make() {
    clock_.SetWall(kToday);
    leader_.Win();
    EXPECT_THAT(service().CreateNamespace({.ns = kNs}, Call()), IsOk());
    EXPECT_THAT(service().CreateNamespace({.ns = kEmptyNs}, Call()), IsOk());
    MakeTable(kTable, 7);
    MakeTable(kSecondTable, 4, {{std::string(iceberg::kMaxSnapshotsProperty), "1"}});
    EXPECT_THAT(service().Append(Stage(kSecondTable, 2), Call()), IsOk());
    MakeTable(kDroppedTable, 9);
    Scene scene;
    scene.register_dropped = {
        .name = kDroppedTable,
        .metadata_location = Load(kDroppedTable).registration.metadata_location};
    EXPECT_THAT(service().DropTable({.name = kDroppedTable}, Call()), IsOk());
    scene.new_view = View(kNewView, 1);
    scene.replaced_view = View(kView, 2);
    EXPECT_THAT(service().CreateView(View(kView, 1), Call()), IsOk());
    scene.append = Stage(kTable, 5);
    scene.other_append = Stage(kTable, 3);
    CopyStores(scene);
    return scene;
  }

 private:
  Metasrv& service() { return leader_.service(); }

  Deadline Soon() const { return clock_.Now() + std::chrono::seconds(60); }

  CallOptions Call() {
    return {.operation = Uuid::Random7(clock_, random_), .retryable = false, .deadline = Soon()};
  }

  LoadedTable Load(const catalog::TableName& name) {
    return service().LoadTable(name, Soon()).value();
  }

  AppendRequest Stage(const catalog::TableName& name, std::int64_t rows) {
    const LoadedTable table = Load(name);
    const std::string path = StagedPath(table, rows);
    EXPECT_THAT(objects_.PutIfAbsent(path, "PAR1", Soon()), IsOk());
    return {.name = name,
            .incarnation = table.registration.incarnation,
            .content = {std::to_string(rows)},
            .files = {{.file_path = path, .record_count = rows, .file_size_in_bytes = 4}}};
  }

  void MakeTable(const catalog::TableName& name, std::int64_t rows,
                 const std::map<std::string, std::string>& properties = {}) {
    EXPECT_THAT(service().CreateTable(
                    {.name = name, .schema = TestSchema(), .properties = properties}, Call()),
                IsOk());
    EXPECT_THAT(service().Append(Stage(name, rows), Call()), IsOk());
  }

  // A version of a view, whose metadata file is there; what is in it does not matter to the control plane.
  ViewRequest View(const catalog::TableName& name, int version) {
    const std::string location = "/w/view-" + name.name;
    const auto file = [&](int number) {
      return number == 0 ? "" : fmt::format("{}/metadata/{}.json", location, number);
    };
    EXPECT_THAT(objects_.PutIfAbsent(file(version), "{}", Soon()), IsOk());
    return {.name = name,
            .uuid = Uuid::Hashed8(location),
            .location = location,
            .metadata_location = file(version),
            .base_location = file(version - 1)};
  }

  void CopyStores(Scene& scene) {
    for (const testing::RecordedCommit& commit : recorded_.commits()) {
      LAKE_CHECK(
          commit.answer.has_value() && std::holds_alternative<metastore::Committed>(*commit.answer),
          "nothing fails while the scene is made");
      for (const metastore::Item& item : commit.transaction.items()) {
        if (item.action == metastore::Item::Action::kPut) {
          scene.records[item.key] = item.value;
        } else if (item.action == metastore::Item::Action::kDelete) {
          scene.records.erase(item.key);
        }
      }
    }
    const objstore::ObjectPage page = objects_.List("/", "", 1000, Soon()).value();
    LAKE_CHECK(!page.next.has_value(), "the scene is small");
    for (const objstore::ObjectInfo& object : page.objects) {
      scene.objects[object.path] = objects_.Get(object.path, object.size, Soon()).value();
    }
  }

  testing::ManualClock clock_;
  testing::SeededRandom random_{11};
  metastore::MemoryMetaStore meta_{clock_};
  testing::RecordingMetaStore recorded_{meta_};
  objstore::MemoryObjectStore objects_{clock_};
  Node leader_{recorded_, objects_, clock_, random_};
};

// --- Intents.

Result<TableResult> OfNamespace(const Result<NamespaceResult>& result) {
  LAKE_TRY_VOID(result);
  return TableResult{.epoch = result->epoch, .replayed = result->replayed};
}

TableCommit SetProperty(const catalog::TableName& name) {
  return {.name = name,
          .requirements = {},
          .updates = {iceberg::SetProperties{.updates = {{"owner", "me"}}}}};
}

Result<TableResult> MakeAnotherNamespace(const Scene& /*scene*/, MetaService& service,
                                         const CallOptions& call) {
  return OfNamespace(service.CreateNamespace({.ns = kOtherNs}, call));
}

Result<TableResult> AppendMore(const Scene& scene, MetaService& service, const CallOptions& call) {
  return service.Append(scene.other_append, call);
}

Result<TableResult> ChangeSecondTable(const Scene& /*scene*/, MetaService& service,
                                      const CallOptions& call) {
  return service.CommitTable({.commit = SetProperty(kSecondTable), .content = {"c"}}, call);
}

// Drops a table and waits until its files are removed. A drop whose purge is not known to be over is not known to be done.
Result<TableResult> DropAndPurge(const Scene& /*scene*/, MetaService& service,
                                 const CallOptions& call) {
  LAKE_TRY(TableResult dropped, service.DropTable({.name = kTable, .purge = true}, call));
  const Result<PurgeProgress> purged = service.AwaitPurge(dropped.incarnation, call.deadline);
  if (!purged.has_value()) {
    return OutcomeUnknown(purged.error().message());
  }
  return purged->done ? Result<TableResult>(dropped) : OutcomeUnknown("the purge is not over");
}

// What the leader does of its own accord: an error says that it did not come to an end, not that it has done nothing.
Result<TableResult> ExpireSnapshots(const Scene& /*scene*/, MetaService& service,
                                    const CallOptions& call) {
  const Result<MaintenanceReport> report = service.Maintain(
      {.table = kSecondTable, .steps = {MaintenanceStep::kExpireSnapshots}}, call.deadline);
  if (!report.has_value()) {
    return OutcomeUnknown(report.error().message());
  }
  for (const TableMaintenance& table : report->tables) {
    if (!table.problems.empty()) {
      return OutcomeUnknown(table.problems.front());
    }
  }
  return report->complete ? Result<TableResult>(TableResult{})
                          : OutcomeUnknown("the time was over");
}

}  // namespace

const std::vector<StoreKind>& Stores() {
  static const std::vector<StoreKind> stores = {
      {.name = "memory",
       .make = [](Clock& clock) -> std::shared_ptr<metastore::MetaStore> {
         return std::make_shared<metastore::MemoryMetaStore>(clock);
       }},
      {.name = "rocksdb", .make = RocksOfManyStories::Lend},
      {.name = "dynamodb",
       .make = [](Clock&) -> std::shared_ptr<metastore::MetaStore> {
         return std::make_shared<DynamoOverFake>();
       }},
  };
  return stores;
}

const std::vector<Intent>& Intents() {
  static const std::vector<Intent> intents = {
      {.name = "create namespace",
       .perform =
           [](const Scene&, MetaService& service, const CallOptions& call) {
             return OfNamespace(service.CreateNamespace({.ns = kNewNs}, call));
           },
       .disturb = MakeAnotherNamespace},
      {.name = "drop namespace",
       .perform =
           [](const Scene&, MetaService& service, const CallOptions& call) {
             return OfNamespace(service.DropNamespace(kEmptyNs, call));
           },
       .disturb = MakeAnotherNamespace},
      {.name = "create table",
       .uses_files = true,
       .reserves = true,
       .perform =
           [](const Scene&, MetaService& service, const CallOptions& call) {
             return service.CreateTable({.name = kNewTable, .schema = TestSchema()}, call);
           },
       .disturb = MakeAnotherNamespace},
      {.name = "append",
       .uses_files = true,
       .reserves = true,
       .perform = [](const Scene& scene, MetaService& service,
                     const CallOptions& call) { return service.Append(scene.append, call); },
       .disturb = AppendMore},
      {.name = "set namespace properties",
       .perform =
           [](const Scene&, MetaService& service, const CallOptions& call) {
             return OfNamespace(service.SetNamespaceProperties(
                 {.ns = kNs, .updates = {{"owner", "me"}}, .removals = {}}, call));
           },
       .disturb = MakeAnotherNamespace},
      {.name = "rename table",
       .perform =
           [](const Scene&, MetaService& service, const CallOptions& call) {
             return service.RenameTable({.from = kTable, .to = kNewTable}, call);
           },
       .disturb = MakeAnotherNamespace},
      {.name = "commit table",
       .uses_files = true,
       .perform =
           [](const Scene&, MetaService& service, const CallOptions& call) {
             return service.CommitTable({.commit = SetProperty(kTable), .content = {"c"}}, call);
           },
       .disturb = AppendMore},
      {.name = "commit tables",
       .uses_files = true,
       .perform =
           [](const Scene&, MetaService& service, const CallOptions& call) {
             return OfNamespace(service.CommitTables(
                 {.commits = {SetProperty(kTable), SetProperty(kSecondTable)}, .content = {"c"}},
                 call));
           },
       .disturb = AppendMore},
      {.name = "create view",
       .uses_files = true,
       .perform =
           [](const Scene& scene, MetaService& service, const CallOptions& call) {
             return OfNamespace(service.CreateView(scene.new_view, call));
           },
       .disturb = MakeAnotherNamespace},
      {.name = "replace view",
       .uses_files = true,
       .perform =
           [](const Scene& scene, MetaService& service, const CallOptions& call) {
             return OfNamespace(service.ReplaceView(scene.replaced_view, call));
           },
       .disturb = MakeAnotherNamespace},
      {.name = "rename view",
       .perform =
           [](const Scene&, MetaService& service, const CallOptions& call) {
             return OfNamespace(service.RenameView({.from = kView, .to = kNewView}, call));
           },
       .disturb = MakeAnotherNamespace},
      {.name = "drop view",
       .perform =
           [](const Scene&, MetaService& service, const CallOptions& call) {
             return OfNamespace(service.DropView(kView, call));
           },
       .disturb = MakeAnotherNamespace},
      {.name = "drop table",
       .perform = [](const Scene&, MetaService& service,
                     const CallOptions& call) { return service.DropTable({.name = kTable}, call); },
       .disturb = MakeAnotherNamespace},
      {.name = "drop table with purge",
       .uses_files = true,
       .purges = true,
       .perform = DropAndPurge,
       .disturb = MakeAnotherNamespace},
      {.name = "undrop table",
       .perform =
           [](const Scene&, MetaService& service, const CallOptions& call) {
             return service.UndropTable({.name = kDroppedTable}, call);
           },
       .disturb = MakeAnotherNamespace},
      {.name = "expire snapshots",
       .uses_files = true,
       .reserves = true,
       .repeats_id = false,
       .expires = true,
       .perform = ExpireSnapshots,
       .disturb = ChangeSecondTable},
      {.name = "register table",
       .uses_files = true,
       .perform =
           [](const Scene& scene, MetaService& service, const CallOptions& call) {
             return service.RegisterTable(scene.register_dropped, call);
           },
       .disturb = MakeAnotherNamespace},
  };
  return intents;
}

const Scene& TheScene() {
  static const Scene scene = SceneMaker().Make();
  return scene;
}

World::World(const StoreKind& store, const Intent& intent)
    : random_(13),
      intent_(intent),
      meta_(store.make(clock_)),
      objects_(clock_),
      faulty_meta_(*meta_),
      faulty_objects_(objects_),
      leader_(faulty_meta_, faulty_objects_, clock_, random_),
      successor_(*meta_, objects_, clock_, random_) {
  clock_.SetWall(kToday);
  metastore::Transaction beginning;
  for (const auto& [key, value] : TheScene().records) {
    beginning.Put(key, metastore::Expectation::Absent(), value);
  }
  EXPECT_THAT(meta_->Commit(beginning, Soon()),
              testing::IsOkAnd(metastore::CommitResult(metastore::Committed{})));
  for (const auto& [path, bytes] : TheScene().objects) {
    EXPECT_THAT(objects_.PutIfAbsent(path, bytes, Soon()), IsOk());
  }
  leader_.Win();
  id_ = NewId();
  SilenceTheDead();
}

void World::SilenceTheDead() {
  faulty_meta_.Inject(
      {.when = [this](const testing::FaultyMetaStore::Call&) { return leader_is_dead(); },
       .times = testing::FaultyMetaStore::kAlways,
       .fault = {.kind = testing::FaultyMetaStore::Fault::Kind::kLoseRequest}});
}

void World::StopHarm() {
  faulty_meta_.Clear();
  SilenceTheDead();
  faulty_objects_.SetRule([this](const testing::FaultyObjectStore::Request&) {
    return leader_is_dead() ? testing::FaultyObjectStore::Fault::kRefuse
                            : testing::FaultyObjectStore::Fault::kNone;
  });
}

Result<TableResult> World::Perform(Node& node) {
  return intent_.perform(TheScene(), node.service(), Call(id_));
}

void World::Disturb(Node& node) {
  CallOptions call = Call(NewId());
  call.retryable = false;
  ASSERT_THAT(intent_.disturb(TheScene(), node.service(), call), IsOk());
}

std::string World::State() {
  std::string state;
  ForEachTable([&](const LoadedTable& table) {
    const iceberg::Snapshot* snapshot = table.metadata->current_snapshot();
    state += fmt::format(" {} v{} {} snapshots={} rows={}\n", table.name.ToString(),
                         table.registration.version, table.metadata->properties,
                         table.metadata->snapshots.size(),
                         snapshot == nullptr ? "none" : snapshot->summary.at("total-records"));
  });
  Metasrv& service = successor_.service();
  for (const catalog::Namespace& ns : Must(service.ListNamespaces({}, Soon()))) {
    state +=
        fmt::format("{} {}\n", ns.ToString(), Must(service.LoadNamespace(ns, Soon())).properties);
    for (const catalog::TableName& view : Must(service.ListViews(ns, Soon()))) {
      const catalog::ViewRecord record = Must(service.LoadView(view, Soon()));
      state += fmt::format(" view {} v{} at {}\n", view.ToString(), record.version,
                           record.metadata_location);
    }
  }
  for (const DroppedTable& table : Must(service.ListDropped(std::nullopt, Soon()))) {
    if (!table.purging) {
      state += fmt::format(" dropped {}\n", table.name.ToString());
    }
  }
  return state;
}

void World::CheckPurged() {
  if (!intent_.purges) {
    return;
  }
  for (const DroppedTable& table : Must(successor_.service().ListDropped(std::nullopt, Soon()))) {
    EXPECT_FALSE(table.purging) << table.name.ToString();
  }
  const std::string staged = TheScene().append.files.front().file_path;
  const std::string location = staged.substr(0, staged.find("/data/") + 1);
  EXPECT_THAT(objects_.List(location, "", 1, Soon())->objects, IsEmpty());
}

void World::CheckTables() {
  ForEachTable([&](const LoadedTable& table) {
    // Past the cache.
    EXPECT_THAT(objects_.Stat(table.registration.metadata_location, Soon()), IsOk());
    for (const auto& [path, bytes] : TheScene().objects) {
      if (path.starts_with(table.registration.location + "/") &&
          !(intent_.expires && table.name == kSecondTable)) {
        EXPECT_THAT(objects_.Stat(path, Soon()), IsOk()) << "it was there from the beginning";
      }
    }
    if (TheScene().objects.contains(table.registration.metadata_location)) {
      return;  // It is as it was.
    }
    const engine::CheckReport report =
        Must(engine::SnapshotReader(objects_, clock_).Check(*table.metadata, Soon()));
    EXPECT_THAT(report.problems, IsEmpty());
    if (const iceberg::Snapshot* snapshot = table.metadata->current_snapshot();
        snapshot != nullptr) {
      EXPECT_EQ(snapshot->summary.at("total-records"), std::to_string(report.rows));
    }
  });
}

void World::ForEachTable(const std::function<void(const LoadedTable&)>& visit) {
  Metasrv& service = successor_.service();
  for (const catalog::Namespace& ns : Must(service.ListNamespaces({}, Soon()))) {
    for (const catalog::TableName& name : Must(service.ListTables(ns, Soon()))) {
      visit(Must(service.LoadTable(name, Soon())));
    }
  }
}

std::size_t World::PendingCount() {
  return successor_.service().GetStatus(Soon())->pending.size();
}

Deadline World::Soon() const {
  return clock_.Now() + std::chrono::seconds(60);
}

}  // namespace lake::metasrv
