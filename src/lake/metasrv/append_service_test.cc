// Appends that wait for one table: what they share, and what they do not.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/mutex.h"
#include "lake/base/thread.h"
#include "lake/base/thread_annotations.h"
#include "lake/catalog/keyspace.h"
#include "lake/engine/snapshot_reader.h"
#include "lake/metasrv/metasrv.h"
#include "lake/metasrv/metasrv_test_internal.h"
#include "lake/metastore/memory/memory_metastore.h"
#include "lake/objstore/memory/memory_objstore.h"
#include "lake/testing/faulty_metastore.h"
#include "lake/testing/faulty_objstore.h"
#include "lake/testing/recording_metastore.h"
#include "lake/testing/run_together.h"
#include "lake/testing/seeded_random.h"

namespace lake::metasrv {
namespace {

using testing::FaultyMetaStore;
using testing::FaultyObjectStore;
using testing::Gate;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::IsOk;
using Kind = FaultyMetaStore::Fault::Kind;

const catalog::TableName kT{.ns = {{"n"}}, .name = "t"};

class AppendServiceTest : public ::testing::Test {
 protected:
  AppendServiceTest() {
    clock_.SetWall(WallTime(std::chrono::milliseconds(1'790'000'000'000)));
    node_.Win();
    EXPECT_THAT(service().CreateNamespace({.ns = kT.ns}, Call()), IsOk());
    EXPECT_THAT(service().CreateTable({.name = kT, .schema = TestSchema()}, Call()), IsOk());
    table_ = service().LoadTable(kT, Soon()).value();
  }

  Metasrv& service() { return node_.service(); }

  Deadline Soon() const { return clock_.Now() + std::chrono::seconds(60); }

  CallOptions Call() { return Call(Uuid::Random7(clock_, random_)); }

  CallOptions Call(const Uuid& id) {
    return {.operation = id, .retryable = true, .deadline = Soon()};
  }

  // An append with a fresh id, of one file with `rows` rows.
  struct Request {
    AppendRequest append;
    CallOptions call;
  };

  Request Stage(std::int64_t rows) {
    const CallOptions call = Call();
    const std::string path =
        fmt::format("{}/data/{}.parquet", table_.registration.location, call.operation.ToString());
    EXPECT_THAT(objects_.PutIfAbsent(path, "PAR1", Soon()), IsOk());
    return {
        .append = {.name = kT,
                   .incarnation = table_.registration.incarnation,
                   .content = {path},
                   .files = {{.file_path = path, .record_count = rows, .file_size_in_bytes = 4}}},
        .call = call};
  }

  std::vector<Request> StageMany(std::size_t count) {
    std::vector<Request> requests;
    for (std::size_t i = 0; i < count; ++i) {
      requests.push_back(Stage(1));
    }
    return requests;
  }

  // Sends `requests`, each from a thread of its own, while the table is busy with another append of one row, so that all of them wait
  // together. Runs `arrange` when they do, lets them on, and returns the answers.
  std::vector<Result<TableResult>> SendTogether(const std::vector<Request>& requests,
                                                const std::function<void()>& arrange) {
    Gate gate;
    const Request busy = Stage(1);
    faulty_.Inject({.when = FaultyMetaStore::CommitsOf(catalog::PendingKey(busy.call.operation)),
                    .fault = {.kind = Kind::kNone, .before = [&] { gate.Pass(); }}});
    Thread first("busy", [&] { EXPECT_THAT(service().Append(busy.append, busy.call), IsOk()); });
    gate.WaitForArrivals(1);
    std::vector<Result<TableResult>> answers(requests.size(), Unavailable("none yet"));
    std::vector<std::unique_ptr<Thread>> callers;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      // One after another, so that their order is known.
      callers.push_back(std::make_unique<Thread>("caller", [&, i] {
        answers[i] = service().Append(requests[i].append, requests[i].call);
      }));
      clock_.WaitForWaiters(i + 2);
    }
    arrange();
    gate.Open();
    first.Join();
    for (const auto& caller : callers) {
      caller->Join();
    }
    return answers;
  }

