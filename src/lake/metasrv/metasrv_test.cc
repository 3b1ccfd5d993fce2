#include "lake/metasrv/metasrv.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/metasrv/metasrv_fixture_test_internal.h"

namespace lake::metasrv {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;

TEST_F(MetasrvTest, NothingChangesWithoutAuthority) {
  EXPECT_THAT(service().CreateNamespace({.ns = kNs}, Call()), IsError(ErrorCode::kNotLeader));
  EXPECT_THAT(service().ListNamespaces({}, Soon()).value(), IsEmpty());
}

TEST_F(MetasrvTest, NamespacesAreMadeListedAndDropped) {
  Lead();
  EXPECT_THAT(service().CreateNamespace({.ns = kNs, .properties = {{"owner", "me"}}}, Call()),
              IsOk());
  EXPECT_THAT(service().CreateNamespace({.ns = {{"n", "inner"}}}, Call()), IsOk());
  EXPECT_THAT(service().CreateNamespace({.ns = {{"n2"}}}, Call()), IsOk());
  EXPECT_THAT(service().ListNamespaces({}, Soon()).value(),
              ElementsAre(kNs, catalog::Namespace{{"n", "inner"}}, catalog::Namespace{{"n2"}}));
  EXPECT_THAT(service().ListNamespaces(kNs, Soon()).value(),
              ElementsAre(catalog::Namespace{{"n", "inner"}}));
  EXPECT_EQ(service().LoadNamespace(kNs, Soon())->properties.at("owner"), "me");
  EXPECT_THAT(service().DropNamespace(kNs, Call()), IsError(ErrorCode::kConflict));
  EXPECT_THAT(service().DropNamespace({{"n", "inner"}}, Call()), IsOk());
  EXPECT_THAT(service().DropNamespace(kNs, Call()), IsOk());
  EXPECT_THAT(service().LoadNamespace(kNs, Soon()), IsError(ErrorCode::kNotFound));
}

TEST_F(MetasrvTest, ANamespaceNeedsItsParentAndAFreeName) {
  Lead();
  EXPECT_THAT(service().CreateNamespace({.ns = {{"a", "b"}}}, Call()),
              IsError(ErrorCode::kNotFound));
  EXPECT_THAT(service().CreateNamespace({.ns = kNs}, Call()), IsOk());
  EXPECT_THAT(service().CreateNamespace({.ns = kNs}, Call()), IsError(ErrorCode::kAlreadyExists));
}

TEST_F(MetasrvTest, ANamespaceWithATableIsNotDropped) {
  Lead();
  MakeTable(kT);
  EXPECT_THAT(service().DropNamespace(kNs, Call()), IsError(ErrorCode::kConflict));
}

TEST_F(MetasrvTest, ATableIsCreatedUnderItsIncarnation) {
  Lead();
  MakeTable(kT);
  const LoadedTable table = Load(kT);
  EXPECT_EQ(table.registration.version, 1U);
  EXPECT_EQ(table.registration.location, "/w/" + table.registration.incarnation.ToString());
  EXPECT_EQ(table.metadata->table_uuid, table.registration.incarnation);
  EXPECT_EQ(table.metadata->current_snapshot(), nullptr);
  EXPECT_THAT(service().ListTables(kNs, Soon()).value(), ElementsAre(kT));
  EXPECT_THAT(service().CreateTable({.name = kT, .schema = TestSchema()}, Call()),
              IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(service().CreateTable({.name = {.ns = {{"no"}}, .name = "t"}, .schema = TestSchema()},
                                    Call()),
              IsError(ErrorCode::kNotFound));
}

TEST_F(MetasrvTest, APlannedTableIsTheOneThatIsCreated) {
  Lead();
  ASSERT_THAT(service().CreateNamespace({.ns = kNs}, Call()), IsOk());
  const CreateTableRequest request{
      .name = kT, .schema = TestSchema(), .properties = {{"owner", "me"}}};
  const CallOptions call = Call();
  const Result<LoadedTable> planned = service().PlanTable(request, call);
  ASSERT_THAT(planned, IsOk());
  EXPECT_THAT(service().ListTables(kNs, Soon()).value(), IsEmpty());
  EXPECT_THAT(service().GetStatus(Soon())->pending, IsEmpty());
  // Another operation, or another request, is another table.
  EXPECT_NE(service().PlanTable(request, Call())->registration.incarnation,
            planned->registration.incarnation);
  EXPECT_NE(
      service().PlanTable({.name = kT, .schema = TestSchema()}, call)->registration.incarnation,
      planned->registration.incarnation);
  // Another leader makes the same.
  Lead();
  ASSERT_THAT(service().CreateTable(request, call), IsOk());
  const LoadedTable table = Load(kT);
  EXPECT_EQ(table.registration.incarnation, planned->registration.incarnation);
  EXPECT_EQ(table.registration.location, planned->registration.location);
  EXPECT_EQ(table.metadata->location, planned->metadata->location);
  EXPECT_EQ(table.metadata->current_schema(), planned->metadata->current_schema());
  EXPECT_EQ(table.metadata->properties, planned->metadata->properties);
  EXPECT_THAT(service().PlanTable(request, Call()), IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(
      service().PlanTable({.name = {.ns = {{"no"}}, .name = "t"}, .schema = TestSchema()}, Call()),
      IsError(ErrorCode::kNotFound));
}

TEST_F(MetasrvTest, ADropNamesTheMetadataThatBringsTheTableBack) {
  Lead();
  MakeTable(kT);
  const std::string metadata = Load(kT).registration.metadata_location;
  const CallOptions call = Call();
  EXPECT_EQ(service().DropTable({.name = kT}, call)->metadata_location, metadata);
  EXPECT_EQ(service().DropTable({.name = kT}, call)->metadata_location, metadata);
  EXPECT_THAT(service().RegisterTable({.name = kT, .metadata_location = metadata}, Call()), IsOk());
}

TEST_F(MetasrvTest, ANamespaceChangeSaysThatItWasDoneBefore) {
  Lead();
  const CallOptions create = Call();
  EXPECT_FALSE(service().CreateNamespace({.ns = kNs}, create)->replayed);
  EXPECT_TRUE(service().CreateNamespace({.ns = kNs}, create)->replayed);
  const CallOptions drop = Call();
  EXPECT_FALSE(service().DropNamespace(kNs, drop)->replayed);
  EXPECT_TRUE(service().DropNamespace(kNs, drop)->replayed);
  EXPECT_EQ(service().DropNamespace(kNs, drop)->epoch, 1U);
}

TEST_F(MetasrvTest, AnAppendMakesOneVersionThatNamesItsOperationAndEpoch) {
  Lead();
  MakeTable(kT);
  const Uuid id = NewId();
  const Result<TableResult> result = service().Append(Request(kT, "c", 5), Call(id));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->epoch, 1U);
  EXPECT_FALSE(result->replayed);
  const LoadedTable table = Load(kT);
  EXPECT_EQ(table.registration.version, 2U);
  EXPECT_EQ(table.registration.last_operation, id);
  EXPECT_EQ(table.registration.metadata_location, result->metadata_location);
  ASSERT_NE(table.metadata->current_snapshot(), nullptr);
  const auto& summary = table.metadata->current_snapshot()->summary;
  EXPECT_EQ(summary.at("lake.epoch"), "1");
  EXPECT_EQ(summary.at("lake.operation-ids"), id.ToString());
  EXPECT_EQ(summary.at("total-records"), "5");
  const engine::CheckReport report = Check(kT);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.rows, 5U);
}

TEST_F(MetasrvTest, TheSameIdAgainAnswersTheSameAndChangesNothing) {
  Lead();
  MakeTable(kT);
  const Uuid id = NewId();
  const AppendRequest request = Request(kT, "c", 5);
  const TableResult first = service().Append(request, Call(id)).value();
  const TableResult second = service().Append(request, Call(id)).value();
  EXPECT_TRUE(second.replayed);
  EXPECT_EQ(second.metadata_location, first.metadata_location);
  EXPECT_EQ(second.snapshot_id, first.snapshot_id);
  EXPECT_EQ(Load(kT).registration.version, 2U);
  const auto found = service().FindAppend(request, Call(id));
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->value().metadata_location, first.metadata_location);
  EXPECT_EQ(service().FindAppend(request, Call()).value(), std::nullopt);
}

