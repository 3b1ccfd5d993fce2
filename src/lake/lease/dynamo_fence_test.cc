// The lease and the fence over DynamoDB, as far as its fake goes: what they promise over any store,
// and what is different there. A transaction is prepared, decided and made visible item by item, so
// a publication can be anywhere on that way when somebody else takes the term over.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/check.h"
#include "lake/base/result.h"
#include "lake/base/thread.h"
#include "lake/base/time.h"
#include "lake/lease/authority_slot.h"
#include "lake/lease/election.h"
#include "lake/lease/fenced_store.h"
#include "lake/lease/lease_test_fixtures.h"
#include "lake/metastore/dynamodb/dynamo_metastore.h"
#include "lake/metastore/transaction.h"
#include "lake/testing/dynamo_fake.h"
#include "lake/testing/faulty_metastore.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/run_together.h"
#include "lake/testing/seeded_random.h"

namespace lake::lease {
namespace {

using metastore::CommitResult;
using metastore::Committed;
using metastore::DynamoMetaStore;
using metastore::Expectation;
using metastore::FailedExpectation;
using metastore::Rejected;
using metastore::Transaction;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::DynamoFake;
using testing::Gate;
using testing::IsError;
using testing::IsOk;
using testing::IsOkAnd;
using testing::ManualClock;
using testing::RunTogether;
using testing::SeededRandom;
using ::testing::VariantWith;

using FaultKind = DynamoFake::Fault::Kind;
using Value = std::optional<std::string>;

constexpr Duration kTtl = seconds(10);
constexpr Duration kPoll = milliseconds(250);

const auto kCommitted = IsOkAnd(VariantWith<Committed>(Committed{}));

// Gives the processor up until something has happened in another thread.
void YieldUntil(const std::function<bool()>& happened) {
  while (!happened()) {
    std::this_thread::yield();
  }
}

// A process with a clock and a store of its own over the shared table: as long as the test does not
// move its clock, the process stands still.
class Node {
 public:
  Node(DynamoFake& table, std::uint8_t number) : random_(number), store_(table, clock_, random_) {
    Result<std::unique_ptr<Election>> election =
        Election::Create(store_, clock_, slot_, {.identity = TestIdentity(number), .on_won = {}});
    LAKE_CHECK(election.has_value(), "the options are valid");
    election_ = *std::move(election);
  }

  ~Node() { election_->Stop(); }

  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void Start() {
    election_->Start();
    Settle();
  }

  // Waits until the election waits: for its next round, or for another attempt.
  void Settle() { clock_.WaitForWaiters(1); }

  void Pass(Duration time) {
    for (Duration passed{}; passed < time; passed += kPoll) {
      clock_.Advance(kPoll);
      Settle();
    }
  }

  bool PassUntilLeading(Duration limit) {
    for (Duration passed{}; passed < limit && !IsLeading(); passed += kPoll) {
      clock_.Advance(kPoll);
      Settle();
    }
    return IsLeading();
  }

  bool IsLeading() const { return slot_.Current().has_value(); }

  Epoch CurrentEpoch() const {
    const Result<Epoch> epoch = fenced_.CurrentEpoch();
    EXPECT_THAT(epoch, IsOk());
    return epoch.value_or(Epoch());
  }

  Result<CommitResult> Create(const std::string& key, const std::string& value, Epoch begun_under) {
    return fenced_.Commit(Transaction().Put(key, Expectation::Absent(), value), begun_under,
                          clock_.Now() + hours(1));
  }

  Result<Value> Get(const std::string& key) { return fenced_.Get(key, clock_.Now() + hours(1)); }

  ManualClock& clock() { return clock_; }

  AuthoritySlot& slot() { return slot_; }

 private:
  ManualClock clock_;
  SeededRandom random_;
  DynamoMetaStore store_;
  AuthoritySlot slot_{clock_};
  FencedStore fenced_{store_, clock_, slot_};
  std::unique_ptr<Election> election_;
};

// A publication on its way, from a process that may stand still.
class Publishing {
 public:
  Publishing(Node& node, const std::string& key, const std::string& value)
      : node_(node), thread_("publishing", [this, &node, key, value, begun = node.CurrentEpoch()] {
          answer_ = node.Create(key, value, begun);
          done_ = true;
        }) {}

  bool is_done() const { return done_; }

  // Lets the process's time pass until the answer is there. Its election waits for its next round,
  // this thread for the lane, and the lane between two attempts: only then time is what is missing.
  Result<CommitResult> Finish() {
    while (!done_) {
      if (node_.clock().WaiterCount() >= 3) {
        node_.clock().Advance(milliseconds(5));
      } else {
        std::this_thread::yield();
      }
    }
    thread_.Join();
    return *answer_;
  }

