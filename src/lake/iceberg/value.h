#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "lake/base/result.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {

// 128 bits hold the unscaled value of every decimal.
__extension__ using Int128 = __int128;

// The unscaled value of a decimal; its type knows precision and scale.
struct Decimal {
  Int128 unscaled = 0;

  auto operator<=>(const Decimal&) const = default;
};

// One value of a primitive type, or null (std::monostate). It does not say which type: the
// functions below take the type beside it. Its alternative is fixed by the type:
//
//   boolean                                            bool
//   int, date (days since 1970-01-01)                  std::int32_t
//   long, time and the timestamps (in their own unit)  std::int64_t
//   float, double                                      float, double
//   decimal                                            Decimal
//   string (UTF-8), uuid (16 bytes), fixed, binary     std::string
using Value = std::variant<std::monostate, bool, std::int32_t, std::int64_t, float, double, Decimal,
                           std::string>;

// Whether the value is null.
inline bool IsNull(const Value& value) {
  return std::holds_alternative<std::monostate>(value);
}

// Whether `value` is null or has the alternative of `type`, and for uuid and fixed the length.
bool IsValueOf(const Type& type, const Value& value);

// Returns the single-value binary form (Iceberg specification, appendix D) of a value that is not
// null. kInvalidArgument when the value is null or not of the type; kUnimplemented for types
// without values here: unknown, variant, geometry, geography and the nested ones.
Result<std::string> EncodeValue(const Type& type, const Value& value);

// Reads a single-value binary form. A bound that was written before its column was promoted is
// read in its old form: long from 4 bytes, double from 4, timestamps from a date. A fixed may be
// shorter than its type, because bounds are truncated. Strings are taken as they are.
// kCorruption when the length is wrong; kUnimplemented as above.
Result<Value> DecodeValue(const Type& type, std::string_view bytes);

// Orders two values of `type` as bounds are ordered: null first, numbers by value with -0.0 before
// +0.0 (IEEE 754 totalOrder), bytes and strings by unsigned bytes, which for UTF-8 is the order of
// code points. Both must be of the type.
std::strong_ordering CompareValues(const Type& type, const Value& a, const Value& b);

}  // namespace lake::iceberg
