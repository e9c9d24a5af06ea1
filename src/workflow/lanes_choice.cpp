// Which lane takes what, and who is woken for it.
#include "workflow/lanes.hpp"

#include "engine/step_thread.hpp"

#include <algorithm>
#include <utility>

namespace hapax::workflow {

namespace {

// Turns longer than this are taken one at a time, so that other lanes get the rest.
constexpr double long_turn_seconds = 0.0005;
// One that may take long waits so long for a lane of its own.
constexpr Duration unattended_max = std::chrono::milliseconds(20);

}  // namespace

bool Lanes::is_quick(const std::string& workflow) const {
  const auto known = speeds_.find(workflow);
  return known != speeds_.end() && known->second < long_turn_seconds;
}

bool Lanes::note_speeds(const Turns& took) {
  const std::lock_guard lock(mutex_);
  bool quick = true;
  for (const auto& [state, duration] : took) {
    const double seconds = std::chrono::duration<double>(duration).count();
    const auto [known, first] = speeds_.try_emplace(state->name(), seconds);
    if (!first) { known->second = known->second * 0.8 + seconds * 0.2; }
    quick = quick && known->second < long_turn_seconds;
  }
  return quick;
}

bool Lanes::is_at_work(const Lane& lane, Time now) const {
  const std::int64_t since = lane.held_since_us.load();
  return !lane.asks && !lane.idle && (since == 0 || now - Time(Duration(since)) < held_up_after);
}

bool Lanes::is_soon_looked_after(const std::string& workflow, Time now) const {
  return (is_quick(workflow) || is_unknown(workflow)) &&
         std::ranges::any_of(lanes_, [&](const LanePtr& lane) { return is_at_work(*lane, now); });
}

bool Lanes::is_left_to_another(const LanePtr& lane, Time now) const {
  const engine::Run& first = *fresh_.front();
  return is_unknown(first.claim().task) && now < first.received + held_up_after &&
         std::ranges::any_of(lanes_, [&](const LanePtr& other) { return other != lane && is_at_work(*other, now); });
}

// Alone, by a lane that has nothing else; or, where all lanes have been busy for a while, beside those of one.
bool Lanes::is_for(const engine::Run& run, Taking taking, std::size_t beside) {
  if (taking == Taking::waiting) { return beside == 0; }
  return engine::engine_now() >= run.received + unattended_max;
}

// Holding mutex_.
void Lanes::wake_idle() {
  for (const LanePtr& lane : lanes_) {
    if (lane->idle && !lane->asks) {
      lane->idle = false;
      lane->work.notify_one();
      return;
    }
  }
}

void Lanes::wait_for_work(const LanePtr& lane, std::unique_lock<std::mutex>& lock) {
  const std::deque<engine::RunPtr>& coming = lane->asks ? asked_ : fresh_;
  while (!stopping_ && lane->discard.empty() && lane->todo.empty() && lane->ready.empty()) {
    const Time now = engine::engine_now();
    const bool offered = !coming.empty() && !holding_.load();
    if (offered && (lane->asks || !is_left_to_another(lane, now))) { return; }
    if (!lane->asks && held_up_lane(now)) { return; }
    lane->idle = true;
    if (offered) {
      lane->work.wait_for(lock, coming.front()->received + held_up_after - now);
    } else {
      lane->work.wait(lock);
    }
    lane->idle = false;
  }
}

}  // namespace hapax::workflow
