// Open loop: executions arrive at random times, whether or not earlier ones have ended, as they do at a server. Each
// latency counts from the intended arrival to the result, so an arrival that the program sent late, because something
// held it up, has waited that long (no coordinated omission).
//
// A closed loop in the same run finds how many executions a second go from enqueue to result (RATE gives the rate
// instead, so that two builds get the same arrivals). Then come three parts with arrivals at 25, 50 and 75 % of it.
#include "rig.hpp"

#include <hapax/hapax.hpp>

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <semaphore>
#include <sstream>
#include <thread>

namespace rig {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Item, i)

namespace {

const hapax::Task<Item, void> nap{"nap", {.queue = "task"}};
const hapax::Workflow<Item, void> naps{"naps", {.queue = "flow"}};

// Ends the program, because a figure for failed work would be wrong.
[[noreturn]] void fail(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& what) { std::cerr << what.what() << '\n'; }
  std::_Exit(1);
}

// Starts one execution; the asynchronous form calls `ended` when its result is there, the blocking one returns then.
struct Subject {
  std::function<void(int i, std::function<void()> ended)> start;
  std::function<void(int i)> run;
};

Subject tasks(hapax::App& app) {
  return {.start =
              [&app](int i, std::function<void()> ended) {
                app.enqueue_json_async(
                    nap.spec(), R"({"i":)" + std::to_string(i) + "}", {},
                    [ended = std::move(ended)](const hapax::AnyHandle& handle, const std::exception_ptr& refused) {
                      if (refused) { fail(refused); }
                      handle.on_result([ended](const std::string&, const std::exception_ptr& failed) {
                        if (failed) { fail(failed); }
                        ended();
                      });
                    });
              },
          .run = [&app](int i) { app.enqueue(nap, {i}).result(); }};
}

Subject workflows(hapax::App& app) {
  const auto id = [](int i) { return hapax::StartOptions{.workflow_id = "w" + std::to_string(i)}; };
  return {.start =
              [&app, id](int i, std::function<void()> ended) {
                app.start_json_async(
                    naps.spec(), R"({"i":)" + std::to_string(i) + "}", id(i),
                    [ended = std::move(ended)](const hapax::AnyHandle& handle, const std::exception_ptr& refused) {
                      if (refused) { fail(refused); }
                      handle.on_result([ended](const std::string&, const std::exception_ptr& failed) {
                        if (failed) { fail(failed); }
                        ended();
                      });
                    });
              },
          .run = [&app, id](int i) { app.start(naps, {i}, id(i)).result(); }};
}

class OpenLoop {
 public:
  explicit OpenLoop(Subject subject) : subject_(std::move(subject)) {}

  void run() {
    std::cerr << "seed " << seed_ << std::endl;
    const double closed = rate_given_ > 0 ? rate_given_ : closed_loop();
    std::cerr << "closed loop: " << closed << " a second" << std::endl;
    std::ostringstream out;
    out << std::fixed << std::setprecision(3);
    out << R"({"seed":)" << seed_ << R"(,"seconds":)" << seconds_;
    if (rate_given_ == 0) { out << R"(,"closed_per_s":)" << closed; }
    for (const int percent : {25, 50, 75}) { part(closed * percent / 100, percent, out); }
    std::cout << out.str() << "}\n";
  }

 private:
  // One part's latencies; each arrival writes its own place.
  struct Part {
    explicit Part(std::size_t count) : ms(count, 0), late_ms(count, 0), left(static_cast<std::ptrdiff_t>(count)) {}
    std::vector<double> ms;
    std::vector<double> late_ms;  // how late the program itself sent the request
    std::atomic<std::ptrdiff_t> left;
    std::binary_semaphore all_ended{0};
  };

  // The closed loop's state; the last callback may still use it when closed_loop() returns.
  struct Closed {
    std::atomic<bool> stopping{false};
    std::atomic<int> ended{0};
    std::atomic<int> running{0};
    std::binary_semaphore idle{0};
    void leave() {
      if (running.fetch_sub(1) == 1) { idle.release(); }
    }
  };

  void start_next(const std::shared_ptr<Closed>& closed) {
    if (closed->stopping.load()) {
      closed->leave();
      return;
    }
    subject_.start(next_++, [this, closed] {
      ++closed->ended;
      start_next(closed);
    });
  }

