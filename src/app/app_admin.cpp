// App's calls for operators: executions, dead letters and queues.
#include <hapax/app.hpp>

#include "app/app_state.hpp"
#include "app/explain_facts.hpp"
#include "app/purging.hpp"
#include "base/limits.hpp"
#include "base/uuid7.hpp"
#include "model/explain.hpp"
#include "model/labels.hpp"
#include "model/retention.hpp"
#include "model/unreadable.hpp"
#include "model/validate.hpp"
#include "store/brief.hpp"

#include <algorithm>

namespace hapax {

namespace {

constexpr int queue_step = 1000;  // rows that one transaction of a move touches

std::optional<ErrorDetails> details(const std::optional<model::ErrorInfo>& error) {
  return error ? std::optional(ErrorDetails{error->type, error->message, error->detail}) : std::nullopt;
}

ExecutionRecord to_public(model::Execution&& from) {
  ExecutionRecord to;
  to.id = from.id;
  to.task = std::move(from.task);
  to.queue = std::move(from.queue.name);
  to.status = from.status;
  to.input = std::move(from.input);
  to.result = std::move(from.result);
  to.error = details(from.error);
  to.priority = from.priority;
  to.run = from.run;
  to.attempt = from.attempt;
  to.max_attempts = from.max_attempts;
  to.lost = from.lost;
  to.fence = from.fence;
  to.created_at = from.created_at;
  to.run_at = from.run_at;
  to.started_at = from.started_at;
  to.finished_at = from.finished_at;
  to.expires_at = from.expires_at;
  to.deadline = from.deadline;
  to.task_id = std::move(from.identity_key);
  to.identity = from.identity ? base::to_hex(*from.identity) : std::string();
  if (from.limit_key) {
    (from.limit_key->ordered ? to.ordering_key : to.concurrency_key) = std::move(from.limit_key->text);
  }
  to.parked = from.parked;
  to.workflow = from.kind == model::Kind::workflow;
  to.waiting = from.waiting;
  to.stuck_reason = std::move(from.stuck);
  to.continued_as = from.continued_as;
  to.parent = from.parent;
  to.effect_key = std::move(from.effect_key);
  to.worker = std::move(from.worker);
  to.cancel_requested = from.cancel_requested;
  to.progress = from.progress;
  to.progress_message = std::move(from.progress_message);
  to.dead = from.dead;
  to.retried_as = from.retried_as;
  to.note = std::move(from.note);
  to.tags = std::move(from.labels.tags);
  to.metadata = std::move(from.labels.metadata);
  to.traceparent = std::move(from.labels.traceparent);
  to.enqueued_by = std::move(from.labels.actor);
  return to;
}

model::ListQuery to_query(const std::string& ns, const ListOptions& options) {
  if (options.limit < 1 || options.limit > limits::list_page) {
    throw InvalidArgument("limit",
                          std::to_string(options.limit) + ", expected 1 to " + std::to_string(limits::list_page));
  }
  model::ListQuery query;
  query.ns = ns;
  query.statuses = options.statuses;
  query.queue = options.queue;
  query.task = options.task;
  query.tag = options.tag;
  for (const MetadataFilter& filter : options.metadata) { query.metadata.push_back({filter.key, filter.value}); }
  model::check_metadata_matches(query.metadata);
  query.parent = options.parent;
  query.created_from = options.created_from;
  query.created_before = options.created_before;
  query.dead_only = options.dead_only;
  query.payloads = options.payloads;
  query.after = options.after;
  query.limit = options.limit;
  return query;
}

// Calls `fn` with the ids of each page of matching executions.
template <class Fn>
void for_each_page(store::Store& store, const std::string& ns, ListOptions filter, Fn fn) {
  filter.payloads = false;
  filter.limit = limits::list_page;
  filter.after.reset();
  while (true) {
    const std::vector<model::Execution> page = store.list(to_query(ns, filter));
    if (page.empty()) { return; }
    filter.after = page.back().id;
    std::vector<Uuid> ids;
    ids.reserve(page.size());
    for (const model::Execution& execution : page) { ids.push_back(execution.id); }
    fn(ids);
  }
}

CancelAnswer to_public(model::CancelVerdict verdict) {
  switch (verdict) {
    case model::CancelVerdict::cancelled: return CancelAnswer::cancelled;
    case model::CancelVerdict::requested: return CancelAnswer::requested;
    case model::CancelVerdict::finished: return CancelAnswer::finished;
    case model::CancelVerdict::not_found: return CancelAnswer::not_found;
  }
  return CancelAnswer::not_found;
}

}  // namespace

std::optional<ExecutionRecord> App::get(const Uuid& id) {
  auto execution = state_->store().get(id);
  if (!execution || execution->queue.ns != state_->ns()) { return std::nullopt; }
  model::check_readable(*execution);
  return to_public(std::move(*execution));
}

std::vector<ExecutionRecord> App::list(const ListOptions& options) {
  std::vector<ExecutionRecord> executions;
  for (model::Execution& execution : state_->store().list(to_query(state_->ns(), options))) {
    executions.push_back(to_public(std::move(execution)));
  }
  return executions;
}

std::vector<AttemptRecord> App::attempts(const Uuid& id) {
  std::vector<AttemptRecord> records;
  if (!state_->is_own(id)) { return records; }
  for (const model::Attempt& attempt : state_->store().attempts(id)) {
    records.push_back({attempt.number, attempt.worker, attempt.started_at, attempt.ended_at, attempt.outcome,
                       details(attempt.error)});
  }
  return records;
}

CancelAnswer App::cancel(const Uuid& id, std::string_view reason) {
  state_->forbid_in_transaction("cancel");
  if (!state_->is_own(id)) { return CancelAnswer::not_found; }
  return to_public(state_->store().cancel(std::span<const Uuid>(&id, 1), reason, state_->actor()).front().verdict);
}

AnyHandle App::retry(const Uuid& id, bool new_effect_key) {
  state_->forbid_in_transaction("retry");
  if (!state_->is_own(id)) { throw NotFound("there is no execution " + id.to_string()); }
  const model::RetryRequest request{id, base::new_uuid7(), new_effect_key};
  const model::RetryResult result = state_->store().retry({&request, 1}, state_->actor()).front();
  switch (result.verdict) {
    case model::RetryVerdict::created: break;
    case model::RetryVerdict::not_found: throw NotFound("there is no execution " + id.to_string());
    case model::RetryVerdict::not_finished:
      throw WrongStatus("execution " + id.to_string() + " is still " + std::string(to_string(result.status)),
                        result.status);
    case model::RetryVerdict::completed:
      throw WrongStatus("execution " + id.to_string() + " has completed: there is nothing to retry", result.status);
    case model::RetryVerdict::guarded:
      throw WrongStatus("execution " + id.to_string() + " is a guarded call: forget its record, and call it again",
                        result.status);
    case model::RetryVerdict::already_retried:
    case model::RetryVerdict::identity_held:
      throw TaskAlreadyExists("execution " + id.to_string() + " has a newer run: " + result.existing.to_string(),
                              result.existing, result.status);
  }
  state_->engine().nudge();
  model::Admission admission;
  admission.id = request.new_id;
  admission.run = result.run;
  return state_->handle(admission);
}

std::size_t App::cancel_all(ListOptions filter, std::string_view reason) {
  std::size_t count = 0;
  if (filter.statuses.empty()) { filter.statuses = {Status::pending, Status::running}; }
  for_each_page(state_->store(), state_->ns(), std::move(filter), [&](const std::vector<Uuid>& ids) {
    for (const model::CancelResult& result : state_->store().cancel(ids, reason, state_->actor())) {
      count += result.verdict == model::CancelVerdict::cancelled || result.verdict == model::CancelVerdict::requested;
    }
  });
  return count;
}

std::size_t App::retry_all(ListOptions filter) {
  std::size_t count = 0;
  if (filter.statuses.empty()) { filter.statuses = {Status::failed}; }
  for_each_page(state_->store(), state_->ns(), std::move(filter), [&](const std::vector<Uuid>& ids) {
    std::vector<model::RetryRequest> requests;
    requests.reserve(ids.size());
    for (const Uuid& id : ids) { requests.push_back({id, base::new_uuid7(), false}); }
    for (const model::RetryResult& result : state_->store().retry(requests, state_->actor())) {
      count += result.verdict == model::RetryVerdict::created;
    }
  });
  state_->engine().nudge();
  return count;
}

int App::discard(std::span<const Uuid> ids) { return state_->store().discard(state_->own(ids), state_->actor()); }

int App::annotate(std::span<const Uuid> ids, std::string_view note) {
  if (note.size() > limits::note_bytes) {
    throw InvalidArgument("note",
                          std::to_string(note.size()) + " bytes, the limit is " + std::to_string(limits::note_bytes));
  }
  return state_->store().annotate(state_->own(ids), note, state_->actor());
}

std::vector<Explanation> App::explain(const Uuid& id) {
  const auto execution = store::get_briefly(state_->store(), state_->ns(), id);
  if (!execution) { throw NotFound("there is no execution " + id.to_string()); }
  std::vector<Explanation> explanations;
  for (model::Reason& reason : model::explain(app::gather_facts(state_->store(), *execution))) {
    explanations.push_back({std::move(reason.code), std::move(reason.sentence), std::move(reason.remedy)});
  }
  return explanations;
}

std::vector<QueueStats> App::queues() {
  std::vector<QueueStats> stats;
  for (const model::QueueInfo& info : state_->store().queues(state_->ns())) {
    stats.push_back({.queue = info.queue.name,
                     .paused = info.settings.paused,
                     .draining = info.settings.draining,
                     .retention = info.settings.retention.value_or(model::task_retention),
                     .failed_retention = info.settings.failed_retention,
                     .dedup_window = info.settings.dedup_window,
                     .rate_limit = info.settings.limits.rate,
                     .key_rate_limit = info.settings.limits.key_rate,
                     .concurrency = info.settings.limits.concurrency,
                     .worker_concurrency = info.settings.limits.worker_concurrency,
                     .key_concurrency = info.settings.limits.key_concurrency,
                     .ready = info.ready,
                     .delayed = info.delayed,
                     .parked = info.parked,
                     .running = info.running,
                     .dead = info.dead,
                     .oldest_ready = info.oldest_ready,
                     .completed_last_minute = info.completed_last_minute,
                     .failed_last_minute = info.failed_last_minute});
  }
  return stats;
}

void App::configure_queue(std::string_view queue, const QueueChange& change) {
  model::check_name(queue, "queue");
  model::QueuePatch patch;
  patch.paused = change.paused;
  patch.draining = change.draining;
  patch.retention = change.retention;
  patch.failed_retention = change.failed_retention;
  patch.dedup_window = change.dedup_window;
  patch.rate = change.rate_limit;
  patch.key_rate = change.key_rate_limit;
  patch.concurrency = change.concurrency;
  patch.worker_concurrency = change.worker_concurrency;
  patch.key_concurrency = change.key_concurrency;
  patch.actor = state_->actor().name;
  model::check_queue_patch(patch);
  state_->store().configure_queue(state_->queue(queue), patch);
  state_->engine().nudge();
}

PurgeAnswer App::purge(std::string_view queue) {
  model::check_name(queue, "queue");
  const app::Purged purged = app::purge_queue(state_->store(), state_->queue(queue), state_->actor());
  if (purged.requested > 0) { state_->engine().nudge(); }
  return {.cancelled = static_cast<std::size_t>(purged.cancelled),
          .requested = static_cast<std::size_t>(purged.requested)};
}

std::size_t App::move(std::string_view from, std::string_view to) {
  model::check_name(from, "from");
  model::check_name(to, "to");
  if (from == to) { throw InvalidArgument("to", "is the queue to move from"); }
  std::size_t count = 0;
  while (const int moved = state_->store().move(state_->queue(from), state_->queue(to), queue_step, state_->actor())) {
    count += static_cast<std::size_t>(moved);
  }
  const model::QueueRef target = state_->queue(to);
  state_->engine().wake_workers(std::span<const model::QueueRef>(&target, 1));
  return count;
}

Time App::now() { return state_->store().now(); }

std::string App::describe_store() {
  const store::StoreInfo info = state_->store().info();
  return info.backend + " " + info.version + ", " + info.location + ", schema " + std::to_string(info.schema_version);
}

}  // namespace hapax
