#include "lake/cli/keywords.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace lake::cli {
namespace {

using catalog::Namespace;
using catalog::TableName;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SqlKeywords, AreSortedAndNoneComesTwice) {
  EXPECT_TRUE(std::ranges::is_sorted(SqlKeywords()));
  EXPECT_EQ(std::ranges::adjacent_find(SqlKeywords()), SqlKeywords().end());
}

TEST(SqlTableName, QuotesWhatSqlWouldNotReadBack) {
  EXPECT_EQ(SqlTableName({.ns = {{"demo"}}, .name = "flights"}), "demo.flights");
  EXPECT_EQ(SqlTableName({.ns = {{"a", "b"}}, .name = "t"}), "\"a.b\".t");
  EXPECT_EQ(SqlTableName({.ns = {{"Upper"}}, .name = "1st"}), "\"Upper\".\"1st\"");
  EXPECT_EQ(SqlTableName({.ns = {{"n"}}, .name = "or\"der"}), "n.\"or\"\"der\"");
  EXPECT_EQ(SqlTableName({.ns = {{"n"}}, .name = "order"}), "n.\"order\"");
}

TEST(SqlCompletions, OfferKeywordsAndTables) {
  const std::vector<TableName> tables = {{.ns = {{"demo"}}, .name = "flights"},
                                         {.ns = {{"desk"}}, .name = "t"}};
  EXPECT_THAT(SqlCompletions("des", tables), ElementsAre("desc", "describe", "desk.t"));
  EXPECT_THAT(SqlCompletions("SEL", tables), ElementsAre("SELECT"));
  EXPECT_THAT(SqlCompletions("demo.", tables), ElementsAre("demo.flights"));
  EXPECT_THAT(SqlCompletions("zzz", tables), IsEmpty());
}

}  // namespace
}  // namespace lake::cli
