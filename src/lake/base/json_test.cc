#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/json_internal.h"
#include "lake/testing/matchers.h"

namespace lake::json {
namespace {

using boost::json::object;
using lake::testing::IsError;
using lake::testing::IsOk;
using lake::testing::IsOkAnd;
using ::testing::HasSubstr;

constexpr ErrorCode kBad = ErrorCode::kInvalidArgument;

object ObjectOf(std::string_view text) {
  return Parse(text).value().as_object();
}

TEST(JsonParse, TakesEveryKindOfValue) {
  for (const char* text : {"null", "true", "false", "0", "-1", "1.5", "1e3", "\"\"",
                           "\"a\\u00e9\\n\"", "[]", "{}", "[1,\"a\",{\"b\":[null]}]"}) {
    EXPECT_THAT(Parse(text), IsOk()) << text;
  }
  EXPECT_THAT(Parse(" \t\r\n7 \t\r\n"), IsOkAnd(boost::json::value(7)));
}

TEST(JsonParse, SaysWhereAnErrorIs) {
  EXPECT_THAT(Parse("{\"a\": tru}"), IsError(kBad, HasSubstr("byte 6")));
  EXPECT_THAT(Parse("[1, 2,]"), IsError(kBad, HasSubstr("byte 6")));
  EXPECT_THAT(Parse("x"), IsError(kBad, HasSubstr("byte 0")));
}

TEST(JsonParse, RefusesATextThatEndsTooEarly) {
  const std::string whole = R"({"a": [1, "b\u00e9", true], "c": {"d": null}})";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(Parse(whole.substr(0, length)),
                IsError(kBad, HasSubstr("byte " + std::to_string(length))))
        << length;
  }
  EXPECT_THAT(Parse(whole), IsOk());
}

TEST(JsonParse, RefusesDataAfterTheValue) {
  EXPECT_THAT(Parse("{} x"), IsError(kBad, HasSubstr("extra data at byte 3")));
  EXPECT_THAT(Parse("1 2"), IsError(kBad, HasSubstr("byte 2")));
  EXPECT_THAT(Parse("[][]"), IsError(kBad, HasSubstr("byte 2")));
  EXPECT_THAT(Parse(std::string_view("{}\0", 3)), IsError(kBad, HasSubstr("byte 2")));
}

TEST(JsonParse, RefusesWhatTheRfcDoesNotKnow) {
  for (const char* text :
       {"{a:1}",       "{'a':1}",       "[1,]",      "// c\n1",  "/* c */ 1",    "NaN",
        "Infinity",    "-Infinity",     "01",        "+1",       ".5",           "1.",
        "1e400",       "\"\t\"",        "\"\\x41\"", "\"\xFF\"", "\"\xC0\x80\"", "\"\xED\xA0\x80\"",
        "\"\\ud800\"", "\xEF\xBB\xBF{}"}) {
    EXPECT_THAT(Parse(text), IsError(kBad)) << text;
  }
}

TEST(JsonParse, TakesNestingUpToItsLimitAndNoDeeper) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_THAT(Parse(nested(kDepthMax)), IsOk());
  EXPECT_THAT(Parse(nested(kDepthMax + 1)), IsError(kBad, HasSubstr("byte 256")));
  EXPECT_THAT(Parse(std::string(1000000, '[')), IsError(kBad));
  std::string objects;
  for (std::size_t i = 0; i < kDepthMax + 1; ++i) {
    objects += "{\"a\":";
  }
  EXPECT_THAT(Parse(objects), IsError(kBad));
}

TEST(JsonParse, KeepsIntegersOf64BitsExactly) {
  const object read = ObjectOf(R"({"min": -9223372036854775808, "max": 9223372036854775807,
                                   "over": 9223372036854775808, "under": -9223372036854775809,
                                   "fraction": 1.0, "large": 1e18, "zero": 0})");
  EXPECT_THAT(GetInt(read, "min"), IsOkAnd(std::numeric_limits<std::int64_t>::min()));
  EXPECT_THAT(GetInt(read, "max"), IsOkAnd(std::numeric_limits<std::int64_t>::max()));
  EXPECT_THAT(GetInt(read, "zero"), IsOkAnd(0));
  for (const char* name : {"over", "under", "fraction", "large"}) {
    EXPECT_THAT(GetInt(read, name), IsError(kBad, HasSubstr(std::string("'") + name + "'")))
        << name;
  }
}

