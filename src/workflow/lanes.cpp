#include "workflow/lanes.hpp"

#include "engine/engine.hpp"
#include "engine/step_thread.hpp"
#include "model/question.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hapax::workflow {

namespace {

using Need = detail::WorkflowRun::Need;

}  // namespace

// A cancellation is no stop: the function gets it as an exception.
bool Lanes::is_stopped(const engine::Run& run) {
  const engine::StopReason reason = run.stop_reason();
  return reason != engine::StopReason::none && reason != engine::StopReason::cancel_requested;
}

Lanes::Lanes(Options options)
    : options_(std::move(options)), stacks_(std::make_shared<base::StackPool>(options_.stack_bytes)) {}

Lanes::~Lanes() = default;

void Lanes::trouble(const std::string& what) const {
  if (options_.on_trouble) { options_.on_trouble(what); }
}

void Lanes::start(std::function<void()> on_settled) {
  on_settled_ = std::move(on_settled);
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < options_.threads; ++i) {
    auto lane = std::make_shared<Lane>();
    lane->thread = std::thread([self = shared_from_this(), lane] { self->loop(lane); });
    lanes_.push_back(std::move(lane));
  }
}

int Lanes::room() const { return holding_.load() ? 0 : std::max(0, options_.active - active_.load()); }

void Lanes::submit(std::vector<engine::RunPtr> runs) {
  active_.fetch_add(static_cast<int>(runs.size()));
  const std::lock_guard lock(mutex_);
  for (engine::RunPtr& run : runs) { submit_one(std::move(run)); }
  // An idle lane takes the other runs if the first one is slow.
  if (!fresh_.empty() && is_unknown(fresh_.front()->claim().task)) { wake_idle(); }
}

void Lanes::submit_one(engine::RunPtr run) {
  if (model::is_question(run->claim().task)) {
    submit_question(std::move(run));
    return;
  }
  const auto cached = cache_.find(run->claim().id);
  if (cached == cache_.end()) {
    const bool soon = is_soon_looked_after(run->claim().task, engine::engine_now());
    fresh_.push_back(std::move(run));
    if (!soon) { wake_idle(); }
    return;
  }
  const RunState state = std::move(cached->second.state);
  const LanePtr lane = cached->second.lane;
  ages_.erase(cached->second.age);
  cache_.erase(cached);
  // If another worker had the run in between, its state in memory is out of date.
  if (state->claim().fence + 1 == run->claim().fence) {
    state->reclaimed(std::move(run));
    lane->todo.push_back(state);
    lane->work.notify_one();
  } else {
    lane->discard.push_back(state);
    lane->work.notify_one();
    fresh_.push_back(std::move(run));
    wake_idle();
  }
}

void Lanes::submit_question(engine::RunPtr run) {
  asked_.push_back(std::move(run));
  if (!asker_ && !stopping_) {
    auto lane = std::make_shared<Lane>();
    lane->asks = true;
    lane->thread = std::thread([self = shared_from_this(), lane] { self->loop(lane); });
    lanes_.push_back(lane);
    asker_ = std::move(lane);
  }
  if (asker_) { asker_->work.notify_one(); }
}

void Lanes::collect(std::vector<engine::Settled>& into) {
  const std::lock_guard lock(mutex_);
  std::ranges::move(settled_, std::back_inserter(into));
  settled_.clear();
}

void Lanes::withdraw(std::vector<engine::RunPtr>& into) {
  const std::lock_guard lock(mutex_);
  for (auto* waiting : {&fresh_, &asked_}) {
    active_.fetch_sub(static_cast<int>(waiting->size()));
    std::ranges::move(*waiting, std::back_inserter(into));
    waiting->clear();
  }
}

void Lanes::settle(const engine::RunPtr& run, model::Finish finish) {
  active_.fetch_sub(1);
  if (!run->settle()) { return; }  // a shutdown or a lost session decided the outcome first
  {
    const std::lock_guard lock(mutex_);
    settled_.push_back({run, std::move(finish), {}});
  }
  news_.store(true);
}

