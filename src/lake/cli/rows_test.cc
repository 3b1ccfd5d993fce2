#include "lake/cli/rows.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "lake/cli/string_output_test_internal.h"
#include "lake/testing/matchers.h"

namespace lake::cli {
namespace {

using lake::testing::IsError;
using lake::testing::IsOk;
using ::testing::HasSubstr;

const std::vector<ResultColumn> kColumns = {
    {.name = "name"},
    {.name = "n", .numeric = true},
    {.name = "ok"},
};

void WriteAll(RowWriter& writer, const std::vector<ResultColumn>& columns,
              const std::vector<std::vector<Cell>>& rows) {
  EXPECT_THAT(writer.Begin(columns), IsOk());
  for (const std::vector<Cell>& row : rows) {
    EXPECT_THAT(writer.Row(row), IsOk());
  }
  EXPECT_THAT(writer.End(), IsOk());
}

TEST(TableWriter, AlignsColumnsAndCountsRows) {
  StringOutput out;
  WriteAll(*MakeTableWriter(out), kColumns,
           {{"a", "1", "true"}, {std::nullopt, "12345", std::nullopt}, {"北京", "-3", "false"}});
  EXPECT_EQ(out.text(),
            "name      n  ok\n"
            "----  -----  -----\n"
            "a         1  true\n"
            "NULL  12345  NULL\n"
            "北京     -3  false\n"
            "(3 rows)\n");
}

TEST(TableWriter, AnEmptyResultStillHasItsNames) {
  StringOutput out;
  WriteAll(*MakeTableWriter(out), kColumns, {});
  EXPECT_EQ(out.text(), "name  n  ok\n----  -  --\n(0 rows)\n");
}

TEST(TableWriter, ControlCharactersStayVisibleAndOnTheirLine) {
  StringOutput out;
  WriteAll(*MakeTableWriter(out), {{.name = "v"}}, {{"a\nb\x1B[31mred"}});
  EXPECT_EQ(out.text(), "v\n---------------\na\\nb\\x1B[31mred\n(1 row)\n");
}

TEST(TableWriter, RowsAfterTheFirstPageAreWrittenAsTheyCome) {
  StringOutput out;
  const std::unique_ptr<RowWriter> writer = MakeTableWriter(out);
  ASSERT_THAT(writer->Begin({{.name = "v"}}), IsOk());
  for (std::size_t i = 0; i < kTableRowsAhead; ++i) {
    ASSERT_THAT(writer->Row(std::vector<Cell>{"x"}), IsOk());
  }
  const std::size_t before = out.text().size();
  EXPECT_GT(before, kTableRowsAhead);
  ASSERT_THAT(writer->Row(std::vector<Cell>{"wider"}), IsOk());
  EXPECT_EQ(out.text().substr(before), "wider\n");
}

TEST(TableWriter, AFailedWriteEndsIt) {
  StringOutput out;
  out.FailFromNowOn();
  const std::unique_ptr<RowWriter> writer = MakeTableWriter(out);
  ASSERT_THAT(writer->Begin(kColumns), IsOk());
  EXPECT_THAT(writer->End(), IsError(ErrorCode::kUnavailable));
}

TEST(CsvWriter, FollowsRfc4180) {
  StringOutput out;
  WriteAll(*MakeCsvWriter(out), {{.name = "a,b"}, {.name = "c"}},
           {{"plain", "with \"quotes\""}, {"line\nbreak", ""}, {std::nullopt, "comma,"}});
  EXPECT_EQ(out.text(),
            "\"a,b\",c\r\n"
            "plain,\"with \"\"quotes\"\"\"\r\n"
            "\"line\nbreak\",\"\"\r\n"
            ",\"comma,\"\r\n");
}

TEST(JsonWriter, WritesAnArrayOfObjects) {
  StringOutput out;
  WriteAll(*MakeJsonWriter(out), kColumns,
           {{"\"a\"", "1.5", "true"}, {std::nullopt, "2", "{\"x\":[1]}"}});
  EXPECT_EQ(out.text(),
            "[\n"
            "{\"name\":\"a\",\"n\":1.5,\"ok\":true},\n"
            "{\"name\":null,\"n\":2,\"ok\":{\"x\":[1]}}\n"
            "]\n");
}

TEST(JsonWriter, AnEmptyResultIsAnEmptyArray) {
  StringOutput out;
  WriteAll(*MakeJsonWriter(out), kColumns, {});
  EXPECT_EQ(out.text(), "[]\n");
}

TEST(JsonWriter, KeysAreQuoted) {
  StringOutput out;
  WriteAll(*MakeJsonWriter(out), {{.name = "a \"b\"\n"}}, {{"1"}});
  EXPECT_EQ(out.text(), "[\n{\"a \\\"b\\\"\\n\":1}\n]\n");
}

TEST(JsonWriter, NoKeyComesTwice) {
  StringOutput out;
  WriteAll(*MakeJsonWriter(out), {{.name = "a"}, {.name = "a"}, {.name = "a_1"}},
           {{"1", "2", "3"}});
  EXPECT_THAT(out.text(), HasSubstr(R"({"a":1,"a_1":2,"a_1_1":3})"));
}

}  // namespace
}  // namespace lake::cli
