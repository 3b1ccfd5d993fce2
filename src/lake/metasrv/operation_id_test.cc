#include "lake/metasrv/operation_id.h"

#include <chrono>

#include <gtest/gtest.h>

#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/seeded_random.h"

namespace lake::metasrv {
namespace {

using testing::IsError;
using testing::IsOk;

constexpr WallTime kNow{std::chrono::milliseconds(1'790'000'000'000)};

// An id whose time is `offset` from now.
Uuid IdAt(std::chrono::milliseconds offset) {
  testing::ManualClock clock;
  testing::SeededRandom random(1);
  clock.SetWall(kNow + offset);
  return Uuid::Random7(clock, random);
}

TEST(AdmitOperation, TakesIdsFromTheRetentionUpToADayAhead) {
  EXPECT_THAT(AdmitOperation(IdAt(std::chrono::milliseconds(0)), kNow), IsOk());
  EXPECT_THAT(AdmitOperation(IdAt(-kOperationRetention), kNow), IsOk());
  EXPECT_THAT(AdmitOperation(IdAt(kOperationAheadMax), kNow), IsOk());
}

TEST(AdmitOperation, RefusesIdsWhoseRecordMayBeGone) {
  EXPECT_THAT(AdmitOperation(IdAt(-kOperationRetention - std::chrono::milliseconds(1)), kNow),
              IsError(ErrorCode::kInvalidArgument));
}

TEST(AdmitOperation, RefusesIdsTooFarAhead) {
  EXPECT_THAT(AdmitOperation(IdAt(kOperationAheadMax + std::chrono::milliseconds(1)), kNow),
              IsError(ErrorCode::kInvalidArgument));
}

TEST(AdmitOperation, RefusesWhatIsNotAVersion7Uuid) {
  testing::SeededRandom random(1);
  EXPECT_THAT(AdmitOperation(Uuid::Random4(random), kNow), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(AdmitOperation(Uuid(), kNow), IsError(ErrorCode::kInvalidArgument));
  auto bytes = IdAt(std::chrono::milliseconds(0)).bytes();
  bytes[8] = 0x00;  // The variant of another standard.
  EXPECT_THAT(AdmitOperation(Uuid(bytes), kNow), IsError(ErrorCode::kInvalidArgument));
}

}  // namespace
}  // namespace lake::metasrv
