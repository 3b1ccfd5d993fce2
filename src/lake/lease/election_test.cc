#include "lake/lease/election.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread.h"
#include "lake/base/time.h"
#include "lake/lease/authority_slot.h"
#include "lake/lease/fenced_store.h"
#include "lake/lease/lease_test_fixtures.h"
#include "lake/lease/records.h"
#include "lake/metastore/memory/memory_metastore.h"
#include "lake/metastore/transaction.h"
#include "lake/testing/faulty_metastore.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/recording_metastore.h"

namespace lake::lease {
namespace {

using metastore::CommitResult;
using metastore::Committed;
using metastore::Expectation;
using metastore::MemoryMetaStore;
using metastore::Rejected;
using metastore::Transaction;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::FaultyMetaStore;
using testing::FencingChecker;
using testing::Gate;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using testing::IsOkAnd;
using testing::ManualClock;
using testing::RecordingMetaStore;
using ::testing::VariantWith;

using FaultKind = FaultyMetaStore::Fault::Kind;

constexpr Duration kTtl = seconds(10);
constexpr Duration kPoll = milliseconds(250);

const auto kCommitted = IsOkAnd(VariantWith<Committed>(Committed{}));

// A process with a clock of its own: as long as the test does not move it, the process stands still.
class Node {
 public:
  Node(metastore::MetaStore& shared, LeaseIdentity identity, bool single_instance)
      : store_(shared) {
    Result<std::unique_ptr<Election>> election =
        Election::Create(store_, clock_, slot_,
                         {.identity = std::move(identity),
                          .single_instance = single_instance,
                          .on_won = [this](Epoch epoch) { OnWon(epoch); }});
    LAKE_CHECK(election.has_value(), "the options are valid");
    election_ = *std::move(election);
  }

  Node(metastore::MetaStore& shared, std::uint8_t number)
      : Node(shared, TestIdentity(number), false) {}

  ~Node() { election_->Stop(); }

  // Starts, and waits until the election has nothing to do but to wait.
  void Start() {
    election_->Start();
    Settle();
  }

  void Settle() { clock_.WaitForWaiters(1); }

  // Does what wakes the election before its time, and waits until it has read the lease because of
  // that and waits again. Until it has read, the clock still counts it as waiting.
  template <typename Action>
  void SettleAfter(const Action& action) {
    Gate read;
    read.Open();
    store_.Inject({.when = FaultyMetaStore::Reads, .fault = {.after = [&read] { read.Pass(); }}});
    action();
    read.WaitForArrivals(1);
    Settle();
  }

  // Lets time pass in steps, each of which the election takes notice of.
  void Pass(Duration time) {
    for (Duration passed{}; passed < time; passed += kPoll) {
      clock_.Advance(kPoll);
      Settle();
    }
  }

  // Lets time pass until this process leads, at most `limit`. Returns whether it does.
  bool PassUntilLeading(Duration limit) {
    for (Duration passed{}; passed < limit && !IsLeading(); passed += kPoll) {
      clock_.Advance(kPoll);
      Settle();
    }
    return IsLeading();
  }

  bool IsLeading() const { return slot_.Current().has_value(); }

  Deadline Soon() const { return clock_.Now() + hours(1); }

  Result<CommitResult> Publish(const Transaction& transaction, Epoch begun_under) {
    return fenced_.Commit(transaction, begun_under, Soon());
  }

  Result<CommitResult> Create(const std::string& key, Epoch begun_under) {
    return Publish(Transaction().Put(key, Expectation::Absent(), "1"), begun_under);
  }

  Epoch CurrentEpoch() const {
    const Result<Epoch> epoch = fenced_.CurrentEpoch();
    EXPECT_THAT(epoch, IsOk());
    return epoch.value_or(Epoch());
  }

  // Releases while the test's clock runs on by itself.
  Status ReleaseWhileTimePasses(Duration limit) {
    std::optional<Status> status;
    std::atomic<bool> done = false;
    {
      Thread releasing("release", [&] {
        status = election_->Release({}, clock_.Now() + limit);
        done = true;
      });
      while (!done) {
        if (clock_.WaiterCount() >= 2) {
          clock_.Advance(kPoll);
        } else {
          std::this_thread::yield();
        }
      }
    }
    return *status;
  }

