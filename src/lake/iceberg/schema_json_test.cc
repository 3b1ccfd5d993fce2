#include "lake/iceberg/schema_json.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/type.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;
using ::testing::HasSubstr;

// Returns a schema whose single column has the type that `type` is the JSON of.
std::string Column(std::string_view type) {
  return R"({"type":"struct","fields":[{"id":1,"name":"c","required":false,"type":)" +
         std::string(type) + "}]}";
}

constexpr std::string_view kEverything =
    R"({"type":"struct","schema-id":4,"fields":[)"
    R"({"id":1,"name":"id","required":true,"type":"long","doc":"the key"},)"
    R"({"id":2,"name":"point","required":false,"type":{"type":"struct","fields":[)"
    R"({"id":3,"name":"x","required":true,"type":"double","initial-default":1.5E0,"write-default":2,"color":"red"}],)"
    R"("new":[1,{"deep":null}]}},)"
    R"x({"id":4,"name":"list","required":false,"type":{"type":"list","element-id":5,"element":"decimal(9,2)",)x"
    R"("element-required":true,"order":"none"}},)"
    R"({"id":6,"name":"map","required":false,"type":{"type":"map","key-id":7,"key":"string","value-id":8,)"
    R"("value":"uuid","value-required":false}}],)"
    R"("identifier-field-ids":[1],"comment":"later"})";

TEST(SchemaJson, WhatIsReadIsWrittenAgainMemberForMember) {
  const Result<Schema> schema = ParseSchema(kEverything);
  ASSERT_THAT(schema, IsOk());
  EXPECT_EQ(WriteSchema(*schema), kEverything);
}

TEST(SchemaJson, EveryMemberArrives) {
  const Schema schema = ParseSchema(kEverything).value();
  EXPECT_EQ(schema.schema_id(), SchemaId{4});
  EXPECT_EQ(schema.fields()[0].doc, "the key");
  EXPECT_EQ(schema.identifier_field_ids(), std::vector{FieldId{1}});
  EXPECT_EQ(schema.unknown(), (UnknownMembers{{"comment", JsonText{R"("later")"}}}));
  const NestedField& x = *schema.FindField(FieldId{3});
  EXPECT_EQ(x.initial_default, JsonText{"1.5E0"});
  EXPECT_EQ(x.write_default, JsonText{"2"});
  EXPECT_EQ(x.unknown, (UnknownMembers{{"color", JsonText{R"("red")"}}}));
  EXPECT_EQ(schema.FindField(FieldId{2})->type.unknown(),
            (UnknownMembers{{"new", JsonText{R"([1,{"deep":null}])"}}}));
  EXPECT_EQ(schema.FindField(FieldId{4})->type,
            Type::List(FieldId{5}, Type::Decimal(9, 2), true, {{"order", JsonText{R"("none")"}}}));
  EXPECT_EQ(schema.FindField(FieldId{6})->type,
            Type::Map(FieldId{7}, Type::String(), FieldId{8}, Type::Uuid(), false));
}

TEST(SchemaJson, ADefaultKeepsItsExactNumber) {
  for (const std::string_view number :
       {"8.5E-1", "3.14159E0", "1.7976931348623157E308", "5E-324", "2.225073858507201E-308",
        "9007199254740993", "-9223372036854775808", "1.2345678901234568E16"}) {
    const std::string text =
        R"({"type":"struct","schema-id":0,"fields":[{"id":1,"name":"c","required":false,"type":"double",)"
        R"("write-default":)" +
        std::string(number) + "}]}";
    const Result<Schema> schema = ParseSchema(text);
    ASSERT_THAT(schema, IsOk()) << number;
    EXPECT_EQ(WriteSchema(*schema), text);
  }
}

TEST(SchemaJson, ANullMemberCountsAsMissing) {
  const Result<Schema> schema = ParseSchema(
      R"({"type":"struct","schema-id":null,"identifier-field-ids":null,"fields":[{"id":1,"name":"c","required":false,)"
      R"("type":"int","doc":null,"initial-default":null,"write-default":null}]})");
  ASSERT_THAT(schema, IsOk());
  EXPECT_EQ(
      *schema,
      Schema::Make({.fields = {{.id = FieldId{1}, .name = "c", .type = Type::Int()}}}).value());
}

