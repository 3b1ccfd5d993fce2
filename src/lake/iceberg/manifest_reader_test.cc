#include "lake/iceberg/manifest_reader.h"

#include <cstddef>
#include <cstdint>
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
#include "lake/iceberg/avro_wire_internal.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/manifest_examples_internal.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema_json.h"
#include "lake/iceberg/type.h"
#include "lake/iceberg/value.h"
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

using namespace std::string_literals;

// Reads a manifest as it is stored.
Result<std::vector<ManifestEntry>> ReadStored(const std::string& file) {
  LAKE_TRY(ManifestReader reader, ManifestReader::OpenUncommitted(file, "m"));
  std::vector<ManifestEntry> entries;
  while (true) {
    ManifestEntry entry;
    LAKE_TRY(const bool more, reader.Next(entry));
    if (!more) {
      return entries;
    }
    entries.push_back(std::move(entry));
  }
}

TEST(ManifestReader, ReturnsEveryFieldThatWasWritten) {
  for (const AvroCodec codec :
       {AvroCodec::kNull, AvroCodec::kDeflate, AvroCodec::kSnappy, AvroCodec::kZstandard}) {
    ManifestEntry partitioned = ExampleEntry(1);
    partitioned.data_file.partition = ExamplePartition();
    ManifestEntry nulls{.sequence_number = 4, .file_sequence_number = 5};
    nulls.data_file.file_path = "p";
    nulls.data_file.file_format = FileFormat::kOrc;
    nulls.data_file.partition.resize(ExamplePartition().size());
    const std::vector<ManifestEntry> entries = {partitioned, nulls};
    const auto finished =
        WriteExample(ExampleOptions(2, ExampleSpec(), ManifestContent::kData, codec), entries);
    EXPECT_THAT(ReadStored(finished.file), IsOkAnd(entries)) << AvroCodecName(codec);
  }
}

TEST(ManifestReader, ReturnsTheFieldsOfVersion3) {
  ManifestEntry entry = ExampleEntry(1);
  entry.data_file.content = FileContent::kPositionDeletes;
  entry.data_file.file_format = FileFormat::kPuffin;
  entry.data_file.content_offset = 4;
  entry.data_file.content_size_in_bytes = 40;
  const auto deletes = WriteExample(ExampleOptions(3, {}, ManifestContent::kDeletes), {entry});
  EXPECT_THAT(ReadStored(deletes.file), IsOkAnd(ElementsAre(entry)));

  ManifestEntry data = ExampleEntry(2);
  data.data_file.first_row_id = 1000;
  EXPECT_THAT(ReadStored(WriteExample(ExampleOptions(3), {data}).file), IsOkAnd(ElementsAre(data)));
}

TEST(ManifestReader, TellsWhatTheHeaderSays) {
  ManifestEntry entry = ExampleEntry(1);
  entry.data_file.partition = ExamplePartition();
  const auto finished = WriteExample(ExampleOptions(2, ExampleSpec()), {entry});
  const auto reader = ManifestReader::OpenUncommitted(finished.file, "m");
  ASSERT_THAT(reader, IsOk());
  const ManifestMetadata& metadata = reader->metadata();
  EXPECT_EQ(metadata.format_version, 2);
  EXPECT_EQ(metadata.content, ManifestContent::kData);
  EXPECT_EQ(metadata.schema, WriteSchema(ExampleSchema()));
  EXPECT_THAT(metadata.schema_id, Optional(SchemaId{7}));
  EXPECT_EQ(metadata.partition_spec, ExampleSpec());
  EXPECT_EQ(metadata.codec, AvroCodec::kDeflate);
  EXPECT_EQ(reader->partition_type().fields().size(), ExampleSpec().fields.size());
}

TEST(ManifestReader, StreamsManifestsOfManyBlocks) {
  std::vector<ManifestEntry> entries;
  for (int i = 0; i < 3'000; ++i) {
    entries.push_back(ExampleEntry(i));
  }
  const auto finished = WriteExample(ExampleOptions(2), entries);
  EXPECT_THAT(ReadStored(finished.file), IsOkAnd(entries));
}