// Reports all outcomes that a lane has settled in a row, so that the outcomes share an exchange.
void Lanes::announce() {
  if (news_.load() && news_.exchange(false)) { on_settled_(); }
}

bool Lanes::take(const LanePtr& lane, std::vector<RunState>& batch, Taking taking, std::size_t held) {
  std::vector<RunState> discard;
  std::vector<RunState> ready;
  std::vector<engine::RunPtr> fresh;
  {
    std::unique_lock lock(mutex_);
    std::deque<engine::RunPtr>& coming = lane->asks ? asked_ : fresh_;
    const bool helps = taking == Taking::waiting && !wait_for_work(lane, lock);
    if (stopping_) { return false; }
    discard.swap(lane->discard);
    ready.swap(lane->ready);
    held += ready.size() + lane->bodies.size();
    const std::size_t room = runs_at_a_time_ - std::min(runs_at_a_time_, held);
    bool slow = false;  // one run that may take long is enough
    while (!lane->todo.empty() && batch.size() < room) {
      if (!is_quick(lane->todo.front()->name()) && std::exchange(slow, true)) { break; }
      batch.push_back(std::move(lane->todo.front()));
      lane->todo.pop_front();
    }
    // Whether this lane is busy, or may be busy for long.
    bool full = helps || slow || taking == Taking::own;
    held += batch.size();
    if (!full) {
      full = pick(coming, taking, runs_at_a_time_, held, fresh);
    } else if (!helps && must_take(coming, held)) {
      (void)pick(coming, taking, held + 1, held, fresh);
    }
    if (full && !fresh_.empty()) { wake_idle(); }
  }
  for (const RunState& state : discard) { drop(state); }
  std::erase_if(batch, [this](const RunState& state) {
    if (state->run()->start(engine::engine_now())) {
      options_.app->engine().observations().begun(*state->run());
      return false;
    }
    drop(state);  // a shutdown or a lost session has settled the run meanwhile
    active_.fetch_sub(1);
    return true;
  });
  for (engine::RunPtr& run : fresh) {
    if (!run->start(engine::engine_now())) {
      active_.fetch_sub(1);
      continue;
    }
    options_.app->engine().observations().begun(*run);
    if (RunState state = make(std::move(run))) { batch.push_back(std::move(state)); }
  }
  load(batch);
  std::ranges::copy_if(ready, std::back_inserter(batch), [this](const RunState& state) { return goes_on(state); });
  announce();
  return true;
}

void Lanes::loop(const LanePtr& lane) {
  const base::AlternateStack alternate;
  std::vector<RunState> batch;
  while (take(lane, batch, Taking::waiting, 0)) {
    if (batch.empty() && !has_bodies(lane)) {
      help_out(lane);
      announce();
      continue;
    }
    run(lane, std::exchange(batch, {}));
    announce();
  }
  std::vector<RunState> leftover;
  {
    std::unique_lock lock(mutex_);
    // Only this thread may unwind their fibers, so the lane waits for the runs that it has lent.
    lane->work.wait(lock, [&] { return lane->lent == 0; });
    for (auto next = cache_.begin(); next != cache_.end();) {
      if (next->second.lane == lane) {
        leftover.push_back(next->second.state);
        ages_.erase(next->second.age);
        next = cache_.erase(next);
      } else {
        ++next;
      }
    }
    for (RunState& state : lane->todo) { leftover.push_back(std::move(state)); }
    for (RunState& state : lane->discard) { leftover.push_back(std::move(state)); }
    for (RunState& state : lane->ready) { leftover.push_back(std::move(state)); }
    for (RunState& state : lane->bodies) { leftover.push_back(std::move(state)); }
    lane->todo.clear();
    lane->discard.clear();
    lane->ready.clear();
    lane->bodies.clear();
  }
  for (const RunState& state : leftover) { drop(state); }
  {
    const std::lock_guard lock(mutex_);
    lane->ended = true;
  }
  ended_.notify_all();
}

bool Lanes::has_bodies(const LanePtr& lane) const {
  const std::lock_guard lock(mutex_);
  return !lane->bodies.empty();
}

