#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/metasrv/metasrv_fixture_test_internal.h"
#include "lake/testing/run_together.h"

namespace lake::metasrv {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;

class Commits : public MetasrvTest {
 protected:
  Commits() {
    Lead();
    MakeTable(kT);
    MakeTable(kU);
  }

  static TableCommit Set(const catalog::TableName& name, const std::string& key,
                         const std::string& value) {
    return {.name = name,
            .requirements = {},
            .updates = {iceberg::SetProperties{.updates = {{key, value}}}}};
  }

  // A commit that adds a snapshot as a client does: it wrote the manifest list itself.
  TableCommit AddSnapshot(const catalog::TableName& name, std::int64_t id,
                          std::optional<std::int64_t> parent) {
    const LoadedTable table = Load(name);
    iceberg::Snapshot snapshot{.snapshot_id = iceberg::SnapshotId{id},
                               .sequence_number = table.metadata->last_sequence_number + 1,
                               .timestamp = clock_.WallNow(),
                               .manifest_list = table.registration.location + "/metadata/snap-" +
                                                std::to_string(id) + ".avro"};
    snapshot.summary = {{"operation", "append"}};
    IgnoreError(objects_.PutIfAbsent(snapshot.manifest_list, "list", Soon()), "it may be there");
    std::optional<iceberg::SnapshotId> at;
    if (parent.has_value()) {
      at = iceberg::SnapshotId{*parent};
      snapshot.parent_snapshot_id = at;
    }
    return {.name = name,
            .requirements = {iceberg::AssertTableUuid{.uuid = table.registration.incarnation},
                             iceberg::AssertRefSnapshotId{.ref = "main", .snapshot_id = at}},
            .updates = {iceberg::AddSnapshot{.snapshot = snapshot},
                        iceberg::SetSnapshotRef{.name = "main",
                                                .ref = {.snapshot_id = iceberg::SnapshotId{id}}}}};
  }

  std::string Property(const catalog::TableName& name, const std::string& key) {
    const LoadedTable table = Load(name);
    const auto found = table.metadata->properties.find(key);
    return found == table.metadata->properties.end() ? "" : found->second;
  }

  std::set<std::string> MetadataFiles(const catalog::TableName& name) {
    std::set<std::string> paths;
    const objstore::ObjectPage page =
        objects_.List(Load(name).registration.location + "/metadata/", "", 1000, Soon()).value();
    for (const objstore::ObjectInfo& info : page.objects) {
      paths.insert(info.path);
    }
    return paths;
  }

