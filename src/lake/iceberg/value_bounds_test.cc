#include "lake/iceberg/value_bounds.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/result.h"
#include "lake/iceberg/type.h"
#include "lake/iceberg/value.h"
#include "lake/testing/matchers.h"
#include "lake/testing/seeded_random.h"

namespace lake::iceberg {
namespace {

using ::lake::testing::IsError;
using ::lake::testing::IsOkAnd;
using ::lake::testing::SeededRandom;
using ::testing::Eq;
using ::testing::Optional;

using namespace std::string_literals;

TEST(TruncateStringMin, KeepsWholeCodePoints) {
  EXPECT_EQ(TruncateStringMin("iceberg", 3), "ice");
  EXPECT_EQ(TruncateStringMin("ice", 3), "ice");
  EXPECT_EQ(TruncateStringMin("", 3), "");
  EXPECT_EQ(TruncateStringMin("h\u00e9\u4e2d\U0001F600x", 4), "h\u00e9\u4e2d\U0001F600");
}

TEST(TruncateStringMax, LeavesShortStringsAlone) {
  EXPECT_THAT(TruncateStringMax("ice", 3), Optional("ice"s));
  EXPECT_THAT(TruncateStringMax("\U0010FFFF", 1), Optional("\U0010FFFF"s));
}

TEST(TruncateStringMax, RaisesTheLastCodePoint) {
  EXPECT_THAT(TruncateStringMax("iceberg", 3), Optional("icf"s));
  EXPECT_THAT(TruncateStringMax("a\x7f!", 2), Optional("a\u0080"s));
  EXPECT_THAT(TruncateStringMax("a\u07ff!", 2), Optional("a\u0800"s));
  EXPECT_THAT(TruncateStringMax("a\uffff!", 2), Optional("a\U00010000"s));
  EXPECT_THAT(TruncateStringMax("a\u00bf!", 2), Optional("a\u00c0"s));
}

TEST(TruncateStringMax, StepsOverSurrogates) {
  EXPECT_THAT(TruncateStringMax("a\ud7ff!", 2), Optional("a\ue000"s));
}

TEST(TruncateStringMax, DropsCodePointsThatCannotBeRaised) {
  EXPECT_THAT(TruncateStringMax("a\U0010FFFF!", 2), Optional("b"s));
  EXPECT_THAT(TruncateStringMax("a\U0010FFFF\U0010FFFF!", 3), Optional("b"s));
  EXPECT_THAT(TruncateStringMax("\U0010FFFF\U0010FFFF!", 2), Eq(std::nullopt));
}

TEST(TruncateBinary, CutsAndRaisesBytes) {
  EXPECT_EQ(TruncateBinaryMin("\1\2\3\4\5", 3), "\1\2\3");
  EXPECT_THAT(TruncateBinaryMax("\1\2\3", 3), Optional("\1\2\3"s));
  EXPECT_THAT(TruncateBinaryMax("\1\2\3\4", 3), Optional("\1\2\4"s));
  EXPECT_THAT(TruncateBinaryMax("\1\xff\xff\4", 3), Optional("\2"s));
  EXPECT_THAT(TruncateBinaryMax("\xff\xff\xff", 2), Eq(std::nullopt));
}

TEST(Truncate, StillBoundsWhateverIsCut) {
  SeededRandom random(17);
  const std::string_view alphabet[] = {"a",      "\x7f",   "\u0080",     "\u07ff",    "\u0800",
                                       "\ud7ff", "\ue000", "\U00010000", "\U0010FFFF"};
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::uint64_t left = random.Below(7); left > 0; --left) {
      text += alphabet[random.Below(std::size(alphabet))];
    }
    const auto width = static_cast<std::size_t>(random.Below(6)) + 1;
    const std::string_view min = TruncateStringMin(text, width);
    EXPECT_TRUE(IsUtf8(min));
    EXPECT_LE(min, text);
    const std::optional<std::string> max = TruncateStringMax(text, width);
    if (max.has_value()) {
      EXPECT_TRUE(IsUtf8(*max));
      EXPECT_GE(*max, text);
    }
    EXPECT_LE(TruncateBinaryMin(text, width), text);
    EXPECT_GE(TruncateBinaryMax(text, width).value_or(text), text);
  }
}

TEST(IsUtf8, KnowsTheWellFormedFromTheRest) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("plain ascii, longer than a word"));
  EXPECT_TRUE(IsUtf8("h\u00e9\u4e2d\U0001F600 and ascii behind \u07ff"));
  EXPECT_FALSE(IsUtf8("\x80"));
  EXPECT_FALSE(IsUtf8("12345678\xff"));
  EXPECT_FALSE(IsUtf8("\xc0\x80"));          // Overlong.
  EXPECT_FALSE(IsUtf8("\xe0\x9f\xbf"));      // Overlong.
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));      // A surrogate.
  EXPECT_FALSE(IsUtf8("\xf4\x90\x80\x80"));  // Above U+10FFFF.
  EXPECT_FALSE(IsUtf8("\xe4\xb8"));          // Cut.
  EXPECT_FALSE(IsUtf8("\xe4 "));
}

