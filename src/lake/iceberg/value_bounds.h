#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "lake/base/result.h"
#include "lake/iceberg/type.h"
#include "lake/iceberg/value.h"

namespace lake::iceberg {

// How many code points of a string, or bytes of a binary, a bound keeps unless a table says
// otherwise: its metrics mode is then truncate(16).
inline constexpr std::size_t kMetricsTruncateDefault = 16;

// Which statistics of a column are kept, as table properties say ("write.metadata.metrics.…").
struct MetricsMode {
  enum class Kind {
    kNone,      // None.
    kCounts,    // Counts, but no bounds.
    kTruncate,  // Counts, and bounds cut to `width`.
    kFull,      // Counts, and bounds of any length.
  };

  Kind kind = Kind::kTruncate;
  std::size_t width = kMetricsTruncateDefault;  // Only for kTruncate.

  // Parses "none", "counts", "truncate(n)" with n ≥ 1, or "full", in any case. Anything else is
  // kInvalidArgument.
  static Result<MetricsMode> Parse(std::string_view text);

  bool operator==(const MetricsMode&) const = default;
};

// Return the binary form of a column's smallest or greatest value as a bound under `mode`: exact,
// or for string, binary and fixed cut to the mode's width so that it still bounds. Nothing when the
// mode keeps no bounds, when the value is null, NaN or a string that is not UTF-8, or when no
// shorter upper bound exists. A zero gets the sign that bounds both zeros. kInvalidArgument when
// the value is not of the type; kUnimplemented for a type without values (see EncodeValue).
Result<std::optional<std::string>> LowerBound(const Type& type, const Value& min,
                                              const MetricsMode& mode);
Result<std::optional<std::string>> UpperBound(const Type& type, const Value& max,
                                              const MetricsMode& mode);

// Whether the bytes are UTF-8 (RFC 3629: no surrogates, no overlong forms).
bool IsUtf8(std::string_view text);

// Return at most the first `width` code points or bytes. Never greater than the input.
std::string_view TruncateStringMin(std::string_view utf8, std::size_t width);
std::string_view TruncateBinaryMin(std::string_view bytes, std::size_t width);

// Return the input if it is that short; otherwise its first `width` code points or bytes with the
// last one that can be raised raised by one and what follows it dropped, so that the result is
// greater than the input. Nothing when none can be raised.
std::optional<std::string> TruncateStringMax(std::string_view utf8, std::size_t width);
std::optional<std::string> TruncateBinaryMax(std::string_view bytes, std::size_t width);

}  // namespace lake::iceberg
