#include "lake/cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <cstddef>

#include <gtest/gtest.h>

#include "lake/base/mutex.h"
#include "lake/testing/run_together.h"

namespace lake::cli {
namespace {

// Counts calls, and lets a test wait for them.
class Calls {
 public:
  void Add() {
    const MutexLock lock(mutex_);
    ++count_;
    changed_.NotifyAll();
  }

  void WaitFor(int count) {
    const MutexLock lock(mutex_);
    while (count_ < count) {
      changed_.Wait(mutex_);
    }
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int count_ GUARDED_BY(mutex_) = 0;
};

TEST(InterruptGuard, TurnsEachInterruptIntoACall) {
  Calls calls;
  const InterruptGuard guard([&] { calls.Add(); });
  kill(getpid(), SIGINT);
  calls.WaitFor(1);
  kill(getpid(), SIGINT);
  calls.WaitFor(2);
}

TEST(LastWords, AreWrittenBeforeTheSignalEndsTheProcess) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EXIT(
        {
          ::signal(signal, SIG_DFL);  // Whoever started this may ignore it, as nohup does.
          const LastWords words("the last words\n");
          raise(signal);
        },
        ::testing::KilledBySignal(signal), "the last words");
  }
}

TEST(LastWords, AreNotWrittenWhenTheSignalIsIgnoredOrTheyAreOver) {
  EXPECT_EXIT(
      {
        signal(SIGHUP, SIG_IGN);
        const LastWords words("the last words\n");
        raise(SIGHUP);
        _exit(0);
      },
      ::testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT(
      {
        signal(SIGTERM, SIG_DFL);
        {
          const LastWords words("the last words\n");
        }
        raise(SIGTERM);
      },
      ::testing::KilledBySignal(SIGTERM), "^$");
}

TEST(LastWords, OfOneAreNotThoseOfAnEarlierOne) {
  EXPECT_EXIT(
      {
        signal(SIGTERM, SIG_DFL);
        {
          const LastWords first("the first and longer words\n");
        }
        const LastWords second("the second\n");
        raise(SIGTERM);
      },
      ::testing::KilledBySignal(SIGTERM), "^the second\n$");
}

TEST(LastWords, AreWrittenOnceWhenManySignalsComeOnManyThreads) {
  EXPECT_EXIT(
      {
        for (const int each : {SIGINT, SIGTERM, SIGHUP}) {
          signal(each, SIG_DFL);
        }
        const LastWords words("the last words\n");
        testing::RunTogether(8, [](std::size_t thread) {
          raise(thread % 2 == 0 ? SIGTERM : SIGINT);
          while (true) {
            pause();
          }
        });
      },
      [](int status) { return WIFSIGNALED(status); }, "^the last words\n$");
}

TEST(InterruptGuard, GivesTheSignalBack) {
  struct sigaction before{};
  struct sigaction after{};
  ASSERT_EQ(sigaction(SIGINT, nullptr, &before), 0);
  {
    const InterruptGuard guard([] {});
    struct sigaction during{};
    ASSERT_EQ(sigaction(SIGINT, nullptr, &during), 0);
    EXPECT_NE(during.sa_handler, before.sa_handler);
  }
  ASSERT_EQ(sigaction(SIGINT, nullptr, &after), 0);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

TEST(InterruptGuard, OneAfterTheOtherWorks) {
  for (int i = 0; i < 3; ++i) {
    Calls calls;
    const InterruptGuard guard([&] { calls.Add(); });
    kill(getpid(), SIGINT);
    calls.WaitFor(1);
  }
}

}  // namespace
}  // namespace lake::cli