void Lanes::run(const LanePtr& lane, std::vector<RunState> batch) {
  bool more = has_bodies(lane);  // bodies left over from the last turn, or returned by another lane
  while (!batch.empty() || more) {
    std::vector<RunState> flushing;
    const bool quick = go_on_all(lane, batch, flushing) && !more;
    // Runs that have arrived meanwhile join, and so do runs that waited for the measurement of their workflow: all
    // entries share the commit.
    batch.clear();
    if (take(lane, batch, quick ? Taking::joining : Taking::own, flushing.size())) {
      (void)go_on_all(lane, batch, flushing);
    }
    announce();
    flush(flushing);
    // The step bodies run next; the next flush writes their records.
    batch.clear();
    more = run_bodies(lane, std::move(flushing), batch);
  }
}

bool Lanes::go_on_all(const LanePtr& lane, const std::vector<RunState>& batch, std::vector<RunState>& flushing) {
  Turns took;
  bool quick = true;
  Time mark = engine::engine_now();
  for (const RunState& state : batch) {
    const bool goes_on = go_on(lane, state, batch.size() > 1 || !flushing.empty());
    if (goes_on) { flushing.push_back(state); }
    const Time now = engine::engine_now();
    const Duration lasted = now - std::exchange(mark, now);
    if (goes_on && !state->replay().needs_flush()) {
      quick = false;  // the step's body has yet to run and be measured
    } else {
      took.emplace_back(state, lasted);
    }
  }
  return note_speeds(took) && (quick || !measures_);
}

bool Lanes::go_on(const LanePtr& lane, const RunState& state, bool in_company) {
  while (true) {
    if (is_stopped(*state->run())) {
      release(state);
      return false;
    }
    if (state->run()->stop_reason() == engine::StopReason::cancel_requested) { refresh_cancel(state); }
    {
      const std::lock_guard lock(lane->name_mutex);
      lane->name = state->name();
    }
    lane->reported.store(false);
    const std::int64_t now_us = engine::engine_now().time_since_epoch().count();
    lane->busy_since_us.store(now_us);
    lane->held_since_us.store(now_us);
    const Need need = state->resume();
    lane->busy_since_us.store(0);
    lane->held_since_us.store(0);
    switch (need) {
      case Need::step:
      case Need::transaction:
        // Other lanes could not take over runs of this lane while the body runs here.
        if (state->replay().needs_flush() || in_company) { return true; }
        announce();  // the body may take long
        run_body(lane, state, Time(Duration(now_us)));
        if (!goes_on(state)) { return false; }
        continue;
      case Need::wait: wait(lane, state); return false;
      case Need::ended: end(state); return false;
      case Need::unwound:
      case Need::stuck:
        if (!state->unwind()) {
          trouble("workflow '" + state->name() + "' catches what puts it aside and does not stop; its stack is left");
        }
        if (state->stuck_reason().empty()) {
          settle(state->run(), engine::release_finish(*state->run()));
        } else {
          put_aside(state);
        }
        return false;
    }
  }
}

void Lanes::release(const RunState& state) {
  drop(state);
  settle(state->run(), engine::release_finish(*state->run()));
}

void Lanes::drop(const RunState& state) {
  if (!state->unwind()) {
    trouble("workflow '" + state->name() + "' catches what puts it aside and does not stop; its stack is left");
  }
}

void Lanes::stop(Time until) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  for (const LanePtr& lane : lanes_) { lane->work.notify_all(); }
  const auto all_ended = [this] {
    return std::ranges::all_of(lanes_, [](const LanePtr& lane) { return lane->ended; });
  };
  ended_.wait_for(lock, std::max(until - engine::engine_now(), Duration::zero()), all_ended);
  std::vector<std::thread> finished;
  for (const LanePtr& lane : lanes_) {
    if (!lane->thread.joinable()) { continue; }
    if (lane->ended) {
      finished.push_back(std::move(lane->thread));
    } else {
      lane->thread.detach();
    }
  }
  lock.unlock();
  for (std::thread& thread : finished) { thread.join(); }
}

}  // namespace hapax::workflow