TEST_F(MetasrvTest, AnIdIsRefusedForOtherContentAnotherTableOrAnEarlierIncarnation) {
  Lead();
  MakeTable(kT);
  const catalog::TableName other{.ns = kNs, .name = "u"};
  MakeTable(other);
  const Uuid id = NewId();
  ASSERT_THAT(service().Append(Request(kT, "c", 5), Call(id)), IsOk());
  EXPECT_THAT(service().Append(Request(kT, "d", 5), Call(id)),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(service().Append(Request(other, "c", 5), Call(id)),
              IsError(ErrorCode::kInvalidArgument));
  ASSERT_THAT(service().DropTable({.name = kT}, Call()), IsOk());
  MakeTable(kT);
  EXPECT_THAT(service().Append(Request(kT, "c", 5), Call(id)), IsError(ErrorCode::kConflict));
  EXPECT_THAT(service().FindAppend(Request(kT, "c", 5), Call(id)), IsError(ErrorCode::kConflict));
  EXPECT_EQ(Load(kT).registration.version, 1U);
  EXPECT_EQ(Load(other).registration.version, 1U);
}

TEST_F(MetasrvTest, AWriterWithAnOldHandleCannotAppendToARecreatedTable) {
  Lead();
  MakeTable(kT);
  const AppendRequest stale = Request(kT, "c", 5);
  ASSERT_THAT(service().DropTable({.name = kT}, Call()), IsOk());
  EXPECT_THAT(service().Append(stale, Call()), IsError(ErrorCode::kNotFound));
  MakeTable(kT);
  EXPECT_THAT(service().Append(stale, Call()), IsError(ErrorCode::kConflict));
}

TEST_F(MetasrvTest, AFinalFailureIsRecordedSoThatALateDuplicateCannotSucceed) {
  Lead();
  ASSERT_THAT(service().CreateNamespace({.ns = kNs}, Call()), IsOk());
  const Uuid id = NewId();
  const CreateTableRequest request{.name = kT, .schema = TestSchema()};
  MakeTable(kT);
  EXPECT_THAT(service().CreateTable(request, Call(id)), IsError(ErrorCode::kAlreadyExists));
  ASSERT_THAT(service().DropTable({.name = kT}, Call()), IsOk());
  EXPECT_THAT(service().CreateTable(request, Call(id)), IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(service().LoadTable(kT, Soon()), IsError(ErrorCode::kNotFound));
  const OperationView view = service().FindOperation(id, Soon()).value();
  ASSERT_TRUE(view.finished.has_value());
  EXPECT_FALSE(view.finished->result.succeeded);
}

TEST_F(MetasrvTest, AnAppendWithoutFilesIsRecordedAndMakesNoVersion) {
  Lead();
  MakeTable(kT);
  AppendRequest request = Request(kT, "c", 5);
  request.files.clear();
  const Uuid id = NewId();
  const TableResult result = service().Append(request, Call(id)).value();
  EXPECT_EQ(result.metadata_location, "");
  EXPECT_EQ(Load(kT).registration.version, 1U);
  EXPECT_TRUE(service().Append(request, Call(id))->replayed);
}

TEST_F(MetasrvTest, BadFileListsAreRefusedBeforeAnythingIsReserved) {
  Lead();
  MakeTable(kT);
  const AppendRequest good = Request(kT, "c", 5);
  std::vector<AppendRequest> bad(7, good);
  bad[0].files[0].file_path += "x";
  bad[1].files[0].file_size_in_bytes += 1;
  bad[2].files[0].record_count = 0;
  bad[3].files.push_back(good.files[0]);
  bad[4].files[0].null_value_counts.Set(iceberg::FieldId{1}, 1);
  bad[5].files[0].null_value_counts.Set(iceberg::FieldId{9}, 0);
  bad[6].files[0].file_path = "/w/elsewhere.parquet";
  ASSERT_THAT(objects_.PutIfAbsent("/w/elsewhere.parquet", "PAR1xxxxx", Soon()), IsOk());
  for (const AppendRequest& request : bad) {
    EXPECT_THAT(service().Append(request, Call()), IsError(ErrorCode::kInvalidArgument));
  }
  EXPECT_EQ(Load(kT).registration.version, 1U);
  EXPECT_THAT(service().GetStatus(Soon())->pending, IsEmpty());
  EXPECT_THAT(service().Append(good, Call()), IsOk());
}

TEST_F(MetasrvTest, IdsThatAreNotFreshVersion7UuidsAreRefused) {
  Lead();
  EXPECT_THAT(service().CreateNamespace({.ns = kNs}, Call(Uuid::Random4(random_))),
              IsError(ErrorCode::kInvalidArgument));
  const Uuid old = NewId();
  clock_.SetWall(clock_.WallNow() + std::chrono::hours(24 * 8));
  EXPECT_THAT(service().CreateNamespace({.ns = kNs}, Call(old)),
              IsError(ErrorCode::kInvalidArgument));
}

TEST_F(MetasrvTest, ADropKeepsTheFilesAndFreesTheName) {
  Lead();
  MakeTable(kT);
  const std::string metadata = Load(kT).registration.metadata_location;
  const Uuid id = NewId();
  EXPECT_THAT(service().DropTable({.name = kT}, Call(id)), IsOk());
  EXPECT_THAT(service().LoadTable(kT, Soon()), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(service().DropTable({.name = kT}, Call(id)), IsOk()) << "the same operation again";
  EXPECT_THAT(service().DropTable({.name = kT}, Call()), IsError(ErrorCode::kNotFound));
  EXPECT_THAT(objects_.Stat(metadata, Soon()), IsOk());
  MakeTable(kT);
  EXPECT_NE(Load(kT).registration.metadata_location, metadata);
}

TEST_F(MetasrvTest, ADroppedTableIsRegisteredAgainUnderAnyNameButOnlyOnce) {
  Lead();
  MakeTable(kT);
  ASSERT_THAT(service().Append(Request(kT, "c", 5), Call()), IsOk());
  const std::string metadata = Load(kT).registration.metadata_location;
  const catalog::TableName u{.ns = kNs, .name = "u"};
  EXPECT_THAT(service().RegisterTable({.name = u, .metadata_location = metadata}, Call()),
              IsError(ErrorCode::kAlreadyExists))
      << "two tables cannot share files";
  ASSERT_THAT(service().DropTable({.name = kT}, Call()), IsOk());
  EXPECT_THAT(service().RegisterTable({.name = u, .metadata_location = metadata + "x"}, Call()),
              IsError(ErrorCode::kNotFound));
  EXPECT_THAT(service().RegisterTable({.name = u, .metadata_location = metadata}, Call()), IsOk());
  EXPECT_THAT(service().Append(Request(u, "d", 6), Call()), IsOk());
  EXPECT_EQ(Check(u).rows, 11U);
  // And dropped again, and again.
  for (int round = 0; round < 2; ++round) {
    const std::string latest = Load(u).registration.metadata_location;
    ASSERT_THAT(service().DropTable({.name = u}, Call()), IsOk());
    ASSERT_THAT(service().RegisterTable({.name = u, .metadata_location = latest}, Call()), IsOk());
    EXPECT_EQ(Check(u).rows, 11U);
  }
}

TEST_F(MetasrvTest, ATableWhoseLocationHoldsTheWarehouseIsNotRegistered) {
  Lead();
  MakeTable(kT);
  const std::string text =
      objects_.Get(Load(kT).registration.metadata_location, 1'000'000, Soon()).value();
  for (const std::string location : {"/", "/w", "/w/", "file:///w", "/x/../w", "//w//"}) {
    std::string other = text;
    const std::string was = Load(kT).registration.location;
    for (std::size_t at = other.find(was); at != std::string::npos; at = other.find(was)) {
      other.replace(at, was.size(), location);
    }
    const std::string file = "/elsewhere/" + NewId().ToString() + ".metadata.json";
    ASSERT_THAT(objects_.PutIfAbsent(file, other, Soon()), IsOk());
    EXPECT_THAT(service().RegisterTable(
                    {.name = {.ns = kNs, .name = "u"}, .metadata_location = file}, Call()),
                IsError(ErrorCode::kInvalidArgument))
        << location;
  }
}

TEST_F(MetasrvTest, ADamagedPendingRecordDoesNotHideTheStatus) {
  Lead();
  MakeTable(kT);
  metastore::Transaction damage;
  damage.Put(catalog::PendingKey(NewId()), metastore::Expectation::Absent(), "not a record");
  ASSERT_TRUE(std::holds_alternative<metastore::Committed>(meta_.Commit(damage, Soon()).value()));
  const Result<ServiceStatus> status = service().GetStatus(Soon());
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(status->tables, 1U);
  EXPECT_THAT(status->pending, IsEmpty());
}

TEST_F(MetasrvTest, ADamagedTableIsReportedAndOthersWork) {
  Lead();
  MakeTable(kT);
  const catalog::TableName u{.ns = kNs, .name = "u"};
  MakeTable(u);
  const std::string metadata = Load(kT).registration.metadata_location;
  ASSERT_THAT(objects_.Delete({metadata}, Soon()), IsOk());
  Node other(meta_, objects_, clock_, random_);  // Whose cache is cold.
  const Result<LoadedTable> loaded = other.service().LoadTable(kT, Soon());
  EXPECT_THAT(loaded, IsError(ErrorCode::kCorruption));
  EXPECT_THAT(loaded.error().message(), HasSubstr(metadata));
  EXPECT_THAT(other.service().LoadTable(u, Soon()), IsOk());
}

TEST_F(MetasrvTest, StatusTellsWhoLeadsAndWhatThereIs) {
  EXPECT_FALSE(service().GetStatus(Soon())->has_term);
  Lead();
  MakeTable(kT);
  const ServiceStatus status = service().GetStatus(Soon()).value();
  EXPECT_TRUE(status.has_term);
  EXPECT_TRUE(status.leading);
  EXPECT_EQ(status.epoch, 1U);
  EXPECT_EQ(status.namespaces, 1U);
  EXPECT_EQ(status.tables, 1U);
}

TEST_F(MetasrvTest, ADeposedLeaderChangesNothing) {
  Lead();
  MakeTable(kT);
  const AppendRequest request = Request(kT, "c", 5);
  Node successor(meta_, objects_, clock_, random_);
  successor.Win();
  const Uuid id = NewId();
  EXPECT_THAT(service().Append(request, Call(id)), IsError(ErrorCode::kFenced));
  EXPECT_THAT(service().Append(request, Call(id)), IsError(ErrorCode::kNotLeader))
      << "it has dropped its authority";
  EXPECT_EQ(Load(kT).registration.version, 1U);
  EXPECT_THAT(successor.service().Append(request, Call(id)), IsOk());
}

}  // namespace
}  // namespace lake::metasrv
