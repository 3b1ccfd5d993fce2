#include "lake/iceberg/partition_spec.h"

#include <algorithm>

namespace lake::iceberg {

bool PartitionSpec::is_unpartitioned() const {
  return std::ranges::all_of(fields,
                             [](const PartitionField& field) { return field.transform == "void"; });
}

bool PartitionSpec::SameAs(const PartitionSpec& other) const {
  return std::ranges::equal(
      fields, other.fields, [](const PartitionField& a, const PartitionField& b) {
        return a.source_ids == b.source_ids && a.transform == b.transform && a.name == b.name;
      });
}

}  // namespace lake::iceberg
