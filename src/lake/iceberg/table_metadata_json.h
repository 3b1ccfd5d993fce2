#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lake/base/result.h"
#include "lake/iceberg/table_metadata.h"

namespace lake::iceberg {

// The file form of table metadata: JSON as in the specification's appendix C.

// The largest metadata file Lake reads, counted uncompressed.
inline constexpr std::size_t kTableMetadataBytesMax = 512UL * 1024 * 1024;

// Parses a metadata file, plain or gzipped (told by its first bytes), of any format version Lake
// knows. What older versions leave out is filled in: v1's single schema and spec become lists, ids
// count up, sequence numbers are 0; current-snapshot-id -1 means none; a missing main branch is
// made of the current snapshot. Members Lake does not know are kept.
//
//   kUnimplemented    the format version is unknown: a newer program is needed.
//   kInvalidArgument  anything else: not JSON, a member missing or of the wrong type, or a rule of
//                     Validate broken. The message says where. A caller that read the bytes from a
//                     table reports corruption.
Result<TableMetadata> ParseTableMetadata(std::string_view bytes);

// Returns the compact JSON of metadata in its own format version. Equal metadata gives equal bytes.
// Never writes a current-snapshot-id of -1, nor (after v1) the deprecated single schema and spec.
// Returns the error of Validate, and kInvalidArgument for content that ParseTableMetadata would
// refuse as too deep or too large.
Result<std::string> WriteTableMetadata(const TableMetadata& metadata);

}  // namespace lake::iceberg
