#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"

namespace lake::iceberg {

struct NestedField;

// How deeply types may nest in a schema that Lake reads or writes. Its JSON then stays within the
// depth Lake can parse.
inline constexpr std::size_t kTypeDepthMax = 64;

// The highest precision of a decimal.
inline constexpr std::int32_t kDecimalPrecisionMax = 38;

// The types of the specification, without their parameters.
enum class TypeKind {
  kUnknown,  // v3: always null.
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kDecimal,
  kDate,
  kTime,
  kTimestamp,
  kTimestamptz,
  kTimestampNs,    // v3
  kTimestamptzNs,  // v3
  kString,
  kUuid,
  kFixed,
  kBinary,
  kVariant,    // v3; neither primitive nor nested.
  kGeometry,   // v3
  kGeography,  // v3
  kStruct,
  kList,
  kMap,
};

// An Iceberg type: an immutable value, cheap to copy (nested types share their fields). The default
// one is `unknown`.
class Type {
 public:
  Type() = default;

  // Makes a type without parameters. `kind` is neither nested nor one of kDecimal, kFixed,
  // kGeometry and kGeography.
  static Type Of(TypeKind kind);

  // The types without parameters, by name.
  static Type Boolean();
  static Type Int();
  static Type Long();
  static Type Float();
  static Type Double();
  static Type Date();
  static Type Time();
  static Type Timestamp();
  static Type Timestamptz();
  static Type TimestampNs();
  static Type TimestamptzNs();
  static Type String();
  static Type Uuid();
  static Type Binary();

  // 1 ≤ precision ≤ kDecimalPrecisionMax and 0 ≤ scale ≤ precision.
  static Type Decimal(std::int32_t precision, std::int32_t scale);
  // length ≥ 0.
  static Type Fixed(std::int32_t length);
  // An empty parameter stands for its default (OGC:CRS84, spherical) and is not printed.
  static Type Geometry(std::string crs);
  static Type Geography(std::string crs, std::string algorithm);

  // `unknown` holds the members of the type's JSON object that Lake does not know.
  static Type Struct(std::vector<NestedField> fields, UnknownMembers unknown = {});
  // Makes list<element>. The field's name is always "element".
  static Type List(FieldId element_id, Type element, bool element_required,
                   UnknownMembers unknown = {});
  // Makes map<key, value>. The fields' names are always "key" (required) and "value".
  static Type Map(FieldId key_id, Type key, FieldId value_id, Type value, bool value_required,
                  UnknownMembers unknown = {});

  // Parses the text of a type that is no struct, list or map: "long", "decimal(9, 2)", "fixed[16]".
  // Spaces around parameters are allowed. Anything else, and parameters out of range, is
  // kInvalidArgument.
  static Result<Type> Parse(std::string_view text);

  TypeKind kind() const { return kind_; }

  bool is_nested() const;

  bool is_primitive() const { return !is_nested() && kind_ != TypeKind::kVariant; }

  // Only for decimals.
  std::int32_t precision() const;
  std::int32_t scale() const;
  // Only for fixed.
  std::int32_t length() const;
  // Only for geometry and geography; empty for the default.
  const std::string& crs() const;
  // Only for geography; empty for the default.
  const std::string& algorithm() const;

  // The fields of a struct, the element of a list, or key and value of a map; none for other types.
  const std::vector<NestedField>& fields() const;
  const NestedField& element() const;  // Only for lists.
  const NestedField& key() const;      // Only for maps.
  const NestedField& value() const;    // Only for maps.
  // Members of a nested type's JSON object that Lake does not know.
  const UnknownMembers& unknown() const;

  // Returns the canonical text of a type that is not nested, e.g. "decimal(9,2)", and for people a
  // text like "struct<1: id: required long, 2: tags: optional list<string>>" of a nested one.
  std::string ToString() const;

  bool operator==(const Type& other) const;

 private:
  struct Details;

  TypeKind kind_ = TypeKind::kUnknown;
  std::int32_t first_ = 0;                  // Precision of a decimal, length of a fixed.
  std::int32_t second_ = 0;                 // Scale of a decimal.
  std::shared_ptr<const Details> details_;  // Fields and text parameters; null if there are none.
};

// A field of a struct (a column, if the struct is the schema), or the element, key or value of a
// list or map.
struct NestedField {
  FieldId id{};
  std::string name;
  bool required = false;
  Type type;
  std::optional<std::string> doc;
  // Defaults (v3) in the JSON single-value form of the specification's appendix D.
  std::optional<JsonText> initial_default;
  std::optional<JsonText> write_default;
  UnknownMembers unknown;

  bool operator==(const NestedField&) const = default;
};

// Returns the earliest format version in which the type itself (not its fields) is allowed.
int MinFormatVersion(TypeKind kind);

}  // namespace lake::iceberg
