// Workflows: the rig's W6, the same with queued tasks as steps, and many that sleep.
#include "rig.hpp"

#include <hapax/hapax.hpp>

#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>

namespace rig {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Item, i)

namespace {

const hapax::Task<Item, void> noop{"noop", {.queue = "task"}};
const hapax::Workflow<Item, void> three{"three", {.queue = "flow"}};
const hapax::Workflow<Item, void> sleeper{"sleeper", {.queue = "flow"}};

// `concurrency` at a time, each from its start to its recorded end.
void run_all(hapax::App& app, int n, int concurrency) {
  std::atomic<int> next{0};
  const auto start = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (int lane = 0; lane < concurrency; ++lane) {
      threads.emplace_back([&] {
        for (int i = next++; i < n; i = next++) {
          app.start(three, {i}, {.workflow_id = "w" + std::to_string(i)}).result();
        }
      });
    }
  }
  std::cout << R"({"n":)" << n << R"(,"seconds":)" << seconds_since(start) << "}\n";
}

std::int64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "VmRSS:") {
      std::int64_t kib = 0;
      status >> kib;
      return kib;
    }
  }
  return 0;
}

}  // namespace

void workflow() {
  auto app = hapax::open(fresh_store_url());
  const int steps = env_int("STEPS", 3);
  app.handle(three, [steps](hapax::WorkflowContext& ctx, const Item&) {
    for (int s = 0; s < steps; ++s) {
      ctx.step("s" + std::to_string(s), [] {});
    }
  });
  const auto worker = app.work({.queues = {"flow"}});
  run_all(app, env_int("N", 5000), env_int("CONCURRENCY", 50));
}

void workflow_tasks() {
  auto app = hapax::open(fresh_store_url());
  const int steps = env_int("STEPS", 3);
  app.handle(noop, [](const Item&) {});
  app.handle(three, [steps](hapax::WorkflowContext& ctx, const Item& item) {
    for (int s = 0; s < steps; ++s) { ctx.run(noop, item); }
  });
  const auto worker = app.work({.queues = {"flow", "task"}});
  run_all(app, env_int("N", 5000), env_int("CONCURRENCY", 50));
}

// N workflows that sleep, all at once, and wake spread over WAKE_SECONDS: what they cost, and how late they are.
void sleepers() {
  auto app = hapax::open(fresh_store_url());
  const int n = env_int("N", 1'000'000);
  const int probes = env_int("PROBES", 1000);
  const auto spread = std::chrono::seconds(env_int("WAKE_SECONDS", 30));
  std::mutex mutex;
  std::vector<double> late_ms;
  app.handle(sleeper, [&](hapax::WorkflowContext& ctx, const Item& item) {
    const hapax::Time begin = ctx.now();
    // Most sleep for long; some, among all the others, wake while we look.
    const hapax::Duration nap = item.i < 0 ? hapax::Duration(spread) * -item.i / probes : std::chrono::hours(24 * 30);
    ctx.sleep(nap);
    const hapax::Time woken = ctx.now();
    ctx.step("late", [&] {
      const std::lock_guard lock(mutex);
      late_ms.push_back(std::chrono::duration<double, std::milli>(woken - begin - nap).count());
    });
  });
  auto worker = app.work({.queues = {"flow"}});
  const auto waiting = [&] {
    const auto stats = app.queues();
    for (const auto& queue : stats) {
      if (queue.queue == "flow") { return queue.delayed; }
    }
    return std::int64_t{0};
  };
  const auto start = Clock::now();
  std::atomic<int> next{0};
  {
    std::vector<std::jthread> threads;
    for (int lane = 0; lane < env_int("CONCURRENCY", 64); ++lane) {
      threads.emplace_back([&] {
        for (int i = next++; i < n; i = next++) {
          (void)app.start(sleeper, {i}, {.workflow_id = "s" + std::to_string(i)});
        }
      });
    }
  }
  const double started = seconds_since(start);
  while (waiting() < n) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }
  const double asleep = seconds_since(start);
  const std::int64_t resident = resident_kib();
  std::vector<hapax::WorkflowHandle<void>> probe;
  for (int i = 1; i <= probes; ++i) {
    probe.push_back(app.start(sleeper, {-i}, {.workflow_id = "p" + std::to_string(i)}));
  }
  for (const auto& handle : probe) { handle.result(); }
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  std::cout << R"({"n":)" << n << R"(,"seconds":)" << started << R"(,"asleep_seconds":)" << asleep
            << R"(,"resident_mib":)" << resident / 1024 << R"(,"peak_mib":)" << usage.ru_maxrss / 1024
            << R"(,"late_p50_ms":)" << quantile(late_ms, 0.5) << R"(,"late_p99_ms":)" << quantile(late_ms, 0.99)
            << "}\n";
}

}  // namespace rig
