#include "lake/cli/main.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <variant>

#include "lake/base/check.h"
#include "lake/base/failpoint.h"
#include "lake/base/random.h"
#include "lake/cli/advice.h"
#include "lake/cli/arguments.h"
#include "lake/cli/commands.h"
#include "lake/cli/embedded_connection.h"
#include "lake/cli/text.h"

namespace lake::cli {
namespace {

constexpr std::string_view kDataDirVariable = "LAKE_DATA_DIR";

std::string EnvironmentDataDir() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread of ours is running yet.
  const char* value = std::getenv(kDataDirVariable.data());
  return value == nullptr ? "" : value;
}

// Keeps the lines of a message and makes everything else in it harmless.
std::string PrintableLines(std::string_view message) {
  std::string lines;
  while (true) {
    const std::size_t end = message.find('\n');
    lines += Printable(message.substr(0, end));
    if (end == std::string_view::npos) {
      return lines;
    }
    lines += '\n';
    message.remove_prefix(end + 1);
  }
}

// Takes the places of standard streams that the process was started without, so that no file of ours gets the number of one and
// with it what is written for people. Using such a stream fails, as it should: each is opened for the other direction.
void OccupyStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF) {
      // The lowest free number is taken, and all below are taken already.
      const int taken = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
      LAKE_CHECK(taken == stream, "/dev/null can stand for a stream that is closed");
    }
  }
}

}  // namespace

Outcome RunCommand(const Command& command, Context& context) {
  context.changed.reset();
  Outcome outcome = std::visit([&](const auto& one) { return Run(one, context); }, command);
  const Status flushed = context.out.Flush();
  if (outcome.has_value() && !flushed.has_value()) {
    outcome = std::unexpected(Failure(flushed.error()));
  }
  if (!outcome.has_value() && context.changed.has_value()) {
    return AnswerLost(outcome.error().error, *context.changed);
  }
  return outcome;
}

void PrintFailure(const Failure& failure, Output& err) {
  std::string text = "lake: " + PrintableLines(failure.error.message()) + "\n";
  if (!failure.next.empty()) {
    text += "next: " + Printable(failure.next) + "\n";
  }
  IgnoreError(err.Write(text), "there is nowhere left to say so");
  IgnoreError(err.Flush(), "there is nowhere left to say so");
}

ExitCode Main(const std::vector<std::string>& arguments) {
  // A reader that goes away must not end the process in the middle of a change: writing fails instead.
  OccupyStandardStreams();
  signal(SIGPIPE, SIG_IGN);
  // A file that may not grow is an error like a full disk.
  signal(SIGXFSZ, SIG_IGN);
  StreamOutput out(stdout, "standard output");
  StreamOutput err(stderr, "standard error");
  const auto fail = [&](const Failure& failure) {
    // Nobody wants to be told that `lake … | head` has seen enough, unless something was changed.
    if (!out.reader_gone() || failure.exit_code != ExitCode::kFailed) {
      PrintFailure(failure, err);
    }
    return failure.exit_code;
  };
  if (const Status config = CheckFailpointConfig(); !config.has_value()) {
    return fail(UsageError(config.error().message(),
                           "unset LAKE_FAILPOINTS, or see docs/internals/failpoints.md")
                    .error());
  }
  auto parsed = ParseArguments(arguments, EnvironmentDataDir());
  if (!parsed.has_value()) {
    return fail(parsed.error());
  }
  if (const auto* help = std::get_if<HelpText>(&*parsed)) {
    const Status written = out.Write(help->text);
    const Status flushed = written.has_value() ? out.Flush() : written;
    return flushed.has_value() ? ExitCode::kDone : fail(flushed.error());
  }
  auto& invocation = std::get<Invocation>(*parsed);
  RealClock clock;
  SystemRandom random;
  Context context{.options = std::move(invocation.global),
                  .connect = EmbeddedConnect(clock, random),
                  .clock = clock,
                  .random = random,
                  .out = out,
                  .progress = isatty(STDERR_FILENO) == 1 ? &err : nullptr,
                  .standard_input = STDIN_FILENO,
                  .interactive = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1};
  const Outcome outcome = RunCommand(invocation.command, context);
  return outcome.has_value() ? ExitCode::kDone : fail(outcome.error());
}

}  // namespace lake::cli