TEST(ManifestReader, LeavesNothingOfThePreviousEntry) {
  ManifestEntry full = ExampleEntry(1);
  full.data_file.partition = ExamplePartition();
  ManifestEntry bare;
  bare.data_file.file_path = "p";
  bare.data_file.partition.resize(ExamplePartition().size());
  const auto finished = WriteExample(ExampleOptions(2, ExampleSpec()), {full, bare, full});
  auto reader = ManifestReader::OpenUncommitted(finished.file, "m");
  ASSERT_THAT(reader, IsOk());
  // One struct for all entries, and one that held something of another version before.
  ManifestEntry entry;
  entry.data_file.first_row_id = 1;
  entry.data_file.content_offset = 1;
  entry.data_file.equality_ids = {FieldId{1}};
  for (const ManifestEntry& expected : {full, bare, full}) {
    EXPECT_THAT(reader->Next(entry), IsOkAnd(true));
    EXPECT_EQ(entry, expected);
  }
  EXPECT_THAT(reader->Next(entry), IsOkAnd(false));
}

ManifestEntry EntryWith(ManifestEntryStatus status, std::optional<std::int64_t> sequence_number) {
  ManifestEntry entry = ExampleEntry(1);
  entry.status = status;
  entry.sequence_number = sequence_number;
  entry.file_sequence_number = sequence_number;
  return entry;
}

TEST(ManifestReader, FillsInWhatAddedEntriesInherit) {
  ManifestEntry inherits = EntryWith(ManifestEntryStatus::kAdded, std::nullopt);
  inherits.snapshot_id.reset();
  ManifestEntry older = EntryWith(ManifestEntryStatus::kAdded, std::nullopt);
  older.sequence_number = 3;
  const ManifestEntry existing = EntryWith(ManifestEntryStatus::kExisting, 2);
  ManifestEntry deleted = EntryWith(ManifestEntryStatus::kDeleted, 1);
  auto finished = WriteExample(ExampleOptions(2), {inherits, older, existing, deleted});
  finished.manifest.sequence_number = 9;
  finished.manifest.added_snapshot_id = SnapshotId{77};
  const auto read = ReadManifest(finished.file, finished.manifest);
  ASSERT_THAT(read, IsOk());
  ASSERT_EQ(read->size(), 4U);
  EXPECT_THAT((*read)[0].snapshot_id, Optional(SnapshotId{77}));
  EXPECT_THAT((*read)[0].sequence_number, Optional(9));
  EXPECT_THAT((*read)[0].file_sequence_number, Optional(9));
  // A data sequence number that was given stays; the file's own is always the commit's.
  EXPECT_THAT((*read)[1].snapshot_id, Optional(kExampleSnapshot));
  EXPECT_THAT((*read)[1].sequence_number, Optional(3));
  EXPECT_THAT((*read)[1].file_sequence_number, Optional(9));
  EXPECT_EQ((*read)[2], existing);
  EXPECT_EQ((*read)[3], deleted);
}

TEST(ManifestReader, DoesNotInventSequenceNumbersThatOlderWritersLeftOut) {
  ManifestEntry existing = EntryWith(ManifestEntryStatus::kExisting, 2);
  existing.file_sequence_number.reset();
  auto finished = WriteExample(ExampleOptions(2), {existing});
  finished.manifest.sequence_number = 9;
  const auto read = ReadManifest(finished.file, finished.manifest);
  ASSERT_THAT(read, IsOk());
  EXPECT_THAT(read->front().file_sequence_number, Eq(std::nullopt));
}

TEST(ManifestReader, GivesSequenceNumber0ToAllOfVersion1) {
  ManifestEntry existing = EntryWith(ManifestEntryStatus::kExisting, 2);
  existing.file_sequence_number.reset();
  auto finished = WriteExample(ExampleOptions(2), {existing});
  finished.manifest.sequence_number = 0;
  const auto read = ReadManifest(finished.file, finished.manifest);
  ASSERT_THAT(read, IsOk());
  EXPECT_THAT(read->front().file_sequence_number, Optional(0));
}