  LoadedTable Load() { return service().LoadTable(kT, Soon()).value(); }

  engine::CheckReport Check() {
    return engine::SnapshotReader(objects_, clock_).Check(*Load().metadata, Soon()).value();
  }

  // Expects that the file of every request is in the table, once.
  void ExpectEachFileOnce(const std::vector<Request>& requests) {
    const LoadedTable table = Load();
    const engine::SnapshotReader reader(objects_, clock_);
    std::multiset<std::string> paths;
    const auto manifests =
        reader.ListManifests(*table.metadata, *table.metadata->current_snapshot(), Soon()).value();
    for (const iceberg::ManifestFile& manifest : manifests) {
      const auto entries = reader.ListLiveEntries(*table.metadata, manifest, Soon()).value();
      for (const iceberg::ManifestEntry& entry : entries) {
        paths.insert(entry.data_file.file_path);
      }
    }
    for (const Request& request : requests) {
      EXPECT_EQ(paths.count(request.append.files.front().file_path), 1U);
    }
  }

  testing::ManualClock clock_;
  testing::SeededRandom random_{7};
  metastore::MemoryMetaStore meta_{clock_};
  testing::RecordingMetaStore recorded_{meta_};
  FaultyMetaStore faulty_{recorded_};
  objstore::MemoryObjectStore objects_{clock_};
  FaultyObjectStore faulty_objects_{objects_};
  Node node_{faulty_, faulty_objects_, clock_, random_};
  LoadedTable table_;
};

class WaitingAppends : public AppendServiceTest,
                       public ::testing::WithParamInterface<std::size_t> {};

TEST_P(WaitingAppends, CostTwoRoundTripsAVersionHoweverManyTheyAre) {
  const std::vector<Request> requests = StageMany(GetParam());
  const std::size_t versions = (GetParam() + kAppendGroupMax - 1) / kAppendGroupMax;
  std::size_t commits_before = 0;
  std::atomic<std::size_t> calls = 0;
  const auto answers = SendTogether(requests, [&] {
    commits_before = recorded_.commits().size();
    // Everything is counted that goes to the store, reads too.
    faulty_.Inject({.when = [&](const FaultyMetaStore::Call&) {
      ++calls;
      return false;
    }});
  });
  faulty_.Clear();
  std::set<std::string> locations;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ASSERT_THAT(answers[i], IsOk());
    EXPECT_FALSE(answers[i]->replayed);
    locations.insert(answers[i]->metadata_location);
    const OperationView view = service().FindOperation(requests[i].call.operation, Soon()).value();
    ASSERT_TRUE(view.finished.has_value()) << "each operation has its own record";
    EXPECT_EQ(view.finished->result.metadata_location, answers[i]->metadata_location);
  }
  EXPECT_EQ(locations.size(), versions);
  // The one that kept the table busy was already at the store with its reservation; its publication is still to come.
  EXPECT_EQ(recorded_.commits().size() - commits_before, 2 + 2 * versions);
  EXPECT_EQ(calls, 1 + 2 * versions);
  EXPECT_EQ(Load().registration.version, 2 + versions);
  EXPECT_EQ(Check().rows, 1 + GetParam());
  ExpectEachFileOnce(requests);
}

INSTANTIATE_TEST_SUITE_P(Together, WaitingAppends, ::testing::Values(1, 5, 30, 40),
                         [](const auto& param) { return std::to_string(param.param); });

TEST_F(AppendServiceTest, AVersionNamesEveryOperationThatIsInIt) {
  const std::vector<Request> requests = StageMany(3);
  SendTogether(requests, [] {});
  const LoadedTable table = Load();
  EXPECT_EQ(table.registration.last_operation, requests[0].call.operation);
  const std::string& ids = table.metadata->current_snapshot()->summary.at("lake.operation-ids");
  for (const Request& request : requests) {
    EXPECT_THAT(ids, HasSubstr(request.call.operation.ToString()));
  }
}

