#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/time.h"

namespace lake {

// A UUID as in RFC 9562. A value; the default one is nil.
class Uuid {
 public:
  Uuid() = default;

  explicit Uuid(const std::array<std::uint8_t, 16>& bytes) : bytes_(bytes) {}

  // Makes a random (version 4) UUID.
  static Uuid Random4(Random& random);
  // Makes a time-ordered (version 7) UUID of the clock's wall time.
  static Uuid Random7(const Clock& clock, Random& random);
  // Makes the version 8 UUID that stands for a text: the first bits of its SHA-256.
  static Uuid Hashed8(std::string_view text);
  // Parses the 36-character form, any case. Anything else is kInvalidArgument.
  static Result<Uuid> Parse(std::string_view text);

  // Returns the 36-character lower-case form.
  std::string ToString() const;

  // Returns the version nibble: 4, 7, …
  int version() const { return bytes_[6] >> 4; }

  // Returns the time in a version 7 UUID. Only for version 7.
  WallTime time() const;

  bool is_nil() const { return *this == Uuid(); }

  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }

  auto operator<=>(const Uuid&) const = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

}  // namespace lake
