#include "lake/iceberg/table_metadata_json.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/statistics_file.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/testing/matchers.h"
#include "lake/testing/seeded_random.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;
using ::lake::testing::SeededRandom;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

namespace bj = boost::json;

WallTime At(std::int64_t millis) {
  return WallTime(std::chrono::milliseconds(millis));
}

// Every field of v3, one member that Lake does not know in each object, in the order in which Lake writes them.
constexpr std::string_view kV3 = R"({
"format-version":3,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1","location":"s3://bucket/test/location",
"last-sequence-number":34,"last-updated-ms":1602638573590,"last-column-id":3,
"current-schema-id":1,"schemas":[
{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"x","required":true,"type":"long"}]},
{"type":"struct","schema-id":1,"fields":[{"id":1,"name":"x","required":true,"type":"long","u1":1},
{"id":2,"name":"y","required":false,"type":"timestamptz_ns","doc":"comment"},
{"id":3,"name":"z","required":true,"type":"long","initial-default":7,"write-default":8}],"identifier-field-ids":[1],"u2":2}],
"default-spec-id":1,"partition-specs":[{"spec-id":0,"fields":[]},
{"spec-id":1,"fields":[{"source-id":1,"field-id":1000,"name":"x","transform":"identity","u3":3}],"u4":4}],
"last-partition-id":1000,
"default-sort-order-id":3,"sort-orders":[{"order-id":0,"fields":[]},{"order-id":3,"fields":[
{"transform":"identity","source-id":2,"direction":"asc","null-order":"nulls-first","u5":5},
{"transform":"bucket[4]","source-id":3,"direction":"desc","null-order":"nulls-last"}],"u6":6}],
"properties":{"read.split.target.size":"134217728"},
"current-snapshot-id":3055729675574597004,"next-row-id":75,
"snapshots":[
{"snapshot-id":3051729675574597004,"sequence-number":0,"timestamp-ms":1515100955770,"summary":{"operation":"append"},
"manifest-list":"s3://a/b/1.avro"},
{"snapshot-id":3055729675574597004,"parent-snapshot-id":3051729675574597004,"sequence-number":1,
"timestamp-ms":1555100955770,"summary":{"added-records":"25","operation":"append"},"manifest-list":"s3://a/b/2.avro","schema-id":1,
"first-row-id":50,"added-rows":25,"key-id":"k1","u7":7}],
"refs":{"main":{"snapshot-id":3055729675574597004,"type":"branch","min-snapshots-to-keep":5,"max-snapshot-age-ms":86400000,"u8":8},
"v1":{"snapshot-id":3051729675574597004,"type":"tag","max-ref-age-ms":10000000}},
"snapshot-log":[{"timestamp-ms":1515100955770,"snapshot-id":3051729675574597004},
{"timestamp-ms":1555100955770,"snapshot-id":3055729675574597004,"u9":9}],
"metadata-log":[{"timestamp-ms":1515100,"metadata-file":"s3://bucket/.../v1.json","u10":10}],
"statistics":[{"snapshot-id":3055729675574597004,"statistics-path":"s3://a/b/stats.puffin","file-size-in-bytes":413,
"file-footer-size-in-bytes":42,"key-metadata":"c2VjcmV0","blob-metadata":[{"type":"ndv","snapshot-id":3055729675574597004,
"sequence-number":1,"fields":[1,2],"properties":{"ndv":"5"},"u11":11}],"u12":12}],
"partition-statistics":[{"snapshot-id":3055729675574597004,"statistics-path":"s3://a/b/partition.parquet",
"file-size-in-bytes":43,"u13":13}],
"encryption-keys":[{"key-id":"k1","encrypted-key-metadata":"aWNlYmVyZwo=","encrypted-by-id":"k0",
"properties":{"a":"b"},"u14":14}],
"next-big-thing":{"list":[1,2.5,null,"ü"],"empty":{}}})";

constexpr std::string_view kV1 = R"({
"format-version":1,"table-uuid":"d20125c8-7284-442c-9aea-15fee620737c","location":"s3://bucket/test/location",
"last-updated-ms":1602638573874,"last-column-id":2,
"schema":{"type":"struct","fields":[{"id":1,"name":"x","required":true,"type":"long"},
{"id":2,"name":"y","required":false,"type":"date"}]},
"partition-spec":[{"name":"x","transform":"identity","source-id":1},{"name":"y_day","transform":"day","source-id":2}],
"properties":{},"current-snapshot-id":-1,
"snapshots":[{"snapshot-id":1,"timestamp-ms":2,"manifests":["s3://a/m1.avro","s3://a/m2.avro"]}]})";

