#pragma once

#include <string>
#include <vector>

#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"

namespace lake::iceberg {

// How one value orders rows, and where rows without it go.
enum class SortDirection { kAscending, kDescending };
enum class NullOrder { kNullsFirst, kNullsLast };

// One value that orders rows, made of source columns.
struct SortField {
  std::vector<FieldId> source_ids;  // More than one only for v3's multi-argument transforms.
  std::string transform;            // As written, also names Lake does not know.
  SortDirection direction = SortDirection::kAscending;
  NullOrder null_order = NullOrder::kNullsFirst;
  UnknownMembers unknown;

  bool operator==(const SortField&) const = default;
};

// How rows are ordered within a file. The default one is "unsorted": id 0 and no fields.
struct SortOrder {
  SortOrderId order_id{0};
  std::vector<SortField> fields;
  UnknownMembers unknown;

  bool operator==(const SortOrder&) const = default;
};

}  // namespace lake::iceberg
