#include "lake/catalog/names.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/testing/matchers.h"

namespace lake::catalog {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsError;
using testing::IsOk;

TEST(Names, PlainLevelsAreSeparatedByDots) {
  const Result<TableName> name = ParseTableName("a.b.t");
  ASSERT_THAT(name, IsOk());
  EXPECT_THAT(name->ns.levels, ElementsAre("a", "b"));
  EXPECT_EQ(name->name, "t");
}

TEST(Names, QuotesMakeDotsAndQuotesOrdinary) {
  const Result<TableName> name = ParseTableName(R"(a."b.c"."say ""hi""")");
  ASSERT_THAT(name, IsOk());
  EXPECT_THAT(name->ns.levels, ElementsAre("a", "b.c"));
  EXPECT_EQ(name->name, R"(say "hi")");
}

TEST(Names, PrintedNamesReadBack) {
  for (const std::string level : {"a", "a.b", "a\"b", "with space", "a/b", "100%", "üñí", "日本",
                                  "..a", "'", "\\", "-", "%2F"}) {
    const TableName name{.ns = {{level, "x"}}, .name = level};
    const Result<TableName> again = ParseTableName(name.ToString());
    ASSERT_THAT(again, IsOk()) << name.ToString();
    EXPECT_EQ(*again, name) << name.ToString();
  }
}

TEST(Names, EveryRuleRefusesWhatItForbids) {
  EXPECT_THAT(ValidateLevel(""), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ValidateLevel("."), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ValidateLevel(".."), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ValidateLevel("a\x1F"), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ValidateLevel(std::string_view("a\0b", 3)), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ValidateLevel("a\x7F"), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ValidateLevel("a\xC2\x85"), IsError(ErrorCode::kInvalidArgument))
      << "U+0085, a C1 control";
  EXPECT_THAT(ValidateLevel(std::string(256, 'a')), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ValidateLevel(std::string(255, 'a')), IsOk());
  EXPECT_THAT(ValidateLevel("\xC2\xA0"), IsOk()) << "U+00A0, the first after the controls";
}

TEST(Names, InvalidUtf8IsRefused) {
  const std::vector<std::string> bad = {
      "\x80",              // A continuation byte alone.
      "\xC0\xAF",          // Overlong '/'.
      "\xE0\x80\xAF",      // Overlong '/' in three bytes.
      "\xED\xA0\x80",      // The surrogate U+D800.
      "\xF4\x90\x80\x80",  // U+110000.
      "\xF8\x88\x80\x80",  // A five-byte form.
      "\xE2\x82",          // Cut short.
      "a\xFF",
  };
  for (const std::string& level : bad) {
    EXPECT_THAT(ValidateLevel(level), IsError(ErrorCode::kInvalidArgument));
  }
  EXPECT_THAT(ValidateLevel("\xF4\x8F\xBF\xBF"), IsOk()) << "U+10FFFF";
  EXPECT_THAT(ValidateLevel("\xED\x9F\xBF"), IsOk()) << "U+D7FF";
}

TEST(Names, BrokenFormsSayWhatIsWrong) {
  EXPECT_THAT(ParseTableName("t"), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ParseTableName(""), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ParseTableName("a..t"), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ParseTableName(".t"), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ParseTableName("a."), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ParseTableName("a.\"t"), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ParseTableName("a.\"t\"x"), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ParseTableName("a.t\"x\""), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ParseNamespace("a.\"\""), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ParseTableName("a.\"t").error().message(), HasSubstr("not closed"));
}

TEST(Names, AParentHasOneLevelLess) {
  EXPECT_THAT((Namespace{{"a", "b"}}.parent().levels), ElementsAre("a"));
  EXPECT_TRUE((Namespace{{"a"}}.parent().levels.empty()));
}

}  // namespace
}  // namespace lake::catalog
