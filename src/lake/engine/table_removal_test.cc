#include "lake/engine/table_removal.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/engine/table_files_test_internal.h"
#include "lake/iceberg/table_metadata_json.h"

namespace lake::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FaultyObjectStore;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using Extent = RemovalPlan::Extent;
using Operation = FaultyObjectStore::Operation;

constexpr Extent kExtents[] = {Extent::kEverything, Extent::kWhatTheTableNames};

class TableRemovalTest : public WrittenTable {
 protected:
  TableRemovalTest() {
    FillTable();
    metadata_.table_uuid = incarnation_;
    metadata_.last_column_id = iceberg::FieldId{1};
    metadata_.last_sequence_number = 3;
    metadata_.current_snapshot_id = iceberg::SnapshotId{3};
    metadata_.refs.emplace("main", iceberg::SnapshotRef{.snapshot_id = iceberg::SnapshotId{3}});
    metadata_.sort_orders.push_back({});
    for (iceberg::Snapshot& snapshot : metadata_.snapshots) {
      snapshot.sequence_number = 1;
      snapshot.summary = {{"operation", "append"}};
    }
    for (const char* file : {"1", "2", "3"}) {
      Replace(fmt::format("/w/t/metadata/{}.metadata.json", file), MetadataOf(incarnation_));
    }
    for (const std::string& path : Stored()) {
      contents_[path] = under_.Get(path, 1 << 20, Soon()).value();
    }
  }

  std::string MetadataOf(const Uuid& uuid) {
    iceberg::TableMetadata metadata = metadata_;
    metadata.table_uuid = uuid;
    return iceberg::WriteTableMetadata(metadata).value();
  }

  void Replace(const std::string& path, const std::string& bytes) {
    ASSERT_THAT(under_.Delete({path}, Soon()), IsOk());
    ASSERT_THAT(under_.PutIfAbsent(path, bytes, Soon()), IsOk());
  }

  void Restore() {
    for (const auto& [path, bytes] : contents_) {
      Replace(path, bytes);
    }
  }

  RemovalPlan Plan(Extent extent) const {
    return {.incarnation = incarnation_,
            .location = "/w/t",
            .metadata_location = kMetadataLocation,
            .extent = extent};
  }

  // Removes to the end, or to the first error.
  Result<RemovalProgress> Remove(const RemovalPlan& plan) {
    LAKE_TRY(TableRemoval removal, TableRemoval::Start(objects_, plan));
    while (true) {
      LAKE_TRY(const RemovalProgress progress, removal.Continue(Soon()));
      if (progress.done) {
        return progress;
      }
    }
  }

  const Uuid incarnation_ = Uuid::Random4(random_);
  std::map<std::string, std::string> contents_;
};

TEST_F(TableRemovalTest, NoFileIsLeftUnderTheLocation) {
  for (const Extent extent : kExtents) {
    Restore();
    const Result<RemovalProgress> progress = Remove(Plan(extent));
    ASSERT_THAT(progress, IsOk());
    EXPECT_GE(progress->removed, contents_.size());
    EXPECT_THAT(Stored(), IsEmpty());
  }
}

TEST_F(TableRemovalTest, WhatTheTableDoesNotNameGoesOnlyWhereEverythingGoes) {
  const std::string stray = Put("data/stray.parquet", "PAR1");
  ASSERT_THAT(Remove(Plan(Extent::kWhatTheTableNames)), IsOk());
  EXPECT_THAT(Stored(), ElementsAre(stray));
  Restore();
  Put("metadata/0.metadata.json", MetadataOf(incarnation_));
  ASSERT_THAT(Remove(Plan(Extent::kEverything)), IsOk());
  EXPECT_THAT(Stored(), IsEmpty());
}

TEST_F(TableRemovalTest, ANeighbourWhoseNameBeginsAlikeIsNotTouched) {
  ASSERT_THAT(under_.PutIfAbsent("/w/t2/data/1", "PAR1", Soon()), IsOk());
  ASSERT_THAT(under_.PutIfAbsent("/w/t2/metadata/1.metadata.json", "{}", Soon()), IsOk());
  for (const Extent extent : kExtents) {
    Restore();
    ASSERT_THAT(Remove(Plan(extent)), IsOk());
    EXPECT_THAT(Stored(), IsEmpty());
    EXPECT_THAT(under_.Stat("/w/t2/data/1", Soon()), IsOk());
    EXPECT_THAT(under_.Stat("/w/t2/metadata/1.metadata.json", Soon()), IsOk());
  }
}

