#include "lake/iceberg/manifest_list.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/iceberg/avro_codec.h"
#include "lake/iceberg/avro_container.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/testing/matchers.h"
#include "lake/testing/seeded_random.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;
using ::lake::testing::IsOkAnd;
using ::lake::testing::SeededRandom;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using namespace std::string_literals;

ManifestFile ExampleManifest() {
  return {.manifest_path = "file:///warehouse/metadata/m0.avro",
          .manifest_length = 6'000,
          .partition_spec_id = PartitionSpecId{3},
          .sequence_number = 5,
          .min_sequence_number = 2,
          .added_snapshot_id = SnapshotId{77},
          .added_files_count = 1,
          .existing_files_count = 2,
          .deleted_files_count = 3,
          .added_rows_count = 10,
          .existing_rows_count = 20,
          .deleted_rows_count = 30,
          .partitions = {{.contains_null = true, .contains_nan = false},
                         {.contains_nan = true, .lower_bound = "\0a"s, .upper_bound = "b"}},
          .key_metadata = "key"};
}

ManifestList ExampleList() {
  ManifestFile bare = ExampleManifest();
  bare.content = ManifestContent::kDeletes;
  bare.partitions.clear();
  bare.key_metadata.reset();
  return {.format_version = 2,
          .snapshot_id = SnapshotId{88},
          .parent_snapshot_id = SnapshotId{77},
          .sequence_number = 6,
          .manifests = {ExampleManifest(), bare}};
}

std::string Write(const ManifestList& list, AvroCodec codec = AvroCodec::kDeflate) {
  SeededRandom random(1);
  auto file = WriteManifestList(list, codec, random);
  EXPECT_THAT(file, IsOk());
  return file.value_or("");
}

TEST(ManifestList, IsReadAsItWasWritten) {
  for (const AvroCodec codec :
       {AvroCodec::kNull, AvroCodec::kDeflate, AvroCodec::kSnappy, AvroCodec::kZstandard}) {
    EXPECT_THAT(ReadManifestList(Write(ExampleList(), codec)), IsOkAnd(ExampleList()));
  }
  ManifestList v3 = ExampleList();
  v3.format_version = 3;
  v3.first_row_id = 500;
  v3.manifests[0].first_row_id = 400;
  EXPECT_THAT(ReadManifestList(Write(v3)), IsOkAnd(v3));

  ManifestList empty = ExampleList();
  empty.manifests.clear();
  empty.parent_snapshot_id.reset();
  EXPECT_THAT(ReadManifestList(Write(empty)), IsOkAnd(empty));
}

TEST(ManifestList, HasTheHeaderOfTheReferenceImplementation) {
  ManifestList list = ExampleList();
  list.parent_snapshot_id.reset();
  const std::string file = Write(list);
  const auto container = AvroContainerReader::Open(file);
  ASSERT_THAT(container, IsOk());
  EXPECT_THAT(container->metadata(),
              UnorderedElementsAre(Pair("snapshot-id", "88"), Pair("parent-snapshot-id", "null"),
                                   Pair("sequence-number", "6"), Pair("format-version", "2"),
                                   Pair("avro.codec", "deflate"),
                                   Pair("avro.schema", HasSubstr("manifest_file"))));
}

TEST(ManifestList, OfVersion1HasSequenceNumber0) {
  // As version 1 writes it: no content, no sequence numbers, nullable counts.
  SeededRandom random(1);
  auto writer =
      AvroContainerWriter::Make({.schema = R"({"type":"record","name":"manifest_file","fields":[
          {"name":"manifest_path","type":"string","field-id":500},
          {"name":"manifest_length","type":"long","field-id":501},
          {"name":"partition_spec_id","type":"int","field-id":502},
          {"name":"added_snapshot_id","type":["null","long"],"field-id":503},
          {"name":"added_data_files_count","type":["null","int"],"field-id":504}]})",
                                 .metadata = {{"parent-snapshot-id", "null"}}},
                                random);
  ASSERT_THAT(writer, IsOk());
  ASSERT_THAT(writer->Append("\2m\x14\0\2\x0e\0"s), IsOk());
  const auto list = ReadManifestList(writer->Finish().value());
  ASSERT_THAT(list, IsOk());
  EXPECT_EQ(list->format_version, 1);
  EXPECT_THAT(list->snapshot_id, Eq(std::nullopt));
  const ManifestFile expected{.manifest_path = "m",
                              .manifest_length = 10,
                              .sequence_number = 0,
                              .min_sequence_number = 0,
                              .added_snapshot_id = SnapshotId{7}};
  EXPECT_THAT(list->manifests, ElementsAre(expected));
}

TEST(AssignInherited, GivesNewManifestsTheNumbersOfTheCommit) {
  ManifestList list = ExampleList();
  ManifestFile added = ExampleManifest();
  added.added_snapshot_id = SnapshotId{88};
  added.sequence_number.reset();
  added.min_sequence_number.reset();
  ManifestFile merged = added;
  merged.min_sequence_number = 2;
  list.manifests = {added, merged, ExampleManifest()};
  EXPECT_THAT(AssignInherited(list), IsOkAnd(0));
  EXPECT_THAT(list.manifests[0].sequence_number, Optional(6));
  EXPECT_THAT(list.manifests[0].min_sequence_number, Optional(6));
  EXPECT_THAT(list.manifests[1].sequence_number, Optional(6));
  EXPECT_THAT(list.manifests[1].min_sequence_number, Optional(2));
  EXPECT_EQ(list.manifests[2], ExampleManifest());
}

