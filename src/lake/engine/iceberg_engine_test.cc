#include "lake/engine/iceberg_engine.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/engine/snapshot_reader.h"
#include "lake/iceberg/type.h"
#include "lake/objstore/memory/memory_objstore.h"
#include "lake/testing/faulty_objstore.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/seeded_random.h"

namespace lake::engine {
namespace {

using ::testing::ElementsAre;
using testing::FaultyObjectStore;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using testing::IsOkAnd;
using ::testing::SizeIs;
using Operation = FaultyObjectStore::Operation;

iceberg::Schema TwoColumns() {
  return iceberg::Schema::Make({.fields = {{.id = iceberg::FieldId{1},
                                            .name = "id",
                                            .required = true,
                                            .type = iceberg::Type::Long()},
                                           {.id = iceberg::FieldId{2},
                                            .name = "note",
                                            .type = iceberg::Type::String()}}})
      .value();
}

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() : random_(3), under_(clock_), objects_(under_), reader_(objects_, clock_) {
    clock_.SetWall(WallTime(std::chrono::milliseconds(1'790'000'000'000)));
    engine_ = std::make_unique<IcebergEngine>(objects_, clock_, random_, IcebergEngine::Options{});
  }

  Deadline Soon() const { return clock_.Now() + std::chrono::seconds(60); }

  std::string Plan(int version) {
    return fmt::format("{}/metadata/{:05}-1-{}.metadata.json", kLocation, version,
                       Uuid::Random4(random_).ToString());
  }

  std::string Create() {
    const std::string planned = Plan(1);
    EXPECT_THAT(engine_->Create({.incarnation = incarnation_,
                                 .location = kLocation,
                                 .planned_location = planned,
                                 .schema = TwoColumns(),
                                 .properties = {{"owner", "me"}},
                                 .now = clock_.WallNow()},
                                Soon()),
                IsOk());
    return planned;
  }

  iceberg::DataFile Stage(std::int64_t rows) {
    const std::string path =
        fmt::format("{}/data/{}.parquet", kLocation, Uuid::Random4(random_).ToString());
    EXPECT_THAT(under_.PutIfAbsent(path, "PAR1", Soon()), IsOk());
    return {.file_path = path, .record_count = rows, .file_size_in_bytes = 4};
  }

  AppendPlan PlanAppend(const std::string& base, std::int64_t snapshot_id,
                        std::vector<iceberg::DataFile> files) {
    return {.base = engine_->Load(base, Soon()).value(),
            .base_location = base,
            .planned_location = Plan(2),
            .snapshot_id = iceberg::SnapshotId{snapshot_id},
            .files = std::move(files),
            .summary = {{"lake.epoch", "1"}},
            .now = clock_.WallNow()};
  }

  std::set<std::string> Paths() {
    std::set<std::string> paths;
    const objstore::ObjectPage page = under_.List("/w/", "", 1000, Soon()).value();
    for (const objstore::ObjectInfo& info : page.objects) {
      paths.insert(info.path);
    }
    return paths;
  }

  static inline const std::string kLocation = "/w/t";

