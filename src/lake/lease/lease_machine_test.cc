#include "lake/lease/lease_machine.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/lease/lease_test_fixtures.h"
#include "lake/lease/records.h"
#include "lake/testing/matchers.h"

namespace lake::lease {
namespace {

using metastore::CommitResult;
using metastore::Item;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr Duration kTtl = seconds(10);
constexpr Duration kMargin = seconds(1);
constexpr Duration kHeartbeat = milliseconds(2'500);
constexpr Duration kAttempt = seconds(2);
constexpr Duration kPoll = milliseconds(250);
constexpr Duration kTick = std::chrono::nanoseconds(1);

// Plays a machine's driver by hand: the test moves time, and decides what becomes of each request.
class Player {
 public:
  explicit Player(StoredKeys& store, std::uint8_t number = 1)
      : Player(store, TestIdentity(number), Rivals::kPossible) {}

  Player(StoredKeys& store, LeaseIdentity identity, Rivals rivals)
      : store_(store), machine_(LeaseConfig{}, std::move(identity), rivals) {}

  void Handle(const LeaseEvent& event) {
    effects_ = machine_.Handle(now_, event);
    if (const auto publish = EffectOf<PublishAuthority>(effects_); publish.has_value()) {
      EXPECT_TRUE(!dropped_.has_value() || publish->authority.guard.epoch() > *dropped_)
          << "a lost epoch was published again";
      authority_ = publish->authority;
    }
    if (const auto drop = EffectOf<DropAuthority>(effects_); drop.has_value()) {
      authority_.reset();
      dropped_ = drop->epoch;
    }
  }

  void Start() { Handle(StartRequested{}); }

  void Pass(Duration time) { now_ += time; }

  // Goes to the instant at which the machine wants to go on, and lets it.
  void Wake() {
    const auto wake = EffectOf<WakeAt>(effects_);
    ASSERT_TRUE(wake.has_value());
    if (now_ < wake->when) {
      now_ = wake->when;
    }
    Handle(TimePassed{});
  }

  void AnswerRead() {
    ASSERT_TRUE(EffectOf<ReadLease>(effects_).has_value());
    Handle(LeaseRead{store_.lease()});
  }

  void AnswerCommit() {
    const auto commit = EffectOf<CommitLease>(effects_);
    ASSERT_TRUE(commit.has_value());
    Handle(LeaseCommitted{store_.Commit(commit->transaction)});
  }

  void FailRequest(ErrorCode code) {
    const std::unexpected<Error> error(Error(code, "store: test"));
    if (EffectOf<ReadLease>(effects_).has_value()) {
      Handle(LeaseRead{error});
    } else {
      ASSERT_TRUE(EffectOf<CommitLease>(effects_).has_value());
      Handle(LeaseCommitted{error});
    }
  }

  // The store applies the commit, and its answer is lost.
  void LoseAnswer() {
    const auto commit = EffectOf<CommitLease>(effects_);
    ASSERT_TRUE(commit.has_value());
    std::ignore = store_.Commit(commit->transaction);
    FailRequest(ErrorCode::kOutcomeUnknown);
  }

  // The commit is on its way somewhere, and may be applied later by the caller.
  metastore::Transaction DelayRequest() {
    const auto commit = EffectOf<CommitLease>(effects_);
    EXPECT_TRUE(commit.has_value());
    FailRequest(ErrorCode::kOutcomeUnknown);
    return commit->transaction;
  }

  // Starts, and goes through an election that nobody disturbs.
  void StartAndWin() {
    Start();
    AnswerRead();
    AnswerCommit();
    ASSERT_TRUE(authority_.has_value());
  }

  // Polls until a takeover is sent, or for `limit`. Returns whether one was sent.
  bool PollUntilCampaign(Duration limit) {
    const Instant end = now_ + limit;
    while (!IsCampaigning() && now_ <= end) {
      if (Wants<ReadLease>()) {
        AnswerRead();
      } else {
        Wake();
      }
    }
    return IsCampaigning();
  }

  template <typename T>
  bool Wants() const {
    return std::holds_alternative<T>(effects_.back());
  }

  bool IsCampaigning() const { return Wants<CommitLease>(); }

  template <typename T>
  std::optional<T> Effect() const {
    return EffectOf<T>(effects_);
  }

  bool Holds() const { return authority_.has_value() && now_ < authority_->deadline; }

  const std::optional<Authority>& authority() const { return authority_; }

  Instant now() const { return now_; }

  const LeaseMachine& machine() const { return machine_; }

 private:
  StoredKeys& store_;
  LeaseMachine machine_;
  Instant now_{std::chrono::hours(5)};
  std::vector<LeaseEffect> effects_;
  std::optional<Authority> authority_;
  std::optional<Epoch> dropped_;
};

std::string HeldBy(std::uint8_t number, std::uint64_t epoch) {
  return Encode(TermRecord{.epoch = Epoch(epoch),
                           .node = "n" + std::to_string(number),
                           .session = TestSession(number),
                           .address = ""});
}

std::string BeatOf(std::uint8_t number, std::uint64_t epoch, std::uint64_t beat,
                   milliseconds ttl = milliseconds(10'000)) {
  return Encode(HeartbeatRecord{
      .epoch = Epoch(epoch), .session = TestSession(number), .beat = beat, .ttl = ttl});
}

// Another process, number 9, holds the term.
void InstallOther(StoredKeys& store, std::uint64_t epoch) {
  store.Set(kTermKey, HeldBy(9, epoch));
  store.Set(kHeartbeatKey, BeatOf(9, epoch, 0));
}

TEST(LeaseMachine, FirstElectionInstallsEpochOneAndTheGuardEqualsTheStoredBytes) {
  StoredKeys store;
  Player one(store);
  one.Start();
  one.AnswerRead();
  EXPECT_FALSE(one.Effect<PublishAuthority>().has_value());
  const Instant sent = one.now();
  one.AnswerCommit();
  ASSERT_TRUE(one.authority().has_value());
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(1));
  EXPECT_EQ(one.authority()->guard.term_bytes(), store.Get(kTermKey));
  EXPECT_EQ(one.authority()->deadline, sent + kTtl - kMargin);
  EXPECT_EQ(store.Get(kHeartbeatKey), BeatOf(1, 1, 0));
  const Result<TermRecord> term = DecodeTerm(*store.Get(kTermKey));
  ASSERT_THAT(term, testing::IsOk());
  EXPECT_EQ(term->node, "n1");
  EXPECT_EQ(term->session, TestSession(1));
  EXPECT_EQ(term->address, "host1:7411");
  EXPECT_EQ(one.Effect<TermSeen>()->term, *term);
}

TEST(LeaseMachine, HeartbeatKeepsGuardAndEpochAndMovesTheDeadline) {
  StoredKeys store;
  Player one(store);
  one.StartAndWin();
  const Authority first = *one.authority();
  const std::optional<std::string> term = store.Get(kTermKey);
  one.Wake();
  const auto commit = one.Effect<CommitLease>();
  ASSERT_TRUE(commit.has_value());
  ASSERT_EQ(commit->transaction.items().size(), 1U) << "a heartbeat touches the heartbeat alone";
  EXPECT_EQ(commit->transaction.items()[0].key, kHeartbeatKey);
  one.AnswerCommit();
  EXPECT_EQ(one.authority()->guard, first.guard);
  EXPECT_EQ(one.authority()->deadline, first.deadline + kHeartbeat);
  EXPECT_EQ(store.Get(kTermKey), term);
  EXPECT_EQ(store.Get(kHeartbeatKey), BeatOf(1, 1, 1));
}

TEST(LeaseMachine, TakeoverReplacesTheGuardAndRaisesTheEpochByOne) {
  StoredKeys store;
  InstallOther(store, 41);
  Player one(store);
  one.Start();
  ASSERT_TRUE(one.PollUntilCampaign(kTtl + kPoll));
  one.AnswerCommit();
  ASSERT_TRUE(one.authority().has_value());
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(42));
  EXPECT_EQ(one.authority()->guard.term_bytes(), store.Get(kTermKey));
  EXPECT_EQ(store.Get(kHeartbeatKey), BeatOf(1, 42, 0));
}

TEST(LeaseMachine, TakesOverAHeldTermOnlyAfterTheSameHeartbeatWasSeenForItsTtl) {
  StoredKeys store;
  InstallOther(store, 1);
  Player one(store);
  one.Start();
  one.AnswerRead();
  const Instant since = one.now();
  while (one.now() < since + kTtl - 2 * kPoll) {
    one.Wake();
    one.AnswerRead();
    ASSERT_FALSE(one.IsCampaigning());
  }
  one.Wake();
  one.Pass(since + kTtl - kTick - one.now());
  one.AnswerRead();
  EXPECT_FALSE(one.IsCampaigning()) << "a moment too early";
  one.Wake();
  one.AnswerRead();
  EXPECT_TRUE(one.IsCampaigning());
}

TEST(LeaseMachine, UsesTheTtlOfTheLeaderAndNotItsOwn) {
  StoredKeys store;
  store.Set(kTermKey, HeldBy(9, 1));
  store.Set(kHeartbeatKey, BeatOf(9, 1, 0, milliseconds(30'000)));
  Player one(store);
  one.Start();
  const Instant start = one.now();
  ASSERT_TRUE(one.PollUntilCampaign(seconds(60)));
  EXPECT_GE(one.now() - start, seconds(30));
}

// The field: an observed heartbeat changes during the wait, and the wait goes on as before.
TEST(LeaseMachine, AnyChangeRestartsTheObservation) {
  StoredKeys store;
  InstallOther(store, 1);
  Player one(store);
  one.Start();
  EXPECT_FALSE(one.PollUntilCampaign(kTtl - kPoll));
  store.Set(kHeartbeatKey, BeatOf(9, 1, 1));
  EXPECT_FALSE(one.PollUntilCampaign(kTtl - kPoll));
  // A new leader, which started a moment ago.
  InstallOther(store, 2);
  const Instant changed = one.now();
  ASSERT_TRUE(one.PollUntilCampaign(kTtl + kPoll));
  EXPECT_GE(one.now() - changed, kTtl);
}

// The field: an observed heartbeat changes during the wait, and the wait goes on as before.
TEST(LeaseMachine, ATermThatChangesRestartsTheObservationToo) {
  StoredKeys store;
  InstallOther(store, 1);
  Player one(store);
  one.Start();
  EXPECT_FALSE(one.PollUntilCampaign(kTtl - kPoll));
  store.Set(kTermKey, HeldBy(8, 2));
  EXPECT_FALSE(one.PollUntilCampaign(kTtl - kPoll));
}

TEST(LeaseMachine, FailedReadsAreNoChange) {
  StoredKeys store;
  InstallOther(store, 1);
  Player one(store);
  one.Start();
  one.AnswerRead();
  const Instant since = one.now();
  while (one.now() < since + kTtl) {
    one.Wake();
    one.FailRequest(ErrorCode::kUnavailable);
    ASSERT_FALSE(one.IsCampaigning()) << "nothing was seen";
  }
  one.Wake();
  one.AnswerRead();
  EXPECT_TRUE(one.IsCampaigning());
}

// The field: the clock is read on the wrong side of a call, so that a slow call lengthens the lease.
TEST(LeaseMachine, ObserverCountsFromAfterTheReadReturned) {
  StoredKeys store;
  InstallOther(store, 1);
  Player one(store);
  one.Start();
  one.Pass(seconds(6));  // The first read takes long; when in these seconds it looked is not known.
  one.AnswerRead();
  const Instant returned = one.now();
  ASSERT_TRUE(one.PollUntilCampaign(seconds(60)));
  EXPECT_GE(one.now() - returned, kTtl);
}

// The field: the clock is read on the wrong side of a call, so that a slow call lengthens the lease.
TEST(LeaseMachine, HolderCountsFromBeforeTheRequestWasSent) {
  StoredKeys store;
  Player one(store);
  one.Start();
  one.AnswerRead();
  const Instant takeover_sent = one.now();
  one.Pass(seconds(2));  // The answer takes long.
  one.AnswerCommit();
  EXPECT_EQ(one.authority()->deadline, takeover_sent + kTtl - kMargin);
  one.Wake();
  const Instant heartbeat_sent = one.now();
  one.Pass(seconds(5));
  one.AnswerCommit();
  EXPECT_EQ(one.authority()->deadline, heartbeat_sent + kTtl - kMargin);
}

// The field: the clock is read before the record, so that an expired lease looks alive.
TEST(LeaseMachine, LooksAtTheClockAfterTheRecordWasRead) {
  StoredKeys store;
  InstallOther(store, 1);
  Player one(store);
  one.Start();
  one.AnswerRead();
  one.Pass(kTtl - kTick);
  one.Handle(TimePassed{});
  ASSERT_TRUE(one.Wants<ReadLease>());
  one.Pass(kTick);  // The ttl ends while the read is under way.
  one.AnswerRead();
  EXPECT_TRUE(one.IsCampaigning()) << "a lease that has ended looks alive";
}

// The field: a campaign whose own attempt has expired is still told that it leads.
TEST(LeaseMachine, LeadsOnlyAfterItsOwnTransactionWasConfirmed) {
  StoredKeys store;
  Player one(store);
  one.Start();
  one.AnswerRead();
  ASSERT_TRUE(one.IsCampaigning());
  EXPECT_FALSE(one.Holds());
  one.FailRequest(ErrorCode::kUnavailable);
  EXPECT_FALSE(one.Holds());
  EXPECT_FALSE(one.authority().has_value());
}

// The field: a campaign whose own attempt has expired is still told that it leads.
TEST(LeaseMachine, AWinThatIsConfirmedTooLateGivesAnAuthorityThatHasEnded) {
  StoredKeys store;
  Player one(store);
  one.Start();
  one.AnswerRead();
  one.Pass(kTtl);
  one.AnswerCommit();
  EXPECT_TRUE(one.authority().has_value());
  EXPECT_FALSE(one.Holds());
  // Nobody took over meanwhile: the next heartbeat proves it and revives the term.
  ASSERT_TRUE(one.IsCampaigning());
  one.AnswerCommit();
  EXPECT_TRUE(one.Holds());
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(1));
}

// The field: a campaign whose own attempt has expired is still told that it leads.
TEST(LeaseMachine, AWinThatIsConfirmedAfterSomebodyElseTookOverNeverLeads) {
  StoredKeys store;
  Player one(store);
  Player two(store, 2);
  one.Start();
  one.AnswerRead();
  const auto takeover = one.Effect<CommitLease>();
  std::ignore = store.Commit(takeover->transaction);
  two.Start();
  ASSERT_TRUE(two.PollUntilCampaign(kTtl + kPoll));
  two.AnswerCommit();
  ASSERT_TRUE(two.Holds());
  one.Pass(two.now() - one.now());
  one.Handle(LeaseCommitted{CommitResult(metastore::Committed{})});
  EXPECT_FALSE(one.Holds());
  one.AnswerCommit();
  EXPECT_FALSE(one.authority().has_value());
  EXPECT_EQ(one.Effect<DropAuthority>()->epoch, Epoch(1));
}

TEST(LeaseMachine, OfTwoCampaignersOneWins) {
  StoredKeys store;
  Player one(store);
  Player two(store, 2);
  one.Start();
  two.Start();
  one.AnswerRead();
  two.AnswerRead();
  two.AnswerCommit();
  one.AnswerCommit();
  EXPECT_TRUE(two.Holds());
  EXPECT_FALSE(one.Holds());
  EXPECT_EQ(DecodeTerm(*store.Get(kTermKey))->node, "n2");
  EXPECT_FALSE(one.PollUntilCampaign(kTtl - kPoll)) << "the loser waits for the winner's ttl";
}

// The field: a heartbeat that succeeded, but whose answer was lost, is taken for a lost term.
TEST(LeaseMachine, AHeartbeatWhoseAnswerWasLostIsReadBackAndStillLeads) {
  StoredKeys store;
  Player one(store);
  one.StartAndWin();
  one.Wake();
  const Instant first_sent = one.now();
  one.Pass(kAttempt);
  one.LoseAnswer();
  ASSERT_TRUE(one.Wants<ReadLease>());
  EXPECT_TRUE(one.Holds()) << "not knowing is no reason to stop";
  one.Pass(milliseconds(100));
  one.AnswerRead();
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(1));
  EXPECT_EQ(one.authority()->deadline, first_sent + kTtl - kMargin);
  one.Wake();
  one.AnswerCommit();
  EXPECT_EQ(store.Get(kHeartbeatKey), BeatOf(1, 1, 2));
}

// The field: a heartbeat that succeeded, but whose answer was lost, is taken for a lost term.
TEST(LeaseMachine, AHeartbeatThatWasLostOnItsWayIsSentAgainAsTheSameBeat) {
  StoredKeys store;
  Player one(store);
  one.StartAndWin();
  one.Wake();
  one.FailRequest(ErrorCode::kOutcomeUnknown);
  one.AnswerRead();
  EXPECT_TRUE(one.Holds());
  one.Wake();
  const Instant second_sent = one.now();
  one.AnswerCommit();
  EXPECT_EQ(store.Get(kHeartbeatKey), BeatOf(1, 1, 1));
  // The answer belongs to this sending, so this sending counts.
  EXPECT_EQ(one.authority()->deadline, second_sent + kTtl - kMargin);
}

// The field: a heartbeat that succeeded, but whose answer was lost, is taken for a lost term.
TEST(LeaseMachine, OwnNextBeatFoundByARejectionCountsFromItsFirstSending) {
  StoredKeys store;
  Player one(store);
  one.StartAndWin();
  one.Wake();
  const Instant first_sent = one.now();
  one.LoseAnswer();
  one.FailRequest(ErrorCode::kUnavailable);  // The reading back.
  EXPECT_TRUE(one.Holds());
  one.Wake();
  ASSERT_TRUE(one.Wants<CommitLease>());
  one.AnswerCommit();  // Rejected: the next beat is there.
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(1));
  EXPECT_EQ(one.authority()->deadline, first_sent + kTtl - kMargin);
}

// The field: a heartbeat that succeeded, but whose answer was lost, is taken for a lost term.
TEST(LeaseMachine, ADelayedHeartbeatThatLandsLateCountsFromItsFirstSending) {
  StoredKeys store;
  Player one(store);
  one.StartAndWin();
  one.Wake();
  const Instant first_sent = one.now();
  const metastore::Transaction delayed = one.DelayRequest();
  one.AnswerRead();
  one.Wake();
  std::ignore = store.Commit(delayed);
  one.AnswerCommit();
  EXPECT_EQ(one.authority()->deadline, first_sent + kTtl - kMargin);
}

// The field: a heartbeat that succeeded, but whose answer was lost, is taken for a lost term.
TEST(LeaseMachine, AHeartbeatReadBackAfterTwoLostSendingsCountsFromTheFirst) {
  StoredKeys store;
  Player one(store);
  one.StartAndWin();
  one.Wake();
  const Instant first_sent = one.now();
  one.LoseAnswer();
  one.FailRequest(ErrorCode::kUnavailable);  // The reading back.
  one.Wake();
  ASSERT_GT(one.now(), first_sent);
  one.LoseAnswer();
  one.AnswerRead();
  EXPECT_EQ(one.authority()->deadline, first_sent + kTtl - kMargin);
}

TEST(LeaseMachine, HeartbeatsThatCertainlyHadNoEffectDoNotShortenTheLease) {
  StoredKeys store;
  Player one(store);
  one.StartAndWin();
  one.Wake();
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kDeadlineExceeded}) {
    one.Pass(seconds(1));
    one.FailRequest(code);
    EXPECT_TRUE(one.Holds());
    one.Wake();
  }
  const Instant sent = one.now();
  one.LoseAnswer();
  one.AnswerRead();
  EXPECT_EQ(one.authority()->deadline, sent + kTtl - kMargin);
}

