#include "lake/sql/parquet_data_file_writer.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/iceberg/value.h"
#include "lake/sql/sql_fixture_test_internal.h"
#include "lake/testing/faulty_objstore.h"
#include "lake/testing/matchers.h"

namespace lake::sql {
namespace {

using engine::InputFormat;
using iceberg::FieldId;
using iceberg::Type;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::IsOk;
using testing::IsOkAnd;

class Writer : public SqlFixture {
 protected:
  // Stages one input of the given content.
  Result<engine::StagedFiles> StageText(const iceberg::Schema& schema, InputFormat format,
                                        std::string_view content) {
    path_ = WriteFile(fmt::format("input-{}.txt", ++files_made_), content);
    return StageInputs(schema, {{.path = path_, .format = format}});
  }

  // Infers a schema from a CSV file of the given content.
  Result<iceberg::Schema> InferCsv(std::string_view content) {
    path_ = WriteFile(fmt::format("input-{}.csv", ++files_made_), content);
    return writer_->InferSchema({.path = path_, .format = InputFormat::kCsv});
  }

  // Stages the rows of a query that went through a Parquet file.
  Result<engine::StagedFiles> StageQuery(const iceberg::Schema& schema, std::string_view query) {
    path_ = WriteParquet(fmt::format("input-{}.parquet", ++files_made_), query);
    return StageInputs(schema, {{.path = path_}});
  }

  // Stages one input and returns the rows, read back through a table.
  Result<std::string> RoundTrip(const iceberg::Schema& schema,
                                const Result<engine::StagedFiles>& staged) {
    if (!staged.has_value()) {
      return std::unexpected(staged.error());
    }
    const std::string name = fmt::format("w.t{}", ++files_made_);
    tables_.Create(name, schema);
    tables_.Append(name, staged->files);
    return Query("SELECT * FROM " + name);
  }

  // Matches an error that names the last input, and says `text`.
  template <typename M>
  auto Refuses(M text) {
    return IsError(ErrorCode::kInvalidArgument,
                   AllOf(::testing::Truly([this](const std::string& message) {
                           return message.contains(path_);
                         }),
                         text));
  }

