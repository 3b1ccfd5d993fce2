#pragma once

namespace lake::lease {

// One function object out of several, for an exhaustive std::visit.
template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace lake::lease
