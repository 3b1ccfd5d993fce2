#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/cli/output.h"
#include "lake/cli/rows.h"

namespace lake::cli {

// Writes one JSON value, indented.
Status PrintJson(Output& out, const boost::json::value& value);

// Writes lines of a name and what belongs to it, in two aligned columns.
Status PrintFields(Output& out, const std::vector<std::pair<std::string, std::string>>& fields);

// Writes a whole table. A row has as many texts as there are columns.
Status PrintTable(Output& out, const std::vector<ResultColumn>& columns,
                  const std::vector<std::vector<std::string>>& rows);

// Returns a snapshot id as JSON: a string, because many JSON readers round integers above 2^53. null for none (-1).
boost::json::value SnapshotJson(std::int64_t snapshot_id);

}  // namespace lake::cli
