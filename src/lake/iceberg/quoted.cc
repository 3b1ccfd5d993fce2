#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "lake/iceberg/quoted_internal.h"

namespace lake::iceberg {
namespace {

constexpr std::size_t kQuotedBytesMax = 128;

bool IsUtf8Continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

}  // namespace

std::string Quoted(std::string_view name) {
  if (name.size() <= kQuotedBytesMax) {
    return fmt::format("'{}'", name);
  }
  std::size_t end = kQuotedBytesMax;
  while (end > 0 && IsUtf8Continuation(name[end])) {
    --end;
  }
  return fmt::format("'{}…'", name.substr(0, end));
}

}  // namespace lake::iceberg