  testing::ManualClock clock_;
  testing::SeededRandom random_;
  objstore::MemoryObjectStore under_;
  FaultyObjectStore objects_;
  SnapshotReader reader_;
  std::unique_ptr<IcebergEngine> engine_;
  const Uuid incarnation_ = Uuid::Random4(random_);
};

TEST_F(EngineTest, TheFirstVersionHoldsWhatWasPlanned) {
  const std::string planned = Create();
  IcebergEngine cold(objects_, clock_, random_, {});
  const MetadataPtr metadata = cold.Load(planned, Soon()).value();
  EXPECT_EQ(metadata->format_version, 2);
  EXPECT_EQ(metadata->table_uuid, incarnation_);
  EXPECT_EQ(metadata->location, kLocation);
  EXPECT_EQ(metadata->properties.at("owner"), "me");
  EXPECT_THAT(metadata->current_schema().fields(), SizeIs(2));
  EXPECT_THAT(metadata->snapshots, IsEmpty());
}

TEST_F(EngineTest, ATakenLocationIsNeverOverwritten) {
  const std::string planned = Create();
  const std::string before = under_.Get(planned, 1 << 20, Soon()).value();
  EXPECT_THAT(engine_->Create({.incarnation = Uuid::Random4(random_),
                               .location = kLocation,
                               .planned_location = planned,
                               .schema = TwoColumns(),
                               .now = clock_.WallNow()},
                              Soon()),
              IsError(ErrorCode::kAlreadyExists));
  EXPECT_THAT(under_.Get(planned, 1 << 20, Soon()), IsOkAnd(before));
}

TEST_F(EngineTest, AnAppendKeepsTheBaseAndAddsTheFiles) {
  const AppendPlan first = PlanAppend(Create(), 10, {Stage(5), Stage(2)});
  ASSERT_THAT(engine_->Append(first, Soon()), IsOk());
  const AppendPlan second = PlanAppend(first.planned_location, 11, {Stage(4)});
  ASSERT_THAT(engine_->Append(second, Soon()), IsOk());

  IcebergEngine cold(objects_, clock_, random_, {});
  const MetadataPtr metadata = cold.Load(second.planned_location, Soon()).value();
  ASSERT_THAT(metadata->snapshots, SizeIs(2));
  const iceberg::Snapshot& snapshot = *metadata->current_snapshot();
  EXPECT_EQ(snapshot.snapshot_id, iceberg::SnapshotId{11});
  EXPECT_EQ(snapshot.parent_snapshot_id, iceberg::SnapshotId{10});
  EXPECT_EQ(snapshot.summary.at("added-records"), "4");
  EXPECT_EQ(snapshot.summary.at("total-records"), "11");
  EXPECT_EQ(snapshot.summary.at("total-data-files"), "3");
  EXPECT_EQ(snapshot.summary.at("lake.epoch"), "1");
  EXPECT_THAT(metadata->metadata_log, SizeIs(2));

  std::set<std::string> live;
  const std::vector<iceberg::ManifestFile> manifests =
      reader_.ListManifests(*metadata, snapshot, Soon()).value();
  for (const iceberg::ManifestFile& manifest : manifests) {
    const std::vector<iceberg::ManifestEntry> entries =
        reader_.ListLiveEntries(*metadata, manifest, Soon()).value();
    for (const iceberg::ManifestEntry& entry : entries) {
      live.insert(entry.data_file.file_path);
    }
  }
  EXPECT_THAT(live,
              ::testing::UnorderedElementsAre(first.files[0].file_path, first.files[1].file_path,
                                              second.files[0].file_path));
  const CheckReport report = reader_.Check(*metadata, Soon()).value();
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.rows, 11U);
  EXPECT_EQ(report.snapshots, 2U);
  EXPECT_EQ(report.manifests, 2U);
  EXPECT_EQ(report.data_files, 3U);
}

TEST_F(EngineTest, TheMetadataFileIsWrittenAfterEverythingItNames) {
  const AppendPlan plan = PlanAppend(Create(), 10, {Stage(5)});
  const std::size_t before = objects_.requests().size();
  ASSERT_THAT(engine_->Append(plan, Soon()), IsOk());
  std::vector<std::string> puts;
  const auto requests = objects_.requests();
  for (std::size_t i = before; i < requests.size(); ++i) {
    if (requests[i].operation == Operation::kPut) {
      puts.push_back(requests[i].path);
    }
  }
  EXPECT_THAT(puts,
              ElementsAre(HasSubstr("-m0.avro"), HasSubstr("/snap-10-"), plan.planned_location));
}

