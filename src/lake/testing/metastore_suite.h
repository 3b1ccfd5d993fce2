#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread.h"
#include "lake/base/thread_annotations.h"
#include "lake/base/time.h"
#include "lake/metastore/metastore.h"
#include "lake/metastore/transaction.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/run_together.h"

// The conformance suite of MetaStore: one set of tests that every backend passes. A backend's test
// program includes this file in exactly one source and names itself:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, MetaStoreSuite, ::testing::Values(MetaStoreBackend{…}),
//   MetaStoreBackendName);
//
// A durable one does the same for DurableMetaStoreSuite.
//
// The number in a comment "Law 2" is that of the laws at the head of metastore.h.

namespace lake::testing {

using metastore::CommitResult;
using metastore::Committed;
using metastore::Entry;
using metastore::Expectation;
using metastore::FailedExpectation;
using metastore::Item;
using metastore::MetaStore;
using metastore::Page;
using metastore::Rejected;
using metastore::Transaction;

// One empty store, and what a test does to it beyond MetaStore.
class MetaStoreHarness {
 public:
  virtual ~MetaStoreHarness() = default;
  // Returns the open store.
  virtual MetaStore& store() = 0;
  // Returns the clock on which the store counts deadlines.
  virtual ManualClock& clock() = 0;
  // Closes the store and opens what it left behind. Only asked of backends that name themselves to DurableMetaStoreSuite.
  virtual void Reopen() = 0;
};

// A backend, with the differences that the laws allow.
struct MetaStoreBackend {
  std::string name;
  std::function<std::unique_ptr<MetaStoreHarness>()> make;
  MetaStore::Traits traits;
};

// Returns the name that the backend's tests bear.
inline std::string MetaStoreBackendName(const ::testing::TestParamInfo<MetaStoreBackend>& info) {
  return info.param.name;
}

// Prints the backend in messages of failed tests.
inline void PrintTo(const MetaStoreBackend& backend, std::ostream* out) {
  *out << backend.name;
}

// Tells other threads, also when a failed assertion ends this one early, that they may stop.
class StopOnExit {
 public:
  explicit StopOnExit(std::atomic<bool>& stop) : stop_(stop) {}

  ~StopOnExit() { stop_ = true; }

  StopOnExit(const StopOnExit&) = delete;
  StopOnExit& operator=(const StopOnExit&) = delete;

 private:
  std::atomic<bool>& stop_;
};

// Each test has a fresh store of the backend.
class MetaStoreSuite : public ::testing::TestWithParam<MetaStoreBackend> {
 protected:
  MetaStoreSuite() : harness_(GetParam().make()) {}

  MetaStore& store() { return harness_->store(); }

  MetaStoreHarness& harness() { return *harness_; }

  // A deadline that no test reaches.
  Deadline Later() { return harness_->clock().Now() + std::chrono::hours(1); }

  Result<CommitResult> Commit(const Transaction& transaction) {
    return store().Commit(transaction, Later());
  }

  // Commits and expects success.
  void MustCommit(const Transaction& transaction) {
    ASSERT_THAT(Commit(transaction), IsOkAnd(::testing::VariantWith<Committed>(Committed{})));
  }

  void MustPut(const std::string& key, const std::string& value) {
    MustCommit(Transaction().Put(key, Expectation::Any(), value));
  }

  Result<std::optional<std::string>> Get(std::string_view key) { return store().Get(key, Later()); }

  // Returns everything under `prefix`, read in pages of `limit`; checks that pages keep their
  // promises.
  std::vector<Entry> ScanAll(std::string_view prefix, std::size_t limit) {
    std::vector<Entry> all;
    std::string after;
    while (true) {
      Result<Page> page = store().Scan(prefix, after, limit, Later());
      EXPECT_THAT(page, IsOk());
      if (!page.has_value()) {
        return all;
      }
      EXPECT_LE(page->entries.size(), limit);
      for (Entry& entry : page->entries) {
        EXPECT_TRUE(entry.key.starts_with(prefix));
        EXPECT_GT(entry.key, after) << "keys come in order and each once";
        after = entry.key;
        all.push_back(std::move(entry));
      }
      if (!page->next.has_value()) {
        return all;
      }
      EXPECT_GE(*page->next, after) << "a continuation never goes back";
      after = *page->next;
    }
  }

  std::vector<std::string> ScanKeys(std::string_view prefix, std::size_t limit) {
    std::vector<std::string> keys;
    for (Entry& entry : ScanAll(prefix, limit)) {
      keys.push_back(std::move(entry.key));
    }
    return keys;
  }