TEST(LeaseMachine, ErrorsKeepTheAuthorityUntilItsDeadline) {
  StoredKeys store;
  Player one(store);
  one.StartAndWin();
  const Instant deadline = one.authority()->deadline;
  while (one.now() < deadline + kTtl) {
    one.Wake();
    one.Pass(kAttempt);
    one.FailRequest(ErrorCode::kUnavailable);
    EXPECT_FALSE(one.Effect<DropAuthority>().has_value());
    EXPECT_EQ(one.authority()->deadline, deadline);
    EXPECT_EQ(one.Holds(), one.now() < deadline);
    EXPECT_TRUE(one.Effect<Obstacle>().has_value());
  }
  // Nobody took over, so the term goes on.
  one.Wake();
  one.AnswerCommit();
  EXPECT_TRUE(one.Holds());
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(1));
}

// The field: a former leader meets a conflict, does not step down, and renews again later.
TEST(LeaseMachine, ATermThatWasLostStaysLostAndLeadingAgainIsANewEpoch) {
  StoredKeys store;
  Player one(store);
  one.StartAndWin();
  const std::string own_term = *store.Get(kTermKey);
  InstallOther(store, 2);
  one.Wake();
  one.AnswerCommit();
  EXPECT_FALSE(one.authority().has_value());
  EXPECT_EQ(one.Effect<DropAuthority>()->epoch, Epoch(1));
  ASSERT_TRUE(one.PollUntilCampaign(kTtl + kPoll));
  one.AnswerCommit();
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(3));
  EXPECT_NE(one.authority()->guard.term_bytes(), own_term);
}

