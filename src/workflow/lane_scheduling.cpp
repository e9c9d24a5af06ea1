// Lanes: decides which lane takes which runs and which lane is woken.
#include "workflow/lanes.hpp"

#include "engine/step_thread.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

namespace hapax::workflow {

namespace {

// A lane takes runs with longer turns one at a time, so that other lanes get the rest.
constexpr double long_turn_seconds = 0.0005;
// How long a run that may be slow waits for a lane of its own.
constexpr Duration unattended_max = std::chrono::milliseconds(20);
constexpr std::size_t passed_over_max = 64;
// A lane with a slow run takes a second slow run that has waited for unattended_max, and more only after
// starving_after.
constexpr std::size_t beside_slow_max = 2;
constexpr Duration starving_after = std::chrono::seconds(1);
// A function that makes no context call for this long is reported.
constexpr Duration never_yields = std::chrono::seconds(10);

}  // namespace

bool Lanes::is_quick(const std::string& workflow) const {
  if (!measures_) { return true; }
  const auto known = speeds_.find(workflow);
  return known != speeds_.end() && known->second < long_turn_seconds;
}

bool Lanes::note_speeds(const Turns& took) {
  if (!measures_) { return true; }
  const std::lock_guard lock(mutex_);
  bool quick = true;
  auto known = speeds_.end();
  for (const auto& [state, duration] : took) {
    const double seconds = std::chrono::duration<double>(duration).count();
    bool first = false;
    // Most turns are of the same workflow as the turn before.
    if (known == speeds_.end() || known->first != state->name()) {
      std::tie(known, first) = speeds_.try_emplace(state->name(), seconds);
    }
    if (first) {
      measured_since_.erase(state->name());
    } else {
      known->second = known->second * 0.8 + seconds * 0.2;
    }
    quick = quick && known->second < long_turn_seconds;
  }
  return quick;
}

Time Lanes::known_by(const std::string& workflow) const {
  const auto since = measured_since_.find(workflow);
  return since == measured_since_.end() ? Time{} : since->second + held_up_after;
}

bool Lanes::is_soon_looked_after(const std::string& workflow, Time now) const {
  if (is_unknown(workflow)) { return now < known_by(workflow); }
  return is_quick(workflow) && std::ranges::any_of(lanes_, [&](const LanePtr& lane) {
           const std::int64_t since = lane->held_since_us.load();
           return !lane->asks && !lane->idle && (since == 0 || now - Time(Duration(since)) < held_up_after);
         });
}

// A lane takes one run that may be slow, because the runs beside it wait. Runs that this lane must not take stay in
// `coming`.
bool Lanes::pick(std::deque<engine::RunPtr>& coming, Taking taking, std::size_t most, std::size_t beside,
                 std::vector<engine::RunPtr>& picked) {
  std::vector<engine::RunPtr> left;
  bool slow = false;
  while (!slow && !coming.empty() && !holding_.load() && beside + picked.size() < most &&
         left.size() < passed_over_max) {
    engine::RunPtr next = std::move(coming.front());
    coming.pop_front();
    const bool may_take_long = !is_quick(next->claim().task);
    if (may_take_long && !is_for(*next, taking, beside + picked.size())) {
      left.push_back(std::move(next));
      continue;
    }
    slow = may_take_long;
    if (is_unknown(next->claim().task)) { measured_since_.try_emplace(next->claim().task, engine::engine_now()); }
    picked.push_back(std::move(next));
  }
  const bool full = slow || !left.empty() || beside + picked.size() >= most;
  coming.insert(coming.begin(), std::make_move_iterator(left.begin()), std::make_move_iterator(left.end()));
  return full;
}

// A run that may be slow goes to a lane without other runs or, if no lane was free for unattended_max, to one with
// other runs.
bool Lanes::is_for(const engine::Run& run, Taking taking, std::size_t beside) {
  return (taking == Taking::waiting && beside == 0) || engine::engine_now() >= run.received + unattended_max;
}

bool Lanes::must_take(const std::deque<engine::RunPtr>& coming, std::size_t held) {
  if (coming.empty()) { return false; }
  return engine::engine_now() >= coming.front()->received + (held < beside_slow_max ? unattended_max : starving_after);
}

// The caller holds mutex_.
void Lanes::wake_idle() {
  for (const LanePtr& lane : lanes_) {
    if (lane->idle && !lane->asks) {
      lane->idle = false;
      lane->work.notify_one();
      return;
    }
  }
}

bool Lanes::wait_for_work(const LanePtr& lane, std::unique_lock<std::mutex>& lock) {
  const std::deque<engine::RunPtr>& coming = lane->asks ? asked_ : fresh_;
  while (!stopping_ && lane->discard.empty() && lane->todo.empty() && lane->ready.empty() && lane->bodies.empty()) {
    const Time now = engine::engine_now();
    std::optional<Time> until;
    if (!coming.empty() && !holding_.load()) {
      const std::string& workflow = coming.front()->claim().task;
      if (lane->asks || !is_unknown(workflow) || now >= known_by(workflow)) { return true; }
      until = known_by(workflow);
    }
    if (!lane->asks && held_up_lane(now)) { return false; }
    lane->idle = true;
    if (until) {
      lane->work.wait_for(lock, *until - now);
    } else {
      lane->work.wait(lock);
    }
    lane->idle = false;
  }
  return true;
}

void Lanes::look(Time now) {
  std::vector<std::string> troubles;  // told outside of the lock: the listener is the program's
  std::unique_lock lock(mutex_);
  if (!fresh_.empty() && !is_soon_looked_after(fresh_.front()->claim().task, now)) { wake_idle(); }
  if (held_up_lane(now)) { wake_idle(); }
  for (const LanePtr& lane : lanes_) {
    const std::int64_t since = lane->busy_since_us.load();
    if (since == 0 || now - Time(Duration(since)) < never_yields || lane->reported.exchange(true)) { continue; }
    const std::lock_guard name_lock(lane->name_mutex);
    troubles.push_back("workflow '" + lane->name + "' has not come to a context call for " +
                       format_duration(std::chrono::duration_cast<std::chrono::seconds>(now - Time(Duration(since)))) +
                       "; others on its thread wait. Long work belongs into ctx.step");
  }
  lock.unlock();
  for (const std::string& each : troubles) { trouble(each); }
}

}  // namespace hapax::workflow
