#include "engine/dispatcher.hpp"

#include <hapax/error.hpp>

#include "base/fault.hpp"
#include "base/limits.hpp"
#include "engine/step_thread.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace hapax::engine {

namespace {

// How long an execution that was lost before keeps the worker to itself. A handler that ends its process mostly does so
// early.
constexpr Duration suspect_alone_max = std::chrono::seconds(60);
// Runs that have waited this long behind slow handlers are released for other workers.
constexpr Duration unstarted_max = std::chrono::seconds(1);
constexpr Duration busy_interval = std::chrono::milliseconds(5);
constexpr Duration calm_look = std::chrono::milliseconds(100);
constexpr Duration flow_look = std::chrono::milliseconds(20);
constexpr std::size_t finish_bytes = 16 << 20;
constexpr double quick_rate = 1000;  // runs a second per thread; above this, threads take runs in chunks

}  // namespace

Dispatcher::Dispatcher(store::WorkStore& store, Session& session, RunPool& pool, Options options)
    : store_(store),
      session_(session),
      pool_(pool),
      options_(std::move(options)),
      more_workflows_(options_.workflows != nullptr),
      tasks_(options_.tasks) {}

Time Dispatcher::step(Time now) {
  now_ = now;
  collect(now);
  pool_.rebalance(now);
  load_ = pool_.load();
  if (now < retry_at_) { return retry_at_; }
  if (!held_up_.empty() && now >= held_up_at_) { send_one_by_one(std::exchange(held_up_, {})); }
  if (draining_.load() || (load_.oldest_queued && now - *load_.oldest_queued > unstarted_max)) { release_unstarted(); }
  // Each step sends at most one batch, so another step follows while something is left.
  const Plan next = plan(now);
  if (!pending_.empty() || next.limit > 0) {
    const bool sent = exchange(next, now);
    exclusive_.store(suspect_ || suspects_due_);
    if (!sent) {
      retry_at_ = now + backoff_.next();
      return retry_at_;
    }
    if (!pending_.empty() || (next.limit > 0 && (more_tasks_ || more_workflows_))) { return now; }
  }
  return next_step(now);
}

void Dispatcher::collect(Time now) {
  pool_.collect(pending_);
  if (options_.workflows != nullptr) {
    options_.workflows->collect(pending_);
    options_.workflows->look(now);
  }
  // The store would refuse outcomes of a lost session.
  const auto is_lost = [](const Settled& settled) { return settled.run->stop_reason() == StopReason::lease_lost; };
  std::erase_if(pending_, is_lost);
  std::erase_if(held_up_, is_lost);
  note_unsent();
  if (suspect_ && (suspect_->state() == Run::State::settling || now - suspect_since_ > suspect_alone_max)) {
    suspect_.reset();
    more_tasks_ = true;
    more_workflows_ = options_.workflows != nullptr;
  }
}

// The outcomes of the next transaction, bounded in number and in bytes.
std::vector<Settled> Dispatcher::next_batch() {
  auto middle = pending_.begin();
  std::size_t bytes = 0;
  const std::ptrdiff_t most = std::min<std::ptrdiff_t>(std::ssize(pending_), limits::finish_batch);
  while (middle != pending_.end() && middle - pending_.begin() < most && bytes < finish_bytes) {
    if (middle->finish) { bytes += middle->finish->result.size(); }
    ++middle;
  }
  std::vector<Settled> batch;
  if (middle == pending_.end()) {
    batch.swap(pending_);
  } else {
    batch.assign(std::make_move_iterator(pending_.begin()), std::make_move_iterator(middle));
    pending_.erase(pending_.begin(), middle);
  }
  return batch;
}

