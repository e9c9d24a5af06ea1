// The rig's workloads W1 to W5 (docs/performance.md) through the public API, as a program would run them.
#include "rig.hpp"

#include <hapax/hapax.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <iostream>
#include <mutex>
#include <random>
#include <ranges>
#include <thread>

namespace rig {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Item, i)

namespace {

const hapax::Task<Item, void> noop{"noop", {.queue = "task"}};

// n calls of fn(i) by `lanes` threads. A thread waits for each call before its next; prints rate and latencies.
void loops(int n, int lanes, const std::function<void(int)>& fn) {
  std::atomic<int> next{0};
  std::vector<std::vector<double>> per_lane(static_cast<std::size_t>(lanes));
  const auto start = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (auto& ms : per_lane) {
      threads.emplace_back([&] {
        for (int i = next++; i < n; i = next++) {
          const auto begin = Clock::now();
          fn(i);
          ms.push_back(seconds_since(begin) * 1000);
        }
      });
    }
  }
  const double seconds = seconds_since(start);
  std::vector<double> all;
  for (const auto& ms : per_lane) all.insert(all.end(), ms.begin(), ms.end());
  const double p50 = quantile(all, 0.5);
  const double p99 = quantile(all, 0.99);
  std::cout << R"({"n":)" << n << R"(,"seconds":)" << seconds << R"(,"p50_ms":)" << p50 << R"(,"p99_ms":)" << p99
            << "}\n";
}

void print_rate(int n, double seconds) { std::cout << R"({"n":)" << n << R"(,"seconds":)" << seconds << "}\n"; }

hapax::BulkReport bulk(hapax::App& app, int n) {
  return app.enqueue_many(noop, std::views::iota(0, n) | std::views::transform([](int i) { return Item{i}; }));
}

}  // namespace

void enqueue_single() {
  auto app = hapax::open(fresh_store_url());
  loops(env_int("N", 20000), env_int("CONCURRENCY", 8), [&](int i) { app.enqueue(noop, {i}); });
}

void enqueue_bulk() {
  auto app = hapax::open(fresh_store_url());
  const int n = env_int("N", 50000);
  const auto start = Clock::now();
  const auto report = bulk(app, n);
  print_rate(static_cast<int>(report.created), seconds_since(start));
}

void drain() {
  auto app = hapax::open(fresh_store_url());
  const int n = env_int("N", 50000);
  bulk(app, n);
  analyze_if_postgres();
  std::atomic<int> seen{0};
  app.handle(noop, [&](const Item&) { seen.fetch_add(1, std::memory_order_relaxed); });
  const auto start = Clock::now();
  auto worker = app.work({.queues = {"task"}});
  worker.wait_until_empty();
  const double seconds = seconds_since(start);
  if (seen < n) throw std::runtime_error("only " + std::to_string(seen) + " handlers ran");
  print_rate(n, seconds);
}

void round_trip() {
  auto app = hapax::open(fresh_store_url());
  const int n = env_int("N", 500);
  std::mutex mutex;
  std::condition_variable started;
  int last_started = -1000;
  Clock::time_point started_at;
  app.handle(noop, [&](const Item& item) {
    const auto now = Clock::now();
    const std::lock_guard lock(mutex);
    last_started = item.i;
    started_at = now;
    started.notify_one();
  });
  auto worker = app.work({.queues = {"task"}});
  std::mt19937 random(7);
  std::vector<double> start_ms;
  std::vector<double> result_ms;
  for (int i = -20; i < n; ++i) {  // 20 calls warm up
    std::this_thread::sleep_for(std::chrono::microseconds(10000 + random() % 20000));
    const auto begin = Clock::now();
    auto handle = app.enqueue(noop, {i});
    {
      std::unique_lock lock(mutex);
      started.wait(lock, [&] { return last_started == i; });
    }
    handle.result();
    const double done = seconds_since(begin) * 1000;
    if (i < 0) continue;
    start_ms.push_back(std::chrono::duration<double, std::milli>(started_at - begin).count());
    result_ms.push_back(done);
  }
  std::cout << R"({"n":)" << n << R"(,"start_p50_ms":)" << quantile(start_ms, 0.5) << R"(,"start_p99_ms":)"
            << quantile(start_ms, 0.99) << R"(,"result_p50_ms":)" << quantile(result_ms, 0.5) << R"(,"result_p99_ms":)"
            << quantile(result_ms, 0.99) << "}\n";
}

void dedup() {
  auto app = hapax::open(fresh_store_url());
  const int unique = env_int("UNIQUE", 10000);
  loops(env_int("N", 20000), env_int("CONCURRENCY", 8),
        [&](int i) { app.enqueue(noop, {i % unique}, {.task_id = "k" + std::to_string(i % unique)}); });
}

}  // namespace rig
