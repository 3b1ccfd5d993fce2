#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/schema.h"

namespace lake::cli {

// Reads columns as people write them on the command line, and gives every field at any depth an id of its own, from 1.
//
//   column  name type ["required"]
//   name    a word, or anything in double quotes (a doubled double quote stands for one)
//   type    an Iceberg name: boolean int long float double decimal(p,s) date time timestamp timestamptz string uuid
//           fixed(length) binary
//           struct<name type ["required"], …>   a colon may stand behind the name
//           list<type ["required"]>
//           map<type, type ["required"]>
//
// Type names and "required" are recognised in any case. kInvalidArgument names the column and says what is wrong with it; for an
// unknown type also which ones there are. Two columns of one name are refused too.
Result<iceberg::Schema> ParseColumns(const std::vector<std::string>& columns);

// Returns a type in the syntax above, e.g. "struct<id long required, tags list<string>>".
std::string TypeText(const iceberg::Type& type);

}  // namespace lake::cli
