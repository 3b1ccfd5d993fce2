#include "lake/base/check.h"

#include <gtest/gtest.h>

namespace lake {
namespace {

TEST(CheckDeathTest, EndsTheProcessAndSaysWhatFailed) {
  const int two = 2;
  EXPECT_DEATH(LAKE_CHECK(two + two == 5, "arithmetic holds"),
               "arithmetic holds.*two \\+ two == 5");
}

TEST(Check, EvaluatesItsConditionOnce) {
  int times = 0;
  LAKE_CHECK(++times == 1, "counted");
  EXPECT_EQ(times, 1);
}

TEST(DcheckDeathTest, IsOnInDebugBuildsOnly) {
  int times = 0;
  LAKE_DCHECK(++times == 1, "counted");
#ifdef NDEBUG
  EXPECT_EQ(times, 0);
#else
  EXPECT_EQ(times, 1);
  EXPECT_DEATH(LAKE_DCHECK(times == 2, "counted twice"), "counted twice");
#endif
}

}  // namespace
}  // namespace lake
