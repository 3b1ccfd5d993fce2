#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lake/base/time.h"
#include "lake/base/uuid.h"
#include "lake/iceberg/ids.h"
#include "lake/iceberg/schema.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/table_create.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/iceberg/table_metadata_json.h"
#include "lake/iceberg/table_update.h"
#include "lake/iceberg/table_update_apply.h"
#include "lake/iceberg/type.h"

// What the tests of changes share: small tables, and what happens to them. For tests only.
namespace lake::iceberg {

inline WallTime At(std::int64_t millis) {
  return WallTime(std::chrono::milliseconds(millis));
}

inline TableMetadata Empty(std::int32_t format_version = 2) {
  return NewTableMetadata(
             {.table_uuid = Uuid::Parse("9c12d441-03fe-4693-9a96-a0705ddf69c1").value(),
              .location = "s3://bucket/table",
              .schema = Schema::Make({.fields = {{.id = FieldId{1},
                                                  .name = "id",
                                                  .required = true,
                                                  .type = Type::Long()}}})
                            .value(),
              .format_version = format_version,
              .now = At(1000)})
      .value();
}

inline Snapshot Draft(std::int64_t id) {
  return {.snapshot_id = SnapshotId{id},
          .manifest_list = "s3://bucket/table/metadata/snap-" + std::to_string(id) + ".avro",
          .summary = {{"operation", "append"}}};
}

inline NextVersion Next(std::int64_t now, std::string base_location = "v.json") {
  return {.now = At(now), .base_location = std::move(base_location)};
}

inline std::vector<std::string> LoggedFiles(const TableMetadata& metadata) {
  std::vector<std::string> files;
  files.reserve(metadata.metadata_log.size());
  for (const MetadataLogEntry& entry : metadata.metadata_log) {
    files.push_back(entry.metadata_file);
  }
  return files;
}

// Appends snapshots 1 to `count` one after the other, each a second later.
inline TableMetadata Grown(TableMetadata metadata, std::int64_t count) {
  for (std::int64_t i = 1; i <= count; ++i) {
    metadata =
        AppendSnapshot(metadata, Draft(i), Next(1000 + i * 1000, "v" + std::to_string(i - 1)))
            .value();
  }
  return metadata;
}

// Applies updates that must succeed. What comes of it must survive being stored.
inline TableMetadata Applied(const TableMetadata& base, const std::vector<TableUpdate>& updates,
                             const NextVersion& next = Next(9000)) {
  TableMetadata applied = ApplyUpdates(base, updates, next).value();
  EXPECT_EQ(ParseTableMetadata(WriteTableMetadata(applied).value()).value(), applied);
  return applied;
}

}  // namespace lake::iceberg