TEST(AssignInherited, CountsRowIdsUpAsTheExampleOfTheSpecification) {
  ManifestList list = ExampleList();
  list.format_version = 3;
  list.first_row_id = 1000;
  list.manifests.clear();
  const auto add = [&](std::int64_t added, std::int64_t existing,
                       std::optional<std::int64_t> first_row_id) {
    ManifestFile& manifest = list.manifests.emplace_back(ExampleManifest());
    manifest.added_rows_count = added;
    manifest.existing_rows_count = existing;
    manifest.first_row_id = first_row_id;
  };
  add(75, 0, 925);
  add(100, 25, std::nullopt);
  add(0, 100, std::nullopt);
  add(125, 25, std::nullopt);
  list.manifests.push_back(ExampleManifest());
  list.manifests.back().content = ManifestContent::kDeletes;
  EXPECT_THAT(AssignInherited(list), IsOkAnd(1375));
  EXPECT_THAT(list.manifests[0].first_row_id, Optional(925));
  EXPECT_THAT(list.manifests[1].first_row_id, Optional(1000));
  EXPECT_THAT(list.manifests[2].first_row_id, Optional(1125));
  EXPECT_THAT(list.manifests[3].first_row_id, Optional(1225));
  EXPECT_THAT(list.manifests[4].first_row_id, Eq(std::nullopt));
  EXPECT_THAT(ReadManifestList(Write(list)), IsOkAnd(list));
}

TEST(AssignInherited, RefusesAManifestOfAnotherSnapshotWithoutNumbers) {
  ManifestList list = ExampleList();
  list.manifests[0].sequence_number.reset();
  EXPECT_THAT(AssignInherited(list), IsError(ErrorCode::kInvalidArgument, HasSubstr("m0.avro")));
}

TEST(AssignInherited, RefusesRowCountsThatDoNotAddUp) {
  for (const std::optional<std::int64_t> count :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(-1),
        std::optional<std::int64_t>(INT64_MAX)}) {
    ManifestList list = ExampleList();
    list.format_version = 3;
    list.first_row_id = 1;
    list.manifests[0].added_rows_count = count;
    EXPECT_THAT(AssignInherited(list), IsError(ErrorCode::kInvalidArgument));
  }
}

TEST(WriteManifestList, RefusesWhatTheSpecificationRequiresAndIsAbsent) {
  struct Case {
    std::string_view message;
    std::function<void(ManifestList&)> break_it;
  };

  const std::vector<Case> cases = {
      {"snapshot_id", [](ManifestList& list) { list.snapshot_id.reset(); }},
      {"sequence_number", [](ManifestList& list) { list.sequence_number.reset(); }},
      {"manifest_path", [](ManifestList& list) { list.manifests[0].manifest_path = ""; }},
      {"manifest_path", [](ManifestList& list) { list.manifests[0].manifest_path = "\xff"; }},
      {"manifest_length", [](ManifestList& list) { list.manifests[0].manifest_length = -1; }},
      {"sequence number", [](ManifestList& list) { list.manifests[0].sequence_number.reset(); }},
      {"sequence number",
       [](ManifestList& list) { list.manifests[0].min_sequence_number.reset(); }},
      {"count", [](ManifestList& list) { list.manifests[0].added_files_count.reset(); }},
      {"count", [](ManifestList& list) { list.manifests[0].deleted_rows_count.reset(); }},
      {"first_row_id", [](ManifestList& list) { list.manifests[0].first_row_id = 1; }},
      {"first_row_id", [](ManifestList& list) { list.format_version = 3; }},
      {"no first_row_id",
       [](ManifestList& list) {
         list.format_version = 3;
         list.first_row_id = 1;
       }},
  };
  SeededRandom random(1);
  for (const Case& test : cases) {
    ManifestList list = ExampleList();
    test.break_it(list);
    EXPECT_THAT(WriteManifestList(list, AvroCodec::kNull, random),
                IsError(ErrorCode::kInvalidArgument, HasSubstr(std::string(test.message))));
  }
  ManifestList v1 = ExampleList();
  v1.format_version = 1;
  EXPECT_THAT(WriteManifestList(v1, AvroCodec::kNull, random), IsError(ErrorCode::kUnimplemented));
}

TEST(ReadManifestList, RefusesAManifestInItsPlace) {
  SeededRandom random(1);
  auto writer =
      AvroContainerWriter::Make({.schema = R"({"type":"record","name":"manifest_entry","fields":[
          {"name":"status","type":"int","field-id":0}]})"},
                                random);
  ASSERT_THAT(writer, IsOk());
  EXPECT_THAT(ReadManifestList(writer->Finish().value()),
              IsError(ErrorCode::kCorruption, HasSubstr("manifest_path")));
}

TEST(ReadManifestList, SurvivesCutsAndFlippedBits) {
  const std::string file = Write(ExampleList(), AvroCodec::kNull);
  const std::size_t block = file.find(file.substr(file.size() - kAvroSyncBytes));
  const auto read = [](const std::string& hostile) {
    const auto list = ReadManifestList(hostile);
    if (list.has_value()) {
      EXPECT_LT(list->manifests.size(), hostile.size());
    } else {
      EXPECT_TRUE(list.error().code() == ErrorCode::kCorruption ||
                  list.error().code() == ErrorCode::kUnimplemented)
          << list.error().ToString();
    }
  };
  for (std::size_t size = 0; size < file.size(); ++size) {
    read(file.substr(0, size));
  }
  std::string flipped = file;
  for (std::size_t byte = 0; byte < file.size(); ++byte) {
    const int step = byte < block ? 8 : 1;
    for (int bit = static_cast<int>(byte % 8) % step; bit < 8; bit += step) {
      flipped[byte] = static_cast<char>(file[byte] ^ (1 << bit));
      read(flipped);
    }
    flipped[byte] = file[byte];
  }
}

}  // namespace
}  // namespace lake::iceberg