  // `concurrency_` executions at a time, each end starts the next. Returns the rate after the warm-up.
  double closed_loop() {
    const auto closed = std::make_shared<Closed>();
    closed->running = concurrency_;
    std::vector<std::jthread> threads;
    for (int lane = 0; lane < concurrency_; ++lane) {
      if (callers_ == 0) {
        start_next(closed);
        continue;
      }
      threads.emplace_back([this, closed] {
        for (; !closed->stopping.load(); ++closed->ended) { subject_.run(next_++); }
        closed->leave();
      });
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));  // warms up
    const auto start = Clock::now();
    const int before = closed->ended.load();
    std::this_thread::sleep_for(std::chrono::duration<double>(closed_seconds_));
    const double rate = (closed->ended.load() - before) / seconds_since(start);
    closed->stopping = true;
    closed->idle.acquire();
    return rate;
  }

  // The intended arrivals, in seconds from the part's start: gaps of a Poisson process.
  [[nodiscard]] std::vector<double> arrivals(double rate, int percent) const {
    std::mt19937_64 random(seed_ + static_cast<std::uint64_t>(percent));
    std::vector<double> at;
    double now = 0;
    while (true) {
      const double uniform = static_cast<double>(random() >> 11) * 0x1p-53;  // below 1
      now += -std::log(1 - uniform) / rate;
      if (now >= seconds_) { return at; }
      at.push_back(now);
    }
  }

  void part(double rate, int percent, std::ostream& out) {
    const std::vector<double> at = arrivals(rate, percent);
    if (at.size() < 2) { throw std::runtime_error("too few arrivals: a higher RATE or more PART_SECONDS"); }
    const auto part = std::make_shared<Part>(at.size());
    const auto start = Clock::now() + std::chrono::milliseconds(100);
    const auto intended = [&at, start](std::size_t i) {
      return start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(at[i]));
    };
    const auto wait = [&](std::size_t i) {
      std::this_thread::sleep_until(intended(i));
      part->late_ms[i] = seconds_since(intended(i)) * 1000;
    };
    const auto note = [part](std::size_t i, Clock::time_point from) {
      part->ms[i] = seconds_since(from) * 1000;
      if (part->left.fetch_sub(1) == 1) { part->all_ended.release(); }
    };
    std::atomic<std::size_t> next{0};
    std::vector<std::jthread> threads;
    for (int caller = 0; caller < std::max(1, callers_); ++caller) {
      threads.emplace_back([&] {
        prctl(PR_SET_TIMERSLACK, 1UL);  // ns; usual are 50 us
        for (std::size_t i = next++; i < at.size(); i = next++) {
          wait(i);
          if (callers_ == 0) {
            subject_.start(next_++, [note, i, from = intended(i)] { note(i, from); });
          } else {
            subject_.run(next_++);
            note(i, intended(i));
          }
        }
      });
    }
    threads.clear();
    if (!part->all_ended.try_acquire_for(std::chrono::seconds(120))) {
      throw std::runtime_error(std::to_string(part->left.load()) + " executions have not ended after two minutes");
    }
    const std::string suffix = "_" + std::to_string(percent);
    const auto figure = [&](const char* name, std::vector<double>& ms, double q) {
      out << ",\"" << name << suffix << "_ms\":" << quantile(ms, q);
    };
    out << ",\"n" << suffix << "\":" << at.size() << ",\"rate" << suffix << "\":" << rate;
    figure("p50", part->ms, 0.5);
    figure("p99", part->ms, 0.99);
    figure("p999", part->ms, 0.999);
    figure("sent_late_p99", part->late_ms, 0.99);
  }

  const Subject subject_;
  const std::uint64_t seed_ = std::stoull(env_or("SEED", std::to_string(std::random_device()())));
  const double seconds_ = std::stod(env_or("PART_SECONDS", "10"));          // of each part
  const double closed_seconds_ = std::stod(env_or("CLOSED_SECONDS", "5"));  // of the closed loop
  const double rate_given_ = std::stod(env_or("RATE", "0"));
  // 0: asynchronous calls from one thread; else that many threads, each of which waits for its results.
  const int callers_ = env_int("CALLERS", 0);
  const int concurrency_ = callers_ > 0 ? callers_ : env_int("CONCURRENCY", 64);
  std::atomic<int> next_{0};
};

void sleep_in_handler() {
  static const std::chrono::microseconds length(env_int("HANDLER_US", 1000));
  if (length.count() > 0) { std::this_thread::sleep_for(length); }
}

int threads() { return env_int("THREADS", 16); }

}  // namespace

void open_loop() {
  auto app = hapax::open(fresh_store_url());
  app.handle(nap, [](const Item&) { sleep_in_handler(); });
  const auto worker = app.work({.queues = {"task"}, .threads = threads()});
  OpenLoop(tasks(app)).run();
}

void open_loop_workflow() {
  auto app = hapax::open(fresh_store_url());
  const int steps = env_int("STEPS", 3);
  app.handle(naps, [steps](hapax::WorkflowContext& ctx, const Item&) {
    for (int s = 0; s < steps; ++s) { ctx.step("s" + std::to_string(s), sleep_in_handler); }
  });
  const auto worker = app.work({.queues = {"flow"}, .threads = threads()});
  OpenLoop(workflows(app)).run();
}

}  // namespace rig