// The text without the line breaks that make it readable here.
std::string OneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c != '\n') {
      line += c;
    }
  }
  return line;
}

// Returns the v3 text with a change to its parsed form.
template <typename Change>
std::string Changed(std::string_view text, Change change) {
  bj::value value = json::Parse(text).value();
  change(value.as_object());
  return json::Write(value);
}

TEST(TableMetadataJson, WhatIsReadIsWrittenAgainMemberForMember) {
  const Result<TableMetadata> metadata = ParseTableMetadata(kV3);
  ASSERT_THAT(metadata, IsOk());
  const Result<std::string> text = WriteTableMetadata(*metadata);
  ASSERT_THAT(text, IsOk());
  EXPECT_EQ(json::Parse(*text).value(), json::Parse(kV3).value());
  EXPECT_EQ(ParseTableMetadata(*text).value(), *metadata);
}

TEST(TableMetadataJson, TheOrderOfMembersIsFixed) {
  // Doubles are written with an exponent; everything else as above.
  std::string expected = OneLine(kV3);
  expected.replace(expected.find("2.5"), 3, "2.5E0");
  EXPECT_EQ(WriteTableMetadata(ParseTableMetadata(kV3).value()).value(), expected);
}

TEST(TableMetadataJson, EveryFieldArrives) {
  const TableMetadata metadata = ParseTableMetadata(kV3).value();
  EXPECT_EQ(metadata.format_version, 3);
  EXPECT_EQ(metadata.table_uuid, Uuid::Parse("9c12d441-03fe-4693-9a96-a0705ddf69c1").value());
  EXPECT_EQ(metadata.location, "s3://bucket/test/location");
  EXPECT_EQ(metadata.last_sequence_number, 34);
  EXPECT_EQ(metadata.last_updated, At(1602638573590));
  EXPECT_EQ(metadata.last_column_id, FieldId{3});
  EXPECT_THAT(metadata.schemas, SizeIs(2));
  EXPECT_EQ(metadata.current_schema().schema_id(), SchemaId{1});
  EXPECT_EQ(metadata.current_schema().FindField(FieldId{1})->unknown,
            (UnknownMembers{{"u1", {"1"}}}));
  EXPECT_EQ(metadata.current_schema().unknown(), (UnknownMembers{{"u2", {"2"}}}));
  EXPECT_EQ(metadata.default_spec(), (PartitionSpec{.spec_id = PartitionSpecId{1},
                                                    .fields = {{.source_ids = {FieldId{1}},
                                                                .field_id = FieldId{1000},
                                                                .name = "x",
                                                                .transform = "identity",
                                                                .unknown = {{"u3", {"3"}}}}},
                                                    .unknown = {{"u4", {"4"}}}}));
  EXPECT_EQ(metadata.last_partition_id, FieldId{1000});
  EXPECT_EQ(metadata.default_sort_order(),
            (SortOrder{.order_id = SortOrderId{3},
                       .fields = {{.source_ids = {FieldId{2}},
                                   .transform = "identity",
                                   .unknown = {{"u5", {"5"}}}},
                                  {.source_ids = {FieldId{3}},
                                   .transform = "bucket[4]",
                                   .direction = SortDirection::kDescending,
                                   .null_order = NullOrder::kNullsLast}},
                       .unknown = {{"u6", {"6"}}}}));
  EXPECT_EQ(metadata.properties, (Properties{{"read.split.target.size", "134217728"}}));
  EXPECT_EQ(metadata.next_row_id, 75);
  ASSERT_NE(metadata.current_snapshot(), nullptr);
  EXPECT_EQ(*metadata.current_snapshot(),
            (Snapshot{.snapshot_id = SnapshotId{3055729675574597004},
                      .parent_snapshot_id = SnapshotId{3051729675574597004},
                      .sequence_number = 1,
                      .timestamp = At(1555100955770),
                      .manifest_list = "s3://a/b/2.avro",
                      .summary = {{"operation", "append"}, {"added-records", "25"}},
                      .schema_id = SchemaId{1},
                      .first_row_id = 50,
                      .added_rows = 25,
                      .key_id = "k1",
                      .unknown = {{"u7", {"7"}}}}));
  EXPECT_EQ(metadata.refs.find("main")->second,
            (SnapshotRef{.snapshot_id = SnapshotId{3055729675574597004},
                         .min_snapshots_to_keep = 5,
                         .max_snapshot_age = std::chrono::hours(24),
                         .unknown = {{"u8", {"8"}}}}));
  EXPECT_EQ(metadata.refs.find("v1")->second,
            (SnapshotRef{.snapshot_id = SnapshotId{3051729675574597004},
                         .kind = SnapshotRef::Kind::kTag,
                         .max_ref_age = std::chrono::milliseconds(10000000)}));
  EXPECT_EQ(metadata.snapshot_log[1],
            (SnapshotLogEntry{.snapshot_id = SnapshotId{3055729675574597004},
                              .timestamp = At(1555100955770),
                              .unknown = {{"u9", {"9"}}}}));
  EXPECT_THAT(metadata.metadata_log,
              ElementsAre(MetadataLogEntry{.metadata_file = "s3://bucket/.../v1.json",
                                           .timestamp = At(1515100),
                                           .unknown = {{"u10", {"10"}}}}));
  EXPECT_THAT(
      metadata.statistics,
      ElementsAre(StatisticsFile{.snapshot_id = SnapshotId{3055729675574597004},
                                 .statistics_path = "s3://a/b/stats.puffin",
                                 .file_size_in_bytes = 413,
                                 .file_footer_size_in_bytes = 42,
                                 .key_metadata = "c2VjcmV0",
                                 .blob_metadata = {{.type = "ndv",
                                                    .snapshot_id = SnapshotId{3055729675574597004},
                                                    .sequence_number = 1,
                                                    .fields = {FieldId{1}, FieldId{2}},
                                                    .properties = {{"ndv", "5"}},
                                                    .unknown = {{"u11", {"11"}}}}},
                                 .unknown = {{"u12", {"12"}}}}));
  EXPECT_THAT(metadata.partition_statistics,
              ElementsAre(PartitionStatisticsFile{.snapshot_id = SnapshotId{3055729675574597004},
                                                  .statistics_path = "s3://a/b/partition.parquet",
                                                  .file_size_in_bytes = 43,
                                                  .unknown = {{"u13", {"13"}}}}));
  EXPECT_THAT(metadata.encryption_keys,
              ElementsAre(EncryptionKey{.key_id = "k1",
                                        .encrypted_key_metadata = "aWNlYmVyZwo=",
                                        .encrypted_by_id = "k0",
                                        .properties = {{"a", "b"}},
                                        .unknown = {{"u14", {"14"}}}}));
  EXPECT_EQ(metadata.unknown,
            (UnknownMembers{{"next-big-thing", {R"({"list":[1,2.5E0,null,"ü"],"empty":{}})"}}}));
}

