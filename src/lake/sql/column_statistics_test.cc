#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/iceberg/value_bounds.h"
#include "lake/sql/column_statistics_internal.h"
#include "lake/sql/duckdb_internal.h"
#include "lake/testing/matchers.h"

namespace lake::sql {
namespace {

using duckdb::ExpressionType;
using iceberg::FieldId;
using iceberg::Type;
using iceberg::Value;

struct Case {
  const char* type;
  const char* text;  // As DuckDB prints it.
  Value value;
};

TEST(ColumnStatistics, ReadsEveryTypeAsDuckDbPrintsIt) {
  const std::string uuid = {'\x12', '\x3e', '\x45', '\x67', '\xe8', '\x9b', '\x12', '\xd3',
                            '\xa4', '\x56', '\x42', '\x66', '\x14', '\x17', '\x40', '\x00'};
  const Case cases[] = {
      {"boolean", "true", true},
      {"int", "-7", std::int32_t{-7}},
      {"long", "9223372036854775807", std::int64_t{9223372036854775807}},
      {"float", "0.1", 0.1F},
      {"double", "0.1", 0.1},
      {"double", "1e+300", 1e300},
      {"double", "-inf", -std::numeric_limits<double>::infinity()},
      {"decimal(4,2)", "-1.25", iceberg::Decimal{-125}},
      {"decimal(9,2)", "1.25", iceberg::Decimal{125}},
      {"decimal(18,2)", "1.25", iceberg::Decimal{125}},
      {"decimal(38,2)", "-1.25", iceberg::Decimal{-125}},
      {"date", "2024-01-01", std::int32_t{19723}},
      {"date", "0044-03-15 (BC)", std::int32_t{-735160}},
      {"time", "00:00:00.5", std::int64_t{500000}},
      {"timestamp", "1970-01-01 00:00:01", std::int64_t{1000000}},
      {"timestamptz", "1970-01-01 00:00:01+00", std::int64_t{1000000}},
      {"timestamp_ns", "1970-01-01 00:00:00.000000001", std::int64_t{1}},
      {"string", "a\"b", std::string("a\"b")},
      {"uuid", "123e4567-e89b-12d3-a456-426614174000", uuid},
      {"binary", "AA00", std::string("\xAA\0", 2)},
      {"binary", "", std::string()},
  };
  for (const auto& [type, text, value] : cases) {
    const auto parsed = ParseStatistic(*Type::Parse(type), text);
    ASSERT_TRUE(parsed.has_value()) << type << " " << text;
    EXPECT_EQ(*parsed, value) << type << " " << text;
  }
}

TEST(ColumnStatistics, SaysNothingAboutTextItCannotRead) {
  for (const auto& [type, text] : {std::pair{"int", "x"},
                                   {"int", "2147483648"},
                                   {"binary", "A"},
                                   {"binary", "zz"},
                                   {"uuid", "1"},
                                   {"date", "soon"},
                                   {"decimal(4,2)", "1234567"}}) {
    EXPECT_EQ(ParseStatistic(*Type::Parse(type), text), std::nullopt) << type << " " << text;
  }
}

TEST(ColumnStatistics, ValuesSurviveTheWayToDuckDbAndBack) {
  const Case cases[] = {
      {"int", "7", std::int32_t{7}},
      {"decimal(4,2)", "-1.25", iceberg::Decimal{-125}},
      {"decimal(38,2)", "-1.25", iceberg::Decimal{-125}},
      {"date", "2024-01-01", std::int32_t{19723}},
      {"timestamp", "1970-01-01 00:00:01", std::int64_t{1000000}},
      {"timestamp_ns", "1970-01-01 00:00:00.000000001", std::int64_t{1}},
      {"string", "x", std::string("x")},
      {"binary", "\\xAA\\x00", std::string("\xAA\0", 2)},
  };
  for (const auto& [type, text, value] : cases) {
    EXPECT_EQ(ToDuckDbValue(*Type::Parse(type), value).ToString(), text) << type;
  }
  EXPECT_TRUE(ToDuckDbValue(Type::Int(), Value()).IsNull());
}

// A file of one column with the bounds of these values.
iceberg::DataFile FileWith(const Type& type, const std::optional<Value>& min,
                           const std::optional<Value>& max) {
  iceberg::DataFile file;
  file.record_count = 10;
  const FieldId id{1};
  if (min.has_value()) {
    file.lower_bounds.Set(id, **iceberg::LowerBound(type, *min, {}));
  }
  if (max.has_value()) {
    if (auto bound = *iceberg::UpperBound(type, *max, {}); bound.has_value()) {
      file.upper_bounds.Set(id, *bound);
    }
  }
  return file;
}

bool IsExcluded(const Type& type, const iceberg::DataFile& file, ExpressionType comparison,
                duckdb::Value constant) {
  const auto schema =
      *iceberg::Schema::Make({.fields = {{.id = FieldId{1}, .name = "c", .type = type}}});
  duckdb::TableFilterSet filters;
  filters.filters.emplace(
      0, duckdb::make_uniq<duckdb::ConstantFilter>(comparison, std::move(constant)));
  return Excludes(schema, file, filters);
}

TEST(ColumnStatistics, ExcludesAFileOnlyWhenItsBoundsSaySo) {
  const auto file = FileWith(Type::Int(), Value(10), Value(20));
  const auto excluded = [&](ExpressionType comparison, int constant) {
    return IsExcluded(Type::Int(), file, comparison, duckdb::Value::INTEGER(constant));
  };
  EXPECT_TRUE(excluded(ExpressionType::COMPARE_EQUAL, 9));
  EXPECT_FALSE(excluded(ExpressionType::COMPARE_EQUAL, 10));
  EXPECT_FALSE(excluded(ExpressionType::COMPARE_EQUAL, 20));
  EXPECT_TRUE(excluded(ExpressionType::COMPARE_EQUAL, 21));
  EXPECT_TRUE(excluded(ExpressionType::COMPARE_GREATERTHAN, 20));
  EXPECT_FALSE(excluded(ExpressionType::COMPARE_GREATERTHANOREQUALTO, 20));
  EXPECT_TRUE(excluded(ExpressionType::COMPARE_LESSTHAN, 10));
  EXPECT_FALSE(excluded(ExpressionType::COMPARE_NOTEQUAL, 10));
}

TEST(ColumnStatistics, ExcludesNothingWithoutBothBounds) {
  for (const auto& file : {FileWith(Type::Int(), std::nullopt, std::nullopt),
                           FileWith(Type::Int(), Value(10), std::nullopt),
                           FileWith(Type::Int(), std::nullopt, Value(20))}) {
    EXPECT_FALSE(
        IsExcluded(Type::Int(), file, ExpressionType::COMPARE_EQUAL, duckdb::Value::INTEGER(1000)));
  }
}

TEST(ColumnStatistics, ExcludesNothingByABoundThatCannotBeRead) {
  auto file = FileWith(Type::Int(), Value(10), Value(20));
  file.upper_bounds.Set(FieldId{1}, "xyz");
  EXPECT_FALSE(
      IsExcluded(Type::Int(), file, ExpressionType::COMPARE_EQUAL, duckdb::Value::INTEGER(1000)));
}

TEST(ColumnStatistics, ExcludesByFloatingBoundsOnlyWhenThereIsNoNan) {
  auto file = FileWith(Type::Double(), Value(1.0), Value(2.0));
  const auto excluded = [&] {
    return IsExcluded(Type::Double(), file, ExpressionType::COMPARE_GREATERTHAN,
                      duckdb::Value::DOUBLE(100));
  };
  EXPECT_FALSE(excluded());  // Not counted.
  file.nan_value_counts.Set(FieldId{1}, 1);
  EXPECT_FALSE(excluded());
  file.nan_value_counts.Set(FieldId{1}, 0);
  EXPECT_TRUE(excluded());
}

TEST(ColumnStatistics, TruncatedTextBoundsStillBound) {
  // The last of sixteen code points cannot be raised within a byte: it becomes the next code point.
  const std::string smallest = "aaaaaaaaaaaaaaaaaaaaaaaa";
  const std::string greatest =
      std::string("zzzzzzzzzzzzzzz") + "\xC3\xBF" + "tail";  // z × 15, ÿ, tail
  const auto file = FileWith(Type::String(), Value(smallest), Value(greatest));
  EXPECT_EQ(*file.lower_bounds.Find(FieldId{1}), smallest.substr(0, 16));
  EXPECT_EQ(*file.upper_bounds.Find(FieldId{1}), std::string("zzzzzzzzzzzzzzz") + "\xC4\x80");
  for (const std::string& inside : {smallest, greatest, std::string("m")}) {
    EXPECT_FALSE(
        IsExcluded(Type::String(), file, ExpressionType::COMPARE_EQUAL, duckdb::Value(inside)))
        << inside;
  }
  EXPECT_TRUE(IsExcluded(Type::String(), file, ExpressionType::COMPARE_EQUAL, duckdb::Value("A")));
  // Without a shorter upper bound there is none.
  std::string top;
  for (int i = 0; i < 20; ++i) {
    top += "\xF4\x8F\xBF\xBF";
  }
  const auto open = FileWith(Type::String(), Value(std::string("b")), Value(top));
  EXPECT_EQ(open.upper_bounds.Find(FieldId{1}), nullptr);
  EXPECT_FALSE(IsExcluded(Type::String(), open, ExpressionType::COMPARE_EQUAL, duckdb::Value("a")));
}

TEST(ColumnStatistics, KnowsFilesOfNullsAlone) {
  const auto schema =
      *iceberg::Schema::Make({.fields = {{.id = FieldId{1}, .name = "c", .type = Type::Int()}}});
  iceberg::DataFile file;
  file.record_count = 10;
  file.null_value_counts.Set(FieldId{1}, 10);
  EXPECT_FALSE(StatisticsOf(schema.fields()[0], file).CanHaveNoNull());
  file.null_value_counts.Set(FieldId{1}, 0);
  EXPECT_FALSE(StatisticsOf(schema.fields()[0], file).CanHaveNull());
  file.null_value_counts.Set(FieldId{1}, 3);
  EXPECT_TRUE(StatisticsOf(schema.fields()[0], file).CanHaveNull());
  EXPECT_TRUE(StatisticsOf(schema.fields()[0], file).CanHaveNoNull());
}

}  // namespace
}  // namespace lake::sql
