// Deploys over running workflows: two builds whose code differs, at the same time and one after the other.
#include "herd/roles.hpp"
#include "herd/scenes.hpp"

#include <hapax/hapax.hpp>

#include <algorithm>
#include <map>
#include <thread>

namespace hapax::herd {
namespace {

using std::chrono::seconds;

constexpr Duration patience = seconds(60);
// For scenes that stop a process for a moment: its lease must not run out.
constexpr Duration long_lease = seconds(30);
constexpr Duration in_flight = seconds(2);
constexpr Duration short_lease = seconds(1);
constexpr const char* both_sides = "at place 1 the journal has step 'charge', the code asks for step 'charge-card'";

class Deploy {
 public:
  Deploy(Stage& stage, const std::string& name)
      : scene_(stage, name, nlohmann::json::object()), app_(hapax::open(stage.url())), queue_(name) {}

 protected:
  int deploy(const std::string& build, Duration lease) {
    const int before = noted("working", "-", build);
    const int number = scene_.children().start({.role = build, .queues = {queue_}, .lease = lease});
    expect(scene_.wait_until(patience, [&] { return noted("working", "-", build) > before; }), build + " never worked");
    return number;
  }
  // Stops the process and waits until a claim that it had already sent is over, so that it cannot take what is sent
  // next.
  void stop(int number) {
    scene_.children().stop(*scene_.children().find(number), long_lease);
    std::this_thread::sleep_for(in_flight);
  }
  void resume(int number) { scene_.children().resume(*scene_.children().find(number)); }
  void kill(int number, const std::string& build) {
    scene_.children().kill(*scene_.children().find(number));
    scene_.wait_for(build, patience);
  }

  // Starts runs and waits until each waits for its signal.
  void begin(const std::string& letter, int count) {
    for (int number = 1; number <= count; ++number) {
      const std::string id = queue_ + "-" + letter + std::to_string(number);
      runs_.insert_or_assign(letter + std::to_string(number),
                             app_.start(order_workflow, id, {.workflow_id = id, .queue = queue_}));
    }
    const bool all_wait = scene_.wait_until(patience, [&] {
      return std::ranges::all_of(
          runs_, [&](const auto& run) { return !run.first.starts_with(letter) || is_waiting(run.first); });
    });
    expect(all_wait, "not all came to wait for their signal");
  }
  void go(const std::string& name) { runs_.at(name).signal("go", 1); }
  void go_all(const std::string& letter) {
    for (const auto& [name, run] : runs_) {
      if (name.starts_with(letter)) go(name);
    }
  }
  [[nodiscard]] ExecutionRecord record(const std::string& name) { return app_.get(runs_.at(name).id()).value(); }
  [[nodiscard]] bool is_waiting(const std::string& name) { return record(name).waiting; }

  // Expects that the build has met the run, could not replay it and released it: the run is not parked and nothing was
  // done.
  void expect_left_by(const std::string& build, const std::string& name) {
    const bool met = scene_.wait_until(patience, [&] { return noted("met", key(name), build) > 0; });
    expect(met, build + " never met " + name);
    expect(record(name).stuck_reason.empty(), name + " was parked although another build is there");
  }

  void expect_all_end(const std::string& letter) {
    for (auto& [name, run] : runs_) {
      if (!name.starts_with(letter)) continue;
      const bool ended = scene_.wait_until(patience, [&] { return is_terminal(record(name).status); });
      expect(ended && record(name).status == Status::completed,
             name + " is " + std::string(to_string(record(name).status)));
      expect(record(name).stuck_reason.empty(), name + " ended as stuck");
    }
  }
  // Expects that the effect happened once, in one of the allowed builds; with no build allowed, not at all.
  void expect_effect(const std::string& effect, const std::string& name, const std::vector<std::string>& builds) {
    int all = 0;
    for (const char* build : {first_build, other_build, patched_build}) {
      const int count = noted(effect, key(name), build);
      all += count;
      expect(count == 0 || std::ranges::find(builds, build) != builds.end(),
             effect + " of " + name + " was done by " + build);
    }
    const int wanted = builds.empty() ? 0 : 1;
    expect(all == wanted, effect + " of " + name + " was done " + std::to_string(all) + " times");
  }
  void expect_begun_by(const std::string& build, const std::string& name) {
    const auto lines = app_.timeline(runs_.at(name).id());
    expect(!lines.empty() && lines.front().detail.find(build) != std::string::npos,
           name + " does not tell that " + build + " began it");
    const auto patches = std::ranges::count(lines, std::string("patch"), &TimelineEntry::kind);
    expect(patches == (build == patched_build ? 1 : 0), name + " has " + std::to_string(patches) + " patches");
  }