 private:
  std::unique_ptr<MetaStoreHarness> harness_;
};

// Returns a string of these bytes.
inline std::string Bytes(std::initializer_list<int> bytes) {
  std::string out;
  for (const int byte : bytes) {
    out.push_back(static_cast<char>(byte));
  }
  return out;
}

// Returns a key of exactly `size` bytes.
inline std::string KeyOfSize(std::size_t size) {
  return "tbl/" + std::string(size - 4, 'k');
}

TEST_P(MetaStoreSuite, ReportsTheTraitsOfItsBackend) {
  EXPECT_EQ(store().traits().exclusive, GetParam().traits.exclusive);
  EXPECT_EQ(store().traits().shared_checks, GetParam().traits.shared_checks);
}

// Law 2: every expectation, with every action, on every state of the key.
TEST_P(MetaStoreSuite, AppliesAnItemExactlyWhenItsExpectationHolds) {
  const std::string written = "written";
  const std::vector<std::optional<std::string>> states = {std::nullopt, "", "stored", "other"};
  const std::vector<Expectation> expectations = {Expectation::Any(), Expectation::Absent(),
                                                 Expectation::Exactly(""),
                                                 Expectation::Exactly("stored")};
  const std::vector<Item::Action> actions = {Item::Action::kCheck, Item::Action::kPut,
                                             Item::Action::kDelete};
  int number = 0;
  for (const std::optional<std::string>& state : states) {
    for (const Expectation& expectation : expectations) {
      for (const Item::Action action : actions) {
        const std::string key = "tbl/case" + std::to_string(number++);
        SCOPED_TRACE(key + ": state " + state.value_or("absent") + ", expectation " +
                     std::to_string(static_cast<int>(expectation.kind)) + " '" + expectation.bytes +
                     "', action " + std::to_string(static_cast<int>(action)));
        if (state.has_value()) {
          MustPut(key, *state);
        }
        Transaction transaction;
        std::optional<std::string> applied = state;
        switch (action) {
          case Item::Action::kCheck:
            transaction.Check(key, expectation);
            break;
          case Item::Action::kPut:
            transaction.Put(key, expectation, written);
            applied = written;
            break;
          case Item::Action::kDelete:
            transaction.Delete(key, expectation);
            applied = std::nullopt;
            break;
        }
        const Result<CommitResult> result = Commit(transaction);
        if (expectation.kind == Expectation::Kind::kAny && action == Item::Action::kCheck) {
          EXPECT_THAT(result, IsError(ErrorCode::kInvalidArgument));
          continue;
        }
        const bool holds =
            expectation.kind == Expectation::Kind::kAny ||
            (expectation.kind == Expectation::Kind::kAbsent && !state.has_value()) ||
            (expectation.kind == Expectation::Kind::kExactly && state == expectation.bytes);
        if (holds) {
          EXPECT_THAT(result, IsOkAnd(CommitResult(Committed{})));
          EXPECT_THAT(Get(key), IsOkAnd(applied));
        } else {
          EXPECT_THAT(result,
                      IsOkAnd(CommitResult(Rejected{{{.item = 0, .key = key, .actual = state}}})));
          EXPECT_THAT(Get(key), IsOkAnd(state));
        }
      }
    }
  }
  EXPECT_EQ(number, 48);
}

TEST_P(MetaStoreSuite, NamesEveryFailedExpectationAndWhatIsThere) {
  MustPut("ns/a", "1");
  MustPut("tbl/a/t", "2");
  MustPut("tbl/a/gone", "3");
  const Transaction transaction = Transaction()
                                      .Check("ns/a", Expectation::Exactly("1"))
                                      .Check("lease/term", Expectation::Exactly("old"))
                                      .Put("tbl/a/t", Expectation::Absent(), "new")
                                      .Put("tbl/a/fresh", Expectation::Absent(), "new")
                                      .Delete("tbl/a/gone", Expectation::Exactly("other"))
                                      .Put("tbl/a/free", Expectation::Any(), "new");
  EXPECT_THAT(Commit(transaction), IsOkAnd(CommitResult(Rejected{{
                                       {.item = 1, .key = "lease/term", .actual = std::nullopt},
                                       {.item = 2, .key = "tbl/a/t", .actual = "2"},
                                       {.item = 4, .key = "tbl/a/gone", .actual = "3"},
                                   }})));
  EXPECT_THAT(ScanAll("tbl/a/", 10),
              ::testing::ElementsAre(Entry{"tbl/a/gone", "3"}, Entry{"tbl/a/t", "2"}));
}

TEST_P(MetaStoreSuite, AppliesAllItemsOfATransactionThatHolds) {
  MustPut("ns/a", "1");
  MustPut("tbl/a/old", "2");
  MustCommit(Transaction()
                 .Check("ns/a", Expectation::Exactly("1"))
                 .Check("view/a/new", Expectation::Absent())
                 .Delete("tbl/a/old", Expectation::Exactly("2"))
                 .Put("tbl/a/new", Expectation::Absent(), "2")
                 .Delete("loc/never", Expectation::Any()));
  EXPECT_THAT(Get("ns/a"), IsOkAnd("1"));
  EXPECT_THAT(Get("tbl/a/old"), IsOkAnd(std::nullopt));
  EXPECT_THAT(Get("tbl/a/new"), IsOkAnd("2"));
  EXPECT_THAT(Get("loc/never"), IsOkAnd(std::nullopt));
}

// Law 5: the last allowed size works, one more is refused and changes nothing.
TEST_P(MetaStoreSuite, BoundsKeys) {
  const std::string longest = KeyOfSize(metastore::kKeyBytesMax);
  const std::string too_long = KeyOfSize(metastore::kKeyBytesMax + 1);
  MustPut(longest, "v");
  EXPECT_THAT(Get(longest), IsOkAnd("v"));
  EXPECT_THAT(ScanAll(longest, 1), ::testing::ElementsAre(Entry{longest, "v"}));
  EXPECT_THAT(ScanAll("tbl/", 1), ::testing::ElementsAre(Entry{longest, "v"}));
  EXPECT_THAT(store().GetTogether({longest}, Later()), IsOkAnd(::testing::ElementsAre("v")));
  EXPECT_THAT(store().Scan("tbl/", longest, 1, Later()), IsOk());

  EXPECT_THAT(Commit(Transaction().Put(too_long, Expectation::Any(), "v")),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(Get(too_long), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(store().GetTogether({longest, too_long}, Later()),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(store().Scan(too_long, "", 1, Later()), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(store().Scan("tbl/", too_long, 1, Later()), IsError(ErrorCode::kInvalidArgument));
}

TEST_P(MetaStoreSuite, BoundsValues) {
  const std::string largest(metastore::kValueBytesMax, 'v');
  const std::string too_large(metastore::kValueBytesMax + 1, 'v');
  MustPut("tbl/a", largest);
  EXPECT_THAT(Get("tbl/a"), IsOkAnd(largest));
  MustCommit(Transaction().Check("tbl/a", Expectation::Exactly(largest)));

  EXPECT_THAT(Commit(Transaction().Put("tbl/a", Expectation::Any(), too_large)),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(Commit(Transaction().Check("tbl/a", Expectation::Exactly(too_large))),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(Get("tbl/a"), IsOkAnd(largest));
}

TEST_P(MetaStoreSuite, BoundsTheKeysOfATransaction) {
  Transaction most;
  for (std::size_t i = 0; i < metastore::kTransactionKeysMax; ++i) {
    most.Put("tbl/" + std::to_string(i), Expectation::Absent(), std::to_string(i));
  }
  Transaction too_many = most;
  too_many.Put("tbl/more", Expectation::Absent(), "v");
  EXPECT_THAT(Commit(too_many), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(ScanAll("tbl/", 1000), ::testing::IsEmpty());
  MustCommit(most);
  EXPECT_EQ(ScanAll("tbl/", 1000).size(), metastore::kTransactionKeysMax);

  const Result<CommitResult> again = Commit(most);
  ASSERT_THAT(again, IsOkAnd(::testing::VariantWith<Rejected>(::testing::_)));
  EXPECT_EQ(std::get<Rejected>(*again).failures.size(), metastore::kTransactionKeysMax);

  EXPECT_THAT(Commit(Transaction()), IsError(ErrorCode::kInvalidArgument));
}

TEST_P(MetaStoreSuite, BoundsTheBytesOfATransaction) {
  // Twelve values reach the limit together; keys, values and expected values all count.
  const std::string expected(1000, 'e');
  Transaction largest;
  std::size_t left = metastore::kTransactionBytesMax;
  for (int i = 0; left > 0; ++i) {
    const std::string key = "tbl/" + std::to_string(i);
    if (i == 0) {
      MustPut(key, expected);
      largest.Check(key, Expectation::Exactly(expected));
      left -= key.size() + expected.size();
      continue;
    }
    const std::size_t size = std::min(left - key.size(), metastore::kValueBytesMax);
    largest.Put(key, Expectation::Absent(), std::string(size, 'v'));
    left -= key.size() + size;
  }
  ASSERT_EQ(largest.byte_size(), metastore::kTransactionBytesMax);
  Transaction too_large = largest;
  too_large.Delete("tbl/x", Expectation::Any());
  EXPECT_THAT(Commit(too_large), IsError(ErrorCode::kInvalidArgument));
  EXPECT_EQ(ScanKeys("tbl/", 1000).size(), 1U);
  MustCommit(largest);
  EXPECT_EQ(ScanKeys("tbl/", 1000).size(), largest.items().size());
}

TEST_P(MetaStoreSuite, BoundsReadsOfSeveralKeys) {
  std::vector<std::string> most;
  for (std::size_t i = 0; i < metastore::kTransactionKeysMax; ++i) {
    most.push_back("tbl/" + std::to_string(i));
  }
  std::vector<std::string> too_many = most;
  too_many.emplace_back("tbl/more");
  EXPECT_THAT(store().GetTogether(most, Later()),
              IsOkAnd(::testing::AllOf(::testing::SizeIs(most.size()),
                                       ::testing::Each(std::optional<std::string>()))));
  EXPECT_THAT(store().GetTogether(too_many, Later()), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(store().GetTogether({}, Later()), IsOkAnd(::testing::IsEmpty()));
  EXPECT_THAT(store().GetTogether({"tbl/a", "ns/a", "tbl/a"}, Later()),
              IsError(ErrorCode::kInvalidArgument));

  // Twelve values whose keys and bytes just fit, then one byte more.
  std::vector<std::string> keys;
  std::size_t left = metastore::kTransactionBytesMax;
  for (int i = 0; left > 0; ++i) {
    keys.push_back("view/" + std::to_string(i));
    const std::size_t size = std::min(left - keys.back().size(), metastore::kValueBytesMax);
    MustPut(keys.back(), std::string(size, 'v'));
    left -= keys.back().size() + size;
  }
  EXPECT_THAT(store().GetTogether(keys, Later()), IsOkAnd(::testing::SizeIs(keys.size())));
  const Result<std::optional<std::string>> last = Get(keys.back());
  ASSERT_THAT(last, IsOkAnd(::testing::Ne(std::nullopt)));
  MustPut(keys.back(), **last + "v");
  EXPECT_THAT(store().GetTogether(keys, Later()), IsError(ErrorCode::kInvalidArgument));
}

TEST_P(MetaStoreSuite, BoundsScans) {
  MustPut("tbl/a", "1");
  EXPECT_THAT(store().Scan("tbl/", "", 0, Later()), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(store().Scan("tbl/", "", 1, Later()), IsOk());
  EXPECT_THAT(store().Scan("tbl/", "", metastore::kScanLimitMax, Later()), IsOk());
  EXPECT_THAT(store().Scan("tbl/", "", metastore::kScanLimitMax + 1, Later()),
              IsError(ErrorCode::kInvalidArgument));
}

TEST_P(MetaStoreSuite, AcceptsAKeyOnlyOncePerTransaction) {
  const std::vector<Transaction> twice = {
      Transaction().Put("tbl/a", Expectation::Any(), "1").Put("tbl/a", Expectation::Any(), "2"),
      Transaction().Check("tbl/a", Expectation::Absent()).Put("tbl/a", Expectation::Any(), "2"),
      Transaction().Delete("tbl/a", Expectation::Any()).Put("tbl/a", Expectation::Any(), "2"),
      Transaction()
          .Put("tbl/a", Expectation::Any(), "1")
          .Put("tbl/b", Expectation::Any(), "1")
          .Check("tbl/a", Expectation::Absent()),
  };
  for (const Transaction& transaction : twice) {
    EXPECT_THAT(Commit(transaction), IsError(ErrorCode::kInvalidArgument));
  }
  EXPECT_THAT(ScanAll("tbl/", 10), ::testing::IsEmpty());
}

TEST_P(MetaStoreSuite, RefusesKeysAndPrefixesWithoutAWholePartition) {
  for (const std::string& key : {std::string(), std::string("tbl"), std::string("tbl/"),
                                 std::string("/a"), std::string("op"), std::string("op/"),
                                 std::string("op/s"), std::string("op/s/"), std::string("op//a")}) {
    SCOPED_TRACE("key '" + key + "'");
    EXPECT_THAT(Get(key), IsError(ErrorCode::kInvalidArgument));
    EXPECT_THAT(store().GetTogether({"tbl/a", key}, Later()), IsError(ErrorCode::kInvalidArgument));
    EXPECT_THAT(
        Commit(
            Transaction().Put("tbl/a", Expectation::Any(), "1").Put(key, Expectation::Any(), "1")),
        IsError(ErrorCode::kInvalidArgument));
  }
  EXPECT_THAT(Get("tbl/a"), IsOkAnd(std::nullopt)) << "a refused transaction changes nothing";

  for (const std::string& prefix : {std::string(), std::string("tbl"), std::string("/"),
                                    std::string("op"), std::string("op/"), std::string("op/s")}) {
    SCOPED_TRACE("prefix '" + prefix + "'");
    EXPECT_THAT(store().Scan(prefix, "", 10, Later()), IsError(ErrorCode::kInvalidArgument));
  }

  // The neighbours of the refused ones.
  MustPut("tbl/a", "1");
  MustPut("tbl//", "2");
  MustPut("op/s/a", "3");
  MustPut("op2/a", "4");
  EXPECT_THAT(ScanKeys("tbl/", 10), ::testing::ElementsAre("tbl//", "tbl/a"));
  EXPECT_THAT(ScanKeys("op/s/", 10), ::testing::ElementsAre("op/s/a"));
  EXPECT_THAT(ScanKeys("op2/", 10), ::testing::ElementsAre("op2/a"));
}

// Law 1 and binary safety.
TEST_P(MetaStoreSuite, KeepsHostileBytesInBytewiseOrder) {
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) {
    every_byte.push_back(static_cast<char>(byte));
  }
  const std::vector<std::string> keys = {
      "tbl/" + Bytes({0x00}),
      "tbl/" + Bytes({0x00, 0x00}),
      "tbl/" + every_byte,
      "tbl/" + Bytes({0x00, 0xff}),
      "tbl/" + Bytes({0x01}),
      "tbl/" + Bytes({0x1f}),
      "tbl/ ",
      "tbl/%",
      "tbl/a",
      "tbl/a" + Bytes({0x00}),
      "tbl/a" + Bytes({0x00, 'b'}),
      "tbl/a/b",
      "tbl/ab",
      "tbl/" + Bytes({0x7f}),
      "tbl/" + Bytes({0x80}),
      "tbl/" + Bytes({0xc3, 0xa9}),
      "tbl/" + Bytes({0xff}),
      "tbl/" + Bytes({0xff, 0x00}),
      "tbl/" + Bytes({0xff, 0xff}),
  };
  ASSERT_TRUE(std::ranges::is_sorted(keys));
  const std::vector<std::string> values = {"", Bytes({0x00}), every_byte, Bytes({0xff, 0xfe}),
                                           Bytes({0x00, 0x00, 0x00})};
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    entries.push_back({.key = keys[i], .value = values[i % values.size()]});
  }
  for (const Entry& entry : entries) {
    MustCommit(Transaction().Put(entry.key, Expectation::Absent(), entry.value));
  }
  for (const Entry& entry : entries) {
    EXPECT_THAT(Get(entry.key), IsOkAnd(entry.value));
    MustCommit(Transaction().Check(entry.key, Expectation::Exactly(entry.value)));
    EXPECT_THAT(
        Commit(Transaction().Check(entry.key, Expectation::Exactly(entry.value + '\0'))),
        IsOkAnd(CommitResult(Rejected{{{.item = 0, .key = entry.key, .actual = entry.value}}})));
  }
  for (const std::size_t limit : {1U, 2U, 7U, 1000U}) {
    EXPECT_EQ(ScanAll("tbl/", limit), entries) << "limit " << limit;
  }
  EXPECT_THAT(ScanKeys("tbl/" + Bytes({0xff}), 2),
              ::testing::ElementsAre(keys[16], keys[17], keys[18]));
  EXPECT_THAT(ScanKeys("tbl/" + Bytes({0xff, 0xff}), 2), ::testing::ElementsAre(keys[18]));
  EXPECT_THAT(ScanKeys("tbl/" + Bytes({0x00}), 2),
              ::testing::ElementsAre(keys[0], keys[1], keys[2], keys[3]));
}

TEST_P(MetaStoreSuite, ScansInsideThePrefixOnly) {
  for (const char* key : {"ta/z", "tbl/a/1", "tbl/a/2", "tbl/a0", "tbl/b/1", "tblx/a/3", "u/a"}) {
    MustPut(key, key);
  }
  EXPECT_THAT(ScanKeys("tbl/a/", 10), ::testing::ElementsAre("tbl/a/1", "tbl/a/2"));
  EXPECT_THAT(ScanKeys("tbl/a", 10), ::testing::ElementsAre("tbl/a/1", "tbl/a/2", "tbl/a0"));
  EXPECT_THAT(ScanKeys("tbl/", 1),
              ::testing::ElementsAre("tbl/a/1", "tbl/a/2", "tbl/a0", "tbl/b/1"));
  EXPECT_THAT(ScanKeys("none/", 1), ::testing::IsEmpty());
}

TEST_P(MetaStoreSuite, StartsAScanAfterAnyBytes) {
  for (const char* key : {"tbl/b", "tbl/d", "tbl/f", "tblx/a"}) {
    MustPut(key, "v");
  }
  const auto keys_after = [&](std::string_view prefix, std::string_view after) {
    std::vector<std::string> keys;
    const Result<Page> page = store().Scan(prefix, after, 10, Later());
    EXPECT_THAT(page, IsOk());
    if (page.has_value()) {
      for (const Entry& entry : page->entries) {
        keys.push_back(entry.key);
      }
    }
    return keys;
  };
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  EXPECT_THAT(keys_after("tbl/", ""), ElementsAre("tbl/b", "tbl/d", "tbl/f"));
  EXPECT_THAT(keys_after("tbl/", "a"), ElementsAre("tbl/b", "tbl/d", "tbl/f"));
  EXPECT_THAT(keys_after("tbl/", "tbl"), ElementsAre("tbl/b", "tbl/d", "tbl/f"));
  EXPECT_THAT(keys_after("tbl/", "tbl/"), ElementsAre("tbl/b", "tbl/d", "tbl/f"));
  EXPECT_THAT(keys_after("tbl/", "tbl/a"), ElementsAre("tbl/b", "tbl/d", "tbl/f"));
  EXPECT_THAT(keys_after("tbl/", "tbl/b"), ElementsAre("tbl/d", "tbl/f")) << "exclusive";
  EXPECT_THAT(keys_after("tbl/", "tbl/b" + Bytes({0x00})), ElementsAre("tbl/d", "tbl/f"));
  EXPECT_THAT(keys_after("tbl/", "tbl/c"), ElementsAre("tbl/d", "tbl/f"));
  EXPECT_THAT(keys_after("tbl/", "tbl/f"), IsEmpty());
  EXPECT_THAT(keys_after("tbl/", "tbl0"), IsEmpty());
  EXPECT_THAT(keys_after("tbl/", Bytes({0xff})), IsEmpty());
}

TEST_P(MetaStoreSuite, EndsAScanOnlyByAnAbsentContinuation) {
  // Six values of 300 KiB do not fit into the page's bytes, so it is short although the limit is
  // not reached.
  const std::string large(metastore::kValueBytesMax, 'v');
  for (int i = 0; i < 6; ++i) {
    MustPut("tbl/" + std::to_string(i), large);
  }
  const Result<Page> first = store().Scan("tbl/", "", 100, Later());
  ASSERT_THAT(first, IsOk());
  EXPECT_LT(first->entries.size(), 6U);
  EXPECT_TRUE(first->next.has_value());
  EXPECT_EQ(ScanKeys("tbl/", 100).size(), 6U);
}

// Law 3: a scan is not a snapshot, but what it returns is.
TEST_P(MetaStoreSuite, ScansCommittedValuesWhileTheyChange) {
  constexpr int kStable = 40;
  for (int i = 0; i < kStable; ++i) {
    MustPut("tbl/stable" + std::to_string(100 + i), "stable");
  }
  std::atomic<bool> done = false;
  RunTogether(4, [&](std::size_t thread) {
    if (thread < 2) {
      // Rewrites and removes keys between the stable ones; a value names its key.
      for (int round = 0; !done; ++round) {
        const std::string key =
            "tbl/stable" + std::to_string(100 + (round % kStable)) + "x" + std::to_string(thread);
        MustPut(key, key + " a");
        MustPut(key, key + " b");
        MustCommit(Transaction().Delete(key, Expectation::Exactly(key + " b")));
      }
      return;
    }
    const StopOnExit stop(done);
    for (int round = 0; round < 30; ++round) {
      int stable = 0;
      for (const Entry& entry : ScanAll("tbl/", thread == 2 ? 3 : 1000)) {
        if (entry.value == "stable") {
          ++stable;
        } else {
          EXPECT_TRUE(entry.value == entry.key + " a" || entry.value == entry.key + " b")
              << entry.key << " holds " << entry.value;
        }
      }
      EXPECT_EQ(stable, kStable);
    }
  });
}

// Law 3: values read together were current together.
TEST_P(MetaStoreSuite, ReadsTogetherWhatWasCurrentTogether) {
  const std::vector<std::string> keys = {"ns/a", "tbl/a/t", "dir/names", "lease/term"};
  const auto put_all = [&](const std::string& value) {
    Transaction transaction;
    for (const std::string& key : keys) {
      transaction.Put(key, Expectation::Any(), value);
    }
    return transaction;
  };
  MustCommit(put_all("0"));
  std::atomic<bool> done = false;
  RunTogether(4, [&](std::size_t thread) {
    if (thread < 2) {
      for (int round = 1; !done; ++round) {
        MustCommit(put_all(std::to_string(thread) + "-" + std::to_string(round)));
      }
      return;
    }
    const StopOnExit stop(done);
    for (int round = 0; round < 300; ++round) {
      const auto values = store().GetTogether(keys, Later());
      ASSERT_THAT(values, IsOk());
      EXPECT_THAT(*values, ::testing::Each(values->front()));
    }
  });
}

// Law 2, where it hurts most: every round, of 64 who expect the same bytes one wins and all others
// are told who did.
TEST_P(MetaStoreSuite, LetsExactlyOneOfManyWin) {
  constexpr std::size_t kThreads = 64;
  constexpr int kRounds = 10;
  std::string current = "nobody";
  MustPut("lease/term", current);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Result<CommitResult>> results(kThreads, CommitResult(Committed{}));
    const auto mine = [&](std::size_t thread) {
      return std::to_string(round) + "/" + std::to_string(thread);
    };
    RunTogether(kThreads, [&](std::size_t thread) {
      results[thread] =
          Commit(Transaction().Put("lease/term", Expectation::Exactly(current), mine(thread)));
    });
    const Result<std::optional<std::string>> winner = Get("lease/term");
    ASSERT_THAT(winner, IsOkAnd(::testing::Ne(std::nullopt)));
    std::size_t winners = 0;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      ASSERT_THAT(results[thread], IsOk());
      if (std::holds_alternative<Committed>(*results[thread])) {
        ++winners;
        EXPECT_EQ(mine(thread), **winner);
      } else {
        EXPECT_EQ(
            std::get<Rejected>(*results[thread]).failures,
            (std::vector<FailedExpectation>{{.item = 0, .key = "lease/term", .actual = *winner}}));
      }
    }
    EXPECT_EQ(winners, 1U);
    current = **winner;
  }
}

TEST_P(MetaStoreSuite, LosesNoIncrement) {
  constexpr std::size_t kThreads = 8;
  constexpr int kIncrements = 25;
  MustPut("tbl/n", "0");
  RunTogether(kThreads, [&](std::size_t) {
    for (int done = 0; done < kIncrements;) {
      const Result<std::optional<std::string>> before = Get("tbl/n");
      ASSERT_THAT(before, IsOkAnd(::testing::Ne(std::nullopt)));
      const std::string next = std::to_string(std::stoi(**before) + 1);
      const Result<CommitResult> result =
          Commit(Transaction().Put("tbl/n", Expectation::Exactly(**before), next));
      ASSERT_THAT(result, IsOk());
      if (std::holds_alternative<Committed>(*result)) {
        ++done;
        // Law 3: whoever was told "committed" sees that value or a later one.
        const Result<std::optional<std::string>> after = Get("tbl/n");
        ASSERT_THAT(after, IsOkAnd(::testing::Ne(std::nullopt)));
        EXPECT_GE(std::stoi(**after), std::stoi(next));
      }
    }
  });
  EXPECT_THAT(Get("tbl/n"), IsOkAnd(std::to_string(kThreads * kIncrements)));
}

// The fence: from the instant a checked key changes, nothing that expects its old bytes is applied.
TEST_P(MetaStoreSuite, StopsEveryTransactionWhoseSharedCheckHasChanged) {
  constexpr std::size_t kThreads = 8;
  MustPut("lease/term", "epoch 1");
  std::atomic<bool> changed = false;
  std::vector<int> committed(kThreads, 0);
  RunTogether(kThreads + 1, [&](std::size_t thread) {
    if (thread == kThreads) {
      while (!Get("tbl/0").value_or(std::nullopt).has_value()) {
        // Somebody must have published first. Every turn is a read of the store; the writers go on
        // meanwhile.
      }
      MustPut("lease/term", "epoch 2");
      changed = true;
      return;
    }
    for (int next = 1; true; ++next) {
      const bool changed_before = changed;
      const Result<CommitResult> result = Commit(
          Transaction()
              .Check("lease/term", Expectation::Exactly("epoch 1"))
              .Put("tbl/" + std::to_string(thread), Expectation::Any(), std::to_string(next)));
      ASSERT_THAT(result, IsOk());
      if (std::holds_alternative<Rejected>(*result)) {
        EXPECT_EQ(std::get<Rejected>(*result).failures,
                  (std::vector<FailedExpectation>{
                      {.item = 0, .key = "lease/term", .actual = "epoch 2"}}));
        return;
      }
      EXPECT_FALSE(changed_before) << "a transaction begun after the change was applied";
      committed[thread] = next;
    }
  });
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    const std::optional<std::string> last =
        committed[thread] == 0 ? std::nullopt : std::optional(std::to_string(committed[thread]));
    EXPECT_THAT(Get("tbl/" + std::to_string(thread)), IsOkAnd(last));
  }
}

TEST_P(MetaStoreSuite, DoesNothingAfterTheDeadline) {
  MustPut("tbl/a", "1");
  const Instant now = harness().clock().Now();
  for (const Deadline deadline : {now, now - Duration(1), Deadline(Duration::zero())}) {
    EXPECT_THAT(store().Get("tbl/a", deadline), IsError(ErrorCode::kDeadlineExceeded));
    EXPECT_THAT(store().GetTogether({"tbl/a"}, deadline), IsError(ErrorCode::kDeadlineExceeded));
    EXPECT_THAT(store().Scan("tbl/", "", 1, deadline), IsError(ErrorCode::kDeadlineExceeded));
    EXPECT_THAT(store().Commit(Transaction().Put("tbl/a", Expectation::Any(), "2"), deadline),
                IsError(ErrorCode::kDeadlineExceeded));
  }
  EXPECT_THAT(Get("tbl/a"), IsOkAnd("1"));
  EXPECT_THAT(store().Get("tbl/a", now + Duration(1)), IsOkAnd("1"));
}

TEST_P(MetaStoreSuite, AcceptsTheLatestPossibleDeadline) {
  EXPECT_THAT(store().Commit(Transaction().Put("tbl/a", Expectation::Any(), "1"), Deadline::max()),
              IsOkAnd(CommitResult(Committed{})));
  EXPECT_THAT(store().Get("tbl/a", Deadline::max()), IsOkAnd("1"));
}

// Law 4, for backends whose commits survive Reopen().
class DurableMetaStoreSuite : public MetaStoreSuite {};

// Backends that are not durable leave it out.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DurableMetaStoreSuite);

// Law 4.
TEST_P(DurableMetaStoreSuite, KeepsEveryCommitAcrossReopening) {
  std::map<std::string, std::string> expected;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 20; ++i) {
      const std::string key = "tbl/" + std::to_string(round) + "/" + std::to_string(i);
      MustPut(key, std::string(static_cast<std::size_t>(i * 1000), 'v') + key);
      expected[key] = std::string(static_cast<std::size_t>(i * 1000), 'v') + key;
    }
    const std::string gone = "tbl/" + std::to_string(round) + "/7";
    MustCommit(Transaction().Delete(gone, Expectation::Exactly(expected[gone])));
    expected.erase(gone);
    EXPECT_THAT(Commit(Transaction()
                           .Put("tbl/never", Expectation::Absent(), "1")
                           .Check("ns/none", Expectation::Exactly("x"))),
                IsOkAnd(::testing::VariantWith<Rejected>(::testing::_)));
    harness().Reopen();
    std::map<std::string, std::string> found;
    for (const Entry& entry : ScanAll("tbl/", 100)) {
      found[entry.key] = entry.value;
    }
    EXPECT_EQ(found, expected) << "after reopening " << round + 1 << " times";
  }
}

}  // namespace lake::testing
