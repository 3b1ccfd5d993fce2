#include "lake/cli/progress.h"

#include <chrono>

#include <gmock/gmock.h>

#include "lake/cli/string_output_test_internal.h"
#include "lake/testing/manual_clock.h"

namespace lake::cli {
namespace {

using lake::testing::ManualClock;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Progress, WritesNothingWithoutATerminal) {
  const ManualClock clock;
  Progress progress(nullptr, clock);
  progress.Show("writing", 0.5);
  progress.Clear();
}

TEST(Progress, DrawsABarAndClearsIt) {
  const ManualClock clock;
  StringOutput terminal;
  {
    Progress progress(&terminal, clock);
    progress.Show("writing", 0.5);
    EXPECT_THAT(terminal.text(), HasSubstr("writing [###############...............]  50 %"));
  }
  EXPECT_THAT(terminal.text(), EndsWith("\r\x1B[K"));
}

TEST(Progress, IsNotDrawnMoreOftenThanItsInterval) {
  ManualClock clock;
  StringOutput terminal;
  Progress progress(&terminal, clock);
  progress.Show("writing", 0.1);
  progress.Show("writing", 0.2);
  EXPECT_THAT(terminal.text(), Not(HasSubstr("20 %")));
  clock.Advance(Progress::kRedrawInterval);
  progress.Show("writing", 0.3);
  EXPECT_THAT(terminal.text(), HasSubstr("30 %"));
}

TEST(Progress, StaysInsideItsBar) {
  ManualClock clock;
  StringOutput terminal;
  Progress progress(&terminal, clock);
  progress.Show("a", -1);
  EXPECT_THAT(terminal.text(), HasSubstr("  0 %"));
  clock.Advance(Progress::kRedrawInterval);
  progress.Show("a", 7);
  EXPECT_THAT(terminal.text(), HasSubstr("100 %"));
}

TEST(Progress, GivesUpWhenTheTerminalIsGone) {
  const ManualClock clock;
  StringOutput terminal;
  terminal.FailFromNowOn();
  Progress progress(&terminal, clock);
  progress.Show("writing", 0.5);
  progress.Show("writing", 0.6);
  EXPECT_THAT(terminal.text(), IsEmpty());
}

}  // namespace
}  // namespace lake::cli
