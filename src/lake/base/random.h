#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lake {

// Where chance comes from. Thread-safe.
class Random {
 public:
  virtual ~Random() = default;
  // Fills `out` with random bytes.
  virtual void Fill(std::span<std::byte> out) = 0;

  // Returns a number drawn evenly from [0, bound). `bound` must be positive.
  std::uint64_t Below(std::uint64_t bound);
};

// The kernel's random numbers. Never fails: without them the process ends.
class SystemRandom final : public Random {
 public:
  void Fill(std::span<std::byte> out) override;
};

}  // namespace lake