TEST(ManifestReader, AssignsFirstRowIdsAsTheExampleOfTheSpecification) {
  ManifestEntry data1 = EntryWith(ManifestEntryStatus::kExisting, 1);
  data1.data_file.record_count = 25;
  data1.data_file.first_row_id = 800;
  ManifestEntry data2 = ExampleEntry(2);
  data2.data_file.record_count = 50;
  ManifestEntry deleted = EntryWith(ManifestEntryStatus::kDeleted, 1);
  const ManifestEntry data3 = data2;
  auto finished = WriteExample(ExampleOptions(3), {data1, data2, deleted, data3});
  finished.manifest.sequence_number = 2;
  finished.manifest.first_row_id = 1000;
  const auto read = ReadManifest(finished.file, finished.manifest);
  ASSERT_THAT(read, IsOk());
  EXPECT_THAT((*read)[0].data_file.first_row_id, Optional(800));
  EXPECT_THAT((*read)[1].data_file.first_row_id, Optional(1000));
  EXPECT_THAT((*read)[2].data_file.first_row_id, Eq(std::nullopt));
  EXPECT_THAT((*read)[3].data_file.first_row_id, Optional(1050));
}

TEST(ManifestReader, RefusesRowIdsThatDoNotFit) {
  ManifestEntry entry = ExampleEntry(1);
  auto finished = WriteExample(ExampleOptions(3), {entry});
  finished.manifest.first_row_id = INT64_MAX - 5;
  EXPECT_THAT(ReadManifest(finished.file, finished.manifest),
              IsError(ErrorCode::kCorruption, HasSubstr("entry 1")));
}

TEST(ManifestReader, RefusesAFileShorterThanItsListSays) {
  std::vector<ManifestEntry> entries;
  for (int i = 0; i < 3'000; ++i) {
    entries.push_back(ExampleEntry(i));
  }
  auto finished = WriteExample(ExampleOptions(2), entries);
  // Cut between two blocks, where the container looks complete.
  const std::string sync = finished.file.substr(finished.file.size() - kAvroSyncBytes);
  std::string cut = finished.file;
  cut.resize(cut.rfind(sync, cut.size() - kAvroSyncBytes - 1) + kAvroSyncBytes);
  ASSERT_THAT(ReadStored(cut), IsOk());
  EXPECT_THAT(ReadManifest(cut, finished.manifest),
              IsError(ErrorCode::kCorruption, HasSubstr("m0.avro")));
}

TEST(ManifestReader, RefusesDeletesAmongData) {
  ManifestEntry entry = ExampleEntry(1);
  auto finished = WriteExample(ExampleOptions(2), {entry});
  finished.manifest.content = ManifestContent::kDeletes;
  EXPECT_THAT(ReadManifest(finished.file, finished.manifest),
              IsError(ErrorCode::kCorruption, HasSubstr("data or deletes")));
}

// A manifest as somebody else writes it: header entries, a schema and encoded entries.
struct Foreign {
  std::string data_file_fields;   // JSON, comma-separated.
  std::string entry_fields_tail;  // JSON behind the data_file field, with its comma.
  std::string encoded;            // All entries.
  std::int64_t entries = 1;
  AvroMetadata header = {{"schema", R"({"type":"struct","fields":[]})"}, {"partition-spec", "[]"}};
};

constexpr std::string_view kStatusField = R"({"name":"status","type":"int","field-id":0},)";

std::string WriteForeign(const Foreign& foreign) {
  SeededRandom random(1);
  const std::string schema =
      R"({"type":"record","name":"manifest_entry","fields":[)" + std::string(kStatusField) +
      R"({"name":"data_file","field-id":2,"type":{"type":"record","name":"r2","fields":[)" +
      foreign.data_file_fields + "]}}" + foreign.entry_fields_tail + "]}";
  AvroMetadata header = foreign.header;
  auto writer = AvroContainerWriter::Make(
      {.schema = schema, .metadata = std::move(header), .codec = AvroCodec::kNull}, random);
  for (std::int64_t i = 0; i < foreign.entries; ++i) {
    EXPECT_THAT(writer->Append(i == 0 ? foreign.encoded : ""), IsOk());
  }
  return writer->Finish().value();
}

