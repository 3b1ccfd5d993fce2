#include "lake/testing/seeded_random.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::testing {
namespace {

std::uint64_t Draw(SeededRandom& random) {
  std::array<std::byte, 8> bytes{};
  random.Fill(bytes);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    word |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  return word;
}

// The published first outputs of SplitMix64 for seed 1234567.
TEST(SeededRandom, GivesThePublishedSequence) {
  SeededRandom random(1234567);
  EXPECT_EQ(Draw(random), 6457827717110365317U);
  EXPECT_EQ(Draw(random), 3203168211198807973U);
  EXPECT_EQ(Draw(random), 9817491932198370423U);
}

TEST(SeededRandom, RepeatsItselfForASeedAndDiffersForAnother) {
  std::vector<std::byte> first(37);
  std::vector<std::byte> again(37);
  std::vector<std::byte> other(37);
  SeededRandom(1).Fill(first);
  SeededRandom(1).Fill(again);
  SeededRandom(2).Fill(other);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
}

TEST(SeededRandom, DrawsBelowABound) {
  SeededRandom random(3);
  std::array<int, 6> seen{};
  for (int i = 0; i < 600; ++i) {
    ++seen.at(random.Below(6));
  }
  EXPECT_THAT(seen, ::testing::Each(::testing::AllOf(::testing::Gt(60), ::testing::Lt(140))));
}

}  // namespace
}  // namespace lake::testing
