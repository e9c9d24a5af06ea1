#include "api/routes/remote_sessions.hpp"

#include "base/limits.hpp"
#include "base/random.hpp"
#include "base/uuid7.hpp"
#include "engine/outcome.hpp"
#include "engine/waiters.hpp"
#include "store/busy_if_blocked.hpp"

#include <algorithm>
#include <chrono>
#include <set>

namespace hapax::api {

namespace {

// A claim for any task also gets workflows, which HTTP workers cannot run: each is released for this long, for a worker
// that has its function.
constexpr Duration workflow_pause = std::chrono::seconds(1);
constexpr std::size_t given_most = 100'000;
constexpr std::size_t sessions_most = 100'000;
constexpr Duration counts_every = std::chrono::seconds(1);
constexpr Duration own_lease = std::chrono::seconds(60);

// Claim numbers must grow, also from one server to the next, so they are microseconds of the system clock.
std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

engine::Ending ending_of(ReportedOutcome& outcome) {
  using Status = ReportedOutcome::Status;
  switch (outcome.status) {
    case Status::completed: return engine::Ending::completed(std::move(outcome.result));
    case Status::snoozed: return engine::Ending::snoozed(outcome.retry_after.value_or(Duration::zero()));
    case Status::released: return engine::Ending::released();
    case Status::failed:
    case Status::cancelled: break;
  }
  return engine::Ending::failed(
      {.error = std::move(outcome.error), .permanent = outcome.permanent, .retry_after = outcome.retry_after});
}

}  // namespace

RemoteSessions::RemoteSessions(engine::Engine& engine, ApiMetrics& metrics)
    : engine_(engine), metrics_(metrics), pollers_(std::make_shared<Pollers>()) {
  engine_.wakeups().add(pollers_);
  finishes_ = std::make_unique<engine::Batcher<Prepared, model::FinishVerdict>>(
      engine::Batcher<Prepared, model::FinishVerdict>::Options{
          .flush = [this](std::span<Prepared> items) { return flush(items); },
          .flush_alone =
              [this](std::span<Prepared> items) { return store::busy_if_blocked([&] { return flush(items); }); },
          .size = [](const Prepared& item) { return item.finish.result.size() + 256; },
          .policy = {.max_items = limits::admit_batch}});
}

RemoteSessions::~RemoteSessions() { stop(); }

void RemoteSessions::stop() {
  std::unique_ptr<engine::StepThread> thread;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) { return; }
    stopping_ = true;
    thread = std::move(thread_);
  }
  thread.reset();
  engine_.wakeups().remove(pollers_.get());
  finishes_.reset();
  (void)tell_counts(Time{});
  if (own_session_) {
    try {
      engine_.store().close_session(*own_session_);
    } catch (const std::exception&) {
      // The session ends when its lease expires.
    }
  }
}

// ---- Claims ---------------------------------------------------------------------------------------------------------

void RemoteSessions::ensure_open(const ClaimOrder& order) {
  const Time now = engine::engine_now();
  {
    const std::lock_guard lock(mutex_);
    const auto known = sessions_.find(order.session);
    if (known != sessions_.end() && known->second.lease == order.lease &&
        now - known->second.renewed < order.lease / 3) {
      return;
    }
  }
  engine_.store().open_session({.id = order.session,
                                .worker = order.worker,
                                .host = order.peer,
                                .pid = 0,
                                .lease = order.lease,
                                .queues = order.queues,
                                .tasks = order.tasks,
                                .build = {}});
  const std::lock_guard lock(mutex_);
  if (sessions_.size() >= sessions_most) {
    std::erase_if(sessions_, [&](const auto& each) { return now - each.second.renewed > each.second.lease; });
  }
  Known& known = sessions_[order.session];
  known.lease = order.lease;
  known.renewed = now;
}

void RemoteSessions::open(const ClaimOrder& order) { ensure_open(order); }

void RemoteSessions::close(const Uuid& session) {
  engine_.store().close_session(session);
  {
    const std::lock_guard lock(mutex_);
    sessions_.erase(session);
  }
  // The released executions are ready for other workers at once.
  engine_.wakeups().everything_changed();
}

