#include "lake/iceberg/column_map.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/iceberg/ids.h"

namespace lake::iceberg {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNull;
using ::testing::Pair;
using ::testing::Pointee;

TEST(ColumnMap, FindsWhatWasSetInAnyOrder) {
  ColumnMap<std::int64_t> map;
  map.Set(FieldId{5}, 50);
  map.Set(FieldId{1}, 10);
  map.Set(FieldId{3}, 30);
  map.Set(FieldId{5}, 51);
  EXPECT_THAT(map, ElementsAre(Pair(FieldId{1}, 10), Pair(FieldId{3}, 30), Pair(FieldId{5}, 51)));
  EXPECT_THAT(map.Find(FieldId{3}), Pointee(30));
  EXPECT_THAT(map.Find(FieldId{2}), IsNull());
  EXPECT_THAT(map.Find(FieldId{6}), IsNull());
}

TEST(ColumnMap, OrdersEntriesAndKeepsTheLastOfEach) {
  const ColumnMap<std::string> map({{FieldId{3}, "old"},
                                    {FieldId{1}, "a"},
                                    {FieldId{3}, "new"},
                                    {FieldId{1}, "b"},
                                    {FieldId{2}, "c"}});
  EXPECT_THAT(map,
              ElementsAre(Pair(FieldId{1}, "b"), Pair(FieldId{2}, "c"), Pair(FieldId{3}, "new")));
}

TEST(ColumnMap, IsEqualByContent) {
  EXPECT_EQ((ColumnMap<std::int64_t>{{FieldId{1}, 1}, {FieldId{2}, 2}}),
            (ColumnMap<std::int64_t>{{FieldId{2}, 2}, {FieldId{1}, 1}}));
  EXPECT_NE((ColumnMap<std::int64_t>{{FieldId{1}, 1}}), (ColumnMap<std::int64_t>{{FieldId{1}, 2}}));
}

TEST(ColumnMap, GivesItsEntriesAway) {
  ColumnMap<std::int64_t> map{{FieldId{1}, 1}};
  std::vector<std::pair<FieldId, std::int64_t>> entries = std::move(map).Release();
  EXPECT_THAT(entries, ElementsAre(Pair(FieldId{1}, 1)));
}

}  // namespace
}  // namespace lake::iceberg