TEST(SchemaJson, AnErrorSaysWhere) {
  EXPECT_THAT(
      ParseSchema(Column(
          R"({"type":"struct","fields":[{"id":2,"name":"d","required":true,"type":"strin"}]})")),
      IsError(
          ErrorCode::kInvalidArgument,
          HasSubstr("schema: fields[0]: field 'c': fields[0]: field 'd': unknown type 'strin'")));
}

TEST(SchemaJson, RefusesWhatIsNoSchema) {
  for (const std::string_view text :
       {"", "null", "[]", "3", "\"struct\"", "{", "{}", R"({"type":"struct"})",
        R"({"type":"list","fields":[]})", R"({"type":3,"fields":[]})",
        R"({"type":"struct","fields":{}})", R"({"type":"struct","fields":[1]})",
        R"({"type":"struct","fields":[],"schema-id":"1"})",
        R"({"type":"struct","fields":[],"schema-id":2147483648})",
        R"({"type":"struct","fields":[],"schema-id":1.5})",
        R"({"type":"struct","fields":[],"identifier-field-ids":["a"]})",
        R"({"type":"struct","fields":[],"identifier-field-ids":3})",
        "{\"type\":\"struct\",\"fields\":[]} x",
        "{\"type\":\"struct\",\"fields\":[],\"x\":\"\xff\"}"}) {
    EXPECT_THAT(ParseSchema(text), IsError(ErrorCode::kInvalidArgument)) << text;
  }
}

TEST(SchemaJson, RefusesFieldsThatLackAMemberOrHaveItOfAnotherType) {
  for (const std::string_view field :
       {R"({"name":"c","required":true,"type":"int"})", R"({"id":1,"required":true,"type":"int"})",
        R"({"id":1,"name":"c","type":"int"})", R"({"id":1,"name":"c","required":true})",
        R"({"id":"1","name":"c","required":true,"type":"int"})",
        R"({"id":1.0,"name":"c","required":true,"type":"int"})",
        R"({"id":4294967297,"name":"c","required":true,"type":"int"})",
        R"({"id":99999999999999999999,"name":"c","required":true,"type":"int"})",
        R"({"id":1,"name":7,"required":true,"type":"int"})",
        R"({"id":1,"name":"c","required":"yes","type":"int"})",
        R"({"id":1,"name":"c","required":true,"type":7})",
        R"({"id":1,"name":"c","required":true,"type":null})",
        R"({"id":1,"name":"c","required":true,"type":"int","doc":7})"}) {
    EXPECT_THAT(ParseSchema(R"({"type":"struct","fields":[)" + std::string(field) + "]}"),
                IsError(ErrorCode::kInvalidArgument))
        << field;
  }
}

TEST(SchemaJson, RefusesNestedTypesThatAreIncomplete) {
  for (const std::string_view type :
       {R"({})", R"({"type":"set"})", R"({"type":"struct"})",
        R"({"type":"list","element-id":2,"element":"int"})",
        R"({"type":"list","element-id":2,"element-required":true})",
        R"({"type":"list","element":"int","element-required":true})",
        R"({"type":"map","key-id":2,"key":"int","value-id":3,"value":"int"})",
        R"({"type":"map","key-id":2,"key":"int","value":"int","value-required":true})",
        R"(["int"])"}) {
    EXPECT_THAT(ParseSchema(Column(type)), IsError(ErrorCode::kInvalidArgument)) << type;
  }
}

TEST(SchemaJson, NestsAsDeeplyAsASchemaMayAndNoDeeper) {
  const auto nested = [](std::size_t levels) {
    std::string type;
    for (std::size_t level = 2; level <= levels; ++level) {
      type += R"({"type":"struct","fields":[{"id":)" + std::to_string(level) +
              R"(,"name":"s","required":false,"type":)";
    }
    type += "\"int\"";
    for (std::size_t level = 2; level <= levels; ++level) {
      type += "}]}";
    }
    return Column(type);
  };
  const Result<Schema> deepest = ParseSchema(nested(kTypeDepthMax));
  ASSERT_THAT(deepest, IsOk());
  EXPECT_EQ(ParseSchema(WriteSchema(*deepest)).value(), *deepest);
  EXPECT_THAT(ParseSchema(nested(kTypeDepthMax + 1)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("deeper")));
  EXPECT_THAT(ParseSchema(nested(100'000)),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("deep")));
}

}  // namespace
}  // namespace lake::iceberg
