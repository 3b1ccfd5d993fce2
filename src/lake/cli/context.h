#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lake/base/clock.h"
#include "lake/base/random.h"
#include "lake/base/result.h"
#include "lake/base/uuid.h"
#include "lake/cli/command.h"
#include "lake/cli/connection.h"
#include "lake/cli/output.h"
#include "lake/metasrv/service.h"

namespace lake::cli {

// How long a command waits for an answer of the control plane.
inline constexpr Duration kReadTimeout = std::chrono::seconds(30);
inline constexpr Duration kChangeTimeout = std::chrono::minutes(5);
// How long it waits for the files of a dropped table to be removed, and how often it says how far that is.
inline constexpr Duration kPurgeTimeout = std::chrono::minutes(10);
inline constexpr Duration kPurgeInterval = std::chrono::milliseconds(200);

// What every command is given. Single-threaded.
struct Context {
  GlobalOptions options;
  Connect connect;
  Clock& clock;
  Random& random;
  Output& out;                 // Results.
  Output* progress = nullptr;  // The terminal that shows progress, if there is one.
  int standard_input = 0;
  bool interactive = false;  // A person types at standard input and reads standard output.
  // Set by a command once its change is made, before it writes its answer: from then on it cannot fail, it can only fail to
  // say so.
  std::optional<Uuid> changed;

  // Returns until when a call that begins now may wait.
  Deadline ReadDeadline() const { return clock.Now() + kReadTimeout; }

  // The same for a call that changes something.
  Deadline ChangeDeadline() const { return clock.Now() + kChangeTimeout; }

  // Opens the lake for a command, e.g. "lake append".
  Result<std::unique_ptr<Connection>> Open(Access access, std::string purpose) const {
    return connect({.data_dir = options.data_dir,
                    .access = access,
                    .wait = options.wait,
                    .purpose = std::move(purpose)});
  }

  // Returns what a changing call carries: the caller's id, or a fresh one for an intent that nobody comes back to.
  metasrv::CallOptions Change(const std::optional<Uuid>& operation) const {
    return {.operation = operation.has_value() ? *operation : Uuid::Random7(clock, random),
            .retryable = operation.has_value(),
            .deadline = ChangeDeadline()};
  }
};

}  // namespace lake::cli
