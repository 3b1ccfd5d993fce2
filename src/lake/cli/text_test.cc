#include "lake/cli/text.h"

#include <chrono>

#include <gtest/gtest.h>

namespace lake::cli {
namespace {

using std::chrono::milliseconds;

TEST(Printable, LeavesOrdinaryTextAlone) {
  for (const char* text : {"", "abc", "Grüße", "北京", "🙂"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(Printable, MakesControlsAndBrokenUtf8Visible) {
  EXPECT_EQ(Printable("a\tb\r\n"), "a\\tb\\r\\n");
  EXPECT_EQ(Printable("\x1B[2J\x7F"), "\\x1B[2J\\x7F");
  EXPECT_EQ(Printable("\xC2\x9B"), "\\x9B");                // A C1 control.
  EXPECT_EQ(Printable("\xFF\xC3"), "\\xFF\\xC3");           // No UTF-8 at all.
  EXPECT_EQ(Printable("\xC0\xAF"), "\\xC0\\xAF");           // Overlong.
  EXPECT_EQ(Printable("\xED\xA0\x80"), "\\xED\\xA0\\x80");  // A surrogate.
  EXPECT_EQ(Printable("a\xE2\x80\xAE"
                      "b"),
            "a\\x202Eb");  // A right-to-left override.
}

TEST(IsUtf8, KnowsWhatIsNot) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("a\n\u00FC\u540D\U0001F600"));
  for (const char* text :
       {"\xFF", "a\xC3", "\xC3(", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80"}) {
    EXPECT_FALSE(IsUtf8(text)) << Printable(text);
  }
}

TEST(DisplayWidth, CountsTerminalColumns) {
  EXPECT_EQ(DisplayWidth(""), 0);
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("Grüße"), 5);
  EXPECT_EQ(DisplayWidth("e\xCC\x81"), 1);  // A combining accent.
  EXPECT_EQ(DisplayWidth("北京"), 4);
  EXPECT_EQ(DisplayWidth("🙂"), 2);
}

TEST(TimeText, IsIso8601InUtc) {
  EXPECT_EQ(TimeText(WallTime(milliseconds(0))), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(TimeText(WallTime(milliseconds(1769903998123))), "2026-01-31T23:59:58.123Z");
  EXPECT_EQ(TimeText(WallTime(milliseconds(-1))), "1969-12-31T23:59:59.999Z");
}

TEST(Count, GroupsDigitsAndKnowsOne) {
  EXPECT_EQ(Count(0, "row"), "0 rows");
  EXPECT_EQ(Count(1, "row"), "1 row");
  EXPECT_EQ(Count(999, "row"), "999 rows");
  EXPECT_EQ(Count(3000000, "row"), "3,000,000 rows");
}

TEST(SizeText, KeepsThreeFigures) {
  EXPECT_EQ(SizeText(0), "0 B");
  EXPECT_EQ(SizeText(999), "999 B");
  EXPECT_EQ(SizeText(13493022), "13.5 MB");
}

}  // namespace
}  // namespace lake::cli
