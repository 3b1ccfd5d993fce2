#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/partition_spec.h"

namespace lake::iceberg {

// The JSON form of a spec's fields alone (the specification's appendix C), as in manifest headers.

// Parses a list of partition fields. If none has a field-id, as v1 writers left them, ids count up
// from kPartitionFieldIdFirst; if only some have, and for anything else that is wrong,
// kInvalidArgument.
Result<std::vector<PartitionField>> ParsePartitionFields(std::string_view text);

// Returns the compact JSON of the fields. Equal fields give equal text.
std::string WritePartitionFields(const std::vector<PartitionField>& fields);

}  // namespace lake::iceberg
