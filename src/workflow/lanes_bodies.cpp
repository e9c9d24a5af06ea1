// Bodies of steps: on the lane of their run, or on an idle one when they wait behind a long one.
#include "workflow/lanes.hpp"

#include "engine/step_thread.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hapax::workflow {

std::vector<RunState> Lanes::run_bodies(const LanePtr& lane, std::vector<RunState> flushed, Turns& took) {
  std::vector<RunState> going;
  {
    const std::lock_guard lock(mutex_);
    lane->bodies.assign(std::make_move_iterator(flushed.begin()), std::make_move_iterator(flushed.end()));
  }
  Time mark = engine::engine_now();
  while (true) {
    RunState state;
    {
      const std::lock_guard lock(mutex_);
      if (lane->bodies.empty()) { return going; }
      state = std::move(lane->bodies.front());
      lane->bodies.pop_front();
    }
    run_body(lane, state, mark);
    const Time now = engine::engine_now();
    took.emplace_back(state, now - std::exchange(mark, now));
    if (goes_on(state)) { going.push_back(std::move(state)); }
  }
}

// Holding mutex_.
Lanes::LanePtr Lanes::held_up_lane(Time now) const {
  const auto found = std::ranges::find_if(lanes_, [&](const LanePtr& lane) {
    const std::int64_t since = lane->held_since_us.load();
    return !lane->bodies.empty() && since != 0 && now - Time(Duration(since)) >= held_up_after;
  });
  return found == lanes_.end() ? nullptr : *found;
}

bool Lanes::help_out(const LanePtr& lane) {
  LanePtr other;
  RunState state;
  {
    const std::lock_guard lock(mutex_);
    other = held_up_lane(engine::engine_now());
    if (!other) { return false; }
    // The last: it would wait longest.
    state = std::move(other->bodies.back());
    other->bodies.pop_back();
    ++other->lent;
    if (!other->bodies.empty()) { wake_idle(); }
  }
  run_body(lane, state, engine::engine_now());
  const std::lock_guard lock(mutex_);
  --other->lent;
  other->ready.push_back(std::move(state));
  other->work.notify_one();
  return true;
}

void Lanes::run_body(const LanePtr& lane, const RunState& state, Time now) {
  lane->held_since_us.store(now.time_since_epoch().count());
  state->run_step_or_transaction();
  lane->held_since_us.store(0);
}

bool Lanes::goes_on(const RunState& state) {
  if (state->store_trouble().empty()) { return true; }
  trouble("workflow '" + state->name() + "' " + state->claim().id.to_string() +
          " goes on later: " + state->store_trouble());
  drop(state);
  settle(state->run(), state->leave_finish(false));
  return false;
}

}  // namespace hapax::workflow
