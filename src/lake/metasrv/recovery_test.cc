// Recovery, enumerated. A change is brought to harm at its first call of a store, then at its second, and so on until it runs through;
// every time in each way in which harm can come (Harms), and each time with every way to go on (Sequel). The same is done to a repeated
// change and to a new leader while they settle what was left half done (Act). Whatever happens:
//
//   I5  the operation, repeated with its id, ends with exactly one effect, and answers the same for ever after;
//   I6  what was reported as failed is not visible, neither then nor later;
//   I4  every table is whole, and nothing stays pending.
//
// At its end the program says how much that was, and fails if a store, an intent or a kind of harm was left out.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/log.h"
#include "lake/metasrv/metasrv.h"
#include "lake/metasrv/recovery_world_test_internal.h"
#include "lake/testing/matchers.h"

namespace lake::metasrv {
namespace {

using ::testing::AnyOf;
using testing::FaultyMetaStore;
using testing::FaultyObjectStore;
using testing::IsOk;

// --- Harm.

// Of what the n-th one is struck.
enum class Site {
  kCall,
  kCommit,
  kRequest
};  // Calls and commits of the MetaStore, requests of the object store.

// What becomes of the leader.
enum class Fate {
  kLives,
  kDies,
  kIsOvertaken,  // A successor takes over meanwhile and makes another change.
  kIsOutdone,  // A successor takes over meanwhile and does the very same operation, which its client repeats.
};

struct Harm {
  std::string_view name;
  Site site;
  Fate fate;
  // Makes it happen at the `n`-th, counted from 1; `struck` must be called when it does.
  std::function<void(World& world, std::size_t n, std::function<void()> struck)> arrange;
  // Whether commits that are late arrive as soon as the leader has answered. Otherwise they arrive when all is over.
  bool late_comes_next = false;
};

Harm ComingNext(std::string_view name, Harm harm) {
  harm.name = name;
  harm.late_comes_next = true;
  return harm;
}

FaultyMetaStore::Predicate CallsAt(Site site) {
  return site == Site::kCommit ? FaultyMetaStore::Commits : FaultyMetaStore::AnyCall;
}

Harm InMetaStore(std::string_view name, Site site, Fate fate, FaultyMetaStore::Fault::Kind kind) {
  return {name, site, fate, [=](World& world, std::size_t n, const std::function<void()>& struck) {
            const auto after = [&world, fate, struck] {
              struck();
              if (fate == Fate::kDies) {
                world.KillLeader();
              }
            };
            world.meta().Inject(
                {.when = CallsAt(site), .skip = n - 1, .fault = {.kind = kind, .after = after}});
          }};
}

Harm InObjectStore(std::string_view name, Fate fate, FaultyObjectStore::Fault fault) {
  return {name, Site::kRequest, fate,
          [=](World& world, std::size_t n, const std::function<void()>& struck) {
            const std::size_t number = world.objects().requests().size() + n;
            world.objects().SetRule([=, &world](const FaultyObjectStore::Request& request) {
              if (world.leader_is_dead()) {
                return FaultyObjectStore::Fault::kRefuse;
              }
              if (request.number != number) {
                return FaultyObjectStore::Fault::kNone;
              }
              struck();
              if (fate == Fate::kDies) {
                world.KillLeader();
              }
              return fault;
            });
          }};
}

// The leader stands still at this point for as long as a successor needs.
Harm Pause(std::string_view name, Site site, Fate fate, bool before) {
  return {name, site, fate, [=](World& world, std::size_t n, const std::function<void()>& struck) {
            const auto meanwhile = [&world, fate, struck] {
              struck();
              world.successor().Win();
              if (fate == Fate::kIsOutdone) {
                EXPECT_THAT(world.Perform(world.successor()), IsOk());
              } else {
                world.Disturb(world.successor());
              }
            };
            const std::function<void()> nothing;
            if (site == Site::kRequest) {
              world.objects().InterruptNth(n, before ? meanwhile : nothing,
                                           before ? nothing : meanwhile);
              return;
            }
            FaultyMetaStore::Fault pause{.kind = FaultyMetaStore::Fault::Kind::kNone};
            (before ? pause.before : pause.after) = meanwhile;
            world.meta().Inject({.when = CallsAt(site), .skip = n - 1, .fault = pause});
          }};
}

// The first commit is late, and from the n-th request on the object store fails, the n-th one after it was done. Whatever the leader
// makes of that, the late commit comes when it has answered.
Harm LateCommitAndFailingRequests(std::string_view name) {
  return {name, Site::kRequest, Fate::kLives,
          [](World& world, std::size_t n, const std::function<void()>& struck) {
            world.meta().Inject({.when = FaultyMetaStore::Commits,
                                 .fault = {.kind = FaultyMetaStore::Fault::Kind::kDelay}});
            const std::size_t number = world.objects().requests().size() + n;
            world.objects().SetRule([=](const FaultyObjectStore::Request& request) {
              if (request.number < number) {
                return FaultyObjectStore::Fault::kNone;
              }
              struck();
              return request.number == number ? FaultyObjectStore::Fault::kLoseAnswer
                                              : FaultyObjectStore::Fault::kRefuse;
            });
          },
          true};
}

const std::vector<Harm>& Harms() {
  using Kind = FaultyMetaStore::Fault::Kind;
  using Fault = FaultyObjectStore::Fault;
  static const std::vector<Harm> harms = {
      InMetaStore("call fails", Site::kCall, Fate::kLives, Kind::kError),
      InMetaStore("call is lost", Site::kCall, Fate::kLives, Kind::kLoseRequest),
      InMetaStore("answer of a call is lost", Site::kCall, Fate::kLives, Kind::kLoseAnswer),
      InMetaStore("commit is late", Site::kCommit, Fate::kLives, Kind::kDelay),
      ComingNext("commit is a little late",
                 InMetaStore("", Site::kCommit, Fate::kLives, Kind::kDelay)),
      InMetaStore("dies before a call", Site::kCall, Fate::kDies, Kind::kLoseRequest),
      InMetaStore("dies after a call", Site::kCall, Fate::kDies, Kind::kLoseAnswer),
      Pause("is overtaken before a call", Site::kCall, Fate::kIsOvertaken, true),
      Pause("is overtaken after a call", Site::kCall, Fate::kIsOvertaken, false),
      Pause("is outdone before a call", Site::kCall, Fate::kIsOutdone, true),
      Pause("is outdone after a call", Site::kCall, Fate::kIsOutdone, false),
      InObjectStore("request fails", Fate::kLives, Fault::kRefuse),
      InObjectStore("request is lost", Fate::kLives, Fault::kLoseRequest),
      InObjectStore("answer of a request is lost", Fate::kLives, Fault::kLoseAnswer),
      InObjectStore("dies before a request", Fate::kDies, Fault::kLoseRequest),
      InObjectStore("dies after a request", Fate::kDies, Fault::kLoseAnswer),
      LateCommitAndFailingRequests("commit is late and requests fail"),
      Pause("is overtaken before a request", Site::kRequest, Fate::kIsOvertaken, true),
      Pause("is overtaken after a request", Site::kRequest, Fate::kIsOvertaken, false),
      Pause("is outdone before a request", Site::kRequest, Fate::kIsOutdone, true),
      Pause("is outdone after a request", Site::kRequest, Fate::kIsOutdone, false),
  };
  return harms;
}

// --- What the leader is at when it comes to harm.

// Where an earlier leader stopped for good.
enum class Leftover { kNone, kReservation, kFiles };

struct Act {
  std::string_view name;
  Leftover leftover = Leftover::kNone;
  bool recovers = false;  // The leader settles by itself; otherwise it carries the operation out.
};

constexpr Act kFirstAttempt{.name = "first attempt"};
constexpr Act kRepeatsReserved{.name = "repeats what was reserved",
                               .leftover = Leftover::kReservation};
constexpr Act kRecoversReserved{
    .name = "recovers what was reserved", .leftover = Leftover::kReservation, .recovers = true};
constexpr Act kRepeatsWritten{.name = "repeats what was written", .leftover = Leftover::kFiles};
constexpr Act kRecoversWritten{
    .name = "recovers what was written", .leftover = Leftover::kFiles, .recovers = true};

// An earlier leader is stopped right after its reservation, or after the files are written, and the leader wins the next term.
void LeaveHalfDone(World& world, Leftover leftover) {
  FaultyMetaStore dying_meta(world.raw_meta());
  FaultyObjectStore dying_objects(world.raw_objects());
  Node earlier(dying_meta, dying_objects, world.clock(), world.random());
  earlier.Win();
  if (leftover == Leftover::kReservation) {
    dying_objects.SetRule([](const FaultyObjectStore::Request& request) {
      return request.operation == FaultyObjectStore::Operation::kPut
                 ? FaultyObjectStore::Fault::kRefuse
                 : FaultyObjectStore::Fault::kNone;
    });
  }
  dying_meta.Inject({.when = FaultyMetaStore::Commits,
                     .skip = 1,
                     .times = FaultyMetaStore::kAlways,
                     .fault = {.kind = FaultyMetaStore::Fault::Kind::kLoseRequest}});
  ASSERT_THAT(world.Perform(earlier), testing::IsError(ErrorCode::kOutcomeUnknown));
  ASSERT_EQ(world.PendingCount(), 1U);
  world.leader().Win();
}

// --- How the story goes on.

enum class Sequel {
  kSameLeaderRepeats,
  kSuccessorRepeats,
  // Somebody else changes the table through the successor, which settles by itself; then the operation is repeated.
  kSuccessorSettlesFirst,
  // The successor recovers before anything is asked of it; then the operation is repeated.
  kSuccessorRecovers,
};

// After a first attempt everything is tried; after settling, only what differs for what was settled.
std::vector<Sequel> SequelsOf(Fate fate, const Act& act) {
  using enum Sequel;
  const bool first = act.leftover == Leftover::kNone;
  switch (fate) {
    case Fate::kLives:
      return first ? std::vector{kSameLeaderRepeats, kSuccessorRepeats, kSuccessorSettlesFirst,
                                 kSuccessorRecovers}
                   : std::vector{kSameLeaderRepeats, kSuccessorRecovers};
    case Fate::kDies:
      return first ? std::vector{kSuccessorRepeats, kSuccessorSettlesFirst, kSuccessorRecovers}
                   : std::vector{kSuccessorRecovers};
    case Fate::kIsOvertaken:
    case Fate::kIsOutdone:
      return {kSuccessorRepeats};
  }
  return {};
}

// What everybody sees when nothing fails: without and with the operation, without and with the other change.
class Reference {
 public:
  static const Reference& Of(const Intent& intent) {
    static std::map<std::string_view, Reference> references;
    return references.try_emplace(intent.name, intent).first->second;
  }

