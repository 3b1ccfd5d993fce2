#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/json_text.h"
#include "lake/iceberg/partition_spec.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/sort_order.h"
#include "lake/iceberg/table_metadata.h"

namespace lake::iceberg {

// A schema with new field ids, and which old one became which new one.
struct FreshIds {
  Schema schema;
  std::map<FieldId, FieldId> new_ids;
};

// Gives every field a new id, counting up from the one after `last_used`: first all fields of a
// struct in their order, then what is inside each; identifier fields follow. The schema id stays.
// kInvalidArgument when ids would pass kFieldIdMax.
Result<FreshIds> AssignFreshIds(const Schema& schema, FieldId last_used);

// What a table is made of. Field ids are those of `schema`, any that are valid; the table gets
// fresh ones.
struct NewTable {
  Uuid table_uuid;
  std::string location;
  Schema schema;
  PartitionSpec spec;    // Ids do not matter.
  SortOrder sort_order;  // Ids do not matter.
  Properties properties;
  std::int32_t format_version = 2;
  WallTime now;
};

// Returns the first metadata of a table: no snapshot, sequence number 0, schema 0 with field ids
// from 1, spec 0 with field ids from kPartitionFieldIdFirst, sort order 0 if it is unsorted and 1
// otherwise. kInvalidArgument, naming the thing, for a field without a name, a type the format
// version lacks, a partition or sort field whose column is missing or does not suit its transform,
// a partition name that clashes, a property that the format reserves, or an empty location;
// kUnimplemented for a format version or transform Lake does not know.
Result<TableMetadata> NewTableMetadata(const NewTable& table);

}  // namespace lake::iceberg
