#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lake/base/json_internal.h"
#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/cli/context.h"
#include "lake/cli/failure.h"
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

// What a change of the catalog answers.
struct Change {
  std::string_view verb;  // "created"
  std::string_view kind;  // "table"
  std::string name;
  boost::json::object about;  // What JSON says of it besides, between its name and its epoch.
  std::uint64_t epoch = 0;
  Uuid operation;
  bool replayed = false;
};

// Writes it, and notes that it is made.
Outcome PrintChange(Context& context, const Change& change);

// Returns a snapshot id as JSON: a string, because many JSON readers round integers above 2^53. null for none (-1).
boost::json::value SnapshotJson(std::int64_t snapshot_id);

}  // namespace lake::cli