  explicit Reference(const Intent& intent) {
    for (const bool done : {false, true}) {
      for (const bool other : {false, true}) {
        World world(Stores().front(), intent);
        if (done) {
          EXPECT_THAT(world.Perform(world.leader()), IsOk());
        }
        if (other) {
          world.Disturb(world.leader());
        }
        state_[done ? 1 : 0][other ? 1 : 0] = world.State();
      }
    }
    EXPECT_NE(without(false), with(false));
    EXPECT_NE(without(true), with(true));
  }

  const std::string& without(bool other) const { return state_[0][other ? 1 : 0]; }

  const std::string& with(bool other) const { return state_[1][other ? 1 : 0]; }

 private:
  std::string state_[2][2];
};

// --- The tally.

struct Tally {
  std::set<std::tuple<std::string_view, std::string_view, Site, std::size_t>> points;
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> runs;
  std::set<std::string_view> faults;
  std::set<std::string_view> stores;
  std::size_t stories = 0;

  static Tally& Get() {
    static Tally tally;
    return tally;
  }
};

// Says at the end of the program how much was tried. When no test was left out, nothing of the matrix may be missing.
class TallyPrinter final : public ::testing::Environment {
 public:
  void TearDown() override {
    const Tally& tally = Tally::Get();
    if (tally.stories == 0) {
      return;
    }
    fmt::print("recovery matrix: points={} faults={} stores={} stories={}\n", tally.points.size(),
               tally.faults.size(), tally.stores.size(), tally.stories);
    const ::testing::UnitTest& program = *::testing::UnitTest::GetInstance();
    if (program.test_to_run_count() < program.total_test_count()) {
      return;
    }
    for (const StoreKind& store : Stores()) {
      for (const Intent& intent : Intents()) {
        for (const Harm& harm : Harms()) {
          const bool possible = harm.site != Site::kRequest || intent.uses_files;
          EXPECT_EQ(tally.runs.contains({store.name, intent.name, harm.name}), possible)
              << store.name << ", " << intent.name << ", " << harm.name;
        }
      }
    }
  }
};

const ::testing::Environment* const kPrinter =
    ::testing::AddGlobalTestEnvironment(std::make_unique<TallyPrinter>().release());

// --- The stories.

class Recovery : public ::testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {
 protected:
  // What cannot be settled at once is no news here.
  static void SetUpTestSuite() { SetLogLevel(LogLevel::kError); }

