#include "lake/cli/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "lake/cli/text.h"

namespace lake::cli {
namespace {

std::vector<std::string> Environment(
    const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (std::ranges::find(changes, name, &std::pair<std::string, std::string>::first) ==
        changes.end()) {
      environment.emplace_back(text);
    }
  }
  for (const auto& [name, value] : changes) {
    if (!value.empty()) {
      environment.push_back(fmt::format("{}={}", name, value));
    }
  }
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

std::string ReadBack(int fd) {
  std::string text;
  std::array<char, 65536> buffer{};
  off_t at = 0;
  while (true) {
    const ssize_t got = pread(fd, buffer.data(), buffer.size(), at);
    if (got <= 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
    at += got;
  }
}

}  // namespace

Result<Process> Process::Start(const Options& options) {
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = Environment(options.environment);
  // Held by a Process from the start, so that they are closed whatever happens.
  Process process(-1, memfd_create("output", MFD_CLOEXEC), memfd_create("error", MFD_CLOEXEC));
  process.ended_ = true;
  if (process.output_ < 0 || process.error_ < 0) {
    return Unavailable(fmt::format("start {}: {}", arguments.front(), Reason(errno)));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, process.output_, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, process.error_, STDERR_FILENO);
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, arguments.front().c_str(), &actions, nullptr,
                                 Pointers(arguments).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    const std::string message = fmt::format("start {}: {}", arguments.front(), Reason(failed));
    if (failed == ENOENT) {
      return NotFound(message);
    }
    return failed == EACCES ? PermissionDenied(message) : Unavailable(message);
  }
  process.pid_ = pid;
  process.ended_ = false;
  return process;
}

Process::~Process() {
  if (!ended_) {
    Kill();
    IgnoreError(WaitFor(0), "it was killed because nobody wants its result");
  }
  for (const int fd : {output_, error_}) {
    if (fd >= 0) {
      close(fd);
    }
  }
}

Process::Process(Process&& other) noexcept
    : pid_(other.pid_),
      output_(std::exchange(other.output_, -1)),
      error_(std::exchange(other.error_, -1)),
      ended_(std::exchange(other.ended_, true)),
      status_(other.status_) {}

Result<int> Process::WaitFor(int options) {
  int status = 0;
  while (waitpid(pid_, &status, options) < 0) {
    if (errno != EINTR) {
      return Internal(fmt::format("wait for process {}: {}", pid_, Reason(errno)));
    }
  }
  return status;
}

Result<Ended> Process::Wait() {
  if (!ended_) {
    LAKE_TRY(status_, WaitFor(0));
    ended_ = true;
  }
  return Collect(status_);
}

Result<bool> Process::WaitUntilStopped() {
  LAKE_TRY(const int status, WaitFor(WUNTRACED));
  if (WIFSTOPPED(status)) {
    return true;
  }
  ended_ = true;
  status_ = status;
  return false;
}

void Process::Kill() const {
  // It cannot have been replaced by another process: nobody has waited for it.
  static_cast<void>(kill(pid_, SIGKILL));
}

Ended Process::Collect(int status) {
  return {.exited = WIFEXITED(status),
          .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          .standard_output = ReadBack(output_),
          .standard_error = ReadBack(error_)};
}

}  // namespace lake::cli
