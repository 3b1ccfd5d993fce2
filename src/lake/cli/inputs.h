#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/result.h"
#include "lake/cli/command.h"
#include "lake/cli/connection.h"
#include "lake/engine/data_file_writer.h"

namespace lake::cli {

// The files that a person hands in, opened once and known by their content.
//
// What cannot be read twice (standard input, pipes) is first copied to a file of its own in the temporary directory, which goes
// with this object. Single-threaded.
class Inputs {
 public:
  // Told how much of the reading, from 0 to 1, is done.
  using OnProgress = std::function<void(double)>;

  // Opens every input before it reads any. `standard_input` is the descriptor that "-" stands for.
  //   kNotFound          one does not exist.        kPermissionDenied  one may not be read.
  //   kInvalidArgument   one is a directory.        kUnavailable       reading failed, or the copy cannot be written.
  // Each message names the input. Blocks until a pipe's writer is done.
  static Result<Inputs> Open(const std::vector<InputArgument>& arguments, int standard_input);

  ~Inputs();
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  Inputs(Inputs&&) noexcept;
  Inputs& operator=(Inputs&&) noexcept;

  // Returns the SHA-256 of each input's bytes, in order, as hexadecimal. Reads all of them once. Errors as for Open.
  Result<std::vector<std::string>> Digest(const OnProgress& on_progress) const;

  // Returns what a DataFileWriter is to read.
  std::vector<engine::StageInput> ToStage() const;

  // Checks that no input changed since it was opened, so that what was digested is what was staged. kConflict names the one that
  // did.
  Status CheckUnchanged() const;

  // Returns `error` with the paths of copies replaced by what the person called them.
  Error InPersonsWords(const Error& error) const;

 private:
  class File;

  explicit Inputs(std::vector<std::unique_ptr<File>> files);

  std::vector<std::unique_ptr<File>> files_;
};

// Returns the schema of a table like the first input. Errors as for engine::DataFileWriter::InferSchema, in the person's words.
Result<iceberg::Schema> InferSchema(const Inputs& inputs, Connection& lake);

}  // namespace lake::cli
