#pragma once

#include <cstdio>
#include <string_view>

#include "lake/base/result.h"

namespace lake::cli {

// Where results go. Single-threaded.
class Output {
 public:
  virtual ~Output() = default;

  // Adds text, perhaps to a buffer. kUnavailable when it cannot be written (disk full, reader gone): no later call succeeds.
  virtual Status Write(std::string_view text) = 0;
  // Hands everything written so far to the operating system. Errors as for Write.
  virtual Status Flush() = 0;
};

// An open stdio stream, which the caller owns.
class StreamOutput final : public Output {
 public:
  // `name` is what messages call it, e.g. "standard output".
  StreamOutput(std::FILE* stream, std::string_view name) : stream_(stream), name_(name) {}

  Status Write(std::string_view text) override;
  Status Flush() override;

  // Whether writing failed because nobody reads the stream any more.
  bool reader_gone() const { return reader_gone_; }

 private:
  Status Refuse();

  std::FILE* stream_;
  std::string_view name_;
  bool reader_gone_ = false;
};

}  // namespace lake::cli
