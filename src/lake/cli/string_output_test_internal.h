#pragma once

#include <string>
#include <string_view>

#include "lake/base/result.h"
#include "lake/cli/output.h"

namespace lake::cli {

// Keeps what is written, for tests.
class StringOutput final : public Output {
 public:
  Status Write(std::string_view text) override {
    if (fails_) {
      return Unavailable("told to fail");
    }
    text_ += text;
    return {};
  }

  Status Flush() override { return Write(""); }

  const std::string& text() const { return text_; }

  void FailFromNowOn() { fails_ = true; }

 private:
  std::string text_;
  bool fails_ = false;
};

}  // namespace lake::cli
