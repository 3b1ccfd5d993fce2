#include "lake/base/random.h"

#include <cerrno>

#include <sys/random.h>

#include "lake/base/check.h"

namespace lake {

std::uint64_t Random::Below(std::uint64_t bound) {
  LAKE_CHECK(bound > 0, "a bound is positive");
  // Values at or above the largest multiple of the bound would make small results likelier: draw
  // again.
  const std::uint64_t rest = (~std::uint64_t{0} % bound + 1) % bound;
  while (true) {
    std::uint64_t value = 0;
    Fill(std::as_writable_bytes(std::span(&value, 1)));
    if (value <= ~std::uint64_t{0} - rest) {
      return value % bound;
    }
  }
}

void SystemRandom::Fill(std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = getrandom(out.data(), out.size(), 0);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    LAKE_CHECK(got > 0, "the kernel gives random bytes");
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace lake
