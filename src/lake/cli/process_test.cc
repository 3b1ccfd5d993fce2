#include "lake/cli/process.h"

#include <signal.h>

#include <gmock/gmock.h>

#include "lake/testing/matchers.h"

namespace lake::cli {
namespace {

using lake::testing::IsError;
using lake::testing::IsOk;
using lake::testing::IsOkAnd;

TEST(Process, KeepsWhatIsWrittenAndHowItEnded) {
  Result<Process> process = Process::Start(
      {.arguments = {"/bin/sh", "-c", "echo out; echo err >&2; cat; exit 7"}, .environment = {}});
  ASSERT_THAT(process, IsOk());
  const Result<Ended> ended = process->Wait();
  ASSERT_THAT(ended, IsOk());
  EXPECT_TRUE(ended->exited);
  EXPECT_EQ(ended->exit_code, 7);
  EXPECT_FALSE(ended->succeeded());
  EXPECT_EQ(ended->standard_output, "out\n");
  EXPECT_EQ(ended->standard_error, "err\n");
}

TEST(Process, SetsAndRemovesEnvironment) {
  Result<Process> process =
      Process::Start({.arguments = {"/bin/sh", "-c", "echo \"$ADDED/${HOME-none}\""},
                      .environment = {{"ADDED", "yes"}, {"HOME", ""}}});
  ASSERT_THAT(process, IsOk());
  const Result<Ended> ended = process->Wait();
  ASSERT_THAT(ended, IsOk());
  EXPECT_TRUE(ended->succeeded());
  EXPECT_EQ(ended->standard_output, "yes/none\n");
}

TEST(Process, AProgramThatIsNotThereIsNotFound) {
  EXPECT_THAT(Process::Start({.arguments = {"/does/not/exist"}, .environment = {}}),
              IsError(ErrorCode::kNotFound));
}

TEST(Process, IsStoppedThenKilled) {
  Result<Process> process = Process::Start(
      {.arguments = {"/bin/sh", "-c", "kill -STOP $$; echo never"}, .environment = {}});
  ASSERT_THAT(process, IsOk());
  ASSERT_THAT(process->WaitUntilStopped(), IsOkAnd(true));
  process->Kill();
  const Result<Ended> ended = process->Wait();
  ASSERT_THAT(ended, IsOk());
  EXPECT_FALSE(ended->exited);
  EXPECT_EQ(ended->signal, SIGKILL);
  EXPECT_EQ(ended->standard_output, "");
}

TEST(Process, WaitUntilStoppedTellsWhenItEndedInstead) {
  Result<Process> process =
      Process::Start({.arguments = {"/bin/sh", "-c", "exit 3"}, .environment = {}});
  ASSERT_THAT(process, IsOk());
  ASSERT_THAT(process->WaitUntilStopped(), IsOkAnd(false));
  const Result<Ended> ended = process->Wait();
  ASSERT_THAT(ended, IsOk());
  EXPECT_EQ(ended->exit_code, 3);
}

TEST(Process, ItsDestructionEndsIt) {
  pid_t pid = 0;
  {
    const Result<Process> process =
        Process::Start({.arguments = {"/bin/sh", "-c", "kill -STOP $$"}, .environment = {}});
    ASSERT_THAT(process, IsOk());
    pid = process->pid();
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

}  // namespace
}  // namespace lake::cli
