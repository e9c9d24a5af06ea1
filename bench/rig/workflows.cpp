// Workflows: the rig's W6, the same with queued tasks as steps, and many that sleep.
#include "rig.hpp"

#include <hapax/hapax.hpp>

#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <semaphore>
#include <thread>

namespace rig {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Item, i)

namespace {

const hapax::Task<Item, void> noop{"noop", {.queue = "task"}};
const hapax::Workflow<Item, void> three{"three", {.queue = "flow"}};
const hapax::Workflow<Item, void> sleeper{"sleeper", {.queue = "flow"}};

// `concurrency` at a time, each from its start to its recorded end; who ends starts the next.
class Runner {
 public:
  Runner(hapax::App& app, int n) : app_(app), n_(n) {}

  void run(int concurrency) {
    const auto start = Clock::now();
    for (int lane = 0; lane < concurrency; ++lane) { next(); }
    all_ended_.acquire();
    std::cout << R"({"n":)" << n_ << R"(,"seconds":)" << seconds_since(start) << "}\n";
  }

 private:
  void next() {
    const int i = next_++;
    if (i >= n_) { return; }
    app_.start_json_async(three.spec(), R"({"i":)" + std::to_string(i) + "}", {.workflow_id = "w" + std::to_string(i)},
                          [this](const hapax::AnyHandle& handle, const std::exception_ptr& refused) {
                            if (refused) { fail(refused); }
                            handle.on_result([this](const std::string&, const std::exception_ptr& failed) {
                              if (failed) { fail(failed); }
                              next();
                              if (++ended_ == n_) { all_ended_.release(); }
                            });
                          });
  }

  // A figure without the work would be no figure.
  [[noreturn]] static void fail(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& what) { std::cerr << what.what() << '\n'; }
    std::_Exit(1);
  }

  hapax::App& app_;
  const int n_;
  std::atomic<int> next_{0};
  std::atomic<int> ended_{0};
  std::binary_semaphore all_ended_{0};
};

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
  Runner(app, env_int("N", 5000)).run(env_int("CONCURRENCY", 50));
}

void workflow_tasks() {
  auto app = hapax::open(fresh_store_url());
  const int steps = env_int("STEPS", 3);
  app.handle(noop, [](const Item&) {});
  app.handle(three, [steps](hapax::WorkflowContext& ctx, const Item& item) {
    for (int s = 0; s < steps; ++s) { ctx.run(noop, item); }
  });
  const auto worker = app.work({.queues = {"flow", "task"}});
  Runner(app, env_int("N", 5000)).run(env_int("CONCURRENCY", 50));
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
