#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/avro_schema_internal.h"
#include "lake/iceberg/avro_wire_internal.h"
#include "lake/iceberg/manifest_fields_internal.h"
#include "lake/iceberg/manifest_plan_internal.h"
#include "lake/iceberg/quoted_internal.h"
#include "lake/iceberg/type.h"
#include "lake/iceberg/value.h"
#include "lake/iceberg/value_bounds.h"

namespace lake::iceberg {
namespace {

using Kinds = std::uint32_t;

constexpr Kinds Bit(AvroKind kind) {
  return Kinds{1} << static_cast<unsigned>(kind);
}

constexpr Kinds kWholeNumbers = Bit(AvroKind::kInt) | Bit(AvroKind::kLong);
constexpr Kinds kTexts = Bit(AvroKind::kString) | Bit(AvroKind::kBytes) | Bit(AvroKind::kEnum);
constexpr Kinds kByteStrings =
    Bit(AvroKind::kBytes) | Bit(AvroKind::kFixed) | Bit(AvroKind::kString);

constexpr std::size_t kUuidBytes = 16;

std::unexpected<Error> Misfit(std::string_view what, const AvroNode& node) {
  return Corruption(
      fmt::format("{} has the avro type {}, which does not fit", what, AvroKindName(node.kind)));
}

// Finds out how a value of one of `kinds` is stored in `node`. Kinds with parts (records, arrays)
// may have no other type beside them in a union but null.
Result<AvroSlot> MakeSlot(const AvroNode& node, Kinds kinds, std::string_view what) {
  const auto fits = [kinds](const AvroNode& type) { return (Bit(type.kind) & kinds) != 0; };
  if (node.kind == AvroKind::kNull) {
    return AvroSlot{.presence = AvroSlot::Presence::kUnion, .type = &node};
  }
  if (node.kind != AvroKind::kUnion) {
    if (!fits(node)) {
      return Misfit(what, node);
    }
    return AvroSlot{.presence = AvroSlot::Presence::kAlways, .type = &node};
  }
  std::size_t values = 0;
  const AvroNode* value = nullptr;
  for (const AvroNode* branch : node.inner) {
    if (branch->kind == AvroKind::kNull) {
      continue;
    }
    if (!fits(*branch)) {
      return Misfit(what, *branch);
    }
    value = branch;
    ++values;
  }
  if (values == 1 && node.inner.size() == 2) {
    return AvroSlot{.presence = AvroSlot::Presence::kOptional,
                    .null_branch = static_cast<std::uint8_t>(node.inner[0] == value ? 1 : 0),
                    .type = value};
  }
  if (values > 0 && (Bit(value->kind) & (Bit(AvroKind::kRecord) | Bit(AvroKind::kArray))) != 0) {
    return Misfit(what, node);
  }
  return AvroSlot{.presence = AvroSlot::Presence::kUnion, .type = &node};
}

// The types a slot can hold, null left out.
std::vector<const AvroNode*> TypesOf(const AvroSlot& slot) {
  if (slot.presence != AvroSlot::Presence::kUnion) {
    return {slot.type};
  }
  std::vector<const AvroNode*> types;
  for (const AvroNode* branch : slot.type->inner) {
    if (branch->kind != AvroKind::kNull) {
      types.push_back(branch);
    }
  }
  return types;
}

Kinds KindsOf(ManifestShape shape) {
  switch (shape) {
    case ManifestShape::kBoolean:
      return Bit(AvroKind::kBoolean);
    case ManifestShape::kInt:
    case ManifestShape::kLong:
      return kWholeNumbers;
    case ManifestShape::kString:
      return kTexts;
    case ManifestShape::kBytes:
      return kByteStrings;
    case ManifestShape::kLongMap:
    case ManifestShape::kBytesMap:
    case ManifestShape::kLongList:
    case ManifestShape::kIntList:
    case ManifestShape::kRecordList:
      return Bit(AvroKind::kArray);
    case ManifestShape::kRecord:
      return Bit(AvroKind::kRecord);
  }
  return 0;
}

// Plans the key-value records of a map. They are found by id, and by the names of the specification
// when a writer left the ids out.
Status PlanMapEntry(PlannedField& planned, const ManifestFieldSpec& spec, std::string_view what) {
  LAKE_TRY(const AvroSlot item, MakeSlot(planned.slot.type->item(), Bit(AvroKind::kRecord), what));
  if (item.presence != AvroSlot::Presence::kAlways) {
    return Corruption(fmt::format("{} has entries that may be null", what));
  }
  planned.entry = item.type;
  std::optional<std::size_t> key;
  std::optional<std::size_t> value;
  const std::vector<AvroField>& fields = planned.entry->fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::optional<std::int32_t> id = fields[i].field_id;
    if (id.has_value() ? *id == spec.inner_id : fields[i].name == "key") {
      key = i;
    } else if (id.has_value() ? *id == spec.value_id : fields[i].name == "value") {
      value = i;
    }
  }
  if (!key.has_value() || !value.has_value()) {
    return Corruption(fmt::format("{} has entries without key or value", what));
  }
  planned.entry_key = *key;
  planned.entry_value = *value;
  LAKE_TRY(planned.inner_key, MakeSlot(*fields[*key].type, kWholeNumbers, what));
  LAKE_TRY(planned.inner_value,
           MakeSlot(*fields[*value].type,
                    spec.shape == ManifestShape::kLongMap ? kWholeNumbers : kByteStrings, what));
  planned.entry_plain = fields.size() == 2 && *key == 0 &&
                        planned.inner_key.presence == AvroSlot::Presence::kAlways &&
                        planned.inner_value.presence == AvroSlot::Presence::kAlways;
  return {};
}

Status PlanField(PlannedField& planned, const AvroNode& node, const ManifestFieldSpec& spec,
                 std::string_view what) {
  planned.field = spec.field;
  planned.required = spec.required_to_read;
  LAKE_TRY(planned.slot, MakeSlot(node, KindsOf(spec.shape), what));
  if (planned.slot.presence == AvroSlot::Presence::kUnion) {
    // Scalars, or always null: nothing inside to plan.
    return {};
  }
  switch (spec.shape) {
    case ManifestShape::kLongMap:
    case ManifestShape::kBytesMap:
      return PlanMapEntry(planned, spec, what);
    case ManifestShape::kLongList:
    case ManifestShape::kIntList: {
      LAKE_TRY(planned.inner_value, MakeSlot(planned.slot.type->item(), kWholeNumbers, what));
      return {};
    }
    case ManifestShape::kRecordList: {
      LAKE_TRY(planned.inner_value,
               MakeSlot(planned.slot.type->item(), Bit(AvroKind::kRecord), what));
      return {};
    }
    default:
      return {};
  }
}

// Returns the Iceberg type that a writer's schema states; nothing for what no partition value has.
std::optional<Type> TypeOf(const AvroNode& node) {
  const std::string_view logical = node.logical_type;
  const auto decimal = [&]() -> std::optional<Type> {
    const std::int32_t precision = node.precision.value_or(0);
    const std::int32_t scale = node.scale.value_or(0);
    if (precision < 1 || precision > kDecimalPrecisionMax || scale < 0 || scale > precision) {
      return std::nullopt;
    }
    return Type::Decimal(precision, scale);
  };
  switch (node.kind) {
    case AvroKind::kNull:
      return Type();
    case AvroKind::kBoolean:
      return Type::Boolean();
    case AvroKind::kInt:
      return logical == "date" ? Type::Date() : Type::Int();
    case AvroKind::kLong:
      if (logical == "time-micros") {
        return Type::Time();
      }
      if (logical == "timestamp-micros" || logical == "local-timestamp-micros") {
        return node.adjust_to_utc ? Type::Timestamptz() : Type::Timestamp();
      }
      if (logical == "timestamp-nanos" || logical == "local-timestamp-nanos") {
        return node.adjust_to_utc ? Type::TimestamptzNs() : Type::TimestampNs();
      }
      return Type::Long();
    case AvroKind::kFloat:
      return Type::Float();
    case AvroKind::kDouble:
      return Type::Double();
    case AvroKind::kBytes:
      return logical == "decimal" ? decimal() : Type::Binary();
    case AvroKind::kString:
      return logical == "uuid" ? Type::Uuid() : Type::String();
    case AvroKind::kEnum:
      return Type::String();
    case AvroKind::kFixed:
      if (logical == "decimal") {
        return decimal();
      }
      if (logical == "uuid" && node.fixed_bytes == kUuidBytes) {
        return Type::Uuid();
      }
      return Type::Fixed(static_cast<std::int32_t>(node.fixed_bytes));
    case AvroKind::kRecord:
    case AvroKind::kArray:
    case AvroKind::kMap:
    case AvroKind::kUnion:
      return std::nullopt;
  }
  return std::nullopt;
}

// Returns the kinds in which a partition value of the type may be stored; 0 for a type without
// values.
Kinds PartitionKinds(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kBoolean:
      return Bit(AvroKind::kBoolean);
    case TypeKind::kInt:
    case TypeKind::kDate:
    case TypeKind::kLong:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz:
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs:
      return kWholeNumbers;
    case TypeKind::kFloat:
      return Bit(AvroKind::kFloat);
    case TypeKind::kDouble:
      return Bit(AvroKind::kFloat) | Bit(AvroKind::kDouble);
    case TypeKind::kDecimal:
      return Bit(AvroKind::kFixed) | Bit(AvroKind::kBytes);
    case TypeKind::kString:
      return kTexts;
    case TypeKind::kUuid:
    case TypeKind::kFixed:
    case TypeKind::kBinary:
      return kByteStrings;
    case TypeKind::kUnknown:
    case TypeKind::kVariant:
    case TypeKind::kGeometry:
    case TypeKind::kGeography:
    case TypeKind::kStruct:
    case TypeKind::kList:
    case TypeKind::kMap:
      return 0;
  }
  return 0;
}

