#include "lake/cli/output.h"

#include <cerrno>

#include <fmt/format.h>

#include "lake/cli/text.h"

namespace lake::cli {

Status StreamOutput::Refuse() {
  reader_gone_ = errno == EPIPE;
  return Unavailable(fmt::format("{} cannot be written: {}", name_, Reason(errno)));
}

Status StreamOutput::Write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size()) {
    return Refuse();
  }
  return {};
}

Status StreamOutput::Flush() {
  if (std::fflush(stream_) != 0) {
    return Refuse();
  }
  return {};
}

}  // namespace lake::cli
