#pragma once

#include <memory>

#include "lake/iceberg/table_metadata.h"

namespace lake::engine {

// The content of a metadata file, shared and never changed.
using MetadataPtr = std::shared_ptr<const iceberg::TableMetadata>;

}  // namespace lake::engine
