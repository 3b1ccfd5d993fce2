#include "lake/iceberg/type.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/check.h"
#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/quoted_internal.h"

namespace lake::iceberg {
namespace {

struct NamedKind {
  std::string_view name;
  TypeKind kind;
};

// The types that are written as one word.
constexpr std::array kPlain{
    NamedKind{"unknown", TypeKind::kUnknown},
    NamedKind{"boolean", TypeKind::kBoolean},
    NamedKind{"int", TypeKind::kInt},
    NamedKind{"long", TypeKind::kLong},
    NamedKind{"float", TypeKind::kFloat},
    NamedKind{"double", TypeKind::kDouble},
    NamedKind{"date", TypeKind::kDate},
    NamedKind{"time", TypeKind::kTime},
    NamedKind{"timestamp", TypeKind::kTimestamp},
    NamedKind{"timestamptz", TypeKind::kTimestamptz},
    NamedKind{"timestamp_ns", TypeKind::kTimestampNs},
    NamedKind{"timestamptz_ns", TypeKind::kTimestamptzNs},
    NamedKind{"string", TypeKind::kString},
    NamedKind{"uuid", TypeKind::kUuid},
    NamedKind{"binary", TypeKind::kBinary},
    NamedKind{"variant", TypeKind::kVariant},
};

constexpr std::array<std::string_view, 5> kEdgeAlgorithms{"spherical", "vincenty", "thomas",
                                                          "andoyer", "karney"};

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

bool ParseNumber(std::string_view text, std::int32_t& number) {
  text = Trim(text);
  if (text.empty() || text.front() == '-') {
    return false;
  }
  const char* end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, number);
  return failure == std::errc() && stopped == end;
}

// Splits "name(a, b)" into its name and what stands between the brackets. Without brackets there is
// only a name.
struct Parameterized {
  std::string_view name;
  std::string_view parameters;
  char open = '\0';
};

bool Split(std::string_view text, Parameterized& out) {
  const std::size_t open = text.find_first_of("([");
  if (open == std::string_view::npos) {
    out = {.name = text, .parameters = {}};
    return true;
  }
  const char close = text[open] == '(' ? ')' : ']';
  if (text.back() != close) {
    return false;
  }
  out = {.name = Trim(text.substr(0, open)),
         .parameters = text.substr(open + 1, text.size() - open - 2),
         .open = text[open]};
  return true;
}

std::unexpected<Error> UnknownType(std::string_view text) {
  return InvalidArgument(fmt::format("unknown type {}", Quoted(text)));
}

Result<Type> ParseDecimal(std::string_view text, std::string_view parameters) {
  const std::size_t comma = parameters.find(',');
  std::int32_t precision = 0;
  std::int32_t scale = 0;
  if (comma == std::string_view::npos || !ParseNumber(parameters.substr(0, comma), precision) ||
      !ParseNumber(parameters.substr(comma + 1), scale)) {
    return UnknownType(text);
  }
  if (precision < 1 || precision > kDecimalPrecisionMax || scale > precision) {
    return InvalidArgument(
        fmt::format("type decimal({},{}): precision must be 1 to {} and scale at most precision",
                    precision, scale, kDecimalPrecisionMax));
  }
  return Type::Decimal(precision, scale);
}

Result<Type> ParseGeography(std::string_view text, std::string_view parameters) {
  const std::size_t comma = parameters.rfind(',');
  const std::string_view crs = Trim(parameters.substr(0, comma));
  std::string_view algorithm;
  if (comma != std::string_view::npos) {
    algorithm = Trim(parameters.substr(comma + 1));
    if (std::ranges::find(kEdgeAlgorithms, algorithm) == kEdgeAlgorithms.end()) {
      return InvalidArgument(fmt::format("type {}: unknown edge algorithm", Quoted(text)));
    }
  }
  if (crs.empty()) {
    return UnknownType(text);
  }
  return Type::Geography(std::string(crs), std::string(algorithm));
}

std::string FieldText(const NestedField& field) {
  return fmt::format("{}: {}: {} {}", std::to_underlying(field.id), field.name,
                     field.required ? "required" : "optional", field.type.ToString());
}

}  // namespace

struct Type::Details {
  std::vector<NestedField> fields;
  std::string crs;
  std::string algorithm;
  UnknownMembers unknown;

  bool operator==(const Details&) const = default;

  static const Details& None() {
    static const Details kNone;
    return kNone;
  }
};

