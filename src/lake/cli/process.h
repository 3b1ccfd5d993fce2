#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "lake/base/result.h"

namespace lake::cli {

// How a process ended, and what it wrote.
struct Ended {
  bool exited = false;  // By itself, with exit_code; otherwise signal ended it.
  int exit_code = 0;
  int signal = 0;
  std::string standard_output;
  std::string standard_error;

  bool succeeded() const { return exited && exit_code == 0; }
};

// A child process. Its standard input is empty; what it writes is kept. Single-threaded.
class Process {
 public:
  struct Options {
    std::vector<std::string> arguments;  // The first is the program's path.
    // Set in, or with an empty value taken out of, the environment that it inherits from us.
    std::vector<std::pair<std::string, std::string>> environment;
  };

  // Starts a program. kNotFound or kPermissionDenied: it cannot be run. kUnavailable: the system has no room for it.
  static Result<Process> Start(const Options& options);

  // Kills the process if nobody waited for its end.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) = delete;

  pid_t pid() const { return pid_; }

  // Waits until it ends. kInternal: the system does not know it.
  Result<Ended> Wait();

  // Waits until it stops itself. Returns false, as Wait() will tell, when it ended instead.
  Result<bool> WaitUntilStopped();

  // Ends it with SIGKILL. It still has to be waited for.
  void Kill() const;

 private:
  Process(pid_t pid, int output, int error) : pid_(pid), output_(output), error_(error) {}

  Result<int> WaitFor(int options);
  Ended Collect(int status);

  pid_t pid_;
  int output_;  // Files without a name.
  int error_;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace lake::cli
