#include "lake/engine/normal_path.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/testing/matchers.h"

namespace lake::engine {
namespace {

using ::testing::HasSubstr;
using testing::IsError;
using testing::IsOkAnd;
using Place = LocationScope::Place;

TEST(NormalPath, GivesThreeFormsOfALocalPathOneForm) {
  for (const std::string path : {"/data/t", "file:/data/t", "file:///data/t", "FILE:///data/t",
                                 "/data/t/", "file:///data/t//"}) {
    EXPECT_THAT(NormalPath(path), IsOkAnd(std::string("file:///data/t"))) << path;
  }
}

TEST(NormalPath, GivesTheThreeSchemesOfS3OneForm) {
  for (const std::string path : {"s3://b/t", "s3a://b/t", "s3n://b/t", "S3://b/t/"}) {
    EXPECT_THAT(NormalPath(path), IsOkAnd(std::string("s3://b/t"))) << path;
  }
  EXPECT_THAT(NormalPath("gs://b/t"), IsOkAnd(std::string("gs://b/t")));
}

TEST(NormalPath, TakesWhatFollowsTheSchemeByteForByte) {
  EXPECT_THAT(NormalPath("/d/ts=10%3A00?#"), IsOkAnd(std::string("file:///d/ts=10%3A00?#")));
  EXPECT_THAT(NormalPath("/d/A"), IsOkAnd(std::string("file:///d/A")));
  EXPECT_THAT(NormalPath("/d/a:b"), IsOkAnd(std::string("file:///d/a:b")));
}

TEST(NormalPath, RefusesWhatHasSeveralFormsOrNone) {
  for (const std::string path :
       {"",       "t",       "d/t",     "./t",     "d:/t/x:y", "file:t",    "file://host/t",
        "file:",  "s3:/b/t", "s3://",   "s3:///t", "s3:b",     "/",         "file:///",
        "s3://b", "s3://b/", "/d/../t", "/d/./t",  "/d//t",    "s3://b/..", "s3://b//t",
        "//t"}) {
    EXPECT_THAT(NormalPath(path), IsError(ErrorCode::kInvalidArgument, HasSubstr(path))) << path;
  }
}

TEST(LocationScope, HoldsWhatLiesBelowTheLocationAndNoNeighbour) {
  const LocationScope scope = LocationScope::Make("/data/test").value();
  EXPECT_EQ(scope.location(), "file:///data/test");
  EXPECT_EQ(scope.Find("/data/test/data/x"), Place::kInside);
  EXPECT_EQ(scope.Find("file:/data/test/x"), Place::kInside);
  EXPECT_EQ(scope.Find("/data/test2/x"), Place::kOutside);
  EXPECT_EQ(scope.Find("/data/tes"), Place::kOutside);
  EXPECT_EQ(scope.Find("/data/test"), Place::kOutside);
  EXPECT_EQ(scope.Find("s3://data/test/x"), Place::kOutside);
}

TEST(LocationScope, CallsUnclearWhatOnlyPercentDecodingWouldPutInside) {
  const LocationScope plain = LocationScope::Make("s3://b/a b").value();
  EXPECT_EQ(plain.Find("s3a://b/a b/x"), Place::kInside);
  EXPECT_EQ(plain.Find("s3://b/a%20b/x"), Place::kUnclear);
  EXPECT_EQ(plain.Find("s3://b/a%2520b/x"), Place::kUnclear);
  EXPECT_EQ(plain.Find("s3://b/a%20bc/x"), Place::kOutside);
  const LocationScope escaped = LocationScope::Make("s3://b/a%20b").value();
  EXPECT_EQ(escaped.Find("s3://b/a%20b/x%"), Place::kInside);
  EXPECT_EQ(escaped.Find("s3://b/a b/x"), Place::kUnclear);
}

TEST(LocationScope, CallsUnclearWhatHasNoNormalForm) {
  const LocationScope scope = LocationScope::Make("/data/test").value();
  for (const char* path : {"/data/test/../x", "/data//test/x", "x", "file://host/data/test/x"}) {
    EXPECT_EQ(scope.Find(path), Place::kUnclear) << path;
  }
}

}  // namespace
}  // namespace lake::engine