TEST(TableMetadataJson, WhatV1LeavesOutIsFilledIn) {
  const Result<TableMetadata> metadata = ParseTableMetadata(kV1);
  ASSERT_THAT(metadata, IsOk());
  EXPECT_EQ(metadata->last_sequence_number, 0);
  ASSERT_THAT(metadata->schemas, SizeIs(1));
  EXPECT_EQ(metadata->current_schema().schema_id(), SchemaId{0});
  EXPECT_EQ(metadata->default_spec().fields[0].field_id, FieldId{1000});
  EXPECT_EQ(metadata->default_spec().fields[1].field_id, FieldId{1001});
  EXPECT_EQ(metadata->last_partition_id, FieldId{1001});
  EXPECT_EQ(metadata->default_sort_order(), SortOrder{});
  EXPECT_EQ(metadata->current_snapshot_id, std::nullopt);
  EXPECT_THAT(metadata->refs, IsEmpty());
  EXPECT_THAT(metadata->snapshots[0].manifests, ElementsAre("s3://a/m1.avro", "s3://a/m2.avro"));
}

TEST(TableMetadataJson, V1IsWrittenForReadersOfV1) {
  const TableMetadata metadata = ParseTableMetadata(kV1).value();
  const bj::object object = json::Parse(WriteTableMetadata(metadata).value()).value().as_object();
  EXPECT_TRUE(object.contains("schema"));
  EXPECT_EQ(object.at("partition-spec").as_array().size(), 2U);
  EXPECT_TRUE(object.contains("schemas"));
  EXPECT_FALSE(object.contains("last-sequence-number"));
  EXPECT_FALSE(object.contains("refs"));
  EXPECT_FALSE(object.at("snapshots").at(0).as_object().contains("sequence-number"));
  EXPECT_EQ(ParseTableMetadata(json::Write(object)).value(), metadata);
}