// The leader dies between reserve and publish, with all files written or with none of them.
TEST_F(AppendServiceTest, AGroupWhoseLeaderDiesEndsAsOneWhateverIsLeft) {
  for (const bool written : {false, true}) {
    const std::vector<Request> requests = StageMany(5);
    const std::uint64_t rows = Load().metadata->snapshots.empty() ? 0 : Check().rows;
    std::atomic<bool> dead = false;
    const std::string first = catalog::PendingKey(requests[0].call.operation);
    const auto answers = SendTogether(requests, [&] {
      faulty_.Inject({.when = [&](const FaultyMetaStore::Call&) { return dead.load(); },
                      .times = FaultyMetaStore::kAlways,
                      .fault = {.kind = Kind::kLoseRequest}});
      FaultyMetaStore::Fault death{.kind = written ? Kind::kLoseRequest : Kind::kLoseAnswer};
      death.after = [&] { dead = true; };
      faulty_.Inject({.when = FaultyMetaStore::CommitsOf(first),
                      .skip = written ? std::size_t{1} : std::size_t{0},
                      .fault = death});
    });
    for (const auto& answer : answers) {
      EXPECT_THAT(answer, IsError(ErrorCode::kOutcomeUnknown));
    }
    faulty_.Clear();
    EXPECT_EQ(service().GetStatus(Soon())->pending.size(), requests.size()) << "reserved together";

    // A member is settled by its retry, and the others with it.
    Node successor(meta_, objects_, clock_, random_);
    successor.Win();
    ASSERT_THAT(successor.service().Append(requests[3].append, requests[3].call), IsOk());
    EXPECT_THAT(successor.service().GetStatus(Soon())->pending, IsEmpty());
    std::size_t finished = 0;
    for (const Request& request : requests) {
      finished += successor.service().FindOperation(request.call.operation, Soon()).has_value();
    }
    EXPECT_EQ(finished, written ? requests.size() : 1U);
    // Whoever repeats his own finds the same end, or runs it afresh.
    for (const Request& request : requests) {
      const Result<TableResult> again = successor.service().Append(request.append, request.call);
      ASSERT_THAT(again, IsOk());
      EXPECT_EQ(again->replayed, written || request.call.operation == requests[3].call.operation);
    }
    EXPECT_EQ(Check().rows, rows + 1 + requests.size());
    ExpectEachFileOnce(requests);
    node_.Win();
  }
}

TEST_F(AppendServiceTest, ABadMemberFailsAloneBeforeTheReservation) {
  std::vector<Request> requests = StageMany(5);
  requests[2].append.files[0].file_size_in_bytes += 1;
  const auto answers = SendTogether(requests, [] {});
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i == 2) {
      EXPECT_THAT(answers[i], IsError(ErrorCode::kInvalidArgument));
    } else {
      ASSERT_THAT(answers[i], IsOk());
      EXPECT_EQ(answers[i]->metadata_location, answers[0]->metadata_location) << "one version";
    }
  }
  for (const testing::RecordedCommit& commit : recorded_.commits()) {
    for (const metastore::Item& item : commit.transaction.items()) {
      EXPECT_FALSE(item.key == catalog::PendingKey(requests[2].call.operation) &&
                   item.action == metastore::Item::Action::kPut)
          << "it was reserved";
    }
  }
  EXPECT_EQ(Check().rows, 1U + 4U);
}

