#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "lake/base/result.h"
#include "lake/sql/duckdb_internal.h"
#include "lake/sql/snapshot_files_internal.h"

namespace lake::sql {

// The rows of data files that position deletes take away. Immutable.
class PositionDeletes {
 public:
  // Reads the delete files that apply to the data files `selected`, by index in `files`.
  // kCorruption: a delete file is damaged or has not the columns it must have; kUnavailable: the
  // store failed; kCancelled: the query was interrupted. Blocks.
  static Result<PositionDeletes> Load(duckdb::ClientContext& context, const SnapshotFiles& files,
                                      const std::vector<std::size_t>& selected);

  // Returns the filter for the data file with that index, or nullptr if no row of it is deleted.
  duckdb::unique_ptr<duckdb::DeleteFilter> FilterFor(std::size_t index) const;

 private:
  using Positions = std::shared_ptr<const std::vector<std::int64_t>>;  // Ascending, each once.

  std::map<std::size_t, Positions> by_file_;
};

}  // namespace lake::sql