// The required fields, in the specification's order, and their values.
const std::string kRequired =
    R"({"name":"file_path","type":"string","field-id":100},
       {"name":"file_format","type":"string","field-id":101},
       {"name":"record_count","type":"long","field-id":103},
       {"name":"file_size_in_bytes","type":"long","field-id":104})";
const std::string kRequiredEncoded = "\2p\x0ePARQUET\6\x08";

ManifestEntry RequiredEntry() {
  ManifestEntry entry;
  entry.data_file.file_path = "p";
  entry.data_file.record_count = 3;
  entry.data_file.file_size_in_bytes = 4;
  return entry;
}

TEST(ManifestOfOtherWriters, MayHaveOnlyTheRequiredFields) {
  EXPECT_THAT(
      ReadStored(WriteForeign({.data_file_fields = kRequired, .encoded = "\2" + kRequiredEncoded})),
      IsOkAnd(ElementsAre(RequiredEntry())));
}

TEST(ManifestOfOtherWriters, MayOrderTypeAndNameFieldsInTheirOwnWay) {
  // Another order, other names, unions with null last, integers and texts of other kinds.
  const std::string fields =
      R"({"name":"size","type":["int","null"],"field-id":104},
         {"name":"rows","type":"int","field-id":103},
         {"name":"format","type":{"type":"enum","name":"ff","symbols":["orc","parquet"]},
          "field-id":101},
         {"name":"sort","type":["long","null"],"field-id":140},
         {"name":"path","type":"bytes","field-id":100},
         {"name":"kind","type":["null","int","long"],"field-id":134},
         {"name":"key","type":["null",{"type":"fixed","name":"k","size":2}],"field-id":131})";
  const std::string encoded = "\2" +     // status 1
                              "\0\x08"s  // size 4
                              "\6"       // rows 3
                              "\2"       // format parquet
                              "\0\x0a"   // sort order 5
                              "\2p"      // path
                              "\4\0"     // content 0, as a long
                              "\2xy"s;   // key metadata
  ManifestEntry expected = RequiredEntry();
  expected.data_file.sort_order_id = SortOrderId{5};
  expected.data_file.key_metadata = "xy";
  EXPECT_THAT(ReadStored(WriteForeign({.data_file_fields = fields, .encoded = encoded})),
              IsOkAnd(ElementsAre(expected)));
}

TEST(ManifestOfOtherWriters, MayHaveFieldsLakeDoesNotKnow) {
  const std::string fields =
      R"({"name":"x1","type":{"type":"map","values":["null","string"]},"field-id":9001},)" +
      kRequired +
      R"(,{"name":"no_id","type":{"type":"array","items":{"type":"record","name":"e","fields":[
            {"name":"a","type":"double"},{"name":"b","type":"boolean"}]}}},
          {"name":"block_size_in_bytes","type":"long","field-id":105})";
  const std::string encoded = "\2" + "\2\2k\2\2v\0"s +  // x1
                              kRequiredEncoded + "\2"s +
                              "12345678\1\0"s  // no_id
                              "\x80\x01"s;     // block_size_in_bytes
  EXPECT_THAT(ReadStored(WriteForeign({.data_file_fields = fields,
                                       .entry_fields_tail = R"(,{"name":"more","type":"string"})",
                                       .encoded = encoded + "\6end"})),
              IsOkAnd(ElementsAre(RequiredEntry())));
}

