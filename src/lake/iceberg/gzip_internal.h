#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lake/base/result.h"

namespace lake::iceberg {

// Whether bytes begin like a GZIP member (RFC 1952).
bool LooksGzipped(std::string_view bytes);

// Decompresses one or more GZIP members that fill `bytes`. Damage, an early end, anything after the
// last member and more than `bytes_max` of output are kInvalidArgument. Memory stays within the
// output so far, whatever the input promises.
Result<std::string> Gunzip(std::string_view bytes, std::size_t bytes_max);

}  // namespace lake::iceberg
