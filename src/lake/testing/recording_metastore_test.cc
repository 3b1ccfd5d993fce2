#include "lake/testing/recording_metastore.h"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/lease/records.h"
#include "lake/metastore/memory/memory_metastore.h"
#include "lake/metastore/transaction.h"
#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"

namespace lake::testing {
namespace {

using lease::Epoch;
using lease::HeartbeatRecord;
using lease::TermRecord;
using metastore::Committed;
using metastore::Expectation;
using metastore::Transaction;
using std::chrono::hours;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Uuid Session(std::uint8_t number) {
  std::array<std::uint8_t, 16> bytes{};
  bytes[15] = number;
  return Uuid(bytes);
}

std::string Term(std::uint64_t epoch, TermRecord::State state = TermRecord::State::kHeld) {
  return Encode(TermRecord{
      .epoch = Epoch(epoch), .node = "n", .session = Session(1), .address = "", .state = state});
}

std::string Beat(std::uint64_t epoch, std::uint64_t beat) {
  return Encode(HeartbeatRecord{.epoch = Epoch(epoch),
                                .session = Session(1),
                                .beat = beat,
                                .ttl = std::chrono::milliseconds(10)});
}

Transaction Takeover(Expectation term, Expectation beat, std::uint64_t epoch) {
  return Transaction()
      .Put("lease/term", std::move(term), Term(epoch))
      .Put("lease/heartbeat", std::move(beat), Beat(epoch, 0));
}

Transaction Fenced(const std::string& term) {
  return Transaction()
      .Check("lease/term", Expectation::Exactly(term))
      .Put("t/a", Expectation::Any(), "1");
}

class RecordingMetaStoreTest : public ::testing::Test {
 protected:
  void Commit(const Transaction& transaction) {
    EXPECT_THAT(recording_.Commit(transaction, clock_.Now() + hours(1)), IsOk());
  }

  std::vector<std::string> Offences() const {
    return FencingChecker::FindOffences(recording_.commits());
  }

  ManualClock clock_;
  metastore::MemoryMetaStore memory_{clock_};
  RecordingMetaStore recording_{memory_};
};

TEST_F(RecordingMetaStoreTest, RecordsEveryTransactionWithItsAnswer) {
  const Transaction create = Transaction().Put("t/a", Expectation::Absent(), "1");
  Commit(create);
  Commit(create);
  const std::vector<RecordedCommit> commits = recording_.commits();
  ASSERT_THAT(commits, SizeIs(2));
  EXPECT_EQ(commits[0].transaction, create);
  EXPECT_TRUE(std::holds_alternative<Committed>(*commits[0].answer));
  EXPECT_FALSE(std::holds_alternative<Committed>(*commits[1].answer));
  EXPECT_THAT(recording_.Get("t/a", clock_.Now() + hours(1)),
              IsOkAnd(std::optional<std::string>("1")));
}

TEST_F(RecordingMetaStoreTest, ACleanRunHasNoOffences) {
  Commit(Takeover(Expectation::Absent(), Expectation::Absent(), 1));
  Commit(Fenced(Term(1)));
  Commit(Transaction().Put("lease/heartbeat", Expectation::Exactly(Beat(1, 0)), Beat(1, 1)));
  Commit(Fenced(Term(1)));
  Commit(Transaction().Put("lease/term", Expectation::Exactly(Term(1)),
                           Term(1, TermRecord::State::kReleased)));
  Commit(Fenced(Term(1)));  // Rejected by the store, as it should be.
  Commit(Takeover(Expectation::Exactly(Term(1, TermRecord::State::kReleased)),
                  Expectation::Exactly(Beat(1, 1)), 2));
  Commit(Fenced(Term(2)));
  EXPECT_THAT(Offences(), IsEmpty());
  EXPECT_EQ(FencingChecker::CountPublications(recording_.commits()), 4U);
}

TEST_F(RecordingMetaStoreTest, FindsAWriteWithoutFence) {
  Commit(Takeover(Expectation::Absent(), Expectation::Absent(), 1));
  Commit(Transaction().Put("t/a", Expectation::Any(), "1"));
  EXPECT_THAT(Offences(), ElementsAre(HasSubstr("transaction 1: not fenced")));
}

TEST_F(RecordingMetaStoreTest, FindsAFenceInTheWrongPlaceOrOfTheWrongBytes) {
  Commit(Takeover(Expectation::Absent(), Expectation::Absent(), 1));
  Commit(Transaction()
             .Put("t/a", Expectation::Any(), "1")
             .Check("lease/term", Expectation::Exactly(Term(1))));
  Commit(Fenced("not a term"));
  Commit(Fenced(Term(1, TermRecord::State::kReleased)));
  EXPECT_THAT(Offences(), SizeIs(3));
}

TEST_F(RecordingMetaStoreTest, FindsAPublicationUnderATermThatIsNotInForce) {
  Commit(Takeover(Expectation::Absent(), Expectation::Absent(), 1));
  std::vector<RecordedCommit> commits = recording_.commits();
  commits.push_back({.transaction = Fenced(Term(2)), .answer = Committed{}});
  EXPECT_THAT(FencingChecker::FindOffences(commits), ElementsAre(HasSubstr("in force")));
}

TEST_F(RecordingMetaStoreTest, FindsWritersOfTheLeaseOtherThanTheElection) {
  Commit(Transaction().Put("lease/term", Expectation::Any(), Term(1)));
  Commit(Transaction().Delete("lease/heartbeat", Expectation::Any()));
  Commit(Transaction().Put("lease/other", Expectation::Absent(), "x"));
  Commit(Transaction()
             .Check("lease/term", Expectation::Exactly(Term(1)))
             .Put("lease/heartbeat", Expectation::Any(), "x")
             .Put("t/a", Expectation::Any(), "1"));
  const std::vector<std::string> offences = Offences();
  for (const std::string number : {"0", "1", "2", "3"}) {
    EXPECT_THAT(offences, ::testing::Contains(HasSubstr("transaction " + number + ":")));
  }
}

TEST_F(RecordingMetaStoreTest, FindsEpochsThatJumpOrRepeat) {
  Commit(Takeover(Expectation::Absent(), Expectation::Absent(), 2));
  Commit(Takeover(Expectation::Exactly(Term(2)), Expectation::Exactly(Beat(2, 0)), 2));
  EXPECT_THAT(Offences(), ElementsAre(HasSubstr("epoch 2 where 1"), HasSubstr("epoch 2 where 3")));
}

}  // namespace
}  // namespace lake::testing
