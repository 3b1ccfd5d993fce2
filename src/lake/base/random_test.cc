#include "lake/base/random.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <set>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "lake/testing/seeded_random.h"

namespace lake {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// Gives the numbers of a list, one after the other.
class ScriptedRandom final : public Random {
 public:
  explicit ScriptedRandom(std::deque<std::uint64_t> numbers) : numbers_(std::move(numbers)) {}

  void Fill(std::span<std::byte> out) override {
    ASSERT_EQ(out.size(), sizeof(std::uint64_t));
    ASSERT_FALSE(numbers_.empty());
    std::memcpy(out.data(), &numbers_.front(), out.size());
    numbers_.pop_front();
  }

  std::size_t left() const { return numbers_.size(); }

 private:
  std::deque<std::uint64_t> numbers_;
};

TEST(RandomBelow, DrawsAgainWhereTheRemainderWouldFavourSmallResults) {
  // 2^64 = 6148914691236517205 · 3 + 1: only the very last number is one too many.
  ScriptedRandom random({kMax, kMax - 1});
  EXPECT_EQ(random.Below(3), (kMax - 1) % 3);
  EXPECT_EQ(random.left(), 0U);
}

TEST(RandomBelow, KeepsEveryNumberForAPowerOfTwo) {
  ScriptedRandom random({kMax, 0, 5});
  EXPECT_EQ(random.Below(8), 7U);
  EXPECT_EQ(random.Below(1), 0U);
  EXPECT_EQ(random.Below(std::uint64_t{1} << 63), 5U);
}

TEST(RandomBelow, TakesTheLargestBound) {
  ScriptedRandom random({kMax, kMax - 1});
  EXPECT_EQ(random.Below(kMax), kMax - 1);
}

TEST(RandomBelow, ReachesEveryResult) {
  testing::SeededRandom random(11);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(random.Below(10));
  }
  EXPECT_EQ(seen.size(), 10U);
  EXPECT_EQ(*seen.rbegin(), 9U);
}

TEST(RandomBelowDeathTest, NeedsABound) {
  testing::SeededRandom random(1);
  EXPECT_DEATH(static_cast<void>(random.Below(0)), "positive");
}

TEST(SystemRandom, FillsAllOfAnySize) {
  SystemRandom random;
  random.Fill({});
  // Larger than one getrandom call gives at once. That a byte stays zero 8 times over has a chance
  // of 2^-64 each.
  std::vector<std::byte> merged(1 << 10);
  for (int round = 0; round < 8; ++round) {
    std::vector<std::byte> bytes(1 << 10);
    random.Fill(bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      merged[i] |= bytes[i];
    }
  }
  for (const std::byte byte : merged) {
    EXPECT_NE(byte, std::byte{0});
  }
}

}  // namespace
}  // namespace lake