  static inline const catalog::TableName kU{.ns = kNs, .name = "u"};
};

TEST_F(Commits, MakesTheVersionThatTheUpdatesDescribe) {
  const Result<TableResult> made =
      service().CommitTable({.commit = Set(kT, "owner", "me"), .content = {"a"}}, Call());
  ASSERT_THAT(made, IsOk());
  const LoadedTable table = Load(kT);
  EXPECT_EQ(table.registration.version, 2U);
  EXPECT_EQ(table.registration.metadata_location, made->metadata_location);
  EXPECT_EQ(Property(kT, "owner"), "me");
  EXPECT_EQ(made->snapshot_id, -1);
}

TEST_F(Commits, TheSameIdAgainMakesNoSecondVersion) {
  const Uuid id = NewId();
  const CommitTableRequest request{.commit = Set(kT, "k", "1"), .content = {"a"}};
  const Result<TableResult> first = service().CommitTable(request, Call(id));
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(service().CommitTable({.commit = Set(kT, "k", "2"), .content = {"b"}}, Call()),
              IsOk());
  const Result<TableResult> again = service().CommitTable(request, Call(id));
  ASSERT_THAT(again, IsOk());
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(again->metadata_location, first->metadata_location);
  EXPECT_EQ(Property(kT, "k"), "2");
  EXPECT_THAT(service().CommitTable({.commit = Set(kT, "k", "1"), .content = {"c"}}, Call(id)),
              IsError(ErrorCode::kInvalidArgument))
      << "other content";
}

// Two clients make the first snapshot of an empty table.
TEST_F(Commits, OfTwoFirstSnapshotsOneWins) {
  const TableCommit first = AddSnapshot(kT, 11, std::nullopt);
  const TableCommit second = AddSnapshot(kT, 22, std::nullopt);
  ASSERT_THAT(service().CommitTable({.commit = first, .content = {"1"}}, Call()), IsOk());
  const Uuid id = NewId();
  const Result<TableResult> lost =
      service().CommitTable({.commit = second, .content = {"2"}}, Call(id));
  EXPECT_THAT(lost, IsError(ErrorCode::kConflict));
  EXPECT_THAT(lost.error().message(), HasSubstr("Requirement failed"));
  EXPECT_EQ(Load(kT).metadata->snapshots.size(), 1U);
  EXPECT_THAT(service().CommitTable({.commit = AddSnapshot(kT, 22, 11), .content = {"3"}}, Call()),
              IsOk());
  EXPECT_THAT(service().CommitTable({.commit = second, .content = {"2"}}, Call(id)),
              IsError(ErrorCode::kConflict))
      << "a late duplicate of what was refused";
}

// The first answer was lost and a proxy repeats the request, with a new id or none.
TEST_F(Commits, ACommitWhoseSnapshotIsThereAlreadyIsAnsweredWithSuccess) {
  const CommitTableRequest request{.commit = AddSnapshot(kT, 11, std::nullopt), .content = {"1"}};
  ASSERT_THAT(service().CommitTable(request, Call()), IsOk());
  EXPECT_THAT(service().CommitTable(request, Call()), IsOk());
  EXPECT_EQ(Load(kT).registration.version, 2U);
  CommitTableRequest other = request;
  std::get<iceberg::AddSnapshot>(other.commit.updates[0]).snapshot.manifest_list = "/elsewhere";
  EXPECT_THAT(service().CommitTable(other, Call()), IsError(ErrorCode::kConflict));
}

// The answer was lost, and the commit is repeated without its id. What was made in one table was made in all.
TEST_F(Commits, ARepeatedCommitOfSeveralTablesIsKnownByThoseThatAddASnapshot) {
  const TableCommit only_check{
      .name = kU, .requirements = {iceberg::AssertCurrentSchemaId{}}, .updates = {}};
  const CommitTablesRequest request{.commits = {AddSnapshot(kT, 11, std::nullopt), only_check},
                                    .content = {"1"}};
  ASSERT_THAT(service().CommitTables(request, Call()), IsOk());
  EXPECT_THAT(service().CommitTables(request, Call()), IsOk());
  EXPECT_EQ(Load(kT).registration.version, 2U);
}

TEST_F(Commits, ASnapshotThatWasOnlyStagedDoesNotMeanThatTheCommitWasMade) {
  TableCommit staged = AddSnapshot(kT, 11, std::nullopt);
  TableCommit full = staged;
  staged.updates.pop_back();
  full.updates.push_back(iceberg::SetProperties{.updates = {{"k", "v"}}});
  ASSERT_THAT(service().CommitTable({.commit = staged, .content = {"1"}}, Call()), IsOk());
  EXPECT_THAT(service().CommitTable({.commit = full, .content = {"2"}}, Call()),
              IsError(ErrorCode::kAlreadyExists));
  EXPECT_EQ(Load(kT).registration.version, 2U);
  // Refused, while main stands elsewhere.
  ASSERT_THAT(service().CommitTable({.commit = AddSnapshot(kT, 22, std::nullopt), .content = {"3"}},
                                    Call()),
              IsOk());
  EXPECT_THAT(service().CommitTable({.commit = full, .content = {"4"}}, Call()),
              IsError(ErrorCode::kConflict));
}

TEST_F(Commits, ACommitThatWasMadeIsKnownAlsoBelowLaterSnapshotsAndAfterARollback) {
  const CommitTableRequest first{.commit = AddSnapshot(kT, 11, std::nullopt), .content = {"1"}};
  ASSERT_THAT(service().CommitTable(first, Call()), IsOk());
  const CommitTableRequest second{.commit = AddSnapshot(kT, 22, 11), .content = {"2"}};
  ASSERT_THAT(service().CommitTable(second, Call()), IsOk());
  EXPECT_THAT(service().CommitTable(first, Call()), IsOk());
  const TableCommit back{.name = kT,
                         .requirements = {},
                         .updates = {iceberg::SetSnapshotRef{
                             .name = "main", .ref = {.snapshot_id = iceberg::SnapshotId{11}}}}};
  ASSERT_THAT(service().CommitTable({.commit = back, .content = {}}, Call()), IsOk());
  const std::uint64_t version = Load(kT).registration.version;
  CommitTableRequest late = second;
  late.commit.requirements = {
      iceberg::AssertRefSnapshotId{.ref = "main", .snapshot_id = iceberg::SnapshotId{99}}};
  EXPECT_THAT(service().CommitTable(late, Call()), IsOk());
  EXPECT_EQ(Load(kT).registration.version, version);
}

TEST_F(Commits, ASnapshotNeedsItsManifestListAndItsParent) {
  TableCommit no_list = AddSnapshot(kT, 11, std::nullopt);
  iceberg::Snapshot& snapshot = std::get<iceberg::AddSnapshot>(no_list.updates[0]).snapshot;
  snapshot.manifest_list += ".none";
  EXPECT_THAT(service().CommitTable({.commit = no_list, .content = {}}, Call()),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("manifest list")));
  TableCommit no_parent = AddSnapshot(kT, 11, 5);
  no_parent.requirements.clear();
  EXPECT_THAT(service().CommitTable({.commit = no_parent, .content = {}}, Call()),
              IsError(ErrorCode::kConflict, HasSubstr("parent 5")));
  EXPECT_EQ(Load(kT).registration.version, 1U);
}