TEST_F(EngineTest, TwoAttemptsAtOneVersionWriteDifferentFiles) {
  const std::string base = Create();
  const AppendPlan first = PlanAppend(base, 10, {Stage(5)});
  const AppendPlan second = PlanAppend(base, 10, first.files);
  ASSERT_NE(first.planned_location, second.planned_location);
  EXPECT_THAT(engine_->Append(first, Soon()), IsOk());
  EXPECT_THAT(engine_->Append(second, Soon()), IsOk());
}

TEST_F(EngineTest, RemovingAnAttemptLeavesWhatWasThereBefore) {
  const std::string base = Create();
  const std::vector<iceberg::DataFile> files = {Stage(5)};
  const std::set<std::string> before = Paths();
  // The attempt fails at its first request, then at its second, …
  for (std::size_t n = 1;; ++n) {
    const AppendPlan plan = PlanAppend(base, 10, files);
    objects_.FailNth(n, FaultyObjectStore::Fault::kLoseAnswer);
    const Status appended = engine_->Append(plan, Soon());
    objects_.SetRule(nullptr);
    EXPECT_THAT(engine_->RemoveAttempt(plan.planned_location, plan.snapshot_id, Soon()), IsOk());
    EXPECT_EQ(Paths(), before) << "request " << n;
    if (appended.has_value()) {
      EXPECT_GT(n, 3U);
      break;
    }
    EXPECT_THAT(appended, ::testing::AnyOf(IsError(ErrorCode::kUnavailable),
                                           IsError(ErrorCode::kOutcomeUnknown)));
  }
}

TEST_F(EngineTest, ACommitWritesTheVersionThatItsUpdatesMake) {
  const std::string first = Create();
  const CommitPlan plan{
      .base = engine_->Load(first, Soon()).value(),
      .base_location = first,
      .planned_location = Plan(2),
      .updates = {iceberg::SetProperties{.updates = {{"owner", "you"}, {"k", "v"}}},
                  iceberg::RemoveProperties{.removals = {"k"}}},
      .now = clock_.WallNow()};
  const Result<MetadataPtr> made = engine_->Commit(plan, Soon());
  ASSERT_THAT(made, IsOk());
  EXPECT_EQ((*made)->properties.at("owner"), "you");
  EXPECT_FALSE((*made)->properties.contains("k"));
  EXPECT_EQ((*made)->metadata_log.back().metadata_file, first);
  IcebergEngine other(objects_, clock_, random_, {});
  EXPECT_EQ(*other.Load(plan.planned_location, Soon()).value(), **made);
  EXPECT_THAT(engine_->Commit(plan, Soon()), IsError(ErrorCode::kAlreadyExists));
}

