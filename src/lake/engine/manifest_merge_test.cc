#include "lake/engine/manifest_merge.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/engine/attempt_files_internal.h"
#include "lake/engine/table_world_test_internal.h"
#include "lake/iceberg/snapshot_summary.h"

namespace lake::engine {
namespace {

using ::testing::Contains;
using testing::FaultyObjectStore;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using ::testing::SizeIs;
using enum iceberg::ManifestEntryStatus;

constexpr auto kEntry = TableWorld::Entry;

// Entries by file, all of them but for how they came into their manifest: what a merge may not change.
std::map<std::string, iceberg::ManifestEntry> ByPath(std::vector<iceberg::ManifestEntry> entries) {
  std::map<std::string, iceberg::ManifestEntry> by_path;
  for (iceberg::ManifestEntry& entry : entries) {
    entry.status = kExisting;
    const std::string path = entry.data_file.file_path;
    EXPECT_TRUE(by_path.emplace(path, std::move(entry)).second) << path;
  }
  return by_path;
}

void SetProperties(TableWorld& world, std::map<std::string, std::string> properties) {
  world.Commit({iceberg::SetProperties{.updates = std::move(properties)}});
}

// A table that merges as soon as there are two small manifests.
void MergeEagerly(TableWorld& world) {
  SetProperties(world, {{std::string(kManifestMergeCountProperty), "2"}});
}

Result<WrittenMerge> Merge(TableWorld& world, std::int64_t snapshot) {
  LAKE_TRY(std::vector<MergedManifest> merged, world.ReadMerge(world.Current()));
  return world.WriteMerge(snapshot, std::move(merged));
}

iceberg::DataFile Deletes(TableWorld& world, const std::string& name) {
  iceberg::DataFile file = world.NewFile(name);
  file.content = iceberg::FileContent::kPositionDeletes;
  return file;
}

TEST(ManifestMerge, KeepsEveryLiveEntryWithItsSnapshotSequenceNumbersAndStatistics) {
  TableWorld world;
  MergeEagerly(world);
  iceberg::DataFile with = world.NewFile("with");
  with.column_sizes.Set(iceberg::FieldId{1}, 40);
  with.value_counts.Set(iceberg::FieldId{1}, 1);
  with.null_value_counts.Set(iceberg::FieldId{1}, 0);
  with.lower_bounds.Set(iceberg::FieldId{1}, std::string("\1\0\0\0\0\0\0\0", 8));
  with.upper_bounds.Set(iceberg::FieldId{1}, std::string("\2\0\0\0\0\0\0\0", 8));
  with.split_offsets = {4, 100};
  with.key_metadata = "key";
  with.sort_order_id = iceberg::SortOrderId{0};
  world.Add(1, {kEntry(kAdded, 1, with)}, iceberg::ManifestContent::kData);
  for (std::int64_t id = 2; id <= 5; ++id) {
    world.Append(id, fmt::format("f{}", id));
  }
  const auto before = ByPath(world.LiveEntries(*world.Current()->current_snapshot()));
  ASSERT_THAT(before, SizeIs(5));
  const auto written = Merge(world, 6);
  ASSERT_THAT(written, IsOk());
  EXPECT_EQ(written->replaced, 5U);
  EXPECT_EQ(written->created, 1U);
  const std::vector<iceberg::ManifestFile> manifests = world.Manifests();
  ASSERT_THAT(manifests, SizeIs(1));
  EXPECT_EQ(manifests[0].added_snapshot_id, iceberg::SnapshotId{6});
  EXPECT_EQ(manifests[0].sequence_number, 6);
  EXPECT_EQ(manifests[0].min_sequence_number, 1);
  EXPECT_EQ(manifests[0].existing_files_count, 5);
  EXPECT_EQ(manifests[0].existing_rows_count, 5);
  EXPECT_EQ(manifests[0].added_files_count, 0);
  EXPECT_EQ(manifests[0].deleted_files_count, 0);
  const std::vector<iceberg::ManifestEntry> after =
      world.LiveEntries(*world.Current()->current_snapshot());
  for (const iceberg::ManifestEntry& entry : after) {
    EXPECT_EQ(entry.status, kExisting);
  }
  EXPECT_EQ(ByPath(after), before);
  EXPECT_THAT(world.Problems(), IsEmpty());
}

TEST(ManifestMerge, IsASnapshotThatReplacesAndChangesNoTotal) {
  TableWorld world;
  MergeEagerly(world);
  world.Append(1, "a");
  world.Append(2, "b");
  const iceberg::Snapshot before = *world.Current()->current_snapshot();
  ASSERT_THAT(Merge(world, 3), IsOk());
  const iceberg::Snapshot& after = *world.Current()->current_snapshot();
  EXPECT_EQ(after.snapshot_id, iceberg::SnapshotId{3});
  EXPECT_EQ(after.parent_snapshot_id, iceberg::SnapshotId{2});
  EXPECT_EQ(after.sequence_number, 3);
  EXPECT_EQ(after.schema_id, before.schema_id);
  EXPECT_EQ(after.summary.at("operation"), "replace");
  EXPECT_EQ(after.summary.at("manifests-replaced"), "2");
  EXPECT_EQ(after.summary.at("manifests-created"), "1");
  EXPECT_EQ(after.summary.at("manifests-kept"), "0");
  for (const auto& [name, value] : before.summary) {
    if (name.starts_with("total-")) {
      EXPECT_EQ(after.summary.at(name), value) << name;
    }
  }
  for (const auto& [name, value] : after.summary) {
    EXPECT_FALSE(name.starts_with("added-") || name.starts_with("deleted-")) << name;
  }
}

TEST(ManifestMerge, DeletesGoOnToApplyToTheFilesTheyAppliedTo) {
  TableWorld world;
  MergeEagerly(world);
  world.Append(1, "a");
  world.Append(2, "b");
  world.Add(3, {kEntry(kAdded, 3, Deletes(world, "d"))}, iceberg::ManifestContent::kDeletes);
  world.Append(4, "c");
  // Which files a position delete may apply to: those of no greater data sequence number.
  const auto applies = [&] {
    const auto entries = ByPath(world.LiveEntries(*world.Current()->current_snapshot()));
    const std::int64_t deletes = *entries.at("/w/t/data/d.parquet").sequence_number;
    std::set<std::string> files;
    for (const auto& [path, entry] : entries) {
      if (entry.data_file.content == iceberg::FileContent::kData &&
          *entry.sequence_number <= deletes) {
        files.insert(path);
      }
    }
    return files;
  };
  const std::vector<iceberg::ManifestFile> before = world.Manifests();
  const auto applied = applies();
  ASSERT_THAT(applied, SizeIs(2));
  ASSERT_THAT(Merge(world, 5), IsOk());
  EXPECT_EQ(applies(), applied);
  const std::vector<iceberg::ManifestFile> after = world.Manifests();
  ASSERT_THAT(after, SizeIs(2));
  const auto deletes = std::ranges::find(before, iceberg::ManifestContent::kDeletes,
                                         &iceberg::ManifestFile::content);
  EXPECT_THAT(after, Contains(*deletes)) << "it stays exactly as it is";
  EXPECT_EQ(world.Current()->current_snapshot()->summary.at("manifests-kept"), "1");
}

TEST(ManifestMerge, OlderSnapshotsKeepTheirManifestsAndExpireWithoutHarm) {
  TableWorld world;
  MergeEagerly(world);
  world.Append(1, "a");
  world.Append(2, "b");
  const auto second = ByPath(world.LiveEntries(*world.Current()->current_snapshot()));
  ASSERT_THAT(Merge(world, 3), IsOk());
  EXPECT_EQ(ByPath(world.LiveEntries(*world.Current()->FindSnapshot(iceberg::SnapshotId{2}))),
            second);
  const auto removed = world.Remove(world.Expire({1, 2}));
  ASSERT_THAT(removed, IsOk());
  EXPECT_EQ(removed->files, 4U) << "two manifests and their two lists";
  EXPECT_THAT(world.Problems(), IsEmpty());
  EXPECT_THAT(world.LiveEntries(*world.Current()->current_snapshot()), SizeIs(2));
}

TEST(ManifestMerge, EntriesOfDeletedFilesAreDroppedAndWithThemManifestsThatHoldNothingElse) {
  TableWorld world;
  MergeEagerly(world);
  const iceberg::DataFile a = world.Append(1, "a");
  const iceberg::DataFile b = world.NewFile("b");
  world.Replace(2, "main", {kEntry(kDeleted, 2, a), kEntry(kAdded, 2, b)});
  world.Append(3, "c");
  ASSERT_THAT(Merge(world, 4), IsOk());
  EXPECT_EQ(world.Manifests().at(0).deleted_files_count, 0);
  EXPECT_THAT(ByPath(world.LiveEntries(*world.Current()->current_snapshot())), SizeIs(2));
  // Now all that is left goes.
  world.Replace(5, "main", {kEntry(kDeleted, 5, b)});
  const iceberg::DataFile gone = world.NewFile("gone");
  world.Add(6, {kEntry(kDeleted, 6, gone)}, iceberg::ManifestContent::kData);
  const auto written = Merge(world, 7);
  ASSERT_THAT(written, IsOk());
  EXPECT_EQ(written->replaced, 2U);
  EXPECT_EQ(written->created, 0U);
  EXPECT_THAT(world.Manifests(), IsEmpty());
  EXPECT_THAT(world.Problems(), IsEmpty());
  world.Append(8, "d");
  EXPECT_THAT(world.LiveEntries(*world.Current()->current_snapshot()), SizeIs(1));
}

TEST(ManifestMerge, WhatIsAppendedMeanwhileAndAfterwardsKeepsItsNumbers) {
  TableWorld world;
  MergeEagerly(world);
  world.Append(1, "a");
  world.Append(2, "b");
  auto merged = world.ReadMerge(world.Current());
  ASSERT_THAT(merged, IsOk());
  world.Append(3, "c");
  ASSERT_THAT(world.WriteMerge(4, *std::move(merged)), IsOk());
  world.Append(5, "d");
  const auto entries = ByPath(world.LiveEntries(*world.Current()->current_snapshot()));
  ASSERT_THAT(entries, SizeIs(4));
  const auto check = [&](const std::string& name, std::int64_t snapshot, std::int64_t sequence) {
    const iceberg::ManifestEntry& entry = entries.at("/w/t/data/" + name + ".parquet");
    EXPECT_EQ(entry.snapshot_id, iceberg::SnapshotId{snapshot}) << name;
    EXPECT_EQ(entry.sequence_number, sequence) << name;
    EXPECT_EQ(entry.file_sequence_number, sequence) << name;
  };
  check("a", 1, 1);
  check("b", 2, 2);
  check("c", 3, 3);
  check("d", 5, 5);
  EXPECT_THAT(world.Manifests(), SizeIs(3));
  EXPECT_EQ(world.Current()->current_snapshot()->summary.at("total-data-files"), "4");
  EXPECT_THAT(world.Problems(), IsEmpty());
}

TEST(ManifestMerge, GroupsThatTheTableHasNotAnyMoreAreLeftOut) {
  TableWorld world;
  MergeEagerly(world);
  const iceberg::DataFile a = world.Append(1, "a");
  world.Append(2, "b");
  auto merged = world.ReadMerge(world.Current());
  ASSERT_THAT(merged, IsOk());
  // Another engine rewrites them.
  world.Replace(3, "main", {kEntry(kExisting, 1, a)});
  const std::set<std::string> before = world.Paths();
  EXPECT_THAT(world.WriteMerge(4, *merged), IsError(ErrorCode::kConflict));
  EXPECT_EQ(world.Paths(), before);
  // Of two groups, one is still there.
  std::vector<MergedManifest> two = *merged;
  world.Append(5, "c");
  world.Append(6, "d");
  const auto current = world.ReadMerge(world.Current());
  ASSERT_THAT(current, IsOk());
  ASSERT_THAT(*current, SizeIs(1));
  two.push_back(current->front());
  const auto written = world.WriteMerge(7, std::move(two));
  ASSERT_THAT(written, IsOk());
  EXPECT_EQ(written->replaced, 3U);
  EXPECT_EQ(written->created, 1U);
  EXPECT_THAT(world.LiveEntries(*world.Current()->current_snapshot()), SizeIs(3));
  EXPECT_THAT(world.Problems(), IsEmpty());
}

TEST(ManifestMerge, AManifestThatIsNotWhatItsListSaysEndsItBeforeAnythingIsWritten) {
  TableWorld world;
  MergeEagerly(world);
  world.Append(1, "a");
  world.Append(2, "b");
  std::vector<iceberg::ManifestFile> group = world.Manifests();
  group[0].added_files_count = 2;
  const auto permit = [] { return Status(); };
  EXPECT_THAT(world.maintainer().MergeManifests(*world.Current(), group, permit, world.Soon()),
              IsError(ErrorCode::kCorruption, HasSubstr(group[0].manifest_path)));
  group[0].added_files_count = 1;
  group[0].added_rows_count = 7;
  EXPECT_THAT(world.maintainer().MergeManifests(*world.Current(), group, permit, world.Soon()),
              IsError(ErrorCode::kCorruption, HasSubstr(group[0].manifest_path)));
  ASSERT_THAT(world.objects().Delete({group[1].manifest_path}, world.Soon()), IsOk());
  EXPECT_THAT(world.ReadMerge(world.Current()),
              IsError(ErrorCode::kCorruption, HasSubstr("is missing")));
}

TEST(ManifestMerge, APermitThatIsWithdrawnEndsTheReading) {
  TableWorld world;
  MergeEagerly(world);
  world.Append(1, "a");
  world.Append(2, "b");
  EXPECT_THAT(
      world.maintainer().MergeManifests(
          *world.Current(), world.Manifests(),
          [] { return Status(std::unexpected(Error(ErrorCode::kFenced, "no"))); }, world.Soon()),
      IsError(ErrorCode::kFenced));
  EXPECT_THAT(
      world.maintainer().MergeManifests(
          *world.Current(), world.Manifests(), [] { return Status(); }, world.clock().Now()),
      IsError(ErrorCode::kDeadlineExceeded));
}

TEST(ManifestMerge, WhereverTheStoreFailsTheAttemptCanBeClearedAwayByItsPlan) {
  using Fault = FaultyObjectStore::Fault;
  for (const Fault fault : {Fault::kRefuse, Fault::kLoseRequest, Fault::kLoseAnswer}) {
    for (std::size_t request = 1;; ++request) {
      TableWorld world;
      // Each group of two, so that several manifests are written.
      for (std::int64_t id = 1; id <= 6; ++id) {
        world.Append(id, fmt::format("f{}", id));
      }
      const std::int64_t two = world.Manifests()[0].manifest_length * 5 / 2;
      SetProperties(world, {{std::string(kManifestMergeCountProperty), "2"},
                            {std::string(kManifestTargetProperty), std::to_string(two)}});
      auto merged = world.ReadMerge(world.Current());
      ASSERT_THAT(merged, IsOk());
      ASSERT_THAT(*merged, SizeIs(3));
      const std::set<std::string> before = world.Paths();
      world.faulty().FailNth(request, fault);
      if (world.WriteMerge(7, *std::move(merged)).has_value()) {
        EXPECT_EQ(request, 6U) << "a list is read, three manifests and a list are written";
        EXPECT_THAT(world.Manifests(), SizeIs(3));
        break;
      }
      EXPECT_EQ(world.Paths(), before) << request;
      EXPECT_THAT(world.Problems(), IsEmpty()) << request;
    }
  }
}

// --- Which manifests.

iceberg::ManifestFile Manifest(int number, std::int64_t length) {
  return {.manifest_path = fmt::format("/w/t/metadata/{}.avro", number), .manifest_length = length};
}

// Plans, and returns the groups as the numbers of their manifests.
std::vector<std::vector<std::string>> Plan(TableWorld& world,
                                           const std::vector<iceberg::ManifestFile>& manifests,
                                           const ManifestMergePolicy& policy) {
  std::vector<std::vector<std::string>> groups;
  const std::vector<ManifestGroup> planned =
      PlanManifestMerge(*world.Current(), manifests, policy).value();
  for (const ManifestGroup& group : planned) {
    std::vector<std::string>& numbers = groups.emplace_back();
    for (const iceberg::ManifestFile& manifest : group) {
      numbers.push_back(manifest.manifest_path.substr(14, manifest.manifest_path.size() - 19));
    }
  }
  return groups;
}

using Groups = std::vector<std::vector<std::string>>;

TEST(ManifestMergePlan, FillsGroupsFromTheOldestOnAndKeepsTheirOrder) {
  TableWorld world;
  const std::vector<iceberg::ManifestFile> manifests = {
      Manifest(1, 30), Manifest(2, 40), Manifest(3, 50), Manifest(4, 100),
      Manifest(5, 60), Manifest(6, 20), Manifest(7, 20)};
  EXPECT_EQ(Plan(world, manifests, {.count_min = 2, .target_bytes = 100}),
            (Groups{{"5", "6", "7"}, {"2", "3"}}));
  EXPECT_EQ(Plan(world, manifests, {.count_min = 6, .target_bytes = 100}).size(), 2U);
  EXPECT_EQ(Plan(world, manifests, {.count_min = 7, .target_bytes = 100}), Groups());
  EXPECT_EQ(Plan(world, manifests, {.enabled = false, .count_min = 2, .target_bytes = 100}),
            Groups());
  // Each is more than half of what fits: there is nothing to gain, however many there are.
  EXPECT_EQ(Plan(world, {Manifest(1, 60), Manifest(2, 60), Manifest(3, 60)},
                 {.count_min = 2, .target_bytes = 100}),
            Groups());
}

TEST(ManifestMergePlan, LeavesDeleteManifestsEncryptedOnesAndThoseOfAnotherSpecAlone) {
  TableWorld world;
  std::vector<iceberg::ManifestFile> manifests = {Manifest(1, 10), Manifest(2, 10), Manifest(3, 10),
                                                  Manifest(4, 10), Manifest(5, 10)};
  manifests[1].content = iceberg::ManifestContent::kDeletes;
  manifests[2].key_metadata = "key";
  manifests[3].partition_spec_id = iceberg::PartitionSpecId{1};
  EXPECT_EQ(Plan(world, manifests, {.count_min = 2, .target_bytes = 100}), (Groups{{"1", "5"}}));
  EXPECT_EQ(Plan(world, manifests, {.count_min = 3, .target_bytes = 100}), Groups());
}

TEST(ManifestMergePlan, IsBoundedInManifestsAndBytes) {
  TableWorld world;
  std::vector<iceberg::ManifestFile> many;
  for (int i = 0; i < 12'000; ++i) {
    many.push_back(Manifest(i, 10));
  }
  const Groups groups = Plan(world, many, {.count_min = 2, .target_bytes = 20});
  EXPECT_EQ(groups.size(), kAttemptManifestsMax);
  const Groups one = Plan(world, many, {.count_min = 2, .target_bytes = 1'000'000});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].size(), kMergeSourcesMax);
  EXPECT_EQ(one[0].back(), "11999");
  std::vector<iceberg::ManifestFile> large;
  for (int i = 0; i < 40; ++i) {
    large.push_back(Manifest(i, kManifestTargetBytesMax / 4));
  }
  std::int64_t bytes = 0;
  for (const auto& group :
       Plan(world, large, {.count_min = 2, .target_bytes = kManifestTargetBytesMax})) {
    bytes += std::ssize(group) * kManifestTargetBytesMax / 4;
  }
  EXPECT_EQ(bytes, kMergeBytesMax);
}

