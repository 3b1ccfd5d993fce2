#include "lake/iceberg/type.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/testing/matchers.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOkAnd;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Type, TextOfEveryPlainTypeParsesBackToIt) {
  for (const std::string_view text : {"unknown",
                                      "boolean",
                                      "int",
                                      "long",
                                      "float",
                                      "double",
                                      "date",
                                      "time",
                                      "timestamp",
                                      "timestamptz",
                                      "timestamp_ns",
                                      "timestamptz_ns",
                                      "string",
                                      "uuid",
                                      "binary",
                                      "variant",
                                      "geometry",
                                      "geography",
                                      "decimal(9,2)",
                                      "decimal(38,38)",
                                      "decimal(1,0)",
                                      "fixed[16]",
                                      "fixed[0]",
                                      "fixed[2147483647]",
                                      "geometry(srid:4326)",
                                      "geography(OGC:CRS84, karney)",
                                      "geography(srid:1)"}) {
    const Result<Type> type = Type::Parse(text);
    ASSERT_TRUE(type.has_value()) << text << ": " << type.error().message();
    EXPECT_EQ(type->ToString(), text);
    EXPECT_FALSE(type->is_nested());
  }
}

TEST(Type, ParametersMayHaveSpacesAndPrintWithout) {
  EXPECT_THAT(Type::Parse("decimal(9, 2)"), IsOkAnd(Type::Decimal(9, 2)));
  EXPECT_THAT(Type::Parse("  decimal ( 9 ,2 )  "), IsOkAnd(Type::Decimal(9, 2)));
  EXPECT_THAT(Type::Parse("fixed[ 16 ]"), IsOkAnd(Type::Fixed(16)));
  EXPECT_THAT(Type::Parse("geography( EPSG:4326 ,spherical )"),
              IsOkAnd(Type::Geography("EPSG:4326", "spherical")));
}

TEST(Type, ParsedParametersAreThere) {
  const Type decimal = Type::Parse("decimal(38,10)").value();
  EXPECT_EQ(decimal.precision(), 38);
  EXPECT_EQ(decimal.scale(), 10);
  EXPECT_EQ(Type::Parse("fixed[7]").value().length(), 7);
  const Type geography = Type::Parse("geography(a:b, thomas)").value();
  EXPECT_EQ(geography.crs(), "a:b");
  EXPECT_EQ(geography.algorithm(), "thomas");
}

TEST(Type, RefusesTextThatIsNoType) {
  for (const std::string_view text : {"",
                                      " ",
                                      "integer",
                                      "struct",
                                      "list",
                                      "map",
                                      "decimal",
                                      "decimal(9)",
                                      "decimal(9,2",
                                      "decimal[9,2]",
                                      "decimal(9,2,1)",
                                      "decimal(-1,0)",
                                      "decimal(9,-2)",
                                      "decimal(99999999999999999999,2)",
                                      "decimal(a,b)",
                                      "decimal(,)",
                                      "fixed",
                                      "fixed(16)",
                                      "fixed[]",
                                      "fixed[-1]",
                                      "fixed[2147483648]",
                                      "fixed[1 6]",
                                      "fixed[16]x",
                                      "geometry()",
                                      "geometry(a",
                                      "geography()",
                                      "geography(a, flat)",
                                      "geography(, karney)",
                                      "long(1)",
                                      "(",
                                      "[",
                                      "timestamp(6)"}) {
    EXPECT_THAT(Type::Parse(text), IsError(ErrorCode::kInvalidArgument)) << text;
  }
}

TEST(Type, RefusesDecimalsOutOfRange) {
  for (const std::string_view text : {"decimal(0,0)", "decimal(39,2)", "decimal(2,3)"}) {
    EXPECT_THAT(Type::Parse(text), IsError(ErrorCode::kInvalidArgument, HasSubstr("precision")))
        << text;
  }
}

TEST(Type, AnErrorRepeatsOnlyTheBeginningOfALongText) {
  const std::string text(100'000, 'x');
  const Result<Type> type = Type::Parse(text);
  ASSERT_THAT(type, IsError(ErrorCode::kInvalidArgument));
  EXPECT_LT(type.error().message().size(), 300U);
}

TEST(Type, NestedTypesNameTheirPartsAsTheFormatDoes) {
  const Type list = Type::List(FieldId{3}, Type::String(), true);
  EXPECT_EQ(list.element().name, "element");
  EXPECT_EQ(list.element().id, FieldId{3});
  EXPECT_TRUE(list.element().required);
  const Type map = Type::Map(FieldId{4}, Type::String(), FieldId{5}, list, false);
  EXPECT_EQ(map.key().name, "key");
  EXPECT_TRUE(map.key().required);
  EXPECT_EQ(map.value().name, "value");
  EXPECT_FALSE(map.value().required);
  EXPECT_EQ(map.value().type, list);
  EXPECT_THAT(map.fields(), SizeIs(2));
  const Type row =
      Type::Struct({{.id = FieldId{1}, .name = "id", .required = true, .type = Type::Long()},
                    {.id = FieldId{2}, .name = "m", .type = map}});
  EXPECT_EQ(row.ToString(),
            "struct<1: id: required long, 2: m: optional map<string, list<string>>>");
}

TEST(Type, EqualityLooksInsideNestedTypes) {
  const auto row = [](FieldId id, bool required) {
    return Type::Struct(
        {{.id = id, .name = "a", .required = required, .type = Type::Decimal(9, 2)}});
  };
  EXPECT_EQ(row(FieldId{1}, true), row(FieldId{1}, true));
  EXPECT_NE(row(FieldId{1}, true), row(FieldId{2}, true));
  EXPECT_NE(row(FieldId{1}, true), row(FieldId{1}, false));
  EXPECT_NE(Type::Decimal(9, 2), Type::Decimal(9, 3));
  EXPECT_NE(Type::Fixed(9), Type::Decimal(9, 0));
  EXPECT_NE(Type::List(FieldId{1}, Type::Int(), true), Type::Struct({}));
  EXPECT_NE(Type::Geometry(""), Type::Geometry("a"));
}

TEST(Type, OnlyTypesOfV3NeedIt) {
  EXPECT_EQ(MinFormatVersion(TypeKind::kTimestampNs), 3);
  EXPECT_EQ(MinFormatVersion(TypeKind::kVariant), 3);
  EXPECT_EQ(MinFormatVersion(TypeKind::kUnknown), 3);
  EXPECT_EQ(MinFormatVersion(TypeKind::kTimestamp), 1);
  EXPECT_EQ(MinFormatVersion(TypeKind::kMap), 1);
}

}  // namespace
}  // namespace lake::iceberg
