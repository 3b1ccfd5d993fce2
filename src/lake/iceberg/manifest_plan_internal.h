#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/avro_schema_internal.h"
#include "lake/iceberg/avro_wire_internal.h"
#include "lake/iceberg/manifest_fields_internal.h"
#include "lake/iceberg/type.h"
#include "lake/iceberg/value.h"

namespace lake::iceberg {

// A plan says, once per file, how the records of one writer's schema fill our structs: which of its
// fields is which of ours, by field id, and how each is encoded. Everything that can be wrong with
// the schema is found while planning, so that decoding an entry only follows the plan.

// Where a value is and how it is recognised as null.
struct AvroSlot {
  enum class Presence : std::uint8_t {
    kAlways,    // `type` follows.
    kOptional,  // A union of null and `type`, in either order.
    kUnion,     // `type` is a union of several types, each acceptable, or null itself.
  };

  Presence presence = Presence::kAlways;
  std::uint8_t null_branch = 0;  // Of kOptional.
  const AvroNode* type = nullptr;
};

// Reads what stands before a value. Returns the type of the value, or nullptr for null.
inline const AvroNode* EnterAvroSlot(AvroInput& in, const AvroSlot& slot) {
  if (slot.presence == AvroSlot::Presence::kAlways) {
    return slot.type;
  }
  if (slot.presence == AvroSlot::Presence::kOptional) {
    const std::int64_t branch = in.ReadLong();
    if ((branch & ~std::int64_t{1}) != 0) [[unlikely]] {
      in.Fail("a union has no such branch");
      return nullptr;
    }
    return branch == slot.null_branch ? nullptr : slot.type;
  }
  const AvroNode& branch = ReadAvroBranch(in, *slot.type);
  return branch.kind == AvroKind::kNull ? nullptr : &branch;
}

// One field of a writer's record.
struct PlannedField {
  bool skip = false;  // Not one of ours, or of no interest: `slot.type` is read past.
  ManifestField field{};
  bool required = false;  // Null is damage.
  AvroSlot slot;
  // Of a map written as an array of records: that record, and where key and value are in it. Of a
  // list: its element in `inner_value`.
  const AvroNode* entry = nullptr;
  std::size_t entry_key = 0;
  std::size_t entry_value = 0;
  bool entry_plain = false;  // The key, then the value, and nothing may be null.
  AvroSlot inner_key;
  AvroSlot inner_value;
};

// One for each field of the writer's record, in its order.
using RecordPlan = std::vector<PlannedField>;

// Plans a record against our fields of it. kCorruption, naming the field, when a field is there
// twice, has a type that does not fit, or is missing although nothing can be filled in.
Result<RecordPlan> PlanRecord(const AvroNode& record, std::span<const ManifestFieldSpec> specs,
                              std::string_view what);

// Returns the fields of `specs` that a plan lacks.
std::vector<ManifestField> AbsentFields(const RecordPlan& plan,
                                        std::span<const ManifestFieldSpec> specs);

// Returns the record a slot holds; kCorruption if it holds anything else.
Result<const AvroNode*> RecordOf(const AvroSlot& slot, std::string_view what);

// One field of a writer's partition record.
struct PlannedPartitionField {
  bool skip = false;
  std::size_t position = 0;  // In the tuple.
  AvroSlot slot;
  Type type;
};

// How the writer's partition record fills our tuples.
struct PartitionPlan {
  // Of the tuples, with the types of fields that were unknown taken from the writer's schema.
  Type type;
  std::vector<PlannedPartitionField> fields;
};

// Plans the partition record. `void_fields` says which fields are always null, whatever is stored.
// `record` may be nullptr if there is none. Errors as for PlanRecord.
Result<PartitionPlan> PlanPartition(const AvroNode* record, const Type& partition_type,
                                    const std::vector<bool>& void_fields);

// Reads a text or bytes value, of any kind that holds such.
std::string_view ReadAvroText(AvroInput& in, const AvroNode& type);

// Reads a partition value that is not null.
Value ReadPartitionValue(AvroInput& in, const AvroNode& node, const Type& type);

}  // namespace lake::iceberg
