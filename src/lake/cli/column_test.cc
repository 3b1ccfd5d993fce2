#include "lake/cli/column.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "lake/testing/matchers.h"

namespace lake::cli {
namespace {

using iceberg::FieldId;
using iceberg::Schema;
using iceberg::Type;
using iceberg::TypeKind;
using lake::testing::IsError;
using lake::testing::IsOk;
using ::testing::AllOf;
using ::testing::HasSubstr;

Schema MustParse(const std::vector<std::string>& columns) {
  Result<Schema> schema = ParseColumns(columns);
  EXPECT_THAT(schema, IsOk());
  return schema.value_or(Schema());
}

TEST(ParseColumns, ReadsEveryPrimitiveType) {
  const std::vector<std::pair<std::string, Type>> types = {
      {"boolean", Type::Boolean()},
      {"int", Type::Int()},
      {"long", Type::Long()},
      {"float", Type::Float()},
      {"double", Type::Double()},
      {"decimal(9,2)", Type::Decimal(9, 2)},
      {"decimal( 38 , 38 )", Type::Decimal(38, 38)},
      {"date", Type::Date()},
      {"time", Type::Time()},
      {"timestamp", Type::Timestamp()},
      {"timestamptz", Type::Timestamptz()},
      {"string", Type::String()},
      {"uuid", Type::Uuid()},
      {"fixed(16)", Type::Fixed(16)},
      {"fixed[16]", Type::Fixed(16)},
      {"binary", Type::Binary()},
  };
  for (const auto& [text, type] : types) {
    const Schema schema = MustParse({"c " + text});
    ASSERT_EQ(schema.fields().size(), 1) << text;
    EXPECT_EQ(schema.fields()[0].type, type) << text;
    EXPECT_FALSE(schema.fields()[0].required) << text;
  }
}

TEST(ParseColumns, RequiredFollowsTheTypeAndCaseDoesNotMatter) {
  const Schema schema =
      MustParse({"a LONG required", "b string REQUIRED", "required int", "  d\tdate  "});
  ASSERT_EQ(schema.fields().size(), 4);
  EXPECT_TRUE(schema.fields()[0].required);
  EXPECT_TRUE(schema.fields()[1].required);
  EXPECT_EQ(schema.fields()[2].name, "required");
  EXPECT_FALSE(schema.fields()[2].required);
  EXPECT_EQ(schema.fields()[3].name, "d");
}

TEST(ParseColumns, QuotedNamesMayHoldAnything) {
  const Schema schema = MustParse({R"("my ""big"" column, really" long)"});
  ASSERT_EQ(schema.fields().size(), 1);
  EXPECT_EQ(schema.fields()[0].name, "my \"big\" column, really");
}

TEST(ParseColumns, NumbersColumnsBeforeNestedFields) {
  const Schema schema =
      MustParse({"id long required", "s struct<a: int required, b list<string required>>",
                 "m map<string, decimal(5,1)>"});
  ASSERT_EQ(schema.fields().size(), 3);
  EXPECT_EQ(schema.fields()[0].id, FieldId{1});
  EXPECT_EQ(schema.fields()[1].id, FieldId{2});
  EXPECT_EQ(schema.fields()[2].id, FieldId{3});
  const Type& structure = schema.fields()[1].type;
  ASSERT_EQ(structure.kind(), TypeKind::kStruct);
  EXPECT_EQ(structure.fields()[0].id, FieldId{4});
  EXPECT_TRUE(structure.fields()[0].required);
  EXPECT_EQ(structure.fields()[1].id, FieldId{5});
  EXPECT_EQ(structure.fields()[1].type.element().id, FieldId{6});
  EXPECT_TRUE(structure.fields()[1].type.element().required);
  const Type& map = schema.fields()[2].type;
  ASSERT_EQ(map.kind(), TypeKind::kMap);
  EXPECT_EQ(map.key().id, FieldId{7});
  EXPECT_TRUE(map.key().required);
  EXPECT_EQ(map.value().id, FieldId{8});
  EXPECT_FALSE(map.value().required);
}

TEST(ParseColumns, AnUnknownTypeIsNamedWithThoseThereAre) {
  EXPECT_THAT(
      ParseColumns({"a int", "b jsonb"}),
      IsError(ErrorCode::kInvalidArgument, AllOf(HasSubstr("b jsonb"), HasSubstr("'jsonb'"),
                                                 HasSubstr("timestamptz"), HasSubstr("struct<"))));
  EXPECT_THAT(ParseColumns({"a list<intt>"}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("'intt'")));
}

TEST(ParseColumns, ATypeOfSqlIsAnsweredWithItsIcebergName) {
  EXPECT_THAT(ParseColumns({"a BIGINT"}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("called long")));
  EXPECT_THAT(ParseColumns({"a varchar(20)"}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("called string")));
}

TEST(ParseColumns, ATypeOfANewerFormatIsRefused) {
  EXPECT_THAT(ParseColumns({"a timestamp_ns"}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("format version 3")));
}

TEST(ParseColumns, TwoColumnsOfOneNameAreRefused) {
  EXPECT_THAT(ParseColumns({"a int", "a long"}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("two columns named 'a'")));
  EXPECT_THAT(ParseColumns({"s struct<x int, x int>"}), IsError(ErrorCode::kInvalidArgument));
}

TEST(ParseColumns, MalformedColumnsAreRefused) {
  for (const char* text : {"",
                           "  ",
                           "a",
                           "\"a\"",
                           "\"a int",
                           "\"\" int",
                           "a int required extra",
                           "a int,",
                           "a decimal",
                           "a decimal(9)",
                           "a decimal(0,0)",
                           "a decimal(39,1)",
                           "a decimal(5,6)",
                           "a decimal(5,-1)",
                           "a fixed",
                           "a fixed(0)",
                           "a fixed(x)",
                           "a fixed[4)",
                           "a list",
                           "a list<>",
                           "a list<int",
                           "a map<int>",
                           "a map<int,>",
                           "a struct<>",
                           "a struct<b>",
                           "a struct<b int",
                           "a int(3)",
                           "a unknown",
                           "a variant"}) {
    EXPECT_THAT(ParseColumns({text}), IsError(ErrorCode::kInvalidArgument)) << text;
  }
}

TEST(ParseColumns, DeepNestingIsRefusedRatherThanFollowed) {
  std::string text = "a ";
  for (int i = 0; i < 100000; ++i) {
    text += "list<";
  }
  EXPECT_THAT(ParseColumns({text}), IsError(ErrorCode::kInvalidArgument, HasSubstr("deeper")));
}

TEST(TypeText, IsWhatParseColumnsReads) {
  for (const char* text :
       {"long", "decimal(9, 2)", "fixed(16)", "list<string required>", "map<string, list<int>>",
        "struct<id long required, \"a b\" struct<x date>>"}) {
    const Schema schema = MustParse({std::string("c ") + text});
    ASSERT_EQ(schema.fields().size(), 1) << text;
    const std::string printed = TypeText(schema.fields()[0].type);
    const Schema again = MustParse({"c " + printed});
    ASSERT_EQ(again.fields().size(), 1) << printed;
    EXPECT_EQ(again.fields()[0].type, schema.fields()[0].type) << printed;
  }
  EXPECT_EQ(
      TypeText(MustParse({"c struct<id: long required, tags: list<string>>"}).fields()[0].type),
      "struct<id long required, tags list<string>>");
}

TEST(ParseColumns, RefusesNamesThatSqlCannotTellApart) {
  EXPECT_THAT(ParseColumns({"a int", "a long"}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("two columns named 'a'")));
  EXPECT_THAT(ParseColumns({"a int", "A long"}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("by case")));
  EXPECT_THAT(ParseColumns({"l list<map<string, struct<a int, A int>>>"}),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("by case")));
  EXPECT_TRUE(ParseColumns({"a int", "b struct<a int>"}).has_value());
}

}  // namespace
}  // namespace lake::cli
