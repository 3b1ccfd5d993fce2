#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/engine/iceberg_engine.h"
#include "lake/engine/iceberg_maintainer.h"
#include "lake/engine/snapshot_reader.h"
#include "lake/iceberg/manifest_list.h"
#include "lake/iceberg/manifest_writer.h"
#include "lake/iceberg/table_update_apply.h"
#include "lake/iceberg/type.h"
#include "lake/objstore/memory/memory_objstore.h"
#include "lake/testing/faulty_objstore.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/seeded_random.h"

namespace lake::engine {

// A table that a test takes from version to version, with files whose content does not matter.
class TableWorld {
 public:
  TableWorld()
      : random_(3),
        objects_(clock_),
        faulty_(objects_),
        engine_(objects_, clock_, random_, {}),
        reader_(objects_, clock_),
        maintainer_(faulty_, clock_, random_) {
    location_ = Plan();
    EXPECT_THAT(engine_.Create(
                    {.incarnation = Uuid::Random4(random_),
                     .location = kLocation,
                     .planned_location = location_,
                     .schema = iceberg::Schema::Make({.fields = {{.id = iceberg::FieldId{1},
                                                                  .name = "id",
                                                                  .type = iceberg::Type::Long()}}})
                                   .value(),
                     .now = clock_.WallNow()},
                    Soon()),
                testing::IsOk());
  }

  Deadline Soon() const { return clock_.Now() + std::chrono::seconds(60); }

  std::string Plan() {
    return fmt::format("{}/metadata/{:05}-1-{}.metadata.json", kLocation, ++version_,
                       Uuid::Random4(random_).ToString());
  }

  MetadataPtr Current() { return engine_.Load(location_, Soon()).value(); }

  std::string Put(const std::string& path) {
    EXPECT_THAT(objects_.PutIfAbsent(path, "PAR1", Soon()), testing::IsOk());
    return path;
  }

  iceberg::DataFile NewFile(const std::string& name) {
    return {.file_path = Put(fmt::format("{}/data/{}.parquet", kLocation, name)),
            .record_count = 1,
            .file_size_in_bytes = 4};
  }

  // Appends one file. Returns the file.
  iceberg::DataFile Append(std::int64_t snapshot, const std::string& name) {
    iceberg::DataFile file = NewFile(name);
    const std::string planned = Plan();
    EXPECT_THAT(engine_.Append({.base = Current(),
                                .base_location = location_,
                                .planned_location = planned,
                                .snapshot_id = iceberg::SnapshotId{snapshot},
                                .files = {file},
                                .now = clock_.WallNow()},
                               Soon()),
                testing::IsOk());
    location_ = planned;
    return file;
  }

  // Makes a snapshot of `branch` whose one manifest holds exactly `entries`.
  void Replace(std::int64_t snapshot, const std::string& branch,
               const std::vector<iceberg::ManifestEntry>& entries,
               const std::string& prefix = kLocation) {
    const MetadataPtr base = Current();
    const iceberg::SnapshotId id{snapshot};
    const std::string manifest = fmt::format("{}/metadata/m-{}.avro", prefix, snapshot);
    iceberg::ManifestWriter writer =
        iceberg::ManifestWriter::Make({.manifest_path = manifest,
                                       .schema = base->current_schema(),
                                       .partition_spec = base->default_spec(),
                                       .snapshot_id = id},
                                      random_)
            .value();
    for (const iceberg::ManifestEntry& entry : entries) {
      EXPECT_THAT(writer.Append(entry), testing::IsOk());
    }
    iceberg::ManifestWriter::Finished finished = writer.Finish().value();
    EXPECT_THAT(objects_.PutIfAbsent(manifest, finished.file, Soon()), testing::IsOk());
    iceberg::ManifestList list{.snapshot_id = id,
                               .sequence_number = iceberg::NextSequenceNumber(*base),
                               .manifests = {finished.manifest}};
    EXPECT_THAT(iceberg::AssignInherited(list), testing::IsOk());
    const std::string path = fmt::format("{}/metadata/snap-{}.avro", kLocation, snapshot);
    EXPECT_THAT(
        objects_.PutIfAbsent(
            path, iceberg::WriteManifestList(list, iceberg::AvroCodec::kDeflate, random_).value(),
            Soon()),
        testing::IsOk());
    Commit({iceberg::AddSnapshot{{.snapshot_id = id,
                                  .parent_snapshot_id = base->current_snapshot_id,
                                  .sequence_number = *list.sequence_number,
                                  .timestamp = clock_.WallNow(),
                                  .manifest_list = path,
                                  .summary = {{"operation", "replace"}},
                                  .schema_id = base->current_schema_id}},
            iceberg::SetSnapshotRef{.name = branch, .ref = {.snapshot_id = id}}});
  }

