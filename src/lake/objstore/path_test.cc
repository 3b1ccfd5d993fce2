#include "lake/objstore/path.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/testing/matchers.h"

namespace lake::objstore {
namespace {

using lake::testing::IsError;
using lake::testing::IsOkAnd;
using ::testing::HasSubstr;

constexpr ErrorCode kBad = ErrorCode::kInvalidArgument;

TEST(ObjectKey, TakesThreeFormsOfOnePath) {
  for (const char* path : {"/data/x", "file:///data/x", "file:/data/x"}) {
    EXPECT_THAT(ObjectKey(path, "file"), IsOkAnd("/data/x")) << path;
  }
  EXPECT_THAT(ObjectKey("memory:///x", "memory"), IsOkAnd("/x"));
}

TEST(ObjectKey, TakesEveryByteLiterally) {
  for (const std::string_view name :
       {"a%20b",    "ts=10%3A00", "a%2Fb", "%2E%2E", "%", "%zz", "a b",   "a?b", "a#b",
        "a;b",      "a&b",        "a\\b",  "~",      "*", "...", ".a",    "a.",  "..a",
        "\xC3\xA9", "\xFF",       "\n",    "\x01",   "'", "\"",  "file:", "-rf", " "}) {
    const std::string key = "/d/" + std::string(name);
    EXPECT_THAT(ObjectKey(key, "file"), IsOkAnd(key));
    EXPECT_THAT(ObjectKey("file://" + key, "file"), IsOkAnd(key));
    EXPECT_THAT(ObjectKey("file:" + key, "file"), IsOkAnd(key));
  }
}

TEST(ObjectKey, RefusesOtherFormsAndSaysWhichItTakes) {
  for (const char* path : {"", "x", "./x", "../x", "file:", "file:x", "file", "FILE:///x",
                           "s3://b/x", "memory:///x", "file;///x", " /x", "C:\\x", "filex:///y"}) {
    EXPECT_THAT(ObjectKey(path, "file"), IsError(kBad, HasSubstr("file:///"))) << path;
  }
}

TEST(ObjectKey, RefusesAHost) {
  for (const char* path : {"file://localhost/x", "file://host/x", "file://x"}) {
    EXPECT_THAT(ObjectKey(path, "file"), IsError(kBad, HasSubstr("without a host"))) << path;
  }
}

TEST(ObjectKey, RefusesWhatIsNotNormalised) {
  for (const std::string_view key : {"/", "//", "//x", "/x/", "/x//y", "/x//", "/.", "/..", "/./x",
                                     "/x/.", "/x/./y", "/../x", "/x/..", "/x/../y", "/x/../../y"}) {
    EXPECT_THAT(ObjectKey(key, "file"), IsError(kBad)) << key;
    EXPECT_THAT(ObjectKey("file://" + std::string(key), "file"), IsError(kBad)) << key;
  }
  EXPECT_THAT(ObjectKey(std::string_view("/a\0b", 4), "file"), IsError(kBad, HasSubstr("NUL")));
}

TEST(ObjectKey, RefusesWhatIsTooLong) {
  const std::string part(kPathPartBytesMax, 'a');
  EXPECT_THAT(ObjectKey("/" + part, "file"), IsOkAnd("/" + part));
  EXPECT_THAT(ObjectKey("/" + part + "a", "file"), IsError(kBad, HasSubstr("255")));
  EXPECT_THAT(ObjectKey("/" + part + "a/b", "file"), IsError(kBad, HasSubstr("255")));
  std::string key;
  while (key.size() < kPathBytesMax - 1) {
    key += "/a";
  }
  key += 'b';
  EXPECT_THAT(ObjectKey(key, "file"), IsOkAnd(key));
  EXPECT_THAT(ObjectKey(key + "c", "file"), IsError(kBad, HasSubstr("4095")));
}

TEST(ObjectKey, ShowsNoControlCharactersInItsErrors) {
  EXPECT_THAT(ObjectKey("/a\n\x1B[31m//b", "file"), IsError(kBad, HasSubstr("'/a??[31m//b'")));
}

TEST(PrefixKey, EndsInASlash) {
  EXPECT_THAT(PrefixKey("/", "file"), IsOkAnd("/"));
  EXPECT_THAT(PrefixKey("file:///", "file"), IsOkAnd("/"));
  EXPECT_THAT(PrefixKey("/a/", "file"), IsOkAnd("/a/"));
  EXPECT_THAT(PrefixKey("file:///a/b%20/", "file"), IsOkAnd("/a/b%20/"));
  for (const char* prefix : {"", "/a", "file:///a", "a/", "file://a/"}) {
    EXPECT_THAT(PrefixKey(prefix, "file"), IsError(kBad)) << prefix;
  }
  for (const char* prefix : {"//", "/a//", "/./", "/../", "/a/../"}) {
    EXPECT_THAT(PrefixKey(prefix, "file"), IsError(kBad)) << prefix;
  }
}

}  // namespace
}  // namespace lake::objstore
