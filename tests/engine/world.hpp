// Base of the step-wise engine tests: a memory store with a clock that the test moves, and a pool without threads.
#pragma once

#include "base/clock.hpp"
#include "base/uuid7.hpp"
#include "engine/faulty_store.hpp"
#include "engine/pool.hpp"
#include "store/open.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace hapax::engine {

inline model::NewExecution new_execution(std::string task = "work", std::string input = "{}") {
  model::NewExecution execution;
  execution.id = base::new_uuid7();
  execution.task = std::move(task);
  execution.input = std::move(input);
  return execution;
}

// Runs nothing by itself: the test says which run ends, and how.
class HandPool final : public RunPool {
 public:
  void submit(std::vector<RunPtr> runs) override {
    for (RunPtr& run : runs) {
      (void)run->start(Time{});
      running.push_back(std::move(run));
    }
  }
  void collect(std::vector<Settled>& into) override {
    for (Settled& settled : settled_) { into.push_back(std::move(settled)); }
    settled_.clear();
  }
  void withdraw(std::vector<RunPtr>&) override {}
  PoolLoad load() override {
    return {.threads = threads, .queued = 0, .running = static_cast<int>(running.size()), .runs_per_second = rate};
  }
  void rebalance(Time) override {}

  // Ends the oldest run.
  RunPtr end(Ending ending) {
    RunPtr run = running.front();
    running.erase(running.begin());
    if (run->settle()) { settled_.push_back({run, to_finish(*run, std::move(ending), {}), {}}); }
    return run;
  }

  int threads = 4;
  double rate = 0;
  std::vector<RunPtr> running;

 private:
  std::vector<Settled> settled_;
};

struct World {
  std::shared_ptr<base::ManualClock> clock =
      std::make_shared<base::ManualClock>(Time(std::chrono::hours(24 * 365 * 55)));
  FaultyStore store{store::open("memory:", {.clock = clock})};

  [[nodiscard]] Time now() const { return clock->now(); }
  void advance(Duration by) { clock->advance(by); }

  Uuid admit(const model::NewExecution& request) {
    return store.admit(std::span<const model::NewExecution>(&request, 1)).front().id;
  }
  void admit_many(int count) {
    for (int i = 0; i < count; ++i) { admit(new_execution()); }
  }
  [[nodiscard]] model::Execution get(const Uuid& id) {
    auto execution = store.get(id);
    EXPECT_TRUE(execution.has_value());
    return execution.value_or(model::Execution{});
  }
  Uuid open_session(Duration lease = std::chrono::seconds(30)) {
    model::NewSession session;
    session.id = base::new_uuid7();
    session.worker = "test";
    session.lease = lease;
    session.queues = {model::QueueRef{}};
    store.open_session(session);
    return session.id;
  }
};

}  // namespace hapax::engine
