#include "herd/scenes.hpp"

#include "herd/roles.hpp"
#include "torture/plan.hpp"

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

enum class First : std::uint8_t {
  nobody,       // no first request: all at once
  running,      // the first request's execution is already running
  rolled_back,  // the first request holds the identity in a transaction that is rolled back
  killed,       // the same, and its process is killed
  cut_off,      // the first requester is killed after its commit, before its answer
  lost_reply,   // the first requester loses its answer and lives
  dying,        // some requesters are killed before or after their commits
  connections,  // the herd's connections are cut
};

struct Play {
  std::string name;
  std::string task;  // "strict", "keyed", "unique" or the workflow's name
  First first = First::nobody;
  bool redelivered = false;  // all requests are sent a second time
};

class Thunder {
 public:
  Thunder(Stage& stage, const Play& play, int requests, int processes)
      : stage_(stage),
        play_(play),
        requests_(requests),
        processes_(processes),
        queue_(play.name + "-" + std::to_string(requests)),
        scene_(stage, queue_,
               {{"task", play.task},
                {"tasks", is_workflow() ? nlohmann::json::array() : nlohmann::json::array({play.task})},
                {"queue", queue_},
                {"key", play.task == "keyed" || is_workflow() ? queue_ : ""},
                {"requests", requests},
                {"processes", processes},
                {"bystanders", play.first == First::rolled_back || play.first == First::killed},
                {"results", true},
                {"slow", play.first == First::running}}) {}

  void run() {
    begin();
    start_askers();
    if (!scene_.wait_until(patience, [&] { return scene_.gate().waiting() >= expected_at_gate(); })) {
      scene_.violation("not all came to the gate");
    }
    if (with_bystanders()) {
      scene_.signal("hold");
      expect(scene_.wait_until(patience, [&] { return noted("holding") == 1; }), "nobody held the identity");
    }
    scene_.gate().open();
    meanwhile();
    if (play_.redelivered) {
      expect(scene_.wait_until(patience, [&] { return scene_.children().count("asker") <= processes_ / 2; }),
             "too few were killed");
      for (int index = 0; index < processes_; ++index) scene_.children().start({.role = "asker"});
    }
    if (scene_.children().count("worker") == 0) start_worker();
    scene_.wait_for("asker", patience);
    scene_.wait_for("winner", patience);
    scene_.end("worker");
    check();
  }

 private:
  [[nodiscard]] bool is_workflow() const { return play_.task == workflow_name; }
  [[nodiscard]] std::string task_queue() const { return queue_ + "-tasks"; }

  void start_worker() {
    scene_.children().start({.role = "worker", .queues = {queue_, task_queue()}, .lease = seconds(30)});
  }

  std::string fault(const std::string& point, const std::string& action) {
    return stage_.options().store + ".admit." + point + "=" + action + "@1";
  }

  // Runs the first request, before all others.
  void begin() {
    switch (play_.first) {
      case First::running:
        start_worker();
        scene_.children().start({.role = "winner"});
        expect(scene_.wait_until(patience, [&] { return count(Event::started) == 1; }), "the first one never ran");
        break;
      case First::rolled_back:
      case First::killed: scene_.children().start({.role = "holder"}); break;
      case First::cut_off:
        scene_.children().start({.role = "winner", .fault = fault("after_commit", "kill")});
        scene_.wait_for("winner", patience);
        expect(executions().size() == 1, "the winner was not killed after its commit");
        break;
      case First::lost_reply:
        scene_.children().start({.role = "winner", .fault = fault("after_commit", "throw")});
        expect(scene_.wait_until(patience, [&] { return count(Event::acknowledged) + count(Event::duplicate) == 1; }),
               "the winner got no answer");
        break;
      default: break;
    }
  }

  void start_askers() {
    for (int index = 0; index < processes_; ++index) {
      std::string with;
      if (play_.first == First::dying && index % 4 == 0) with = fault("after_commit", "kill");
      if (play_.first == First::dying && index % 4 == 2) with = fault("before_commit", "kill");
      scene_.children().start({.role = "asker", .fault = with});
    }
  }

  [[nodiscard]] bool with_bystanders() const {
    return play_.first == First::rolled_back || play_.first == First::killed;
  }
  [[nodiscard]] int expected_at_gate() const { return requests_ + (with_bystanders() ? 2 * processes_ : 0); }

  void meanwhile() {
    if (play_.first == First::running) {
      expect(scene_.wait_until(patience, [&] { return count(Event::duplicate) == requests_; }),
             "a duplicate of a running one got no answer");
      scene_.signal("finish");
    }
    if (with_bystanders()) {
      // On SQLite the holder has the only writer. On other stores its transaction delays no other identity.
      if (!stage_.store().info().capabilities.attaches_transaction) {
        std::this_thread::sleep_for(milliseconds(400));
      } else {
        expect(scene_.wait_until(seconds(30), [&] { return noted("bystander") == 2 * processes_; }),
               "one open transaction held up others: " + std::to_string(noted("bystander")) + " answers");
      }
      expect(count(Event::acknowledged) + count(Event::duplicate) == 0, "answered while the identity was not decided");
      if (play_.first == First::killed) {
        for (auto& child : scene_.children().living()) {
          if (child.role == "holder") scene_.children().kill(child);
        }
      }
      scene_.signal("release");
      scene_.wait_for("holder", patience);
    }
    if (play_.first == First::connections) {
      for (int round = 0; round < 12; ++round) {
        stage_.cut_connections(2);
        std::this_thread::sleep_for(milliseconds(40));
      }
    }
  }

