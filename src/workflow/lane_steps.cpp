// Lanes: bodies of steps run on the lane of their run, or on an idle lane when they wait behind a long one. A run whose
// lane stays held up leaves it: an idle lane begins the run anew from its journal.
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
      more = !lane->ready.empty() && (held_up || !is_quick(lane->bodies.front()->name()));
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
    // From here the run can leave this lane, if the next body takes long.
    const std::lock_guard lock(mutex_);
    lane->ready.push_back(std::move(state));
  }
  (void)note_speeds(took);
  std::vector<RunState> ready;
  {
    const std::lock_guard lock(mutex_);
    ready.swap(lane->ready);
  }
  std::ranges::copy_if(ready, std::back_inserter(going), [this](const RunState& state) { return goes_on(state); });
  return more;
}

bool Lanes::is_held_up(const Lane& lane, Time now, Duration since) {
  const std::int64_t held_since = lane.held_since_us.load();
  return held_since != 0 && now - Time(Duration(held_since)) >= since;
}

Lanes::LanePtr Lanes::held_up_lane(Time now) const {
  const auto found = std::ranges::find_if(lanes_, [&](const LanePtr& lane) {
    if (!lane->bodies.empty() && is_held_up(*lane, now, held_up_after)) { return true; }
    return is_held_up(*lane, now, leave_after) &&
           (std::ranges::any_of(lane->ready, may_leave) || std::ranges::any_of(lane->todo, may_leave));
  });
  return found == lanes_.end() ? nullptr : *found;
}

// Unwinding a run inside a catch block would run the rest of the block, so such a run stays. A run that was stopped, or
// whose step the store has failed, is given back by its own lane.
bool Lanes::may_leave(const RunState& state) {
  return !state->in_catch() && !is_stopped(*state->run()) && state->store_trouble().empty();
}

RunState Lanes::take_leaving(Lane& held) {
  RunState left;
  if (const auto ready = std::ranges::find_if(held.ready, may_leave); ready != held.ready.end()) {
    left = std::move(*ready);
    held.ready.erase(ready);
  } else if (const auto waiting = std::ranges::find_if(held.bodies, may_leave); waiting != held.bodies.end()) {
    left = std::move(*waiting);
    held.bodies.erase(waiting);
  } else {
    return nullptr;
  }
  held.discard.push_back(left);
  return left;
}

bool Lanes::free_claimed(Lane& held) {
  const auto staying = std::ranges::stable_partition(held.todo, may_leave);
  const auto leaving = std::ranges::subrange(held.todo.begin(), staying.begin());
  for (RunState& state : leaving) {
    fresh_.push_back(state->run());
    held.discard.push_back(std::move(state));
  }
  const bool any = !leaving.empty();
  held.todo.erase(leaving.begin(), leaving.end());
  return any;
}

void Lanes::adopt(const LanePtr& lane, RunState left) {
  RunState state = make(left->run());
  if (!state) { return; }
  try {
    model::History history = ask_history({.execution = state->claim().id});
    if (!history.unreadable.empty()) { return snooze(state, history.unreadable); }
    state->replay().load(std::move(history.entries), std::move(history.events));
  } catch (const std::exception& error) { return give_back(state, error.what()); }
  state->inherit_step(*left);
  left.reset();
  run(lane, {std::move(state)});
}

void Lanes::help_out(const LanePtr& lane) {
  LanePtr other;
  RunState left;
  RunState body;
  {
    const std::lock_guard lock(mutex_);
    const Time now = engine::engine_now();
    other = held_up_lane(now);
    if (!other) { return; }
    if (is_held_up(*other, now, leave_after)) {
      if (free_claimed(*other)) { return; }
      left = take_leaving(*other);
    }
    if (!left && !other->bodies.empty()) {
      // The last body would wait longest.
      body = std::move(other->bodies.back());
      other->bodies.pop_back();
      ++other->lent;
    }
    if (held_up_lane(now)) { wake_idle(); }
  }
  if (left) { adopt(lane, std::move(left)); }
  if (!body) { return; }
  // A stopped run is dropped by its own lane.
  if (!is_stopped(*body->run())) {
    const Time begun = engine::engine_now();
    run_body(lane, body, begun);
    (void)note_speeds({{body, engine::engine_now() - begun}});
  }
  const std::lock_guard lock(mutex_);
  --other->lent;
  other->ready.push_back(std::move(body));
  other->work.notify_one();
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
