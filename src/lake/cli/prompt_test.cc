#include "lake/cli/prompt.h"

#include <gmock/gmock.h>

namespace lake::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What happens at a terminal is tested with one: tests/integration/test_prompt.py.

TEST(WordToComplete, IsTheNameAtTheEnd) {
  EXPECT_EQ(WordToComplete(""), "");
  EXPECT_EQ(WordToComplete("sel"), "sel");
  EXPECT_EQ(WordToComplete("select "), "");
  EXPECT_EQ(WordToComplete("from demo.fl"), "demo.fl");
  EXPECT_EQ(WordToComplete("from lake.\"a.b\".t"), "lake.\"a.b\".t");
  EXPECT_EQ(WordToComplete("count(de"), "de");
  EXPECT_EQ(WordToComplete("from städte"), "städte");
}

TEST(Matching, IgnoresCaseSortsAndDropsRepetitions) {
  EXPECT_THAT(Matching("SE", {"set", "select", "from", "select"}), ElementsAre("select", "set"));
  EXPECT_THAT(Matching("x", {"set"}), IsEmpty());
}

TEST(SharedBeginning, IsWhatAllHaveInCommon) {
  EXPECT_EQ(SharedBeginning({}), "");
  EXPECT_EQ(SharedBeginning({"select"}), "select");
  EXPECT_EQ(SharedBeginning({"demo.flights", "demo.files", "DEMO.f"}), "demo.f");
  EXPECT_EQ(SharedBeginning({"a", "b"}), "");
}

}  // namespace
}  // namespace lake::cli
