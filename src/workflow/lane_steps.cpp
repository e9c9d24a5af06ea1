// Lanes: bodies of steps run on the lane of their run, or on an idle lane when they wait behind a long one.
#include "workflow/lanes.hpp"

#include "engine/step_thread.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hapax::workflow {

bool Lanes::run_bodies(const LanePtr& lane, std::vector<RunState> flushed, std::vector<RunState>& going) {
  {
    const std::lock_guard lock(mutex_);
    std::ranges::move(flushed, std::back_inserter(lane->bodies));
  }
  Turns took;
  bool more = false;
  bool held_up = false;
  Time mark = engine::engine_now();
  while (true) {
    RunState state;
    {
      const std::lock_guard lock(mutex_);
      if (lane->bodies.empty()) { break; }
      // Finished bodies are recorded before a body begins that may take long, and after one that did.
      more = !going.empty() && (held_up || !is_quick(lane->bodies.front()->name()));
      if (more) { break; }
      state = std::move(lane->bodies.front());
      lane->bodies.pop_front();
    }
    if (is_stopped(*state->run())) {
      release(state);
      continue;
    }
    run_body(lane, state, mark);
    const Time now = engine::engine_now();
    const Duration lasted = now - std::exchange(mark, now);
    held_up = lasted >= held_up_after;
    took.emplace_back(state, lasted);
    if (goes_on(state)) { going.push_back(std::move(state)); }
  }
  (void)note_speeds(took);
  return more;
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
    // The last body would wait longest.
    state = std::move(other->bodies.back());
    other->bodies.pop_back();
    ++other->lent;
    if (!other->bodies.empty()) { wake_idle(); }
  }
  // A stopped run is dropped by its own lane.
  if (!is_stopped(*state->run())) {
    const Time begun = engine::engine_now();
    run_body(lane, state, begun);
    (void)note_speeds({{state, engine::engine_now() - begun}});
  }
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
