#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/sql/duckdb_internal.h"
#include "lake/sql/type_mapping_internal.h"
#include "lake/testing/matchers.h"

namespace lake::sql {
namespace {

using duckdb::LogicalType;
using iceberg::FieldId;
using iceberg::Type;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::IsOk;

std::string ToDuckDb(const Type& type) {
  const auto result = ToDuckDbType(type);
  return result.has_value() ? result->ToString()
                            : std::string(ErrorCodeName(result.error().code()));
}

std::string ToIceberg(const LogicalType& type) {
  std::int32_t next_id = 10;
  const auto result = ToIcebergType(type, next_id);
  return result.has_value() ? result->ToString() : result.error().ToString();
}

iceberg::NestedField Named(std::int32_t id, std::string name, Type type) {
  return {.id = FieldId{id}, .name = std::move(name), .type = std::move(type)};
}

TEST(TypeMapping, ReadsEveryIcebergType) {
  const std::pair<const char*, const char*> cases[] = {
      {"boolean", "BOOLEAN"},
      {"int", "INTEGER"},
      {"long", "BIGINT"},
      {"float", "FLOAT"},
      {"double", "DOUBLE"},
      {"decimal(9,2)", "DECIMAL(9,2)"},
      {"decimal(38,10)", "DECIMAL(38,10)"},
      {"date", "DATE"},
      {"time", "TIME"},
      {"timestamp", "TIMESTAMP"},
      {"timestamptz", "TIMESTAMP WITH TIME ZONE"},
      {"timestamp_ns", "TIMESTAMP_NS"},
      {"string", "VARCHAR"},
      {"uuid", "UUID"},
      {"fixed[16]", "BLOB"},
      {"binary", "BLOB"},
      {"timestamptz_ns", "unimplemented"},
      {"unknown", "unimplemented"},
      {"variant", "unimplemented"},
      {"geometry", "unimplemented"},
      {"geography", "unimplemented"},
  };
  for (const auto& [iceberg_type, duckdb_type] : cases) {
    EXPECT_EQ(ToDuckDb(*Type::Parse(iceberg_type)), duckdb_type) << iceberg_type;
  }
  EXPECT_EQ(ToDuckDb(Type::Struct({Named(1, "a b", Type::Int()),
                                   Named(2, "c", Type::List(FieldId{3}, Type::String(), false))})),
            "STRUCT(\"a b\" INTEGER, c VARCHAR[])");
  EXPECT_EQ(ToDuckDb(Type::Map(FieldId{1}, Type::String(), FieldId{2}, Type::Long(), false)),
            "MAP(VARCHAR, BIGINT)");
}

TEST(TypeMapping, RefusesStructsThatSqlCannotShow) {
  EXPECT_THAT(ToDuckDbType(Type::Struct({Named(1, "a", Type::Int()), Named(2, "A", Type::Int())})),
              IsError(ErrorCode::kUnimplemented, HasSubstr("case")));
  EXPECT_THAT(ToDuckDbType(Type::Struct({})), IsError(ErrorCode::kUnimplemented));
}

TEST(TypeMapping, KeepsEveryDuckDbTypeThatHasAPlace) {
  const std::pair<LogicalType, const char*> cases[] = {
      {LogicalType::BOOLEAN, "boolean"},
      {LogicalType::TINYINT, "int"},
      {LogicalType::SMALLINT, "int"},
      {LogicalType::INTEGER, "int"},
      {LogicalType::UTINYINT, "int"},
      {LogicalType::USMALLINT, "int"},
      {LogicalType::UINTEGER, "long"},
      {LogicalType::BIGINT, "long"},
      {LogicalType::UBIGINT, "decimal(20,0)"},
      {LogicalType::FLOAT, "float"},
      {LogicalType::DOUBLE, "double"},
      {LogicalType::DECIMAL(12, 3), "decimal(12,3)"},
      {LogicalType::DATE, "date"},
      {LogicalType::TIME, "time"},
      {LogicalType::TIMESTAMP, "timestamp"},
      {LogicalType::TIMESTAMP_S, "timestamp"},
      {LogicalType::TIMESTAMP_MS, "timestamp"},
      {LogicalType::TIMESTAMP_NS, "timestamp"},
      {LogicalType::TIMESTAMP_TZ, "timestamptz"},
      {LogicalType::VARCHAR, "string"},
      {LogicalType::JSON(), "string"},
      {LogicalType::UUID, "uuid"},
      {LogicalType::BLOB, "binary"},
      {LogicalType::LIST(LogicalType::TINYINT), "list<int>"},
      {LogicalType::ARRAY(LogicalType::FLOAT, 3), "list<float>"},
      {LogicalType::MAP(LogicalType::VARCHAR, LogicalType::UINTEGER), "map<string, long>"},
      {LogicalType::STRUCT(
           {{"a", LogicalType::INTEGER}, {"b", LogicalType::STRUCT({{"c", LogicalType::DATE}})}}),
       "struct<10: a: optional int, 11: b: optional struct<12: c: optional date>>"},
  };
  for (const auto& [duckdb_type, iceberg_type] : cases) {
    EXPECT_EQ(ToIceberg(duckdb_type), iceberg_type) << duckdb_type.ToString();
  }
}

TEST(TypeMapping, SaysWhyATypeHasNoPlace) {
  for (const LogicalType type : {LogicalType::HUGEINT, LogicalType::UHUGEINT, LogicalType::INTERVAL,
                                 LogicalType::BIT, LogicalType::TIME_TZ, LogicalType::SQLNULL}) {
    EXPECT_THAT(
        ToIcebergSchema("in.parquet", {"odd"}, {LogicalType::LIST(type)}),
        IsError(ErrorCode::kUnimplemented,
                AllOf(HasSubstr("in.parquet"), HasSubstr("column odd"), HasSubstr("type "))))
        << type.ToString();
  }
}

TEST(TypeMapping, NumbersColumnsFirstAndNestedFieldsAfter) {
  const auto schema = ToIcebergSchema("x", {"a", "b"},
                                      {LogicalType::LIST(LogicalType::INTEGER),
                                       LogicalType::MAP(LogicalType::VARCHAR, LogicalType::DATE)});
  ASSERT_THAT(schema, IsOk());
  std::string ids;
  for (const iceberg::NestedField* field : schema->all_fields()) {
    ids += fmt::format("{} {}\n", std::to_underlying(field->id), *schema->FindName(field->id));
  }
  EXPECT_EQ(ids, "1 a\n3 a.element\n2 b\n4 b.key\n5 b.value\n");
  EXPECT_THAT(ToIcebergSchema("x", {"a", "a"}, {LogicalType::DATE, LogicalType::DATE}),
              IsError(ErrorCode::kInvalidArgument));
}

TEST(TypeMapping, WritesWhatItReadsButForFixed) {
  const auto check = [](const Type& type) {
    return CheckWritable(
        *iceberg::Schema::Make({.fields = {Named(1, "c", Type::List(FieldId{2}, type, false))}}));
  };
  EXPECT_THAT(check(Type::Decimal(38, 2)), IsOk());
  EXPECT_THAT(check(Type::Fixed(4)), IsError(ErrorCode::kUnimplemented, HasSubstr("column c")));
  EXPECT_THAT(check(Type::TimestamptzNs()),
              IsError(ErrorCode::kUnimplemented, HasSubstr("column c")));
}

}  // namespace
}  // namespace lake::sql