TEST(TableMetadataJson, V1MayLackItsUuidAndItsSnapshotsSequenceNumbersDoNotCount) {
  const Result<TableMetadata> metadata = ParseTableMetadata(Changed(kV1, [](bj::object& object) {
    object.erase("table-uuid");
    object["last-sequence-number"] = 3;
    object.at("snapshots").as_array()[0].as_object()["sequence-number"] = 9;
  }));
  ASSERT_THAT(metadata, IsOk());
  EXPECT_EQ(metadata->table_uuid, std::nullopt);
  EXPECT_EQ(metadata->last_sequence_number, 0);
  EXPECT_EQ(metadata->snapshots[0].sequence_number, 0);
}

TEST(TableMetadataJson, MinusOneMeansNoCurrentSnapshotAndIsNeverWritten) {
  const std::string text = Changed(kV3, [](bj::object& object) {
    object["current-snapshot-id"] = -1;
    object.at("refs").as_object().erase("main");
  });
  const Result<TableMetadata> metadata = ParseTableMetadata(text);
  ASSERT_THAT(metadata, IsOk());
  EXPECT_EQ(metadata->current_snapshot_id, std::nullopt);
  EXPECT_EQ(metadata->current_snapshot(), nullptr);
  EXPECT_THAT(WriteTableMetadata(*metadata).value(), Not(HasSubstr("current-snapshot-id")));
}

TEST(TableMetadataJson, AMissingMainBranchIsMadeOfTheCurrentSnapshot) {
  for (const bool all : {true, false}) {
    const Result<TableMetadata> metadata = ParseTableMetadata(Changed(kV3, [&](bj::object& object) {
      if (all) {
        object.erase("refs");
      } else {
        object.at("refs").as_object().erase("main");
      }
    }));
    ASSERT_THAT(metadata, IsOk());
    EXPECT_EQ(metadata->refs.at("main"),
              SnapshotRef{.snapshot_id = SnapshotId{3055729675574597004}});
    EXPECT_EQ(metadata->refs.size(), all ? 1U : 2U);
  }
}

TEST(TableMetadataJson, AManifestListMakesTheDeprecatedListOfManifestsMoot) {
  const Result<TableMetadata> metadata = ParseTableMetadata(Changed(kV3, [](bj::object& object) {
    object.at("snapshots").as_array()[0].as_object()["manifests"] = bj::array{"s3://old"};
  }));
  ASSERT_THAT(metadata, IsOk());
  EXPECT_THAT(metadata->snapshots[0].manifests, IsEmpty());
}

TEST(TableMetadataJson, DeprecatedSingleSchemaAndSpecAreDroppedAfterV1) {
  const Result<TableMetadata> metadata = ParseTableMetadata(Changed(kV3, [](bj::object& object) {
    object["schema"] = bj::object{};
    object["partition-spec"] = bj::array{};
  }));
  ASSERT_THAT(metadata, IsOk());
  EXPECT_EQ(*metadata, ParseTableMetadata(kV3).value());
}

TEST(TableMetadataJson, RefusesFormatVersionsItDoesNotKnowBeforeLookingFurther) {
  EXPECT_THAT(ParseTableMetadata(R"({"format-version":4})"),
              IsError(ErrorCode::kUnimplemented, HasSubstr("version 4")));
  EXPECT_THAT(ParseTableMetadata(R"({"format-version":0})"), IsError(ErrorCode::kUnimplemented));
  EXPECT_THAT(ParseTableMetadata(R"({"format-version":"2"})"),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ParseTableMetadata(R"({})"),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("format-version")));
}