TEST(ManifestOfOtherWriters, MayLayOutMapsAndListsInTheirOwnWay) {
  const std::string fields =
      kRequired +
      R"(,{"name":"column_sizes","field-id":108,"type":["null",{"type":"array","logicalType":"map",
          "items":{"type":"record","name":"kv1","fields":[
            {"name":"v","type":["null","int"],"field-id":118},
            {"name":"extra","type":"string"},
            {"name":"k","type":"long","field-id":117}]}}]},
         {"name":"lower_bounds","field-id":125,"type":{"type":"array","items":{"type":"record",
          "name":"kv2","fields":[{"name":"key","type":"int"},
            {"name":"value","type":{"type":"fixed","name":"b4","size":4}}]}}},
         {"name":"equality_ids","field-id":135,"type":{"type":"array","element-id":136,
          "items":["null","long"]}},
         {"name":"split_offsets","field-id":132,"type":"null"})";
  const std::string encoded = "\2" + kRequiredEncoded +
                              // 2 entries in a block with its size: {1: 10}, and null for 2; then
                              // one more: {0: 7}.
                              "\2\3\x10\2\x14\0\2\0\2x\4"
                              "\2\2\x0e\0\0\0"s
                              // {4: 'abcd', 3: 'efgh', 4: 'last'}
                              "\6\x08"
                              "abcd\6efgh\x08last\0"s
                              // [5]
                              "\2\2\x0a\0"s;
  ManifestEntry expected = RequiredEntry();
  expected.data_file.content = FileContent::kData;
  expected.data_file.column_sizes = {{FieldId{1}, 10}, {FieldId{0}, 7}};
  expected.data_file.lower_bounds = {{FieldId{3}, "efgh"}, {FieldId{4}, "last"}};
  expected.data_file.equality_ids = {FieldId{5}};
  EXPECT_THAT(ReadStored(WriteForeign({.data_file_fields = fields, .encoded = encoded})),
              IsOkAnd(ElementsAre(expected)));
}

// The header and fields of a manifest partitioned by `transform` of a column, with the value stored
// as `avro_type`.
Foreign Partitioned(const std::string& column_type, const std::string& transform,
                    const std::string& avro_type, const std::string& encoded_value) {
  Foreign foreign;
  foreign.data_file_fields =
      R"({"name":"partition","field-id":102,"type":{"type":"record","name":"r102","fields":[
         {"name":"x","field-id":999,"type":"string"},
         {"name":"p","field-id":1000,"type":)" +
      avro_type + "}]}}," + kRequired;
  foreign.encoded = "\2\2!" + encoded_value + kRequiredEncoded;
  foreign.header = {{"schema", R"({"type":"struct","schema-id":0,"fields":[
                 {"id":1,"name":"c","required":false,"type":")" +
                                   column_type + R"("}]})"},
                    {"partition-spec", R"([{"name":"p","transform":")" + transform +
                                           R"(","source-id":1,"field-id":1000}])"}};
  return foreign;
}

TEST(ManifestOfOtherWriters, MayStorePartitionValuesInTheirOwnWay) {
  struct Case {
    std::string column_type;
    std::string transform;
    std::string avro_type;
    std::string encoded;
    Value value;
  };

  const std::string uuid_text = "f79c3e09-677c-4bbd-a479-3f349cb785e7";
  const std::string uuid = "\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7";
  const std::vector<Case> cases = {
      {"long", "identity", R"("int")", "\x0e", std::int64_t{7}},
      {"int", "identity", R"(["long","null"])", "\0\x0e"s, std::int32_t{7}},
      {"double", "identity", R"("float")", "\0\0\xc0\x3f"s, 1.5},
      {"date", "day", R"(["null","int"])", "\2\x0e", std::int32_t{7}},
      {"timestamp", "day", R"({"type":"int","logicalType":"date"})", "\x0e", std::int32_t{7}},
      {"decimal(9, 2)", "identity",
       R"({"type":"bytes","logicalType":"decimal","precision":9,"scale":2})", "\4\xfa\x74",
       Decimal{-1420}},
      {"decimal(9, 2)", "identity",
       R"({"type":"fixed","name":"d","size":6,"logicalType":"decimal","precision":12,"scale":2})",
       "\xff\xff\xff\xff\xfa\x74", Decimal{-1420}},
      {"uuid", "identity", R"({"type":"string","logicalType":"uuid"})", "\x48" + uuid_text, uuid},
      {"uuid", "identity", R"({"type":"fixed","name":"u","size":16})", uuid, uuid},
      {"fixed[3]", "identity", R"("bytes")", "\6abc", "abc"},
      {"binary", "truncate[3]", R"({"type":"fixed","name":"f","size":2})", "ab", "ab"},
      {"string", "truncate[3]", R"("bytes")", "\6abc", "abc"},
      {"string", "identity", R"({"type":"enum","name":"e","symbols":["A","B"]})", "\2", "B"},
      {"timestamptz", "identity", R"({"type":"long","logicalType":"timestamp-micros"})", "\x0e",
       std::int64_t{7}},
      {"string", "void", R"(["null","int"])", "\2\x0e", Value()},
      {"string", "identity", R"("null")", "", Value()},
      {"string", "identity", R"(["null","string"])", "\0"s, Value()},
  };
  for (const Case& test : cases) {
    ManifestEntry expected = RequiredEntry();
    expected.data_file.partition = {test.value};
    EXPECT_THAT(ReadStored(WriteForeign(
                    Partitioned(test.column_type, test.transform, test.avro_type, test.encoded))),
                IsOkAnd(ElementsAre(expected)))
        << test.transform << " of " << test.column_type << " as " << test.avro_type;
  }
}

