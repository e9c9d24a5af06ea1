#include "engine/engine.hpp"
#include "server/metrics.hpp"
#include "server/routes/api.hpp"
#include "store/open.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace hapax::server {

namespace {

// The engine's threads tell the API's metrics, so none of them may outlive it.
TEST(ApiStop, NothingRunsInTheBackgroundOfTheEngineOnceTheApiIsGone) {
  const auto engine = std::make_shared<engine::Engine>(store::open("memory:"));
  std::atomic<int> steps{0};
  Metrics metrics;
  {
    const Api api(engine, metrics);
    engine->start_sweeper({.interval = {}, .ns = "default"});
    engine->start_background("test", [&] {
      return [&](Time now) {
        ++steps;
        return now;
      };
    });
    while (steps == 0) { std::this_thread::yield(); }
  }
  const int before = steps;
  for (int i = 0; i < 1000; ++i) { std::this_thread::yield(); }
  EXPECT_EQ(steps, before);
}

}  // namespace

}  // namespace hapax::server
