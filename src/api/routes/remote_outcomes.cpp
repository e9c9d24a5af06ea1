// RemoteSessions: the outcomes that workers report, and throughput figures.
#include "api/routes/remote_sessions.hpp"
#include "base/random.hpp"
#include "base/uuid7.hpp"
#include "engine/outcome.hpp"
#include "engine/waiters.hpp"

#include <algorithm>
#include <chrono>

namespace hapax::api {

namespace {

constexpr Duration counts_every = std::chrono::seconds(1);
constexpr Duration own_lease = std::chrono::seconds(60);

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

std::optional<RemoteSessions::Given> RemoteSessions::given(const std::string& namespace_name,
                                                           const ReportedOutcome& outcome) {
  const std::lock_guard lock(mutex_);
  const auto found = given_.find(outcome.id);
  if (found == given_.end() || found->second.claim.fence != outcome.fence ||
      found->second.claim.queue.namespace_name != namespace_name) {
    return std::nullopt;
  }
  return found->second;
}

bool RemoteSessions::is_known(const std::string& namespace_name, const ReportedOutcome& outcome) {
  return given(namespace_name, outcome).has_value();
}

// Reads a claim that another server handed out, or this server before a restart. The store decides whether the claim's
// fence is still valid.
std::optional<RemoteSessions::Given> RemoteSessions::read_given(const std::string& namespace_name,
                                                                const ReportedOutcome& outcome) {
  const std::optional<model::Execution> found = engine_.store().get(outcome.id);
  if (!found || found->queue.namespace_name != namespace_name || found->kind == model::Kind::workflow) {
    return std::nullopt;
  }
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
  made.claim.limited = true;  // not known here: an extra wakeup is better than a late one
  const Duration ran = found->started_at ? engine_.store().now() - *found->started_at : Duration::zero();
  made.at = engine::engine_now() - std::max(ran, Duration::zero());
  made.session = found->session.value_or(Uuid{});
  return made;
}

std::optional<RemoteSessions::Prepared> RemoteSessions::prepare(const std::string& namespace_name,
                                                                ReportedOutcome outcome) {
  std::optional<Given> known = given(namespace_name, outcome);
  if (!known) { known = read_given(namespace_name, outcome); }
  if (!known) { return std::nullopt; }
  Prepared prepared{.finish = {},
                    .queue = known->claim.queue,
                    .is_limited = known->claim.limited,
                    .session = known->session,
                    .claim = {}};
  if (engine_.observations().any()) { prepared.claim = std::make_shared<const model::Claim>(known->claim); }
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
  const engine::Observations& observations = engine_.observations();
  Duration took{0};
  const auto give_back = [&] {
    for (std::size_t i = 0; i < items.size(); ++i) { items[i]->finish = std::move(finishes[i]); }
  };
  model::Exchange exchange;
  try {
    exchange = observations.store_call(
        "exchange", [&] { return engine_.store().exchange(finishes, nullptr); }, &took);
  } catch (...) {
    give_back();  // each outcome may be recorded alone after this
    throw;
  }
  give_back();
  observations.recorded(items.size(), took);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i]->claim) { observations.ended(*items[i]->claim, items[i]->finish, exchange.verdicts[i]); }
  }
  recorded(items, exchange);
  return exchange.verdicts;
}

void RemoteSessions::recorded(std::span<Prepared* const> items, const model::Exchange& exchange) {
  const bool anybody_waits = engine_.waiters().any();
  std::vector<engine::Waiters::RecordedOutcome> recorded;
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
      if (*ended != Status::cancelled) { recorded.push_back({std::move(outcome), false}); }
    }
    if (on_change_) { on_change_(item.queue, item.finish.id); }
  }
  if (!woken.empty()) { engine_.wake_workers(woken); }
  if (!recorded.empty()) { engine_.waiters().publish(recorded); }
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
    thread_ = std::make_unique<engine::StepThread>([this](Time now) { return report_counts(now); });
    thread_->start();
  }
}

Time RemoteSessions::report_counts(Time now) {
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

}  // namespace hapax::api