// Checks what the kind alone does not say: sizes, scales and units.
Status CheckPartitionNode(const AvroNode& node, const Type& type, std::string_view what) {
  const std::string_view logical = node.logical_type;
  if (logical.ends_with("-millis")) {
    return Corruption(
        fmt::format("{} is stored in milliseconds, which Iceberg does not use", what));
  }
  const bool nanos =
      type.kind() == TypeKind::kTimestampNs || type.kind() == TypeKind::kTimestamptzNs;
  if ((logical.ends_with("timestamp-micros") && nanos) ||
      (logical.ends_with("timestamp-nanos") && !nanos)) {
    return Corruption(fmt::format("{} of type {} is stored as {}", what, type.ToString(), logical));
  }
  if (type.kind() == TypeKind::kDecimal) {
    if (node.fixed_bytes > sizeof(Int128)) {
      return Corruption(
          fmt::format("{} is stored in {} bytes, more than a decimal has", what, node.fixed_bytes));
    }
    if (logical == "decimal" && node.scale.value_or(0) != type.scale()) {
      return Corruption(fmt::format("{} of type {} is stored with scale {}", what, type.ToString(),
                                    node.scale.value_or(0)));
    }
  }
  if (node.kind == AvroKind::kFixed &&
      ((type.kind() == TypeKind::kUuid && node.fixed_bytes != kUuidBytes) ||
       (type.kind() == TypeKind::kFixed &&
        node.fixed_bytes != static_cast<std::size_t>(type.length())))) {
    return Corruption(fmt::format("{} of type {} is stored in {} bytes", what, type.ToString(),
                                  node.fixed_bytes));
  }
  return {};
}

