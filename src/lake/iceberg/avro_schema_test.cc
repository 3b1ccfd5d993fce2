#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/iceberg/avro_schema_internal.h"
#include "lake/iceberg/avro_wire_internal.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

using namespace std::string_literals;
using namespace std::string_view_literals;

TEST(AvroSchema, KeepsWhatIcebergAddsToIt) {
  const auto schema = AvroSchema::Parse(R"({
    "type": "record", "name": "r", "fields": [
      {"name": "ids", "field-id": 1, "type": {"type": "array", "items": "int", "element-id": 2}},
      {"name": "names", "field-id": 3,
       "type": {"type": "map", "values": "string", "key-id": 4, "value-id": 5}},
      {"name": "price", "field-id": 6, "type": ["null", {"type": "fixed", "name": "d", "size": 4,
       "logicalType": "decimal", "precision": 9, "scale": 2}], "default": null},
      {"name": "at", "field-id": 7, "type": {"type": "long", "logicalType": "timestamp-micros",
       "adjust-to-utc": true}}]})");
  ASSERT_THAT(schema, IsOk());
  const AvroNode& root = schema->root();
  ASSERT_EQ(root.fields.size(), 4U);
  EXPECT_THAT(root.fields[0].field_id, Optional(1));
  EXPECT_THAT(root.fields[0].type->element_id, Optional(2));
  EXPECT_THAT(root.fields[1].type->key_id, Optional(4));
  EXPECT_THAT(root.fields[1].type->value_id, Optional(5));
  const AvroNode& decimal = *root.fields[2].type->inner.at(1);
  EXPECT_EQ(decimal.logical_type, "decimal");
  EXPECT_THAT(decimal.precision, Optional(9));
  EXPECT_THAT(decimal.scale, Optional(2));
  EXPECT_EQ(decimal.fixed_bytes, 4U);
  EXPECT_TRUE(root.fields[3].type->adjust_to_utc);
}

TEST(AvroSchema, ResolvesNamesWithinNamespaces) {
  const auto schema = AvroSchema::Parse(R"({
    "type": "record", "name": "outer", "namespace": "a.b", "fields": [
      {"name": "x", "type": {"type": "fixed", "name": "f", "size": 3}},
      {"name": "y", "type": "f"},
      {"name": "z", "type": "a.b.f"},
      {"name": "w", "type": {"type": "enum", "name": "c.e", "symbols": ["P", "Q"]}},
      {"name": "v", "type": ["null", "c.e"]}]})");
  ASSERT_THAT(schema, IsOk());
  const AvroNode& root = schema->root();
  EXPECT_EQ(root.name, "a.b.outer");
  EXPECT_EQ(root.fields[1].type, root.fields[0].type);
  EXPECT_EQ(root.fields[2].type, root.fields[0].type);
  EXPECT_EQ(root.fields[4].type->inner.at(1), root.fields[3].type);
}

TEST(AvroSchema, AcceptsWhatExistingWritersGetAwayWith) {
  // A type object around a type object, a name that is no identifier, a name defined twice.
  EXPECT_THAT(AvroSchema::Parse(R"({"type": {"type": "array", "items": {"type": "long"}}})"),
              IsOk());
  EXPECT_THAT(AvroSchema::Parse(R"({"type": "record", "name": "9 lives", "fields": [
      {"name": "a-b", "type": {"type": "fixed", "name": "f", "size": 1}},
      {"name": "c", "type": {"type": "fixed", "name": "f", "size": 2}}]})"),
              IsOk());
}