  // Makes a snapshot of main with one manifest more, of what is given.
  void Add(std::int64_t snapshot, const std::vector<iceberg::ManifestEntry>& entries,
           iceberg::ManifestContent content) {
    const MetadataPtr base = Current();
    const iceberg::SnapshotId id{snapshot};
    const std::string manifest = fmt::format("{}/metadata/m-{}.avro", kLocation, snapshot);
    iceberg::ManifestWriter writer =
        iceberg::ManifestWriter::Make({.manifest_path = manifest,
                                       .schema = base->current_schema(),
                                       .partition_spec = base->default_spec(),
                                       .content = content,
                                       .snapshot_id = id},
                                      random_)
            .value();
    for (const iceberg::ManifestEntry& entry : entries) {
      EXPECT_THAT(writer.Append(entry), testing::IsOk());
    }
    iceberg::ManifestWriter::Finished finished = writer.Finish().value();
    EXPECT_THAT(objects_.PutIfAbsent(manifest, finished.file, Soon()), testing::IsOk());
    iceberg::ManifestList list{.snapshot_id = id,
                               .sequence_number = iceberg::NextSequenceNumber(*base),
                               .manifests = {finished.manifest}};
    for (const iceberg::ManifestFile& old : Manifests()) {
      list.manifests.push_back(old);
    }
    EXPECT_THAT(iceberg::AssignInherited(list), testing::IsOk());
    const std::string path = fmt::format("{}/metadata/snap-{}.avro", kLocation, snapshot);
    EXPECT_THAT(
        objects_.PutIfAbsent(
            path, iceberg::WriteManifestList(list, iceberg::AvroCodec::kDeflate, random_).value(),
            Soon()),
        testing::IsOk());
    Commit(iceberg::SnapshotUpdates(
        *base, {.snapshot_id = id, .manifest_list = path, .summary = {{"operation", "overwrite"}}},
        clock_.WallNow()));
  }

  // The manifests of the current snapshot, and all live entries of a snapshot.
  std::vector<iceberg::ManifestFile> Manifests() {
    const MetadataPtr metadata = Current();
    return metadata->current_snapshot() == nullptr
               ? std::vector<iceberg::ManifestFile>()
               : reader_.ListManifests(*metadata, *metadata->current_snapshot(), Soon()).value();
  }

  std::vector<iceberg::ManifestEntry> LiveEntries(const iceberg::Snapshot& snapshot) {
    std::vector<iceberg::ManifestEntry> entries;
    const MetadataPtr metadata = Current();
    const std::vector<iceberg::ManifestFile> manifests =
        reader_.ListManifests(*metadata, snapshot, Soon()).value();
    for (const iceberg::ManifestFile& manifest : manifests) {
      const std::vector<iceberg::ManifestEntry> live =
          reader_.ListLiveEntries(*metadata, manifest, Soon()).value();
      entries.insert(entries.end(), live.begin(), live.end());
    }
    return entries;
  }

  // Reads what PlanMerge finds in `metadata`.
  Result<std::vector<MergedManifest>> ReadMerge(const MetadataPtr& metadata) {
    LAKE_TRY(const std::vector<ManifestGroup> groups, maintainer_.PlanMerge(*metadata, Soon()));
    std::vector<MergedManifest> merged;
    for (const ManifestGroup& group : groups) {
      LAKE_TRY(MergedManifest one,
               maintainer_.MergeManifests(*metadata, group, [] { return Status(); }, Soon()));
      merged.push_back(std::move(one));
    }
    return merged;
  }