TEST(TableMetadataJson, RefusesAMissingRequiredMemberByName) {
  for (const std::string_view name :
       {"format-version", "table-uuid", "location", "last-sequence-number", "last-updated-ms",
        "last-column-id", "schemas", "current-schema-id", "partition-specs", "default-spec-id",
        "last-partition-id", "sort-orders", "default-sort-order-id", "next-row-id"}) {
    EXPECT_THAT(ParseTableMetadata(Changed(kV3, [&](bj::object& object) { object.erase(name); })),
                IsError(ErrorCode::kInvalidArgument, HasSubstr(std::string(name))))
        << name;
    EXPECT_THAT(
        ParseTableMetadata(Changed(kV3, [&](bj::object& object) { object[name] = nullptr; })),
        IsError(ErrorCode::kInvalidArgument, HasSubstr(std::string(name))))
        << name;
  }
  for (const std::string_view name :
       {"schema", "partition-spec", "location", "last-updated-ms", "last-column-id"}) {
    EXPECT_THAT(ParseTableMetadata(Changed(kV1, [&](bj::object& object) { object.erase(name); })),
                IsError(ErrorCode::kInvalidArgument, HasSubstr(std::string(name))))
        << name;
  }
}

TEST(TableMetadataJson, AnErrorSaysWhere) {
  EXPECT_THAT(ParseTableMetadata(
                  Changed(kV3,
                          [](bj::object& object) {
                            object.at("snapshots").as_array()[1].as_object().erase("timestamp-ms");
                          })),
              IsError(ErrorCode::kInvalidArgument,
                      HasSubstr("table metadata: snapshots[1]: member 'timestamp-ms' is missing")));
  EXPECT_THAT(ParseTableMetadata(Changed(kV3,
                                         [](bj::object& object) {
                                           object.at("refs").as_object()["v1"].as_object()["type"] =
                                               "twig";
                                         })),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("ref 'v1': member 'type' is 'twig'")));
  EXPECT_THAT(
      ParseTableMetadata(
          Changed(kV3, [](bj::object& object) { object["current-snapshot-id"] = 5; })),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("current-snapshot-id 5 names no snapshot")));
}

// Visits every value inside `value`, parents first.
template <typename Visit>
void Walk(bj::value& value, Visit& visit) {
  visit(value);
  if (value.is_object()) {
    for (auto& member : value.as_object()) {
      Walk(member.value(), visit);
    }
  } else if (value.is_array()) {
    for (bj::value& element : value.as_array()) {
      Walk(element, visit);
    }
  }
}

// Metadata that is read must be writable, and reading what was written must give the same again.
void ExpectSteady(const TableMetadata& metadata, const std::string& what) {
  const Result<std::string> text = WriteTableMetadata(metadata);
  ASSERT_THAT(text, IsOk()) << what;
  const Result<TableMetadata> again = ParseTableMetadata(*text);
  ASSERT_THAT(again, IsOk()) << what;
  EXPECT_EQ(*again, metadata) << what;
}

TEST(TableMetadataJson, SurvivesAnyValueInAnyPlace) {
  const std::vector<bj::value> intruders{nullptr,      true,        -1,     std::int64_t{1} << 40,
                                         UINT64_MAX,   1.5,         "main", bj::array{},
                                         bj::array{1}, bj::object{}};
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (const std::string_view sample : {kV1, kV3}) {
    const bj::value original = json::Parse(sample).value();
    std::size_t places = 0;
    bj::value counted = original;
    auto count = [&](bj::value&) { ++places; };
    Walk(counted, count);
    for (std::size_t place = 0; place < places; ++place) {
      for (const bj::value& intruder : intruders) {
        bj::value changed = original;
        std::size_t at = 0;
        auto replace = [&](bj::value& value) {
          if (at++ == place) {
            value = intruder;
          }
        };
        Walk(changed, replace);
        const std::string text = json::Write(changed);
        const Result<TableMetadata> metadata = ParseTableMetadata(text);
        if (metadata.has_value()) {
          ++accepted;
          ExpectSteady(*metadata, text);
        } else {
          ++refused;
          EXPECT_THAT(metadata.error().code(),
                      ::testing::AnyOf(ErrorCode::kInvalidArgument, ErrorCode::kUnimplemented));
          EXPECT_THAT(metadata.error().message(), HasSubstr("table metadata")) << text;
        }
      }
    }
  }
  EXPECT_GT(accepted, 100U);
  EXPECT_GT(refused, 1000U);
}

