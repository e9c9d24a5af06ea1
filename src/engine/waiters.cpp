#include "engine/waiters.hpp"

#include <hapax/error.hpp>

#include "base/futex.hpp"
#include "base/uuid7.hpp"
#include "engine/sweeper.hpp"

#include <algorithm>
#include <chrono>

namespace hapax::engine {

namespace {

constexpr Duration poll_min = std::chrono::milliseconds(2);
constexpr Duration poll_max = std::chrono::milliseconds(200);
constexpr Duration hint_max = std::chrono::milliseconds(20);
constexpr Duration local_poll = std::chrono::milliseconds(100);
constexpr std::chrono::milliseconds fresh_for(20);
constexpr std::size_t polled_at_once = 1000;
constexpr std::size_t recent_max = 256;
constexpr std::size_t recent_bytes = 64 << 10;  // larger results are read from the store

// Whether an execution that this process admitted and claimed is so new (20 ms) that it is probably still running. An
// older one may have ended before the wait began, and its outcome is not delivered again, so the store is asked.
bool is_fresh(const Uuid& id) {
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  return static_cast<std::int64_t>(base::uuid7_milliseconds(id)) + fresh_for.count() > now.count();
}

std::exception_ptr expired(const Uuid& id) {
  return std::make_exception_ptr(
      ResultExpired("execution " + id.to_string() + " is not in the store any more, so its result is lost"));
}

}  // namespace

Waiters::Waiters(store::Store& store) : store_(store) {}

Waiters::~Waiters() { stop(); }

void Waiters::stop() {
  std::unique_ptr<StepThread> thread;
  std::unordered_multimap<Uuid, Wait> left;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    thread = std::move(thread_);
    left.swap(waits_);
    count_.store(0);
  }
  thread.reset();
  for (auto& [id, wait] : left) { wait.callback(nullptr, std::make_exception_ptr(ShuttingDown())); }
}

void Waiters::ensure_thread() {
  if (!thread_) {
    thread_ = std::make_unique<StepThread>([this](Time now) { return step(now); });
    thread_->start();
  }
}

Waiters::Token Waiters::watch(const Uuid& id, Callback callback, bool local, std::optional<Duration> at_most) {
  std::optional<model::Outcome> known;
  Token token = 0;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) { throw ShuttingDown(); }
    token = ++last_token_;
    const auto found = recent_.find(id);
    if (found == recent_.end()) {
      const Time now = engine_now();
      const Time until = at_most ? now + std::min(*at_most, longest_wait) : never;
      const Time poll_at = local && is_fresh(id) ? now + local_poll : now;
      waits_.emplace(id, Wait{token, std::move(callback), now, poll_at, until});
      count_.fetch_add(1);
      ensure_thread();
      // Most waits end before the first poll, so the thread is woken only when it would wake too late by itself.
      if (const Time first = std::min(poll_at, until); first < next_step_) {
        next_step_ = first;
        thread_->wake();
      }
      return token;
    }
    known = found->second;
  }
  callback(&*known, nullptr);
  return token;
}

bool Waiters::unwatch(const Uuid& id, Token token) {
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = waits_.equal_range(id);
  for (auto it = begin; it != end; ++it) {
    if (it->second.token == token) {
      waits_.erase(it);
      count_.fetch_sub(1);
      return true;
    }
  }
  return false;
}

std::optional<model::Outcome> Waiters::wait(const Uuid& id, std::optional<Duration> at_most, bool local) {
  struct Box {
    base::FutexWord answered{0};
    std::optional<model::Outcome> outcome;
    std::exception_ptr error;
  };
  const Time until = at_most ? engine_now() + std::min(*at_most, longest_wait) : never;
  if (!local || !is_fresh(id)) {
    const bool looks_once = at_most && *at_most <= Duration::zero();
    // The first read of the store runs on this thread, because most late waits end with it.
    try {
      auto outcomes = store_.outcomes(std::span<const Uuid>(&id, 1));
      if (outcomes.front() && outcomes.front()->overdue && end_if_overdue(store_, id)) {
        outcomes = store_.outcomes(std::span<const Uuid>(&id, 1));
      }
      if (!outcomes.front()) { std::rethrow_exception(expired(id)); }
      if (is_terminal(outcomes.front()->status)) { return outcomes.front(); }
      if (looks_once) { return std::nullopt; }
    } catch (const StoreUnavailable&) {
      if (looks_once) { throw; }  // other waits go on, as in step(), because the store may come back
    }
  }
  auto box = std::make_shared<Box>();
  const Token token = watch(
      id,
      [box](const model::Outcome* outcome, const std::exception_ptr& error) {
        if (outcome != nullptr) { box->outcome = *outcome; }
        box->error = error;
        box->answered.set_and_wake_one(1);
      },
      local);
  if (!at_most) {
    box->answered.wait_while(0);
  } else if (!box->answered.wait_while(0, std::max(until - engine_now(), Duration::zero()))) {
    if (unwatch(id, token)) { return std::nullopt; }
    box->answered.wait_while(0);  // the callback is being called at this moment
  }
  if (box->error) { std::rethrow_exception(box->error); }
  return std::move(box->outcome);
}

