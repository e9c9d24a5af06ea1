#include "engine/watchdog.hpp"

#include "base/random.hpp"
#include "engine/step_thread.hpp"

#include <algorithm>

namespace hapax::engine {

namespace {
// How long a handler has to return after it was asked to stop; then its thread counts as stuck.
constexpr Duration stuck_after = std::chrono::seconds(1);
}  // namespace

bool Watchdog::watch(const engine::RunPtr& run) {
  const model::Claim& claim = run->claim();
  Time due = never;
  Entry::Kind kind = Entry::Kind::timeout;
  if (claim.attempt_timeout) { due = run->started() + *claim.attempt_timeout; }
  if (claim.deadline_in && run->received + *claim.deadline_in < due) {
    due = run->received + *claim.deadline_in;
    kind = Entry::Kind::deadline;
  }
  if (due == never) { return false; }
  const std::lock_guard lock(mutex_);
  return add({due, run, kind});
}

bool Watchdog::watch_cancelled(const engine::RunPtr& run) {
  const std::lock_guard lock(mutex_);
  return on_stuck_ && add({engine::engine_now() + std::max(stuck_after, patience_), run, Entry::Kind::cancelled});
}

void Watchdog::report_stuck(Duration patience, std::function<void(std::string_view)> on_stuck) {
  const std::lock_guard lock(mutex_);
  patience_ = std::max(patience_, patience);
  on_stuck_ = std::move(on_stuck);
}

// Returns true when the entry is the next one due. The caller holds mutex_.
bool Watchdog::add(Entry entry) {
  if (entries_.size() >= forget_at_) { forget_ended(); }
  const bool first = entries_.empty() || entry.due < entries_.top().due;
  entries_.push(std::move(entry));
  return first;
}

// Drops the entries of ended runs, because most runs end long before their limit. The caller holds mutex_.
void Watchdog::forget_ended() {
  std::vector<Entry> left;
  while (!entries_.empty()) {
    if (!entries_.top().run.expired()) { left.push_back(entries_.top()); }
    entries_.pop();
  }
  forget_at_ = std::max<std::size_t>(forget_min, 2 * left.size());
  entries_ = decltype(entries_)(std::greater<>(), std::move(left));
}

Time Watchdog::step(Time now) {
  std::unique_lock lock(mutex_);
  while (!entries_.empty() && entries_.top().due <= now) {
    const Entry entry = entries_.top();
    entries_.pop();
    if (const engine::RunPtr run = entry.run.lock()) {
      lock.unlock();
      expire(run, entry.kind, now);
      lock.lock();
    }
  }
  return entries_.empty() ? never : entries_.top().due;
}

void Watchdog::expire(const engine::RunPtr& run, Entry::Kind kind, Time now) {
  if (kind == Entry::Kind::stuck) {
    stuck(run, "its timeout");
    return;
  }
  if (kind == Entry::Kind::cancelled) {
    expire_cancelled(run, now);
    return;
  }
  if (!run->settle()) {
    return;  // the handler has ended first
  }
  run->request_stop(engine::StopReason::timed_out);
  base::SystemRandom random;
  const engine::Attempted attempted{.ran_for = now - run->started(), .jitter = random.fraction()};
  pool_.push({run, engine::timeout_finish(*run, kind == Entry::Kind::deadline, attempted), {}});
  const std::lock_guard lock(mutex_);
  entries_.push({now + std::max(stuck_after, patience_), run, Entry::Kind::stuck});
}

// Cancels the run of a handler that did not return in time after a cancellation.
void Watchdog::expire_cancelled(const engine::RunPtr& run, Time now) {
  if (run->state() == engine::Run::State::queued) {  // the run's handler has not started yet
    const std::lock_guard lock(mutex_);
    (void)add({now + std::max(stuck_after, patience_), run, Entry::Kind::cancelled});
    return;
  }
  if (run->stop_reason() != engine::StopReason::cancel_requested || !run->settle()) { return; }
  pool_.push({run, engine::cancelled_finish(*run, {.ran_for = now - run->started()}), {}});
  stuck(run, "its cancellation");
}

void Watchdog::stuck(const engine::RunPtr& run, const char* after) {
  if (!pool_.replace(*run)) { return; }
  const std::string what = "a handler of task '" + run->claim().task + "' does not return after " + after;
  std::function<void(std::string_view)> on_stuck;
  {
    const std::lock_guard lock(mutex_);
    on_stuck = on_stuck_;
  }
  on_trouble_(what);
  if (on_stuck) { on_stuck(what); }
}

}  // namespace hapax::engine