TEST(ManifestMergePlan, AListThatNamesAManifestTwiceIsRefused) {
  TableWorld world;
  EXPECT_THAT(PlanManifestMerge(*world.Current(), {Manifest(1, 10), Manifest(1, 10)},
                                {.count_min = 2, .target_bytes = 100}),
              IsError(ErrorCode::kCorruption, HasSubstr("1.avro twice")));
}

TEST(ManifestMergePlan, TablesThatLakeDoesNotWriteAreLeftAlone) {
  TableWorld world;
  const std::vector<iceberg::ManifestFile> manifests = {Manifest(1, 10), Manifest(2, 10)};
  const ManifestMergePolicy policy{.count_min = 2, .target_bytes = 100};
  ASSERT_THAT(PlanManifestMerge(*world.Current(), manifests, policy).value(), SizeIs(1));
  iceberg::TableMetadata newer = *world.Current();
  newer.format_version = 3;
  EXPECT_THAT(PlanManifestMerge(newer, manifests, policy).value(), IsEmpty());
  iceberg::TableMetadata partitioned = *world.Current();
  partitioned.partition_specs[0].fields = {{.source_ids = {iceberg::FieldId{1}},
                                            .field_id = iceberg::FieldId{1000},
                                            .name = "id",
                                            .transform = "identity"}};
  EXPECT_THAT(PlanManifestMerge(partitioned, manifests, policy).value(), IsEmpty());
}