// The field: a former leader meets a conflict, does not step down, and renews again later.
TEST(LeaseMachine, DropsTheAuthorityWhenTheReadBackShowsAnothersHeartbeatOrTerm) {
  for (const bool term_only : {false, true}) {
    StoredKeys store;
    Player one(store);
    one.StartAndWin();
    one.Wake();
    one.FailRequest(ErrorCode::kOutcomeUnknown);
    if (term_only) {
      store.Set(kTermKey, HeldBy(9, 2));
    } else {
      store.Set(kHeartbeatKey, BeatOf(9, 2, 0));
    }
    one.AnswerRead();
    EXPECT_FALSE(one.authority().has_value());
  }
}

TEST(LeaseMachine, StepsDownWhenAPublicationOfItsEpochWasFenced) {
  StoredKeys store;
  Player one(store);
  one.StartAndWin();
  one.Handle(Deposed{Epoch(1)});
  EXPECT_FALSE(one.authority().has_value());
  EXPECT_TRUE(one.Wants<ReadLease>());
}

TEST(LeaseMachine, IgnoresAFencedPublicationOfAnEarlierEpoch) {
  StoredKeys store;
  InstallOther(store, 1);
  Player one(store);
  one.Start();
  ASSERT_TRUE(one.PollUntilCampaign(kTtl + kPoll));
  one.AnswerCommit();
  one.Handle(Deposed{Epoch(1)});
  EXPECT_TRUE(one.Holds());
  EXPECT_TRUE(one.Wants<WakeAt>());
}

