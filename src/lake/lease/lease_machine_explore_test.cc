// Explores histories of several machines over one store: every request may be answered, fail, lose
// its answer, or be applied long after; every process may stand still; reads may be torn. Time is the
// same for all, so authorities must not overlap at all, which is more than the fence needs.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/lease/lease_machine.h"
#include "lake/lease/lease_test_fixtures.h"
#include "lake/lease/records.h"
#include "lake/testing/seeded_random.h"

namespace lake::lease {
namespace {

using std::chrono::seconds;

constexpr Duration kUnit = seconds(1);

LeaseConfig SmallConfig() {
  return {.ttl = seconds(4),
          .heartbeat = seconds(1),
          .attempt = seconds(1),
          .margin = seconds(1),
          .poll = seconds(1)};
}

// One process: its machine, the request that is out, and the authority as its slot would have it.
struct Process {
  LeaseMachine machine;
  std::vector<LeaseEffect> effects;
  std::optional<std::string> torn_term;  // The first half of a read that is under way.
  bool half_read = false;
  std::optional<metastore::CommitResult> applied;  // A commit's answer that is under way.
  std::optional<Authority> authority;
  Epoch dropped;
  bool releasing = false;

  template <typename T>
  bool Wants() const {
    return !effects.empty() && std::holds_alternative<T>(effects.back());
  }
};

// What may happen next.
struct Choice {
  enum class Kind {
    kTick,         // A machine looks at the clock.
    kReadTerm,     // The first half of its read.
    kReadRest,     // The second half, and the answer.
    kFailRead,     //
    kCommit,       // Applied and answered.
    kApply,        // Applied; the answer is under way.
    kAnswer,       // It arrives.
    kLoseAnswer,   // Applied, not answered.
    kLoseRequest,  // Neither; the machine does not know.
    kRefuse,       // Not applied, and the machine knows.
    kDelay,        // Not answered; kLand applies it later.
    kLand,         //
    kVanish,       // A delayed request never arrives.
    kRelease,
    kAdvance,  // Time passes.
  };

  Kind kind;
  std::size_t index = 0;  // Of the process, or of the delayed request.

  bool IsOfNoProcess() const {
    return kind == Kind::kLand || kind == Kind::kVanish || kind == Kind::kAdvance;
  }
};

class World {
 public:
  explicit World(std::size_t processes) {
    for (std::size_t i = 0; i < processes; ++i) {
      processes_.push_back(Process{
          .machine = LeaseMachine(SmallConfig(), TestIdentity(static_cast<std::uint8_t>(i + 1)),
                                  Rivals::kPossible)});
      Handle(processes_[i], StartRequested{});
    }
    Check();
  }

  // The choices of a process, the undisturbed one first.
  std::vector<Choice> ChoicesOf(std::size_t index) const {
    using enum Choice::Kind;
    const Process& process = processes_[index];
    if (process.Wants<ReadLease>()) {
      return {{process.half_read ? kReadRest : kReadTerm, index}, {kFailRead, index}};
    }
    if (process.applied.has_value()) {
      return {{kAnswer, index}};
    }
    if (process.Wants<CommitLease>()) {
      return {{kCommit, index}, {kLoseAnswer, index}, {kLoseRequest, index},
              {kRefuse, index}, {kDelay, index},      {kApply, index}};
    }
    std::vector<Choice> choices;
    const auto wake = EffectOf<WakeAt>(process.effects);
    if (wake.has_value() && wake->when <= now_) {
      choices.push_back({kTick, index});
    }
    if (wake.has_value() && !process.releasing) {
      choices.push_back({kRelease, index});
    }
    return choices;
  }

  std::vector<Choice> AllChoices() const {
    using enum Choice::Kind;
    std::vector<Choice> choices{{kAdvance, 0}};
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const std::vector<Choice> of_process = ChoicesOf(i);
      choices.insert(choices.end(), of_process.begin(), of_process.end());
    }
    for (std::size_t i = 0; i < delayed_.size(); ++i) {
      choices.push_back({kLand, i});
      choices.push_back({kVanish, i});
    }
    return choices;
  }

