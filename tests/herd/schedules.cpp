// Tickers that are killed and stopped: every due tick has one execution.
#include "herd/roles.hpp"
#include "herd/scenes.hpp"

#include "model/identity.hpp"
#include "schedule/firing.hpp"
#include "torture/roles.hpp"

#include <hapax/hapax.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

namespace hapax::herd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using torture::Event;

constexpr Duration patience = seconds(60);
constexpr const char* role = "ticker";

std::string activity_name(int number) { return "each-second-" + std::to_string(number); }

// The runs that an activity has started, by their IDs; an ID that occurs twice is a violation.
class Runs {
 public:
  Runs(Scene& scene, store::Store& store, const std::string& activity) : activity_(activity) {
    model::ListQuery query;
    query.parent = model::activity_uuid("default", activity);
    query.limit = 1000;
    while (true) {
      const std::vector<model::Execution> page = store.list(query);
      if (page.empty()) break;
      query.after = page.back().id;
      for (const model::Execution& run : page) {
        if (!ids_.insert(run.identity_key).second) scene.violation(run.identity_key + " has two executions");
        triggers_[run.identity_key] = nlohmann::json::parse(run.input).at("trigger");
      }
    }
  }

  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  [[nodiscard]] std::string id(Time tick) const {
    return "activity-" + activity_ + ":" + schedule::format_scheduled_for(tick);
  }
  [[nodiscard]] bool has(Time tick) const { return ids_.contains(id(tick)); }
  [[nodiscard]] const nlohmann::json& trigger(Time tick) const { return triggers_.at(id(tick)); }

 private:
  std::string activity_;
  std::set<std::string> ids_;
  std::map<std::string, nlohmann::json> triggers_;
};

class Tickers {
 public:
  Tickers(Stage& stage, const std::string& name)
      : stage_(stage), scene_(stage, name, nlohmann::json::object()), app_(hapax::open(stage.url())) {}

 protected:
  int start_ticker(const std::string& fault = {}) {
    return scene_.children().start({.role = role, .fault = fault, .queues = {"nothing"}});
  }
  void wait_for_tickers(int count) {
    const bool working = scene_.wait_until(patience, [&] {
      const auto records = scene_.records();
      return std::ranges::count_if(records, [](const torture::Record& one) { return one.event == Event::note; }) >=
             count;
    });
    if (!working) scene_.violation("the tickers do not start");
  }
  [[nodiscard]] model::ActivityState state(const std::string& id) {
    return stage_.store().activities({.namespace_name = "default", .id = id, .kind = {}, .after = {}}).at(0);
  }
  // No ticker runs yet, so the cursor is the time of creation.
  void make(const Activity& activity) {
    app_.apply(activity);
    made_[activity.id] = state(activity.id).cursor;
  }
  [[nodiscard]] Time first_tick(const std::string& id) const {
    return std::chrono::floor<seconds>(made_.at(id)) + seconds(1);
  }

  Stage& stage_;
  Scene scene_;
  App app_;
  std::map<std::string, Time> made_;
};

// Every due tick has exactly one execution, while tickers are killed at random and after a commit.
class EachTickOnce : Tickers {
 public:
  EachTickOnce(Stage& stage, const TickersSize& size) : Tickers(stage, "ticks"), size_(size) {}

  void run() {
    for (int i = 0; i < size_.activities; ++i) {
      make({.id = activity_name(i), .trigger = CronTrigger{.cron = "@every 1s"}, .target = tick_task});
    }
    for (int i = 0; i < size_.processes; ++i) start_ticker(random_fault());
    const auto until = torture::Ticks::now() + size_.how_long;
    while (torture::Ticks::now() < until) {
      std::this_thread::sleep_for(milliseconds(300));
      scene_.reap();
      if (stage_.random().fraction() < 0.5) kill_one();
      if (stage_.random().fraction() < 0.1) stage_.cut_connections(4);
      while (scene_.children().count(role) < size_.processes) start_ticker(random_fault());
    }
    finish();
    check();
  }

 private:
  std::string random_fault() {
    const double drawn = stage_.random().fraction();
    const std::string nth = std::to_string(1 + static_cast<int>(stage_.random().fraction() * 20));
    if (drawn < 0.2) return "ticker.before=kill@" + nth;
    if (drawn < 0.4) return "ticker.after=kill@" + nth;
    return "";
  }

  void kill_one() {
    auto& living = scene_.children().living();
    if (living.empty()) return;
    scene_.children().kill(
        living[static_cast<std::size_t>(stage_.random().fraction() * static_cast<double>(living.size()))]);
    stage_.findings().count("tickers killed");
  }

  // A last ticker, which is not killed, fires the remaining ticks.
  void finish() {
    for (torture::Child& child : scene_.children().living()) scene_.children().kill(child);
    scene_.wait_for(role, patience);
    ended_at_ = stage_.store().now();
    start_ticker();
    const bool done = scene_.wait_until(patience, [&] {
      for (int i = 0; i < size_.activities; ++i) {
        if (state(activity_name(i)).cursor + seconds(1) <= ended_at_) return false;
      }
      return true;
    });
    if (!done) scene_.violation("ticks are due and nobody starts them");
    scene_.end(role);
  }

