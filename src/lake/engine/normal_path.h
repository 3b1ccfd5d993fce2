#pragma once

#include <string>
#include <string_view>

#include "lake/base/result.h"

// Comparing locations and paths that different programs wrote. A comparison decides what is deleted, so what cannot be compared with
// certainty is never called different: it is refused, or unclear.
namespace lake::engine {

// Returns the one form in which two paths or locations are compared, e.g. "file:///data/t" or "s3://bucket/t": "/x", "file:/x" and
// "file:///x" are one, as are the schemes s3, s3a and s3n; slashes at the end are dropped. What follows is compared byte for byte: "%20"
// is three characters of a name. kInvalidArgument, naming the path: it is relative, names a host of a file, has a scheme without an
// authority, is the root of a store, or has an empty part, "." or "..".
Result<std::string> NormalPath(std::string_view path);

// Whether `inner` is `outer` or lies below it, part by part: "/t2" is not within "/t". Both are normal.
bool IsWithin(std::string_view inner, std::string_view outer);

// Returns a path with its percent-escapes read until none is left. Two paths that differ only in escapes may name one file.
std::string Unescaped(std::string path);

// Says which paths lie below one location.
class LocationScope {
 public:
  enum class Place {
    kInside,
    kOutside,
    // It cannot be told: the path has no normal form, or would be inside if percent-escapes were read. Whoever deletes must stop.
    kUnclear,
  };

  // kInvalidArgument as of NormalPath.
  static Result<LocationScope> Make(std::string_view location);

  // Says where a path lies. The location itself is not below it.
  Place Find(std::string_view path) const;

  // The location's normal form.
  const std::string& location() const { return location_; }

 private:
  explicit LocationScope(std::string location);

  std::string location_;
  std::string decoded_;  // With its percent-escapes read.
};

}  // namespace lake::engine