  std::string path_;  // Of the last input.
  const iceberg::Schema schema_ =
      MakeSchema({Field(1, "id", Type::Long()), Field(2, "name", Type::String()),
                  Field(3, "price", Type::Decimal(9, 2))});
};

TEST_F(Writer, KeepsTextThatLooksLikeANumber) {
  EXPECT_THAT(RoundTrip(schema_, StageText(schema_, InputFormat::kCsv,
                                           "id,name,price\n1,007,1.50\n2,,\n3,\"\",3\n")),
              IsOkAnd("1|007|1.50\n2|NULL|NULL\n3||3.00\n"));
  EXPECT_THAT(RoundTrip(schema_, StageText(schema_, InputFormat::kJson,
                                           R"({"id":1,"name":"007","price":1.5})")),
              IsOkAnd("1|007|1.50\n"));
}

TEST_F(Writer, MatchesColumnsByNameNotByPlace) {
  EXPECT_THAT(
      RoundTrip(schema_, StageText(schema_, InputFormat::kCsv, "price,NAME,id\n1.50,a,1\n")),
      IsOkAnd("1|a|1.50\n"));
  EXPECT_THAT(RoundTrip(schema_, StageText(schema_, InputFormat::kJson,
                                           R"({"Price":1.50,"name":"a","id":1})")),
              IsOkAnd("1|a|1.50\n"));
  EXPECT_THAT(RoundTrip(schema_, StageQuery(schema_, "SELECT 1.50 AS price, 'a' AS name, 1 AS id")),
              IsOkAnd("1|a|1.50\n"));
}

TEST_F(Writer, FillsAMissingColumnWithNull) {
  EXPECT_THAT(RoundTrip(schema_, StageText(schema_, InputFormat::kCsv, "id\n1\n")),
              IsOkAnd("1|NULL|NULL\n"));
  EXPECT_THAT(
      RoundTrip(schema_, StageText(schema_, InputFormat::kJson, "{\"id\":1}\n{\"name\":\"b\"}")),
      IsOkAnd("1|NULL|NULL\nNULL|b|NULL\n"));
  EXPECT_THAT(RoundTrip(schema_, StageQuery(schema_, "SELECT 1 AS id")), IsOkAnd("1|NULL|NULL\n"));
}

TEST_F(Writer, RefusesAColumnThatTheTableLacks) {
  const auto names_it = AllOf(HasSubstr("colour"), HasSubstr("id, name, price"));
  EXPECT_THAT(StageText(schema_, InputFormat::kCsv, "id,colour\n1,red\n"), Refuses(names_it));
  // Even if only the last of many rows has it.
  std::string lines;
  for (int i = 0; i < 30000; ++i) {
    lines += fmt::format("{{\"id\":{}}}\n", i);
  }
  EXPECT_THAT(StageText(schema_, InputFormat::kJson, lines + R"({"colour":"red"})"),
              Refuses(names_it));
  EXPECT_THAT(StageQuery(schema_, "SELECT 1 AS id, 'red' AS colour"), Refuses(names_it));
  EXPECT_EQ(ObjectCount(), 0U);
}

TEST_F(Writer, RefusesAnInputWithoutARequiredColumn) {
  const auto schema =
      MakeSchema({Required(1, "id", Type::Long()), Field(2, "name", Type::String())});
  const auto names_it = HasSubstr("lacks required columns: id");
  EXPECT_THAT(StageText(schema, InputFormat::kCsv, "name\na\n"), Refuses(names_it));
  EXPECT_THAT(StageText(schema, InputFormat::kJson, R"({"name":"a"})"), Refuses(names_it));
  EXPECT_THAT(StageQuery(schema, "SELECT 'a' AS name"), Refuses(names_it));
}

TEST_F(Writer, RefusesANullInARequiredColumn) {
  const auto schema =
      MakeSchema({Required(1, "id", Type::Long()), Field(2, "name", Type::String())});
  const auto names_it = AllOf(HasSubstr("column id"), HasSubstr("required"));
  EXPECT_THAT(StageText(schema, InputFormat::kCsv, "id,name\n1,a\n,b\n"), Refuses(names_it));
  EXPECT_THAT(StageText(schema, InputFormat::kJson, "{\"id\":1}\n{\"name\":\"b\"}"),
              Refuses(names_it));
  EXPECT_THAT(StageQuery(schema, "SELECT nullif(range, 1) AS id FROM range(3)"), Refuses(names_it));
  EXPECT_EQ(ObjectCount(), 0U);
  EXPECT_THAT(RoundTrip(schema, StageQuery(schema, "SELECT 1 AS id")), IsOkAnd("1|NULL\n"));
}

TEST_F(Writer, RefusesANullInARequiredFieldInside) {
  const auto schema = MakeSchema(
      {Field(1, "s", Type::Struct({Required(2, "a", Type::Int()), Field(3, "b", Type::Int())})),
       Field(4, "l",
             Type::List(FieldId{5}, Type::Struct({Required(6, "x", Type::Int())}),
                        /*element_required=*/true)),
       Field(7, "m",
             Type::Map(FieldId{8}, Type::String(), FieldId{9}, Type::Int(),
                       /*value_required=*/true))});
  const auto json = [&](std::string_view line) {
    return StageText(schema, InputFormat::kJson, line);
  };
  EXPECT_THAT(RoundTrip(schema, json("{\"s\":{\"a\":1},\"l\":[{\"x\":1}],\"m\":{\"k\":1}}\n{\"s\":"
                                     "null,\"l\":[],\"m\":{}}")),
              IsOkAnd("{'a': 1, 'b': NULL}|[{'x': 1}]|{k=1}\nNULL|[]|{}\n"));
  EXPECT_THAT(json(R"({"s":{"b":1}})"), Refuses(HasSubstr("column s")));
  EXPECT_THAT(json(R"({"l":[{"x":1},null]})"), Refuses(HasSubstr("column l")));
  EXPECT_THAT(json(R"({"l":[{"x":null}]})"), Refuses(HasSubstr("column l")));
  EXPECT_THAT(json(R"({"m":{"k":null}})"), Refuses(HasSubstr("column m")));
  EXPECT_THAT(StageQuery(schema, "SELECT [{'x': 1}, {'x': NULL}] AS l"),
              Refuses(HasSubstr("column l")));
}

struct BadValue {
  const char* type;
  const char* text;
};

TEST_F(Writer, RefusesTextThatDoesNotFitAndSaysWhere) {
  const BadValue cases[] = {
      {"int", "2147483648"},
      {"int", "1.5"},
      {"int", "abc"},
      {"long", "9223372036854775808"},
      {"long", "0.5"},
      {"float", "1e39"},
      {"double", "1e400"},
      {"double", "x"},
      {"decimal(9,2)", "1.005"},
      {"decimal(9,2)", "12345678.00"},
      {"decimal(9,2)", "1.00000000000000000000000000000000000000000001"},
      {"decimal(38,2)", "1.005"},
      {"decimal(38,2)", "1005e-3"},
      {"long", "1.0000000000000000000000001"},
      {"boolean", "maybe"},
      {"date", "2024-02-30"},
      {"date", "01/02/2024"},
      {"date", "2024-01-01 10:00:00"},
      {"time", "25:00:00"},
      {"time", "10:00:00.1234567"},
      {"timestamp", "2024-01-01 10:00:00.1234567"},
      {"timestamp", "2024-01-01 10:00:00+02:00"},
      {"timestamp", "soon"},
      {"timestamptz", "2024-01-01 10:00:00.1234567Z"},
      {"uuid", "123e4567-e89b-12d3-a456-42661417400"},
      {"binary", "\xC3\xA9"},
  };
  for (const auto& [type, text] : cases) {
    SCOPED_TRACE(fmt::format("{} {}", type, text));
    const auto schema =
        MakeSchema({Field(1, "good", Type::String()), Field(2, "bad", *Type::Parse(type))});
    const auto names_it = AllOf(HasSubstr("column bad"), HasSubstr(text));
    EXPECT_THAT(StageText(schema, InputFormat::kCsv, fmt::format("good,bad\nx,\ny,{}\n", text)),
                Refuses(names_it));
    EXPECT_THAT(StageText(schema, InputFormat::kJson,
                          fmt::format(R"({{"good":"x"}} {{"good":"y","bad":"{}"}})", text)),
                Refuses(names_it));
  }
  EXPECT_EQ(ObjectCount(), 0U);
}

TEST_F(Writer, TakesTextThatFits) {
  struct {
    const char* type;
    const char* text;
    const char* value;
  } const cases[] = {
      {"int", "-2147483648", "-2147483648"},
      {"int", "1e2", "100"},
      {"long", "9223372036854775807", "9223372036854775807"},
      {"float", "0.1", "0.1"},
      {"double", "inf", "inf"},
      {"double", "NaN", "nan"},
      {"double", "0.1", "0.1"},
      {"decimal(9,2)", "1.500", "1.50"},
      {"decimal(9,2)", "15e-1", "1.50"},
      {"decimal(38,2)", "-.50", "-0.50"},
      {"long", "7.00", "7"},
      {"decimal(38,10)", "1234567890123456789012345678.0123456789",
       "1234567890123456789012345678.0123456789"},
      {"boolean", "true", "true"},
      {"date", "2024-02-29", "2024-02-29"},
      {"date", "0001-01-01", "0001-01-01"},
      {"time", "10:00:00.123456", "10:00:00.123456"},
      {"timestamp", "2024-01-01T10:00:00.123456", "2024-01-01 10:00:00.123456"},
      {"timestamp", "9999-12-31 23:59:59", "9999-12-31 23:59:59"},
      {"timestamptz", "2024-01-01T10:00:00+02:00", "2024-01-01 08:00:00+00"},
      {"timestamptz", "2024-01-01 10:00:00", "2024-01-01 10:00:00+00"},
      {"uuid", "123E4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"},
  };

  ASSERT_THAT(Query("SET TimeZone = 'UTC'"), IsOk());
  for (const auto& [type, text, value] : cases) {
    SCOPED_TRACE(fmt::format("{} {}", type, text));
    const auto schema = MakeSchema({Field(1, "v", *Type::Parse(type))});
    EXPECT_THAT(
        RoundTrip(schema, StageText(schema, InputFormat::kCsv, fmt::format("v\n\"{}\"\n", text))),
        IsOkAnd(fmt::format("{}\n", value)));
    EXPECT_THAT(RoundTrip(schema, StageText(schema, InputFormat::kJson,
                                            fmt::format(R"({{"v":"{}"}})", text))),
                IsOkAnd(fmt::format("{}\n", value)));
  }
}

TEST_F(Writer, WidensAndChecksTheTypesOfAParquetFile) {
  struct {
    const char* type;
    const char* value;     // In the file.
    const char* expected;  // In the table; nullptr: refused.
  } const cases[] = {
      {"int", "1::TINYINT", "1"},
      {"int", "255::UTINYINT", "255"},
      {"int", "65535::USMALLINT", "65535"},
      {"int", "4294967295::UINTEGER", nullptr},
      {"int", "7::BIGINT", "7"},
      {"int", "2147483648::BIGINT", nullptr},
      {"int", "7.0::DOUBLE", "7"},
      {"int", "7.5::DOUBLE", nullptr},
      {"int", "'7'::VARCHAR", nullptr},
      {"long", "4294967295::UINTEGER", "4294967295"},
      {"long", "18446744073709551615::UBIGINT", nullptr},
      {"decimal(20,0)", "18446744073709551615::UBIGINT", "18446744073709551615"},
      {"double", "0.5::FLOAT", "0.5"},
      {"double", "9007199254740993::BIGINT", nullptr},
      {"float", "0.5::DOUBLE", "0.5"},
      {"float", "0.1::DOUBLE", nullptr},
      {"double", "'nan'::DOUBLE", "nan"},
      {"decimal(9,2)", "1.50::DECIMAL(12,4)", "1.50"},
      {"decimal(9,2)", "1.505::DECIMAL(12,4)", nullptr},
      {"string", "'a'::ENUM('a','b')", "a"},
      {"string", "1::INTEGER", nullptr},
      {"string", "'a'::BLOB", nullptr},
      {"date", "DATE '2024-01-01'", "2024-01-01"},
      {"date", "TIMESTAMP '2024-01-01 00:00:00'", "2024-01-01"},
      {"date", "TIMESTAMP '2024-01-01 00:00:01'", nullptr},
      {"timestamp", "TIMESTAMP_NS '2024-01-01 00:00:00.123456'", "2024-01-01 00:00:00.123456"},
      {"timestamp", "TIMESTAMP_NS '2024-01-01 00:00:00.1234567'", nullptr},
      {"timestamp", "TIMESTAMPTZ '2024-01-01 00:00:00+00'", nullptr},
      {"timestamptz", "TIMESTAMP '2024-01-01 00:00:00'", nullptr},
      {"boolean", "true", "true"},
      {"boolean", "1", nullptr},
      {"binary", "'\\xAA'::BLOB", "\\xAA"},
  };

  for (const auto& [type, value, expected] : cases) {
    SCOPED_TRACE(fmt::format("{} into {}", value, type));
    const auto schema = MakeSchema({Field(1, "v", *Type::Parse(type))});
    const auto staged = StageQuery(schema, fmt::format("SELECT {} AS v", value));
    if (expected == nullptr) {
      EXPECT_THAT(staged, Refuses(HasSubstr("column v")));
    } else {
      EXPECT_THAT(RoundTrip(schema, staged), IsOkAnd(fmt::format("{}\n", expected)));
    }
  }
}

TEST_F(Writer, ReadsNestedColumns) {
  const auto schema = MakeSchema(
      {Field(1, "s", Type::Struct({Field(2, "a", Type::Long()), Field(3, "d", Type::Date())})),
       Field(4, "l", Type::List(FieldId{5}, Type::Decimal(9, 2), false)),
       Field(6, "m", Type::Map(FieldId{7}, Type::String(), FieldId{8}, Type::Timestamp(), false))});
  const std::string rows = "{'a': 1, 'd': 2024-01-01}|[1.50, NULL]|{k='2024-01-01 00:00:00'}\n";
  EXPECT_THAT(
      RoundTrip(
          schema,
          StageText(
              schema, InputFormat::kJson,
              R"({"s":{"a":1,"d":"2024-01-01"},"l":[1.5,null],"m":{"k":"2024-01-01T00:00:00"}})")),
      IsOkAnd(rows));
  EXPECT_THAT(
      RoundTrip(schema,
                StageQuery(schema,
                           "SELECT {'d': DATE '2024-01-01', 'a': 1} AS s, [1.5, NULL] AS l, "
                           "MAP {'k': TIMESTAMP '2024-01-01'} AS m")),
      IsOkAnd(rows));
  EXPECT_THAT(
      RoundTrip(
          schema,
          StageText(schema, InputFormat::kCsv,
                    "s,l,m\n\"{'a': 1, 'd': 2024-01-01}\",\"[1.5, NULL]\",\"{k=2024-01-01}\"\n")),
      IsOkAnd(rows));
  EXPECT_THAT(StageText(schema, InputFormat::kJson, R"({"s":{"a":1,"z":1}})"),
              Refuses(HasSubstr("column s.z")));
  EXPECT_THAT(StageText(schema, InputFormat::kJson, R"({"s":{"a":1.5}})"),
              Refuses(HasSubstr("column s")));
  EXPECT_THAT(StageText(schema, InputFormat::kJson, R"({"l":[1.005]})"),
              Refuses(HasSubstr("column l")));
  EXPECT_THAT(StageText(schema, InputFormat::kJson, R"({"m":{"k":"2024-01-01 00:00:00.0000001"}})"),
              Refuses(HasSubstr("column m")));
  EXPECT_THAT(StageText(schema, InputFormat::kJson, R"({"s":7})"), Refuses(HasSubstr("column s")));
  EXPECT_THAT(StageQuery(schema, "SELECT {'z': 1} AS s"), Refuses(HasSubstr("column s.z")));
  EXPECT_THAT(StageQuery(schema, "SELECT [1.005] AS l"), Refuses(HasSubstr("column l")));
  EXPECT_THAT(StageQuery(schema, "SELECT 7 AS s"), Refuses(HasSubstr("column s")));
}

TEST_F(Writer, SaysWhichFileIsDamaged) {
  EXPECT_THAT(StageText(schema_, InputFormat::kParquet, "PAR1 this is not"),
              Refuses(HasSubstr("")));
  const std::string whole = WriteParquet(
      "whole.parquet", "SELECT (hash(range) % 4294967296)::BIGINT AS id FROM range(10000)");
  std::ifstream in(whole, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  EXPECT_THAT(
      StageText(schema_, InputFormat::kParquet, bytes.str().substr(0, bytes.str().size() / 2)),
      Refuses(HasSubstr("")));
  std::string broken = bytes.str();
  broken.replace(4, 200, std::string(200, '\xFF'));  // The first page, not the footer.
  EXPECT_THAT(StageText(schema_, InputFormat::kParquet, broken), Refuses(HasSubstr("column id")));
  EXPECT_THAT(StageText(schema_, InputFormat::kJson, "{\"id\":1}\n{\"id\":"),
              Refuses(HasSubstr("")));
  EXPECT_THAT(StageText(schema_, InputFormat::kJson, "[1, 2]"),
              Refuses(HasSubstr("not json objects")));
  EXPECT_THAT(StageText(schema_, InputFormat::kJson, "{}\n{}"),
              Refuses(HasSubstr("without any names")));
  EXPECT_THAT(StageText(schema_, InputFormat::kCsv, ""), Refuses(HasSubstr("empty")));
  EXPECT_THAT(StageText(schema_, InputFormat::kCsv, "id,name\n1,a,2\n"),
              Refuses(HasSubstr("line 2: ")));
  std::string long_csv = "id,name\n";
  for (int i = 0; i < 60000; ++i) {
    long_csv += fmt::format("{},a\n", i);
  }
  EXPECT_THAT(StageText(schema_, InputFormat::kCsv, long_csv + "7\n"), Refuses(HasSubstr("60002")));
  EXPECT_EQ(ObjectCount(), 0U);
  EXPECT_THAT(
      StageText(MakeSchema({Field(1, "json", Type::Long())}), InputFormat::kJson, R"({"json":1})"),
      IsOk());
}

TEST_F(Writer, WritesNothingWhenOneOfSeveralInputsIsBad) {
  const std::string good = WriteFile("good.csv", "id\n1\n");
  const std::string bad = WriteFile("bad.csv", "id\nx\n");
  const std::string missing = directory_.Join("missing.csv");
  EXPECT_THAT(StageInputs(schema_, {{good, InputFormat::kCsv}, {missing, InputFormat::kCsv}}),
              IsError(ErrorCode::kNotFound, HasSubstr(missing)));
  EXPECT_THAT(StageInputs(schema_, {{good, InputFormat::kCsv}, {bad, InputFormat::kCsv}}),
              IsError(ErrorCode::kInvalidArgument,
                      AllOf(HasSubstr(bad), HasSubstr("column id"), HasSubstr("x"))));
  EXPECT_THAT(StageInputs(schema_, {{directory_.path(), InputFormat::kCsv}}),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_EQ(ObjectCount(), 0U);
}

TEST_F(Writer, ReadsAFileWhoseNameIsAPattern) {
  WriteFile("a1.csv", "id\n100\n");
  const std::string path = WriteFile("a[1]*?.csv", "id\n1\n");
  EXPECT_THAT(RoundTrip(schema_, StageInputs(schema_, {{path, InputFormat::kCsv}})),
              IsOkAnd("1|NULL|NULL\n"));
}

TEST_F(Writer, WritesNoFileForNoRows) {
  const std::string csv = WriteFile("empty.csv", "id,name\n");
  const std::string json = WriteFile("empty.json", "");
  const std::string parquet = WriteParquet("empty.parquet", "SELECT 1 AS id WHERE false");
  for (const engine::StageInput& input :
       {engine::StageInput{csv, InputFormat::kCsv}, engine::StageInput{json, InputFormat::kJson},
        engine::StageInput{parquet, InputFormat::kParquet}}) {
    const auto staged = StageInputs(schema_, {input});
    ASSERT_THAT(staged, IsOk()) << input.path;
    EXPECT_TRUE(staged->files.empty());
    EXPECT_EQ(staged->row_count, 0U);
  }
  EXPECT_THAT(StageInputs(schema_, {}), IsOk());
  EXPECT_EQ(ObjectCount(), 0U);
}

TEST_F(Writer, KeepsTheOrderOfRowsAndInputs) {
  const std::string first = WriteParquet("first.parquet", "SELECT range AS id FROM range(300000)");
  const std::string second =
      WriteParquet("second.parquet", "SELECT 300000 + range AS id FROM range(300000)");
  const auto staged = StageInputs(schema_, {{first}, {second}});
  ASSERT_THAT(staged, IsOk());
  ASSERT_EQ(staged->files.size(), 1U);
  EXPECT_EQ(staged->row_count, 600000U);
  tables_.Create("w.ordered", schema_);
  tables_.Append("w.ordered", staged->files);
  EXPECT_THAT(Query("SELECT count(*) FROM w.ordered WHERE id <> file_row_number"), IsOkAnd("0\n"));
}

TEST_F(Writer, ClosesFilesNearTheTargetSize) {
  const std::string path = WriteParquet(
      "large.parquet", "SELECT (hash(range) % 4294967296)::BIGINT AS id FROM range(1500000)");
  const auto staged = writer_->Stage({.schema = std::make_shared<const iceberg::Schema>(schema_),
                                      .inputs = {{path}},
                                      .data_location = "/warehouse/rolled",
                                      .target_file_bytes = 2 << 20});
  ASSERT_THAT(staged, IsOk());
  EXPECT_GT(staged->files.size(), 1U);
  EXPECT_EQ(staged->row_count, 1500000U);
  EXPECT_EQ(ObjectCount(), staged->files.size());
  tables_.Create("w.rolled", schema_);
  tables_.Append("w.rolled", staged->files);
  EXPECT_THAT(Query("SELECT count(*), sum(id) FROM w.rolled"),
              Query("SELECT count(*), sum(id) FROM '" + path + "'"));
}

TEST_F(Writer, SaysWhatIsInAFile) {
  const auto schema = MakeSchema(
      {Field(1, "id", Type::Long()), Field(2, "name", Type::String()),
       Field(3, "d", Type::Double()), Field(4, "s", Type::Struct({Field(5, "x.y", Type::Int())})),
       Field(6, "l", Type::List(FieldId{7}, Type::Int(), false)),
       Field(8, "q\"uote", Type::Boolean()), Field(9, "n", Type::Double())});
  const auto files = Stage(
      schema, R"({"id":-5,"name":"b","d":1.5,"s":{"x.y":7},"l":[1,2,3],"q\"uote":true,"n":"NaN"}
                                      {"id":12,"name":"a","d":-0.5,"s":null,"l":[],"q\"uote":null,"n":1}
                                      {"id":null,"name":null,"d":null,"s":{"x.y":9},"l":null,"q\"uote":false,"n":2})");
  ASSERT_EQ(files.size(), 1U);
  const iceberg::DataFile& file = files[0];
  const auto info = objects_.Stat(file.file_path, clock_.Now() + std::chrono::seconds(1));
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(file.content, iceberg::FileContent::kData);
  EXPECT_EQ(file.file_format, iceberg::FileFormat::kParquet);
  EXPECT_EQ(file.record_count, 3);
  EXPECT_EQ(file.file_size_in_bytes, static_cast<std::int64_t>(info->size));
  EXPECT_EQ(file.split_offsets, std::vector<std::int64_t>{4});

  using Counts = iceberg::ColumnMap<std::int64_t>;
  EXPECT_EQ(file.value_counts, (Counts{{FieldId{1}, 3},
                                       {FieldId{2}, 3},
                                       {FieldId{3}, 3},
                                       {FieldId{5}, 3},
                                       {FieldId{7}, 5},
                                       {FieldId{8}, 3},
                                       {FieldId{9}, 3}}));
  EXPECT_EQ(file.null_value_counts, (Counts{{FieldId{1}, 1},
                                            {FieldId{2}, 1},
                                            {FieldId{3}, 1},
                                            {FieldId{5}, 1},
                                            {FieldId{8}, 1},
                                            {FieldId{9}, 0}}));
  EXPECT_EQ(file.nan_value_counts, (Counts{{FieldId{3}, 0}}));
  EXPECT_EQ(file.column_sizes.size(), 7U);

  const auto bound = [](const iceberg::ColumnMap<std::string>& bounds, std::int32_t id,
                        const Type& type) {
    const std::string* bytes = bounds.Find(FieldId{id});
    return bytes == nullptr ? iceberg::Value() : *iceberg::DecodeValue(type, *bytes);
  };
  EXPECT_EQ(bound(file.lower_bounds, 1, Type::Long()), iceberg::Value(std::int64_t{-5}));
  EXPECT_EQ(bound(file.upper_bounds, 1, Type::Long()), iceberg::Value(std::int64_t{12}));
  EXPECT_EQ(bound(file.lower_bounds, 2, Type::String()), iceberg::Value(std::string("a")));
  EXPECT_EQ(bound(file.upper_bounds, 2, Type::String()), iceberg::Value(std::string("b")));
  EXPECT_EQ(bound(file.lower_bounds, 3, Type::Double()), iceberg::Value(-0.5));
  EXPECT_EQ(bound(file.upper_bounds, 5, Type::Int()), iceberg::Value(std::int32_t{9}));
  // Inside a list, with a NaN, and for booleans nothing is known.
  for (const std::int32_t id : {7, 8, 9}) {
    EXPECT_EQ(file.lower_bounds.Find(FieldId{id}), nullptr) << id;
    EXPECT_EQ(file.upper_bounds.Find(FieldId{id}), nullptr) << id;
  }
}

TEST_F(Writer, PutsFieldIdsIntoEveryFile) {
  const auto schema = MakeSchema(
      {Field(11, "a", Type::Long()), Field(12, "s", Type::Struct({Field(13, "b", Type::Int())})),
       Field(14, "l", Type::List(FieldId{15}, Type::Int(), false)),
       Field(16, "m", Type::Map(FieldId{17}, Type::String(), FieldId{18}, Type::Int(), false))});
  const auto files = Stage(schema, R"({"a":1,"s":{"b":2},"l":[3],"m":{"k":4}})");
  ASSERT_EQ(files.size(), 1U);
  const auto bytes =
      objects_.Get(files[0].file_path, 1 << 20, clock_.Now() + std::chrono::seconds(1));
  ASSERT_THAT(bytes, IsOk());
  const std::string copy = WriteFile("copy.parquet", *bytes);
  EXPECT_THAT(
      Query("SELECT name, field_id FROM parquet_schema('" + copy + "') WHERE field_id IS NOT NULL"),
      IsOkAnd("a|11\ns|12\nb|13\nl|14\nelement|15\nm|16\nkey|17\nvalue|18\n"));
  EXPECT_THAT(Query("SELECT DISTINCT compression FROM parquet_metadata('" + copy + "')"),
              IsOkAnd("ZSTD\n"));
}

TEST_F(Writer, SplitOffsetsAreTheStartsOfTheRowGroups) {
  auto writer = ParquetDataFileWriter::Open(objects_, clock_, random_,
                                            {.threads = 2, .row_group_rows = 2048});
  ASSERT_THAT(writer, IsOk());
  const std::string path =
      WriteParquet("rows.parquet", "SELECT range AS id, range::VARCHAR AS name FROM range(10000)");
  const auto staged = (*writer)->Stage({.schema = std::make_shared<const iceberg::Schema>(schema_),
                                        .inputs = {{path}},
                                        .data_location = "/warehouse/groups"});
  ASSERT_THAT(staged, IsOk());
  ASSERT_EQ(staged->files.size(), 1U);
  const auto& offsets = staged->files[0].split_offsets;
  EXPECT_EQ(offsets.size(), 5U);
  EXPECT_EQ(offsets[0], 4);
  EXPECT_TRUE(std::ranges::is_sorted(offsets));
  const auto bytes =
      objects_.Get(staged->files[0].file_path, 1 << 20, clock_.Now() + std::chrono::seconds(1));
  ASSERT_THAT(bytes, IsOk());
  const std::string copy = WriteFile("copy.parquet", *bytes);
  std::string expected;
  for (const std::int64_t offset : offsets) {
    expected += fmt::format("{}\n", offset);
  }
  EXPECT_THAT(Query("SELECT min(least(data_page_offset, coalesce(dictionary_page_offset, "
                    "data_page_offset))) AS o FROM "
                    "parquet_metadata('" +
                    copy + "') GROUP BY row_group_id ORDER BY o"),
              IsOkAnd(expected));
}

TEST_F(Writer, LeavesNoFileBehindWhicheverRequestToTheStoreFails) {
  testing::FaultyObjectStore faulty(objects_);
  auto writer = ParquetDataFileWriter::Open(faulty, clock_, random_, {.threads = 2});
  ASSERT_THAT(writer, IsOk());
  const std::string path = WriteParquet("rows.parquet", "SELECT range AS id FROM range(200000)");
  const engine::StageRequest request{.schema = std::make_shared<const iceberg::Schema>(schema_),
                                     .inputs = {{path}},
                                     .data_location = "/warehouse/faulty",
                                     .target_file_bytes = 100000};
  using Fault = testing::FaultyObjectStore::Fault;
  for (const Fault fault : {Fault::kRefuse, Fault::kLoseRequest, Fault::kLoseAnswer}) {
    std::size_t n = 1;
    for (;; ++n) {
      SCOPED_TRACE(fmt::format("fault {} in request {}", static_cast<int>(fault), n));
      const std::size_t before = faulty.requests().size();
      faulty.FailNth(n, fault);
      const auto staged = (*writer)->Stage(request);
      if (faulty.requests().size() - before < n) {
        ASSERT_THAT(staged, IsOk());
        break;
      }
      ASSERT_FALSE(staged.has_value());
      EXPECT_TRUE(staged.error().code() == ErrorCode::kUnavailable ||
                  staged.error().code() == ErrorCode::kOutcomeUnknown)
          << staged.error().ToString();
      EXPECT_EQ(ObjectCount(), 0U);
    }
    EXPECT_GT(n, 5U);
    const auto page = objects_.List("/", "", 1000, clock_.Now() + std::chrono::seconds(1));
    std::vector<std::string> paths;
    for (const auto& object : page->objects) {
      paths.push_back(object.path);
    }
    ASSERT_THAT(objects_.Delete(paths, clock_.Now() + std::chrono::seconds(1)), IsOk());
    faulty.SetRule(nullptr);
  }
}

TEST_F(Writer, RefusesToWriteTypesItCannot) {
  const std::string path = WriteFile("x.csv", "f\n");
  EXPECT_THAT(
      StageInputs(MakeSchema({Field(1, "f", Type::Fixed(16))}), {{path, InputFormat::kCsv}}),
      IsError(ErrorCode::kUnimplemented, AllOf(HasSubstr("column f"), HasSubstr("fixed[16]"))));
}

TEST_F(Writer, TellsHowFarItIs) {
  const std::string path = WriteParquet("rows.parquet", "SELECT range AS id FROM range(1000000)");
  std::vector<double> told;
  const auto staged = writer_->Stage({.schema = std::make_shared<const iceberg::Schema>(schema_),
                                      .inputs = {{path}},
                                      .data_location = "/warehouse/progress",
                                      .on_progress = [&](const engine::StageProgress& progress) {
                                        told.push_back(progress.fraction);
                                      }});
  ASSERT_THAT(staged, IsOk());
  ASSERT_FALSE(told.empty());
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_EQ(told.back(), 1.0);
}

// --- schemas of inputs --------------------------------------------------------------------------------------------------

std::string Columns(const Result<iceberg::Schema>& schema) {
  if (!schema.has_value()) {
    return schema.error().ToString();
  }
  std::string text;
  for (const iceberg::NestedField& field : schema->fields()) {
    text += fmt::format("{} {} {}{}\n", static_cast<std::int32_t>(field.id), field.name,
                        field.type.ToString(), field.required ? " required" : "");
  }
  return text;
}

TEST_F(Writer, InfersTheTypesOfAParquetFile) {
  const std::string path = WriteParquet("types.parquet",
                                        "SELECT 1::TINYINT a, 1::USMALLINT b, 1::UINTEGER c, "
                                        "1::UBIGINT d, 'x'::ENUM('x') e, 1.5::DECIMAL(5,1) f, "
                                        "DATE '2024-01-01' g, TIMESTAMP_MS '2024-01-01' h, "
                                        "TIMESTAMPTZ '2024-01-01 00:00:00+00' i, uuid() j, "
                                        "'x'::BLOB k, {'p': 1, 'q': [1::BIGINT]} l, MAP {'k': "
                                        "1.5::FLOAT} m, TIME '10:00:00' n, true o, 1.5::DOUBLE p");
  EXPECT_EQ(Columns(writer_->InferSchema({.path = path})),
            "1 a int\n2 b int\n3 c long\n4 d decimal(20,0)\n5 e string\n6 f decimal(5,1)\n7 g "
            "date\n8 h timestamp\n"
            "9 i timestamptz\n10 j uuid\n11 k binary\n"
            "12 l struct<17: p: optional int, 18: q: optional list<long>>\n13 m map<string, "
            "float>\n14 n time\n15 o boolean\n"
            "16 p double\n");
}

TEST_F(Writer, InfersTheTypesOfText) {
  const std::string csv = WriteFile(
      "a.csv", "id,code,price,day,at,us\n1,007,1.5,2024-01-01,2024-01-01 10:00:00,01/02/2024\n");
  EXPECT_EQ(Columns(writer_->InferSchema({.path = csv, .format = InputFormat::kCsv})),
            "1 id long\n2 code string\n3 price double\n4 day date\n5 at timestamp\n6 us string\n");
  const std::string json =
      WriteFile("a.json", R"({"id":1,"code":"007","tags":["a"],"at":{"x":1.5},"none":null})");
  EXPECT_EQ(Columns(writer_->InferSchema({.path = json, .format = InputFormat::kJson})),
            "1 id long\n2 code string\n3 tags list<string>\n4 at struct<7: x: optional double>\n5 "
            "none string\n");
}

TEST_F(Writer, InfersNothingFromACsvFileWhoseLinesDiffer) {
  EXPECT_THAT(InferCsv("a,b\n1,2\n3\n"), Refuses(HasSubstr("line 3: ")));
  EXPECT_THAT(InferCsv("a,b\n1,2\n3,4,5\n"), Refuses(HasSubstr("line 3: ")));
  EXPECT_THAT(InferCsv("a,b\r\n1,2\r\n3\r\n"), Refuses(HasSubstr("line 3: ")));
  EXPECT_THAT(InferCsv("a;b\n1;2\n3\n"), Refuses(HasSubstr("line 3: ")));
  EXPECT_THAT(InferCsv("a\tb|c\td\n1\t2\t3\n4\n"), Refuses(HasSubstr("line 3: ")));
  EXPECT_THAT(InferCsv("a,b\n\"x,2\n3,4\n"), Refuses(HasSubstr("line 2: ")));
  EXPECT_THAT(InferCsv("a,b,c\n1,2\n3,4\n"), Refuses(HasSubstr("line 2: ")));
  EXPECT_THAT(InferCsv("a,b\n1,\"x\"y\n"), Refuses(HasSubstr("line 2: ")));
  EXPECT_THAT(InferCsv("\na,b\n1,2\n3\n"), Refuses(HasSubstr("line 4: ")));
  // One column is one column, even if there are commas in it.
  EXPECT_EQ(Columns(InferCsv("a\n1\n2\n")), "1 a long\n");
  EXPECT_EQ(Columns(InferCsv("\"a,b\"\n1\n2\n")), "1 a,b long\n");
  EXPECT_EQ(Columns(InferCsv("a,b\n")), "1 a string\n2 b string\n");
}

TEST_F(Writer, InfersNothingFromACsvFileWithoutNames) {
  EXPECT_THAT(InferCsv("a,b,a\n1,2,3\n"),
              Refuses(HasSubstr("columns 1 and 3 have the same name, a")));
  EXPECT_THAT(InferCsv("a,A\n1,2\n"), Refuses(HasSubstr("columns 1 and 2 have the same name, A")));
  EXPECT_THAT(InferCsv("a,,c\n1,2,3\n"), Refuses(HasSubstr("column 2 has no name")));
  EXPECT_EQ(Columns(InferCsv("a, b\n1,2\n")), "1 a long\n2 b long\n");
  // The names are looked at whatever stands in the rows.
  EXPECT_THAT(InferCsv("a,b,a\n1,\"x\ny\",2\n"), Refuses(HasSubstr("the same name, a")));
  EXPECT_THAT(InferCsv("a;;c\n1;\"x\ny\";2\n"), Refuses(HasSubstr("column 2 has no name")));
}

TEST_F(Writer, AppendsNoCsvFileWithoutNames) {
  const iceberg::Schema schema = MakeSchema(
      {Field(1, "a", Type::Long()), Field(2, "b", Type::Long()), Field(3, "a_1", Type::Long())});
  EXPECT_THAT(StageText(schema, InputFormat::kCsv, "a,b,a\n1,2,3\n"),
              Refuses(HasSubstr("columns 1 and 3 have the same name, a")));
}

TEST_F(Writer, TakesEveryFormOfCsv) {
  const iceberg::Schema two =
      MakeSchema({Field(1, "id", Type::Long()), Field(2, "name", Type::String())});
  for (const std::string_view content :
       {"id,name\n1,a\n2,\"b\nc\"\n", "id,name\r\n1,a\r\n2,\"b\nc\"\r\n",
        "\xEF\xBB\xBFid,name\n1,a\n2,\"b\nc\"\n", "id,name\n1,a\n2,\"b\nc\"",
        "\"id\",\"name\"\n\"1\",\"a\"\n2,\"b\nc\"\n", "name;id\na;1\n\"b\nc\";2\n",
        "id\tname\n1\ta\n2\t\"b\nc\"\n", "id|name\n1|a\n2|\"b\nc\"\n"}) {
    EXPECT_THAT(RoundTrip(two, StageText(two, InputFormat::kCsv, content)),
                testing::IsOkAnd("1|a\n2|b\nc\n"))
        << content;
  }
  const iceberg::Schema one = MakeSchema({Field(1, "id", Type::Long())});
  EXPECT_THAT(RoundTrip(one, StageText(one, InputFormat::kCsv, "id\n1\n\n2\n")),
              testing::IsOkAnd("1\nNULL\n2\n"))
      << "in a file of one column an empty line is a null";
  EXPECT_THAT(RoundTrip(one, StageText(one, InputFormat::kCsv, "id\n")), testing::IsOkAnd(""));
}

TEST_F(Writer, RefusesToInferTypesWithoutAPlace) {
  for (const char* value : {"INTERVAL 1 DAY", "TIMETZ '10:00:00+02'"}) {
    const std::string path = WriteParquet("odd.parquet", fmt::format("SELECT {} AS odd", value));
    EXPECT_THAT(writer_->InferSchema({.path = path}),
                IsError(ErrorCode::kUnimplemented,
                        AllOf(HasSubstr("odd.parquet"), HasSubstr("column odd"))))
        << value;
  }
  EXPECT_THAT(writer_->InferSchema({.path = WriteFile("e.json", ""), .format = InputFormat::kJson}),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(writer_->InferSchema({.path = WriteFile("e.csv", ""), .format = InputFormat::kCsv}),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(writer_->InferSchema({.path = directory_.Join("none.parquet")}),
              IsError(ErrorCode::kNotFound));
}

}  // namespace
}  // namespace lake::sql
