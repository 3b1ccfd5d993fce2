#pragma once

#include <errno.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lake/base/mutex.h"
#include "lake/base/result.h"
#include "lake/base/thread_annotations.h"

// What every benchmark needs besides what it measures.
namespace lake::testing {

// A ratio is the median of at least so many blocks.
inline constexpr int kBlocksMin = 10;

// Ends the program: a benchmark that cannot go on has no figure.
[[noreturn]] inline void Die(std::string_view what) {
  fmt::print(stderr, "{}: {}\n", program_invocation_short_name, what);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing of ours runs at exit.
  std::exit(1);
}

// Returns the value, or ends the program with the error.
template <typename T>
T Must(Result<T> result) {
  if (!result.has_value()) {
    Die(result.error().ToString());
  }
  if constexpr (!std::is_void_v<T>) {
    return *std::move(result);
  }
}

// Returns the middle one of the values, of which there is at least one.
inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// A fresh directory, removed with everything in it at the end.
class ScratchDir {
 public:
  // Makes it in `parent`, which exists; ends the program if it cannot.
  explicit ScratchDir(const std::string& parent)
      : path_(fmt::format("{}/{}.XXXXXX", parent, program_invocation_short_name)) {
    if (mkdtemp(path_.data()) == nullptr) {
      Die(fmt::format("cannot make a directory in {}", parent));
    }
  }

  ~ScratchDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Holds threads back until all of them are there. Thread-safe.
class Gate {
 public:
  // Lets everybody pass from now on.
  void Open() {
    const MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
  }

  // Waits until it is open.
  void Pass() {
    const MutexLock lock(mutex_);
    while (!open_) {
      changed_.Wait(mutex_);
    }
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ GUARDED_BY(mutex_) = false;
};

}  // namespace lake::testing