  static void TearDownTestSuite() { SetLogLevel(LogLevel::kWarning); }

  const StoreKind& store() const { return Stores()[std::get<0>(GetParam())]; }

  const Intent& intent() const { return Intents()[std::get<1>(GetParam())]; }

  // Runs every story in which a leader at `act` comes to harm in one of the ways that `wanted` accepts.
  void Enumerate(const Act& act, const std::function<bool(const Harm&)>& wanted) {
    for (const Harm& harm : Harms()) {
      if (!wanted(harm) || (harm.site == Site::kRequest && !intent().uses_files)) {
        continue;
      }
      for (const Sequel sequel : SequelsOf(harm.fate, act)) {
        EnumeratePoints(act, harm, sequel);
        ASSERT_FALSE(HasFailure());
      }
    }
  }

 private:
  // Runs the story with harm at the first point, at the second, and so on until there is no such point.
  void EnumeratePoints(const Act& act, const Harm& harm, Sequel sequel) {
    for (std::size_t n = 1; !HasFailure(); ++n) {
      SCOPED_TRACE(fmt::format("{}, {}, {} {} no. {}, sequel {}", store().name, intent().name,
                               act.name, harm.name, n, static_cast<int>(sequel)));
      ASSERT_LT(n, 200U) << "it never ends";
      if (!Tell(act, harm, n, sequel)) {
        EXPECT_GT(n, 1U) << "there was no point to come to harm at";
        return;
      }
      Tally& tally = Tally::Get();
      tally.points.insert({intent().name, act.name, harm.site, n});
      tally.runs.insert({store().name, intent().name, harm.name});
      tally.faults.insert(harm.name);
      tally.stores.insert(store().name);
      ++tally.stories;
    }
  }

