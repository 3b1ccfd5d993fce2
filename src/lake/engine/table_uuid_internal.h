#pragma once

#include <optional>
#include <string_view>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/objstore/objstore.h"

// Included by sources only.
namespace lake::engine {

// Returns the table-uuid of the JSON object whose text begins with `prefix`, if the prefix goes that far and no further look is
// needed: the member stands at the top level. Nothing says nothing.
std::optional<Uuid> TableUuidInPrefix(std::string_view prefix);

// Whether a path has the name of a table's metadata file.
bool IsMetadataFile(std::string_view path);

// Returns the UUID of the table whose metadata a file is, read from the store; nothing when it does not say. Errors are the store's,
// kNotFound among them, and name the file.
Result<std::optional<Uuid>> ReadTableUuid(objstore::ObjectStore& objects,
                                          const objstore::ObjectInfo& file, Deadline deadline);

}  // namespace lake::engine