TEST(ManifestMergePlan, PropertiesAreReadOrRefused) {
  const ManifestMergePolicy defaults = ReadManifestMergePolicy({}).value();
  EXPECT_TRUE(defaults.enabled);
  EXPECT_EQ(defaults.count_min, 100);
  EXPECT_EQ(defaults.target_bytes, 8 * 1024 * 1024);
  const ManifestMergePolicy given =
      ReadManifestMergePolicy({{"commit.manifest-merge.enabled", "false"},
                               {"commit.manifest.min-count-to-merge", "7"},
                               {"commit.manifest.target-size-bytes", "1099511627776"}})
          .value();
  EXPECT_FALSE(given.enabled);
  EXPECT_EQ(given.count_min, 7);
  EXPECT_EQ(given.target_bytes, kManifestTargetBytesMax);
  for (const char* name :
       {"commit.manifest.min-count-to-merge", "commit.manifest.target-size-bytes"}) {
    for (const char* text : {"", "0", "-1", "1x", "99999999999999999999"}) {
      EXPECT_THAT(ReadManifestMergePolicy({{name, text}}),
                  IsError(ErrorCode::kInvalidArgument, HasSubstr(name)));
    }
  }
}

TEST(ManifestMergePlan, ASmallTableIsLeftAloneWithoutReadingItsList) {
  TableWorld world;
  world.Append(1, "a");
  world.Append(2, "b");
  const std::size_t before = world.faulty().requests().size();
  EXPECT_THAT(world.maintainer().PlanMerge(*world.Current(), world.Soon()).value(), IsEmpty());
  EXPECT_EQ(world.faulty().requests().size(), before);
  MergeEagerly(world);
  EXPECT_THAT(world.maintainer().PlanMerge(*world.Current(), world.Soon()).value(), SizeIs(1));
}

}  // namespace
}  // namespace lake::engine