  // Tells one story. False: its point was not reached, and nothing came to harm.
  bool Tell(const Act& act, const Harm& harm, std::size_t n, Sequel sequel) {
    World world(store(), intent());
    if (act.leftover != Leftover::kNone) {
      LeaveHalfDone(world, act.leftover);
    }
    std::atomic<bool> struck = false;
    harm.arrange(world, n, [&struck] { struck = true; });
    Result<TableResult> first = OutcomeUnknown("nobody was told anything");
    if (act.recovers) {
      IgnoreError(world.leader().service().Recover(world.Soon()), "it may be brought to harm");
    } else {
      first = world.Perform(world.leader());
    }
    if (!struck) {
      return false;
    }
    if (harm.fate == Fate::kDies) {
      first = OutcomeUnknown("the dead do not answer");
    }
    world.StopHarm();
    if (harm.late_comes_next) {
      world.meta().DeliverDelayed(world.Soon());
    }
    FollowUp(world, act, harm, first, sequel);
    return true;
  }

  // Follows a first attempt that answered `first` to its end.
  void FollowUp(World& world, const Act& act, const Harm& harm, const Result<TableResult>& first,
                Sequel sequel) {
    const Reference& reference = Reference::Of(intent());
    const bool overtaken = harm.fate == Fate::kIsOvertaken;
    const bool outdone = harm.fate == Fate::kIsOutdone;
    bool other = overtaken;
    if (sequel != Sequel::kSameLeaderRepeats && !overtaken && !outdone) {
      world.successor().Win();
    }
    if (sequel == Sequel::kSuccessorSettlesFirst) {
      world.Disturb(world.successor());
      other = true;
    }
    if (sequel == Sequel::kSuccessorRecovers) {
      EXPECT_THAT(world.successor().service().Recover(world.Soon()), IsOk());
      EXPECT_EQ(world.PendingCount(), 0U);
    }
    if (first.has_value() || outdone) {
      EXPECT_EQ(world.State(), reference.with(other)) << "it was acknowledged";
    } else if (first.error().code() != ErrorCode::kOutcomeUnknown &&
               act.leftover == Leftover::kNone) {
      EXPECT_EQ(world.State(), reference.without(other))
          << "it was reported as failed: " << first.error().message();
    } else {
      EXPECT_THAT(world.State(), AnyOf(reference.without(other), reference.with(other)));
    }
    if (!first.has_value()) {
      EXPECT_FALSE(Operations::IsFinal(first.error().code())) << first.error().message();
    }

    Node& node = sequel == Sequel::kSameLeaderRepeats ? world.leader() : world.successor();
    const Result<TableResult> result = world.Perform(node);
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(world.State(), reference.with(other));
    if (first.has_value()) {
      ExpectSameAnswer(*first, *result);
    }
    const Result<TableResult> again = world.Perform(node);
    ASSERT_THAT(again, IsOk());
    ExpectSameAnswer(*result, *again);
    // What is still on its way arrives when all is over.
    for (const auto& late : world.meta().DeliverDelayed(world.Soon())) {
      EXPECT_FALSE(intent().repeats_id && late.has_value() &&
                   std::holds_alternative<metastore::Committed>(*late));
    }
    if (!intent().repeats_id) {
      // A reservation of an attempt that was given up is nobody's any more; whoever finds it aborts it.
      node.Win();
      EXPECT_THAT(node.service().Recover(world.Soon()), IsOk());
    }
    EXPECT_EQ(world.State(), reference.with(other));
    world.CheckTables();
    world.CheckPurged();
    EXPECT_EQ(world.PendingCount(), 0U);
  }

