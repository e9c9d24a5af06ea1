// Many processes send the same events, and some are killed: each event starts one run of each match, and none is lost.
#include "herd/roles.hpp"
#include "herd/scenes.hpp"

#include "model/identity.hpp"
#include "torture/roles.hpp"

#include <hapax/hapax.hpp>

#include <algorithm>
#include <set>
#include <thread>

namespace hapax::herd {
namespace {

using std::chrono::seconds;
using torture::Event;

constexpr Duration patience = seconds(120);
constexpr int batch = 500;
constexpr const char* role = "sender";

std::string envelope(const std::string& id, const std::string& type) {
  return R"({"specversion":"1.0","id":")" + id + R"(","source":"/herd","type":")" + type + R"(","data":{"n":1}})";
}

class Events {
 public:
  Events(Stage& stage, const std::string& name, nlohmann::json plan)
      : stage_(stage), scene_(stage, name, plan), app_(hapax::open(stage.url())), type_(plan.at("type")) {}

 protected:
  std::set<std::string> started(const std::string& activity) {
    std::set<std::string> ids;
    model::ListQuery query;
    query.parent = model::activity_uuid("default", activity);
    query.limit = 1000;
    query.payloads = false;
    while (true) {
      const std::vector<model::Execution> page = stage_.store().list(query);
      if (page.empty()) return ids;
      query.after = page.back().id;
      for (const model::Execution& run : page) {
        if (!ids.insert(run.identity_key).second) scene_.violation(run.identity_key + " has two executions");
      }
    }
  }

  void subscribe(const std::string& id, const std::string& pattern) {
    app_.apply({.id = id, .trigger = EventTrigger{.types = {pattern}}, .target = tick_task});
  }

  Stage& stage_;
  Scene scene_;
  App app_;
  std::string type_;
};

// All processes send one event at the same instant, again and again.
class SameEvent : Events {
 public:
  SameEvent(Stage& stage, int processes)
      : Events(stage, "same-event",
               {{"type", "same.event"}, {"events", 50}, {"distinct", 1}, {"each", 1}, {"processes", processes}}),
        processes_(processes) {}

  void run() {
    for (const char* id : {"same-a", "same-b", "same-c"}) subscribe(id, "same.*");
    subscribe("not-this", "other.*");
    for (int i = 0; i < processes_; ++i) scene_.children().start({.role = role, .fault = {}, .queues = {"nothing"}});
    if (!scene_.wait_until(patience, [&] { return scene_.gate().waiting() >= processes_; })) {
      scene_.violation("the senders do not come");
    }
    scene_.gate().open();
    scene_.wait_for(role, patience);
    for (const char* id : {"same-a", "same-b", "same-c"}) {
      const auto ids = started(id);
      if (ids != std::set<std::string>{std::string("activity-") + id + ":e0"}) {
        scene_.violation(std::string(id) + " has " + std::to_string(ids.size()) + " runs");
      }
    }
    if (!started("not-this").empty()) scene_.violation("an activity that was not meant has started");
    const auto records = scene_.records();
    const auto created =
        std::ranges::count_if(records, [](const torture::Record& one) { return one.event == Event::acknowledged; });
    if (created > 3) scene_.violation(std::to_string(created) + " senders were told that they started it");
    stage_.findings().count("same event sent", 50 * processes_);
  }

 private:
  int processes_;
};

// Many events, one in ten of them sent twice, by senders that are killed and start over.
class ManyEvents : Events {
 public:
  ManyEvents(Stage& stage, int events, int processes)
      : Events(stage, "many-events",
               {{"type", "many.event"},
                {"events", events},
                {"distinct", events - events / 10},
                {"each", 0},
                {"processes", processes}}),
        events_(events),
        processes_(processes) {}

  void run() {
    subscribe("many-a", "many.*");
    for (int i = 0; i < processes_; ++i) start(stage_.random().fraction() < 0.5 ? fault() : "");
    const bool done = scene_.wait_until(patience, [&] {
      // A killed sender is replaced by one that sends its whole part again.
      while (scene_.children().count(role) + finished() < processes_) start("");
      return finished() >= processes_;
    });
    if (!done) scene_.violation("the senders do not come to an end");
    scene_.wait_for(role, patience);
    const auto ids = started("many-a");
    const int distinct = events_ - events_ / 10;
    for (int i = 0; i < distinct; ++i) {
      if (!ids.contains("activity-many-a:e" + std::to_string(i)))
        scene_.violation("e" + std::to_string(i) + " is lost");
    }
    if (static_cast<int>(ids.size()) != distinct) scene_.violation(std::to_string(ids.size()) + " runs");
    stage_.findings().count("events sent", events_);
  }

 private:
  std::string fault() {
    const bool before = stage_.random().fraction() < 0.5;
    return std::string(before ? "router.admit.before" : "router.admit.after") + "=kill@" +
           std::to_string(1 + static_cast<int>(stage_.random().fraction() * 3));
  }
  void start(const std::string& fault) {
    scene_.children().start({.role = role, .fault = fault, .queues = {"nothing"}});
  }
  int finished() const {
    const auto records = scene_.records();
    std::set<std::string> parts;
    for (const torture::Record& one : records) {
      if (one.event == Event::note && one.words.size() == 2) parts.insert(one.words[1]);
    }
    return static_cast<int>(parts.size());
  }

  int events_;
  int processes_;
};

}  // namespace

int run_sender(const torture::Options& options) {
  const nlohmann::json plan = read_plan(options.folder);
  torture::Log log(options.folder, options.role, options.number);
  App app = hapax::open(options.url);
  const int events = plan.at("events");
  const int distinct = plan.at("distinct");
  const int processes = plan.at("processes");
  const std::string type = plan.at("type");
  const bool alone = plan.at("each") == 1;
  Gate gate(options.folder);
  if (alone && !gate.wait()) return 1;
  // Either all processes send the same event, or each sends every n-th one, so that repeats come from different
  // processes.
  const int part = alone ? 0 : options.number % processes;
  std::vector<std::string> pending;
  const auto send = [&] {
    if (pending.empty()) return;
    while (true) {
      try {
        for (const RoutedEvent& routed : app.send_events(pending)) {
          for (const EventRun& run : routed.runs) {
            if (run.created && alone) log.write(Event::acknowledged, run.execution, run.activity, "", 1);
            if (!run.error.empty()) throw std::runtime_error(run.error);
          }
        }
        break;
      } catch (const StoreUnavailable&) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
    }
    pending.clear();
  };
  for (int i = 0; i < events; ++i) {
    if (!alone && i % processes != part) continue;
    pending.push_back(envelope("e" + std::to_string(i % distinct), type));
    if (alone || static_cast<int>(pending.size()) == batch) send();
  }
  send();
  log.write(Event::note, "sent", part);
  return 0;
}

void events(Stage& stage, int events, int processes) {
  SameEvent(stage, processes).run();
  ManyEvents(stage, events, processes).run();
}

}  // namespace hapax::herd