// Plans one field of the partition record. Sets `type` if it was unknown.
Status PlanPartitionField(PlannedPartitionField& planned, const AvroNode& node, Type& type,
                          std::string_view what) {
  constexpr Kinds kAll = ~Kinds{0};
  if (type.kind() == TypeKind::kUnknown) {
    const auto slot = MakeSlot(node, kAll, what);
    const auto types = slot.has_value() ? TypesOf(*slot) : std::vector<const AvroNode*>();
    const std::optional<Type> stated = types.size() == 1 ? TypeOf(*types.front()) : std::nullopt;
    if (!stated.has_value() || PartitionKinds(*stated) == 0) {
      planned.skip = true;
      return {};
    }
    type = *stated;
  }
  planned.type = type;
  LAKE_TRY(planned.slot, MakeSlot(node, PartitionKinds(type), what));
  for (const AvroNode* stored : TypesOf(planned.slot)) {
    LAKE_TRY_VOID(CheckPartitionNode(*stored, type, what));
  }
  return {};
}

Decimal DecimalOf(AvroInput& in, std::string_view bytes) {
  if (bytes.empty() || bytes.size() > sizeof(Int128)) {
    in.Fail("a decimal has no or too many bytes");
    return {};
  }
  Int128 unscaled = static_cast<std::int8_t>(bytes.front());
  for (const char byte : bytes.substr(1)) {
    unscaled = unscaled * 256 + static_cast<std::uint8_t>(byte);
  }
  return {unscaled};
}

