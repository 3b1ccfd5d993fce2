#pragma once

#include <string_view>

namespace lake::cli {

// Returns the program's version, as CMakeLists.txt states it.
std::string_view LakeVersion();

}  // namespace lake::cli