// The field: one hung request eats the whole time in which the lease could be renewed.
TEST(LeaseMachine, BoundsEachAttemptWellBelowTheDeadline) {
  StoredKeys store;
  Player one(store);
  one.Start();
  EXPECT_EQ(one.Effect<ReadLease>()->deadline, one.now() + kAttempt);
  one.AnswerRead();
  EXPECT_EQ(one.Effect<CommitLease>()->deadline, one.now() + kAttempt);
  one.AnswerCommit();
  one.Wake();
  EXPECT_EQ(one.Effect<CommitLease>()->deadline, one.now() + kAttempt);
  // One request hangs for its whole attempt, and its reading back too; the next still comes in time.
  one.Pass(kAttempt);
  one.FailRequest(ErrorCode::kOutcomeUnknown);
  one.Pass(kAttempt);
  one.FailRequest(ErrorCode::kUnavailable);
  one.Wake();
  EXPECT_TRUE(one.Holds());
  one.AnswerCommit();
  EXPECT_TRUE(one.Holds());
}

// The field: a restarted node finds its own old record and believes that it leads.
TEST(LeaseMachine, ANodeThatFindsItsOwnOldRecordAfterARestartDoesNotLead) {
  StoredKeys store;
  {
    Player before(store, TestIdentity(1, 1), Rivals::kPossible);
    before.StartAndWin();
  }
  Player after(store, TestIdentity(1, 2), Rivals::kPossible);
  after.Start();
  after.AnswerRead();
  EXPECT_FALSE(after.authority().has_value());
  EXPECT_FALSE(after.IsCampaigning());
  ASSERT_TRUE(after.PollUntilCampaign(kTtl + kPoll));
  after.AnswerCommit();
  EXPECT_EQ(after.authority()->guard.epoch(), Epoch(2));
  EXPECT_EQ(DecodeTerm(*store.Get(kTermKey))->session, TestSession(2));
}

