#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/engine/metadata_ptr.h"
#include "lake/iceberg/manifest_list.h"
#include "lake/iceberg/manifest_writer.h"
#include "lake/iceberg/type.h"
#include "lake/objstore/memory/memory_objstore.h"
#include "lake/testing/faulty_objstore.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/seeded_random.h"

// What the tests of a table's files share.
namespace lake::engine {

// A table written file by file, so that it can have everything a table may have.
class WrittenTable : public ::testing::Test {
 protected:
  WrittenTable() : random_(5), under_(clock_), objects_(under_) {
    metadata_.format_version = 2;
    metadata_.location = "/w/t";
    metadata_.schemas.push_back(
        iceberg::Schema::Make(
            {.fields = {{.id = iceberg::FieldId{1}, .name = "id", .type = iceberg::Type::Long()}}})
            .value());
    metadata_.partition_specs.push_back({});
  }

  static inline const std::string kMetadataLocation = "/w/t/metadata/3.metadata.json";

  Deadline Soon() const { return clock_.Now() + std::chrono::seconds(60); }

  std::string Put(const std::string& name, std::string_view bytes) {
    const std::string path = "/w/t/" + name;
    EXPECT_THAT(under_.PutIfAbsent(path, bytes, Soon()), testing::IsOk());
    return path;
  }

  iceberg::ManifestEntry Entry(const std::string& name, iceberg::FileContent content,
                               iceberg::ManifestEntryStatus status) {
    iceberg::ManifestEntry entry{.status = status,
                                 .snapshot_id = iceberg::SnapshotId{1},
                                 .data_file = {.content = content,
                                               .file_path = "/w/t/data/" + name,
                                               .record_count = 1,
                                               .file_size_in_bytes = 4}};
    if (status != iceberg::ManifestEntryStatus::kAdded) {
      entry.sequence_number = 1;
      entry.file_sequence_number = 1;
    }
    if (content == iceberg::FileContent::kEqualityDeletes) {
      entry.data_file.equality_ids = {iceberg::FieldId{1}};
    }
    IgnoreError(under_.PutIfAbsent(entry.data_file.file_path, "PAR1", Soon()),
                "a file may be in several manifests");
    return entry;
  }

  iceberg::ManifestEntry Added(const std::string& name) {
    return Entry(name, iceberg::FileContent::kData, iceberg::ManifestEntryStatus::kAdded);
  }

  iceberg::ManifestFile PutManifest(const std::string& name,
                                    const std::vector<iceberg::ManifestEntry>& entries) {
    const bool deletes =
        !entries.empty() && entries.front().data_file.content != iceberg::FileContent::kData;
    iceberg::ManifestWriter writer =
        iceberg::ManifestWriter::Make({.format_version = 2,
                                       .manifest_path = "/w/t/metadata/" + name,
                                       .schema = metadata_.current_schema(),
                                       .partition_spec = metadata_.default_spec(),
                                       .content = deletes ? iceberg::ManifestContent::kDeletes
                                                          : iceberg::ManifestContent::kData,
                                       .snapshot_id = iceberg::SnapshotId{1}},
                                      random_)
            .value();
    for (const iceberg::ManifestEntry& entry : entries) {
      EXPECT_THAT(writer.Append(entry), testing::IsOk());
    }
    iceberg::ManifestWriter::Finished finished = writer.Finish().value();
    Put("metadata/" + name, finished.file);
    finished.manifest.sequence_number = 1;
    finished.manifest.min_sequence_number = 1;
    return finished.manifest;
  }

  void AddSnapshot(std::int64_t id, std::vector<iceberg::ManifestFile> manifests) {
    const iceberg::ManifestList list{.format_version = 2,
                                     .snapshot_id = iceberg::SnapshotId{id},
                                     .sequence_number = id,
                                     .manifests = std::move(manifests)};
    const std::string bytes =
        iceberg::WriteManifestList(list, iceberg::AvroCodec::kNull, random_).value();
    metadata_.snapshots.push_back(
        {.snapshot_id = iceberg::SnapshotId{id},
         .manifest_list = Put(fmt::format("metadata/snap-{}.avro", id), bytes)});
  }

  // Three snapshots that share manifests, with deletes, statistics and a history.
  void FillTable() {
    const auto a = PutManifest("a.avro", {Added("1"), Added("2")});
    const auto b = PutManifest("b.avro", {Added("3")});
    const auto c = PutManifest(
        "c.avro",
        {Entry("p", iceberg::FileContent::kPositionDeletes, iceberg::ManifestEntryStatus::kAdded),
         Entry("e", iceberg::FileContent::kEqualityDeletes, iceberg::ManifestEntryStatus::kAdded)});
    const auto d = PutManifest(
        "d.avro", {Entry("2", iceberg::FileContent::kData, iceberg::ManifestEntryStatus::kExisting),
                   Added("4")});
    AddSnapshot(1, {a});
    AddSnapshot(2, {a, b, c});
    AddSnapshot(3, {b, c, d});
    metadata_.statistics.push_back({.snapshot_id = iceberg::SnapshotId{2},
                                    .statistics_path = Put("metadata/2.stats", "PUF1"),
                                    .file_size_in_bytes = 4});
    metadata_.partition_statistics.push_back(
        {.snapshot_id = iceberg::SnapshotId{3},
         .statistics_path = Put("metadata/3.partition-stats", "P"),
         .file_size_in_bytes = 1});
    metadata_.metadata_log.push_back({.metadata_file = Put("metadata/1.metadata.json", "{}")});
    metadata_.metadata_log.push_back({.metadata_file = Put("metadata/2.metadata.json", "{}")});
    Put("metadata/3.metadata.json", "{}");
  }

  MetadataPtr Metadata() const { return std::make_shared<const iceberg::TableMetadata>(metadata_); }

  std::set<std::string> Stored() {
    std::set<std::string> paths;
    const objstore::ObjectPage page = under_.List("/w/t/", "", 1000, Soon()).value();
    for (const objstore::ObjectInfo& info : page.objects) {
      paths.insert(info.path);
    }
    return paths;
  }

  testing::ManualClock clock_;
  testing::SeededRandom random_;
  objstore::MemoryObjectStore under_;
  testing::FaultyObjectStore objects_;
  iceberg::TableMetadata metadata_;
};

}  // namespace lake::engine