model::ClaimReply RemoteSessions::claim_once(const ClaimOrder& order) {
  std::int64_t last = last_claim_number_.load();
  std::int64_t number = 0;
  do { number = std::max(now_us(), last + 1); } while (!last_claim_number_.compare_exchange_weak(last, number));
  const Time begun = engine::engine_now();
  const model::ClaimRequest request{
      .session = order.session,
      .claim_number = number,
      .queues = order.queues,
      .tasks = order.tasks,
      .limit = order.limit,
      .idle = order.limit,
      .alone = true,
      // A session that was just made holds nothing. For any other only the store knows, as several servers may serve
      // the session.
      .by_holdings = !order.is_new};
  model::ClaimReply reply = store::busy_if_blocked([&] { return engine_.store().claim(request); });
  metrics_.claimed(reply.claims.size(), engine::engine_now() - begun);
  return reply;
}

RemoteSessions::Claimed RemoteSessions::claim(const ClaimOrder& order) {
  engine_.wakeups().listen();
  ensure_open(order);
  model::ClaimReply reply = claim_once(order);
  put_back_workflows(reply.claims);
  book(order, reply.claims);
  return {.claims = std::move(reply.claims), .next_due = reply.next_due, .passed_over = reply.suspects_due};
}

void RemoteSessions::put_back_workflows(std::vector<model::Claim>& claims) {
  std::vector<model::Finish> back;
  for (const model::Claim& claim : claims) {
    if (claim.kind != model::Kind::workflow) { continue; }
    model::Finish finish;
    finish.id = claim.id;
    finish.fence = claim.fence;
    finish.kind = model::FinishKind::snoozed;
    finish.delay = workflow_pause;
    back.push_back(std::move(finish));
  }
  if (back.empty()) { return; }
  (void)store::busy_if_blocked([&] { return engine_.store().finish(back); });
  std::erase_if(claims, [](const model::Claim& claim) { return claim.kind == model::Kind::workflow; });
}

void RemoteSessions::book(const ClaimOrder& order, std::span<const model::Claim> claims) {
  if (claims.empty()) { return; }
  const Time now = engine::engine_now();
  {
    const std::lock_guard lock(mutex_);
    Known& known = sessions_[order.session];
    for (const model::Claim& claim : claims) {
      known.held[claim.id] = claim.fence;
      model::Claim kept = claim;
      kept.input.clear();
      if (given_.insert_or_assign(claim.id, Given{std::move(kept), now, order.session}).second) {
        given_order_.push_back(claim.id);
      }
    }
    while (given_order_.size() > given_most) {
      given_.erase(given_order_.front());
      given_order_.pop_front();
    }
  }
  if (!on_change_) { return; }
  for (const model::Claim& claim : claims) { on_change_(claim.queue, claim.id); }
}

// ---- Outcomes -------------------------------------------------------------------------------------------------------

std::optional<RemoteSessions::Given> RemoteSessions::given(const std::string& ns, const ReportedOutcome& outcome) {
  const std::lock_guard lock(mutex_);
  const auto found = given_.find(outcome.id);
  if (found == given_.end() || found->second.claim.fence != outcome.fence || found->second.claim.queue.ns != ns) {
    return std::nullopt;
  }
  return found->second;
}

bool RemoteSessions::is_known(const std::string& ns, const ReportedOutcome& outcome) {
  return given(ns, outcome).has_value();
}

// For a claim that another server handed out, or this one before a restart. The store decides whether its fence is
// still valid.
std::optional<RemoteSessions::Given> RemoteSessions::read_given(const std::string& ns, const ReportedOutcome& outcome) {
  const std::optional<model::Execution> found = engine_.store().get(outcome.id);
  if (!found || found->queue.ns != ns || found->kind == model::Kind::workflow) { return std::nullopt; }
  Given made;
  made.claim.id = found->id;
  made.claim.queue = found->queue;
  made.claim.task = found->task;
  made.claim.kind = found->kind;
  made.claim.attempt = found->attempt;
  made.claim.max_attempts = found->max_attempts;
  made.claim.lost = found->lost;
  made.claim.max_lost = found->max_lost;
  made.claim.fence = outcome.fence;
  made.claim.run = found->run;
  made.claim.retry = found->retry;
  made.claim.limited = true;  // unknown here: wakes workers once too often rather than too late
  const Duration ran = found->started_at ? engine_.store().now() - *found->started_at : Duration::zero();
  made.at = engine::engine_now() - std::max(ran, Duration::zero());
  made.session = found->session.value_or(Uuid{});
  return made;
}

