#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/result.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/snapshot.h"
#include "lake/iceberg/table_metadata.h"
#include "lake/sql/table_source.h"

namespace lake::sql {

// A live file of a snapshot, with what decides which deletes apply to which data.
struct SnapshotFile {
  iceberg::DataFile file;
  iceberg::PartitionSpecId spec_id{0};
  std::int64_t sequence_number = 0;  // Of the data.
};

// The live files of one snapshot.
struct SnapshotFiles {
  std::vector<SnapshotFile> data;
  std::vector<SnapshotFile> position_deletes;

  // Returns the delete files that may hold positions of the data file, by index.
  std::vector<std::size_t> DeletesFor(const SnapshotFile& data_file) const;
};

// Reads what a version of a table consists of. kUnimplemented, saying why, when it has files that
// Lake cannot read right: equality deletes, deletion vectors, formats other than Parquet, encrypted
// files. Errors of the source pass through. `snapshot` may be null: no files.
Result<std::shared_ptr<const SnapshotFiles>> LoadSnapshotFiles(
    TableSource& source, const iceberg::TableMetadata& metadata, const iceberg::Snapshot* snapshot);

// Returns the location in the one form in which two names of the same file are equal:
// "file:///a" and "file:/a" become "/a"; "s3a://" and "s3n://" become "s3://".
std::string NormalizeLocation(std::string_view location);

}  // namespace lake::sql
