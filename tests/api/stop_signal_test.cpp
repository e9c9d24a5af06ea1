// Worker::run_until_signal, which ends a worker program's main function.
#include "api/stores.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

namespace hapax {
namespace {

using namespace std::chrono_literals;

const Task<int, int> twice{"twice"};

bool signal_is_taken(int number) {
  struct sigaction now {};
  sigaction(number, nullptr, &now);
  return now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN;
}

void wait_until_taken(int number) {
  while (!signal_is_taken(number)) { std::this_thread::sleep_for(5ms); }
}

TEST(StopSignalTest, TheFirstSignalLetsHandlersFinishAndEndsTheWorker) {
  for (const int number : {SIGTERM, SIGINT}) {
    App app = open("memory:");
    std::atomic<bool> started = false;
    std::atomic<bool> draining = false;
    app.handle(twice, [&](TaskContext& ctx, int value) {
      started = true;
      while (!ctx.draining()) { std::this_thread::sleep_for(5ms); }
      draining = true;
      return 2 * value;
    });
    auto worker = app.work({.threads = 1});
    auto handle = app.enqueue(twice, 21, {.task_id = std::to_string(number)});
    std::thread sender([&] {
      while (!started) { std::this_thread::sleep_for(5ms); }
      wait_until_taken(number);
      kill(getpid(), number);
    });
    EXPECT_EQ(worker.run_until_signal(), number);
    sender.join();
    EXPECT_TRUE(draining);
    EXPECT_EQ(handle.result(), 42);
    EXPECT_FALSE(signal_is_taken(number));
  }
}

TEST(StopSignalTest, OneSignalEndsAllWorkersThatWait) {
  App app = open("memory:");
  app.handle(twice, [](int value) { return 2 * value; });
  auto first = app.work({.threads = 1});
  auto second = app.work({.threads = 1});
  auto other = std::async(std::launch::async, [&] { return second.run_until_signal(); });
  wait_until_taken(SIGTERM);
  std::thread sender([] {
    std::this_thread::sleep_for(50ms);
    kill(getpid(), SIGTERM);
  });
  EXPECT_EQ(first.run_until_signal(), SIGTERM);
  sender.join();
  EXPECT_EQ(other.get(), SIGTERM);
}

TEST(StopSignalDeathTest, ASecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        App app = open("memory:");
        app.handle(twice, [](int value) {
          wait_until_taken(SIGTERM);
          kill(getpid(), SIGTERM);
          while (signal_is_taken(SIGTERM)) { std::this_thread::sleep_for(5ms); }
          kill(getpid(), SIGTERM);
          std::this_thread::sleep_for(60s);
          return value;
        });
        auto worker = app.work({.threads = 1});
        app.enqueue(twice, 1);
        worker.run_until_signal();
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace hapax