  [[nodiscard]] std::string key(const std::string& name) const { return queue_ + "-" + name; }
  [[nodiscard]] int noted(const std::string& what, const std::string& id, const std::string& build) const {
    const auto records = scene_.records();
    return static_cast<int>(std::ranges::count_if(records, [&](const torture::Record& one) {
      return one.words == std::vector<std::string>{what, id, build};
    }));
  }
  void expect(bool fine, const std::string& otherwise) {
    if (!fine) scene_.violation(otherwise);
  }

  Scene scene_;
  App app_;
  std::string queue_;
  std::map<std::string, WorkflowHandle<std::string>> runs_;
};

// The build that began the runs is killed, and the next build cannot replay them: the runs are parked. Then a fixed
// build starts beside it.
class BadDeploy : Deploy {
 public:
  explicit BadDeploy(Stage& stage) : Deploy(stage, "bad-deploy") {}

  void run() {
    const int first = deploy(first_build, short_lease);
    begin("a", 4);
    kill(first, first_build);
    deploy(other_build, short_lease);
    go_all("a");
    for (const auto& [name, handle] : runs_) {
      const bool parked = scene_.wait_until(patience, [&] { return !record(name).stuck_reason.empty(); });
      expect(parked && record(name).stuck_reason == both_sides,
             name + " is stuck because: " + record(name).stuck_reason);
      expect(record(name).status == Status::pending, name + " is " + std::string(to_string(record(name).status)));
    }
    deploy(patched_build, short_lease);
    expect_all_end("a");
    for (const auto& [name, handle] : runs_) {
      expect_begun_by(first_build, name);
      expect_effect("charge", name, {first_build});
      expect_effect("charge-card", name, {});
      expect_effect("audit", name, {});
      expect_effect("ship", name, {patched_build});
    }
  }
};

// Two builds that cannot replay each other's runs: each releases the other's runs.
class Rolling : Deploy {
 public:
  explicit Rolling(Stage& stage) : Deploy(stage, "rolling") {}

  void run() {
    const int first = deploy(first_build, long_lease);
    begin("a", 6);
    stop(first);
    const int other = deploy(other_build, long_lease);
    begin("b", 6);
    go("a1");
    expect_left_by(other_build, "a1");
    resume(first);
    expect_all_end("a1");
    stop(other);
    go("b1");
    expect_left_by(first_build, "b1");
    resume(other);
    go_rest();
    expect_all_end("a");
    expect_all_end("b");
    for (const auto& [name, handle] : runs_) {
      const bool of_first = name.starts_with("a");
      const char* owner = of_first ? first_build : other_build;
      expect_begun_by(owner, name);
      expect_effect(of_first ? "charge" : "charge-card", name, {owner});
      expect_effect(of_first ? "charge-card" : "charge", name, {});
      expect_effect("ship", name, {owner});
    }
  }

 private:
  void go_rest() {
    for (const auto& [name, handle] : runs_) {
      if (!name.ends_with("1")) go(name);
    }
  }
};

// A build with a patch runs beside the build before it. Both continue the old runs; only the new build can
// continue the new ones.
class Patched : Deploy {
 public:
  explicit Patched(Stage& stage) : Deploy(stage, "patched") {}

  void run() {
    const int first = deploy(first_build, long_lease);
    begin("a", 6);
    stop(first);
    const int patched = deploy(patched_build, long_lease);
    begin("c", 6);
    stop(patched);
    resume(first);
    go("c1");
    expect_left_by(first_build, "c1");
    resume(patched);
    for (const char* name : {"a1", "a2", "a3", "c2", "c3"}) go(name);
    for (const char* name : {"a1", "a2", "a3", "c1", "c2", "c3"}) expect_all_end(name);
    kill(first, first_build);
    for (const char* name : {"a4", "a5", "a6", "c4", "c5", "c6"}) go(name);
    expect_all_end("a");
    expect_all_end("c");
    for (const auto& [name, handle] : runs_) check(name);
  }

 private:
  void check(const std::string& name) {
    const bool before = name.starts_with("a");
    const bool after_the_kill = name.back() >= '4';
    expect_begun_by(before ? first_build : patched_build, name);
    expect_effect("charge", name, {before ? first_build : patched_build});
    expect_effect("audit", name, before ? std::vector<std::string>{} : std::vector<std::string>{patched_build});
    expect_effect("ship", name,
                  before && !after_the_kill ? std::vector<std::string>{first_build, patched_build}
                                            : std::vector<std::string>{patched_build});
  }
};

}  // namespace

void deploy(Stage& stage) {
  Rolling(stage).run();
  Patched(stage).run();
  BadDeploy(stage).run();
}

}  // namespace hapax::herd
