// Small fixed scenarios: each tests one promise without other faults, so that a failure shows which promise broke.
#include "torture/controller.hpp"

#include "torture/faults.hpp"
#include "torture/log.hpp"
#include "torture/plan.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace hapax::torture {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The promise is lease + 1 s, and the run prints the measured time. The scene fails only above this bound, so that a
// busy machine alone does not fail it.
constexpr Duration recovery_bound = lease + seconds(4);
// Long enough that a busy machine never lets it run out, for scenes that an expired lease would spoil.
constexpr Duration long_lease = seconds(10);
constexpr Duration medium_lease = seconds(2);
constexpr Duration patience = seconds(60);

}  // namespace

void Controller::scenes() {
  for (const std::string role : {"worker", "engine-worker"}) {
    if (options_.raw && role == "engine-worker") continue;
    poison_scene(role);
    zombie_scene(role);
    recovery_scene(role);
    lost_reply_scene(role);
  }
  (void)wait_until(patience, [&] {
    (void)store_->sweep({});
    return store_->sessions().empty();
  });
}

// A handler that kills its process ends as a dead letter and costs no neighbour its life.
void Controller::poison_scene(const std::string& role) {
  const std::string queue = "poison-" + role;
  std::vector<store::NewExecution> items;
  for (int index = 0; index < 60; ++index) {
    items.push_back(request(index == 20 ? "poison" : "plain", queue));
    items.back().max_lost = poison_max_lost;
  }
  admit(items);
  const bool idle = wait_until(patience, [&] {
    while (children_->count(role) < 2) children_->start({.role = role, .queues = {queue}, .lease = medium_lease});
    return is_idle({queue});
  });
  end_children(role);
  if (!idle) findings_.violation("poison scene", role + ": not idle");
  for (const auto& execution : executions_in(queue)) {
    if (execution.task == "poison") {
      if (!execution.dead) findings_.violation("poison scene", role + ": no dead letter");
    } else if (execution.status != Status::completed || execution.lost > 1) {
      findings_.violation("poison scene", role + ": a neighbour was lost " + std::to_string(execution.lost) +
                                              " times and is " + std::string(to_string(execution.status)));
    }
  }
}

// A worker is stopped beyond its lease and continues while another runs its execution: its outcome is refused.
void Controller::zombie_scene(const std::string& role) {
  const std::string queue = "zombie-" + role;
  const auto item = request("sleeper", queue);
  admit({item});
  const int first = children_->start({.role = role, .queues = {queue}});
  if (!wait_until(patience, [&] { return was_started(item.id, 0); }))
    findings_.violation("zombie scene", role + ": no start");
  if (Child* zombie = children_->find(first)) children_->stop(*zombie, seconds(60));
  children_->start({.role = role, .queues = {queue}});
  if (!wait_until(patience, [&] { return was_started(item.id, first); })) {
    findings_.violation("zombie scene", role + ": nobody took over");
  }
  std::this_thread::sleep_for(milliseconds(300));
  children_->resume_due(true);
  if (!wait_until(patience, [&] { return is_idle({queue}); })) findings_.violation("zombie scene", "not idle");
  end_children(role);
  for (const auto& record : read_log(place_.folder, role, first)) {
    if (record.event != Event::finished || record.id() != item.id) continue;
    if (record.words.at(3) == "accepted") findings_.violation("zombie scene", role + ": the zombie was believed");
    findings_.count("zombies refused");
  }
}

// A killed worker's execution runs again within lease + 1 s.
void Controller::recovery_scene(const std::string& role) {
  const std::string queue = "recovery-" + role;
  const auto item = request("sleeper", queue);
  admit({item});
  const int first = children_->start({.role = role, .queues = {queue}});
  (void)wait_until(patience, [&] { return was_started(item.id, 0); });
  children_->start({.role = role, .queues = {queue}});
  std::this_thread::sleep_for(milliseconds(500));
  if (Child* child = children_->find(first)) children_->kill(*child);
  const auto killed_at = Ticks::now();
  const bool again = wait_until(patience, [&] { return was_started(item.id, first); });
  const auto took = std::chrono::duration_cast<Duration>(Ticks::now() - killed_at);
  if (!again || took > recovery_bound) {
    findings_.violation("recovery scene", role + ": running again after " + format_duration(took));
  }
  findings_.count("ms to recover, " + role, took.count() / 1000);
  if (!wait_until(patience, [&] { return is_idle({queue}); })) findings_.violation("recovery scene", "not idle");
  end_children(role);
}

// Replies of committed claims and outcomes are lost: no execution stays stuck, and recovery needs no lease to run out.
void Controller::lost_reply_scene(const std::string& role) {
  const std::string queue = "replies-" + role;
  std::vector<store::NewExecution> items;
  for (int index = 0; index < 200; ++index) items.push_back(request("plain", queue));
  admit(items);
  children_->start({.role = role, .fault = lost_replies(options_.store), .queues = {queue}, .lease = long_lease});
  if (!wait_until(patience, [&] { return is_idle({queue}); })) {
    findings_.violation("lost reply scene", role + ": not idle");
  }
  end_children(role);
  for (const auto& execution : executions_in(queue)) {
    if (execution.status == Status::completed && execution.lost == 0) continue;
    findings_.violation("lost reply scene", role + ": " + std::string(to_string(execution.status)) + ", lost " +
                                                std::to_string(execution.lost));
  }
}

std::vector<store::Execution> Controller::executions_in(const std::string& queue) {
  store::ListQuery query;
  query.queue = queue;
  query.limit = 1000;
  return store_->list(query);
}

void Controller::admit(const std::vector<store::NewExecution>& items) {
  for (const auto& admission : store_->admit(items)) {
    if (!admission.created()) throw std::runtime_error("a scene's execution was not created");
  }
}

bool Controller::wait_until(Duration at_most, const std::function<bool()>& condition) {
  const auto until = Ticks::now() + at_most;
  while (Ticks::now() < until) {
    note_ended(children_->reap());
    children_->resume_due(false);
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

bool Controller::is_idle(const std::vector<std::string>& queues) {
  for (const auto& info : store_->queues("default")) {
    const bool asked = std::ranges::find(queues, info.queue.name) != queues.end();
    if (asked && info.ready + info.delayed + info.running > 0) return false;
  }
  return true;
}

bool Controller::was_started(const Uuid& id, int not_by) {
  for (const auto& child : children_->living()) {
    if (child.number == not_by || !child.role.ends_with("worker")) continue;
    for (const auto& record : read_log(place_.folder, child.role, child.number)) {
      if (record.event == Event::started && record.id() == id) return true;
    }
  }
  return false;
}

}  // namespace hapax::torture
