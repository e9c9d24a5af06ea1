// Generated programs on workers, many at once on one thread, with and without a cache of waiting runs.
#include "api/stores.hpp"
#include "app/app_state.hpp"
#include "workflow/interpreter.hpp"
#include "workflow/memory_ledger.hpp"
#include "workflow/outside.hpp"
#include "workflow/program.hpp"

#include <hapax/hapax.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace hapax::generated {

namespace {

using namespace std::chrono_literals;

// All programs of a test, by seed.
using Programs = std::map<std::uint64_t, std::shared_ptr<const Program>>;

Programs programs_from(std::uint64_t first, int count) {
  // HAPAX_WORKFLOW_SHIFT=n adds n to the seeds, which gives other programs.
  if (const char* const shift = std::getenv("HAPAX_WORKFLOW_SHIFT")) { first += std::stoull(shift); }
  Programs programs;
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(count); ++seed) {
    programs.emplace(seed, generate(seed));
  }
  return programs;
}

class GeneratedOnLanes : public OnStore {
 protected:
  void run(int cache, std::uint64_t first, int count) {
    const Programs programs = programs_from(first, count);
    MemoryLedger ledger;
    const auto setting =
        std::make_shared<const Setting>(Setting{.ledger = ledger,
                                                .find = [&programs](std::uint64_t seed) { return programs.at(seed); },
                                                .tick = 1ms,
                                                .forever = 1000h,
                                                .retry = 1ms,
                                                .transactions = GetParam() != "memory"});
    {
      std::string troubles;
      std::mutex mutex;
      App app = open();
      app.state()->observe({.on_log = [&](LogLevel, std::string_view what, const LogFields&) {
        const std::lock_guard lock(mutex);
        troubles += std::string(what) + "\n";
      }});
      handle_programs(app, setting);
      Outside outside(app, ledger, {.cancel_within = 60ms});
      Worker worker = app.work(
          {.queues = {"default", "other"}, .threads = 1, .build = cache == 4 ? "seven" : "", .workflow_cache = cache});
      for (const auto& [seed, program] : programs) { outside.start(program); }
      const auto until = std::chrono::steady_clock::now() + 180s;
      while (outside.live() > 0 && std::chrono::steady_clock::now() < until) {
        outside.act();
        std::this_thread::sleep_for(2ms);
      }
      EXPECT_EQ(outside.live(), 0U);
      worker.stop();
      for (const auto& [program, problems] : outside.check()) {
        std::string text;
        for (const std::string& problem : problems) { text += "  " + problem + "\n"; }
        ADD_FAILURE() << text << to_string(*program);
      }
      for (const std::string& problem : ledger.problems()) { ADD_FAILURE() << problem; }
      EXPECT_EQ(troubles, "");
    }
    EXPECT_EQ(live_scopes(), 0);
  }

  [[nodiscard]] int count() const { return GetParam() == "memory" ? 200 : 40; }
};

TEST_P(GeneratedOnLanes, WithoutACache) { run(0, 100001, count()); }
TEST_P(GeneratedOnLanes, WithASmallCache) { run(4, 200001, count()); }
TEST_P(GeneratedOnLanes, WithACacheForAll) { run(1000, 300001, count()); }

INSTANTIATE_TEST_SUITE_P(Stores, GeneratedOnLanes, all_stores, [](const auto& store) { return store.param; });

}  // namespace

}  // namespace hapax::generated