  void ExpectSameAnswer(const TableResult& first, const TableResult& second) const {
    if (!intent().repeats_id) {
      return;
    }
    EXPECT_TRUE(second.replayed);
    EXPECT_EQ(second.incarnation, first.incarnation);
    EXPECT_EQ(second.metadata_location, first.metadata_location);
    EXPECT_EQ(second.snapshot_id, first.snapshot_id);
    EXPECT_EQ(second.epoch, first.epoch);
  }
};

bool AtMetaStore(const Harm& harm) {
  return harm.site != Site::kRequest;
}

TEST_P(Recovery, EndsWithOneEffectWhicheverCallOfTheMetastoreFails) {
  Enumerate(kFirstAttempt,
            [](const Harm& harm) { return harm.fate == Fate::kLives && AtMetaStore(harm); });
}

TEST_P(Recovery, EndsWithOneEffectWhicheverRequestOfTheObjectStoreFails) {
  Enumerate(kFirstAttempt,
            [](const Harm& harm) { return harm.fate == Fate::kLives && !AtMetaStore(harm); });
}

TEST_P(Recovery, EndsWithOneEffectWhereverTheProcessDies) {
  Enumerate(kFirstAttempt, [](const Harm& harm) { return harm.fate == Fate::kDies; });
}

TEST_P(Recovery, EndsWithOneEffectWheneverASuccessorTakesOver) {
  Enumerate(kFirstAttempt, [](const Harm& harm) {
    return harm.fate == Fate::kIsOvertaken || harm.fate == Fate::kIsOutdone;
  });
}

TEST_P(Recovery, EndsWithOneEffectHoweverSettlingIsInterrupted) {
  if (!intent().reserves) {
    return;
  }
  for (const Act& act : {kRepeatsReserved, kRepeatsWritten, kRecoversReserved, kRecoversWritten}) {
    Enumerate(act, [](const Harm& /*harm*/) { return true; });
  }
}

std::string ParamName(const ::testing::TestParamInfo<std::tuple<std::size_t, std::size_t>>& param) {
  std::string name = fmt::format("{} {}", Stores()[std::get<0>(param.param)].name,
                                 Intents()[std::get<1>(param.param)].name);
  std::ranges::replace(name, ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Every, Recovery,
                         ::testing::Combine(::testing::Range(std::size_t{0}, Stores().size()),
                                            ::testing::Range(std::size_t{0}, Intents().size())),
                         ParamName);

}  // namespace
}  // namespace lake::metasrv
