#pragma once

#include <string>
#include <string_view>

namespace lake::iceberg {

// Returns a name from untrusted input in quotes, cut to a length that suits a message.
std::string Quoted(std::string_view name);

}  // namespace lake::iceberg