  void check() {
    for (int i = 0; i < size_.activities; ++i) {
      const std::string id = activity_name(i);
      const Runs runs(scene_, stage_.store(), id);
      const model::ActivityState end = state(id);
      std::size_t due = 0;
      for (Time tick = first_tick(id); tick <= end.cursor; tick += seconds(1), ++due) {
        if (!runs.has(tick)) scene_.violation(runs.id(tick) + " is missing");
      }
      if (runs.size() != due)
        scene_.violation(id + " has " + std::to_string(runs.size()) + " runs of " + std::to_string(due) + " ticks");
      if (end.counts != model::ActivityCounts{.started = static_cast<std::int64_t>(due)}) {
        scene_.violation(id + " counts " + std::to_string(end.counts.started) + " started, " +
                         std::to_string(end.counts.duplicates) + " duplicates, " + std::to_string(end.counts.missed) +
                         " missed of " + std::to_string(due));
      }
      stage_.findings().count("ticks", static_cast<std::int64_t>(due));
    }
  }

  TickersSize size_;
  Time ended_at_{};
};

// The only ticker is stopped for a while; each misfire policy handles the outage.
class Outage : Tickers {
 public:
  Outage(Stage& stage, Duration length) : Tickers(stage, "outage"), length_(length) {}

  void run() {
    for (const auto& [id, policy] : policies) {
      CronTrigger trigger{.cron = "@every 1s", .misfire_policy = policy, .misfire_grace = grace};
      trigger.catchup_limit = caught_up;
      make({.id = id, .trigger = trigger, .target = tick_task});
    }
    const int ticker = start_ticker();
    wait_for_tickers(1);
    wait_for_runs(2);
    scene_.children().stop(*scene_.children().find(ticker), patience);
    std::this_thread::sleep_for(length_);
    const std::size_t before = total();
    scene_.children().resume(*scene_.children().find(ticker));
    if (!scene_.wait_until(patience, [&] { return total() >= before + 6; })) scene_.violation("nothing goes on");
    scene_.end(role);
    for (const auto& [id, policy] : policies) check(id, policy);
  }

 private:
  static constexpr int caught_up = 2;
  // Longer than the delays of a busy machine, which are not an outage.
  static constexpr Duration grace = seconds(3);
  inline static const std::vector<std::pair<std::string, MisfirePolicy>> policies = {
      {"skipping", MisfirePolicy::skip},
      {"catching-up", MisfirePolicy::catchup},
      {"compressing", MisfirePolicy::compress}};

  std::size_t total() {
    std::size_t all = 0;
    for (const auto& [id, policy] : policies) all += Runs(scene_, stage_.store(), id).size();
    return all;
  }
  void wait_for_runs(std::size_t each) {
    const bool there = scene_.wait_until(patience, [&] {
      return std::ranges::all_of(
          policies, [&](const auto& one) { return Runs(scene_, stage_.store(), one.first).size() >= each; });
    });
    if (!there) scene_.violation("the ticker starts nothing");
  }

  void check(const std::string& id, MisfirePolicy policy) {
    const Runs runs(scene_, stage_.store(), id);
    const model::ActivityState end = state(id);
    std::vector<Time> absent;
    for (Time tick = first_tick(id); tick <= end.cursor; tick += seconds(1)) {
      if (!runs.has(tick)) absent.push_back(tick);
    }
    const auto expect = [&](bool fine, const std::string& otherwise) {
      if (!fine) scene_.violation(id + ": " + otherwise);
    };
    if (absent.empty()) return scene_.violation(id + ": no tick was missed in " + format_duration(length_));
    expect(absent.back() - absent.front() == seconds(absent.size() - 1), "what was dropped is not one outage");
    const auto dropped = static_cast<std::int64_t>(absent.size());
    const std::int64_t shortest = std::chrono::duration_cast<seconds>(length_ - grace).count() - 2;
    const Time next = absent.back() + seconds(1);
    expect(runs.has(next), "the tick after the dropped ones did not run");
    if (policy == MisfirePolicy::compress) {
      expect(end.counts.missed == 0, "compress drops nothing");
      const nlohmann::json window = runs.trigger(next).at("window");
      expect(window.is_object() && window.at("missed") == dropped + 1 &&
                 window.at("from") == schedule::format_scheduled_for(absent.front()) &&
                 window.at("to") == schedule::format_scheduled_for(next),
             "its window is " + window.dump());
    } else {
      expect(end.counts.missed == dropped,
             "counts " + std::to_string(end.counts.missed) + " of " + std::to_string(dropped) + " as missed");
      expect(dropped + (policy == MisfirePolicy::catchup ? caught_up : 0) >= shortest, "too few were missed");
      expect(runs.trigger(next).at("window").is_null(), "it has a window");
    }
  }

  Duration length_;
};

}  // namespace

int run_ticker(const torture::Options& options) {
  torture::Log log(options.folder, options.role, options.number);
  App app = hapax::open(options.url);
  app.handle(tick_task, [](const Fired<nlohmann::json>&) {});
  const Worker worker = app.work({.queues = options.queues, .threads = 1, .lease = seconds(30)});
  log.write(Event::note, "working");
  while (!torture::told_to_end()) std::this_thread::sleep_for(milliseconds(5));
  return 0;
}

void tickers(Stage& stage, const TickersSize& size) {
  EachTickOnce(stage, size).run();
  Outage(stage, size.outage).run();
}

}  // namespace hapax::herd
