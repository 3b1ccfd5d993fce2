#pragma once

#include <cstddef>
#include <string_view>

#include "lake/base/result.h"

namespace lake::objstore {

// The longest part of a path between two slashes, and the longest path, in bytes.
inline constexpr std::size_t kPathPartBytesMax = 255;
inline constexpr std::size_t kPathBytesMax = 4095;

// How stores without hosts and buckets read paths.
//
// With the scheme "file", "/data/x", "file:///data/x" and "file:/data/x" are three forms of one
// path, whose key is "/data/x". What follows the scheme is taken byte for byte: nothing is
// percent-decoded, and "?" and "#" are ordinary. That is how Iceberg's writers mean it: a partition
// folder "ts=10%3A00" has that very name on disk, and PyIceberg, Hadoop and DuckDB open it so.
//
// A key is normalised: it starts with "/", has no empty, "." or ".." part, no NUL, no part longer
// than kPathPartBytesMax, and is not longer than kPathBytesMax. Whatever is not is refused instead
// of being corrected, so that no object has two names and none is reached by a detour.

// Returns the key of an object's path; a view into `path`. kInvalidArgument, naming the path, for
// any other form and for a path that ends in "/".
Result<std::string_view> ObjectKey(std::string_view path, std::string_view scheme);

// Returns the key of a prefix, which ends in "/" ("/" alone is one); a view into `prefix`.
// kInvalidArgument, naming the prefix, for anything else.
Result<std::string_view> PrefixKey(std::string_view prefix, std::string_view scheme);

}  // namespace lake::objstore
