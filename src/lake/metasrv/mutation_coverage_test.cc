// What is written, and how: every kind of change runs over a store that records every transaction. All of them must be fenced, or be
// the election's, and touch the families of records that are known here, each mutation its own and each family by somebody.
//
// A new mutation is an entry of Mutations(), a new family one of kFamilies.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/catalog/keyspace.h"
#include "lake/catalog/records.h"
#include "lake/engine/iceberg_engine.h"
#include "lake/lease/records.h"
#include "lake/metasrv/metasrv.h"
#include "lake/metasrv/metasrv_test_internal.h"
#include "lake/metastore/memory/memory_metastore.h"
#include "lake/objstore/memory/memory_objstore.h"
#include "lake/testing/faulty_metastore.h"
#include "lake/testing/faulty_objstore.h"
#include "lake/testing/matchers.h"
#include "lake/testing/recording_metastore.h"
#include "lake/testing/seeded_random.h"

namespace lake::metasrv {
namespace {

using ::testing::ElementsAreArray;
using testing::FaultyMetaStore;
using testing::FaultyObjectStore;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using ::testing::UnorderedElementsAreArray;
using Families = std::set<std::string_view>;

constexpr std::string_view kFamilies[] = {
    catalog::kNamespacePrefix, catalog::kTablePrefix,     catalog::kViewPrefix,
    catalog::kPendingPrefix,   catalog::kOperationPrefix, catalog::kTombstonePrefix,
    catalog::kLocationPrefix,  catalog::kDirectoryKey,    catalog::kLocationsKey,
    catalog::kForgottenKey,    lease::kLeasePrefix};

// Returns the family of a key, or nothing when it is of none that is known.
std::string_view FamilyOf(std::string_view key) {
  const auto found = std::ranges::find_if(
      kFamilies, [&](std::string_view family) { return key.starts_with(family); });
  return found == std::end(kFamilies) ? std::string_view() : *found;
}

// One process over a store that records, and which faults stand before.
class Recorded {
 public:
  Recorded() {
    clock_.SetWall(WallTime(std::chrono::milliseconds(1'790'000'000'000)));
    // Before anything is recorded, so that a walk over the hours of operations is short.
    metastore::Transaction note;
    note.Put(std::string(catalog::kForgottenKey), metastore::Expectation::Absent(),
             catalog::Encode(catalog::ForgottenRecord{
                 .before = catalog::OperationHour(clock_.WallNow() - std::chrono::days(1))}));
    EXPECT_THAT(meta_.Commit(note, Soon()), IsOk());
  }

  void Pass(Duration time) { clock_.JumpWall(time); }

  Metasrv& service() { return node_.service(); }

  Node& node() { return node_; }

  FaultyMetaStore& faulty_meta() { return faulty_meta_; }

  FaultyObjectStore& faulty_objects() { return faulty_objects_; }

  std::vector<testing::RecordedCommit> commits() const { return recorded_.commits(); }

  Deadline Soon() const { return clock_.Now() + std::chrono::seconds(60); }

  CallOptions Call() {
    return {.operation = Uuid::Random7(clock_, random_), .retryable = true, .deadline = Soon()};
  }

  AppendRequest Stage() {
    const LoadedTable table = service().LoadTable(kT, Soon()).value();
    const std::string path =
        table.registration.location + "/data/" + Uuid::Random4(random_).ToString();
    EXPECT_THAT(objects_.PutIfAbsent(path, "PAR1", Soon()), IsOk());
    return {.name = kT,
            .incarnation = table.registration.incarnation,
            .content = {path},
            .files = {{.file_path = path, .record_count = 1, .file_size_in_bytes = 4}}};
  }

  // The metadata file of a table that nobody has registered, at a location that Lake did not choose.
  std::string MakeForeign() {
    const std::string location = "/elsewhere/t";
    std::string metadata = location + "/metadata/00001.metadata.json";
    EXPECT_THAT(engine::IcebergEngine(objects_, clock_, random_, {})
                    .Create({.incarnation = Uuid::Random4(random_),
                             .location = location,
                             .planned_location = metadata,
                             .schema = TestSchema(),
                             .now = clock_.WallNow()},
                            Soon()),
                IsOk());
    return metadata;
  }