void Waiters::answer(const Uuid& id, const model::Outcome* outcome, const std::exception_ptr& error) {
  std::vector<Callback> callbacks;
  {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = waits_.equal_range(id);
    for (auto it = begin; it != end; ++it) { callbacks.push_back(std::move(it->second.callback)); }
    waits_.erase(begin, end);
    count_.fetch_sub(static_cast<int>(callbacks.size()));
  }
  for (const Callback& callback : callbacks) {
    try {
      callback(outcome, error);
    } catch (...) {}  // the error belongs to this wait alone, which is over
  }
}

void Waiters::publish(const std::vector<RecordedOutcome>& recorded) {
  std::vector<std::pair<Callback, const model::Outcome*>> calls;
  {
    const std::lock_guard lock(mutex_);
    for (const RecordedOutcome& each : recorded) {
      const auto [begin, end] = waits_.equal_range(each.outcome.id);
      for (auto it = begin; it != end; ++it) {
        calls.emplace_back(std::move(it->second.callback), &each.outcome);
        count_.fetch_sub(1);
      }
      const bool waited_for = begin != end;
      waits_.erase(begin, end);
      if (each.keep && !waited_for && (!each.outcome.result || each.outcome.result->size() <= recent_bytes)) {
        remember(each.outcome);
      }
    }
  }
  for (const auto& [callback, outcome] : calls) { callback(outcome, nullptr); }
}

void Waiters::remember(const model::Outcome& outcome) {
  if (!recent_.insert_or_assign(outcome.id, outcome).second) { return; }
  recent_order_.push_back(outcome.id);
  if (recent_order_.size() <= recent_max) { return; }
  recent_.erase(recent_order_.front());
  recent_order_.pop_front();
}

void Waiters::hint() {
  const std::lock_guard lock(mutex_);
  if (waits_.empty() || !thread_) { return; }
  const Time now = engine_now();
  for (auto& [id, wait] : waits_) {
    // A hint moves the poll of an old wait less than that of a new one, so that not every change polls all waits.
    wait.poll_at = std::min(wait.poll_at, now + std::clamp((now - wait.since) / 32, Duration::zero(), hint_max));
  }
  thread_->wake();
}

Time Waiters::step(Time now) {
  std::vector<Uuid> ids;
  std::vector<Callback> over;
  Time next = never;
  {
    const std::lock_guard lock(mutex_);
    for (auto it = waits_.begin(); it != waits_.end();) {
      if (it->second.until > now) {
        ++it;
        continue;
      }
      over.push_back(std::move(it->second.callback));
      it = waits_.erase(it);
      count_.fetch_sub(1);
    }
    for (auto& [id, wait] : waits_) {
      // Waits that are nearly due join this query.
      if (wait.poll_at <= now + poll_min / 2 && ids.size() < polled_at_once) {
        if (ids.empty() || ids.back() != id) { ids.push_back(id); }
        wait.poll_at = now + std::clamp((now - wait.since) / 4, poll_min, poll_max);
      }
      next = std::min({next, wait.poll_at, wait.until});
    }
    next_step_ = next;
  }
  for (const Callback& callback : over) { callback(nullptr, nullptr); }
  if (ids.empty()) { return next; }
  std::optional<Uuid> overdue;
  try {
    overdue = poll(ids);
    // Perhaps no process sweeps. A sweep ends the overdue executions, and the next poll reads their outcomes.
    if (overdue) { (void)end_if_overdue(store_, *overdue); }
  } catch (const StoreUnavailable&) {
    const std::lock_guard lock(mutex_);
    next_step_ = std::min(next_step_, now + poll_max);
    return next_step_;  // the waits go on, because the store may come back
  } catch (const std::exception&) {
    if (overdue) { answer(*overdue, nullptr, std::current_exception()); }
  }
  return next;
}

std::optional<Uuid> Waiters::poll(std::span<const Uuid> ids) {
  std::vector<std::optional<model::Outcome>> outcomes;
  try {
    outcomes = store_.outcomes(ids);
  } catch (const StoreUnavailable&) { throw; } catch (const std::exception&) {
    if (ids.size() == 1) {
      answer(ids.front(), nullptr, std::current_exception());
      return std::nullopt;
    }
  }
  std::optional<Uuid> overdue;
  if (outcomes.empty()) {  // one outcome cannot be read, so each is read alone
    for (const Uuid& id : ids) {
      if (const std::optional<Uuid> late = poll({&id, 1})) { overdue = late; }
    }
    return overdue;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!outcomes[i]) {
      answer(ids[i], nullptr, expired(ids[i]));
    } else if (is_terminal(outcomes[i]->status)) {
      answer(ids[i], &*outcomes[i], nullptr);
    } else if (outcomes[i]->overdue && !overdue) {
      overdue = ids[i];
    }
  }
  return overdue;
}

}  // namespace hapax::engine