TEST(ManifestOfOtherWriters, MayUseTransformsLakeDoesNotKnow) {
  struct Case {
    std::string avro_type;
    std::string encoded;
    Type type;
    Value value;
  };

  const std::vector<Case> cases = {
      {R"(["null","long"])", "\2\x0e", Type::Long(), std::int64_t{7}},
      {R"({"type":"int","logicalType":"date"})", "\x0e", Type::Date(), std::int32_t{7}},
      {R"({"type":"long","logicalType":"timestamp-micros","adjust-to-utc":true})", "\x0e",
       Type::Timestamptz(), std::int64_t{7}},
      {R"({"type":"fixed","name":"d","size":2,"logicalType":"decimal","precision":4,"scale":2})",
       "\xff\xfe", Type::Decimal(4, 2), Decimal{-2}},
      {R"(["null",{"type":"array","items":"int"}])", "\0"s, Type(), Value()},
  };
  for (const Case& test : cases) {
    const std::string file =
        WriteForeign(Partitioned("string", "zorder", test.avro_type, test.encoded));
    const auto reader = ManifestReader::OpenUncommitted(file, "m");
    ASSERT_THAT(reader, IsOk()) << test.avro_type;
    EXPECT_EQ(reader->partition_type().fields().at(0).type, test.type);
    ManifestEntry expected = RequiredEntry();
    expected.data_file.partition = {test.value};
    EXPECT_THAT(ReadStored(file), IsOkAnd(ElementsAre(expected))) << test.avro_type;
  }
}

TEST(ManifestOfOtherWriters, IsRefusedWhenPartitionValuesCannotBeWhatTheSpecSays) {
  struct Case {
    std::string column_type;
    std::string avro_type;
    std::string encoded;
  };

  const std::vector<Case> cases = {
      {"long", R"("string")", "\2a"},
      {"int", R"("long")", "\x80\x80\x80\x80\x80\x80\x01"},
      {"string", R"("string")", "\2\xff"},
      {"timestamp", R"({"type":"long","logicalType":"timestamp-millis"})", "\x0e"},
      {"timestamp", R"({"type":"long","logicalType":"timestamp-nanos"})", "\x0e"},
      {"timestamp_ns", R"({"type":"long","logicalType":"timestamp-micros"})", "\x0e"},
      {"decimal(9, 2)", R"({"type":"bytes","logicalType":"decimal","precision":9,"scale":3})",
       "\2a"},
      {"decimal(9, 2)", R"("bytes")", "\0"s},
      {"decimal(9, 2)", R"("bytes")", "\x22" + std::string(17, '\1')},
      {"decimal(9, 2)", R"({"type":"fixed","name":"d","size":17})", std::string(17, '\1')},
      {"uuid", R"({"type":"fixed","name":"u","size":15})", std::string(15, 'u')},
      {"uuid", R"("string")", "\2u"},
      {"fixed[3]", R"({"type":"fixed","name":"f","size":4})", "abcd"},
      {"fixed[3]", R"("bytes")", "\4ab"},
      {"string", R"({"type":"enum","name":"e","symbols":["A"]})", "\2"},
      {"string", R"(["null","string"])", "\6"},
  };
  for (const Case& test : cases) {
    EXPECT_THAT(ReadStored(WriteForeign(
                    Partitioned(test.column_type, "identity", test.avro_type, test.encoded))),
                IsError(ErrorCode::kCorruption))
        << test.column_type << " as " << test.avro_type;
  }
}

