#include "engine/watchdog.hpp"

#include "base/random.hpp"
#include "engine/step_thread.hpp"

#include <algorithm>

namespace hapax::engine {

namespace {
// How long a handler has to return after it was told to stop before its thread is taken for stuck.
constexpr Duration stuck_after = std::chrono::seconds(1);
}  // namespace

bool Watchdog::watch(const RunPtr& run) {
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
  if (entries_.size() >= forget_at_) { forget_ended(); }
  const bool first = entries_.empty() || due < entries_.top().due;
  entries_.push({due, run, kind});
  return first;
}

// Most runs end long before their limit. Holding mutex_.
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
    if (const RunPtr run = entry.run.lock()) {
      lock.unlock();
      expire(run, entry.kind, now);
      lock.lock();
    }
  }
  return entries_.empty() ? never : entries_.top().due;
}

void Watchdog::expire(const RunPtr& run, Entry::Kind kind, Time now) {
  if (kind == Entry::Kind::stuck) {
    if (pool_.replace(*run)) {
      on_trouble_("a handler of task '" + run->claim().task + "' does not return after its timeout");
    }
    return;
  }
  if (!run->settle()) {
    return;  // the handler was quicker
  }
  run->request_stop(StopReason::timed_out);
  base::SystemRandom random;
  const Attempted attempted{.ran_for = now - run->started(), .jitter = random.fraction()};
  pool_.push({run, timeout_finish(*run, kind == Entry::Kind::deadline, attempted), {}});
  const std::lock_guard lock(mutex_);
  entries_.push({now + std::max(stuck_after, patience_), run, Entry::Kind::stuck});
}

}  // namespace hapax::engine
