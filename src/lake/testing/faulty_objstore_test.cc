#include "lake/testing/faulty_objstore.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/thread.h"
#include "lake/testing/matchers.h"

namespace lake::testing {
namespace {

using objstore::ObjectInfo;
using objstore::ObjectPage;
using objstore::ObjectStore;
using objstore::ObjectWriter;
using Fault = FaultyObjectStore::Fault;
using Operation = FaultyObjectStore::Operation;

// The least that can stand behind the faults: counts what reaches it.
class CountingStore final : public ObjectStore {
 public:
  Result<std::string> Get(std::string_view /*path*/, std::uint64_t /*size_max*/,
                          Deadline /*deadline*/) override {
    ++reads;
    return "bytes";
  }

  Result<std::string> GetRange(std::string_view /*path*/, std::uint64_t /*offset*/,
                               std::uint64_t /*length*/, Deadline /*deadline*/) override {
    ++reads;
    return "range";
  }

  Result<ObjectInfo> Stat(std::string_view path, Deadline /*deadline*/) override {
    ++reads;
    return ObjectInfo{.path = std::string(path)};
  }

  Status PutIfAbsent(std::string_view /*path*/, std::string_view /*bytes*/,
                     Deadline /*deadline*/) override {
    ++puts;
    return {};
  }

  Result<std::unique_ptr<ObjectWriter>> StartWrite(std::string_view /*path*/,
                                                   Deadline /*deadline*/) override {
    return std::make_unique<Writer>(*this);
  }

  Result<ObjectPage> List(std::string_view /*prefix*/, std::string_view /*after*/,
                          std::size_t /*limit*/, Deadline /*deadline*/) override {
    ++reads;
    return ObjectPage();
  }

  Status Delete(const std::vector<std::string>& /*paths*/, Deadline /*deadline*/) override {
    ++deletes;
    return {};
  }

  int reads = 0;
  int puts = 0;
  int deletes = 0;

 private:
  class Writer final : public ObjectWriter {
   public:
    explicit Writer(CountingStore& store) : store_(store) {}

    Status Append(std::string_view /*bytes*/) override { return {}; }

    Status Finish() override {
      ++store_.puts;
      return {};
    }

   private:
    CountingStore& store_;
  };
};

class FaultyObjectStoreTest : public ::testing::Test {
 protected:
  static constexpr Deadline kLater = Deadline::max();