  ViewRequest View(const catalog::TableName& name, int version) {
    const auto file = [](int number) {
      return number == 0 ? "" : "/w/view/metadata/" + std::to_string(number) + ".json";
    };
    EXPECT_THAT(objects_.PutIfAbsent(file(version), "{}", Soon()), IsOk());
    return {.name = name,
            .uuid = Uuid::Hashed8("view"),
            .location = "/w/view",
            .metadata_location = file(version),
            .base_location = file(version - 1)};
  }

  // Leaves an append pending that nobody can publish but a settler.
  void LeavePending() {
    faulty_meta_.Inject({.when = FaultyMetaStore::CommitsOf(catalog::TableKey(kT).value()),
                         .times = FaultyMetaStore::kAlways,
                         .fault = {.kind = FaultyMetaStore::Fault::Kind::kLoseRequest}});
    EXPECT_THAT(service().Append(Stage(), Call()), IsError(ErrorCode::kOutcomeUnknown));
    faulty_meta_.Clear();
  }

  static inline const catalog::TableName kT{.ns = {{"n"}}, .name = "t"};
  static inline const catalog::TableName kU{.ns = {{"n"}}, .name = "u"};
  static inline const catalog::TableName kV{.ns = {{"n"}}, .name = "v"};
  static inline const catalog::TableName kW{.ns = {{"n"}}, .name = "w"};

  std::string last_metadata;  // Of the table that was dropped.

