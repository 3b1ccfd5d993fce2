#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/lease/combination_internal.h"
#include "lake/lease/lease_guard.h"
#include "lake/lease/records.h"
#include "lake/metastore/transaction.h"
#include "lake/testing/matchers.h"

namespace lake::lease {
namespace {

using metastore::Expectation;
using metastore::FailedExpectation;
using metastore::Item;
using metastore::Rejected;
using metastore::Transaction;
using ::testing::ElementsAre;
using ::testing::Optional;

using Added = Combination::Added;

LeaseGuard Guard() {
  return LeaseGuard(Epoch(1), "the term");
}

Transaction Put(const std::string& key, const std::string& value) {
  return Transaction().Put(key, Expectation::Absent(), value);
}

std::vector<std::string> KeysOf(const Transaction& transaction) {
  std::vector<std::string> keys;
  for (const Item& item : transaction.items()) {
    keys.push_back(item.key);
  }
  return keys;
}

TEST(Combination, CarriesOneTermCheckBeforeEverythingElse) {
  Combination combination(Guard());
  EXPECT_EQ(combination.Add(Put("t/a", "1")), Added::kYes);
  EXPECT_EQ(combination.Add(Put("t/b", "2").Check("t/c", Expectation::Exactly("x"))), Added::kYes);
  EXPECT_EQ(combination.size(), 2U);
  const Transaction built = combination.Build();
  EXPECT_THAT(built.Validate(), testing::IsOk());
  EXPECT_EQ(built, Transaction()
                       .Check(std::string(kTermKey), Expectation::Exactly("the term"))
                       .Put("t/a", Expectation::Absent(), "1")
                       .Put("t/b", Expectation::Absent(), "2")
                       .Check("t/c", Expectation::Exactly("x")));
}

TEST(Combination, RefusesAKeyThatIsTakenAndChangesNothing) {
  Combination combination(Guard());
  ASSERT_EQ(combination.Add(Put("t/a", "1").Check("t/c", Expectation::Absent())), Added::kYes);
  const Transaction before = combination.Build();
  for (const Transaction& other :
       {Put("t/b", "2").Put("t/a", Expectation::Any(), "2"),
        Put("t/b", "2").Check("t/a", Expectation::Absent()),
        Put("t/b", "2").Check("t/c", Expectation::Exactly("x")),
        Put("t/b", "2").Delete("t/c", Expectation::Absent()),
        Put("t/b", "2").Check(std::string(kTermKey), Expectation::Exactly("another"))}) {
    EXPECT_EQ(combination.Add(other), Added::kKeyTaken);
    EXPECT_EQ(combination.Build(), before);
    EXPECT_EQ(combination.size(), 1U);
  }
}

TEST(Combination, MergesEqualChecks) {
  Combination combination(Guard());
  for (const std::string key : {"t/a", "t/b", "t/c"}) {
    EXPECT_EQ(combination.Add(Put(key, "1").Check("n/ns", Expectation::Exactly("props"))),
              Added::kYes);
  }
  EXPECT_THAT(KeysOf(combination.Build()), ElementsAre(kTermKey, "t/a", "n/ns", "t/b", "t/c"));
}

TEST(Combination, OfUnconditionalPutsTheLastWins) {
  Combination combination(Guard());
  for (const std::string name : {"a", "b", "c"}) {
    EXPECT_EQ(combination.Add(Put("t/" + name, "1").Put("dir/names", Expectation::Any(), name)),
              Added::kYes);
  }
  const Transaction built = combination.Build();
  EXPECT_THAT(KeysOf(built), ElementsAre(kTermKey, "t/a", "dir/names", "t/b", "t/c"));
  EXPECT_EQ(built.items()[2].value, "c");
}

TEST(Combination, KeepsToTheNumberOfKeys) {
  Combination combination(Guard());
  for (std::size_t i = 1; i < metastore::kTransactionKeysMax; ++i) {
    ASSERT_EQ(combination.Add(Put("t/" + std::to_string(i), "1")), Added::kYes);
  }
  EXPECT_EQ(combination.Add(Put("t/one-more", "1")), Added::kNoRoom);
  EXPECT_EQ(combination.Build().items().size(), metastore::kTransactionKeysMax);
  EXPECT_THAT(combination.Build().Validate(), testing::IsOk());
}

TEST(Combination, KeepsToTheNumberOfBytes) {
  Combination combination(Guard());
  const std::string value(metastore::kValueBytesMax, 'v');
  std::size_t count = 0;
  while (combination.Add(Put("t/" + std::to_string(count), value)) == Added::kYes) {
    ++count;
  }
  EXPECT_EQ(count, metastore::kTransactionBytesMax / metastore::kValueBytesMax);
  EXPECT_THAT(combination.Build().Validate(), testing::IsOk());
  // What still fits, fits to the byte; and a put that replaces another counts once.
  const std::size_t left = metastore::kTransactionBytesMax - combination.Build().byte_size();
  EXPECT_EQ(combination.Add(Put("t/x", std::string(left - 2, 'v'))), Added::kNoRoom);
  EXPECT_EQ(
      combination.Add(Transaction().Put("t/x", Expectation::Any(), std::string(left - 3, 'v'))),
      Added::kYes);
  EXPECT_EQ(combination.Build().byte_size(), metastore::kTransactionBytesMax);
  EXPECT_EQ(
      combination.Add(Transaction().Put("t/x", Expectation::Any(), std::string(left - 3, 'w'))),
      Added::kYes);
  EXPECT_THAT(combination.Build().Validate(), testing::IsOk());
}

TEST(Combination, GivesEachMemberItsOwnFailuresInTheOrderOfItsItems) {
  Combination combination(Guard());
  combination.Add(Put("t/a", "1").Check("n/ns", Expectation::Exactly("props")));
  combination.Add(Put("t/b", "1"));
  combination.Add(Transaction()
                      .Put("t/c", Expectation::Absent(), "1")
                      .Check("n/ns", Expectation::Exactly("props"))
                      .Put("t/d", Expectation::Absent(), "1"));
  // Items: 0 term, 1 t/a, 2 n/ns, 3 t/b, 4 t/c, 5 t/d.
  const auto split = combination.Split(Rejected{{{.item = 2, .key = "n/ns", .actual = "other"},
                                                 {.item = 4, .key = "t/c", .actual = "there"},
                                                 {.item = 5, .key = "t/d", .actual = "there"}}});
  ASSERT_EQ(split.size(), 3U);
  EXPECT_THAT(split[0], Optional(Rejected{{{.item = 1, .key = "n/ns", .actual = "other"}}}));
  EXPECT_EQ(split[1], std::nullopt);
  EXPECT_THAT(split[2], Optional(Rejected{{{.item = 0, .key = "t/c", .actual = "there"},
                                           {.item = 1, .key = "n/ns", .actual = "other"},
                                           {.item = 2, .key = "t/d", .actual = "there"}}}));
}

}  // namespace
}  // namespace lake::lease
