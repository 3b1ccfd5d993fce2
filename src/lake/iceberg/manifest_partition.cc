#include "lake/iceberg/manifest_partition.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/result.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {
namespace {

enum class Transform { kIdentity, kBucket, kTruncate, kYear, kMonth, kDay, kHour, kVoid };

// Parses "name" or "name[parameter]". Nothing for an unknown name.
Result<std::optional<Transform>> ParseTransform(std::string_view text) {
  constexpr std::pair<std::string_view, Transform> kPlain[] = {
      {"identity", Transform::kIdentity}, {"year", Transform::kYear}, {"month", Transform::kMonth},
      {"day", Transform::kDay},           {"hour", Transform::kHour}, {"void", Transform::kVoid}};
  for (const auto& [name, transform] : kPlain) {
    if (text == name) {
      return transform;
    }
  }
  constexpr std::pair<std::string_view, Transform> kWithParameter[] = {
      {"bucket[", Transform::kBucket}, {"truncate[", Transform::kTruncate}};
  for (const auto& [prefix, transform] : kWithParameter) {
    if (!text.starts_with(prefix) || !text.ends_with("]")) {
      continue;
    }
    const std::string_view digits = text.substr(prefix.size(), text.size() - prefix.size() - 1);
    std::int32_t parameter = 0;
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), parameter);
    if (failure != std::errc() || end != digits.data() + digits.size() || parameter < 1) {
      return InvalidArgument(
          fmt::format("transform {} needs a positive 32-bit parameter", Quoted(text)));
    }
    return transform;
  }
  return std::nullopt;
}

bool IsDateOrTimestamp(TypeKind kind) {
  return kind == TypeKind::kDate || kind == TypeKind::kTimestamp ||
         kind == TypeKind::kTimestamptz || kind == TypeKind::kTimestampNs ||
         kind == TypeKind::kTimestamptzNs;
}

bool Accepts(Transform transform, const Type& source) {
  const TypeKind kind = source.kind();
  switch (transform) {
    case Transform::kIdentity:
      return source.is_primitive() && kind != TypeKind::kGeometry && kind != TypeKind::kGeography;
    case Transform::kBucket:
      return IsDateOrTimestamp(kind) || kind == TypeKind::kInt || kind == TypeKind::kLong ||
             kind == TypeKind::kDecimal || kind == TypeKind::kTime || kind == TypeKind::kString ||
             kind == TypeKind::kUuid || kind == TypeKind::kFixed || kind == TypeKind::kBinary;
    case Transform::kTruncate:
      return kind == TypeKind::kInt || kind == TypeKind::kLong || kind == TypeKind::kDecimal ||
             kind == TypeKind::kString || kind == TypeKind::kBinary;
    case Transform::kYear:
    case Transform::kMonth:
    case Transform::kDay:
      return IsDateOrTimestamp(kind);
    case Transform::kHour:
      return IsDateOrTimestamp(kind) && kind != TypeKind::kDate;
    case Transform::kVoid:
      return true;
  }
  return false;
}

}  // namespace

Result<Type> TransformResultType(std::string_view transform, const Type& source) {
  LAKE_TRY(const std::optional<Transform> known, ParseTransform(transform));
  if (!known.has_value()) {
    return Unimplemented(fmt::format("transform {} is not known to Lake", Quoted(transform)));
  }
  if (!Accepts(*known, source)) {
    return InvalidArgument(fmt::format("transform {} does not take a column of type {}",
                                       Quoted(transform), source.ToString()));
  }
  switch (*known) {
    case Transform::kIdentity:
    case Transform::kTruncate:
      return source;
    case Transform::kVoid:
      // All its values are null; only a primitive type can be written down for them.
      return source.is_primitive() ? source : Type::Int();
    case Transform::kDay:
      return Type::Date();
    case Transform::kBucket:
    case Transform::kYear:
    case Transform::kMonth:
    case Transform::kHour:
      return Type::Int();
  }
  return Internal("unknown transform");
}

Result<Type> PartitionType(const PartitionSpec& spec, const Schema& schema) {
  std::vector<NestedField> fields;
  fields.reserve(spec.fields.size());
  for (const PartitionField& field : spec.fields) {
    NestedField& partition = fields.emplace_back();
    partition.id = field.field_id;
    partition.name = field.name;
    const NestedField* source =
        field.source_ids.size() == 1 ? schema.FindField(field.source_ids.front()) : nullptr;
    if (source == nullptr) {
      // A void field may outlive its column.
      partition.type = field.transform == "void" ? Type::Int() : Type();
      continue;
    }
    auto type = TransformResultType(field.transform, source->type);
    if (type.has_value()) {
      partition.type = *std::move(type);
    } else if (type.error().code() != ErrorCode::kUnimplemented) {
      return std::unexpected(
          type.error().With(fmt::format("partition field {}", Quoted(field.name))));
    }
  }
  return Type::Struct(std::move(fields));
}

}  // namespace lake::iceberg
