#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/table_requirement.h"

namespace lake::iceberg {

// The JSON form of table requirements, as in REST messages: a list of objects, each with its type.

// Parses a list of requirements. kInvalidArgument, saying which one: for an unknown type, naming it,
// and for a member that is missing or of the wrong type, naming that. Requirements of views are
// unknown ones. A ref without a snapshot-id is one that must not exist: the specification wants a null
// there, and the Java and Python implementations read nothing as one. Members that are not of the type
// are passed over.
Result<std::vector<TableRequirement>> ParseTableRequirements(std::string_view text);

// Returns the compact JSON of the requirements. Equal requirements give equal text.
std::string WriteTableRequirements(const std::vector<TableRequirement>& requirements);

}  // namespace lake::iceberg
