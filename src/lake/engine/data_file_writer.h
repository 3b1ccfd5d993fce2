#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lake/base/result.h"
#include "lake/base/time.h"
#include "lake/iceberg/manifest.h"
#include "lake/iceberg/schema.h"

namespace lake::engine {

// The format of a file that a person hands in.
enum class InputFormat { kParquet, kCsv, kJson };

// A file that a person hands in.
struct StageInput {
  std::string path;
  InputFormat format = InputFormat::kParquet;
};

// How far the writing of data files is.
struct StageProgress {
  double fraction = 0;  // 0 to 1, an estimate over all inputs.
};

// What is to be written, and where.
struct StageRequest {
  // The schema whose columns are written, with their field ids. Inputs match its top-level columns by name; a column that an
  // input lacks is null there, or an error if it is required.
  std::shared_ptr<const iceberg::Schema> schema;
  std::vector<StageInput> inputs;
  // Where the data files go: a directory path without a trailing slash. File names are fresh.
  std::string data_location;
  // A file is closed soon after it passes this size.
  std::uint64_t target_file_bytes = std::uint64_t{512} << 20;
  // Called now and then on the calling thread. May be empty.
  std::function<void(const StageProgress&)> on_progress;
};

// What was written.
struct StagedFiles {
  std::vector<iceberg::DataFile> files;  // None when the inputs hold no rows.
  std::uint64_t row_count = 0;
};

// Turns what people have (Parquet, CSV, JSON) into the data files of a table. The one way data files are written, so that a
// test can write small deterministic ones instead.
class DataFileWriter {
 public:
  virtual ~DataFileWriter() = default;

  // Writes the rows of all inputs as new data files and returns them with their statistics. Every file is complete
  // (objstore::ObjectStore, law 1) on return. On any error the files already written are removed, as far as that is possible.
  //
  //   kNotFound         an input does not exist; the message names it.
  //   kInvalidArgument  an input is damaged, its columns do not match, a value does not fit, or a required column has a null:
  //                     the message names the input and the column.
  //   kUnimplemented    the schema has a type that Lake cannot write.
  //   kUnavailable      the object store failed; nothing is left to settle: retry.
  //
  // Blocks for as long as the data takes.
  virtual Result<StagedFiles> Stage(const StageRequest& request) = 0;

  // Returns the schema that a new table made like `input` has: its columns in order, all optional, with fresh field ids.
  // Errors as for Stage.
  virtual Result<iceberg::Schema> InferSchema(const StageInput& input) = 0;
};

}  // namespace lake::engine