bool Dispatcher::exchange(const Plan& next, Time now) {
  std::vector<Settled> batch = next_batch();
  std::vector<model::Finish> finishes;
  finishes.reserve(batch.size());
  // Outcomes are moved into the batch and back, not copied: results may be large.
  for (Settled& settled : batch) {
    if (settled.finish) { finishes.push_back(std::move(*settled.finish)); }
  }
  const auto take_back = [&] {
    std::size_t next_finish = 0;
    for (Settled& settled : batch) {
      if (settled.finish) { *settled.finish = std::move(finishes[next_finish++]); }
    }
  };
  model::ClaimRequest request;
  std::optional<ClaimTicket> ticket;
  if (next.limit > 0) { ticket = session_.begin_claim(); }
  if (ticket) { request = claim_request(next, *ticket, now); }
  model::Exchange reply;
  const Time asked_at = engine_now();
  try {
    base::fault_point("engine.exchange.before");
    if (!finishes.empty() || ticket) { reply = ask_store(finishes, ticket ? &request : nullptr); }
    base::fault_point("engine.exchange.after");
  } catch (const StoreUnavailable& error) {
    trouble(error.what());
    take_back();
    std::ranges::move(batch, std::back_inserter(pending_));
    if (ticket) {
      session_.abandon(*ticket);
      options_.on_doubt();
    }
    away_.store(true);
    return false;
  } catch (const std::exception& error) {
    trouble(error.what());
    take_back();
    if (ticket) {
      session_.abandon(*ticket);
      options_.on_doubt();
    }
    if (batch.empty()) {
      away_.store(true);
      return false;
    }
    send_one_by_one(std::move(batch));
    return !backoff_.active();
  }
  take_back();
  backoff_.reset();
  away_.store(false);
  const Duration took = engine_now() - asked_at;
  if (options_.observations != nullptr) { options_.observations->recorded(finishes.size(), took); }
  if (ticket) { claimed(std::move(reply.claim), *ticket, next, now, now + took); }
  if (!reply.woken.empty() && options_.on_woken) { options_.on_woken(reply.woken); }
  // Waiters get their results after the claims, so that the pool already works meanwhile.
  std::vector<model::FinishVerdict> verdicts;
  verdicts.reserve(batch.size());
  std::size_t answer = 0;
  for (const Settled& settled : batch) {
    verdicts.push_back(settled.finish ? reply.verdicts[answer++] : model::FinishVerdict::accepted);
  }
  answered(batch, verdicts);
  return true;
}

Time Dispatcher::next_step(Time now) const {
  Time next = never;
  if (!draining_.load() && session_.is_open() && !suspect_) {
    // A claim without room would return nothing. The next outcome makes room and wakes the dispatcher.
    next = suspects_due_ ? suspects_since_ + suspects_patience : no_room_ ? never : claim_at_;
    const std::int64_t hint = hint_us_.load();
    if (hint != INT64_MAX) { next = std::min(next, Time(Duration(hint))); }
  }
  if (load_.queued > 0 || (load_.running > 0 && load_.runs_per_second > quick_rate * load_.threads)) {
    // rebalance, and collect outcomes of quick handlers that ran before a slow one
    next = std::min(next, now + busy_interval);
  } else if (load_.running > 0) {
    next = std::min(next, now + calm_look);
  }
  if (options_.workflows != nullptr && options_.workflows->active() > 0) { next = std::min(next, now + flow_look); }
  if (!held_up_.empty()) { next = std::min(next, held_up_at_); }
  return std::max(next, now);
}

bool Dispatcher::hint(Time due) {
  const std::int64_t due_us = due.time_since_epoch().count();
  std::int64_t current = hint_us_.load();
  while (due_us < current) {
    if (hint_us_.compare_exchange_weak(current, due_us)) { return true; }
  }
  return false;
}

void Dispatcher::set_tasks(std::vector<std::string> tasks) {
  const std::lock_guard lock(tasks_mutex_);
  tasks_ = std::move(tasks);
}

WorkerStats Dispatcher::stats() const {
  const std::lock_guard lock(stats_mutex_);
  return stats_;
}

model::Exchange Dispatcher::ask_store(std::span<const model::Finish> finishes, const model::ClaimRequest* claim) {
  if (options_.observations == nullptr) { return store_.exchange(finishes, claim); }
  return options_.observations->store_call("exchange", [&] { return store_.exchange(finishes, claim); });
}

void Dispatcher::trouble(std::string_view what) {
  if (options_.on_trouble) { options_.on_trouble(what); }
}

}  // namespace hapax::engine
