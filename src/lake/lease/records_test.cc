#include "lake/lease/records.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/testing/matchers.h"

namespace lake::lease {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOkAnd;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

Uuid Session(std::uint8_t last) {
  std::array<std::uint8_t, 16> bytes{};
  bytes[15] = last;
  return Uuid(bytes);
}

TermRecord SomeTerm() {
  return {.epoch = Epoch(7), .node = "n1", .session = Session(1), .address = "10.0.0.1:7411"};
}

HeartbeatRecord SomeHeartbeat() {
  return {.epoch = Epoch(7), .session = Session(1), .beat = 3, .ttl = milliseconds(10'000)};
}

TEST(LeaseRecords, HaveTheDocumentedForm) {
  EXPECT_EQ(Encode(SomeTerm()),
            R"({"format":1,"epoch":7,"node":"n1","session":"00000000-0000-0000-0000-000000000001",)"
            R"("address":"10.0.0.1:7411","state":"held"})");
  EXPECT_EQ(Encode(SomeHeartbeat()),
            R"({"format":1,"epoch":7,"session":"00000000-0000-0000-0000-000000000001",)"
            R"("beat":3,"ttl_ms":10000})");
}

TEST(LeaseRecords, ReadBackWhatWasWritten) {
  TermRecord term = SomeTerm();
  EXPECT_THAT(DecodeTerm(Encode(term)), IsOkAnd(term));
  term.state = TermRecord::State::kReleased;
  EXPECT_THAT(DecodeTerm(Encode(term)), IsOkAnd(term));
  EXPECT_THAT(DecodeHeartbeat(Encode(SomeHeartbeat())), IsOkAnd(SomeHeartbeat()));
}

TEST(LeaseRecords, UseTheWholeRangeOfEpochsAndBeats) {
  TermRecord term = SomeTerm();
  term.epoch = Epoch(std::numeric_limits<std::uint64_t>::max());
  EXPECT_THAT(DecodeTerm(Encode(term)), IsOkAnd(term));
  HeartbeatRecord heartbeat = SomeHeartbeat();
  heartbeat.epoch = term.epoch;
  heartbeat.beat = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(DecodeHeartbeat(Encode(heartbeat)), IsOkAnd(heartbeat));
}

TEST(LeaseRecords, KeepMembersTheyDoNotKnow) {
  const std::string term_bytes =
      R"({"format":1,"zone":{"name":"b","rank":2},"epoch":7,"node":"n1",)"
      R"("session":"00000000-0000-0000-0000-000000000001","address":"","state":"held"})";
  Result<TermRecord> term = DecodeTerm(term_bytes);
  ASSERT_THAT(term, testing::IsOk());
  term->epoch = Epoch(8);
  EXPECT_THAT(Encode(*term), HasSubstr(R"("zone":{"name":"b","rank":2})"));
  EXPECT_THAT(DecodeTerm(Encode(*term)), IsOkAnd(*term));

  const Result<HeartbeatRecord> heartbeat =
      DecodeHeartbeat(R"({"format":1,"epoch":7,"session":"00000000-0000-0000-0000-000000000001",)"
                      R"("beat":3,"ttl_ms":10000,"load":0.5})");
  ASSERT_THAT(heartbeat, testing::IsOk());
  EXPECT_THAT(DecodeHeartbeat(Encode(*heartbeat)), IsOkAnd(*heartbeat));
  EXPECT_NE(Encode(*heartbeat), Encode(SomeHeartbeat()));
}

TEST(LeaseRecords, RefuseAnythingElseAsDamage) {
  const std::string session = "00000000-0000-0000-0000-000000000001";
  const auto term = [&session](const std::string& format, const std::string& epoch,
                               const std::string& node, const std::string& state) {
    return R"({"format":)" + format + R"(,"epoch":)" + epoch + R"(,"node":)" + node +
           R"(,"session":")" + session + R"(","address":"","state":)" + state + "}";
  };
  ASSERT_THAT(DecodeTerm(term("1", "1", R"("n")", R"("held")")), testing::IsOk());
  for (const std::string& bytes :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"), std::string("\0", 1),
        term("0", "1", R"("n")", R"("held")"), term(R"("1")", "1", R"("n")", R"("held")"),
        term("1", "0", R"("n")", R"("held")"), term("1", "-1", R"("n")", R"("held")"),
        term("1", "1.0", R"("n")", R"("held")"), term("1", R"("1")", R"("n")", R"("held")"),
        term("1", "18446744073709551616", R"("n")", R"("held")"),
        term("1", "1", R"("")", R"("held")"), term("1", "1", "null", R"("held")"),
        term("1", "1", R"("n")", R"("HELD")"), term("1", "1", R"("n")", "1"),
        term("1", "1", R"("n")", R"("held")") + "x"}) {
    EXPECT_THAT(DecodeTerm(bytes), IsError(ErrorCode::kCorruption, HasSubstr("lease/term")))
        << bytes;
  }
  const auto heartbeat = [&session](const std::string& beat, const std::string& ttl) {
    return R"({"format":1,"epoch":1,"session":")" + session + R"(","beat":)" + beat +
           R"(,"ttl_ms":)" + ttl + "}";
  };
  ASSERT_THAT(DecodeHeartbeat(heartbeat("0", "1")), testing::IsOk());
  for (const std::string& bytes :
       {std::string(), heartbeat("-1", "1"), heartbeat("0", "0"), heartbeat("0", "-5"),
        heartbeat("0", "3600001"), heartbeat("0", "18446744073709551615"),
        heartbeat("null", "1")}) {
    EXPECT_THAT(DecodeHeartbeat(bytes),
                IsError(ErrorCode::kCorruption, HasSubstr("lease/heartbeat")))
        << bytes;
  }
}

TEST(LeaseRecords, SayWhenANewerVersionWroteThem) {
  EXPECT_THAT(DecodeTerm(R"({"format":2})"),
              IsError(ErrorCode::kUnimplemented, HasSubstr("lease/term")));
  EXPECT_THAT(DecodeHeartbeat(R"({"format":2})"),
              IsError(ErrorCode::kUnimplemented, HasSubstr("lease/heartbeat")));
}

TEST(Epoch, HasNoSuccessorWhenTheNumbersAreUsedUp) {
  EXPECT_EQ(Epoch(1).Next(), Epoch(2));
  EXPECT_EQ(Epoch(std::numeric_limits<std::uint64_t>::max()).Next(), std::nullopt);
  EXPECT_LT(Epoch(9), Epoch(10));
}

}  // namespace
}  // namespace lake::lease