TEST(JsonWrite, GivesBackWhatItParsed) {
  for (const char* text :
       {R"({"b":1,"a":[true,null,"x\"\\\n\u0001"],"c":{}})", "[]", "-1", "\"\xC3\xA9\"", "1E-1"}) {
    const auto value = Parse(text);
    ASSERT_THAT(value, IsOk());
    EXPECT_THAT(Parse(Write(*value)), IsOkAnd(*value));
    EXPECT_THAT(Parse(WritePretty(*value)), IsOkAnd(*value));
  }
  EXPECT_EQ(Write(Parse(R"({ "b" : 1 , "a" : [ 1 , 2 ] })").value()), R"({"b":1,"a":[1,2]})");
}

TEST(JsonWrite, IndentsByTwoSpacesWhenPretty) {
  EXPECT_EQ(WritePretty(Parse(R"({"b":1,"a":[1,{"c":"d"}],"e":[],"f":{}})").value()),
            "{\n"
            "  \"b\": 1,\n"
            "  \"a\": [\n"
            "    1,\n"
            "    {\n"
            "      \"c\": \"d\"\n"
            "    }\n"
            "  ],\n"
            "  \"e\": [],\n"
            "  \"f\": {}\n"
            "}\n");
}

TEST(JsonAccess, GivesTheMemberOfTheRightType) {
  const object read = ObjectOf(R"({"s": "text", "i": 5, "b": true, "o": {"x": 1}, "a": [1, 2]})");
  EXPECT_THAT(GetString(read, "s"), IsOkAnd("text"));
  EXPECT_THAT(GetInt(read, "i"), IsOkAnd(5));
  EXPECT_THAT(GetBool(read, "b"), IsOkAnd(true));
  EXPECT_EQ(GetObject(read, "o").value()->size(), 1U);
  EXPECT_EQ(GetArray(read, "a").value()->size(), 2U);
  EXPECT_THAT(GetOptionalString(read, "s"), IsOkAnd(std::optional<std::string>("text")));
  EXPECT_THAT(GetOptionalInt(read, "i"), IsOkAnd(std::optional<std::int64_t>(5)));
  EXPECT_EQ(GetOptionalObject(read, "o").value()->size(), 1U);
  EXPECT_EQ(GetOptionalArray(read, "a").value()->size(), 2U);
}

TEST(JsonAccess, RefusesAMissingOrNullMemberAndNamesIt) {
  const object read = ObjectOf(R"({"null-one": null})");
  for (const char* name : {"gone", "null-one"}) {
    const auto names_it = HasSubstr(std::string("'") + name + "' is missing");
    EXPECT_THAT(GetString(read, name), IsError(kBad, names_it));
    EXPECT_THAT(GetInt(read, name), IsError(kBad, names_it));
    EXPECT_THAT(GetBool(read, name), IsError(kBad, names_it));
    EXPECT_THAT(GetObject(read, name), IsError(kBad, names_it));
    EXPECT_THAT(GetArray(read, name), IsError(kBad, names_it));
    EXPECT_THAT(GetOptionalString(read, name), IsOkAnd(std::optional<std::string>()));
    EXPECT_THAT(GetOptionalInt(read, name), IsOkAnd(std::optional<std::int64_t>()));
    EXPECT_THAT(GetOptionalObject(read, name), IsOkAnd(nullptr));
    EXPECT_THAT(GetOptionalArray(read, name), IsOkAnd(nullptr));
  }
}

TEST(JsonAccess, RefusesAnotherTypeAndNamesTheMember) {
  const object read = ObjectOf(R"({"s": "1", "i": 1, "b": true, "o": {}, "a": []})");
  for (const auto& member : read) {
    const std::string name = member.key();
    const auto names_it = HasSubstr("'" + name + "' is not ");
    const auto expect = [&](const std::string& own, const auto& result) {
      if (name == own) {
        EXPECT_THAT(result, IsOk()) << name;
      } else {
        EXPECT_THAT(result, IsError(kBad, names_it)) << name;
      }
    };
    expect("s", GetString(read, name));
    expect("i", GetInt(read, name));
    expect("b", GetBool(read, name));
    expect("o", GetObject(read, name));
    expect("a", GetArray(read, name));
    expect("s", GetOptionalString(read, name));
    expect("i", GetOptionalInt(read, name));
    expect("o", GetOptionalObject(read, name));
    expect("a", GetOptionalArray(read, name));
  }
  EXPECT_THAT(AsObject(boost::json::value(1), "the body"),
              IsError(kBad, HasSubstr("the body is not")));
  EXPECT_THAT(AsObject(boost::json::value(object()), "the body"), IsOk());
}

}  // namespace
}  // namespace lake::json
