#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lake/base/mutex.h"
#include "lake/base/random.h"
#include "lake/base/thread_annotations.h"

namespace lake::testing {

// Random numbers that are a function of the seed alone: the same seed and the same calls give the
// same bytes on every machine. With several threads the order of their calls decides who gets which
// bytes. Not for secrets. Thread-safe.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}

  void Fill(std::span<std::byte> out) override EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::uint64_t state_ GUARDED_BY(mutex_);
};

}  // namespace lake::testing
