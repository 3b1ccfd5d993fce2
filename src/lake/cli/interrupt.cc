#include "lake/cli/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <sys/eventfd.h>

#include "lake/base/check.h"

namespace lake::cli {
namespace {

constexpr int kNone = -1;

// The event that the handler raises. A signal handler can be given nothing, so this cannot be a member. It is made once and never
// closed: a handler may still run on some thread when its guard is gone, and must not write into whatever has the number then.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above.
std::atomic<int> raised_event = kNone;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the process has one SIGINT.
std::atomic<bool> guarded = false;

// Only what POSIX lets a signal handler do.
void Raise(int event) {
  const std::uint64_t one = 1;
  // Fails only when the counter is full: then the event is raised anyway.
  static_cast<void>(!write(event, &one, sizeof(one)));
}

void OnSignal(int /*signal*/) {
  const int before = errno;
  if (const int event = raised_event.load(); event != kNone) {
    Raise(event);
  }
  errno = before;
}

int MakeEvent() {
  const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  LAKE_CHECK(event >= 0, "the system has room for one more descriptor");
  return event;
}

}  // namespace

// The installed handler, and the event it raises.
struct InterruptGuard::Handler {
  Handler() {
    LAKE_CHECK(!guarded.exchange(true), "one guard lives at a time");
    if (raised_event.load() == kNone) {
      raised_event.store(MakeEvent());
    }
    event = raised_event.load();
    Lower();  // What came too late for an earlier guard is not meant for this one.
    struct sigaction action{};
    action.sa_handler = OnSignal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &previous);
  }

  ~Handler() {
    sigaction(SIGINT, &previous, nullptr);
    guarded.store(false);
  }

  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

  // Returns whether the event was raised, and lowers it.
  bool Lower() const {
    std::uint64_t count = 0;
    return read(event, &count, sizeof(count)) == sizeof(count);
  }

  int event = kNone;
  struct sigaction previous{};
};

InterruptGuard::InterruptGuard(std::function<void()> on_interrupt)
    : on_interrupt_(std::move(on_interrupt)),
      handler_(std::make_unique<Handler>()),
      stop_(MakeEvent()) {
  thread_ = std::make_unique<Thread>("interrupt", [this] { Watch(); });
}

InterruptGuard::~InterruptGuard() {
  Raise(stop_);
  thread_->Join();
  handler_.reset();
  close(stop_);
}

void InterruptGuard::Watch() {
  while (true) {
    std::array<pollfd, 2> events = {pollfd{.fd = handler_->event, .events = POLLIN, .revents = 0},
                                    pollfd{.fd = stop_, .events = POLLIN, .revents = 0}};
    if (poll(events.data(), events.size(), -1) < 0) {
      LAKE_CHECK(errno == EINTR, "two open descriptors can be polled");
      continue;
    }
    if (handler_->Lower()) {
      on_interrupt_();
    }
    if (events[1].revents != 0) {
      return;
    }
  }
}

namespace {

// What the handler writes. It is never freed: a handler may still run on some thread when its LastWords is gone.
struct Words {
  enum class Phase : int { kSilent, kArmed, kSpeaking };

  std::atomic<Phase> phase = Phase::kSilent;
  std::array<char, LastWords::kTextMax> text{};
  std::size_t size = 0;  // Like the text, written only while silent.
};

static_assert(std::atomic<Words::Phase>::is_always_lock_free, "a signal handler uses it");

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal handler can be given nothing.
Words last_words;

void OnEnd(int signal) {
  auto phase = Words::Phase::kArmed;
  if (last_words.phase.compare_exchange_strong(phase, Words::Phase::kSpeaking)) {
    static_cast<void>(!write(STDERR_FILENO, last_words.text.data(), last_words.size));
    // Only now: SA_RESETHAND would let a second signal end the process before the words are out.
    struct sigaction end{};
    end.sa_handler = SIG_DFL;
    sigaction(signal, &end, nullptr);
  } else if (phase == Words::Phase::kSpeaking) {
    return;  // Another thread has a signal of its own, speaks, and then ends the process.
  }
  raise(signal);
}

}  // namespace

LastWords::LastWords(const std::string& text) {
  LAKE_CHECK(last_words.phase.load() == Words::Phase::kSilent, "one lives at a time");
  LAKE_CHECK(text.size() <= kTextMax, "last words are short");
  std::ranges::copy(text, last_words.text.begin());
  last_words.size = text.size();
  last_words.phase.store(Words::Phase::kArmed);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action{};
    action.sa_handler = OnEnd;
    sigemptyset(&action.sa_mask);
    for (const int signal : kSignals) {
      sigaddset(&action.sa_mask, signal);
    }
    sigaction(kSignals[i], nullptr, &previous_[i]);
    if (previous_[i].sa_handler != SIG_IGN) {
      sigaction(kSignals[i], &action, nullptr);
    }
  }
}

LastWords::~LastWords() {
  auto phase = Words::Phase::kArmed;
  while (!last_words.phase.compare_exchange_strong(phase, Words::Phase::kSilent)) {
    pause();  // A handler speaks on another thread, and then ends the process.
    phase = Words::Phase::kArmed;
  }
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &previous_[i], nullptr);
  }
}

}  // namespace lake::cli
