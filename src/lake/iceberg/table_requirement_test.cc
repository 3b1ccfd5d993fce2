#include "lake/iceberg/table_requirement.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_update_examples_internal.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;

// A table with three snapshots, the first of which is tagged.
TableMetadata Tagged() {
  TableMetadata metadata = Grown(Empty(), 3);
  metadata.refs["old"] = {.snapshot_id = SnapshotId{1}, .kind = SnapshotRef::Kind::kTag};
  return metadata;
}

Status Check(const TableMetadata& base, const TableRequirement& requirement) {
  return CheckRequirements(&base, {requirement});
}

Uuid OtherUuid() {
  return Uuid::Parse("11111111-2222-4333-8444-555555555555").value();
}

TEST(CheckRequirements, HoldsOfTheTableAsItIs) {
  const TableMetadata base = Tagged();
  EXPECT_THAT(
      CheckRequirements(
          &base,
          {AssertTableUuid{*base.table_uuid}, AssertRefSnapshotId{"main", SnapshotId{3}},
           AssertRefSnapshotId{"old", SnapshotId{1}}, AssertRefSnapshotId{"new", std::nullopt},
           AssertLastAssignedFieldId{FieldId{1}}, AssertCurrentSchemaId{SchemaId{0}},
           AssertLastAssignedPartitionId{FieldId{999}}, AssertDefaultSpecId{PartitionSpecId{0}},
           AssertDefaultSortOrderId{SortOrderId{0}}}),
      IsOk());
  EXPECT_THAT(CheckRequirements(&base, {}), IsOk());
}

TEST(CheckRequirements, SaysWhatChangedInTheWordsThatClientsKnow) {
  const TableMetadata base = Tagged();
  const auto conflict = [](const std::string& message) {
    return IsError(ErrorCode::kConflict, message);
  };
  EXPECT_THAT(Check(base, AssertCreate{}), conflict("Requirement failed: table already exists"));
  EXPECT_THAT(Check(base, AssertTableUuid{OtherUuid()}),
              conflict("Requirement failed: UUID does not match: expected "
                       "9c12d441-03fe-4693-9a96-a0705ddf69c1 != "
                       "11111111-2222-4333-8444-555555555555"));
  EXPECT_THAT(Check(base, AssertLastAssignedFieldId{FieldId{4}}),
              conflict("Requirement failed: last assigned field id changed: expected id 4 != 1"));
  EXPECT_THAT(Check(base, AssertCurrentSchemaId{SchemaId{4}}),
              conflict("Requirement failed: current schema changed: expected id 4 != 0"));
  EXPECT_THAT(
      Check(base, AssertLastAssignedPartitionId{FieldId{1000}}),
      conflict("Requirement failed: last assigned partition id changed: expected id 1000 != 999"));
  EXPECT_THAT(Check(base, AssertDefaultSpecId{PartitionSpecId{4}}),
              conflict("Requirement failed: default partition spec changed: expected id 4 != 0"));
  EXPECT_THAT(Check(base, AssertDefaultSortOrderId{SortOrderId{4}}),
              conflict("Requirement failed: default sort order changed: expected id 4 != 0"));
}

TEST(CheckRequirements, OfARefSaysWhetherItMovedCameOrWent) {
  const TableMetadata base = Tagged();
  const auto conflict = [](const std::string& message) {
    return IsError(ErrorCode::kConflict, message);
  };
  EXPECT_THAT(Check(base, AssertRefSnapshotId{"main", SnapshotId{2}}),
              conflict("Requirement failed: branch main has changed: expected id 2 != 3"));
  EXPECT_THAT(Check(base, AssertRefSnapshotId{"old", SnapshotId{2}}),
              conflict("Requirement failed: tag old has changed: expected id 2 != 1"));
  EXPECT_THAT(Check(base, AssertRefSnapshotId{"main", std::nullopt}),
              conflict("Requirement failed: branch main was created concurrently"));
  EXPECT_THAT(Check(base, AssertRefSnapshotId{"old", std::nullopt}),
              conflict("Requirement failed: tag old was created concurrently"));
  EXPECT_THAT(Check(base, AssertRefSnapshotId{"gone", SnapshotId{2}}),
              conflict("Requirement failed: branch or tag gone is missing, expected 2"));
}

// What some writers say of a table without a snapshot comes back as what they require of it.
TEST(CheckRequirements, TakesMinusOneForNoSnapshot) {
  EXPECT_THAT(Check(Empty(), AssertRefSnapshotId{"main", kNoSnapshot}), IsOk());
  EXPECT_THAT(Check(Empty(), AssertRefSnapshotId{"main", std::nullopt}), IsOk());
  EXPECT_THAT(
      Check(Tagged(), AssertRefSnapshotId{"main", kNoSnapshot}),
      IsError(ErrorCode::kConflict, "Requirement failed: branch main was created concurrently"));
}

TEST(CheckRequirements, OfAMissingTableHoldOnlyIfItMayBeMissing) {
  EXPECT_THAT(CheckRequirements(nullptr, {AssertCreate{}}), IsOk());
  EXPECT_THAT(
      CheckRequirements(nullptr, {AssertCreate{}, AssertRefSnapshotId{"main", std::nullopt}}),
      IsOk());
  EXPECT_THAT(CheckRequirements(nullptr, {AssertRefSnapshotId{"main", SnapshotId{1}}}),
              IsError(ErrorCode::kConflict,
                      "Requirement failed: branch or tag main is missing, expected 1"));
  for (const TableRequirement& requirement : std::vector<TableRequirement>{
           AssertTableUuid{}, AssertLastAssignedFieldId{}, AssertCurrentSchemaId{},
           AssertLastAssignedPartitionId{}, AssertDefaultSpecId{}, AssertDefaultSortOrderId{}}) {
    EXPECT_THAT(CheckRequirements(nullptr, {AssertCreate{}, requirement}),
                IsError(ErrorCode::kConflict, "Requirement failed: table does not exist"))
        << requirement.index();
  }
}

TEST(CheckRequirements, OfATableWithoutAnIdentityFailWhenOneIsAskedFor) {
  TableMetadata base = Empty(1);
  base.table_uuid.reset();
  EXPECT_THAT(Check(base, AssertTableUuid{OtherUuid()}),
              IsError(ErrorCode::kConflict,
                      "Requirement failed: UUID does not match: expected none != "
                      "11111111-2222-4333-8444-555555555555"));
}

TEST(CheckRequirements, StopAtTheFirstThatFails) {
  const TableMetadata base = Empty();
  EXPECT_THAT(CheckRequirements(&base, {AssertCurrentSchemaId{SchemaId{0}},
                                        AssertDefaultSpecId{PartitionSpecId{1}}, AssertCreate{}}),
              IsError(ErrorCode::kConflict,
                      "Requirement failed: default partition spec changed: expected id 1 != 0"));
}

}  // namespace
}  // namespace lake::iceberg
