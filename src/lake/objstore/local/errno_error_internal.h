#pragma once

#include <string_view>

#include "lake/base/result.h"

// What the operating system's error numbers mean to callers of an object store. Included by sources
// only.
namespace lake::objstore {

// Returns the error of reading `path`: "get /a: open: permission denied". What does not exist, or
// lies below an object, or is a symbolic link, is kNotFound.
Error ReadError(std::string_view operation, std::string_view path, std::string_view step,
                int error);

// Returns the error of a change to `path` that certainly has not happened. A place that cannot hold
// an object is kInvalidArgument; a place that vanished is kUnavailable.
Error ChangeError(std::string_view operation, std::string_view path, std::string_view step,
                  int error);

// Returns the error of a change to `path` that may have happened: kOutcomeUnknown.
Error UnknownError(std::string_view operation, std::string_view path, std::string_view step,
                   int error);

}  // namespace lake::objstore
