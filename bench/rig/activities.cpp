// Events routed, compared with tasks enqueued in bulk, and the cost of an idle ticker. hapax only: the peers have no
// such workload.
#include "rig.hpp"

#include <hapax/hapax.hpp>

#include "engine/engine.hpp"
#include "schedule/activities.hpp"
#include "schedule/ticker.hpp"
#include "store/open.hpp"

#include <sys/resource.h>

#include <iostream>
#include <thread>

namespace rig {
namespace {

using namespace hapax;

const Task<nlohmann::json> noop{"noop", {.queue = "task"}};
const Task<Fired<nlohmann::json>> react{"react", {.queue = "event"}};

std::vector<std::string> some_events(int first, int count) {
  std::vector<std::string> events;
  events.reserve(static_cast<std::size_t>(count));
  for (int i = first; i < first + count; ++i) {
    events.push_back(R"({"specversion":"1.0","id":"e)" + std::to_string(i) +
                     R"(","source":"/bench","type":"order.created","data":{"i":)" + std::to_string(i) + "}}");
  }
  return events;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

// Each event starts one activity out of three; the tasks are alike, without keys. The two take turns, so that drift of
// the machine affects both.
void events() {
  const int each = env_int("N", 20'000);
  const int rounds = env_int("ROUNDS", 5);
  App app = open(fresh_store_url());
  app.apply({.id = "on-order", .trigger = EventTrigger{.types = {"order.*"}}, .target = react});
  app.apply({.id = "on-refund", .trigger = EventTrigger{.types = {"refund.*"}}, .target = react});
  app.apply({.id = "on-mail", .trigger = EventTrigger{.types = {"mail"}, .source = "/post"}, .target = react});
  std::vector<double> bulk_rates;
  std::vector<double> event_rates;
  int sent = 0;
  for (int round = -1; round < rounds; ++round) {
    std::vector<nlohmann::json> inputs;
    for (int i = 0; i < each; ++i) { inputs.push_back({{"i", i}}); }
    auto start = Clock::now();
    (void)app.enqueue_many(noop, inputs);
    const double bulk = each / seconds_since(start);
    const std::vector<std::string> incoming = some_events(sent, each);
    start = Clock::now();
    std::size_t created = 0;
    for (const RoutedEvent& routed : app.send_events(incoming)) {
      for (const EventRun& run : routed.runs) { created += run.created ? 1 : 0; }
    }
    const double routed = each / seconds_since(start);
    sent += each;
    // Duplicates of an earlier run's events would be another measurement.
    if (created != static_cast<std::size_t>(each)) {
      throw std::runtime_error("events started nothing new: use an empty database");
    }
    if (round >= 0) {
      bulk_rates.push_back(bulk);
      event_rates.push_back(routed);
    }
  }
  std::cout << R"({"n":)" << each << R"(,"bulk_per_s":)" << median(bulk_rates) << R"(,"events_per_s":)"
            << median(event_rates) << R"(,"ratio":)" << median(event_rates) / median(bulk_rates) << "}\n";
}

// One minute of a ticker, at one look a second, with many daily activities of which none is due.
void ticker_idle() {
  const int count = env_int("N", 10'000);
  const int looks = env_int("LOOKS", 60);
  engine::Engine engine(store::open(fresh_store_url()));
  schedule::Activities activities(engine, "default");
  for (int i = 0; i < count; ++i) {
    // Spread over the day. An activity that falls due meanwhile is run as usual.
    const std::string cron = std::to_string(i % 60) + " " + std::to_string((i / 60) % 24) + " * * *";
    activities.apply(
        schedule::parse_activity(R"({"id":"a)" + std::to_string(i) + R"(","trigger":{"type":"cron","cron":")" + cron +
                                 R"("},"target":{"task":"noop"}})"),
        "bench");
  }
  schedule::Ticker ticker(engine, {});
  (void)ticker.look();
  std::vector<double> look_us;
  int ticks = 0;
  const double cpu = cpu_seconds();
  for (int i = 0; i < looks; ++i) {
    const auto start = Clock::now();
    ticks += ticker.look().activities;
    look_us.push_back(seconds_since(start) * 1e6);
  }
  const double cpu_ms = (cpu_seconds() - cpu) * 1000 * 60 / looks;
  std::cout << R"({"activities":)" << count << R"(,"looks":)" << looks << R"(,"look_us":)" << median(look_us)
            << R"(,"ticks":)" << ticks << R"(,"cpu_ms_per_minute":)" << cpu_ms << "}\n";
}

}  // namespace rig