TEST(ManifestReader, SaysWhatIsWrongWithASchema) {
  struct Case {
    std::string fields;
    std::string_view message;
  };

  const std::vector<Case> cases = {
      {R"({"name":"file_path","type":"string","field-id":100})", "file_format"},
      {kRequired + R"(,{"name":"again","type":"string","field-id":100})",
       "file_path' is there twice"},
      {kRequired + R"(,{"name":"c","type":"string","field-id":134})", "content"},
      {kRequired + R"(,{"name":"c","type":["null","int","string"],"field-id":134})", "content"},
      {kRequired + R"(,{"name":"m","type":{"type":"map","values":"long"},"field-id":108})",
       "column_sizes"},
      {kRequired + R"(,{"name":"m","type":{"type":"array","items":"long"},"field-id":108})",
       "column_sizes"},
      {kRequired + R"(,{"name":"m","type":[{"type":"array","items":{"type":"record","name":"k",
         "fields":[{"name":"key","type":"int"},{"name":"value","type":"long"}]}}],"field-id":108})",
       "column_sizes"},
      {kRequired + R"(,{"name":"m","type":{"type":"array","items":{"type":"record","name":"k",
         "fields":[{"name":"key","type":"int"}]}},"field-id":108})",
       "column_sizes"},
      {kRequired + R"(,{"name":"p","type":"int","field-id":102})", "partition"},
      {kRequired + R"(,{"name":"s","type":{"type":"array","items":"string"},"field-id":132})",
       "split_offsets"},
  };
  for (const Case& test : cases) {
    EXPECT_THAT(ReadStored(WriteForeign({.data_file_fields = test.fields, .encoded = "\2"})),
                IsError(ErrorCode::kCorruption, HasSubstr(std::string(test.message))))
        << test.fields;
  }
}

TEST(ManifestReader, SaysWhatIsWrongWithAnEntry) {
  const std::string nullable_path =
      R"({"name":"file_path","type":["null","string"],"field-id":100},
         {"name":"file_format","type":"string","field-id":101},
         {"name":"record_count","type":"long","field-id":103},
         {"name":"file_size_in_bytes","type":"long","field-id":104})";

  struct Case {
    std::string fields;
    std::string encoded;
    std::string_view message;
  };

  const std::vector<Case> cases = {
      {kRequired, "\6" + kRequiredEncoded, "status"},
      {kRequired, "\1" + kRequiredEncoded, "status"},
      {kRequired, "\2\2p\6TXT\6\x08", "file format"},
      {kRequired, "\2\2\xff\x0ePARQUET\6\x08", "UTF-8"},
      {kRequired, "\2\2p\x0ePARQUET\1\x08", "negative"},
      {kRequired, "\2\2p\x0ePARQUET\6", "too early"},
      {kRequired, "\2" + kRequiredEncoded + "!", "bytes follow"},
      {nullable_path, "\2\0\x0ePARQUET\6\x08"s, "required field is null"},
      {nullable_path, "\2\4\2p\x0ePARQUET\6\x08"s, "no such branch"},
      {kRequired + R"(,{"name":"content","type":"int","field-id":134})",
       "\2" + kRequiredEncoded + "\2", "delete file"},
  };
  for (const Case& test : cases) {
    EXPECT_THAT(
        ReadStored(WriteForeign({.data_file_fields = test.fields, .encoded = test.encoded})),
        IsError(ErrorCode::kCorruption, HasSubstr(std::string(test.message))))
        << test.message;
  }
}

