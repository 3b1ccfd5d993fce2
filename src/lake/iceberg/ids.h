#pragma once

#include <cstdint>

namespace lake::iceberg {

// The numbers of the format, each a type of its own: explicit both ways (`FieldId{3}`,
// `std::to_underlying(id)`), ordered and hashable, and never mixed up with one another.
enum class FieldId : std::int32_t {
};  // A column, nested field or partition field; unique in its table.
enum class SchemaId : std::int32_t {};         // A schema of a table.
enum class PartitionSpecId : std::int32_t {};  // A partition spec of a table.
enum class SortOrderId : std::int32_t {};      // A sort order of a table; 0 is "unsorted".
enum class SnapshotId : std::int64_t {};       // A snapshot of a table; random and positive.

// The highest field id that a table may use; the ones above belong to metadata columns such as
// _file and _pos.
inline constexpr FieldId kFieldIdMax{2147483447};

// What some writers say where there is no snapshot. Lake reads it and never writes it.
inline constexpr SnapshotId kNoSnapshot{-1};

// The first partition field id that writers assign; a table without partition fields has
// last-partition-id one below it.
inline constexpr std::int32_t kPartitionFieldIdFirst = 1000;

}  // namespace lake::iceberg
