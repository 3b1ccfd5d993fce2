#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/engine/data_file_writer.h"
#include "lake/objstore/objstore.h"

namespace lake::sql {

// Writes data files with DuckDB: Parquet with field ids, zstd-compressed, with the statistics that the Iceberg specification
// asks for as far as they are certain. docs/reference/types.md says which types of an input a column takes.
//
// Laws:
//   1. A value is kept as it is or refused: nothing is rounded, cut, or moved to another time zone.
//   2. CSV and JSON are read with the types of the table, never with guessed ones. A text without a zone means UTC in a
//      timestamptz column.
//   3. Rows keep the order of the inputs, unless the inputs are larger than a single data file may be.
//
// Single-threaded (the caller's); a call uses several threads of its own.
class ParquetDataFileWriter final : public engine::DataFileWriter {
 public:
  struct Options {
    std::size_t threads = 0;               // 0: as many as the machine has.
    std::uint64_t memory_limit_bytes = 0;  // 0: 80 % of the machine's memory.
    std::string temp_directory;  // Where large inputs spill; empty: a fresh one under the system's.
    std::uint64_t row_group_rows = 122880;  // Rows of a row group, at most.
  };

  // Opens a writer. What is passed by reference must outlive it. kInternal: the DuckDB library is not the one Lake is built
  // for. Takes some tens of milliseconds.
  static Result<std::unique_ptr<ParquetDataFileWriter>> Open(objstore::ObjectStore& objects,
                                                             const Clock& clock, Random& random,
                                                             const Options& options);

  ~ParquetDataFileWriter() override;
  ParquetDataFileWriter(const ParquetDataFileWriter&) = delete;
  ParquetDataFileWriter& operator=(const ParquetDataFileWriter&) = delete;

  Result<engine::StagedFiles> Stage(const engine::StageRequest& request) override;
  Result<iceberg::Schema> InferSchema(const engine::StageInput& input) override;

 private:
  struct Impl;

  explicit ParquetDataFileWriter(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace lake::sql