TEST(MetricsMode, IsTruncate16ByDefault) {
  EXPECT_EQ(MetricsMode(), (MetricsMode{.kind = MetricsMode::Kind::kTruncate, .width = 16}));
}

TEST(MetricsMode, ParsesWhatTablePropertiesSay) {
  EXPECT_THAT(MetricsMode::Parse("none"), IsOkAnd(MetricsMode{.kind = MetricsMode::Kind::kNone}));
  EXPECT_THAT(MetricsMode::Parse("COUNTS"),
              IsOkAnd(MetricsMode{.kind = MetricsMode::Kind::kCounts}));
  EXPECT_THAT(MetricsMode::Parse("Full"), IsOkAnd(MetricsMode{.kind = MetricsMode::Kind::kFull}));
  EXPECT_THAT(MetricsMode::Parse("truncate(32)"),
              IsOkAnd(MetricsMode{.kind = MetricsMode::Kind::kTruncate, .width = 32}));
  for (const std::string_view wrong : {"", "all", "truncate", "truncate()", "truncate(0)",
                                       "truncate(-1)", "truncate(1", "truncate(1x)"}) {
    EXPECT_THAT(MetricsMode::Parse(wrong), IsError(ErrorCode::kInvalidArgument)) << wrong;
  }
}

TEST(Bounds, AreCutToTheWidthOfTheMode) {
  const MetricsMode mode;
  EXPECT_THAT(LowerBound(Type::String(), "0123456789abcdefghij", mode),
              IsOkAnd(Optional("0123456789abcdef"s)));
  EXPECT_THAT(UpperBound(Type::String(), "0123456789abcdefghij", mode),
              IsOkAnd(Optional("0123456789abcdeg"s)));
  EXPECT_THAT(LowerBound(Type::Binary(), std::string(20, '\xff'), mode),
              IsOkAnd(Optional(std::string(16, '\xff'))));
  EXPECT_THAT(UpperBound(Type::Binary(), std::string(20, '\xff'), mode), IsOkAnd(Eq(std::nullopt)));
  EXPECT_THAT(UpperBound(Type::Fixed(20), std::string(20, 'a'), mode),
              IsOkAnd(Optional(std::string(15, 'a') + "b")));
}

TEST(Bounds, AreExactInFullModeAndForNumbers) {
  const MetricsMode full{.kind = MetricsMode::Kind::kFull};
  const std::string text(40, 'x');
  EXPECT_THAT(LowerBound(Type::String(), text, full), IsOkAnd(Optional(text)));
  EXPECT_THAT(UpperBound(Type::String(), text, full), IsOkAnd(Optional(text)));
  EXPECT_THAT(UpperBound(Type::Long(), std::int64_t{1}, MetricsMode()),
              IsOkAnd(Optional("\1\0\0\0\0\0\0\0"s)));
}

TEST(Bounds, AreLeftOutWhenTheyCannotBeKnownOrAreNotWanted) {
  const MetricsMode mode;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(LowerBound(Type::Long(), Value(), mode), IsOkAnd(Eq(std::nullopt)));
  EXPECT_THAT(UpperBound(Type::Double(), nan, mode), IsOkAnd(Eq(std::nullopt)));
  EXPECT_THAT(LowerBound(Type::String(), "\xff", mode), IsOkAnd(Eq(std::nullopt)));
  EXPECT_THAT(UpperBound(Type::String(), "\xff", mode), IsOkAnd(Eq(std::nullopt)));
  EXPECT_THAT(LowerBound(Type::Int(), std::int32_t{1}, {.kind = MetricsMode::Kind::kCounts}),
              IsOkAnd(Eq(std::nullopt)));
  EXPECT_THAT(UpperBound(Type::Int(), std::int32_t{1}, {.kind = MetricsMode::Kind::kNone}),
              IsOkAnd(Eq(std::nullopt)));
}

TEST(Bounds, OfZeroHoldForBothZeros) {
  const MetricsMode mode;
  EXPECT_THAT(LowerBound(Type::Double(), 0.0, mode), IsOkAnd(Optional("\0\0\0\0\0\0\0\x80"s)));
  EXPECT_THAT(UpperBound(Type::Double(), -0.0, mode), IsOkAnd(Optional("\0\0\0\0\0\0\0\0"s)));
  EXPECT_THAT(LowerBound(Type::Float(), 0.0F, mode), IsOkAnd(Optional("\0\0\0\x80"s)));
  EXPECT_THAT(UpperBound(Type::Float(), -0.0F, mode), IsOkAnd(Optional("\0\0\0\0"s)));
}

TEST(Bounds, RefuseValuesOfAnotherType) {
  EXPECT_THAT(LowerBound(Type::Int(), "text", MetricsMode()), IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(UpperBound(Type(), std::int32_t{1}, MetricsMode()),
              IsError(ErrorCode::kUnimplemented));
}

}  // namespace
}  // namespace lake::iceberg
