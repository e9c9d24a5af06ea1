// Workflows: the rig's W6 (docs/performance.md), the same with queued tasks as steps, and many sleeping ones.
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
#include <utility>
#include <vector>

namespace rig {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Item, i)

namespace {

const hapax::Task<Item, void> noop{"noop", {.queue = "task"}};
const hapax::Workflow<Item, void> three{"three", {.queue = "flow"}};
const hapax::Workflow<Item, void> sleeper{"sleeper", {.queue = "flow"}};

// Runs `concurrency` workflows at a time, each from its start to its recorded end; each end starts the next.
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

  // Ends the program, because a figure for failed work would be wrong.
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

// N sleeping workflows. PROBES of them wake one after the other over WAKE_SECONDS, then HERD of them all at one
// instant; measures their cost and lateness. An item below zero sleeps for a part of WAKE_SECONDS, an item of N or more
// until the herd's instant, the others for a month.
class Sleepers {
 public:
  Sleepers() : app_(hapax::open(fresh_store_url())), n_(env_int("N", 1'000'000)) {
    app_.handle(sleeper, [this](hapax::WorkflowContext& ctx, const Item& item) { sleep(ctx, item); });
  }

  void run() {
    const auto worker = app_.work({.queues = {"flow"}});
    const auto start = Clock::now();
    start_all(0, n_);
    const double started = seconds_since(start);
    while (waiting() < n_) { rest(); }
    const double asleep = seconds_since(start);
    const std::int64_t resident = resident_kib();
    const Late probed = wake_probes();
    const Late herd = wake_herd();
    struct rusage usage {};
    getrusage(RUSAGE_SELF, &usage);
    std::cout << R"({"n":)" << n_ << R"(,"seconds":)" << started << R"(,"asleep_seconds":)" << asleep
              << R"(,"resident_mib":)" << resident / 1024 << R"(,"peak_mib":)" << usage.ru_maxrss / 1024
              << probed.json("") << R"(,"herd":)" << herd_ << herd.json("herd_") << R"(,"herd_seconds":)"
              << herd_seconds_ << "}\n";
  }

 private:
  struct Late {
    std::vector<double> ms;
    [[nodiscard]] std::string json(const std::string& prefix) const {
      if (ms.empty()) { return ""; }
      std::vector<double> sorted = ms;
      const auto member = [&](const char* name, double q) {
        return ",\"" + prefix + name + "\":" + std::to_string(quantile(sorted, q));
      };
      return member("late_min_ms", 0) + member("late_p50_ms", 0.5) + member("late_p99_ms", 0.99) +
             member("late_max_ms", 1);
    }
  };

  static void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

  void sleep(hapax::WorkflowContext& ctx, const Item& item) {
    const hapax::Time begin = ctx.now();
    hapax::Duration nap = std::chrono::hours(24 * 30);
    if (item.i < 0) { nap = hapax::Duration(spread_) * -item.i / probes_; }
    if (item.i >= n_) { nap = hapax::Time(hapax::Duration(herd_at_us_.load())) - begin; }
    ctx.sleep(nap);
    const hapax::Time woken = ctx.now();
    ctx.step("late", [&] {
      const std::lock_guard lock(mutex_);
      late_.ms.push_back(std::chrono::duration<double, std::milli>(woken - begin - nap).count());
    });
  }

  void start_all(int from, int to) {
    std::atomic<int> next{from};
    std::vector<std::jthread> threads;
    for (int lane = 0; lane < env_int("CONCURRENCY", 64); ++lane) {
      threads.emplace_back([&] {
        for (int i = next++; i < to; i = next++) {
          (void)app_.start(sleeper, {i}, {.workflow_id = "s" + std::to_string(i)});
        }
      });
    }
  }

  std::int64_t waiting() {
    for (const auto& queue : app_.queues()) {
      if (queue.queue == "flow") { return queue.delayed; }
    }
    return 0;
  }

  Late take_late(std::size_t expected) {
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (late_.ms.size() >= expected) { return std::exchange(late_, {}); }
      }
      rest();
    }
  }

  Late wake_probes() {
    std::vector<hapax::WorkflowHandle<void>> probes;
    for (int i = 1; i <= probes_; ++i) {
      probes.push_back(app_.start(sleeper, {-i}, {.workflow_id = "p" + std::to_string(i)}));
    }
    for (const auto& probe : probes) { probe.result(); }
    return take_late(static_cast<std::size_t>(probes_));
  }

  Late wake_herd() {
    if (herd_ == 0) { return {}; }
    const auto instant = std::chrono::system_clock::now() + std::chrono::seconds(env_int("HERD_SECONDS", 60));
    herd_at_us_.store(std::chrono::duration_cast<hapax::Duration>(instant.time_since_epoch()).count());
    start_all(n_, n_ + herd_);
    while (waiting() < n_ + herd_) {
      if (std::chrono::system_clock::now() > instant) {
        throw std::runtime_error("HERD_SECONDS is too short: the herd was not asleep in time");
      }
      rest();
    }
    Late late = take_late(static_cast<std::size_t>(herd_));
    herd_seconds_ = std::chrono::duration<double>(std::chrono::system_clock::now() - instant).count();
    return late;
  }

  hapax::App app_;
  const int n_;
  const int probes_ = env_int("PROBES", 1000);
  const std::chrono::seconds spread_{env_int("WAKE_SECONDS", 30)};
  const int herd_ = env_int("HERD", 100'000);
  std::atomic<std::int64_t> herd_at_us_{0};
  double herd_seconds_ = 0;
  std::mutex mutex_;
  Late late_;  // guarded by mutex_
};

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

void sleepers() { Sleepers().run(); }

}  // namespace rig
