#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "lake/base/result.h"

// JSON as every module reads and writes it. Included by sources only: the library's types stay out
// of public headers.
namespace lake::json {

// How deeply arrays and objects may nest in what we read. Boost's own default, 32, is less than a
// nested schema may need.
inline constexpr std::size_t kDepthMax = 256;

// Parses one JSON text (RFC 8259). kInvalidArgument with the byte offset of the first error. Whole
// numbers that fit 64 bits are exact; others become the nearest double, and one beyond the range of
// doubles is an error.
Result<boost::json::value> Parse(std::string_view text);

// Returns the compact text of a value.
std::string Write(const boost::json::value& value);

// Returns the text of a value, indented by two spaces, ending in a newline.
std::string WritePretty(const boost::json::value& value);

// Typed access to a member of `object`. A missing member or one of another type is kInvalidArgument
// and names the member. The Optional forms give nothing for a missing or null member, and still
// refuse one of another type.
Result<const boost::json::object*> AsObject(const boost::json::value& value, std::string_view what);
Result<std::string> GetString(const boost::json::object& object, std::string_view name);
Result<std::int64_t> GetInt(const boost::json::object& object, std::string_view name);
Result<bool> GetBool(const boost::json::object& object, std::string_view name);
Result<const boost::json::object*> GetObject(const boost::json::object& object,
                                             std::string_view name);
Result<const boost::json::array*> GetArray(const boost::json::object& object,
                                           std::string_view name);
Result<std::optional<std::string>> GetOptionalString(const boost::json::object& object,
                                                     std::string_view name);
Result<std::optional<std::int64_t>> GetOptionalInt(const boost::json::object& object,
                                                   std::string_view name);
// Returns nullptr for a missing or null member.
Result<const boost::json::object*> GetOptionalObject(const boost::json::object& object,
                                                     std::string_view name);
Result<const boost::json::array*> GetOptionalArray(const boost::json::object& object,
                                                   std::string_view name);

}  // namespace lake::json