TEST_F(EngineTest, ACommitThatCannotBeAppliedWritesNothing) {
  const std::string first = Create();
  const std::set<std::string> before = Paths();
  EXPECT_THAT(engine_->Commit({.base = engine_->Load(first, Soon()).value(),
                               .base_location = first,
                               .planned_location = Plan(2),
                               .updates = {iceberg::SetSnapshotRef{
                                   .name = "main", .ref = {.snapshot_id = iceberg::SnapshotId{7}}}},
                               .now = clock_.WallNow()},
                              Soon()),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_EQ(Paths(), before);
}

TEST_F(EngineTest, AMissingFileIsToldFromOneThatIsThere) {
  EXPECT_THAT(engine_->CheckFile(Create(), Soon()), IsOk());
  EXPECT_THAT(engine_->CheckFile("/w/t/none", Soon()), IsError(ErrorCode::kNotFound));
}

TEST_F(EngineTest, ReconcilingTellsACompleteVersionFromEverythingElse) {
  const std::string planned = Create();
  EXPECT_THAT(engine_->Reconcile(planned, incarnation_, Soon()), IsOkAnd(PlannedState::kComplete));
  EXPECT_THAT(engine_->Reconcile(Plan(1), incarnation_, Soon()), IsOkAnd(PlannedState::kAbsent));
  EXPECT_THAT(engine_->Reconcile(planned, Uuid::Random4(random_), Soon()),
              IsOkAnd(PlannedState::kAbsent))
      << "another table's";
  const std::string torn = Plan(1);
  ASSERT_THAT(
      under_.PutIfAbsent(torn, under_.Get(planned, 1 << 20, Soon())->substr(0, 100), Soon()),
      IsOk());
  EXPECT_THAT(engine_->Reconcile(torn, incarnation_, Soon()), IsOkAnd(PlannedState::kAbsent));
  objects_.FailNth(1, FaultyObjectStore::Fault::kRefuse);
  EXPECT_THAT(engine_->Reconcile(planned, incarnation_, Soon()), IsError(ErrorCode::kUnavailable));
}

TEST_F(EngineTest, ReconcilingConfirmsThatAFileItFoundIsDurable) {
  const std::string planned = Create();
  const std::size_t before = objects_.requests().size();
  ASSERT_THAT(engine_->Reconcile(planned, incarnation_, Soon()), IsOkAnd(PlannedState::kComplete));
  const auto requests = objects_.requests();
  EXPECT_EQ(requests.back().operation, Operation::kPut);
  EXPECT_EQ(requests.back().path, planned);
  // Without that confirmation it is not complete.
  objects_.FailNth(requests.size() - before, FaultyObjectStore::Fault::kRefuse);
  EXPECT_THAT(engine_->Reconcile(planned, incarnation_, Soon()), IsError(ErrorCode::kUnavailable));
}

TEST_F(EngineTest, AFileThatDoesNotFitIsRefusedByName) {
  const std::string base = Create();
  const MetadataPtr metadata = engine_->Load(base, Soon()).value();
  const iceberg::DataFile good = Stage(5);
  EXPECT_THAT(engine_->CheckAppend(*metadata, {good}, Soon()), IsOk());
  const auto refuses = [&](const std::function<void(iceberg::DataFile&)>& spoil,
                           const std::string& why) {
    iceberg::DataFile bad = good;
    spoil(bad);
    EXPECT_THAT(engine_->CheckAppend(*metadata, {bad}, Soon()),
                IsError(ErrorCode::kInvalidArgument,
                        ::testing::AllOf(HasSubstr(bad.file_path), HasSubstr(why))));
  };
  refuses([](auto& file) { file.content = iceberg::FileContent::kPositionDeletes; },
          "not a Parquet data file");
  refuses([](auto& file) { file.file_format = iceberg::FileFormat::kAvro; },
          "not a Parquet data file");
  refuses([](auto& file) { file.record_count = 0; }, "no rows");
  refuses([](auto& file) { file.file_path = kLocation + "x/data/a.parquet"; },
          "not under the table's location");
  refuses([](auto& file) { file.file_path += ".not"; }, "does not exist");
  refuses([](auto& file) { file.file_size_in_bytes = 5; }, "4 bytes, not 5");
  refuses([](auto& file) { file.null_value_counts.Set(iceberg::FieldId{1}, 2); },
          "column id is required");
  refuses([](auto& file) { file.null_value_counts.Set(iceberg::FieldId{7}, 0); }, "field id 7");
  refuses([](auto& file) { file.column_sizes.Set(iceberg::FieldId{7}, 1); }, "field id 7");
  EXPECT_THAT(engine_->CheckAppend(*metadata, {good, good}, Soon()),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("twice")));
  objects_.FailNth(1, FaultyObjectStore::Fault::kRefuse);
  EXPECT_THAT(engine_->CheckAppend(*metadata, {good}, Soon()), IsError(ErrorCode::kUnavailable));
}