std::optional<RemoteSessions::Prepared> RemoteSessions::prepare(const std::string& ns, ReportedOutcome outcome) {
  std::optional<Given> known = given(ns, outcome);
  if (!known) { known = read_given(ns, outcome); }
  if (!known) { return std::nullopt; }
  Prepared prepared{
      .finish = {}, .queue = known->claim.queue, .is_limited = known->claim.limited, .session = known->session};
  engine::Run run(std::move(known->claim));
  const bool is_cancelled = outcome.status == ReportedOutcome::Status::cancelled;
  const bool has_error = outcome.has_error;
  if (is_cancelled) { run.request_stop(engine::StopReason::cancel_requested); }
  base::SystemRandom random;
  const engine::Attempted attempted{.ran_for = std::max(engine::engine_now() - known->at, Duration::zero()),
                                    .jitter = random.fraction()};
  prepared.finish = *engine::to_finish(run, ending_of(outcome), attempted);
  // The store knows the reason that was given to cancel().
  if (is_cancelled && !has_error) { prepared.finish.error.reset(); }
  return prepared;
}

void RemoteSessions::finish_async(Prepared prepared,
                                  std::function<void(model::FinishVerdict, std::exception_ptr)> callback) {
  finishes_->submit_async(std::move(prepared), std::move(callback));
}

// The IDs in one store call must be distinct: a repeated outcome is recorded in a second call.
std::vector<model::FinishVerdict> RemoteSessions::flush(std::span<Prepared> items) {
  std::vector<model::FinishVerdict> verdicts(items.size());
  std::vector<std::size_t> left(items.size());
  for (std::size_t i = 0; i < left.size(); ++i) { left[i] = i; }
  while (!left.empty()) {
    std::unordered_set<Uuid> ids;
    std::vector<std::size_t> now;
    std::vector<std::size_t> later;
    for (const std::size_t i : left) { (ids.insert(items[i].finish.id).second ? now : later).push_back(i); }
    std::vector<Prepared*> batch;
    for (const std::size_t i : now) { batch.push_back(&items[i]); }
    const std::vector<model::FinishVerdict> answers = record(batch);
    for (std::size_t i = 0; i < now.size(); ++i) { verdicts[now[i]] = answers[i]; }
    left = std::move(later);
  }
  return verdicts;
}

std::vector<model::FinishVerdict> RemoteSessions::record(std::span<Prepared* const> items) {
  std::vector<model::Finish> finishes;
  finishes.reserve(items.size());
  for (Prepared* const item : items) { finishes.push_back(std::move(item->finish)); }
  const Time begun = engine::engine_now();
  const auto give_back = [&] {
    for (std::size_t i = 0; i < items.size(); ++i) { items[i]->finish = std::move(finishes[i]); }
  };
  model::Exchange exchange;
  try {
    exchange = engine_.store().exchange(finishes, nullptr);
  } catch (...) {
    give_back();  // each may be recorded alone after this
    throw;
  }
  metrics_.finished(finishes, exchange.verdicts, engine::engine_now() - begun);
  give_back();
  recorded(items, exchange);
  return exchange.verdicts;
}

void RemoteSessions::recorded(std::span<Prepared* const> items, const model::Exchange& exchange) {
  const bool anybody_waits = engine_.waiters().any();
  std::vector<engine::Waiters::News> news;
  std::vector<model::QueueRef> woken = exchange.woken;
  const auto wake = [&woken](const model::QueueRef& queue) {
    if (std::find(woken.begin(), woken.end(), queue) == woken.end()) { woken.push_back(queue); }
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Prepared& item = *items[i];
    forget(item);
    if (exchange.verdicts[i] != model::FinishVerdict::accepted) { continue; }
    count(item);
    const std::optional<Status> ended = engine::terminal_status(item.finish);
    if (!ended && item.finish.delay > Duration::zero()) {
      engine_.wakeups().queue_changed(item.queue, item.finish.delay);
    } else if (!ended || item.is_limited) {
      wake(item.queue);
    }
    if (ended && anybody_waits) {
      model::Outcome outcome{item.finish.id, *ended, std::nullopt, std::nullopt};
      if (*ended == Status::completed) {
        outcome.result = item.finish.result;
      } else {
        outcome.error = item.finish.error;
      }
      // Only the store knows the reason of a cancellation, so waiters get that outcome from the store.
      if (*ended != Status::cancelled) { news.push_back({std::move(outcome), false}); }
    }
    if (on_change_) { on_change_(item.queue, item.finish.id); }
  }
  if (!woken.empty()) { engine_.wake_workers(woken); }
  if (!news.empty()) { engine_.waiters().publish(news); }
  if (anybody_waits) { engine_.waiters().hint(); }
}