TEST_F(Commits, ARefusedCommitLeavesNoFile) {
  const std::set<std::string> before = MetadataFiles(kT);
  TableCommit wrong = Set(kT, "k", "v");
  wrong.updates.push_back(iceberg::SetCurrentSchema{.schema_id = iceberg::SchemaId{99}});
  EXPECT_THAT(service().CommitTable({.commit = wrong, .content = {}}, Call()),
              IsError(ErrorCode::kInvalidArgument));
  TableCommit moved = Set(kT, "k", "v");
  moved.updates.push_back(iceberg::SetLocation{.location = "/elsewhere"});
  EXPECT_THAT(service().CommitTable({.commit = moved, .content = {}}, Call()),
              IsError(ErrorCode::kUnimplemented));
  EXPECT_EQ(MetadataFiles(kT), before);
  EXPECT_EQ(Load(kT).registration.version, 1U);
}

TEST_F(Commits, ACommitWithoutUpdatesOnlyChecks) {
  const TableCommit holds{
      .name = kT, .requirements = {iceberg::AssertCurrentSchemaId{}}, .updates = {}};
  const Result<TableResult> checked =
      service().CommitTable({.commit = holds, .content = {}}, Call());
  ASSERT_THAT(checked, IsOk());
  EXPECT_EQ(checked->metadata_location, Load(kT).registration.metadata_location);
  const TableCommit fails{.name = kT, .requirements = {iceberg::AssertCreate{}}, .updates = {}};
  EXPECT_THAT(service().CommitTable({.commit = fails, .content = {}}, Call()),
              IsError(ErrorCode::kConflict));
  EXPECT_EQ(Load(kT).registration.version, 1U);
}

TEST_F(Commits, SeveralTablesChangeTogetherOrNotAtAll) {
  const Uuid id = NewId();
  const CommitTablesRequest both{.commits = {Set(kT, "k", "1"), Set(kU, "k", "1")},
                                 .content = {"a"}};
  ASSERT_THAT(service().CommitTables(both, Call(id)), IsOk());
  EXPECT_EQ(Property(kT, "k") + Property(kU, "k"), "11");
  EXPECT_TRUE(service().CommitTables(both, Call(id))->replayed);
  EXPECT_EQ(Load(kT).registration.version, 2U);

  const std::set<std::string> before = MetadataFiles(kT);
  TableCommit refused = Set(kU, "k", "2");
  refused.requirements = {iceberg::AssertTableUuid{.uuid = NewId()}};
  EXPECT_THAT(
      service().CommitTables({.commits = {Set(kT, "k", "2"), refused}, .content = {}}, Call()),
      IsError(ErrorCode::kConflict));
  TableCommit wrong = Set(kU, "k", "2");
  wrong.updates.push_back(iceberg::SetCurrentSchema{.schema_id = iceberg::SchemaId{99}});
  EXPECT_THAT(
      service().CommitTables({.commits = {Set(kT, "k", "2"), wrong}, .content = {}}, Call()),
      IsError(ErrorCode::kInvalidArgument));
  EXPECT_EQ(Property(kT, "k") + Property(kU, "k"), "11");
  EXPECT_EQ(MetadataFiles(kT), before) << "the other table's file is removed";
}