TEST_F(TableRemovalTest, AFileOfTheTableThatLiesElsewhereStays) {
  ASSERT_THAT(under_.PutIfAbsent("/elsewhere/4", "PAR1", Soon()), IsOk());
  metadata_.statistics.push_back(
      {.snapshot_id = iceberg::SnapshotId{3}, .statistics_path = "/elsewhere/4"});
  contents_[kMetadataLocation] = MetadataOf(incarnation_);
  for (const Extent extent : kExtents) {
    Restore();
    ASSERT_THAT(Remove(Plan(extent)), IsOk());
    EXPECT_THAT(Stored(), IsEmpty());
    EXPECT_THAT(under_.Stat("/elsewhere/4", Soon()), IsOk());
  }
}

TEST_F(TableRemovalTest, AMetadataFileOfAnotherTableStopsItBeforeAnythingIsRemoved) {
  const Uuid other = Uuid::Random4(random_);
  const std::vector<std::pair<std::string, std::string>> foreign = {
      {"nested/metadata/1.metadata.json", MetadataOf(other)},
      {"metadata/9.metadata.json", MetadataOf(other)},
      {"metadata/1.metadata.json", MetadataOf(other)},  // Though our own metadata names it.
      {"metadata/9.gz.metadata.json", "{}"},
      {"metadata/9.metadata.json.gz", "not gzip"},
      {"metadata/9.metadata.json", std::string(5000, ' ') + MetadataOf(other)},
  };
  for (const Extent extent : kExtents) {
    for (const auto& [name, bytes] : foreign) {
      Restore();
      Replace("/w/t/" + name, bytes);
      const std::set<std::string> before = Stored();
      EXPECT_THAT(Remove(Plan(extent)), IsError(ErrorCode::kConflict, HasSubstr("/w/t/" + name)));
      EXPECT_EQ(Stored(), before);
      ASSERT_THAT(under_.Delete({"/w/t/" + name}, Soon()), IsOk());
    }
  }
}

TEST_F(TableRemovalTest, AnotherTablesRegisteredMetadataStopsIt) {
  for (const Extent extent : kExtents) {
    Restore();
    Replace(kMetadataLocation, MetadataOf(Uuid::Random4(random_)));
    const std::set<std::string> before = Stored();
    EXPECT_THAT(Remove(Plan(extent)), IsError(ErrorCode::kConflict, HasSubstr(kMetadataLocation)));
    EXPECT_EQ(Stored(), before);
  }
}

TEST_F(TableRemovalTest, AnEarlierMetadataFileThatSaysNothingBelongsToTheTableThatNamesIt) {
  for (const Extent extent : kExtents) {
    Restore();
    Replace("/w/t/metadata/2.metadata.json", "{}");
    EXPECT_THAT(Remove(Plan(extent)), IsOk());
    EXPECT_THAT(Stored(), IsEmpty());
  }
}

TEST_F(TableRemovalTest, APathThatCannotBeComparedStopsIt) {
  metadata_.statistics.push_back(
      {.snapshot_id = iceberg::SnapshotId{3}, .statistics_path = "/w/%74/data/5"});
  Replace(kMetadataLocation, MetadataOf(incarnation_));
  EXPECT_THAT(Remove(Plan(Extent::kWhatTheTableNames)),
              IsError(ErrorCode::kConflict, HasSubstr("/w/%74/data/5")));
  EXPECT_THAT(under_.Stat(kMetadataLocation, Soon()), IsOk());
  EXPECT_THAT(TableRemoval::Start(objects_, {.incarnation = incarnation_, .location = "/w/../t"}),
              IsError(ErrorCode::kInvalidArgument));
}