  std::vector<std::uint64_t> won() const {
    const MutexLock lock(mutex_);
    return won_;
  }

  ManualClock& clock() { return clock_; }

  FaultyMetaStore& store() { return store_; }

  AuthoritySlot& slot() { return slot_; }

  FencedStore& fenced() { return fenced_; }

  Election& election() { return *election_; }

 private:
  void OnWon(Epoch epoch) {
    // Nothing is locked: whoever is told may ask.
    const Result<LeaseGuard> guard = election_->WaitForAuthority(clock_.Now());
    EXPECT_THAT(guard, IsOk());
    EXPECT_EQ(election_->last_seen()->epoch, epoch);
    const MutexLock lock(mutex_);
    won_.push_back(epoch.value());
  }

  ManualClock clock_;
  FaultyMetaStore store_;
  AuthoritySlot slot_{clock_};
  FencedStore fenced_{store_, clock_, slot_};
  std::unique_ptr<Election> election_;
  mutable Mutex mutex_;
  std::vector<std::uint64_t> won_ GUARDED_BY(mutex_);
};

class ElectionTest : public ::testing::Test {
 protected:
  explicit ElectionTest(MemoryMetaStore::Options options = {}) : memory_(clock_, options) {}

  ~ElectionTest() override {
    EXPECT_THAT(FencingChecker::FindOffences(recording_.commits()), IsEmpty());
  }

  std::optional<std::string> Stored(std::string_view key) {
    return memory_.Get(key, clock_.Now() + hours(1)).value();
  }

  TermRecord StoredTerm() {
    const Result<std::optional<TermRecord>> term = ReadTerm(memory_, clock_.Now() + hours(1));
    EXPECT_THAT(term, IsOk());
    return term.value().value();
  }

