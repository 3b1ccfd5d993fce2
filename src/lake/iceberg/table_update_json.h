#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/table_update.h"

namespace lake::iceberg {

// The JSON form of table updates, as in REST messages: a list of objects, each with its action.

// Parses a list of updates. kInvalidArgument, saying which one: for an unknown action, naming it, and
// for a member that is missing or of the wrong type, naming that. Updates of views are unknown ones.
// Partition fields without ids get id 0: the table gives them theirs. The older names "updated" and
// "removed" of set-properties and remove-properties are read, too. Members that are not of the action
// are passed over; those of a part that is to be kept (a schema, a snapshot, …) are kept.
Result<std::vector<TableUpdate>> ParseTableUpdates(std::string_view text);

// Returns the compact JSON of the updates. Equal updates give equal text.
std::string WriteTableUpdates(const std::vector<TableUpdate>& updates);

}  // namespace lake::iceberg