TEST(AvroSchema, RefusesWhatTheSpecificationDoesNotAllow) {
  for (const std::string_view wrong :
       {R"()", R"({)", R"(7)", R"("strange")", R"({"name": "r"})", R"([])",
        R"([["null", "int"], "long"])", R"({"type": "record", "name": "r"})",
        R"({"type": "record", "fields": []})", R"({"type": "array"})", R"({"type": "map"})",
        R"({"type": "fixed", "name": "f"})", R"({"type": "fixed", "name": "f", "size": -1})",
        R"({"type": "enum", "name": "e"})", R"({"type": "enum", "name": "e", "symbols": [1]})",
        R"({"type": "record", "name": "r", "fields": [{"type": "int"}]})",
        R"({"type": "record", "name": "r", "fields": [{"name": "x"}]})",
        R"({"type": "record", "name": "r", "fields": ["x"]})", R"({"type": "union"})"}) {
    EXPECT_THAT(AvroSchema::Parse(wrong), IsError(ErrorCode::kCorruption, HasSubstr("avro schema")))
        << wrong;
  }
}

TEST(AvroSchema, RefusesTextThatNestsTooDeeply) {
  std::string deep;
  for (int i = 0; i < 10'000; ++i) {
    deep += R"({"type":"array","items":)";
  }
  EXPECT_THAT(AvroSchema::Parse(deep), IsError(ErrorCode::kCorruption));
}

TEST(AvroSchema, KnowsHowManyBytesValuesTake) {
  const auto schema = AvroSchema::Parse(R"({"type": "record", "name": "r", "fields": [
      {"name": "a", "type": "null"}, {"name": "b", "type": "double"},
      {"name": "c", "type": {"type": "fixed", "name": "f", "size": 7}},
      {"name": "d", "type": ["null", "string"]}]})");
  ASSERT_THAT(schema, IsOk());
  EXPECT_EQ(schema->root().bytes_min, 16U);
  EXPECT_FALSE(schema->root().bytes_exact);
  EXPECT_TRUE(schema->root().fields[1].type->bytes_exact);
}

void ExpectSkipped(std::string_view json, const std::string& encoded) {
  const auto schema = AvroSchema::Parse(json);
  ASSERT_THAT(schema, IsOk());
  AvroInput in(encoded);
  SkipAvro(in, schema->root());
  EXPECT_TRUE(in.ok()) << json << ": " << in.failure();
  EXPECT_EQ(in.remaining(), 0U) << json;
  // Every shorter input ends too early, and says so.
  for (std::size_t size = 0; size < encoded.size(); ++size) {
    AvroInput cut(std::string_view(encoded).substr(0, size));
    SkipAvro(cut, schema->root());
    EXPECT_FALSE(cut.ok()) << json << " " << size;
  }
}

TEST(SkipAvro, ReadsPastValuesOfEveryKind) {
  ExpectSkipped(R"("null")", "");
  ExpectSkipped(R"("boolean")", "\1");
  ExpectSkipped(R"("int")", "\xfe\xff\xff\xff\x0f");
  ExpectSkipped(R"("long")", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  ExpectSkipped(R"("float")", "1234");
  ExpectSkipped(R"("double")", "12345678");
  ExpectSkipped(R"("bytes")", "\6abc");
  ExpectSkipped(R"("string")", "\0"s);
  ExpectSkipped(R"({"type": "fixed", "name": "f", "size": 3})", "abc");
  ExpectSkipped(R"({"type": "enum", "name": "e", "symbols": ["A"]})", "\0"s);
  ExpectSkipped(R"(["null", "string"])", "\2\2a");
  ExpectSkipped(R"({"type": "array", "items": "long"})", "\4\6\x36\2\2\0"s);
  ExpectSkipped(R"({"type": "array", "items": "long"})",
                "\3\4\6\x36\0"s);  // A block with its size.
  ExpectSkipped(R"({"type": "map", "values": "boolean"})", "\2\2k\1\0"s);
  ExpectSkipped(R"({"type": "array", "items": "null"})", "\x80\x80\x80\x80\x80\x40\0"s);
}

TEST(SkipAvro, RefusesCountsBeyondTheBytesThere) {
  const auto schema = AvroSchema::Parse(R"({"type": "array", "items": "long"})");
  ASSERT_THAT(schema, IsOk());
  for (const std::string& hostile : {"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,
                                     "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\2\0"s, "\x14\2\2\0"s,
                                     "\1\x20\2\0"s, "\3\6\2\2\0"s}) {
    AvroInput in(hostile);
    SkipAvro(in, schema->root());
    EXPECT_FALSE(in.ok());
  }
}

TEST(SkipAvro, EndsInASchemaThatContainsItself) {
  const auto endless =
      AvroSchema::Parse(R"({"type": "record", "name": "r", "fields": [{"name": "x", "type": "r"},
      {"name": "y", "type": "r"}]})");
  ASSERT_THAT(endless, IsOk());
  AvroInput in("\0\0\0\0\0\0\0\0"sv);
  SkipAvro(in, endless->root());
  EXPECT_FALSE(in.ok());

  const auto list = AvroSchema::Parse(
      R"({"type": "record", "name": "r", "fields": [{"name": "next", "type": ["null", "r"]}]})");
  ASSERT_THAT(list, IsOk());
  AvroInput short_list("\2\2\2\0"sv);
  SkipAvro(short_list, list->root());
  EXPECT_TRUE(short_list.ok());
  const std::string long_list(10'000, '\2');
  AvroInput too_long(long_list);
  SkipAvro(too_long, list->root());
  EXPECT_FALSE(too_long.ok());
}

