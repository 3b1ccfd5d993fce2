#pragma once

#include <optional>
#include <string_view>

#include "lake/base/uuid.h"

// Included by sources only.
namespace lake::engine {

// Returns the table-uuid of the JSON object whose text begins with `prefix`, if the prefix goes that far and no further look is
// needed: the member stands at the top level. Nothing says nothing.
std::optional<Uuid> TableUuidInPrefix(std::string_view prefix);

}  // namespace lake::engine