TEST(TableMetadataJson, SurvivesTheLossOfAnyMember) {
  for (const std::string_view sample : {kV1, kV3}) {
    const bj::value original = json::Parse(sample).value();
    bool found = true;
    for (std::size_t place = 0; found; ++place) {
      found = false;
      bj::value changed = original;
      std::size_t at = 0;
      auto erase = [&](bj::value& value) {
        if (value.is_object()) {
          for (auto member = value.as_object().begin(); member != value.as_object().end();
               ++member) {
            if (at++ == place) {
              value.as_object().erase(member);
              found = true;
              return;
            }
          }
        }
      };
      Walk(changed, erase);
      if (const Result<TableMetadata> metadata = ParseTableMetadata(json::Write(changed));
          metadata.has_value()) {
        ExpectSteady(*metadata, json::Write(changed));
      }
    }
  }
}

TEST(TableMetadataJson, RefusesEveryTruncation) {
  const std::string text = OneLine(kV3);
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_THAT(ParseTableMetadata(std::string_view(text).substr(0, length)),
                IsError(ErrorCode::kInvalidArgument));
  }
}

TEST(TableMetadataJson, SurvivesDamagedBytes) {
  SeededRandom random(7);
  for (int round = 0; round < 1000; ++round) {
    std::string text(kV3);
    for (std::uint64_t flips = 1 + random.Below(4); flips > 0; --flips) {
      text[random.Below(text.size())] = static_cast<char>(random.Below(256));
    }
    if (const Result<TableMetadata> metadata = ParseTableMetadata(text); metadata.has_value()) {
      ExpectSteady(*metadata, text);
    }
  }
}

TEST(TableMetadataJson, RefusesWhatIsNotOneJsonObject) {
  for (const std::string_view text : {"", "null", "[]", "42", "\"x\"", "{} {}", "\xff\xfe",
                                      "{\"format-version\":2,\"location\":\"\xc3\"}"}) {
    EXPECT_THAT(ParseTableMetadata(text), IsError(ErrorCode::kInvalidArgument)) << text;
  }
  EXPECT_THAT(ParseTableMetadata(std::string(1'000'000, '[')),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("deep")));
  EXPECT_THAT(ParseTableMetadata(std::string(1'000'000, '{')),
              IsError(ErrorCode::kInvalidArgument));
}

TEST(TableMetadataJson, NeverWritesWhatItCouldNotReadAgain) {
  TableMetadata metadata = ParseTableMetadata(kV3).value();
  metadata.unknown["deep"] =
      JsonText{std::string(json::kDepthMax - 1, '[') + std::string(json::kDepthMax - 1, ']')};
  ExpectSteady(metadata, "as deep as can be");
  metadata.unknown["deep"] =
      JsonText{std::string(json::kDepthMax, '[') + std::string(json::kDepthMax, ']')};
  EXPECT_THAT(WriteTableMetadata(metadata),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("deep")));
  metadata.unknown.clear();
  metadata.current_schema_id = SchemaId{99};
  EXPECT_THAT(WriteTableMetadata(metadata), IsError(ErrorCode::kInvalidArgument, HasSubstr("99")));
}

TEST(TableMetadataJson, ReadsGzippedFiles) {
  // {"format-version":4}, gzipped.
  constexpr unsigned char kGzipped[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                        0xab, 0x56, 0x4a, 0xcb, 0x2f, 0xca, 0x4d, 0x2c, 0xd1, 0x2d,
                                        0x4b, 0x2d, 0x2a, 0xce, 0xcc, 0xcf, 0x53, 0xb2, 0x32, 0xa9,
                                        0x05, 0x00, 0x5c, 0x96, 0x76, 0x5d, 0x14, 0x00, 0x00, 0x00};
  const std::string_view whole(reinterpret_cast<const char*>(kGzipped), sizeof(kGzipped));
  EXPECT_THAT(ParseTableMetadata(whole),
              IsError(ErrorCode::kUnimplemented, HasSubstr("format version 4")));
  EXPECT_THAT(ParseTableMetadata(whole.substr(0, 30)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("table metadata: gzip")));
}

}  // namespace
}  // namespace lake::iceberg
