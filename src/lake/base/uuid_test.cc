#include "lake/base/uuid.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/testing/manual_clock.h"
#include "lake/testing/matchers.h"
#include "lake/testing/seeded_random.h"

namespace lake {
namespace {

using lake::testing::IsError;
using lake::testing::IsOkAnd;
using lake::testing::ManualClock;
using lake::testing::SeededRandom;

// Gives the bytes it was made with, again and again.
class FixedRandom final : public Random {
 public:
  explicit FixedRandom(std::array<std::uint8_t, 16> bytes) : bytes_(bytes) {}

  void Fill(std::span<std::byte> out) override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<std::byte>(bytes_.at(i % bytes_.size()));
    }
  }

 private:
  std::array<std::uint8_t, 16> bytes_;
};

TEST(Uuid, OfATextIsTheBeginningOfItsSha256) {
  // FIPS 180-4: the digest of "abc" begins with ba7816bf 8f01cfea 414140de 5dae2223.
  EXPECT_EQ(Uuid::Hashed8("abc").ToString(), "ba7816bf-8f01-8fea-8141-40de5dae2223");
  EXPECT_EQ(Uuid::Hashed8("abc").version(), 8);
  EXPECT_NE(Uuid::Hashed8("abd"), Uuid::Hashed8("abc"));
}

// RFC 9562, appendix A.3: the random bits are those of the vector, its version and variant bits are
// replaced by noise.
TEST(Uuid, MakesTheVersion4OfTheRfc) {
  FixedRandom random({0x91, 0x91, 0x08, 0xF7, 0x52, 0xD1, 0xF3, 0x20, 0x5B, 0xAC, 0xF8, 0x47, 0xDB,
                      0x41, 0x48, 0xA8});
  const Uuid uuid = Uuid::Random4(random);
  EXPECT_EQ(uuid.ToString(), "919108f7-52d1-4320-9bac-f847db4148a8");
  EXPECT_EQ(uuid.version(), 4);
}

// RFC 9562, appendix A.6.
TEST(Uuid, MakesTheVersion7OfTheRfc) {
  ManualClock clock;
  clock.SetWall(WallTime(std::chrono::milliseconds(0x017F22E279B0)));
  FixedRandom random({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFC, 0xC3, 0xD8, 0xC4, 0xDC, 0x0C, 0x0C,
                      0x07, 0x39, 0x8F});
  const Uuid uuid = Uuid::Random7(clock, random);
  EXPECT_EQ(uuid.ToString(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
  EXPECT_EQ(uuid.version(), 7);
  EXPECT_EQ(uuid.time(), WallTime(std::chrono::milliseconds(0x017F22E279B0)));
}

TEST(Uuid, OrdersVersion7ByTime) {
  ManualClock clock;
  SeededRandom random(7);
  Uuid last = Uuid::Random7(clock, random);
  for (int i = 0; i < 100; ++i) {
    clock.Advance(std::chrono::milliseconds(1));
    const Uuid next = Uuid::Random7(clock, random);
    EXPECT_LT(last, next);
    EXPECT_LT(last.ToString(), next.ToString());
    last = next;
  }
}

TEST(Uuid, SetsVersionAndVariantWhateverTheRandomBytes) {
  SeededRandom random(4);
  std::set<Uuid> seen;
  for (int i = 0; i < 1000; ++i) {
    const Uuid uuid = Uuid::Random4(random);
    EXPECT_EQ(uuid.version(), 4);
    EXPECT_EQ(uuid.bytes()[8] & 0xC0, 0x80);
    seen.insert(uuid);
  }
  EXPECT_EQ(seen.size(), 1000U);
}

TEST(Uuid, ParsesWhatItWrites) {
  SeededRandom random(5);
  for (int i = 0; i < 100; ++i) {
    const Uuid uuid = Uuid::Random4(random);
    EXPECT_THAT(Uuid::Parse(uuid.ToString()), IsOkAnd(uuid));
  }
  EXPECT_TRUE(Uuid().is_nil());
  EXPECT_EQ(Uuid().ToString(), "00000000-0000-0000-0000-000000000000");
  EXPECT_THAT(Uuid::Parse("00000000-0000-0000-0000-000000000000"), IsOkAnd(Uuid()));
}

TEST(Uuid, ParsesAnyCaseAndWritesLowerCase) {
  const Result<Uuid> uuid = Uuid::Parse("017F22E2-79b0-7CC3-98C4-dC0c0C07398F");
  ASSERT_THAT(uuid, IsOkAnd(::testing::_));
  EXPECT_EQ(uuid->ToString(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

TEST(Uuid, RefusesEverythingElse) {
  const std::string good = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
  const std::string refused[] = {
      "",
      good.substr(1),
      good + "0",
      "{" + good + "}",
      "urn:uuid:" + good,
      " " + good.substr(1),
      good.substr(0, 35) + " ",
      "017f22e279b07cc398c4dc0c0c07398f",
      "017f22e27-9b0-7cc3-98c4-dc0c0c07398f",
      "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
      "017f22e2_79b0_7cc3_98c4_dc0c0c07398f",
      "0x7f22e2-79b0-7cc3-98c4-dc0c0c07398f",
      "+17f22e2-79b0-7cc3-98c4-dc0c0c07398f",
      std::string(36, '-'),
      std::string(36, '\0'),
  };
  for (const std::string& text : refused) {
    EXPECT_THAT(Uuid::Parse(text), IsError(ErrorCode::kInvalidArgument)) << text;
  }
}

TEST(Uuid, RefusesAnyOneWrongCharacter) {
  const std::string good = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char wrong : {'g', 'G', '/', ':', '@', '`', '\0', '\xC3'}) {
      std::string text = good;
      text[i] = wrong;
      EXPECT_THAT(Uuid::Parse(text), IsError(ErrorCode::kInvalidArgument)) << i;
    }
  }
}

TEST(UuidDeathTest, GivesNoTimeForAnotherVersion) {
  EXPECT_DEATH(static_cast<void>(Uuid().time()), "version 7");
}

}  // namespace
}  // namespace lake
