// Readiness: the checks behind GET /readyz.
#include "http/health.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <thread>

namespace hapax::http {
namespace {

using namespace std::chrono_literals;

// Asks as the route does, and blocks this thread as long as the route's fiber would wait.
std::string trouble_of(const Readiness& readiness) {
  const auto done = std::make_shared<Signal>();
  if (!readiness.ask(done)) {
    const auto raised = std::make_shared<std::promise<void>>();
    std::future<void> wake = raised->get_future();
    if (!done->taken_or_then([raised] { raised->set_value(); })) { (void)wake.wait_for(Readiness::patience); }
  }
  return readiness.verdicts().at(0).trouble;
}

TEST(Readiness, checks_run_one_at_a_time_and_at_most_once_a_second_whatever_the_number_of_askers) {
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::atomic<int> checks{0};
  Readiness readiness;
  readiness.add("store", [&] {
    most = std::max(most.load(), ++running);
    ++checks;
    std::this_thread::sleep_for(20ms);
    --running;
    return std::string();
  });
  const auto begun = std::chrono::steady_clock::now();
  std::vector<std::thread> askers;
  for (int asker = 0; asker < 8; ++asker) {
    askers.emplace_back([&] {
      for (int time = 0; time < 60; ++time) {
        (void)trouble_of(readiness);
        std::this_thread::sleep_for(20ms);
      }
    });
  }
  for (std::thread& each : askers) { each.join(); }
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begun).count();
  EXPECT_EQ(most, 1);
  EXPECT_GE(checks, 1);
  EXPECT_LE(checks, seconds + 2);
}

TEST(Readiness, a_check_that_hangs_is_told_within_the_patience_and_forgiven_when_it_ends) {
  std::promise<void> let_go;
  std::shared_future<void> held = let_go.get_future().share();
  Readiness readiness;
  readiness.add("store", [held] {
    held.wait();
    return std::string();
  });
  EXPECT_EQ(trouble_of(readiness), "does not answer");
  // Later callers do not wait again.
  EXPECT_TRUE(readiness.ask(std::make_shared<Signal>()));
  EXPECT_EQ(readiness.verdicts().at(0).trouble, "does not answer");
  EXPECT_FALSE(readiness.stop(10ms));
  let_go.set_value();
  EXPECT_TRUE(readiness.stop(60s));
}

TEST(Readiness, a_remark_is_told_and_does_not_count) {
  Readiness readiness;
  readiness.add_remark("durability", [] { return std::string("synchronous_commit is off"); });
  EXPECT_EQ(trouble_of(readiness), "synchronous_commit is off");
  EXPECT_FALSE(readiness.verdicts().front().counts);
}

TEST(Readiness, an_error_is_told_by_its_name_alone) {
  Readiness readiness;
  readiness.add("store", []() -> std::string { throw StoreUnavailable("postgresql://secret@db"); });
  EXPECT_EQ(trouble_of(readiness), "StoreUnavailable");
}

}  // namespace
}  // namespace hapax::http
