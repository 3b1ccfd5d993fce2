#pragma once

// Names for Clang's thread-safety attributes
// (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html). Other compilers see nothing.
#if defined(__clang__)
// Becomes the attribute.
#define LAKE_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
// Becomes nothing.
#define LAKE_THREAD_ATTRIBUTE(x)
#endif

// What they mean is in Clang's manual, under the same names.
#define LAKE_CAPABILITY(x) LAKE_THREAD_ATTRIBUTE(capability(x))
#define LAKE_SCOPED_CAPABILITY LAKE_THREAD_ATTRIBUTE(scoped_lockable)
#define GUARDED_BY(x) LAKE_THREAD_ATTRIBUTE(guarded_by(x))
#define PT_GUARDED_BY(x) LAKE_THREAD_ATTRIBUTE(pt_guarded_by(x))
#define REQUIRES(...) LAKE_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) LAKE_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) LAKE_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RELEASE(...) LAKE_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define LAKE_NO_THREAD_SAFETY_ANALYSIS LAKE_THREAD_ATTRIBUTE(no_thread_safety_analysis)
