#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace lake::lease {

// The number of a term of leadership: 1 for the first, one more at every takeover, never used
// again. Zero comes before the first term; nobody leads under it. A value.
class Epoch {
 public:
  constexpr Epoch() = default;

  explicit constexpr Epoch(std::uint64_t value) : value_(value) {}

  // Returns the number itself, for records and messages.
  constexpr std::uint64_t value() const { return value_; }

  // Returns the epoch after this one, or nothing when the numbers are used up.
  constexpr std::optional<Epoch> Next() const {
    if (value_ == std::numeric_limits<std::uint64_t>::max()) {
      return std::nullopt;
    }
    return Epoch(value_ + 1);
  }

  // Returns the number in decimal.
  std::string ToString() const { return std::to_string(value_); }

  constexpr auto operator<=>(const Epoch&) const = default;

 private:
  std::uint64_t value_ = 0;
};

}  // namespace lake::lease
