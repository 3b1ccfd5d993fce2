#include "lake/metastore/transaction.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/testing/matchers.h"

namespace lake::metastore {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOk;
using ::testing::HasSubstr;

TEST(Expectation, TellsAbsentFromEmpty) {
  EXPECT_TRUE(Expectation::Any().HoldsFor(std::nullopt));
  EXPECT_TRUE(Expectation::Any().HoldsFor(""));
  EXPECT_TRUE(Expectation::Absent().HoldsFor(std::nullopt));
  EXPECT_FALSE(Expectation::Absent().HoldsFor(""));
  EXPECT_FALSE(Expectation::Exactly("").HoldsFor(std::nullopt));
  EXPECT_TRUE(Expectation::Exactly("").HoldsFor(""));
  EXPECT_TRUE(Expectation::Exactly("a").HoldsFor("a"));
  EXPECT_FALSE(Expectation::Exactly("a").HoldsFor("ab"));
  EXPECT_FALSE(Expectation::Exactly("a").HoldsFor(std::string("a\0", 2)));
}

TEST(Transaction, KeepsItsItemsInOrder) {
  const Transaction transaction = Transaction()
                                      .Check("ns/a", Expectation::Exactly("x"))
                                      .Put("tbl/a/t", Expectation::Absent(), "value")
                                      .Delete("loc/l", Expectation::Any());
  EXPECT_EQ(transaction.items(),
            (std::vector<Item>{{.key = "ns/a", .expectation = Expectation::Exactly("x")},
                               {.key = "tbl/a/t",
                                .expectation = Expectation::Absent(),
                                .action = Item::Action::kPut,
                                .value = "value"},
                               {.key = "loc/l", .action = Item::Action::kDelete}}));
  EXPECT_EQ(transaction.byte_size(), 4U + 1U + 7U + 5U + 5U);
  EXPECT_THAT(transaction.Validate(), IsOk());
}

TEST(Transaction, NamesItsFirstOffence) {
  EXPECT_THAT(Transaction().Validate(), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(Transaction()
                  .Put("tbl/ok", Expectation::Any(), "")
                  .Put("tbl", Expectation::Any(), "")
                  .Put("ns", Expectation::Any(), "")
                  .Validate(),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("'tbl'")));
  EXPECT_THAT(Transaction().Check("ns/a", Expectation::Any()).Validate(),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("'ns/a'")));
  EXPECT_THAT(Transaction()
                  .Put("tbl/b", Expectation::Any(), "")
                  .Put("tbl/a\n", Expectation::Any(), "")
                  .Delete("tbl/a\n", Expectation::Any())
                  .Validate(),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("'tbl/a\\x0a'")));
}

TEST(SplitKey, FindsThePartitionPart) {
  const auto parts = SplitKey("tbl/ns/t");
  ASSERT_THAT(parts, IsOk());
  EXPECT_EQ(parts->partition, "tbl");
  EXPECT_EQ(parts->rest, "ns/t");
  const auto operation = SplitKey("op/0198c0ffee-3/0198/x");
  ASSERT_THAT(operation, IsOk());
  EXPECT_EQ(operation->partition, "op/0198c0ffee-3");
  EXPECT_EQ(operation->rest, "0198/x");
  const auto near = SplitKey("opx/a/b");
  ASSERT_THAT(near, IsOk());
  EXPECT_EQ(near->partition, "opx");
}

TEST(SplitKey, RefusesWhatIsNotAKey) {
  for (const char* key : {"", "/", "/a", "tbl", "tbl/", "op", "op/", "op/a", "op/a/", "op//a"}) {
    EXPECT_THAT(SplitKey(key), IsError(ErrorCode::kInvalidArgument)) << key;
  }
  EXPECT_THAT(SplitKey("a/" + std::string(kKeyBytesMax - 2, 'k')), IsOk());
  EXPECT_THAT(SplitKey("a/" + std::string(kKeyBytesMax - 1, 'k')),
              IsError(ErrorCode::kInvalidArgument));
}

TEST(SplitPrefix, AllowsAnEmptyRest) {
  const auto whole = SplitPrefix("tbl/");
  ASSERT_THAT(whole, IsOk());
  EXPECT_EQ(whole->partition, "tbl");
  EXPECT_EQ(whole->rest, "");
  const auto shard = SplitPrefix("op/s/");
  ASSERT_THAT(shard, IsOk());
  EXPECT_EQ(shard->partition, "op/s");
  for (const char* prefix : {"", "/", "tbl", "op", "op/", "op/s", "op//"}) {
    EXPECT_THAT(SplitPrefix(prefix), IsError(ErrorCode::kInvalidArgument)) << prefix;
  }
}

}  // namespace
}  // namespace lake::metastore