TEST_F(TableRemovalTest, DamageStopsItWhereTheTableSaysWhatIsToGoAndNowhereElse) {
  for (const std::string& path : {std::string("/w/t/metadata/d.avro"),
                                  std::string("/w/t/metadata/snap-3.avro"), kMetadataLocation}) {
    Restore();
    Replace(path, "damaged");
    EXPECT_THAT(Remove(Plan(Extent::kWhatTheTableNames)),
                IsError(ErrorCode::kCorruption, HasSubstr(path)));
    EXPECT_THAT(Stored(), Contains(path));
    EXPECT_THAT(Stored(), Contains(kMetadataLocation));
    // A person takes the damaged file away, and the removal goes on.
    if (path != kMetadataLocation) {
      ASSERT_THAT(under_.Delete({path}, Soon()), IsOk());
      EXPECT_THAT(Remove(Plan(Extent::kWhatTheTableNames)), IsOk());
      EXPECT_THAT(under_.Stat(kMetadataLocation, Soon()), IsError(ErrorCode::kNotFound));
    }
    Restore();
    Replace(path, "damaged");
    EXPECT_THAT(Remove(Plan(Extent::kEverything)), IsOk());
    EXPECT_THAT(Stored(), IsEmpty());
  }
}

TEST_F(TableRemovalTest, OneThatWasRemovedBeforeIsDone) {
  for (const Extent extent : kExtents) {
    Restore();
    ASSERT_THAT(Remove(Plan(extent)), IsOk());
    EXPECT_THAT(Remove(Plan(extent)), IsOk());
  }
}

// Every call of the store fails in turn, with its effect and without. After each the removal goes on by itself; and another one, started
// afresh as by another process, ends with the same.
TEST_F(TableRemovalTest, IsCompleteWhicheverCallFailsAndWhoeverGoesOn) {
  for (const Extent extent : kExtents) {
    for (const auto fault :
         {FaultyObjectStore::Fault::kRefuse, FaultyObjectStore::Fault::kLoseRequest,
          FaultyObjectStore::Fault::kLoseAnswer}) {
      for (const bool afresh : {false, true}) {
        for (std::size_t n = 1;; ++n) {
          SCOPED_TRACE(fmt::format("extent {}, fault {}, call {}, afresh {}",
                                   static_cast<int>(extent), static_cast<int>(fault), n, afresh));
          Restore();
          objects_.FailNth(n, fault);
          TableRemoval removal = TableRemoval::Start(objects_, Plan(extent)).value();
          bool failed = false;
          while (true) {
            const Result<RemovalProgress> progress = removal.Continue(Soon());
            if (progress.has_value() && progress->done) {
              break;
            }
            if (!progress.has_value()) {
              failed = true;
              if (afresh) {
                break;
              }
            }
          }
          objects_.SetRule(nullptr);
          if (failed && afresh) {
            ASSERT_THAT(Remove(Plan(extent)), IsOk());
          }
          EXPECT_THAT(Stored(), IsEmpty());
          if (!failed) {
            EXPECT_GT(n, 5U);
            break;
          }
        }
      }
    }
  }
}

TEST_F(TableRemovalTest, TheRegisteredMetadataFileGoesLast) {
  for (const Extent extent : kExtents) {
    Restore();
    const std::size_t before = objects_.requests().size();
    ASSERT_THAT(Remove(Plan(extent)), IsOk());
    std::string last;
    std::size_t count = 0;
    for (std::size_t i = before; i < objects_.requests().size(); ++i) {
      const FaultyObjectStore::Request request = objects_.requests()[i];
      if (request.operation == Operation::kDelete) {
        last = request.path;
        ++count;
      }
    }
    EXPECT_EQ(last, kMetadataLocation);
    EXPECT_GT(count, 2U);
  }
}

TEST_F(TableRemovalTest, ThousandsOfFilesGoInBoundedSteps) {
  constexpr int kFiles = 2500;
  for (int i = 0; i < kFiles; ++i) {
    Put(fmt::format("data/stray-{:05}", i), "PAR1");
  }
  TableRemoval removal = TableRemoval::Start(objects_, Plan(Extent::kEverything)).value();
  std::uint64_t removed = 0;
  while (true) {
    const RemovalProgress progress = removal.Continue(Soon()).value();
    EXPECT_LE(progress.removed - removed, kRemovalPageMax);
    removed = progress.removed;
    if (progress.done) {
      break;
    }
  }
  EXPECT_EQ(removed, contents_.size() + kFiles);
  EXPECT_THAT(Stored(), IsEmpty());
}

}  // namespace
}  // namespace lake::engine