// A struct that is null has no value of its required fields; a struct that must be there has.
TEST_F(EngineTest, ARequiredFieldMayBeMissingWhereItsParentIs) {
  const auto point = [](bool required, int id) {
    return iceberg::NestedField{.id = iceberg::FieldId{id},
                                .name = "p" + std::to_string(id),
                                .required = required,
                                .type = iceberg::Type::Struct({{.id = iceberg::FieldId{id + 1},
                                                                .name = "x",
                                                                .required = true,
                                                                .type = iceberg::Type::Long()}})};
  };
  iceberg::TableMetadata metadata = *engine_->Load(Create(), Soon()).value();
  metadata.schemas.front() =
      iceberg::Schema::Make({.fields = {point(false, 10), point(true, 20)}}).value();
  iceberg::DataFile file = Stage(5);
  file.null_value_counts.Set(iceberg::FieldId{11}, 2);
  EXPECT_THAT(engine_->CheckAppend(metadata, {file}, Soon()), IsOk());
  file.null_value_counts.Set(iceberg::FieldId{21}, 2);
  EXPECT_THAT(engine_->CheckAppend(metadata, {file}, Soon()),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("column x is required")));
}

TEST_F(EngineTest, AFileWithoutARequiredColumnIsRefusedWhenItsStatisticsListItsColumns) {
  const MetadataPtr metadata = engine_->Load(Create(), Soon()).value();
  iceberg::DataFile file = Stage(5);
  EXPECT_THAT(engine_->CheckAppend(*metadata, {file}, Soon()), IsOk()) << "it lists none";
  file.column_sizes.Set(iceberg::FieldId{2}, 40);
  EXPECT_THAT(engine_->CheckAppend(*metadata, {file}, Soon()),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("column id is required")));
  file.column_sizes.Set(iceberg::FieldId{1}, 40);
  EXPECT_THAT(engine_->CheckAppend(*metadata, {file}, Soon()), IsOk());
}

TEST_F(EngineTest, TablesLakeCannotWriteAreRefusedBeforeAFileIsWritten) {
  const std::string base = Create();
  const MetadataPtr metadata = engine_->Load(base, Soon()).value();
  iceberg::TableMetadata other = *metadata;
  other.format_version = 1;
  EXPECT_THAT(engine_->CheckAppend(other, {Stage(5)}, Soon()),
              IsError(ErrorCode::kUnimplemented, HasSubstr("format version 1")));
  other = *metadata;
  other.partition_specs.push_back({.spec_id = iceberg::PartitionSpecId{1},
                                   .fields = {{.source_ids = {iceberg::FieldId{1}},
                                               .field_id = iceberg::FieldId{1000},
                                               .name = "id_bucket",
                                               .transform = "bucket[4]"}}});
  other.default_spec_id = iceberg::PartitionSpecId{1};
  EXPECT_THAT(engine_->CheckAppend(other, {Stage(5)}, Soon()),
              IsError(ErrorCode::kUnimplemented, HasSubstr("partitioned")));
}

TEST_F(EngineTest, ADamagedMetadataFileIsNamed) {
  const std::string path = Plan(1);
  ASSERT_THAT(under_.PutIfAbsent(path, "{\"format-version\": 2", Soon()), IsOk());
  EXPECT_THAT(engine_->Load(path, Soon()), IsError(ErrorCode::kCorruption, HasSubstr(path)));
  EXPECT_THAT(engine_->Load(path + "x", Soon()), IsError(ErrorCode::kNotFound, HasSubstr(path)));
}

TEST_F(EngineTest, AnImmutableFileIsReadOnce) {
  const std::string planned = Create();
  IcebergEngine cold(objects_, clock_, random_, {});
  const std::size_t before = objects_.requests().size();
  const MetadataPtr first = cold.Load(planned, Soon()).value();
  EXPECT_EQ(cold.Load(planned, Soon()).value(), first);
  EXPECT_EQ(objects_.requests().size(), before + 1);
}