Type Type::Of(TypeKind kind) {
  LAKE_CHECK(kind < TypeKind::kGeometry && kind != TypeKind::kDecimal && kind != TypeKind::kFixed,
             "a type with parameters has a maker of its own");
  Type type;
  type.kind_ = kind;
  return type;
}

Type Type::Boolean() {
  return Of(TypeKind::kBoolean);
}

Type Type::Int() {
  return Of(TypeKind::kInt);
}

Type Type::Long() {
  return Of(TypeKind::kLong);
}

Type Type::Float() {
  return Of(TypeKind::kFloat);
}

Type Type::Double() {
  return Of(TypeKind::kDouble);
}

Type Type::Date() {
  return Of(TypeKind::kDate);
}

Type Type::Time() {
  return Of(TypeKind::kTime);
}

Type Type::Timestamp() {
  return Of(TypeKind::kTimestamp);
}

Type Type::Timestamptz() {
  return Of(TypeKind::kTimestamptz);
}

Type Type::TimestampNs() {
  return Of(TypeKind::kTimestampNs);
}

Type Type::TimestamptzNs() {
  return Of(TypeKind::kTimestamptzNs);
}

Type Type::String() {
  return Of(TypeKind::kString);
}

Type Type::Uuid() {
  return Of(TypeKind::kUuid);
}

Type Type::Binary() {
  return Of(TypeKind::kBinary);
}

Type Type::Decimal(std::int32_t precision, std::int32_t scale) {
  LAKE_CHECK(
      precision >= 1 && precision <= kDecimalPrecisionMax && scale >= 0 && scale <= precision,
      "a decimal's parameters are in range");
  Type type;
  type.kind_ = TypeKind::kDecimal;
  type.first_ = precision;
  type.second_ = scale;
  return type;
}

Type Type::Fixed(std::int32_t length) {
  LAKE_CHECK(length >= 0, "a length is not negative");
  Type type;
  type.kind_ = TypeKind::kFixed;
  type.first_ = length;
  return type;
}

Type Type::Geometry(std::string crs) {
  Type type;
  type.kind_ = TypeKind::kGeometry;
  if (!crs.empty()) {
    type.details_ = std::make_shared<Details>(Details{.crs = std::move(crs)});
  }
  return type;
}

Type Type::Geography(std::string crs, std::string algorithm) {
  LAKE_CHECK(!crs.empty() || algorithm.empty(), "an algorithm follows a named reference system");
  Type type;
  type.kind_ = TypeKind::kGeography;
  if (!crs.empty()) {
    type.details_ = std::make_shared<Details>(
        Details{.crs = std::move(crs), .algorithm = std::move(algorithm)});
  }
  return type;
}

Type Type::Struct(std::vector<NestedField> fields, UnknownMembers unknown) {
  Type type;
  type.kind_ = TypeKind::kStruct;
  type.details_ = std::make_shared<Details>(
      Details{.fields = std::move(fields), .unknown = std::move(unknown)});
  return type;
}

Type Type::List(FieldId element_id, Type element, bool element_required, UnknownMembers unknown) {
  Type type = Struct({NestedField{.id = element_id,
                                  .name = "element",
                                  .required = element_required,
                                  .type = std::move(element)}},
                     std::move(unknown));
  type.kind_ = TypeKind::kList;
  return type;
}

Type Type::Map(FieldId key_id, Type key, FieldId value_id, Type value, bool value_required,
               UnknownMembers unknown) {
  Type type = Struct(
      {NestedField{.id = key_id, .name = "key", .required = true, .type = std::move(key)},
       NestedField{
           .id = value_id, .name = "value", .required = value_required, .type = std::move(value)}},
      std::move(unknown));
  type.kind_ = TypeKind::kMap;
  return type;
}

Result<Type> Type::Parse(std::string_view text) {
  Parameterized parts;
  if (!Split(Trim(text), parts)) {
    return UnknownType(text);
  }
  if (parts.open == '\0') {
    const auto* plain = std::ranges::find(kPlain, parts.name, &NamedKind::name);
    if (plain != kPlain.end()) {
      return Of(plain->kind);
    }
    if (parts.name == "geometry") {
      return Geometry("");
    }
    if (parts.name == "geography") {
      return Geography("", "");
    }
    return UnknownType(text);
  }
  if (parts.name == "fixed" && parts.open == '[') {
    std::int32_t length = 0;
    if (!ParseNumber(parts.parameters, length)) {
      return UnknownType(text);
    }
    return Fixed(length);
  }
  if (parts.name == "decimal" && parts.open == '(') {
    return ParseDecimal(text, parts.parameters);
  }
  if (parts.name == "geometry" && parts.open == '(' && !Trim(parts.parameters).empty()) {
    return Geometry(std::string(Trim(parts.parameters)));
  }
  if (parts.name == "geography" && parts.open == '(') {
    return ParseGeography(text, parts.parameters);
  }
  return UnknownType(text);
}