 private:
  Node& node_;
  std::optional<Result<CommitResult>> answer_;
  std::atomic<bool> done_ = false;
  Thread thread_;
};

class DynamoFenceTest : public ::testing::Test {
 protected:
  // Looks at the table in a transaction: at what is decided.
  static Value Decided(DynamoFake& table, const std::string& sort) {
    const auto read = table.TransactGetItems({{.partition = "t", .sort = sort}});
    EXPECT_TRUE(read.has_value());
    return read.has_value() ? read->front() : std::nullopt;
  }

  ManualClock clock_;  // The table's. It never moves: no deadline passes there.
  DynamoFake table_{clock_};
};

TEST_F(DynamoFenceTest, AStaleLeaderIsFencedAndChangesNothing) {
  Node one(table_, 1);
  Node two(table_, 2);
  one.Start();
  const Epoch begun = one.CurrentEpoch();
  ASSERT_THAT(one.Create("t/a", "1", begun), kCommitted);
  two.Start();
  EXPECT_FALSE(two.PassUntilLeading(kTtl - kPoll)) << "one has not stood still for its ttl";
  ASSERT_TRUE(two.PassUntilLeading(2 * kPoll));
  EXPECT_EQ(two.CurrentEpoch(), Epoch(begun.value() + 1));
  EXPECT_TRUE(one.IsLeading()) << "it believes so; only the fence knows better";
  EXPECT_THAT(one.Create("t/b", "1", begun), IsError(ErrorCode::kFenced));
  EXPECT_FALSE(one.IsLeading());
  EXPECT_EQ(Decided(table_, "b"), std::nullopt);
  EXPECT_THAT(two.Create("t/b", "2", two.CurrentEpoch()), kCommitted);
}

TEST_F(DynamoFenceTest, PublicationsOfALeaderNeverMeetOneAnother) {
  constexpr std::size_t kWriters = 8;
  constexpr int kEach = 10;
  Node one(table_, 1);
  one.Start();
  const std::size_t before = table_.transact_count();
  RunTogether(kWriters, [&](std::size_t writer) {
    const Epoch epoch = one.CurrentEpoch();
    for (int i = 0; i < kEach; ++i) {
      const std::string key = "t/" + std::to_string(writer) + "-" + std::to_string(i);
      EXPECT_THAT(one.Create(key, "1", epoch), kCommitted);
    }
  });
  EXPECT_EQ(table_.transact_count(), table_.effect_count()) << "no attempt was refused";
  EXPECT_LE(table_.transact_count() - before, kWriters * kEach);
}

TEST_F(DynamoFenceTest, AHeartbeatAndAPublicationInFlightDoNotCancelEachOther) {
  Node one(table_, 1);
  one.Start();
  const Authority before = one.slot().Current().value();
  Gate gate;
  table_.Inject({.when = DynamoFake::TransactionsOf({.partition = "t", .sort = "a"}),
                 .fault = {.steps = 2, .during = [&] { gate.Pass(); }}});
  Publishing publication(one, "t/a", "1");
  gate.WaitForArrivals(1);
  one.clock().Advance(milliseconds(2'500));
  YieldUntil([&] { return one.slot().Current()->deadline > before.deadline; });
  EXPECT_EQ(one.slot().Current()->guard, before.guard);
  gate.Open();
  EXPECT_THAT(publication.Finish(), kCommitted);
  EXPECT_EQ(table_.transact_count(), table_.effect_count());
}

// The steps of a publication of one item: the term and the item are prepared, it is decided, both
// are finished.
constexpr std::size_t kPrepared = 1;
constexpr std::size_t kTermFinished = 4;
constexpr std::size_t kAllSteps = 5;

// A18. The older publication waits at every step while the successor campaigns.
TEST_F(DynamoFenceTest, ATakeoverDuringAPublicationEndsWithExactlyOneOutcome) {
  for (std::size_t steps = 0; steps < kAllSteps; ++steps) {
    SCOPED_TRACE("after step " + std::to_string(steps));
    DynamoFake table(clock_);
    Node one(table, 1);
    Node two(table, 2);
    one.Start();
    Gate gate;
    table.Inject({.when = DynamoFake::TransactionsOf({.partition = "t", .sort = "a"}),
                  .fault = {.steps = steps, .during = [&] { gate.Pass(); }}});
    Publishing publication(one, "t/a", "old");
    gate.WaitForArrivals(1);
    two.Start();
    const std::size_t sent_before = table.transact_count();
    const bool is_term_held = steps >= kPrepared && steps < kTermFinished;
    EXPECT_EQ(two.PassUntilLeading(4 * kTtl), !is_term_held);
    EXPECT_GE(table.transact_count(), sent_before + (is_term_held ? 10 : 1))
        << "the takeover is tried until it is decided";
    if (steps == kTermFinished) {
      // Decided before the takeover, and not yet visible after it.
      EXPECT_THAT(two.Get("t/a"), IsOkAnd(std::nullopt)) << "a plain read may not be believed";
      const std::size_t refused_before = table.transact_count();
      Publishing settling(two, "t/a", "new");
      YieldUntil([&] { return table.transact_count() > refused_before; });
      EXPECT_FALSE(settling.is_done()) << "nothing is concluded from a conflict";
      gate.Open();
      EXPECT_THAT(
          settling.Finish(),
          IsOkAnd(CommitResult(Rejected{{FailedExpectation{.key = "t/a", .actual = "old"}}})));
    }
    gate.Open();
    const Result<CommitResult> outcome = publication.Finish();
    EXPECT_TRUE(two.PassUntilLeading(4 * kTtl));
    EXPECT_EQ(two.CurrentEpoch(), Epoch(2));
    if (steps == 0) {
      EXPECT_THAT(outcome, IsError(ErrorCode::kFenced));
      EXPECT_EQ(Decided(table, "a"), std::nullopt);
    } else {
      EXPECT_THAT(outcome, kCommitted);
      EXPECT_EQ(Decided(table, "a"), "old");
    }
    // Whoever was fenced knows; whoever had published before is told at the next attempt.
    EXPECT_THAT(one.Create("t/b", "1", Epoch(1)),
                IsError(steps == 0 ? ErrorCode::kNotLeader : ErrorCode::kFenced));
  }
}

// A18, A17. The answer never comes, the process is paused, and DynamoDB goes on with the transaction
// only later. The process wakes up when somebody else leads.
TEST_F(DynamoFenceTest, APausedLeaderLearnsTheOneOutcomeOfAPublicationThatStalled) {
  for (std::size_t steps = 0; steps <= kAllSteps; ++steps) {
    SCOPED_TRACE("after step " + std::to_string(steps));
    DynamoFake table(clock_);
    Node one(table, 1);
    Node two(table, 2);
    one.Start();
    table.Inject({.when = DynamoFake::TransactionsOf({.partition = "t", .sort = "a"}),
                  .fault = {.kind = FaultKind::kStall, .steps = steps}});
    Publishing publication(one, "t/a", "old");
    one.clock().WaitForWaiters(3);  // Its store pauses before another attempt, and so does it all.
    two.Start();
    if (!two.PassUntilLeading(2 * kTtl)) {
      table.RunAll();
      ASSERT_TRUE(two.PassUntilLeading(2 * kTtl));
    }
    table.RunAll();
    const Result<CommitResult> outcome = publication.Finish();
    if (steps == 0) {
      EXPECT_THAT(outcome, IsError(ErrorCode::kFenced));
      EXPECT_EQ(Decided(table, "a"), std::nullopt);
    } else {
      EXPECT_THAT(outcome, kCommitted) << "the token knows";
      EXPECT_EQ(Decided(table, "a"), "old");
    }
    // Whoever was fenced knows; whoever had published before is told at the next attempt.
    EXPECT_THAT(one.Create("t/b", "1", Epoch(1)),
                IsError(steps == 0 ? ErrorCode::kNotLeader : ErrorCode::kFenced));
    EXPECT_THAT(two.Create("t/b", "2", two.CurrentEpoch()), kCommitted);
  }
}

// B1 for elections: whoever campaigns at once meets the others at the term.
TEST_F(DynamoFenceTest, CampaignersThatMeetHaveOneWinner) {
  constexpr std::size_t kNodes = 4;
  std::vector<std::unique_ptr<Node>> nodes;
  for (std::size_t i = 0; i < kNodes; ++i) {
    nodes.push_back(std::make_unique<Node>(table_, static_cast<std::uint8_t>(i + 1)));
  }
  RunTogether(kNodes, [&](std::size_t i) {
    nodes[i]->Start();
    nodes[i]->Pass(seconds(3));
  });
  std::vector<std::size_t> leaders;
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (nodes[i]->IsLeading()) {
      leaders.push_back(i);
    }
  }
  ASSERT_EQ(leaders.size(), 1U);
  EXPECT_EQ(nodes[leaders[0]]->CurrentEpoch(), Epoch(1));
  EXPECT_THAT(nodes[leaders[0]]->Create("t/a", "1", Epoch(1)), kCommitted);
}

}  // namespace
}  // namespace lake::lease