  void Apply(const Choice& choice) {
    using enum Choice::Kind;
    const std::unexpected<Error> unknown(Error(ErrorCode::kOutcomeUnknown, "test"));
    const std::unexpected<Error> unavailable(Error(ErrorCode::kUnavailable, "test"));
    if (choice.kind == kAdvance) {
      now_ += kUnit;
    } else if (choice.IsOfNoProcess()) {
      if (choice.kind == kLand) {
        Store(delayed_[choice.index]);
      }
      delayed_.erase(delayed_.begin() + static_cast<std::ptrdiff_t>(choice.index));
    } else {
      Process& process = processes_[choice.index];
      switch (choice.kind) {
        case kTick:
          Handle(process, TimePassed{});
          break;
        case kReadTerm:
          process.torn_term = store_.Get(kTermKey);
          process.half_read = true;
          break;
        case kReadRest:
          process.half_read = false;
          Handle(process, LeaseRead{LeaseBytes{.term = process.torn_term,
                                               .heartbeat = store_.Get(kHeartbeatKey)}});
          break;
        case kFailRead:
          process.half_read = false;
          Handle(process, LeaseRead{unavailable});
          break;
        case kCommit:
          Handle(process, LeaseCommitted{Store(Out(process))});
          break;
        case kApply:
          process.applied = Store(Out(process));
          break;
        case kAnswer:
          Handle(process, LeaseCommitted{*std::exchange(process.applied, std::nullopt)});
          break;
        case kLoseAnswer:
          std::ignore = Store(Out(process));
          Handle(process, LeaseCommitted{unknown});
          break;
        case kLoseRequest:
          Handle(process, LeaseCommitted{unknown});
          break;
        case kRefuse:
          Handle(process, LeaseCommitted{unavailable});
          break;
        case kDelay:
          delayed_.push_back(Out(process));
          Handle(process, LeaseCommitted{unknown});
          break;
        case kRelease:
          process.releasing = true;
          Handle(process, ReleaseRequested{});
          break;
        case kAdvance:
        case kLand:
        case kVanish:
          break;
      }
    }
    Check();
  }

  Instant now() const { return now_; }

  std::size_t size() const { return processes_.size(); }

  bool SomebodyLeads() const {
    return std::ranges::any_of(processes_, [this](const Process& p) { return Holds(p); });
  }

  std::size_t terms() const { return held_.size(); }

 private:
  static metastore::Transaction Out(const Process& process) {
    return EffectOf<CommitLease>(process.effects)->transaction;
  }

  metastore::CommitResult Store(const metastore::Transaction& transaction) {
    const std::optional<std::string> before = store_.Get(kTermKey);
    const metastore::CommitResult result = store_.Commit(transaction);
    const std::optional<std::string> after = store_.Get(kTermKey);
    if (after != before) {
      // I1: epochs only grow, one session per epoch; and no bytes of a term ever return.
      EXPECT_TRUE(terms_.insert(*after).second) << "a term returned: " << *after;
      const Result<TermRecord> term = DecodeTerm(*after);
      EXPECT_TRUE(term.has_value());
      if (term->state == TermRecord::State::kHeld) {
        EXPECT_EQ(term->epoch, Epoch(last_epoch_.value() + 1));
        last_epoch_ = term->epoch;
        held_.push_back(*after);
      } else {
        EXPECT_EQ(term->epoch, last_epoch_);
      }
    }
    return result;
  }

  void Handle(Process& process, const LeaseEvent& event) {
    process.effects = process.machine.Handle(now_, event);
    if (const auto drop = EffectOf<DropAuthority>(process.effects); drop.has_value()) {
      process.authority.reset();
      process.dropped = drop->epoch;
    }
    if (const auto publish = EffectOf<PublishAuthority>(process.effects); publish.has_value()) {
      const LeaseGuard& guard = publish->authority.guard;
      EXPECT_GT(guard.epoch(), process.dropped) << "what is lost stays lost";
      EXPECT_EQ(guard.term_bytes(), held_.at(guard.epoch().value() - 1))
          << "a guard is the stored bytes of its epoch";
      if (process.authority.has_value() && process.authority->guard.epoch() == guard.epoch()) {
        EXPECT_EQ(process.authority->guard, guard);
        EXPECT_GE(publish->authority.deadline, process.authority->deadline);
      }
      process.authority = publish->authority;
    }
  }

  bool Holds(const Process& process) const {
    return process.authority.has_value() && now_ < process.authority->deadline;
  }