  CountingStore behind_;
  FaultyObjectStore store_{behind_};
};

TEST_F(FaultyObjectStoreTest, PassesEverythingOnWithoutARule) {
  EXPECT_THAT(store_.Get("/a", 9, kLater), IsOkAnd("bytes"));
  EXPECT_THAT(store_.GetRange("/a", 0, 5, kLater), IsOkAnd("range"));
  EXPECT_THAT(store_.Stat("/a", kLater), IsOk());
  EXPECT_THAT(store_.List("/", "", 1, kLater), IsOk());
  EXPECT_THAT(store_.PutIfAbsent("/a", "", kLater), IsOk());
  EXPECT_THAT(store_.Delete({"/a"}, kLater), IsOk());
  const auto writer = store_.StartWrite("/b", kLater);
  ASSERT_THAT(writer, IsOk());
  EXPECT_THAT((*writer)->Append("x"), IsOk());
  EXPECT_THAT((*writer)->Finish(), IsOk());
  EXPECT_EQ(behind_.reads, 4);
  EXPECT_EQ(behind_.puts, 2);
  EXPECT_EQ(behind_.deletes, 1);
  const auto requests = store_.requests();
  ASSERT_EQ(requests.size(), 9U);
  EXPECT_EQ(requests[0].operation, Operation::kGet);
  EXPECT_EQ(requests[8].operation, Operation::kFinish);
  EXPECT_EQ(requests[8].path, "/b");
  EXPECT_EQ(requests[8].number, 9U);
}

TEST_F(FaultyObjectStoreTest, FailsTheNthRequestOnly) {
  EXPECT_THAT(store_.PutIfAbsent("/a", "", kLater), IsOk());
  store_.FailNth(2, Fault::kRefuse);
  EXPECT_THAT(store_.PutIfAbsent("/a", "", kLater), IsOk());
  EXPECT_THAT(store_.PutIfAbsent("/a", "", kLater), IsError(ErrorCode::kUnavailable));
  EXPECT_THAT(store_.PutIfAbsent("/a", "", kLater), IsOk());
  EXPECT_EQ(behind_.puts, 3);
}

TEST_F(FaultyObjectStoreTest, RefusesEverythingFromAPointOn) {
  store_.RefuseFrom(2);
  EXPECT_THAT(store_.PutIfAbsent("/a", "", kLater), IsOk());
  EXPECT_THAT(store_.PutIfAbsent("/a", "", kLater), IsError(ErrorCode::kUnavailable));
  EXPECT_THAT(store_.Get("/a", 9, kLater), IsError(ErrorCode::kUnavailable));
  EXPECT_EQ(behind_.puts, 1);
  EXPECT_EQ(behind_.reads, 0);
}

TEST_F(FaultyObjectStoreTest, LosesTheRequestOrTheAnswerOfAChange) {
  store_.FailNth(1, Fault::kLoseRequest);
  EXPECT_THAT(store_.PutIfAbsent("/a", "", kLater), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_EQ(behind_.puts, 0);
  store_.FailNth(1, Fault::kLoseAnswer);
  EXPECT_THAT(store_.PutIfAbsent("/a", "", kLater), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_EQ(behind_.puts, 1);
  store_.FailNth(1, Fault::kLoseAnswer);
  EXPECT_THAT(store_.Delete({"/a"}, kLater), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_EQ(behind_.deletes, 1);
  store_.FailNth(3, Fault::kLoseAnswer);
  const auto writer = store_.StartWrite("/a", kLater);
  ASSERT_THAT(writer, IsOk());
  ASSERT_THAT((*writer)->Append("x"), IsOk());
  EXPECT_THAT((*writer)->Finish(), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_EQ(behind_.puts, 2);
}

TEST_F(FaultyObjectStoreTest, ALostReadIsOnlyUnavailable) {
  store_.SetRule([](const FaultyObjectStore::Request&) { return Fault::kLoseAnswer; });
  EXPECT_THAT(store_.Get("/a", 9, kLater), IsError(ErrorCode::kUnavailable));
  EXPECT_THAT(store_.GetRange("/a", 0, 1, kLater), IsError(ErrorCode::kUnavailable));
  EXPECT_THAT(store_.Stat("/a", kLater), IsError(ErrorCode::kUnavailable));
  EXPECT_THAT(store_.List("/", "", 1, kLater), IsError(ErrorCode::kUnavailable));
  EXPECT_THAT(store_.StartWrite("/a", kLater), IsError(ErrorCode::kUnavailable));
}

TEST_F(FaultyObjectStoreTest, HoldsARequestBeforeItIsDone) {
  store_.FailNth(1, Fault::kHoldRequest);
  Thread caller("caller", [&] { EXPECT_THAT(store_.PutIfAbsent("/a", "", kLater), IsOk()); });
  store_.WaitForHeld(1);
  EXPECT_EQ(behind_.puts, 0);
  store_.Release();
  caller.Join();
  EXPECT_EQ(behind_.puts, 1);
}

TEST_F(FaultyObjectStoreTest, HoldsAnAnswerAfterItIsDone) {
  store_.FailNth(1, Fault::kHoldAnswer);
  bool answered = false;
  Thread caller("caller", [&] {
    EXPECT_THAT(store_.PutIfAbsent("/a", "", kLater), IsOk());
    answered = true;
  });
  store_.WaitForHeld(1);
  EXPECT_EQ(behind_.puts, 1);
  EXPECT_FALSE(answered);
  store_.Release();
  caller.Join();
  EXPECT_TRUE(answered);
}

TEST_F(FaultyObjectStoreTest, RunsWhatATestWantsBeforeAndAfterARequest) {
  int before = -1;
  int after = -1;
  store_.InterruptNth(2, [&] { before = behind_.puts; }, [&] { after = behind_.puts; });
  EXPECT_THAT(store_.PutIfAbsent("/a", "", kLater), IsOk());
  EXPECT_EQ(before, -1);
  EXPECT_THAT(store_.PutIfAbsent("/b", "", kLater), IsOk());
  EXPECT_EQ(before, 1);
  EXPECT_EQ(after, 2);
  EXPECT_THAT(store_.PutIfAbsent("/c", "", kLater), IsOk());
  EXPECT_EQ(after, 2) << "it happens once";
}

}  // namespace
}  // namespace lake::testing
