// Lanes: runs the bodies of steps on the lane of their run, or on an idle lane when they wait behind a long body. When
// a lane stays held up, an idle lane begins its runs anew from their journals.
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
      // Finished bodies are recorded before a body that may be slow begins, and after a slow one.
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
    if (!state->store_trouble().empty()) {
      (void)goes_on(state);
      continue;
    }
    // From here another lane can take the run over, if the next body is slow.
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

bool Lanes::is_left(const Lane& lane, Time now) const {
  return !lane.asks && is_held_up(lane, now, leave_after) && now >= no_leaving_before_;
}

Lanes::LanePtr Lanes::held_up_lane(Time now) const {
  const auto found = std::ranges::find_if(lanes_, [&](const LanePtr& lane) {
    if (!lane->bodies.empty() && is_held_up(*lane, now, held_up_after)) { return true; }
    return is_left(*lane, now) &&
           (std::ranges::any_of(lane->ready, may_leave) || std::ranges::any_of(lane->todo, may_leave));
  });
  return found == lanes_.end() ? nullptr : *found;
}

// Unwinding a run inside a catch block would run the rest of the block, so such a run stays on its lane. The run's own
// lane gives a stopped run back, and a run whose step the store has failed.
bool Lanes::may_leave(const RunState& state) {
  return !state->in_catch() && !is_stopped(*state->run()) && state->store_trouble().empty();
}

// Finished steps come first, as their outcomes are not recorded yet.
Lanes::Leaving Lanes::lend_leaving(Lane& held) {
  std::size_t room = batch_max;
  const auto lend = [&](auto& from) {
    std::vector<RunState> lent;
    std::erase_if(from, [&](RunState& state) {
      if (room == 0 || !may_leave(state)) { return false; }
      --room;
      lent.push_back(std::move(state));
      return true;
    });
    return lent;
  };
  Leaving leaving{.ready = lend(held.ready), .bodies = {}};
  leaving.bodies = lend(held.bodies);
  held.lent += static_cast<int>(leaving.ready.size() + leaving.bodies.size());
  return leaving;
}

bool Lanes::free_claimed(Lane& held) {
  std::size_t freed = 0;
  std::erase_if(held.todo, [&](RunState& state) {
    if (freed == batch_max || !may_leave(state)) { return false; }
    ++freed;
    fresh_.push_back(state->run());
    held.discard.push_back(std::move(state));
    return true;
  });
  return freed > 0;
}

void Lanes::adopt(const LanePtr& lane, const LanePtr& held, Leaving leaving) {
  const std::size_t ready = leaving.ready.size();
  std::vector<RunState> left = std::move(leaving.ready);
  std::ranges::move(leaving.bodies, std::back_inserter(left));
  std::vector<model::HistoryRequest> requests;
  for (const RunState& state : left) { requests.push_back({.execution = state->claim().id}); }
  std::vector<model::History> histories;
  try {
    histories = ask_histories(requests);
  } catch (const std::exception& error) { trouble(std::string("runs wait for a busy thread: ") + error.what()); }
  const auto is_read = [&](std::size_t i) { return i < histories.size() && histories[i].unreadable.empty(); };
  std::vector<RunState> batch;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!is_read(i)) { continue; }
    if (RunState state = adopted(left[i], histories[i])) { batch.push_back(std::move(state)); }
  }
  {
    const std::lock_guard lock(mutex_);
    held->lent -= static_cast<int>(left.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (is_read(i)) {
        held->discard.push_back(std::move(left[i]));
        continue;
      }
      no_leaving_before_ = engine::engine_now() + leave_again_after;
      if (i < ready) {
        held->ready.push_back(std::move(left[i]));
      } else {
        held->bodies.push_back(std::move(left[i]));
      }
    }
    held->work.notify_one();
  }
  run(lane, std::move(batch));
}

RunState Lanes::adopted(const RunState& left, model::History& history) {
  RunState state = make(left->run());
  if (!state) { return nullptr; }
  state->replay().load(std::move(history.entries), std::move(history.events));
  // The first entry may be in memory only.
  if (std::max(state->replay().recorded(), 1) != std::max(left->replay().recorded(), 1)) {
    give_back(state, "another worker has gone on with it");
    return nullptr;
  }
  state->inherit_step(*left);
  return state;
}

void Lanes::help_out(const LanePtr& lane) {
  LanePtr other;
  Leaving leaving;
  RunState body;
  {
    const std::lock_guard lock(mutex_);
    const Time now = engine::engine_now();
    other = held_up_lane(now);
    if (!other) { return; }
    bool freed = false;
    if (is_left(*other, now)) {
      leaving = lend_leaving(*other);
      freed = free_claimed(*other);
    }
    if (leaving.ready.empty() && leaving.bodies.empty() && !freed && !other->bodies.empty()) {
      // The last body would wait the longest, so the idle lane takes it.
      body = std::move(other->bodies.back());
      other->bodies.pop_back();
      ++other->lent;
    }
    if (freed || held_up_lane(now)) { wake_idle(); }
  }
  if (!leaving.ready.empty() || !leaving.bodies.empty()) { adopt(lane, other, std::move(leaving)); }
  if (!body) { return; }
  // A stopped run is dropped by its own lane.
  if (!is_stopped(*body->run())) {
    const Time begun = engine::engine_now();
    run_body(lane, body, begun);
    (void)note_speeds({{body, engine::engine_now() - begun}});
  }
  const bool failed = !body->store_trouble().empty();
  if (failed) { settle_trouble(body); }
  const std::lock_guard lock(mutex_);
  --other->lent;
  (failed ? other->discard : other->ready).push_back(std::move(body));
  other->work.notify_one();
}

void Lanes::run_body(const LanePtr& lane, const RunState& state, Time now) {
  lane->held_since_us.store(now.time_since_epoch().count());
  state->run_step_or_transaction();
  lane->held_since_us.store(0);
}

bool Lanes::goes_on(const RunState& state) {
  if (state->store_trouble().empty()) { return true; }
  drop(state);
  settle_trouble(state);
  return false;
}

void Lanes::settle_trouble(const RunState& state) {
  trouble("workflow '" + state->name() + "' " + state->claim().id.to_string() +
          " goes on later: " + state->store_trouble());
  settle(state->run(), state->leave_finish(false));
}

}  // namespace hapax::workflow