TEST_F(EngineTest, ACheckFindsEveryFileThatIsMissingOrChanged) {
  const AppendPlan plan = PlanAppend(Create(), 10, {Stage(5), Stage(2)});
  ASSERT_THAT(engine_->Append(plan, Soon()), IsOk());
  const MetadataPtr metadata = engine_->Load(plan.planned_location, Soon()).value();
  for (const std::string& path : Paths()) {
    if (path.ends_with(".metadata.json")) {
      continue;  // The next test's.
    }
    const std::string bytes = under_.Get(path, 1 << 20, Soon()).value();
    ASSERT_THAT(under_.Delete({path}, Soon()), IsOk());
    EXPECT_THAT(reader_.Check(*metadata, Soon())->problems,
                ElementsAre(HasSubstr(path + " is missing")));
    ASSERT_THAT(under_.PutIfAbsent(path, bytes.substr(1), Soon()), IsOk());
    EXPECT_THAT(reader_.Check(*metadata, Soon())->problems, ElementsAre(HasSubstr(path)));
    ASSERT_THAT(under_.Delete({path}, Soon()), IsOk());
    ASSERT_THAT(under_.PutIfAbsent(path, bytes, Soon()), IsOk());
    EXPECT_THAT(reader_.Check(*metadata, Soon())->problems, IsEmpty());
  }
}

TEST_F(EngineTest, ACheckFindsMissingStatisticsAndEarlierMetadata) {
  const std::string created = Create();
  const AppendPlan plan = PlanAppend(created, 10, {Stage(5)});
  ASSERT_THAT(engine_->Append(plan, Soon()), IsOk());
  iceberg::TableMetadata metadata = *engine_->Load(plan.planned_location, Soon()).value();
  metadata.statistics.push_back({.snapshot_id = iceberg::SnapshotId{10},
                                 .statistics_path = "/w/t/stats",
                                 .file_size_in_bytes = 4});
  metadata.partition_statistics.push_back({.snapshot_id = iceberg::SnapshotId{10},
                                           .statistics_path = "/w/t/partition-stats",
                                           .file_size_in_bytes = 4});
  ASSERT_THAT(under_.Delete({created}, Soon()), IsOk());
  ASSERT_THAT(under_.PutIfAbsent("/w/t/stats", "PUF1", Soon()), IsOk());
  ASSERT_THAT(under_.PutIfAbsent("/w/t/partition-stats", "P", Soon()), IsOk());
  EXPECT_THAT(reader_.Check(metadata, Soon())->problems,
              ElementsAre(HasSubstr(created + " is missing"),
                          HasSubstr("/w/t/partition-stats has 1 bytes; its table says 4")));
}

TEST_F(EngineTest, ACheckComparesTheSummariesWithTheFiles) {
  const AppendPlan plan = PlanAppend(Create(), 10, {Stage(5)});
  ASSERT_THAT(engine_->Append(plan, Soon()), IsOk());
  iceberg::TableMetadata metadata = *engine_->Load(plan.planned_location, Soon()).value();
  metadata.snapshots[0].summary["total-records"] = "6";
  metadata.snapshots[0].summary["total-data-files"] = "2";
  EXPECT_THAT(reader_.Check(metadata, Soon())->problems,
              ElementsAre(HasSubstr("total-data-files=2"), HasSubstr("total-records=6")));
}

TEST_F(EngineTest, ACheckThatCannotBeDoneIsAnErrorAndNoFinding) {
  const AppendPlan plan = PlanAppend(Create(), 10, {Stage(5)});
  ASSERT_THAT(engine_->Append(plan, Soon()), IsOk());
  const MetadataPtr metadata = engine_->Load(plan.planned_location, Soon()).value();
  for (std::size_t n = 1;; ++n) {
    objects_.FailNth(n, FaultyObjectStore::Fault::kRefuse);
    const Result<CheckReport> report = reader_.Check(*metadata, Soon());
    objects_.SetRule(nullptr);
    if (report.has_value()) {
      EXPECT_EQ(n, 5U) << "earlier metadata file, manifest list, manifest, data file";
      EXPECT_THAT(report->problems, IsEmpty());
      break;
    }
    EXPECT_THAT(report, IsError(ErrorCode::kUnavailable));
  }
}

}  // namespace
}  // namespace lake::engine
