#pragma once

#include <string>
#include <vector>

#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"

namespace lake::iceberg {

// How one partition value is made from source columns.
struct PartitionField {
  std::vector<FieldId> source_ids;  // Columns of the table's schema; more than one only for v3's
                                    // multi-argument transforms.
  FieldId field_id{};
  std::string name;
  std::string transform;  // As written: "identity", "bucket[16]", … also names Lake does not know.
  UnknownMembers unknown;

  bool operator==(const PartitionField&) const = default;
};

// How data files are grouped. The default one is the unpartitioned spec with id 0.
struct PartitionSpec {
  PartitionSpecId spec_id{0};
  std::vector<PartitionField> fields;
  UnknownMembers unknown;

  // Whether every file has the same partition: no fields, or only such as always give null.
  bool is_unpartitioned() const;

  // Whether the two mean the same: equal source columns, transforms and names in order. Ids do not
  // count.
  bool SameAs(const PartitionSpec& other) const;

  bool operator==(const PartitionSpec&) const = default;
};

}  // namespace lake::iceberg