TEST_F(Commits, ATableThatIsOnlyCheckedKeepsItsFileWhenTheOthersFail) {
  const LoadedTable checked = Load(kT);
  const TableCommit only_check{
      .name = kT, .requirements = {iceberg::AssertCurrentSchemaId{}}, .updates = {}};
  TableCommit wrong = Set(kU, "k", "2");
  wrong.updates.push_back(iceberg::SetCurrentSchema{.schema_id = iceberg::SchemaId{99}});
  EXPECT_THAT(service().CommitTables({.commits = {only_check, wrong}, .content = {}}, Call()),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(objects_.Stat(checked.registration.metadata_location, Soon()), IsOk());
  ASSERT_THAT(
      service().CommitTables({.commits = {only_check, Set(kU, "k", "3")}, .content = {}}, Call()),
      IsOk());
  EXPECT_EQ(Load(kT).registration, checked.registration);
}

TEST_F(Commits, NoTableIsNamedTwiceAndNoneIsMissing) {
  EXPECT_THAT(service().CommitTables(
                  {.commits = {Set(kT, "k", "1"), Set(kT, "k", "2")}, .content = {}}, Call()),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(service().CommitTables({.commits = {}, .content = {}}, Call()),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(service().CommitTables(
                  {.commits = {Set(kT, "k", "1"), Set({.ns = kNs, .name = "none"}, "k", "2")},
                   .content = {}},
                  Call()),
              IsError(ErrorCode::kNotFound));
  EXPECT_EQ(Load(kT).registration.version, 1U);
}

TEST_F(Commits, AsManyTablesAsOneTransactionHolds) {
  std::vector<TableCommit> commits;
  for (std::size_t i = 0; i < kCommitTablesMax; ++i) {
    const catalog::TableName name{.ns = kNs, .name = "many" + std::to_string(i)};
    MakeTable(name);
    commits.push_back(Set(name, "k", "v"));
  }
  EXPECT_THAT(service().CommitTables({.commits = commits, .content = {}}, Call()), IsOk());
  commits.push_back(Set(kT, "k", "v"));
  EXPECT_THAT(service().CommitTables({.commits = commits, .content = {}}, Call()),
              IsError(ErrorCode::kInvalidArgument));
}

// Commits over overlapping sets of tables, appends and single commits, all at once.
TEST_F(Commits, ManyCommittersOfOverlappingTablesAllGetThrough) {
  const catalog::TableName third{.ns = kNs, .name = "w"};
  MakeTable(third);
  const std::vector<std::vector<catalog::TableName>> sets = {
      {kT, kU}, {kU, third}, {third, kT}, {kT}, {kU, third, kT}};
  constexpr int kEach = 10;
  std::vector<CallOptions> calls;
  for (std::size_t i = 0; i < sets.size() * kEach; ++i) {
    calls.push_back(Call());
  }
  testing::RunTogether(sets.size(), [&](std::size_t thread) {
    for (int i = 0; i < kEach; ++i) {
      std::vector<TableCommit> commits;
      for (const catalog::TableName& name : sets[thread]) {
        commits.push_back(Set(name, std::to_string(thread), std::to_string(i)));
      }
      EXPECT_THAT(service().CommitTables({.commits = commits, .content = {}},
                                         calls[(thread * kEach) + static_cast<std::size_t>(i)]),
                  IsOk());
    }
  });
  EXPECT_EQ(Load(kT).registration.version, 1U + (4 * kEach));
  EXPECT_EQ(Load(kU).registration.version, 1U + (3 * kEach));
  EXPECT_THAT(Check(third).problems, IsEmpty());
}

}  // namespace
}  // namespace lake::metasrv
