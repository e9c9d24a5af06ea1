// App's calls on executions and queues.
#include <hapax/app.hpp>

#include "app/app_state.hpp"
#include "model/retention.hpp"
#include "model/unreadable.hpp"

namespace hapax {

namespace {

ExecutionRecord to_public(model::Execution&& from) {
  ExecutionRecord to;
  to.id = from.id;
  to.task = std::move(from.task);
  to.queue = std::move(from.queue.name);
  to.status = from.status;
  to.input = std::move(from.input);
  to.result = std::move(from.result);
  to.error = std::move(from.error);
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
  to.tracestate = std::move(from.labels.tracestate);
  to.enqueued_by = std::move(from.labels.actor);
  return to;
}

}  // namespace

std::optional<ExecutionRecord> App::get(const Uuid& id) {
  auto execution = state_->store().get(id);
  if (!execution || execution->queue.namespace_name != state_->namespace_name()) { return std::nullopt; }
  model::check_readable(*execution);
  return to_public(std::move(*execution));
}

std::vector<ExecutionRecord> App::list(const ListOptions& options) {
  std::vector<ExecutionRecord> executions;
  for (model::Execution& execution : state_->store().list(app::query_of(state_->namespace_name(), options))) {
    executions.push_back(to_public(std::move(execution)));
  }
  return executions;
}

std::vector<AttemptRecord> App::attempts(const Uuid& id) {
  return state_->is_own(id) ? state_->store().attempts(id) : std::vector<AttemptRecord>();
}

CancelAnswer App::cancel(const Uuid& id, std::string_view reason) {
  const app::Operations operations = state_->change("cancel");
  const std::vector<model::CancelResult> results = operations.cancel(operations.named({&id, 1}), reason);
  return results.empty() ? CancelAnswer::not_found : results.front().verdict;
}

AnyHandle App::retry(const Uuid& id, bool new_effect_key) {
  const app::Retried retried = state_->change("retry").retry(id, {.new_effect_key = new_effect_key});
  model::Admission admission;
  admission.id = retried.new_id;
  admission.run = retried.result.run;
  return state_->handle(admission);
}

std::vector<Explanation> App::explain(const Uuid& id) { return state_->operations().explain(id).reasons; }

std::vector<QueueStats> App::queues() {
  std::vector<QueueStats> stats;
  for (const model::QueueInfo& info : state_->store().queues(state_->namespace_name())) {
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
  (void)state_->change("configure_queue").configure(state_->queue(queue), std::move(patch), app::Absent::make);
}

Time App::now() { return state_->store().now(); }

std::string App::describe_store() {
  const store::StoreInfo info = state_->store().info();
  return info.backend + " " + info.version + ", " + info.location + ", schema " + std::to_string(info.schema_version);
}

}  // namespace hapax