void RemoteSessions::forget(const Prepared& item) {
  const std::lock_guard lock(mutex_);
  // given_ keeps the claim for a repeated report; the session no longer holds it.
  const auto session = sessions_.find(item.session);
  if (session != sessions_.end()) { session->second.held.erase(item.finish.id); }
}

// ---- Throughput figures -----------------------------------------------------------------------------------------------

void RemoteSessions::count(const Prepared& item) {
  using Kind = model::FinishKind;
  const Kind kind = item.finish.kind;
  if (kind != Kind::completed && kind != Kind::failed && kind != Kind::retry) { return; }
  const std::lock_guard lock(mutex_);
  model::QueueCount& counted = counts_[item.queue];
  counted.queue = item.queue;
  counted.completed += kind == Kind::completed ? 1 : 0;
  counted.failed += kind == Kind::failed ? 1 : 0;
  counted.retried += kind == Kind::retry ? 1 : 0;
  if (!thread_ && !stopping_) {
    thread_ = std::make_unique<engine::StepThread>([this](Time now) { return tell_counts(now); });
    thread_->start();
  }
}

Time RemoteSessions::tell_counts(Time now) {
  model::Beat beat;
  {
    const std::lock_guard lock(mutex_);
    if (counts_.empty()) { return now + counts_every; }
    if (!own_session_) { own_session_ = base::new_uuid7(); }
    beat.session = *own_session_;
    for (const auto& [queue, counted] : counts_) { beat.counts.push_back(counted); }
    counts_.clear();
  }
  try {
    if (engine_.store().beat(beat).session_lost) {
      engine_.store().open_session({.id = beat.session,
                                    .worker = "hapax serve",
                                    .host = {},
                                    .pid = 0,
                                    .lease = own_lease,
                                    .queues = {},
                                    .tasks = {},
                                    .build = {}});
      (void)engine_.store().beat(beat);
    }
  } catch (const std::exception&) {
    // Figures of a second in which the store is unavailable are dropped.
  }
  return now + counts_every;
}

// ---- Beats ----------------------------------------------------------------------------------------------------------

model::BeatReply RemoteSessions::extend(model::Beat beat) {
  const bool says_all = beat.settled_claim_number > 0;
  if (!says_all) { add_handed_out(beat); }
  model::BeatReply reply = engine_.store().beat(beat);
  const std::lock_guard lock(mutex_);
  const auto known = sessions_.find(beat.session);
  if (reply.session_lost) {
    for (const model::Held& held : beat.held) { reply.lost.push_back(held.id); }
    if (known != sessions_.end()) { sessions_.erase(known); }
    return reply;
  }
  if (known != sessions_.end()) {
    known->second.renewed = engine::engine_now();
    if (beat.lease > Duration::zero()) { known->second.lease = beat.lease; }
    // Each loss is reported once.
    for (const Uuid& id : reply.lost) { known->second.held.erase(id); }
  }
  return reply;
}

// A worker that names none of its executions still learns of its losses.
void RemoteSessions::add_handed_out(model::Beat& beat) {
  const std::lock_guard lock(mutex_);
  const auto known = sessions_.find(beat.session);
  if (known == sessions_.end()) { return; }
  std::unordered_set<Uuid> named;
  for (const model::Held& held : beat.held) { named.insert(held.id); }
  for (const auto& [id, fence] : known->second.held) {
    if (!named.contains(id)) { beat.held.push_back({.id = id, .fence = fence}); }
  }
}

// ---- Answers that were not taken --------------------------------------------------------------------------------------

void RemoteSessions::take_back(const ClaimOrder& order, std::span<const model::Claim> claims) {
  std::vector<model::Finish> back;
  std::set<model::QueueRef> queues;
  for (const model::Claim& claim : claims) {
    model::Finish finish;
    finish.id = claim.id;
    finish.fence = claim.fence;
    finish.kind = model::FinishKind::released;
    back.push_back(std::move(finish));
    queues.insert(claim.queue);
  }
  (void)store::busy_if_blocked([&] { return engine_.store().finish(back); });
  {
    const std::lock_guard lock(mutex_);
    const auto known = sessions_.find(order.session);
    for (const model::Claim& claim : claims) {
      if (known != sessions_.end()) { known->second.held.erase(claim.id); }
    }
  }
  const std::vector<model::QueueRef> woken(queues.begin(), queues.end());
  engine_.wake_workers(woken);
  if (!on_change_) { return; }
  for (const model::Claim& claim : claims) { on_change_(claim.queue, claim.id); }
}

}  // namespace hapax::api
