#pragma once

#include "lake/iceberg/table_metadata.h"

namespace lake::iceberg {

// The property by which a table says whether its files may be removed when nothing in it needs them.
inline constexpr char kGarbageCollectionProperty[] = "gc.enabled";

// Whether the table's files are its own. Where gc.enabled is there and not "true", in whatever case, they may belong to other tables,
// too: then nothing that a snapshot named is ever removed.
bool OwnsItsFiles(const TableMetadata& metadata);

}  // namespace lake::iceberg