// What is wrong with a version as a whole, here more rows than fit, may be the fault of nobody alone.
TEST_F(AppendServiceTest, AGroupThatCannotBeOneVersionIsDoneOneByOne) {
  std::vector<Request> requests = StageMany(3);
  constexpr std::int64_t kHalf = std::int64_t{1} << 62;
  requests[1].append.files[0].record_count = kHalf;
  requests[2].append.files[0].record_count = kHalf;
  const auto answers = SendTogether(requests, [] {});
  EXPECT_THAT(answers[0], IsOk());
  EXPECT_THAT(answers[1], IsOk());
  EXPECT_THAT(answers[2], IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(service().GetStatus(Soon())->pending, IsEmpty());
  EXPECT_EQ(Check().rows, 1U + 1U + static_cast<std::uint64_t>(kHalf));
}

TEST_F(AppendServiceTest, TheSameIdTwiceAmongThoseThatWaitIsDoneOnce) {
  std::vector<Request> requests = StageMany(2);
  requests.push_back(requests[0]);
  const auto answers = SendTogether(requests, [] {});
  for (const auto& answer : answers) {
    ASSERT_THAT(answer, IsOk());
  }
  EXPECT_EQ(answers[2]->metadata_location, answers[0]->metadata_location);
  EXPECT_EQ(Check().rows, 1U + 2U);
}

// Somebody else gave the group up and did its first operation alone: that says nothing of the others.
TEST_F(AppendServiceTest, AMemberIsNotAnsweredWithTheEndOfAnother) {
  const std::vector<Request> requests = StageMany(2);
  const auto answers = SendTogether(requests, [&] {
    FaultyMetaStore::Fault meanwhile{.kind = Kind::kNone};
    meanwhile.before = [&] {
      metastore::Transaction other;
      for (const Request& request : requests) {
        other.Delete(catalog::PendingKey(request.call.operation), metastore::Expectation::Any());
      }
      catalog::OperationRecord done{
          .kind = catalog::OperationKind::kAppend,
          .names = {kT.ToString()},
          .incarnations = {requests[0].append.incarnation},
          .digest = RequestDigest({.kind = catalog::OperationKind::kAppend,
                                   .names = {kT.ToString()},
                                   .content = requests[0].append.content})};
      done.result = {.succeeded = true, .metadata_location = "elsewhere"};
      other.Put(catalog::OperationKey(requests[0].call.operation), metastore::Expectation::Absent(),
                catalog::Encode(done));
      ASSERT_THAT(meta_.Commit(other, Soon()), IsOk());
    };
    faulty_.Inject(
        {.when = FaultyMetaStore::CommitsOf(catalog::PendingKey(requests[0].call.operation)),
         .skip = 1,
         .fault = meanwhile});
  });
  ASSERT_THAT(answers[0], IsOk());
  EXPECT_EQ(answers[0]->metadata_location, "elsewhere");
  ASSERT_THAT(answers[1], IsOk());
  EXPECT_NE(answers[1]->metadata_location, "elsewhere");
  EXPECT_EQ(answers[1]->metadata_location, Load().registration.metadata_location);
  EXPECT_EQ(Check().rows, 1U + 1U);
}

// A reservation is refused because one of its members is known; that it cannot be read which one, says of nobody that he failed.
TEST_F(AppendServiceTest, AKnownOperationThatCannotBeReadIsNotCalledFailed) {
  const Request request = Stage(1);
  ASSERT_THAT(service().Append(request.append, request.call), IsOk());
  faulty_.Inject({.when =
                      [&](const FaultyMetaStore::Call& call) {
                        return call.method == FaultyMetaStore::Method::kGetTogether;
                      },
                  .fault = {.kind = Kind::kError}});
  EXPECT_THAT(service().Append(request.append, request.call), IsError(ErrorCode::kOutcomeUnknown));
  EXPECT_TRUE(service().Append(request.append, request.call)->replayed);
}

TEST_F(AppendServiceTest, ThirtyTwoAppendersNeverConflictAndEveryRowIsThereOnce) {
  constexpr std::size_t kAppenders = 32;
  constexpr std::size_t kAppendsEach = 10;
  const std::vector<Request> requests = StageMany(kAppenders * kAppendsEach);
  testing::RunTogether(kAppenders, [&](std::size_t appender) {
    for (std::size_t i = 0; i < kAppendsEach; ++i) {
      const Request& request = requests[appender * kAppendsEach + i];
      EXPECT_THAT(service().Append(request.append, request.call), IsOk());
    }
  });
  for (const testing::RecordedCommit& commit : recorded_.commits()) {
    ASSERT_TRUE(commit.answer.has_value());
    EXPECT_TRUE(std::holds_alternative<metastore::Committed>(*commit.answer)) << "a conflict";
  }
  EXPECT_EQ(Check().rows, kAppenders * kAppendsEach);
  ExpectEachFileOnce(requests);
  EXPECT_LE(Load().registration.version, 1 + requests.size());
}

}  // namespace
}  // namespace lake::metasrv