TEST(ManifestReader, SaysWhatIsWrongWithAHeader) {
  struct Case {
    AvroMetadata header;
    ErrorCode code;
    std::string_view message;
  };

  const std::vector<Case> cases = {
      {{{"partition-spec", "[]"}}, ErrorCode::kCorruption, "'schema'"},
      {{{"schema", "{}"}}, ErrorCode::kCorruption, "'partition-spec'"},
      {{{"schema", "{}"}, {"partition-spec", "{}"}}, ErrorCode::kCorruption, "'partition-spec'"},
      {{{"schema", "{}"},
        {"partition-spec", R"([{"name":"p","transform":"day","source-id":1,"field-id":1000}])"}},
       ErrorCode::kCorruption,
       "'schema'"},
      {{{"schema", "{}"}, {"partition-spec", "[]"}, {"content", "rows"}},
       ErrorCode::kCorruption,
       "'content'"},
      {{{"schema", "{}"}, {"partition-spec", "[]"}, {"format-version", "two"}},
       ErrorCode::kCorruption,
       "'format-version'"},
      {{{"schema", "{}"}, {"partition-spec", "[]"}, {"format-version", "4"}},
       ErrorCode::kUnimplemented,
       "format version 4"},
  };
  for (const Case& test : cases) {
    Foreign foreign{.data_file_fields = kRequired, .encoded = "\2" + kRequiredEncoded};
    foreign.header = test.header;
    EXPECT_THAT(ReadStored(WriteForeign(foreign)),
                IsError(test.code, HasSubstr(std::string(test.message))));
  }
}

TEST(ManifestReader, RefusesMoreEntriesThanBytes) {
  EXPECT_THAT(ReadStored(WriteForeign({.data_file_fields = kRequired,
                                       .encoded = "\2" + kRequiredEncoded,
                                       .entries = 1'000'000})),
              IsError(ErrorCode::kCorruption, HasSubstr("cannot hold")));
}

// Reads as far as it goes. What comes out does not matter here, only that something does.
void ReadHostile(const std::string& file) {
  auto reader = ManifestReader::OpenUncommitted(file, "m");
  if (!reader.has_value()) {
    EXPECT_TRUE(reader.error().code() == ErrorCode::kCorruption ||
                reader.error().code() == ErrorCode::kUnimplemented)
        << reader.error().ToString();
    return;
  }
  ManifestEntry entry;
  for (int i = 0; i < 100; ++i) {
    const auto more = reader->Next(entry);
    if (!more.has_value()) {
      EXPECT_EQ(more.error().code(), ErrorCode::kCorruption) << more.error().ToString();
      return;
    }
    if (!*more) {
      return;
    }
  }
  ADD_FAILURE() << "more entries than the file can hold";
}

TEST(ManifestReader, SurvivesCutsAndFlippedBits) {
  PartitionSpec spec;
  spec.fields = {ExamplePartitionField(6, 1000, "price", "identity"),
                 ExamplePartitionField(11, 1001, "name", "truncate[4]")};
  ManifestEntry entry = ExampleEntry(1);
  entry.data_file.partition = {Decimal{-1420}, "abcd"};
  const std::string file =
      WriteExample(ExampleOptions(2, spec, ManifestContent::kData, AvroCodec::kNull),
                   {entry, entry})
          .file;
  const std::size_t block = file.find(file.substr(file.size() - kAvroSyncBytes));
  ASSERT_LT(block, file.size() - kAvroSyncBytes);
  for (std::size_t size = 0; size < file.size(); ++size) {
    ReadHostile(file.substr(0, size));
  }
  std::string flipped = file;
  for (std::size_t byte = 0; byte < file.size(); ++byte) {
    // The header is long and made of text: there one bit of each byte will do.
    const int step = byte < block ? 8 : 1;
    for (int bit = static_cast<int>(byte % 8) % step; bit < 8; bit += step) {
      flipped[byte] = static_cast<char>(file[byte] ^ (1 << bit));
      ReadHostile(flipped);
    }
    flipped[byte] = file[byte];
  }
}

}  // namespace
}  // namespace lake::iceberg
