#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/objstore/local/durable_directories_internal.h"
#include "lake/objstore/local/file_calls_internal.h"
#include "lake/objstore/objstore.h"

// How a local object comes to be. Included by sources only.
namespace lake::objstore {

// Writes one object: a temporary file in the object's own directory, synced, given its name by
// link(), which never overwrites, and rid of the temporary one; then the directory is synced.
// Single-threaded.
class LocalWriter final : public ObjectWriter {
  // Only Start can name one.
  struct Token {};

 public:
  // Makes the directory durable and the temporary file in it. `calls` must outlive the writer.
  // `path` is how messages name the object. Errors as ObjectStore::StartWrite. Blocks.
  static Result<std::unique_ptr<LocalWriter>> Start(const FileCalls& calls,
                                                    DurableDirectories& directories, Random& random,
                                                    std::string_view key, std::string_view path);

  LocalWriter(Token /*token*/, const FileCalls& calls, OpenedFile directory, std::string_view name,
              std::string_view path)
      : calls_(calls), directory_(std::move(directory)), name_(name), path_(path) {}

  // Removes the temporary file, if it is still there; if that fails, it stays until a sweep.
  ~LocalWriter() override;
  LocalWriter(const LocalWriter&) = delete;
  LocalWriter& operator=(const LocalWriter&) = delete;

  Status Append(std::string_view bytes) override;
  Status Finish() override;

 private:
  enum class State { kWriting, kFailed, kFinished };

  Status CreateTemporary(Random& random);
  // Gives the file its name. Says what is certain when that fails.
  Status Publish();
  // Takes the temporary name away. A failure leaves a name that a sweep removes; the object, if
  // there is one, is not touched.
  void RemoveTemporary();

  const FileCalls& calls_;
  const OpenedFile directory_;
  const std::string name_;
  const std::string path_;
  std::string temporary_;  // Empty when there is none.
  OpenedFile file_;
  State state_ = State::kWriting;
};

}  // namespace lake::objstore
