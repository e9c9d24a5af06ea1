#include "api/routes/api.hpp"
#include "engine/engine.hpp"
#include "http/metrics.hpp"
#include "store/open.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace hapax::api {

namespace {

// The engine's threads write to the API's metrics, so none of them may outlive the API.
TEST(ApiStop, NothingRunsInTheBackgroundOfTheEngineOnceTheApiIsGone) {
  const auto engine = std::make_shared<engine::Engine>(store::open("memory:"));
  std::atomic<int> steps{0};
  http::Metrics metrics;
  {
    const Api api(engine, metrics);
    engine->start_sweeper({.interval = {}, .namespace_name = "default"});
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

}  // namespace hapax::api