// The field: a restarted node finds its own old record and believes that it leads.
TEST(LeaseMachine, NotEvenItsOwnSessionInTheRecordMakesItLead) {
  StoredKeys store;
  {
    Player before(store);
    before.StartAndWin();
  }
  Player again(store);
  again.Start();
  ASSERT_TRUE(again.PollUntilCampaign(kTtl + kPoll));
  EXPECT_FALSE(again.authority().has_value());
  again.AnswerCommit();
  EXPECT_EQ(again.authority()->guard.epoch(), Epoch(2));
}

TEST(LeaseMachine, TakesAReleasedTermAtOnce) {
  StoredKeys store;
  TermRecord released{.epoch = Epoch(6), .node = "n9", .session = TestSession(9)};
  released.state = TermRecord::State::kReleased;
  store.Set(kTermKey, Encode(released));
  store.Set(kHeartbeatKey, BeatOf(9, 6, 4));
  Player one(store);
  one.Start();
  one.AnswerRead();
  ASSERT_TRUE(one.IsCampaigning());
  one.AnswerCommit();
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(7));
}

TEST(LeaseMachine, TakesAHeldTermAtOnceWhenNobodyElseCanHoldIt) {
  StoredKeys store;
  InstallOther(store, 6);
  Player one(store, TestIdentity(1), Rivals::kExcluded);
  one.Start();
  one.AnswerRead();
  ASSERT_TRUE(one.IsCampaigning());
  one.AnswerCommit();
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(7));
}

