#include "lake/testing/seeded_random.h"

namespace lake::testing {

void SeededRandom::Fill(std::span<std::byte> out) {
  const MutexLock lock(mutex_);
  std::size_t filled = 0;
  while (filled < out.size()) {
    // SplitMix64 (Steele, Lea, Flood 2014): every seed is a good one, and the next state is one
    // addition away.
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t word = state_;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
    word ^= word >> 31;
    // Little-endian by hand, so that a seed means the same everywhere.
    for (std::size_t i = 0; i < sizeof(word) && filled < out.size(); ++i) {
      out[filled++] = static_cast<std::byte>(word >> (8 * i));
    }
  }
}

}  // namespace lake::testing