  void check() {
    const auto stored = executions();
    const auto created = ids_of(Event::acknowledged);
    const auto met = ids_of(Event::duplicate);
    std::size_t answers = static_cast<std::size_t>(requests_);
    if (play_.first == First::running || play_.first == First::lost_reply) answers += 1;
    if (play_.first != First::dying) {
      expect(created.size() + met.size() == answers,
             std::to_string(created.size() + met.size()) + " answers of " + std::to_string(answers));
    } else {
      expect(!created.empty() || !met.empty(), "nobody got an answer");
    }
    stage_.findings().count("requests answered", static_cast<std::int64_t>(created.size() + met.size()));
    if (play_.task == "unique") {
      expect(met.empty(), "unique ones were deduplicated");
      expect(stored.size() == created.size(), "executions: " + std::to_string(stored.size()));
    } else {
      const bool may_be_lost = play_.first == First::cut_off || play_.first == First::lost_reply ||
                               play_.first == First::dying || play_.first == First::connections;
      expect(created.size() == 1 || (may_be_lost && created.empty()), std::to_string(created.size()) + " were created");
      expect(stored.size() == 1, std::to_string(stored.size()) + " executions exist");
      std::set<Uuid> all(created.begin(), created.end());
      all.insert(met.begin(), met.end());
      expect(all.size() == 1 && !stored.empty() && all.contains(stored[0].id), "not everybody got the same execution");
    }
    if (play_.redelivered) {
      expect(met.size() >= static_cast<std::size_t>(requests_), "a redelivered one was not recognised");
    }
    check_results(stored);
    if (is_workflow()) {
      const auto sent = executions(task_queue());
      expect(sent.size() == 1, std::to_string(sent.size()) + " tasks were sent");
      for (const auto& one : sent) expect(starts_of(one.id) == 1, "its task was called more than once");
    }
  }

  // Each execution ran once, and every requester has its result.
  void check_results(const std::vector<store::Execution>& stored) {
    std::map<Uuid, int> starts;
    std::map<Uuid, const store::Execution*> by_id;
    for (const auto& one : stored) {
      by_id[one.id] = &one;
      expect(one.status == Status::completed, "an execution is " + std::string(to_string(one.status)));
    }
    std::size_t answers = 0;
    std::size_t observed = 0;
    for (const auto& record : scene_.records()) {
      if (record.event == Event::started) ++starts[record.id()];
      if (record.event == Event::acknowledged || record.event == Event::duplicate) ++answers;
      if (record.event == Event::duplicate && by_id.contains(record.id())) {
        expect(record.words.at(1) == std::to_string(by_id[record.id()]->created_at.time_since_epoch().count()),
               "deduplicated_from is not the first creation");
      }
      if (record.event != Event::observed) continue;
      ++observed;
      const auto found = by_id.find(record.id());
      expect(found != by_id.end() && found->second->result == record.words.at(2), "somebody got another result");
    }
    expect(play_.first == First::dying || observed == answers, std::to_string(observed) + " results observed");
    for (const auto& one : stored) expect(starts[one.id] == 1, std::to_string(starts[one.id]) + " starts of one");
  }

  void expect(bool fine, const std::string& otherwise) {
    if (!fine) scene_.violation(otherwise);
  }

  [[nodiscard]] int count(Event event) const {
    const auto records = scene_.records();
    return static_cast<int>(std::ranges::count(records, event, &torture::Record::event));
  }
  [[nodiscard]] int noted(const std::string& what) const {
    const auto records = scene_.records();
    return static_cast<int>(std::ranges::count_if(records, [&](const torture::Record& record) {
      return record.event == Event::note && !record.words.empty() && record.words[0] == what;
    }));
  }
  [[nodiscard]] std::vector<Uuid> ids_of(Event event) const {
    std::vector<Uuid> ids;
    for (const auto& record : scene_.records()) {
      if (record.event == event) ids.push_back(record.id());
    }
    return ids;
  }
  [[nodiscard]] int starts_of(const Uuid& id) const {
    const auto ids = ids_of(Event::started);
    return static_cast<int>(std::ranges::count(ids, id));
  }
  [[nodiscard]] std::vector<store::Execution> executions() { return executions(queue_); }
  [[nodiscard]] std::vector<store::Execution> executions(const std::string& queue) {
    store::ListQuery query;
    query.queue = queue;
    query.limit = 1000;
    return stage_.store().list(query);
  }

  Stage& stage_;
  const Play& play_;
  int requests_;
  int processes_;
  std::string queue_;
  Scene scene_;
};

}  // namespace

void thundering(Stage& stage, int requests, int processes) {
  std::vector<Play> plays{
      {.name = "strict", .task = "strict"},
      {.name = "keyed", .task = "keyed"},
      {.name = "unique", .task = "unique"},
      {.name = "running", .task = "strict", .first = First::running},
      {.name = "rolled-back", .task = "keyed", .first = First::rolled_back},
      {.name = "killed", .task = "strict", .first = First::killed},
      {.name = "cut-off", .task = "keyed", .first = First::cut_off},
      {.name = "lost-reply", .task = "strict", .first = First::lost_reply},
      {.name = "dying", .task = "keyed", .first = First::dying},
  };
  if (stage.store().info().capabilities.attaches_transaction) {
    plays.push_back({.name = "connections", .task = "strict", .first = First::connections});
  }
  for (const auto& play : plays) Thunder(stage, play, requests, processes).run();
}

void starts(Stage& stage, int processes) {
  const std::vector<Play> plays{
      {.name = "started", .task = workflow_name},
      {.name = "started-running", .task = workflow_name, .first = First::running},
      {.name = "started-cut-off", .task = workflow_name, .first = First::cut_off},
      {.name = "started-dying", .task = workflow_name, .first = First::dying, .redelivered = true},
  };
  for (const auto& play : plays) Thunder(stage, play, processes, processes).run();
}

}  // namespace hapax::herd