TEST(LeaseMachine, EpochExhaustionFailsClosedAndChangesNothing) {
  StoredKeys store;
  InstallOther(store, std::numeric_limits<std::uint64_t>::max());
  const LeaseBytes before = store.lease();
  for (const Rivals rivals : {Rivals::kPossible, Rivals::kExcluded}) {
    Player one(store, TestIdentity(1), rivals);
    one.Start();
    EXPECT_FALSE(one.PollUntilCampaign(3 * kTtl));
    EXPECT_FALSE(one.authority().has_value());
    EXPECT_EQ(store.lease(), before);
  }
}

TEST(LeaseMachine, TheLastEpochCanStillBeWon) {
  StoredKeys store;
  InstallOther(store, std::numeric_limits<std::uint64_t>::max() - 1);
  Player one(store, TestIdentity(1), Rivals::kExcluded);
  one.StartAndWin();
  EXPECT_EQ(one.authority()->guard.epoch().Next(), std::nullopt);
}

TEST(LeaseMachine, ATermThatCannotBeDecodedIsReportedAndLeftAlone) {
  StoredKeys store;
  store.Set(kTermKey, "{damaged");
  store.Set(kHeartbeatKey, BeatOf(9, 3, 0));
  Player one(store, TestIdentity(1), Rivals::kExcluded);
  one.Start();
  one.AnswerRead();
  EXPECT_EQ(one.Effect<Obstacle>()->error.code(), ErrorCode::kCorruption);
  EXPECT_FALSE(one.PollUntilCampaign(3 * kTtl));
  EXPECT_EQ(store.Get(kTermKey), "{damaged");
  // Somebody repairs it; nothing needs to be restarted.
  store.Set(kTermKey, HeldBy(9, 3));
  EXPECT_TRUE(one.PollUntilCampaign(kPoll));
}

TEST(LeaseMachine, RecordsOfANewerVersionAreNotOverwritten) {
  StoredKeys store;
  InstallOther(store, 3);
  store.Set(kHeartbeatKey, R"({"format":2})");
  Player one(store, TestIdentity(1), Rivals::kExcluded);
  one.Start();
  one.AnswerRead();
  EXPECT_EQ(one.Effect<Obstacle>()->error.code(), ErrorCode::kUnimplemented);
  EXPECT_FALSE(one.PollUntilCampaign(3 * kTtl));
  store.Set(kHeartbeatKey, BeatOf(9, 3, 0));
  store.Set(kTermKey, R"({"format":2})");
  EXPECT_FALSE(one.PollUntilCampaign(3 * kTtl));
}

TEST(LeaseMachine, AHeartbeatThatIsMissingOrDamagedStandsStillForOurOwnTtl) {
  for (const std::optional<std::string>& heartbeat :
       {std::optional<std::string>(), std::optional<std::string>("{damaged")}) {
    StoredKeys store;
    store.Set(kTermKey, HeldBy(9, 3));
    if (heartbeat.has_value()) {
      store.Set(kHeartbeatKey, *heartbeat);
    }
    Player one(store);
    one.Start();
    EXPECT_FALSE(one.PollUntilCampaign(kTtl - kPoll));
    ASSERT_TRUE(one.PollUntilCampaign(2 * kPoll));
    one.AnswerCommit();
    EXPECT_EQ(one.authority()->guard.epoch(), Epoch(4));
    EXPECT_EQ(store.Get(kHeartbeatKey), BeatOf(1, 4, 0));
  }
}

TEST(LeaseMachine, AnEpochIsNotUsedAgainThoughSomebodyDeletedTheTerm) {
  StoredKeys store;
  store.Set(kHeartbeatKey, BeatOf(9, 12, 5));
  Player one(store);
  one.StartAndWin();
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(13));

  StoredKeys unclear;
  unclear.Set(kHeartbeatKey, "{damaged");
  Player two(unclear);
  two.Start();
  two.AnswerRead();
  EXPECT_EQ(two.Effect<Obstacle>()->error.code(), ErrorCode::kCorruption);
  EXPECT_FALSE(two.PollUntilCampaign(3 * kTtl));
}

TEST(LeaseMachine, UnknownMembersOfTheRecordsSurviveATakeoverAndARelease) {
  StoredKeys store;
  TermRecord term{.epoch = Epoch(6), .node = "n9", .session = TestSession(9)};
  term.unknown_members = R"({"zone":"b"})";
  store.Set(kTermKey, Encode(term));
  HeartbeatRecord heartbeat{.epoch = Epoch(6), .session = TestSession(9), .ttl = milliseconds(5)};
  heartbeat.unknown_members = R"({"load":2})";
  store.Set(kHeartbeatKey, Encode(heartbeat));
  Player one(store, TestIdentity(1), Rivals::kExcluded);
  one.StartAndWin();
  one.Wake();
  one.AnswerCommit();
  EXPECT_EQ(DecodeHeartbeat(*store.Get(kHeartbeatKey))->unknown_members, R"({"load":2})");
  one.Handle(ReleaseRequested{});
  one.AnswerCommit();
  EXPECT_EQ(DecodeTerm(*store.Get(kTermKey))->unknown_members, R"({"zone":"b"})");
}

