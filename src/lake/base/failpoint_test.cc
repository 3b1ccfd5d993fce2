#include "lake/base/failpoint.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "lake/base/check.h"

namespace lake {
namespace {

// The configuration is read once per process, so each test reads it in a child, and nothing here
// may read it in the parent. The child exits with 0 when `body` returned true, else with 1.
pid_t StartChild(const char* failpoints, const std::function<bool()>& body) {
  const pid_t child = fork();
  LAKE_CHECK(child >= 0, "a process can be forked");
  if (child == 0) {
    if (failpoints == nullptr) {
      unsetenv("LAKE_FAILPOINTS");
    } else {
      setenv("LAKE_FAILPOINTS", failpoints, 1);
    }
    _exit(body() ? 0 : 1);
  }
  return child;
}

int ExitStatus(pid_t child) {
  int status = 0;
  LAKE_CHECK(waitpid(child, &status, 0) == child, "a child can be waited for");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int InChild(const char* failpoints, const std::function<bool()>& body) {
  return ExitStatus(StartChild(failpoints, body));
}

bool Refused(const char* failpoints, const std::string& piece) {
  return InChild(failpoints, [&] {
           const Status status = CheckFailpointConfig();
           return !status.has_value() && status.error().code() == ErrorCode::kInvalidArgument &&
                  status.error().message().find("'" + piece + "'") != std::string::npos;
         }) == 0;
}

TEST(Failpoint, DoesNothingWithoutTheVariable) {
  for (const char* value : {static_cast<const char*>(nullptr), ""}) {
    EXPECT_EQ(InChild(value,
                      [] {
                        return Failpoint("before-publish").has_value() && !FailpointsActive() &&
                               CheckFailpointConfig().has_value();
                      }),
              0);
  }
}

TEST(Failpoint, NamesAreSorted) {
  const std::vector<std::string> names = FailpointNames();
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_THAT(names, ::testing::Contains("after-engine-commit"));
}

TEST(Failpoint, EveryNameCanBeSetAndReached) {
  for (const std::string& name : FailpointNames()) {
    EXPECT_EQ(InChild((name + "=error").c_str(),
                      [&] {
                        const Status status = Failpoint(name);
                        return !status.has_value() &&
                               status.error().code() == ErrorCode::kUnavailable;
                      }),
              0)
        << name;
  }
}

TEST(Failpoint, ErrorWithoutANumberFailsEveryTime) {
  EXPECT_EQ(InChild("before-publish=error",
                    [] {
                      return !Failpoint("before-publish").has_value() &&
                             !Failpoint("before-publish").has_value() &&
                             Failpoint("after-publish").has_value() && FailpointsActive();
                    }),
            0);
}

TEST(Failpoint, ErrorWithANumberFailsThatTimeOnly) {
  EXPECT_EQ(InChild("before-publish=error@3",
                    [] {
                      std::string trace;
                      for (int i = 0; i < 5; ++i) {
                        trace += Failpoint("before-publish").has_value() ? '.' : 'x';
                      }
                      return trace == "..x..";
                    }),
            0);
}

TEST(Failpoint, ExitEndsTheProcessWithItsOwnStatus) {
  EXPECT_EQ(InChild("after-engine-commit=exit",
                    [] {
                      IgnoreError(Failpoint("after-engine-commit"), "it does not come back");
                      return true;
                    }),
            kFailpointExitStatus);
  EXPECT_EQ(InChild("after-engine-commit=exit@2",
                    [] { return Failpoint("after-engine-commit").has_value(); }),
            0);
}

TEST(Failpoint, PauseStopsTheProcessUntilItIsContinued) {
  const pid_t child =
      StartChild("during-stage=pause", [] { return Failpoint("during-stage").has_value(); });
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status)) << status;
  ASSERT_EQ(kill(child, SIGCONT), 0);
  EXPECT_EQ(ExitStatus(child), 0);
}

TEST(Failpoint, SeveralAreSetAtOnce) {
  EXPECT_EQ(InChild("before-publish=error,after-publish=error@2",
                    [] {
                      return CheckFailpointConfig().has_value() &&
                             !Failpoint("before-publish").has_value() &&
                             Failpoint("after-publish").has_value() &&
                             !Failpoint("after-publish").has_value();
                    }),
            0);
}

TEST(Failpoint, RefusesAWrongFormAndNamesThePiece) {
  EXPECT_TRUE(Refused("before-publish", "before-publish"));
  EXPECT_TRUE(Refused("before-publish=", "before-publish="));
  EXPECT_TRUE(Refused("before-publish=explode", "before-publish=explode"));
  EXPECT_TRUE(Refused("before-publish=Error", "before-publish=Error"));
  EXPECT_TRUE(Refused("=error", "=error"));
  EXPECT_TRUE(Refused("no-such-place=error", "no-such-place=error"));
  EXPECT_TRUE(Refused("before-publish =error", "before-publish =error"));
  EXPECT_TRUE(Refused("before-publish=error@", "before-publish=error@"));
  EXPECT_TRUE(Refused("before-publish=error@0", "before-publish=error@0"));
  EXPECT_TRUE(Refused("before-publish=error@-1", "before-publish=error@-1"));
  EXPECT_TRUE(Refused("before-publish=error@1x", "before-publish=error@1x"));
  EXPECT_TRUE(Refused("before-publish=error@99999999999999999999",
                      "before-publish=error@99999999999999999999"));
  EXPECT_TRUE(Refused("after-publish=error,before-publish=explode", "before-publish=explode"));
  EXPECT_TRUE(Refused("before-publish=error,before-publish=exit", "before-publish=exit"));
}

TEST(Failpoint, ARefusedNameIsAnsweredWithThoseThereAre) {
  EXPECT_EQ(InChild("no-such-place=error",
                    [] {
                      const std::string message = CheckFailpointConfig().error().message();
                      return std::ranges::all_of(FailpointNames(), [&](const std::string& name) {
                        return message.find(name) != std::string::npos;
                      });
                    }),
            0);
}

TEST(Failpoint, RefusesEmptyPieces) {
  EXPECT_TRUE(Refused(",", ""));
  EXPECT_TRUE(Refused("before-publish=error,", ""));
  EXPECT_TRUE(Refused("before-publish=error,,after-publish=error", ""));
}

#ifndef NDEBUG
TEST(FailpointDeathTest, CodeReachesOnlyListedNames) {
  EXPECT_DEATH(static_cast<void>(Failpoint("no-such-place")), "listed in kNames");
}
#endif

}  // namespace
}  // namespace lake