  void Check() const {
    std::size_t leaders = 0;
    for (const Process& process : processes_) {
      if (Holds(process)) {
        ++leaders;
        // I2 for free: what the fence would say agrees with what the clock says.
        EXPECT_EQ(process.authority->guard.term_bytes(), store_.Get(kTermKey));
      }
    }
    EXPECT_LE(leaders, 1U);
  }

  Instant now_{std::chrono::hours(1)};
  StoredKeys store_;
  std::vector<Process> processes_;
  std::vector<metastore::Transaction> delayed_;
  std::set<std::string> terms_;
  std::vector<std::string> held_;  // By epoch, from 1.
  Epoch last_epoch_;
};

// Everybody is prompt and everything works, but for at most `disturbances` choices: runs every such
// history up to `end`, and calls `at_end` with the world it leads to.
class Enumeration {
 public:
  Enumeration(Instant end, std::function<void(World)> at_end)
      : end_(end), at_end_(std::move(at_end)) {}

  void Run(World world, int disturbances) {
    while (world.now() < end_ && !::testing::Test::HasFailure()) {
      std::optional<Choice> usual;
      for (std::size_t i = 0; i < world.size() && !usual.has_value(); ++i) {
        const std::vector<Choice> choices = world.ChoicesOf(i);
        if (!choices.empty() && choices[0].kind != Choice::Kind::kRelease) {
          usual = choices[0];
        }
      }
      const Choice next = usual.value_or(Choice{.kind = Choice::Kind::kAdvance});
      if (disturbances > 0) {
        for (const Choice& other : world.AllChoices()) {
          if (other.kind == next.kind && other.index == next.index) {
            continue;
          }
          World disturbed = world;
          disturbed.Apply(other);
          Run(std::move(disturbed), disturbances - 1);
        }
      }
      world.Apply(next);
    }
    at_end_(std::move(world));
  }

 private:
  const Instant end_;
  const std::function<void(World)> at_end_;
};

TEST(LeaseMachineHistories, KeepTheInvariantsWhateverTwoThingsGoWrongAnywhere) {
  const World start(2);
  std::size_t histories = 0;
  std::size_t taken_over = 0;
  Enumeration all(start.now() + 6 * kUnit, [&](const World& world) {
    ++histories;
    taken_over += world.terms() > 1 ? 1 : 0;
  });
  all.Run(start, 2);
  EXPECT_GT(histories, 1'000U);
  EXPECT_GT(taken_over, 10U) << "the histories are long enough to be interesting";
}

TEST(LeaseMachineHistories, EndWithALeaderOnceNothingGoesWrongAnyMore) {
  const World start(2);
  Enumeration all(start.now() + 5 * kUnit, [&](World world) {
    // Two ttls without disturbance are enough, whatever happened before: unless everybody rests.
    const Instant end = world.now() + 10 * kUnit;
    bool anybody = false;
    Enumeration calm(end, [&](const World& later) {
      for (std::size_t i = 0; i < later.size(); ++i) {
        anybody = anybody || !later.ChoicesOf(i).empty();
      }
      EXPECT_TRUE(later.SomebodyLeads() || !anybody);
    });
    calm.Run(std::move(world), 0);
  });
  all.Run(start, 1);
}

TEST(LeaseMachineHistories, KeepTheInvariantsInLongRandomOnes) {
  std::size_t most_terms = 0;
  for (std::uint64_t seed = 0; seed < 250 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::SeededRandom random(seed);
    World world(2 + seed % 2);
    // One process may stand still for a while, with a request out or not.
    std::optional<std::size_t> still;
    for (int step = 0; step < 300 && !HasFailure(); ++step) {
      if (random.Below(40) == 0) {
        still = random.Below(3) == 0 ? std::nullopt
                                     : std::optional<std::size_t>(random.Below(world.size()));
      }
      const std::vector<Choice> choices = world.AllChoices();
      const Choice choice = choices[random.Below(choices.size())];
      const bool rare = choice.kind == Choice::Kind::kRelease && random.Below(50) != 0;
      if (!rare && (choice.IsOfNoProcess() || choice.index != still)) {
        world.Apply(choice);
      }
    }
    most_terms = std::max(most_terms, world.terms());
  }
  EXPECT_GT(most_terms, 3U);
}

}  // namespace
}  // namespace lake::lease