TEST(LeaseMachine, TheLostAnswerOfAWinningTakeoverIsReadBack) {
  StoredKeys store;
  Player one(store);
  one.Start();
  one.AnswerRead();
  const Instant sent = one.now();
  one.Pass(kAttempt);
  one.LoseAnswer();
  EXPECT_FALSE(one.Holds());
  ASSERT_TRUE(one.Wants<ReadLease>()) << "it reads back at once";
  one.AnswerRead();
  EXPECT_TRUE(one.Holds());
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(1));
  EXPECT_EQ(one.authority()->guard.term_bytes(), store.Get(kTermKey));
  EXPECT_EQ(one.authority()->deadline, sent + kTtl - kMargin);
}

TEST(LeaseMachine, ATakeoverThatWasLostOnItsWayIsSentAgain) {
  StoredKeys store;
  Player one(store);
  one.Start();
  one.AnswerRead();
  one.FailRequest(ErrorCode::kOutcomeUnknown);
  one.AnswerRead();
  EXPECT_TRUE(one.Wants<WakeAt>()) << "a store that answers nothing is not asked without pause";
  one.Wake();
  one.AnswerRead();
  ASSERT_TRUE(one.IsCampaigning());
  const Instant second_sent = one.now();
  one.AnswerCommit();
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(1));
  EXPECT_EQ(one.authority()->deadline, second_sent + kTtl - kMargin);
}

TEST(LeaseMachine, ADelayedTakeoverThatLandsLaterIsRecognisedAndCountsFromItsFirstSending) {
  StoredKeys store;
  Player one(store);
  one.Start();
  one.AnswerRead();
  const Instant first_sent = one.now();
  const metastore::Transaction delayed = one.DelayRequest();
  one.AnswerRead();
  one.Wake();
  std::ignore = store.Commit(delayed);
  // The read that follows was begun before it landed, and so shows only half of it.
  one.Handle(LeaseRead{LeaseBytes{.term = std::nullopt, .heartbeat = store.Get(kHeartbeatKey)}});
  EXPECT_FALSE(one.authority().has_value());
  one.Wake();
  one.AnswerRead();
  ASSERT_TRUE(one.authority().has_value());
  EXPECT_EQ(one.authority()->deadline, first_sent + kTtl - kMargin);
}

TEST(LeaseMachine, ADelayedTakeoverThatLandsBeforeItsResendingIsRecognisedByTheRejection) {
  StoredKeys store;
  Player one(store);
  one.Start();
  one.AnswerRead();
  const Instant first_sent = one.now();
  const metastore::Transaction delayed = one.DelayRequest();
  one.AnswerRead();
  one.Wake();
  one.AnswerRead();
  ASSERT_TRUE(one.IsCampaigning());
  std::ignore = store.Commit(delayed);
  one.AnswerCommit();
  ASSERT_TRUE(one.authority().has_value());
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(1));
  EXPECT_EQ(one.authority()->deadline, first_sent + kTtl - kMargin);
}

TEST(LeaseMachine, ADelayedTakeoverThatLostToAnotherNeverLeads) {
  StoredKeys store;
  Player one(store);
  one.Start();
  one.AnswerRead();
  const metastore::Transaction delayed = one.DelayRequest();
  InstallOther(store, 1);
  one.AnswerRead();
  EXPECT_FALSE(one.authority().has_value());
  EXPECT_TRUE(std::holds_alternative<metastore::Rejected>(store.Commit(delayed)));
  EXPECT_FALSE(one.PollUntilCampaign(kTtl - kPoll));
}

TEST(LeaseMachine, ATakeoverThatWasAppliedAndLostAgainWhileItWasUnknownNeverLeads) {
  StoredKeys store;
  Player one(store);
  one.Start();
  one.AnswerRead();
  one.LoseAnswer();
  InstallOther(store, 2);
  one.AnswerRead();
  EXPECT_FALSE(one.authority().has_value());
  ASSERT_TRUE(one.PollUntilCampaign(kTtl + kPoll));
  one.AnswerCommit();
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(3));
}

TEST(LeaseMachine, AUnavailableStoreDuringATakeoverCostsNoObservation) {
  StoredKeys store;
  InstallOther(store, 1);
  Player one(store);
  one.Start();
  ASSERT_TRUE(one.PollUntilCampaign(kTtl + kPoll));
  one.FailRequest(ErrorCode::kUnavailable);
  one.Wake();
  one.AnswerRead();
  ASSERT_TRUE(one.IsCampaigning());
  one.AnswerCommit();
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(2));
}

// The field: the lease is given back while work is in flight and the process still believes that it leads.
TEST(LeaseMachine, ReleaseClearsTheAuthorityBeforeTheTermIsGivenBack) {
  StoredKeys store;
  Player one(store);
  one.StartAndWin();
  one.Handle(ReleaseRequested{});
  EXPECT_EQ(one.Effect<DropAuthority>()->epoch, Epoch(1));
  ASSERT_TRUE(one.Wants<CommitLease>());
  EXPECT_EQ(DecodeTerm(*store.Get(kTermKey))->state, TermRecord::State::kHeld);
  one.AnswerCommit();
  EXPECT_TRUE(one.Wants<Rest>());
  const Result<TermRecord> term = DecodeTerm(*store.Get(kTermKey));
  EXPECT_EQ(term->state, TermRecord::State::kReleased);
  EXPECT_EQ(term->epoch, Epoch(1));
  Player two(store, 2);
  two.StartAndWin();
  EXPECT_EQ(two.authority()->guard.epoch(), Epoch(2));
}

