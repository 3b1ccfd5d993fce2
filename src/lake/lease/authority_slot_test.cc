#include "lake/lease/authority_slot.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/lease/lease_guard.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"

namespace lake::lease {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::IsError;
using testing::IsOkAnd;

class AuthoritySlotTest : public ::testing::Test {
 protected:
  Authority Of(std::uint64_t epoch, Duration from_now) {
    return {.guard = LeaseGuard(Epoch(epoch), "term " + std::to_string(epoch)),
            .deadline = clock_.Now() + from_now};
  }

  testing::ManualClock clock_;
  AuthoritySlot slot_{clock_};
};

TEST_F(AuthoritySlotTest, HasNoAuthorityUntilOneIsPublished) {
  EXPECT_THAT(slot_.Current(), IsError(ErrorCode::kNotLeader));
  EXPECT_THAT(slot_.EpochForNewWork(), IsError(ErrorCode::kNotLeader));
  slot_.Publish(Of(3, seconds(9)));
  EXPECT_THAT(slot_.Current(), IsOkAnd(Of(3, seconds(9))));
  EXPECT_THAT(slot_.EpochForNewWork(), IsOkAnd(Epoch(3)));
}

// I10.
TEST_F(AuthoritySlotTest, HandsNothingOutFromTheDeadlineOnThoughNoThreadRan) {
  slot_.Publish(Of(1, seconds(9)));
  clock_.Advance(seconds(9) - nanoseconds(1));
  EXPECT_THAT(slot_.Current(), testing::IsOk());
  clock_.Advance(nanoseconds(1));
  EXPECT_THAT(slot_.Current(), IsError(ErrorCode::kNotLeader));
  EXPECT_THAT(slot_.EpochForNewWork(), IsError(ErrorCode::kNotLeader));
}

TEST_F(AuthoritySlotTest, ReplacesTheAuthorityAsAWhole) {
  slot_.Publish(Of(1, seconds(9)));
  slot_.Publish(Of(1, seconds(12)));
  EXPECT_THAT(slot_.Current(), IsOkAnd(Of(1, seconds(12))));
  slot_.Publish(Of(2, seconds(5)));
  EXPECT_THAT(slot_.Current(), IsOkAnd(Of(2, seconds(5))));
}

TEST_F(AuthoritySlotTest, RevivesAnAuthorityThatEndedButWasNotLost) {
  slot_.Publish(Of(1, seconds(9)));
  clock_.Advance(seconds(20));
  slot_.Publish(Of(1, seconds(9)));
  EXPECT_THAT(slot_.Current(), testing::IsOk());
}

// The field: a former leader meets a conflict, does not step down, and renews again later.
TEST_F(AuthoritySlotTest, WhatWasDroppedStaysDropped) {
  slot_.Publish(Of(4, seconds(9)));
  slot_.Drop(Epoch(4));
  EXPECT_THAT(slot_.Current(), IsError(ErrorCode::kNotLeader));
  slot_.Publish(Of(4, seconds(12)));  // A confirmation that came after the fence had spoken.
  slot_.Publish(Of(3, seconds(12)));
  EXPECT_THAT(slot_.Current(), IsError(ErrorCode::kNotLeader));
  slot_.Publish(Of(5, seconds(9)));
  EXPECT_THAT(slot_.Current(), IsOkAnd(Of(5, seconds(9))));
}

TEST_F(AuthoritySlotTest, DroppingAnOldEpochDoesNotTouchTheNewOne) {
  slot_.Publish(Of(5, seconds(9)));
  slot_.Drop(Epoch(4));
  EXPECT_THAT(slot_.Current(), IsOkAnd(Of(5, seconds(9))));
}

TEST_F(AuthoritySlotTest, ClosedToNewWorkItStillServesWhatHasBegun) {
  slot_.Publish(Of(1, seconds(9)));
  slot_.CloseToNewWork();
  EXPECT_THAT(slot_.EpochForNewWork(), IsError(ErrorCode::kNotLeader));
  EXPECT_THAT(slot_.Current(), testing::IsOk());
  slot_.Publish(Of(1, seconds(12)));
  EXPECT_THAT(slot_.EpochForNewWork(), IsError(ErrorCode::kNotLeader));
  slot_.OpenToNewWork();
  EXPECT_THAT(slot_.EpochForNewWork(), IsOkAnd(Epoch(1)));
}

TEST_F(AuthoritySlotTest, TellsItsListenerOnceOfEachDrop) {
  std::vector<std::uint64_t> dropped;
  slot_.SetDropListener([&](Epoch epoch) { dropped.push_back(epoch.value()); });
  slot_.Publish(Of(1, seconds(9)));
  slot_.Drop(Epoch(1));
  slot_.Drop(Epoch(1));
  slot_.Drop(Epoch(3));
  slot_.Drop(Epoch(2));
  EXPECT_THAT(dropped, ElementsAre(1, 3));
  slot_.SetDropListener({});
  slot_.Drop(Epoch(4));
  EXPECT_THAT(dropped, ElementsAre(1, 3));
}

using AuthoritySlotDeathTest = AuthoritySlotTest;

TEST_F(AuthoritySlotDeathTest, AGuardThatChangesWithinATermEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  slot_.Publish(Of(2, seconds(9)));
  EXPECT_DEATH(slot_.Publish(Authority{.guard = LeaseGuard(Epoch(2), "other bytes"),
                                       .deadline = clock_.Now() + seconds(9)}),
               "guard");
  EXPECT_DEATH(slot_.Publish(Of(1, seconds(9))), "epochs");
}

}  // namespace
}  // namespace lake::lease
