#include "lake/catalog/keyspace.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/metastore/transaction.h"
#include "lake/testing/matchers.h"

namespace lake::catalog {
namespace {

using testing::IsError;
using testing::IsOk;
using testing::IsOkAnd;

Uuid Id(std::string_view text) {
  return Uuid::Parse(text).value();
}

struct Vector {
  std::vector<std::string> levels;
  std::string name;
  std::string key;
};

// The vectors of docs/internals/keyspace.md.
const std::vector<Vector>& Vectors() {
  static const std::vector<Vector> kVectors = {
      {{"a"}, "t", "tbl/a/t"},
      {{"a", "b"},
       "t",
       "tbl/a\x1F"
       "b/t"},
      {{"a/b"}, "t", "tbl/a%2Fb/t"},
      {{"a"}, "b/t", "tbl/a/b%2Ft"},
      {{"100%"}, "%2F", "tbl/100%25/%252F"},
      {{"a.b"}, "t u", "tbl/a.b/t u"},
      {{"ü"}, "日本", "tbl/\xC3\xBC/\xE6\x97\xA5\xE6\x9C\xAC"},
      {{"A"}, "...", "tbl/A/..."},
  };
  return kVectors;
}

TEST(Keyspace, TableKeysAreThoseOfTheTestVectors) {
  for (const Vector& vector : Vectors()) {
    const TableName name{.ns = {vector.levels}, .name = vector.name};
    EXPECT_THAT(TableKey(name), IsOkAnd(vector.key));
    EXPECT_THAT(ParseTableKey(vector.key), IsOkAnd(name));
  }
}

TEST(Keyspace, ViewsAndNamespacesUseTheSameEscapes) {
  for (const Vector& vector : Vectors()) {
    const TableName name{.ns = {vector.levels}, .name = vector.name};
    const std::string key = ViewKey(name).value();
    EXPECT_EQ(key, "view/" + vector.key.substr(4));
    EXPECT_THAT(ParseTableKey(key), IsOkAnd(name));
    EXPECT_THAT(ParseNamespaceKey(NamespaceKey(name.ns).value()), IsOkAnd(name.ns));
  }
}

TEST(Keyspace, EveryKeyIsOneTheStoreTakes) {
  const Uuid v7 = Id("01890a5d-ac96-774b-bcce-b302099a8057");
  for (const std::string& key :
       {TableKey({.ns = {{"a"}}, .name = "t"}).value(), NamespaceKey({{"a"}}).value(),
        PendingKey(v7), OperationKey(v7), TombstoneKey(v7), LocationKey("file:///w/x").value(),
        LocationKey("s3://b/x").value(), std::string(kDirectoryKey), std::string(kLocationsKey)}) {
    EXPECT_THAT(metastore::SplitKey(key), IsOk()) << key;
  }
}

TEST(Keyspace, TablesOfANamespaceDoNotIncludeThoseOfItsNeighboursOrChildren) {
  const std::string prefix = TablesPrefix({{"a"}}).value();
  EXPECT_TRUE(TableKey({.ns = {{"a"}}, .name = "t"}).value().starts_with(prefix));
  EXPECT_FALSE(TableKey({.ns = {{"a", "b"}}, .name = "t"}).value().starts_with(prefix));
  EXPECT_FALSE(TableKey({.ns = {{"ab"}}, .name = "t"}).value().starts_with(prefix));
  EXPECT_FALSE(TableKey({.ns = {{"a/"}}, .name = "t"}).value().starts_with(prefix));
}

TEST(Keyspace, ChildrenOfANamespaceAreAtEveryDepthAndExcludeItself) {
  const std::string prefix = NamespaceChildrenPrefix({{"a"}}).value();
  EXPECT_FALSE(NamespaceKey({{"a"}}).value().starts_with(prefix));
  EXPECT_TRUE(NamespaceKey({{"a", "b"}}).value().starts_with(prefix));
  EXPECT_TRUE(NamespaceKey({{"a", "b", "c"}}).value().starts_with(prefix));
  EXPECT_FALSE(NamespaceKey({{"ab"}}).value().starts_with(prefix));
}

TEST(Keyspace, OperationKeysOfAShardSortByTime) {
  const std::string early = OperationKey(Id("01890a5d-ac96-774b-bcce-b302099a8057"));
  const std::string later = OperationKey(Id("01890a5d-ac97-7000-8000-000000000007"));
  const std::string next_hour = OperationKey(Id("01890a85-0000-7000-8000-000000000007"));
  EXPECT_EQ(early, "op/0000468915-7/01890a5d-ac96-774b-bcce-b302099a8057");
  EXPECT_LT(early, later);
  EXPECT_LT(later, next_hour);
}

TEST(Keyspace, AnOperationIsInTheShardOfItsHourAndReadsBack) {
  const Uuid id = Id("01890a5d-ac96-774b-bcce-b302099a8057");
  EXPECT_EQ(OperationsPrefix(OperationHour(id.time()), 7), "op/0000468915-7/");
  EXPECT_TRUE(OperationKey(id).starts_with(OperationsPrefix(OperationHour(id.time()), 7)));
  EXPECT_EQ(ParseOperationKey(OperationKey(id)).value(), id);
  for (const std::string key :
       {"op/0000468915-8/01890a5d-ac96-774b-bcce-b302099a8057",
        "op/0000468916-7/01890a5d-ac96-774b-bcce-b302099a8057",
        "op/0000468915-7/01890a5d-ac96-474b-bcce-b302099a8057", "op/0000468915-7/x", "op/", ""}) {
    EXPECT_THAT(ParseOperationKey(key), IsError(ErrorCode::kCorruption)) << key;
  }
}

TEST(Keyspace, NamesWhoseKeyIsTooLongAreRefused) {
  const std::string level(255, 'a');
  EXPECT_THAT(TableKey({.ns = {{level, level, level}}, .name = level}),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(TableKey({.ns = {{level, level}}, .name = level}), IsOk());
  EXPECT_THAT(TableKey({.ns = {{std::string(254, '/')}}, .name = level}), IsOk());
  EXPECT_THAT(TableKey({.ns = {{std::string(255, '/')}}, .name = std::string(255, '/')}),
              IsError(ErrorCode::kInvalidArgument));
}

TEST(Keyspace, KeysWithASecondFormAreDamage) {
  for (const std::string key :
       {"tbl/a", "tbl/a/", "tbl//t", "tbl/%61/t", "tbl/a/%2f", "tbl/a/%2", "tbl/a/%", "ns/",
        "pending/x", "pending/01890A5D-AC96-774B-BCCE-B302099A8057", "other/a/b"}) {
    EXPECT_THAT(ParseTableKey(key), IsError(ErrorCode::kCorruption)) << key;
    EXPECT_THAT(ParseNamespaceKey(key), IsError(ErrorCode::kCorruption)) << key;
    EXPECT_THAT(ParsePendingKey(key), IsError(ErrorCode::kCorruption)) << key;
    EXPECT_THAT(ParseTombstoneKey(key), IsError(ErrorCode::kCorruption)) << key;
  }
}

TEST(Keyspace, LocationsBelowOneShareItsPrefixAndItsNeighboursDoNot) {
  const std::string prefix = LocationsPrefix("file:///w/x").value();
  EXPECT_TRUE(LocationKey("file:///w/x/y").value().starts_with(prefix));
  EXPECT_FALSE(LocationKey("file:///w/x").value().starts_with(prefix));
  EXPECT_FALSE(LocationKey("file:///w/x2").value().starts_with(prefix));
  EXPECT_THAT(LocationKey("file:///" + std::string(1020, 'x')),
              IsError(ErrorCode::kInvalidArgument));
}

}  // namespace
}  // namespace lake::catalog
