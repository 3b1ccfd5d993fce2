#include "lake/cli/prompt.h"

#include <histedit.h>
#include <langinfo.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <clocale>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace lake::cli {
namespace {

constexpr int kHistoryStatementsMax = 10000;
// More candidates than this are counted, not shown.
constexpr std::size_t kShownCandidatesMax = 100;

char Lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool BeginsWith(std::string_view text, std::string_view beginning) {
  return text.size() >= beginning.size() &&
         std::ranges::equal(text.substr(0, beginning.size()), beginning,
                            [](char a, char b) { return Lower(a) == Lower(b); });
}

bool IsNamePart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '"' ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::string_view WordToComplete(std::string_view line) {
  std::size_t begin = line.size();
  while (begin > 0 && IsNamePart(line[begin - 1])) {
    --begin;
  }
  return line.substr(begin);
}

std::vector<std::string> Matching(std::string_view word,
                                  const std::vector<std::string>& candidates) {
  std::vector<std::string> matching;
  std::ranges::copy_if(candidates, std::back_inserter(matching),
                       [&](const std::string& text) { return BeginsWith(text, word); });
  std::ranges::sort(matching);
  matching.erase(std::ranges::unique(matching).begin(), matching.end());
  return matching;
}

std::string SharedBeginning(const std::vector<std::string>& texts) {
  if (texts.empty()) {
    return "";
  }
  std::string_view shared = texts.front();
  for (const std::string& text : texts) {
    while (!BeginsWith(text, shared)) {
      shared.remove_suffix(1);
    }
  }
  return std::string(shared);
}

struct Prompt::State {
  explicit State(Options options_in) : options(std::move(options_in)) {}

  ~State() {
    if (editor != nullptr) {
      el_end(editor);
    }
    if (past != nullptr) {
      history_end(past);
    }
  }

  State(const State&) = delete;
  State& operator=(const State&) = delete;

  static State& Of(EditLine* line) {
    void* data = nullptr;
    el_get(line, EL_CLIENTDATA, &data);
    return *static_cast<State*>(data);
  }

  static char* Label(EditLine* line) { return Of(line).label.data(); }

  static unsigned char CompleteKey(EditLine* line, int /*key*/) { return Of(line).Complete(); }

  // Ctrl-C leaves the line where it is, visibly.
  static unsigned char Abandon(EditLine* line, int /*key*/) {
    Of(line).abandoned = true;
    std::fputs("^C\n", stdout);
    std::fflush(stdout);
    return CC_EOF;
  }

  unsigned char Complete() {
    const LineInfo* info = el_line(editor);
    const std::string_view before(info->buffer,
                                  static_cast<std::size_t>(info->cursor - info->buffer));
    const std::string_view word = WordToComplete(before);
    const std::vector<std::string> candidates = options.complete(word);
    const std::string shared = SharedBeginning(candidates);
    if (shared.size() > word.size() || candidates.size() == 1) {
      const std::string added = shared.substr(word.size()) + (candidates.size() == 1 ? " " : "");
      el_insertstr(editor, added.c_str());
      return CC_REFRESH;
    }
    if (candidates.empty()) {
      return CC_REFRESH_BEEP;
    }
    std::string list = "\n";
    if (candidates.size() > kShownCandidatesMax) {
      list += fmt::format("{} possibilities", candidates.size());
    } else {
      list += fmt::format("{}", fmt::join(candidates, "  "));
    }
    std::fputs((list + "\n").c_str(), stdout);
    std::fflush(stdout);
    return CC_REDISPLAY;
  }

  const Options options;
  EditLine* editor = nullptr;
  History* past = nullptr;
  std::string label;
  bool abandoned = false;
};

Prompt::Prompt(std::unique_ptr<State> state) : state_(std::move(state)) {}

Prompt::~Prompt() = default;

Result<std::unique_ptr<Prompt>> Prompt::Open(Options options) {
  // libedit takes characters from bytes by the locale's encoding, and everything here is UTF-8.
  // NOLINTBEGIN(concurrency-mt-unsafe): nothing else of ours asks for the locale.
  std::setlocale(LC_CTYPE, "");
  if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
    std::setlocale(LC_CTYPE, "C.UTF-8");
  }
  // NOLINTEND(concurrency-mt-unsafe)
  auto state = std::make_unique<State>(std::move(options));
  state->editor = el_init("lake", stdin, stdout, stderr);
  state->past = history_init();
  if (state->editor == nullptr || state->past == nullptr) {
    return Unavailable("the terminal cannot be used for a prompt");
  }
  EditLine* editor = state->editor;
  el_set(editor, EL_CLIENTDATA, state.get());
  el_set(editor, EL_PROMPT, &State::Label);
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_ADDFN, "lake-complete", "complete a name", &State::CompleteKey);
  el_set(editor, EL_BIND, "^I", "lake-complete", nullptr);
  el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  // While a line is edited Ctrl-C is a key, not a signal.
  el_set(editor, EL_SETTY, "-d", "-isig", nullptr);
  el_set(editor, EL_ADDFN, "lake-abandon", "abandon the line", &State::Abandon);
  el_set(editor, EL_BIND, "^C", "lake-abandon", nullptr);
  HistEvent event{};
  history(state->past, &event, H_SETSIZE, kHistoryStatementsMax);
  history(state->past, &event, H_SETUNIQUE, 1);
  if (!state->options.history_path.empty()) {
    history(state->past, &event, H_LOAD, state->options.history_path.c_str());
  }
  el_set(editor, EL_HIST, history, state->past);
  return std::unique_ptr<Prompt>(new Prompt(std::move(state)));
}

std::expected<std::string, Prompt::NoLine> Prompt::ReadLine(std::string_view label) {
  state_->label = label;
  state_->abandoned = false;
  // Before the label is shown: libedit does it later, and a key pressed in between means something else.
  el_set(state_->editor, EL_PREP_TERM, 1);
  int length = 0;
  const char* line = el_gets(state_->editor, &length);
  if (state_->abandoned) {
    el_reset(state_->editor);
    return std::unexpected(NoLine::kAbandoned);
  }
  if (line == nullptr || length <= 0) {
    return std::unexpected(NoLine::kEnd);
  }
  std::string text(line, static_cast<std::size_t>(length));
  if (text.ends_with('\n')) {
    text.pop_back();
  }
  return text;
}

void Prompt::Remember(std::string_view statement) {
  std::string text(statement);
  // One line is easier to edit; but a comment ends with its line.
  if (text.find("--") == std::string::npos) {
    std::ranges::replace(text, '\n', ' ');
  }
  HistEvent event{};
  history(state_->past, &event, H_ENTER, text.c_str());
  if (!state_->options.history_path.empty()) {
    history(state_->past, &event, H_SAVE, state_->options.history_path.c_str());
  }
}

}  // namespace lake::cli
