#pragma once

#include <string_view>

#include "lake/base/result.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {

// Returns the type of what `transform` ("identity", "bucket[16]", …, as a partition spec writes it)
// makes of a column of type `source`. kUnimplemented for a transform the specification does not name;
// kInvalidArgument for one that does not take such a column, or whose parameter is wrong.
Result<Type> TransformResultType(std::string_view transform, const Type& source);

// Returns the type of the partition tuples of `spec`: a struct with one optional field per partition
// field, with its id and name, in order. A field whose transform Lake does not know, or whose source
// column is not in `schema`, has type unknown: readers take such values as the file stores them,
// writers refuse. kInvalidArgument, naming the field, for a transform that does not fit its column.
Result<Type> PartitionType(const PartitionSpec& spec, const Schema& schema);

}  // namespace lake::iceberg
