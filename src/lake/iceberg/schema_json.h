#pragma once

#include <string>
#include <string_view>

#include "lake/base/result.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {

// The JSON form of schemas (the specification's appendix C), as in table metadata, manifest headers
// and REST messages.

// Parses a schema; a missing schema-id is 0. kInvalidArgument, saying where and why.
Result<Schema> ParseSchema(std::string_view text);

// Returns the compact JSON of a schema. Equal schemas give equal text.
std::string WriteSchema(const Schema& schema);

}  // namespace lake::iceberg