  ManualClock clock_;  // The store's. It never moves: no deadline passes there.
  MemoryMetaStore memory_;
  RecordingMetaStore recording_{memory_};
};

TEST_F(ElectionTest, FirstElectionInstallsEpochOneAndTheGuardEqualsTheStoredBytes) {
  EXPECT_THAT(ReadTerm(memory_, clock_.Now() + hours(1)), IsOkAnd(std::nullopt));
  Node one(recording_, 1);
  one.Start();
  const Result<LeaseGuard> guard = one.election().WaitForAuthority(one.clock().Now());
  ASSERT_THAT(guard, IsOk());
  EXPECT_EQ(guard->epoch(), Epoch(1));
  EXPECT_EQ(guard->term_bytes(), Stored(kTermKey));
  EXPECT_EQ(StoredTerm().node, "n1");
  EXPECT_EQ(StoredTerm().address, "host1:7411");
  EXPECT_THAT(one.won(), ElementsAre(1));
}

TEST_F(ElectionTest, HeartbeatsKeepGuardAndEpochAndMoveTheDeadline) {
  Node one(recording_, 1);
  one.Start();
  const Authority first = one.slot().Current().value();
  const Epoch begun = one.CurrentEpoch();
  one.Pass(seconds(60));
  const Authority later = one.slot().Current().value();
  EXPECT_EQ(later.guard, first.guard);
  EXPECT_GT(later.deadline, first.deadline + seconds(50));
  // Begun a minute and many heartbeats ago.
  EXPECT_THAT(one.Create("t/a", begun), kCommitted);
  EXPECT_THAT(one.won(), ElementsAre(1)) << "a heartbeat is no win";
}

// I10.
TEST_F(ElectionTest, HasNoAuthorityAfterTheDeadlineThoughTheElectionHangs) {
  Node one(recording_, 1);
  one.Start();
  Gate gate;
  one.store().Inject({.when = FaultyMetaStore::Commits, .fault = {.before = [&] { gate.Pass(); }}});
  const Deadline deadline = one.slot().Current().value().deadline;
  one.clock().Advance(milliseconds(2'500));
  gate.WaitForArrivals(1);
  one.clock().Advance(deadline - one.clock().Now() - std::chrono::nanoseconds(1));
  EXPECT_TRUE(one.IsLeading());
  one.clock().Advance(std::chrono::nanoseconds(1));
  EXPECT_THAT(one.fenced().current_guard(), IsError(ErrorCode::kNotLeader));
  EXPECT_THAT(one.Create("t/a", Epoch(1)), IsError(ErrorCode::kNotLeader));
  gate.Open();
  one.Settle();
}

TEST_F(ElectionTest, AStandbyTakesOverWhenTheHeartbeatStoodStillForItsTtl) {
  Node one(recording_, 1);
  Node two(recording_, 2);
  one.Start();
  two.Start();
  EXPECT_FALSE(two.PassUntilLeading(kTtl - kPoll));
  EXPECT_TRUE(two.PassUntilLeading(2 * kPoll));
  EXPECT_EQ(two.slot().Current()->guard.epoch(), Epoch(2));
  EXPECT_EQ(two.slot().Current()->guard.term_bytes(), Stored(kTermKey));
  EXPECT_THAT(two.won(), ElementsAre(2));
}

TEST_F(ElectionTest, AStandbyWaitsForEverWhileTheLeaderBeats) {
  Node one(recording_, 1);
  Node two(recording_, 2);
  one.Start();
  two.Start();
  for (int i = 0; i < 100; ++i) {
    one.Pass(kPoll);
    two.Pass(kPoll);
  }
  EXPECT_TRUE(one.IsLeading());
  EXPECT_FALSE(two.IsLeading());
  EXPECT_EQ(two.election().last_seen()->node, "n1");
  EXPECT_EQ(two.election().last_seen()->address, "host1:7411");
}

// The field: a leader is paused beyond its lease in the middle of a request, then continues.
TEST_F(ElectionTest, APausedLeaderWakesUpLateAndCanDoNoHarm) {
  Node one(recording_, 1);
  Node two(recording_, 2);
  one.Start();
  const Epoch begun = one.CurrentEpoch();
  ASSERT_THAT(one.Create("t/a", begun), kCommitted);
  two.Start();
  ASSERT_TRUE(two.PassUntilLeading(2 * kTtl));  // One stands still meanwhile.
  ASSERT_THAT(two.Create("t/b", two.CurrentEpoch()), kCommitted);
  EXPECT_TRUE(one.IsLeading()) << "it believes so; only the fence knows better";
  one.SettleAfter([&] { EXPECT_THAT(one.Create("t/c", begun), IsError(ErrorCode::kFenced)); });
  EXPECT_FALSE(one.IsLeading());
  EXPECT_EQ(Stored("t/c"), std::nullopt);
  // It steps down, and knows who leads.
  EXPECT_EQ(one.election().last_seen()->node, "n2");
  EXPECT_THAT(one.Create("t/c", begun), IsError(ErrorCode::kNotLeader));
}

TEST_F(ElectionTest, AStaleLeadersUpdateAndDeleteAreFencedAndChangeNothing) {
  for (const bool update : {true, false}) {
    Node one(recording_, update ? 1 : 3);
    Node two(recording_, update ? 2 : 4);
    one.Start();
    ASSERT_TRUE(one.PassUntilLeading(2 * kTtl));
    const Epoch begun = one.CurrentEpoch();
    const std::string key = "t/" + begun.ToString();
    ASSERT_THAT(one.Create(key, begun), kCommitted);
    two.Start();
    ASSERT_TRUE(two.PassUntilLeading(2 * kTtl));
    const Transaction publication = update ? Transaction().Put(key, Expectation::Exactly("1"), "2")
                                           : Transaction().Delete(key, Expectation::Exactly("1"));
    EXPECT_THAT(one.Publish(publication, begun), IsError(ErrorCode::kFenced));
    EXPECT_EQ(Stored(key), "1");
  }
}

// The field: a former leader meets a conflict, does not step down, and renews again later.
// The field: each term has a gate of its own, and work of the old one passes while the new one leads.
// The field: work begun under one epoch is published under a later one of the same process.
TEST_F(ElectionTest, WorkBegunUnderALostEpochIsFencedUnsentThoughTheProcessLeadsAgain) {
  Node one(recording_, 1);
  Node two(recording_, 2);
  one.Start();
  const Epoch begun = one.CurrentEpoch();
  two.Start();
  ASSERT_TRUE(two.PassUntilLeading(2 * kTtl));
  ASSERT_THAT(two.election().Release({}, two.Soon()), IsOk());
  ASSERT_TRUE(one.PassUntilLeading(seconds(5)));
  while (one.slot().Current()->guard.epoch() == begun) {
    one.Pass(kPoll);
  }
  EXPECT_EQ(one.CurrentEpoch(), Epoch(3));
  EXPECT_THAT(one.won(), ElementsAre(1, 3));
  const std::size_t sent = one.store().commit_count();
  EXPECT_THAT(one.Create("t/a", begun), IsError(ErrorCode::kFenced));
  EXPECT_EQ(one.store().commit_count(), sent);
  EXPECT_THAT(one.Create("t/a", one.CurrentEpoch()), kCommitted);
}

// The field: a wall clock jumps by an hour, and terms are lost or taken.
TEST_F(ElectionTest, AWallClockThatJumpsCostsAndGrantsNothing) {
  Node one(recording_, 1);
  Node two(recording_, 2);
  one.Start();
  two.Start();
  for (const Duration jump : {Duration(hours(1)), Duration(-hours(2)), Duration(hours(1))}) {
    one.clock().JumpWall(jump);
    two.clock().JumpWall(-jump);
    one.Pass(kPoll);
    two.Pass(kPoll);
    EXPECT_TRUE(one.IsLeading());
    EXPECT_FALSE(two.IsLeading());
  }
  EXPECT_EQ(one.CurrentEpoch(), Epoch(1));
}

// The field: a restarted node finds its own old record and believes that it leads.
TEST_F(ElectionTest, ARestartedNodeWithTheSameIdIsANewSessionAndANewEpoch) {
  {
    Node before(recording_, TestIdentity(1, 1), false);
    before.Start();
    ASSERT_TRUE(before.IsLeading());
  }
  Node after(recording_, TestIdentity(1, 2), false);
  after.Start();
  EXPECT_FALSE(after.IsLeading()) << "its own name in the record means nothing";
  ASSERT_TRUE(after.PassUntilLeading(kTtl + kPoll));
  EXPECT_EQ(after.CurrentEpoch(), Epoch(2));
  EXPECT_EQ(StoredTerm().session, TestSession(2));
}

TEST_F(ElectionTest, TheLostAnswerOfAWinningTakeoverIsReadBack) {
  Node one(recording_, 1);
  one.store().Inject({.when = FaultyMetaStore::Commits, .fault = {.kind = FaultKind::kLoseAnswer}});
  one.Start();
  EXPECT_TRUE(one.IsLeading());
  EXPECT_EQ(one.CurrentEpoch(), Epoch(1));
  EXPECT_EQ(one.slot().Current()->guard.term_bytes(), Stored(kTermKey));
}

// The field: the clock is read on the wrong side of a call, so that a slow call lengthens the lease.
TEST_F(ElectionTest, SlowCallsShortenTheLeaseOfTheHolderAndLengthenTheWaitOfTheObserver) {
  Node one(recording_, 1);
  const Instant sent = one.clock().Now();
  one.store().Inject({.when = FaultyMetaStore::Commits,
                      .fault = {.before = [&] { one.clock().Advance(seconds(1)); },
                                .after = [&] { one.clock().Advance(seconds(1)); }}});
  one.Start();
  EXPECT_EQ(one.slot().Current()->deadline, sent + kTtl - seconds(1));

  Node two(recording_, 2);
  two.store().Inject({.when = FaultyMetaStore::Reads,
                      .fault = {.before = [&] { two.clock().Advance(seconds(4)); },
                                .after = [&] { two.clock().Advance(seconds(4)); }}});
  two.Start();
  EXPECT_FALSE(two.PassUntilLeading(kTtl - kPoll));
  EXPECT_TRUE(two.PassUntilLeading(2 * kPoll));
}

TEST_F(ElectionTest, TwoCampaignersHaveOneWinnerEachRound) {
  for (int round = 1; round <= 20; ++round) {
    Node one(recording_, 1);
    Node two(recording_, 2);
    // Both find the term free and meet at the store.
    Gate gate;
    for (Node* node : {&one, &two}) {
      node->store().Inject(
          {.when = FaultyMetaStore::Commits, .fault = {.before = [&gate] { gate.Pass(); }}});
      node->election().Start();
    }
    gate.WaitForArrivals(2);
    gate.Open();
    one.Settle();
    two.Settle();
    EXPECT_NE(one.IsLeading(), two.IsLeading());
    Node& winner = one.IsLeading() ? one : two;
    EXPECT_EQ(winner.CurrentEpoch(), Epoch(static_cast<std::uint64_t>(round)));
    EXPECT_THAT(winner.election().Release({}, winner.Soon()), IsOk());
  }
}

// The field: the lease is given back while work is in flight and the process still believes that it leads.
TEST_F(ElectionTest, ReleaseStopsNewWorkDrainsClearsAndThenGivesTheTermBack) {
  Node one(recording_, 1);
  Node two(recording_, 2);
  one.Start();
  two.Start();
  const Epoch begun = one.CurrentEpoch();
  const Deadline deadline = one.clock().Now() + seconds(5);
  bool drained = false;
  EXPECT_THAT(one.election().Release(
                  [&](Deadline drain_deadline) {
                    drained = true;
                    EXPECT_LT(drain_deadline, deadline);
                    EXPECT_THAT(one.fenced().CurrentEpoch(), IsError(ErrorCode::kNotLeader));
                    EXPECT_THAT(one.Create("t/a", begun), kCommitted) << "it had begun";
                    EXPECT_EQ(StoredTerm().state, TermRecord::State::kHeld);
                  },
                  deadline),
              IsOk());
  EXPECT_TRUE(drained);
  EXPECT_FALSE(one.IsLeading());
  EXPECT_EQ(StoredTerm().state, TermRecord::State::kReleased);
  EXPECT_THAT(one.Create("t/b", begun), IsError(ErrorCode::kNotLeader));
  // At once: at its next look.
  EXPECT_TRUE(two.PassUntilLeading(kPoll));
  EXPECT_EQ(two.CurrentEpoch(), Epoch(2));
}

TEST_F(ElectionTest, HeartbeatsGoOnWhileWorkDrains) {
  Node one(recording_, 1);
  one.Start();
  const Epoch begun = one.CurrentEpoch();
  EXPECT_THAT(one.election().Release(
                  [&](Deadline) {
                    one.Pass(3 * kTtl);
                    EXPECT_THAT(one.Create("t/a", begun), kCommitted);
                  },
                  one.Soon()),
              IsOk());
}

TEST_F(ElectionTest, ReleaseOfAStandbyJustEnds) {
  Node one(recording_, 1);
  Node two(recording_, 2);
  one.Start();
  two.Start();
  EXPECT_THAT(two.election().Release({}, two.Soon()), IsOk());
  EXPECT_EQ(StoredTerm().state, TermRecord::State::kHeld);
  EXPECT_THAT(two.election().WaitForAuthority(two.Soon()), IsError(ErrorCode::kCancelled));
}

TEST_F(ElectionTest, AReleaseThatCannotBeConfirmedIsUnknownAndClearsTheAuthorityAllTheSame) {
  Node one(recording_, 1);
  one.Start();
  one.store().Inject({.when = FaultyMetaStore::Commits,
                      .times = FaultyMetaStore::kAlways,
                      .fault = {.kind = FaultKind::kError}});
  EXPECT_THAT(one.ReleaseWhileTimePasses(seconds(5)), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_FALSE(one.IsLeading());
  EXPECT_EQ(StoredTerm().state, TermRecord::State::kHeld);
}

TEST_F(ElectionTest, AReleaseWhoseAnswerWasLostIsConfirmed) {
  Node one(recording_, 1);
  one.Start();
  one.store().Inject({.when = FaultyMetaStore::Commits, .fault = {.kind = FaultKind::kLoseAnswer}});
  EXPECT_THAT(one.ReleaseWhileTimePasses(seconds(5)), IsOk());
  EXPECT_EQ(StoredTerm().state, TermRecord::State::kReleased);
}

TEST_F(ElectionTest, CanBeStartedAgainAfterReleaseAndAfterStop) {
  Node one(recording_, 1);
  one.Start();
  ASSERT_THAT(one.election().Release({}, one.Soon()), IsOk());
  one.Start();
  EXPECT_EQ(one.CurrentEpoch(), Epoch(2));
  one.election().Stop();
  EXPECT_FALSE(one.IsLeading());
  EXPECT_EQ(StoredTerm().state, TermRecord::State::kHeld) << "stopping gives nothing back";
  one.Start();
  EXPECT_FALSE(one.IsLeading());
  ASSERT_TRUE(one.PassUntilLeading(kTtl + kPoll));
  EXPECT_EQ(one.CurrentEpoch(), Epoch(3));
  EXPECT_THAT(one.won(), ElementsAre(1, 2, 3));
}

TEST_F(ElectionTest, StopWaitsForTheRequestThatIsOut) {
  Node one(recording_, 1);
  Gate gate;
  one.store().Inject({.when = FaultyMetaStore::Commits, .fault = {.before = [&] { gate.Pass(); }}});
  one.election().Start();
  gate.WaitForArrivals(1);
  Thread opener("opener", [&] { gate.Open(); });
  one.election().Stop();
  EXPECT_FALSE(one.IsLeading());
  EXPECT_THAT(one.election().WaitForAuthority(one.Soon()), IsError(ErrorCode::kCancelled));
}

TEST_F(ElectionTest, WaitForAuthorityReturnsWhenTheTermIsWon) {
  Node one(recording_, 1);
  Node two(recording_, 2);
  one.Start();
  two.Start();
  std::optional<Result<LeaseGuard>> guard;
  {
    Thread waiting("waiting", [&] { guard = two.election().WaitForAuthority(two.Soon()); });
    two.clock().WaitForWaiters(2);
    ASSERT_THAT(one.election().Release({}, one.Soon()), IsOk());
    two.clock().Advance(kPoll);
  }
  ASSERT_THAT(*guard, IsOk());
  EXPECT_EQ((*guard)->epoch(), Epoch(2));
}

TEST_F(ElectionTest, WaitForAuthoritySaysWhoLeads) {
  Node one(recording_, 1);
  Node two(recording_, 2);
  one.Start();
  two.Start();
  EXPECT_THAT(two.election().WaitForAuthority(two.clock().Now()),
              IsError(ErrorCode::kNotLeader, HasSubstr("n1 at host1:7411")));
}

TEST_F(ElectionTest, WaitForAuthoritySaysThatTheStoreFails) {
  Node one(recording_, 1);
  one.store().Inject({.when = FaultyMetaStore::AnyCall,
                      .times = FaultyMetaStore::kAlways,
                      .fault = {.kind = FaultKind::kError}});
  one.Start();
  EXPECT_THAT(one.election().WaitForAuthority(one.clock().Now()), IsError(ErrorCode::kUnavailable));
  one.store().Clear();
  EXPECT_TRUE(one.PassUntilLeading(kPoll)) << "and it goes on when the store does";
}

TEST_F(ElectionTest, CreateRefusesTimesAndIdentitiesThatCannotWork) {
  ManualClock clock;
  AuthoritySlot slot(clock);
  EXPECT_THAT(Election::Create(memory_, clock, slot, {.identity = {}}),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(Election::Create(memory_, clock, slot,
                               {.identity = TestIdentity(1), .config = {.ttl = seconds(1)}}),
              IsError(ErrorCode::kInvalidArgument));
}

TEST_F(ElectionTest, AnotherPollIntervalAndTtlAreUsed) {
  ManualClock clock;
  AuthoritySlot slot(clock);
  const auto election = Election::Create(recording_, clock, slot,
                                         {.identity = TestIdentity(1),
                                          .config = {.ttl = milliseconds(1'000),
                                                     .heartbeat = milliseconds(100),
                                                     .attempt = milliseconds(100),
                                                     .margin = milliseconds(100),
                                                     .poll = milliseconds(20)}});
  ASSERT_THAT(election, IsOk());
  (*election)->Start();
  clock.WaitForWaiters(1);
  EXPECT_EQ(slot.Current()->deadline, clock.Now() + milliseconds(900));
  EXPECT_EQ(DecodeHeartbeat(*Stored(kHeartbeatKey))->ttl, milliseconds(1'000));
}

// A store that somebody wrote into before anybody of ours came: not for the checker of whole runs.
class PreparedElectionTest : public ElectionTest {
 protected:
  void Prepare(std::string_view key, std::string value) {
    ASSERT_THAT(
        memory_.Commit(Transaction().Put(std::string(key), Expectation::Absent(), std::move(value)),
                       clock_.Now() + hours(1)),
        kCommitted);
  }
};

TEST_F(PreparedElectionTest, EpochExhaustionFailsClosedAndChangesNothing) {
  const std::string term =
      Encode(TermRecord{.epoch = Epoch(std::numeric_limits<std::uint64_t>::max()),
                        .node = "n9",
                        .session = TestSession(9)});
  Prepare(kTermKey, term);
  Node one(memory_, 1);
  one.Start();
  EXPECT_FALSE(one.PassUntilLeading(3 * kTtl));
  EXPECT_THAT(one.election().WaitForAuthority(one.Soon()), IsError(ErrorCode::kCorruption));
  EXPECT_EQ(Stored(kTermKey), term);
  EXPECT_EQ(Stored(kHeartbeatKey), std::nullopt);
  EXPECT_EQ(one.store().commit_count(), 0U);
}

TEST_F(PreparedElectionTest, ADamagedTermIsSaidAtOnceAndLeftAlone) {
  Prepare(kTermKey, "damaged");
  Node one(memory_, 1);
  one.Start();
  EXPECT_THAT(one.election().WaitForAuthority(one.Soon()),
              IsError(ErrorCode::kCorruption, HasSubstr("lease/term")));
  EXPECT_THAT(ReadTerm(memory_, one.Soon()), IsError(ErrorCode::kCorruption));
  EXPECT_EQ(Stored(kTermKey), "damaged");
}

TEST_F(PreparedElectionTest, ATermOfANewerVersionIsSaidAtOnceAndLeftAlone) {
  Prepare(kTermKey, R"({"format":7})");
  Node one(memory_, 1);
  one.Start();
  EXPECT_THAT(one.election().WaitForAuthority(one.Soon()), IsError(ErrorCode::kUnimplemented));
  EXPECT_EQ(Stored(kTermKey), R"({"format":7})");
}

// The embedded case.
class ExclusiveElectionTest : public ElectionTest {
 protected:
  ExclusiveElectionTest() : ElectionTest({.exclusive = true}) {}
};

TEST_F(ExclusiveElectionTest, ASingleInstanceTakesTheTermOfADeadProcessAtOnce) {
  {
    Node before(recording_, TestIdentity(1, 1), true);
    before.Start();
    EXPECT_EQ(before.CurrentEpoch(), Epoch(1));
  }
  Node after(recording_, TestIdentity(1, 2), true);
  after.Start();
  EXPECT_EQ(after.CurrentEpoch(), Epoch(2));
  after.Pass(kTtl);
  EXPECT_TRUE(after.IsLeading()) << "it beats like any other";
}

TEST_F(ExclusiveElectionTest, SeveralInstancesInOneProcessWaitForEachOther) {
  Node one(recording_, TestIdentity(1), false);
  Node two(recording_, TestIdentity(2), false);
  one.Start();
  two.Start();
  EXPECT_FALSE(two.PassUntilLeading(kTtl - kPoll));
}

// Enumerates instead of sampling: the first call fails, then the second, and so on, in every way.
TEST(ElectionAnomalies, WhateverCallFailsInWhateverWayThereIsALeaderAndTheFenceHolds) {
  for (const FaultKind kind :
       {FaultKind::kError, FaultKind::kLoseRequest, FaultKind::kLoseAnswer, FaultKind::kDelay}) {
    bool reached = true;
    for (std::size_t n = 0; reached; ++n) {
      SCOPED_TRACE("fault " + std::to_string(static_cast<int>(kind)) + " in call " +
                   std::to_string(n));
      ManualClock clock;
      MemoryMetaStore memory(clock);
      RecordingMetaStore recording(memory);
      {
        Node one(recording, 1);
        Node two(recording, 2);
        one.store().Inject({.when = FaultyMetaStore::AnyCall, .skip = n, .fault = {.kind = kind}});
        one.Start();
        ASSERT_TRUE(one.PassUntilLeading(seconds(5)));
        const Epoch begun = one.CurrentEpoch();
        const Result<CommitResult> published = one.Create("t/a", begun);
        one.Pass(seconds(3));
        ASSERT_TRUE(one.IsLeading());
        ASSERT_EQ(one.CurrentEpoch(), begun) << "one failure costs no term";
        one.store().DeliverDelayed(one.Soon());
        ASSERT_THAT(one.ReleaseWhileTimePasses(seconds(5)), IsOk());
        reached = one.store().fault_count() == 1;
        two.Start();
        EXPECT_EQ(two.CurrentEpoch(), Epoch(begun.value() + 1));
        EXPECT_THAT(one.Create("t/b", begun), IsError(ErrorCode::kNotLeader));
        if (published.has_value()) {
          EXPECT_THAT(two.Create("t/a", two.CurrentEpoch()),
                      IsOkAnd(VariantWith<Rejected>(::testing::_)))
              << "what was acknowledged is there";
        }
      }
      EXPECT_THAT(FencingChecker::FindOffences(recording.commits()), IsEmpty());
    }
  }
}

// A full run with everything at once. The raw store must have seen only the elections' transactions
// and fenced ones, and no publication of an epoch after the next was won.
TEST(ElectionRun, TheRawStoreSeesOnlyFencedTransactionsAndTheElections) {
  for (const bool shared_checks : {true, false}) {
    SCOPED_TRACE(shared_checks ? "direct" : "lane");
    ManualClock clock;
    MemoryMetaStore memory(clock, {.shared_checks = shared_checks});
    RecordingMetaStore recording(memory);
    constexpr int kRounds = 8;
    constexpr int kWriters = 4;
    Mutex mutex;
    std::vector<std::string> acknowledged;
    std::size_t fenced = 0;
    {
      std::vector<std::unique_ptr<Node>> nodes;
      for (std::uint8_t i = 1; i <= 3; ++i) {
        nodes.push_back(std::make_unique<Node>(recording, i));
        nodes.back()->Start();
      }
      std::size_t leader = 0;
      ASSERT_TRUE(nodes[leader]->IsLeading());
      for (int round = 0; round < kRounds; ++round) {
        // The leader stands still with work begun, and writes on while another takes over.
        const Epoch begun = nodes[leader]->CurrentEpoch();
        Node& old = *nodes[leader];
        std::vector<std::unique_ptr<Thread>> writers;
        std::atomic<bool> taken = false;
        for (int w = 0; w < kWriters; ++w) {
          writers.push_back(std::make_unique<Thread>("writer", [&, w, round] {
            for (int i = 0;; ++i) {
              const bool last = taken;
              std::string key =
                  "t/" + std::to_string(round) + "-" + std::to_string(w) + "-" + std::to_string(i);
              const Result<CommitResult> result = old.Create(key, begun);
              const MutexLock lock(mutex);
              if (result.has_value()) {
                acknowledged.push_back(std::move(key));
              } else {
                EXPECT_THAT(result, ::testing::AnyOf(IsError(ErrorCode::kFenced),
                                                     IsError(ErrorCode::kNotLeader)));
                fenced += result.error().code() == ErrorCode::kFenced ? 1 : 0;
              }
              if (last || !result.has_value()) {
                return;
              }
            }
          }));
        }
        const std::size_t next = (leader + 1) % nodes.size();
        ASSERT_TRUE(nodes[next]->PassUntilLeading(3 * kTtl));
        taken = true;
        writers.clear();
        EXPECT_FALSE(old.IsLeading());
        EXPECT_EQ(nodes[next]->CurrentEpoch(), Epoch(begun.value() + 1));
        leader = next;
      }
    }
    const std::vector<testing::RecordedCommit> commits = recording.commits();
    EXPECT_THAT(FencingChecker::FindOffences(commits), IsEmpty());
    EXPECT_GE(FencingChecker::CountPublications(commits), static_cast<std::size_t>(kRounds));
    EXPECT_GE(fenced, static_cast<std::size_t>(kRounds));
    for (const std::string& key : acknowledged) {
      EXPECT_TRUE(memory.Get(key, clock.Now() + hours(1))->has_value()) << key;
    }
  }
}

}  // namespace
}  // namespace lake::lease