std::string UuidOf(AvroInput& in, std::string_view bytes) {
  if (bytes.size() == kUuidBytes) {
    return std::string(bytes);
  }
  const Result<Uuid> parsed = Uuid::Parse(bytes);
  if (!parsed.has_value()) {
    in.Fail("a uuid is neither 16 bytes nor the text of one");
    return {};
  }
  return {parsed->bytes().begin(), parsed->bytes().end()};
}

}  // namespace

Result<RecordPlan> PlanRecord(const AvroNode& record, std::span<const ManifestFieldSpec> specs,
                              std::string_view what) {
  if (record.kind != AvroKind::kRecord) {
    return Misfit(what, record);
  }
  RecordPlan plan;
  plan.reserve(record.fields.size());
  for (const AvroField& field : record.fields) {
    PlannedField& planned = plan.emplace_back();
    const auto spec = std::ranges::find_if(specs, [&field](const ManifestFieldSpec& candidate) {
      return field.field_id == std::to_underlying(candidate.field);
    });
    if (spec == specs.end()) {
      planned.skip = true;
      planned.slot.type = field.type;
      continue;
    }
    const std::string name = fmt::format("{} field '{}'", what, spec->name);
    const bool again = std::ranges::any_of(
        plan.begin(), plan.end() - 1,
        [&](const PlannedField& p) { return !p.skip && p.field == spec->field; });
    if (again) {
      return Corruption(fmt::format("{} is there twice", name));
    }
    LAKE_TRY_VOID(PlanField(planned, *field.type, *spec, name));
  }
  for (const ManifestFieldSpec& spec : specs) {
    const bool there = std::ranges::any_of(
        plan, [&spec](const PlannedField& p) { return !p.skip && p.field == spec.field; });
    if (spec.required_to_read && !there) {
      return Corruption(fmt::format("{} field '{}' (id {}) is missing", what, spec.name,
                                    std::to_underlying(spec.field)));
    }
  }
  return plan;
}

std::vector<ManifestField> AbsentFields(const RecordPlan& plan,
                                        std::span<const ManifestFieldSpec> specs) {
  std::vector<ManifestField> absent;
  for (const ManifestFieldSpec& spec : specs) {
    if (std::ranges::none_of(plan, [&spec](const PlannedField& planned) {
          return !planned.skip && planned.field == spec.field;
        })) {
      absent.push_back(spec.field);
    }
  }
  return absent;
}

