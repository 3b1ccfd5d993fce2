#include "lake/base/failpoint.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>

#include "lake/base/check.h"

namespace lake {
namespace {

// Sorted. A failpoint has one place in the code; docs/internals/failpoints.md says where each one
// is.
constexpr std::array<std::string_view, 12> kNames = {
    "after-drop",        "after-engine-commit", "after-publish",  "after-reserve",
    "after-stage",       "before-drop",         "before-publish", "before-purge-end",
    "before-purge-page", "before-reserve",      "before-settle",  "during-stage",
};

enum class Action { kPause, kExit, kError };

struct Rule {
  Action action = Action::kError;
  std::uint64_t only_hit = 0;  // 0: every time.
  std::atomic<std::uint64_t> hits{0};
};

struct Config {
  std::map<std::string, Rule, std::less<>>
      rules;  // Constant after loading, but for the hit counts.
  std::optional<Error> error;
};

std::optional<Action> ParseAction(std::string_view text) {
  if (text == "pause") {
    return Action::kPause;
  }
  if (text == "exit") {
    return Action::kExit;
  }
  if (text == "error") {
    return Action::kError;
  }
  return std::nullopt;
}

Status AddRule(std::string_view piece, Config& config) {
  const auto refuse = [&](std::string_view why) {
    return InvalidArgument("LAKE_FAILPOINTS: '" + std::string(piece) + "': " + std::string(why));
  };
  const std::size_t equals = piece.find('=');
  if (equals == std::string_view::npos) {
    return refuse("expected name=pause|exit|error[@n]");
  }
  const std::string_view name = piece.substr(0, equals);
  if (!std::ranges::binary_search(kNames, name)) {
    std::string known;
    for (const std::string_view one : kNames) {
      known.append(known.empty() ? "" : ", ").append(one);
    }
    return refuse("there is no such failpoint; there are " + known);
  }
  std::string_view action_text = piece.substr(equals + 1);
  std::uint64_t only_hit = 0;
  if (const std::size_t at = action_text.find('@'); at != std::string_view::npos) {
    const std::string_view number = action_text.substr(at + 1);
    const auto [end, failure] =
        std::from_chars(number.data(), number.data() + number.size(), only_hit);
    if (failure != std::errc() || end != number.data() + number.size() || only_hit == 0) {
      return refuse("after '@' stands a number from 1");
    }
    action_text = action_text.substr(0, at);
  }
  const std::optional<Action> action = ParseAction(action_text);
  if (!action.has_value()) {
    return refuse("the action is pause, exit or error");
  }
  const auto [place, is_new] = config.rules.try_emplace(std::string(name));
  if (!is_new) {
    return refuse("the failpoint is set twice");
  }
  Rule& rule = place->second;
  rule.action = *action;
  rule.only_hit = only_hit;
  return {};
}

Config& LoadedConfig() {
  static Config config = [] {
    Config loaded;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): read once, and nothing of ours sets it.
    const char* text = std::getenv("LAKE_FAILPOINTS");
    std::string_view rest = text == nullptr ? "" : text;
    bool more = !rest.empty();
    while (more) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      if (Status added = AddRule(rest.substr(0, comma), loaded); !added.has_value()) {
        loaded.error = added.error();
        break;
      }
      more = comma < rest.size();
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return loaded;
  }();
  return config;
}

}  // namespace

Status Failpoint(std::string_view name) {
  LAKE_DCHECK(std::ranges::binary_search(kNames, name), "a failpoint is listed in kNames");
  Config& config = LoadedConfig();
  if (config.rules.empty()) [[likely]] {
    return {};
  }
  const auto found = config.rules.find(name);
  if (found == config.rules.end()) {
    return {};
  }
  Rule& rule = found->second;
  const std::uint64_t hit = rule.hits.fetch_add(1) + 1;
  if (rule.only_hit != 0 && hit != rule.only_hit) {
    return {};
  }
  switch (rule.action) {
    case Action::kPause:
      // To this very thread: a signal to the process may be taken by another one, and this one goes on until it is stopped too.
      static_cast<void>(raise(SIGSTOP));
      return {};
    case Action::kExit:
      _exit(kFailpointExitStatus);
    case Action::kError:
      return Unavailable("failpoint " + std::string(name));
  }
  return {};
}

bool FailpointsActive() {
  return !LoadedConfig().rules.empty();
}

Status CheckFailpointConfig() {
  if (const auto& error = LoadedConfig().error; error.has_value()) {
    return std::unexpected(*error);
  }
  return {};
}

std::vector<std::string> FailpointNames() {
  return {kNames.begin(), kNames.end()};
}

}  // namespace lake
