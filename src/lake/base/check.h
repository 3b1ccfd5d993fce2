#pragma once

namespace lake::internal {

// Prints the failed condition with its place and ends the process.
[[noreturn]] void CheckFailed(const char* condition, const char* message, const char* file,
                              int line);

}  // namespace lake::internal

// LAKE_CHECK(condition, "why it must hold") ends the process when the condition is false, in every
// build. It guards against our own mistakes; input, disk and network are errors, never checks.
#define LAKE_CHECK(condition, message)                                        \
  do {                                                                        \
    if (!(condition)) [[unlikely]] {                                          \
      ::lake::internal::CheckFailed(#condition, message, __FILE__, __LINE__); \
    }                                                                         \
  } while (false)

// LAKE_DCHECK is LAKE_CHECK for conditions that are expensive to evaluate: on in debug builds,
// compiled but not run otherwise.
#ifdef NDEBUG
// Compiled, so that it stays correct, and never run.
#define LAKE_DCHECK(condition, message) \
  do {                                  \
    if (false) {                        \
      LAKE_CHECK(condition, message);   \
    }                                   \
  } while (false)
#else
// As LAKE_CHECK.
#define LAKE_DCHECK(condition, message) LAKE_CHECK(condition, message)
#endif