TEST(SkipAvro, IsNotSlowedDownByRecordsThatMultiplyThemselves) {
  // Two to the power of fifty fields, none of which has a byte.
  std::string json = R"({"type": "record", "name": "r0", "fields": []})";
  for (int i = 1; i <= 50; ++i) {
    const std::string name = "r" + std::to_string(i);
    json = R"({"type": "record", "name": ")" + name + R"(", "fields": [{"name": "a", "type": )" +
           json + R"(}, {"name": "b", "type": "r)" + std::to_string(i - 1) + R"("}]})";
  }
  const auto schema = AvroSchema::Parse(json);
  ASSERT_THAT(schema, IsOk());
  AvroInput in("");
  SkipAvro(in, schema->root());
  EXPECT_TRUE(in.ok());
}

TEST(AvroInput, ReadsNumbersOfEveryLength) {
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, std::int64_t{-64}, std::int64_t{64},
        std::int64_t{1} << 20, -(std::int64_t{1} << 35), std::int64_t{1} << 62, INT64_MAX,
        INT64_MIN}) {
    std::string encoded;
    AvroPutLong(encoded, number);
    AvroInput in(encoded);
    EXPECT_EQ(in.ReadLong(), number);
    EXPECT_TRUE(in.ok());
    EXPECT_EQ(in.remaining(), 0U);
  }
}

TEST(AvroInput, RefusesNumbersThatDoNotFit) {
  AvroInput too_long("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
  too_long.ReadLong();
  EXPECT_FALSE(too_long.ok());
  AvroInput endless("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80");
  endless.ReadLong();
  EXPECT_FALSE(endless.ok());
  AvroInput wide("\x80\x80\x80\x80\x10");
  wide.ReadInt();
  EXPECT_FALSE(wide.ok());
  AvroInput negative_length("\1abc");
  EXPECT_EQ(negative_length.ReadBytes(), "");
  EXPECT_FALSE(negative_length.ok());
  AvroInput boolean("\2");
  boolean.ReadBoolean();
  EXPECT_FALSE(boolean.ok());
}

TEST(AvroInput, YieldsNothingAfterAFailure) {
  AvroInput in("\1abcdefgh");
  in.ReadBytes();
  ASSERT_FALSE(in.ok());
  EXPECT_EQ(in.failure_offset(), 1U);
  EXPECT_EQ(in.ReadLong(), 0);
  EXPECT_EQ(in.ReadFixed(1), "");
  EXPECT_EQ(in.remaining(), 0U);
  EXPECT_EQ(in.failure_offset(), 1U);
}

}  // namespace
}  // namespace lake::iceberg