  // Publishes what was read, on the table as it is now.
  Result<WrittenMerge> WriteMerge(std::int64_t snapshot, std::vector<MergedManifest> merged) {
    const std::string planned = Plan();
    Result<WrittenMerge> written =
        maintainer_.WriteMerge({.base = Current(),
                                .planned_location = planned,
                                .snapshot_id = iceberg::SnapshotId{snapshot},
                                .merged = std::move(merged),
                                .now = clock_.WallNow()},
                               Soon());
    if (!written.has_value()) {
      EXPECT_THAT(engine_.RemoveAttempt(planned, iceberg::SnapshotId{snapshot}, Soon()),
                  testing::IsOk());
      return written;
    }
    EXPECT_THAT(engine_.Commit({.base = Current(),
                                .base_location = location_,
                                .planned_location = planned,
                                .updates = written->updates,
                                .now = clock_.WallNow()},
                               Soon()),
                testing::IsOk());
    location_ = planned;
    return written;
  }

  static iceberg::ManifestEntry Entry(iceberg::ManifestEntryStatus status, std::int64_t snapshot,
                                      const iceberg::DataFile& file) {
    return {.status = status,
            .snapshot_id = iceberg::SnapshotId{snapshot},
            .sequence_number = status == iceberg::ManifestEntryStatus::kAdded
                                   ? std::nullopt
                                   : std::optional<std::int64_t>(1),
            .file_sequence_number = status == iceberg::ManifestEntryStatus::kAdded
                                        ? std::nullopt
                                        : std::optional<std::int64_t>(1),
            .data_file = file};
  }

  void Commit(std::vector<iceberg::TableUpdate> updates) {
    const std::string planned = Plan();
    EXPECT_THAT(engine_.Commit({.base = Current(),
                                .base_location = location_,
                                .planned_location = planned,
                                .updates = std::move(updates),
                                .now = clock_.WallNow()},
                               Soon()),
                testing::IsOk());
    location_ = planned;
  }

  void Tag(const std::string& name, std::int64_t snapshot) {
    Commit({iceberg::SetSnapshotRef{.name = name,
                                    .ref = {.snapshot_id = iceberg::SnapshotId{snapshot},
                                            .kind = iceberg::SnapshotRef::Kind::kTag}}});
  }

  // Gives snapshots up and returns both versions.
  ExpiredVersion Expire(const std::vector<std::int64_t>& snapshots) {
    const MetadataPtr before = Current();
    iceberg::RemoveSnapshots remove;
    for (const std::int64_t id : snapshots) {
      remove.snapshot_ids.push_back(iceberg::SnapshotId{id});
    }
    Commit({remove});
    return {.before = before, .after = Current()};
  }

  Result<FileRemoval> Remove(const ExpiredVersion& version) {
    return maintainer_.RemoveExpired(version, [] { return Status(); }, Soon());
  }

  std::set<std::string> Paths() {
    std::set<std::string> paths;
    const objstore::ObjectPage page = objects_.List("/w/", "", 1000, Soon()).value();
    for (const objstore::ObjectInfo& info : page.objects) {
      paths.insert(info.path);
    }
    return paths;
  }

  // What is wrong with the table as it is now.
  std::vector<std::string> Problems() { return reader_.Check(*Current(), Soon())->problems; }

  testing::ManualClock& clock() { return clock_; }

  objstore::MemoryObjectStore& objects() { return objects_; }

  // What the maintainer works on.
  testing::FaultyObjectStore& faulty() { return faulty_; }

  IcebergMaintainer& maintainer() { return maintainer_; }

  IcebergEngine& engine() { return engine_; }

  const std::string& location() const { return location_; }

  static inline const std::string kLocation = "/w/t";

 private:
  testing::ManualClock clock_;
  testing::SeededRandom random_;
  objstore::MemoryObjectStore objects_;
  testing::FaultyObjectStore faulty_;
  IcebergEngine engine_;
  SnapshotReader reader_;
  IcebergMaintainer maintainer_;
  int version_ = 0;
  std::string location_;
};

}  // namespace lake::engine
