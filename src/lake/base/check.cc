#include "lake/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace lake::internal {

void CheckFailed(const char* condition, const char* message, const char* file, int line) {
  std::fprintf(stderr, "lake: internal check failed: %s (%s) at %s:%d\n", message, condition, file,
               line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace lake::internal
