#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/sort_order.h"

// What is checked of a part before it becomes one of a table, whether the table is new or changes.
namespace lake::iceberg {

// Checks a schema: kInvalidArgument, naming the field, for one without a name, or a type the format
// version lacks.
Status CheckNewSchema(const Schema& schema, std::int32_t format_version);

// Returns how many earlier metadata files the metadata log keeps: kPreviousVersionsMaxProperty, at
// least one. kInvalidArgument if that is not a number.
Result<std::size_t> PreviousVersionsMax(const Properties& properties);

// Checks properties: kInvalidArgument for a name that the format reserves, and for the value of one
// that every change of the table needs (PreviousVersionsMax).
Status CheckNewProperties(const Properties& properties);

// Checks partition specs and sort orders against the schema that their columns are of, which must
// outlive this object. Errors name the field. A void field may outlive its column.
class NewPartChecker {
 public:
  explicit NewPartChecker(const Schema& schema);

  // kInvalidArgument for a source column that is missing, inside a list or map, or does not suit the
  // transform, and for a partition name that is empty, used twice or that of a column;
  // kUnimplemented for a transform Lake does not know.
  Status Check(const PartitionSpec& spec) const;
  Status Check(const SortOrder& order) const;

  // Checks only that partition and sort values can be made, as far as Lake knows: unknown transforms
  // pass. For parts that the table has already.
  Status CheckStillFits(const PartitionSpec& spec) const;
  Status CheckStillFits(const SortOrder& order) const;

 private:
  Status CheckSource(const std::vector<FieldId>& source_ids, std::string_view transform) const;
  Status CheckKnownSource(const std::vector<FieldId>& source_ids, std::string_view transform) const;

  const Schema& schema_;
  std::set<FieldId> repeated_;
};

}  // namespace lake::iceberg