Result<const AvroNode*> RecordOf(const AvroSlot& slot, std::string_view what) {
  if (slot.presence == AvroSlot::Presence::kUnion) {
    return Misfit(what, *slot.type);
  }
  return slot.type;
}

Result<PartitionPlan> PlanPartition(const AvroNode* record, const Type& partition_type,
                                    const std::vector<bool>& void_fields) {
  PartitionPlan plan;
  std::vector<NestedField> fields = partition_type.fields();
  if (record != nullptr) {
    plan.fields.reserve(record->fields.size());
    for (const AvroField& field : record->fields) {
      PlannedPartitionField& planned = plan.fields.emplace_back();
      planned.slot.type = field.type;
      const auto wanted = std::ranges::find_if(fields, [&field](const NestedField& candidate) {
        return field.field_id == std::to_underlying(candidate.id);
      });
      if (wanted == fields.end()) {
        planned.skip = true;
        continue;
      }
      planned.position = static_cast<std::size_t>(wanted - fields.begin());
      if (void_fields[planned.position]) {
        planned.skip = true;
        continue;
      }
      const std::string what = fmt::format("partition field {}", Quoted(wanted->name));
      LAKE_TRY_VOID(PlanPartitionField(planned, *field.type, wanted->type, what));
      if (planned.skip) {
        planned.slot.type = field.type;
      }
    }
  }
  plan.type = Type::Struct(std::move(fields));
  return plan;
}

std::string_view ReadAvroText(AvroInput& in, const AvroNode& type) {
  switch (type.kind) {
    case AvroKind::kFixed:
      return in.ReadFixed(type.fixed_bytes);
    case AvroKind::kEnum: {
      const auto index = static_cast<std::uint64_t>(in.ReadLong());
      if (index >= type.symbols.size()) {
        in.Fail("an enum has no such symbol");
        return {};
      }
      return type.symbols[index];
    }
    default:
      return in.ReadBytes();
  }
}

Value ReadPartitionValue(AvroInput& in, const AvroNode& node, const Type& type) {
  switch (type.kind()) {
    case TypeKind::kBoolean:
      return in.ReadBoolean();
    case TypeKind::kInt:
    case TypeKind::kDate:
      return in.ReadInt();
    case TypeKind::kLong:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestamptz:
    case TypeKind::kTimestampNs:
    case TypeKind::kTimestamptzNs:
      return in.ReadLong();
    case TypeKind::kFloat:
      return in.ReadFloat();
    case TypeKind::kDouble:
      return node.kind == AvroKind::kFloat ? double{in.ReadFloat()} : in.ReadDouble();
    case TypeKind::kDecimal:
      return DecimalOf(in, ReadAvroText(in, node));
    case TypeKind::kString: {
      const std::string_view text = ReadAvroText(in, node);
      if (!IsUtf8(text)) {
        in.Fail("a string is not UTF-8");
        return {};
      }
      return std::string(text);
    }
    case TypeKind::kBinary:
      return std::string(ReadAvroText(in, node));
    case TypeKind::kUuid:
      return UuidOf(in, ReadAvroText(in, node));
    case TypeKind::kFixed: {
      const std::string_view bytes = ReadAvroText(in, node);
      if (in.ok() && bytes.size() != static_cast<std::size_t>(type.length())) {
        in.Fail("a fixed value has another length than its type");
        return {};
      }
      return std::string(bytes);
    }
    case TypeKind::kUnknown:
    case TypeKind::kVariant:
    case TypeKind::kGeometry:
    case TypeKind::kGeography:
    case TypeKind::kStruct:
    case TypeKind::kList:
    case TypeKind::kMap:
      break;
  }
  in.Fail("a partition value has a type without values");
  return {};
}

}  // namespace lake::iceberg
