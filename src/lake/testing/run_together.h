#pragma once

#include <cstddef>
#include <functional>

namespace lake::testing {

// Runs `body(i)` for i in [0, count) on threads of their own, lets them begin together, and waits
// for all.
void RunTogether(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace lake::testing
