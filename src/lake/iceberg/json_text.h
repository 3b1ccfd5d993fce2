#pragma once

#include <map>
#include <string>

namespace lake::iceberg {

// One JSON value as its compact text: kept, compared and written back, but not interpreted.
struct JsonText {
  std::string text;

  bool operator==(const JsonText&) const = default;
};

// The members of a JSON object that this version of Lake does not know, by name. Whoever rewrites
// the object writes them back, so that a newer writer's additions survive.
using UnknownMembers = std::map<std::string, JsonText>;

// A string-to-string map of the format: table properties, snapshot summaries.
using Properties = std::map<std::string, std::string>;

}  // namespace lake::iceberg
