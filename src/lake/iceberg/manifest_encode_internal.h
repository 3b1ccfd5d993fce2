#pragma once

#include <cstdint>
#include <string>

#include "lake/iceberg/manifest.h"
#include "lake/iceberg/type.h"

namespace lake::iceberg {

// The encoders of the records whose schemas manifest_fields_internal.h writes. They append to `out`
// and trust their input: it was checked before.
void EncodeManifestEntry(std::int32_t format_version, const Type& partition_type,
                         const ManifestEntry& entry, std::string& out);
void EncodeManifestFile(std::int32_t format_version, const ManifestFile& manifest,
                        std::string& out);

}  // namespace lake::iceberg
