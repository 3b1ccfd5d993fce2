#include "lake/iceberg/value.h"

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/result.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {
namespace {

constexpr std::size_t kUuidBytes = 16;
constexpr std::int64_t kMicrosPerDay = 86'400'000'000;
constexpr std::int64_t kNanosPerDay = 86'400'000'000'000;

static_assert(std::endian::native == std::endian::little);

template <typename Number>
std::string LittleEndian(Number number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

template <typename Number>
Number FromLittleEndian(std::string_view bytes) {
  Number number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

// The fewest bytes of two's complement, big-endian, that hold the number.
std::string BigEndian(Int128 number) {
  std::string bytes;
  for (int shift = 120; shift >= 0; shift -= 8) {
    const auto byte = static_cast<std::int8_t>(number >> shift);
    // A leading byte that only repeats the sign of the rest carries nothing.
    const bool rest_is_negative = shift > 0 && ((number >> (shift - 1)) & 1) != 0;
    const bool repeats = shift > 0 && byte == (rest_is_negative ? -1 : 0);
    if (!bytes.empty() || !repeats) {
      bytes.push_back(static_cast<char>(byte));
    }
  }
  return bytes;
}

Int128 FromBigEndian(std::string_view bytes) {
  // The sign is in the first byte; shifting the rest in keeps it.
  Int128 number = static_cast<std::int8_t>(bytes.front());
  for (const char byte : bytes.substr(1)) {
    number = number * 256 + static_cast<std::uint8_t>(byte);
  }
  return number;
}

std::unexpected<Error> NoValues(const Type& type) {
  return Unimplemented(
      fmt::format("type {} has no single-value binary form in Lake", type.ToString()));
}

std::unexpected<Error> WrongLength(const Type& type, std::string_view bytes) {
  return Corruption(fmt::format("{} bytes are no value of type {}", bytes.size(), type.ToString()));
}

Result<Value> DaysAs(const Type& type, std::int32_t days, std::int64_t units_per_day) {
  std::int64_t value = 0;
  if (__builtin_mul_overflow(static_cast<std::int64_t>(days), units_per_day, &value)) {
    return Corruption(fmt::format("the date {} does not fit type {}", days, type.ToString()));
  }
  return value;
}

Result<Value> DecodeTimestamp(const Type& type, std::string_view bytes,
                              std::optional<std::int64_t> units_per_day) {
  if (bytes.size() == sizeof(std::int64_t)) {
    return FromLittleEndian<std::int64_t>(bytes);
  }
  if (bytes.size() == sizeof(std::int32_t) && units_per_day.has_value()) {
    return DaysAs(type, FromLittleEndian<std::int32_t>(bytes), *units_per_day);
  }
  return WrongLength(type, bytes);
}

}  // namespace

bool IsValueOf(const Type& type, const Value& value) {
  if (IsNull(value)) {
    return true;
  }
  switch (type.kind()) {
    case TypeKind::kBoolean:
      return std::holds_alternative<bool>(value);
    case TypeKind::kInt:
    case TypeKind::kDate:
      return std::holds_alternative<std::int32_t>(value);
    case TypeKind::kLong:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz:
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs:
      return std::holds_alternative<std::int64_t>(value);
    case TypeKind::kFloat:
      return std::holds_alternative<float>(value);
    case TypeKind::kDouble:
      return std::holds_alternative<double>(value);
    case TypeKind::kDecimal:
      return std::holds_alternative<Decimal>(value);
    case TypeKind::kString:
    case TypeKind::kBinary:
      return std::holds_alternative<std::string>(value);
    case TypeKind::kUuid: {
      const std::string* bytes = std::get_if<std::string>(&value);
      return bytes != nullptr && bytes->size() == kUuidBytes;
    }
    case TypeKind::kFixed: {
      const std::string* bytes = std::get_if<std::string>(&value);
      return bytes != nullptr && bytes->size() <= static_cast<std::size_t>(type.length());
    }
    case TypeKind::kUnknown:
    case TypeKind::kVariant:
    case TypeKind::kGeometry:
    case TypeKind::kGeography:
    case TypeKind::kStruct:
    case TypeKind::kList:
    case TypeKind::kMap:
      return false;
  }
  return false;
}

Result<std::string> EncodeValue(const Type& type, const Value& value) {
  if (IsNull(value)) {
    return InvalidArgument(fmt::format("null has no binary form (type {})", type.ToString()));
  }
  if (!type.is_primitive() || type.kind() == TypeKind::kUnknown ||
      type.kind() == TypeKind::kGeometry || type.kind() == TypeKind::kGeography) {
    return NoValues(type);
  }
  if (!IsValueOf(type, value)) {
    return InvalidArgument(fmt::format("the value is not of type {}", type.ToString()));
  }

  struct Encoder {
    std::string operator()(std::monostate) const { return {}; }

    std::string operator()(bool v) const { return {v ? '\1' : '\0'}; }

    std::string operator()(std::int32_t v) const { return LittleEndian(v); }

    std::string operator()(std::int64_t v) const { return LittleEndian(v); }

    std::string operator()(float v) const { return LittleEndian(v); }

    std::string operator()(double v) const { return LittleEndian(v); }

    std::string operator()(const Decimal& v) const { return BigEndian(v.unscaled); }

    std::string operator()(const std::string& v) const { return v; }
  };

  return std::visit(Encoder{}, value);
}

Result<Value> DecodeValue(const Type& type, std::string_view bytes) {
  switch (type.kind()) {
    case TypeKind::kBoolean:
      if (bytes.size() == 1) {
        return bytes.front() != 0;
      }
      break;
    case TypeKind::kInt:
    case TypeKind::kDate:
      if (bytes.size() == sizeof(std::int32_t)) {
        return FromLittleEndian<std::int32_t>(bytes);
      }
      break;
    case TypeKind::kLong:
      if (bytes.size() == sizeof(std::int32_t)) {
        return std::int64_t{FromLittleEndian<std::int32_t>(bytes)};
      }
      return DecodeTimestamp(type, bytes, std::nullopt);
    case TypeKind::kTime:
    case TypeKind::kTimestamptz:
    case TypeKind::kTimestamptzNs:
      return DecodeTimestamp(type, bytes, std::nullopt);
    case TypeKind::kTimestamp:
      return DecodeTimestamp(type, bytes, kMicrosPerDay);
    case TypeKind::kTimestampNs:
      return DecodeTimestamp(type, bytes, kNanosPerDay);
    case TypeKind::kFloat:
      if (bytes.size() == sizeof(float)) {
        return FromLittleEndian<float>(bytes);
      }
      break;
    case TypeKind::kDouble:
      if (bytes.size() == sizeof(double)) {
        return FromLittleEndian<double>(bytes);
      }
      if (bytes.size() == sizeof(float)) {
        return double{FromLittleEndian<float>(bytes)};
      }
      break;
    case TypeKind::kDecimal:
      if (!bytes.empty() && bytes.size() <= sizeof(Int128)) {
        return Decimal{FromBigEndian(bytes)};
      }
      break;
    case TypeKind::kString:
    case TypeKind::kBinary:
      return std::string(bytes);
    case TypeKind::kUuid:
      if (bytes.size() == kUuidBytes) {
        return std::string(bytes);
      }
      break;
    case TypeKind::kFixed:
      if (bytes.size() <= static_cast<std::size_t>(type.length())) {
        return std::string(bytes);
      }
      break;
    case TypeKind::kUnknown:
    case TypeKind::kVariant:
    case TypeKind::kGeometry:
    case TypeKind::kGeography:
    case TypeKind::kStruct:
    case TypeKind::kList:
    case TypeKind::kMap:
      return NoValues(type);
  }
  return WrongLength(type, bytes);
}

std::strong_ordering CompareValues(const Type& type, const Value& a, const Value& b) {
  LAKE_CHECK(IsValueOf(type, a) && IsValueOf(type, b), "values are compared under their own type");
  if (a.index() != b.index()) {
    // One of them is null, whose index is the lowest.
    return a.index() <=> b.index();
  }

  struct Comparer {
    const Value& other;

    std::strong_ordering operator()(std::monostate) const { return std::strong_ordering::equal; }

    std::strong_ordering operator()(float v) const {
      return std::strong_order(v, std::get<float>(other));
    }

    std::strong_ordering operator()(double v) const {
      return std::strong_order(v, std::get<double>(other));
    }

    std::strong_ordering operator()(const std::string& v) const {
      // char_traits compares as unsigned bytes.
      return v <=> std::get<std::string>(other);
    }

    std::strong_ordering operator()(bool v) const { return v <=> std::get<bool>(other); }

    std::strong_ordering operator()(std::int32_t v) const {
      return v <=> std::get<std::int32_t>(other);
    }

    std::strong_ordering operator()(std::int64_t v) const {
      return v <=> std::get<std::int64_t>(other);
    }

    std::strong_ordering operator()(const Decimal& v) const {
      return v <=> std::get<Decimal>(other);
    }
  };

  return std::visit(Comparer{b}, a);
}

}  // namespace lake::iceberg
