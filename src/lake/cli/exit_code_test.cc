#include "lake/cli/exit_code.h"

#include <gtest/gtest.h>

namespace lake::cli {
namespace {

TEST(ExitCode, NumbersArePromises) {
  EXPECT_EQ(static_cast<int>(ExitCode::kDone), 0);
  EXPECT_EQ(static_cast<int>(ExitCode::kFailed), 1);
  EXPECT_EQ(static_cast<int>(ExitCode::kUsage), 2);
  EXPECT_EQ(static_cast<int>(ExitCode::kConflict), 3);
  EXPECT_EQ(static_cast<int>(ExitCode::kOutcomeUnknown), 4);
}

TEST(ExitCode, TakenNamesAndBrokenAssumptionsAreConflicts) {
  EXPECT_EQ(ExitCodeFor(ErrorCode::kAlreadyExists), ExitCode::kConflict);
  EXPECT_EQ(ExitCodeFor(ErrorCode::kConflict), ExitCode::kConflict);
}

TEST(ExitCode, OnlyAnUnknownOutcomeIsUnknown) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_EQ(ExitCodeFor(code) == ExitCode::kOutcomeUnknown, code == ErrorCode::kOutcomeUnknown)
        << ErrorCodeName(code);
    EXPECT_NE(ExitCodeFor(code), ExitCode::kDone) << ErrorCodeName(code);
    EXPECT_NE(ExitCodeFor(code), ExitCode::kUsage) << ErrorCodeName(code);
  }
}

}  // namespace
}  // namespace lake::cli