 private:
  testing::ManualClock clock_;
  testing::SeededRandom random_{3};
  metastore::MemoryMetaStore meta_{clock_};
  testing::RecordingMetaStore recorded_{meta_};
  FaultyMetaStore faulty_meta_{recorded_};
  objstore::MemoryObjectStore objects_{clock_};
  FaultyObjectStore faulty_objects_{objects_};
  Node node_{faulty_meta_, faulty_objects_, clock_, random_};
};

// A kind of change, and the families it writes: all of them, and no other. They run in the order of the list, in one store.
struct Mutation {
  std::string_view name;
  Families writes;
  std::function<void(Recorded&)> run;
};

TableCommit Set(const catalog::TableName& name, const std::string& key = "k",
                const std::string& value = "v") {
  return {.name = name,
          .requirements = {},
          .updates = {iceberg::SetProperties{.updates = {{key, value}}}}};
}

std::vector<Mutation> Mutations() {
  using catalog::kDirectoryKey;
  using catalog::kForgottenKey;
  using catalog::kLocationPrefix;
  using catalog::kLocationsKey;
  using catalog::kNamespacePrefix;
  using catalog::kOperationPrefix;
  using catalog::kPendingPrefix;
  using catalog::kTablePrefix;
  using catalog::kTombstonePrefix;
  using catalog::kViewPrefix;
  using R = Recorded;
  return {
      {"takeover", {lease::kLeasePrefix}, [](R& r) { r.node().Win(); }},
      {"namespace create",
       {kNamespacePrefix, kDirectoryKey, kOperationPrefix},
       [](R& r) { EXPECT_THAT(r.service().CreateNamespace({.ns = R::kT.ns}, r.Call()), IsOk()); }},
      {"namespace property change",
       {kNamespacePrefix, kOperationPrefix},
       [](R& r) {
         EXPECT_THAT(r.service().SetNamespaceProperties(
                         {.ns = R::kT.ns, .updates = {{"k", "v"}}, .removals = {}}, r.Call()),
                     IsOk());
       }},
      {"table create",
       {kPendingPrefix, kTablePrefix, kDirectoryKey, kOperationPrefix},
       [](R& r) {
         EXPECT_THAT(r.service().CreateTable({.name = R::kT, .schema = TestSchema()}, r.Call()),
                     IsOk());
       }},
      {"append reservation and publication",
       {kPendingPrefix, kTablePrefix, kOperationPrefix},
       [](R& r) { EXPECT_THAT(r.service().Append(r.Stage(), r.Call()), IsOk()); }},
      {"append without rows",
       {kOperationPrefix},
       [](R& r) {
         AppendRequest request = r.Stage();
         request.files.clear();
         EXPECT_THAT(r.service().Append(request, r.Call()), IsOk());
       }},
      {"refused append",
       {kOperationPrefix},
       [](R& r) {
         AppendRequest request = r.Stage();
         request.files[0].file_path += "x";
         EXPECT_THAT(r.service().Append(request, r.Call()), IsError(ErrorCode::kInvalidArgument));
       }},
      {"clean-up of an append that failed",
       {kPendingPrefix},
       [](R& r) {
         const AppendRequest request = r.Stage();
         r.faulty_objects().SetRule([](const FaultyObjectStore::Request& sent) {
           return sent.operation == FaultyObjectStore::Operation::kPut
                      ? FaultyObjectStore::Fault::kRefuse
                      : FaultyObjectStore::Fault::kNone;
         });
         EXPECT_THAT(r.service().Append(request, r.Call()), IsError(ErrorCode::kUnavailable));
         r.faulty_objects().SetRule({});
       }},
      {"settling of an append that was abandoned",
       {kPendingPrefix, kTablePrefix, kOperationPrefix, lease::kLeasePrefix},
       [](R& r) {
         r.LeavePending();
         r.node().Win();
         EXPECT_THAT(r.service().Recover(r.Soon()), IsOk());
         EXPECT_THAT(r.service().GetStatus(r.Soon())->pending, IsEmpty());
       }},
      {"merge of manifests",
       {kPendingPrefix, kTablePrefix, kOperationPrefix},
       [](R& r) {
         EXPECT_THAT(r.service().CommitTable(
                         {.commit = Set(R::kT, "commit.manifest.min-count-to-merge", "2"),
                          .content = {"m"}},
                         r.Call()),
                     IsOk());
         const auto report = r.service().Maintain(
             {.table = R::kT, .steps = {MaintenanceStep::kMergeManifests}}, r.Soon());
         ASSERT_THAT(report, IsOk());
         EXPECT_EQ(report->tables.at(0).manifests_merged, 2U);
       }},
      {"expiry of snapshots",
       {kPendingPrefix, kTablePrefix, kOperationPrefix},
       [](R& r) {
         r.Pass(std::chrono::days(6));
         const auto report =
             r.service().Maintain({.steps = {MaintenanceStep::kExpireSnapshots}}, r.Soon());
         ASSERT_THAT(report, IsOk());
         ASSERT_EQ(report->tables.size(), 1U);
         EXPECT_GE(report->tables[0].snapshots_expired, 1U);
         EXPECT_GE(report->tables[0].files_removed, 1U);
       }},
      {"table commit",
       {kTablePrefix, kOperationPrefix},
       [](R& r) {
         EXPECT_THAT(r.service().CommitTable({.commit = Set(R::kT), .content = {"1"}}, r.Call()),
                     IsOk());
       }},
      {"rename",
       {kTablePrefix, kDirectoryKey, kOperationPrefix},
       [](R& r) {
         EXPECT_THAT(r.service().RenameTable({.from = R::kT, .to = R::kU}, r.Call()), IsOk());
       }},
      {"another table create",
       {kPendingPrefix, kTablePrefix, kDirectoryKey, kOperationPrefix},
       [](R& r) {
         EXPECT_THAT(r.service().CreateTable({.name = R::kT, .schema = TestSchema()}, r.Call()),
                     IsOk());
       }},
      {"multi-table commit",
       {kTablePrefix, kOperationPrefix},
       [](R& r) {
         EXPECT_THAT(r.service().CommitTables(
                         {.commits = {Set(R::kT), Set(R::kU)}, .content = {"1"}}, r.Call()),
                     IsOk());
       }},
      {"view create",
       {kViewPrefix, kDirectoryKey, kOperationPrefix},
       [](R& r) { EXPECT_THAT(r.service().CreateView(r.View(R::kV, 1), r.Call()), IsOk()); }},
      {"view replacement",
       {kViewPrefix, kOperationPrefix},
       [](R& r) { EXPECT_THAT(r.service().ReplaceView(r.View(R::kV, 2), r.Call()), IsOk()); }},
      {"view rename",
       {kViewPrefix, kDirectoryKey, kOperationPrefix},
       [](R& r) {
         EXPECT_THAT(r.service().RenameView({.from = R::kV, .to = R::kW}, r.Call()), IsOk());
       }},
      {"view drop",
       {kViewPrefix, kDirectoryKey, kOperationPrefix},
       [](R& r) { EXPECT_THAT(r.service().DropView(R::kW, r.Call()), IsOk()); }},
      {"drop without purge",
       {kTablePrefix, kTombstonePrefix, kDirectoryKey, kOperationPrefix},
       [](R& r) {
         const Result<TableResult> dropped = r.service().DropTable({.name = R::kU}, r.Call());
         ASSERT_THAT(dropped, IsOk());
         r.last_metadata = dropped->metadata_location;
       }},
      {"undrop",
       {kTablePrefix, kTombstonePrefix, kDirectoryKey, kOperationPrefix},
       [](R& r) { EXPECT_THAT(r.service().UndropTable({.name = R::kU}, r.Call()), IsOk()); }},
      {"drop of what was brought back",
       {kTablePrefix, kTombstonePrefix, kDirectoryKey, kOperationPrefix},
       [](R& r) { EXPECT_THAT(r.service().DropTable({.name = R::kU}, r.Call()), IsOk()); }},
      {"register",
       {kTablePrefix, kTombstonePrefix, kDirectoryKey, kOperationPrefix},
       [](R& r) {
         EXPECT_THAT(r.service().RegisterTable(
                         {.name = R::kU, .metadata_location = r.last_metadata}, r.Call()),
                     IsOk());
       }},
      {"register at a location that Lake did not choose",
       {kTablePrefix, kDirectoryKey, kOperationPrefix, kLocationPrefix, kLocationsKey},
       [](R& r) {
         EXPECT_THAT(r.service().RegisterTable(
                         {.name = R::kW, .metadata_location = r.MakeForeign()}, r.Call()),
                     IsOk());
       }},
      {"drop with purge",
       {kTablePrefix, kTombstonePrefix, kDirectoryKey, kOperationPrefix, kLocationPrefix},
       [](R& r) {
         const auto dropped = r.service().DropTable({.name = R::kW, .purge = true}, r.Call());
         ASSERT_THAT(dropped, IsOk());
         const auto purged = r.service().AwaitPurge(dropped->incarnation, r.Soon());
         ASSERT_THAT(purged, IsOk());
         EXPECT_TRUE(purged->done);
       }},
      {"drop of what is left",
       {kTablePrefix, kTombstonePrefix, kDirectoryKey, kOperationPrefix},
       [](R& r) {
         for (const catalog::TableName& name : {R::kT, R::kU}) {
           EXPECT_THAT(r.service().DropTable({.name = name}, r.Call()), IsOk());
         }
       }},
      {"namespace drop",
       {kNamespacePrefix, kDirectoryKey, kOperationPrefix},
       [](R& r) { EXPECT_THAT(r.service().DropNamespace(R::kT.ns, r.Call()), IsOk()); }},
      {"sweep of tombstones",
       {kTombstonePrefix},
       [](R& r) {
         r.Pass(std::chrono::days(8));
         const auto sweep = r.service().SweepDrops(r.Soon(), 100);
         ASSERT_THAT(sweep, IsOk());
         EXPECT_EQ(sweep->forgotten, 2U);
       }},
      {"expiry of operations",
       {kOperationPrefix, kForgottenKey},
       [](R& r) {
         r.Pass(std::chrono::days(2));
         const auto report =
             r.service().Maintain({.steps = {MaintenanceStep::kOperations}}, r.Soon());
         ASSERT_THAT(report, IsOk());
         EXPECT_GE(report->operations_forgotten, 10U);
       }},
  };
}

TEST(MutationCoverage, EveryWriteIsOneFencedTransactionOfKnownRecords) {
  Recorded recorded;
  Families written;
  for (const Mutation& mutation : Mutations()) {
    SCOPED_TRACE(mutation.name);
    const std::size_t before = recorded.commits().size();
    mutation.run(recorded);
    const std::vector<testing::RecordedCommit> commits = recorded.commits();
    Families writes;
    for (std::size_t i = before; i < commits.size(); ++i) {
      ASSERT_TRUE(commits[i].answer.has_value());
      // What is rejected writes nothing; the change is then tried again.
      const bool applied = std::holds_alternative<metastore::Committed>(*commits[i].answer);
      for (const metastore::Item& item : commits[i].transaction.items()) {
        const std::string_view family = FamilyOf(item.key);
        EXPECT_FALSE(family.empty()) << item.key << " is of no family that is known";
        if (applied && item.action != metastore::Item::Action::kCheck) {
          writes.insert(family);
        }
      }
    }
    EXPECT_THAT(writes, ElementsAreArray(mutation.writes));
    written.insert(writes.begin(), writes.end());
  }
  EXPECT_THAT(written, UnorderedElementsAreArray(kFamilies));
  EXPECT_THAT(testing::FencingChecker::FindOffences(recorded.commits()), IsEmpty());
  EXPECT_GE(testing::FencingChecker::CountPublications(recorded.commits()), Mutations().size());
}

}  // namespace
}  // namespace lake::metasrv
