#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"

namespace lake::catalog {

// The longest level of a name, in bytes of UTF-8.
inline constexpr std::size_t kNameLevelBytesMax = 255;

// A namespace: one or more levels, outermost first. A value.
struct Namespace {
  std::vector<std::string> levels;

  // Returns the levels joined by dots, quoted where needed, so that ParseNamespace gives the same
  // namespace back.
  std::string ToString() const;
  // Returns the namespace one level up, which has no levels for a top-level one.
  Namespace parent() const;
  auto operator<=>(const Namespace&) const = default;
};

// The name of a table or view.
struct TableName {
  Namespace ns;
  std::string name;

  // Returns namespace and name joined by dots, quoted where needed, so that ParseTableName gives
  // the same name back.
  std::string ToString() const;
  auto operator<=>(const TableName&) const = default;
};

// Checks one level: 1 to kNameLevelBytesMax bytes of valid UTF-8, no control characters
// (U+0000–U+001F, U+007F–U+009F), not "." or "..". Everything else is allowed. kInvalidArgument
// says which rule is broken.
Status ValidateLevel(std::string_view level);
// Checks every level of a namespace, and that there is one.
Status Validate(const Namespace& ns);
// Checks the namespace and the name.
Status Validate(const TableName& name);

// Reads the form of the command line: levels separated by dots; a level in double quotes may
// contain dots, and a doubled double quote inside stands for one: `a."b.c"` has the levels `a` and
// `b.c`. The result is valid, otherwise kInvalidArgument.
Result<Namespace> ParseNamespace(std::string_view text);
// The same for a table: at least two levels, of which the last is the name.
Result<TableName> ParseTableName(std::string_view text);

}  // namespace lake::catalog