bool Type::is_nested() const {
  return kind_ == TypeKind::kStruct || kind_ == TypeKind::kList || kind_ == TypeKind::kMap;
}

std::int32_t Type::precision() const {
  LAKE_CHECK(kind_ == TypeKind::kDecimal, "only a decimal has a precision");
  return first_;
}

std::int32_t Type::scale() const {
  LAKE_CHECK(kind_ == TypeKind::kDecimal, "only a decimal has a scale");
  return second_;
}

std::int32_t Type::length() const {
  LAKE_CHECK(kind_ == TypeKind::kFixed, "only a fixed has a length");
  return first_;
}

const std::string& Type::crs() const {
  LAKE_CHECK(kind_ == TypeKind::kGeometry || kind_ == TypeKind::kGeography,
             "only geometry and geography have a reference system");
  return details_ == nullptr ? Details::None().crs : details_->crs;
}

const std::string& Type::algorithm() const {
  LAKE_CHECK(kind_ == TypeKind::kGeography, "only geography has an edge algorithm");
  return details_ == nullptr ? Details::None().algorithm : details_->algorithm;
}

const std::vector<NestedField>& Type::fields() const {
  return details_ == nullptr ? Details::None().fields : details_->fields;
}

const NestedField& Type::element() const {
  LAKE_CHECK(kind_ == TypeKind::kList, "only a list has an element");
  return details_->fields[0];
}

const NestedField& Type::key() const {
  LAKE_CHECK(kind_ == TypeKind::kMap, "only a map has a key");
  return details_->fields[0];
}

const NestedField& Type::value() const {
  LAKE_CHECK(kind_ == TypeKind::kMap, "only a map has a value");
  return details_->fields[1];
}

const UnknownMembers& Type::unknown() const {
  return details_ == nullptr ? Details::None().unknown : details_->unknown;
}

std::string Type::ToString() const {
  switch (kind_) {
    case TypeKind::kDecimal:
      return fmt::format("decimal({},{})", first_, second_);
    case TypeKind::kFixed:
      return fmt::format("fixed[{}]", first_);
    case TypeKind::kGeometry:
      return crs().empty() ? "geometry" : fmt::format("geometry({})", crs());
    case TypeKind::kGeography:
      if (crs().empty()) {
        return "geography";
      }
      return algorithm().empty() ? fmt::format("geography({})", crs())
                                 : fmt::format("geography({}, {})", crs(), algorithm());
    case TypeKind::kStruct: {
      std::string text = "struct<";
      for (const NestedField& field : fields()) {
        text += (text.back() == '<' ? "" : ", ") + FieldText(field);
      }
      return text + ">";
    }
    case TypeKind::kList:
      return fmt::format("list<{}>", element().type.ToString());
    case TypeKind::kMap:
      return fmt::format("map<{}, {}>", key().type.ToString(), value().type.ToString());
    default:
      return std::string(std::ranges::find(kPlain, kind_, &NamedKind::kind)->name);
  }
}

bool Type::operator==(const Type& other) const {
  if (kind_ != other.kind_ || first_ != other.first_ || second_ != other.second_) {
    return false;
  }
  if (details_ == other.details_) {
    return true;
  }
  return details_ != nullptr && other.details_ != nullptr && *details_ == *other.details_;
}

int MinFormatVersion(TypeKind kind) {
  switch (kind) {
    case TypeKind::kUnknown:
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs:
    case TypeKind::kVariant:
    case TypeKind::kGeometry:
    case TypeKind::kGeography:
      return 3;
    case TypeKind::kBoolean:
    case TypeKind::kInt:
    case TypeKind::kLong:
    case TypeKind::kFloat:
    case TypeKind::kDouble:
    case TypeKind::kDecimal:
    case TypeKind::kDate:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz:
    case TypeKind::kString:
    case TypeKind::kUuid:
    case TypeKind::kFixed:
    case TypeKind::kBinary:
    case TypeKind::kStruct:
    case TypeKind::kList:
    case TypeKind::kMap:
      return 1;
  }
  LAKE_CHECK(false, "every kind of type has a format version");
}

}  // namespace lake::iceberg