TEST(LeaseMachine, ReleaseIsRepeatedUntilItIsCertain) {
  StoredKeys store;
  Player one(store);
  one.StartAndWin();
  one.Handle(ReleaseRequested{});
  one.FailRequest(ErrorCode::kUnavailable);
  one.Wake();
  one.LoseAnswer();
  EXPECT_FALSE(one.Wants<Rest>());
  one.Wake();
  one.AnswerCommit();  // Rejected: it is released.
  EXPECT_TRUE(one.Wants<Rest>());
}

TEST(LeaseMachine, ReleaseNeverTouchesATermThatIsAnothersByNow) {
  StoredKeys store;
  Player one(store);
  one.StartAndWin();
  InstallOther(store, 2);
  const LeaseBytes others = store.lease();
  one.Handle(ReleaseRequested{});
  one.AnswerCommit();
  EXPECT_TRUE(one.Wants<Rest>());
  EXPECT_EQ(store.lease(), others);
}

TEST(LeaseMachine, ReleaseOfAStandbyJustRests) {
  StoredKeys store;
  InstallOther(store, 1);
  Player one(store);
  one.Start();
  one.AnswerRead();
  one.Handle(ReleaseRequested{});
  EXPECT_TRUE(one.Wants<Rest>());
}

TEST(LeaseMachine, CanBeStartedAgainAfterARelease) {
  StoredKeys store;
  Player one(store);
  one.StartAndWin();
  one.Handle(ReleaseRequested{});
  one.AnswerCommit();
  one.StartAndWin();
  EXPECT_EQ(one.authority()->guard.epoch(), Epoch(2));
}

TEST(LeaseMachine, LooksForTheTermEveryPollInterval) {
  StoredKeys store;
  InstallOther(store, 1);
  Player one(store);
  one.Start();
  for (int i = 0; i < 5; ++i) {
    one.AnswerRead();
    EXPECT_EQ(one.Effect<WakeAt>()->when, one.now() + kPoll);
    EXPECT_EQ(one.Effect<TermSeen>()->term->node, "n9");
    one.Wake();
  }
}

TEST(LeaseMachine, EqualHistoriesGiveEqualMachines) {
  StoredKeys left_store;
  StoredKeys right_store;
  Player left(left_store);
  Player right(right_store);
  EXPECT_EQ(left.machine(), right.machine());
  left.StartAndWin();
  EXPECT_NE(left.machine(), right.machine());
  right.StartAndWin();
  EXPECT_EQ(left.machine(), right.machine());
}

TEST(LeaseConfig, AcceptsItsDefaults) {
  EXPECT_THAT(LeaseConfig{}.Validate(), testing::IsOk());
}

TEST(LeaseConfig, RefusesTimesThatCannotKeepALease) {
  const auto refused = [](auto change) {
    LeaseConfig config;
    change(config);
    return config.Validate();
  };
  using testing::IsError;
  EXPECT_THAT(refused([](LeaseConfig& c) { c.ttl = milliseconds(0); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("ttl")));
  EXPECT_THAT(refused([](LeaseConfig& c) { c.ttl = std::chrono::hours(2); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("ttl")));
  EXPECT_THAT(refused([](LeaseConfig& c) { c.poll = milliseconds(-1); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("poll")));
  EXPECT_THAT(refused([](LeaseConfig& c) { c.margin = milliseconds(0); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("margin")));
  // A hung request must not eat the whole lease.
  EXPECT_THAT(refused([](LeaseConfig& c) { c.attempt = milliseconds(3'251); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("attempt")));
  EXPECT_THAT(refused([](LeaseConfig& c) { c.attempt = milliseconds(3'250); }), testing::IsOk());
  EXPECT_THAT(refused([](LeaseConfig& c) { c.margin = milliseconds(9'000); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("margin")));
}

TEST(LeaseIdentity, RefusesWhatCannotIdentify) {
  using testing::IsError;
  EXPECT_THAT(TestIdentity(1).Validate(), testing::IsOk());
  const auto refused = [](auto change) {
    LeaseIdentity identity = TestIdentity(1);
    change(identity);
    return identity.Validate();
  };
  EXPECT_THAT(refused([](LeaseIdentity& i) { i.node = ""; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("node")));
  EXPECT_THAT(refused([](LeaseIdentity& i) { i.node = "a b"; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("node")));
  EXPECT_THAT(refused([](LeaseIdentity& i) { i.node = std::string(256, 'a'); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("256")));
  EXPECT_THAT(refused([](LeaseIdentity& i) { i.session = Uuid(); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("session")));
  EXPECT_THAT(refused([](LeaseIdentity& i) { i.address = "h\n"; }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("address")));
  EXPECT_THAT(refused([](LeaseIdentity& i) { i.address = ""; }), testing::IsOk());
}

}  // namespace
}  // namespace lake::lease
