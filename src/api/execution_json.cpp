#include "api/execution_json.hpp"

#include <hapax/app.hpp>

#include "app/app_state.hpp"
#include "app/find.hpp"
#include "base/json_out.hpp"
#include "base/sha256.hpp"
#include "model/retention.hpp"

namespace hapax::api {
namespace {

std::string_view kind_name(model::Kind kind) {
  switch (kind) {
    case model::Kind::task: return "task";
    case model::Kind::workflow: return "workflow";
    case model::Kind::guard: return "guard";
  }
  return "task";
}

std::string uuid_or_null(const std::optional<Uuid>& id) { return id ? base::json_text(id->to_string()) : "null"; }

std::string or_null(const std::optional<std::string>& json) { return json && !json->empty() ? *json : "null"; }

std::string rate_json(const std::optional<RateLimit>& limit) {
  return limit ? base::json_text(format_rate_limit(*limit)) : "null";
}

std::string number_json(const std::optional<int>& number) { return number ? std::to_string(*number) : "null"; }

}  // namespace

std::string retry_json(const RetryPolicy& policy) {
  base::JsonObject object;
  object.duration("base", policy.base).duration("cap", policy.cap).number("multiplier", policy.multiplier);
  object.text("jitter", policy.jitter == Jitter::full ? "full" : policy.jitter == Jitter::equal ? "equal" : "none");
  return object.str();
}

std::string error_json(const std::optional<model::ErrorInfo>& error) {
  if (!error) { return "null"; }
  base::JsonObject object;
  object.text("type", error->type).text("message", error->message).text_or_null("detail", error->detail);
  return object.str();
}

std::string attempt_json(const model::Attempt& attempt) {
  base::JsonObject object;
  object.number("number", std::int64_t{attempt.number})
      .text_or_null("worker", attempt.worker)
      .time("started_at", attempt.started_at)
      .time("ended_at", attempt.ended_at)
      .text("outcome", attempt.outcome)
      .raw("error", error_json(attempt.error));
  return object.str();
}

std::string attempts_json(const std::vector<model::Attempt>& attempts) {
  std::vector<std::string> items;
  items.reserve(attempts.size());
  for (const model::Attempt& attempt : attempts) { items.push_back(attempt_json(attempt)); }
  return base::json_array(items);
}

std::string timeline_json(const std::vector<TimelineEntry>& timeline) {
  std::vector<std::string> items;
  items.reserve(timeline.size());
  for (const TimelineEntry& entry : timeline) {
    base::JsonObject item;
    item.number("position", std::int64_t{entry.position})
        .text("kind", entry.kind)
        .text_or_null("name", entry.name)
        .text("status", entry.status)
        .time("at", entry.at)
        .time("ended_at", entry.ended_at)
        .number("attempts", std::int64_t{entry.attempts})
        .raw("child", uuid_or_null(entry.child))
        .raw("input", or_null(entry.input))
        .raw("result", or_null(entry.result))
        .raw("error", error_json(entry.error))
        .text_or_null("detail", entry.detail);
    items.push_back(item.str());
  }
  return base::json_array(items);
}

std::string execution_json(const model::Execution& e, bool payloads, const ExecutionDetails* details) {
  base::JsonObject object;
  object.text("id", e.id.to_string())
      .text("namespace", e.queue.namespace_name)
      .text("task", e.task)
      .text("kind", kind_name(e.kind))
      .text("queue", e.queue.name)
      .text("status", to_string(e.status));
  if (payloads) { object.raw("input", e.input.empty() ? "null" : e.input).raw("result", or_null(e.result)); }
  object.raw("error", error_json(e.error));
  if (details != nullptr) { object.raw("attempts", attempts_json(details->attempts)); }
  if (details != nullptr && details->journal) { object.raw("journal", timeline_json(*details->journal)); }
  object.number("attempt", std::int64_t{e.attempt})
      .number("max_attempts", std::int64_t{e.max_attempts})
      .number("lost", std::int64_t{e.lost})
      .number("max_lost", std::int64_t{e.max_lost})
      .number("run", std::int64_t{e.run})
      .raw("identity", e.identity ? base::json_text(base::to_hex(*e.identity)) : "null")
      .text_or_null("task_id", e.identity_key)
      .text("effect_key", e.effect_key)
      .number("fence", e.fence)
      .number("priority", std::int64_t{e.priority})
      .time("created_at", e.created_at)
      .time("run_at", e.run_at)
      .time("started_at", e.started_at)
      .time("finished_at", e.finished_at)
      .time("expires_at", e.expires_at)
      .time("deadline", e.deadline)
      .duration("timeout", e.attempt_timeout)
      .raw("retry", retry_json(e.retry.value_or(RetryPolicy{})))
      .raw("parent", uuid_or_null(e.parent));
  if (details != nullptr) { object.text_or_null("parent_workflow_id", details->parent_workflow_id.value_or("")); }
  object.boolean("waiting", e.waiting)
      .text_or_null("stuck_reason", e.stuck)
      .raw("continued_as", uuid_or_null(e.continued_as))
      .raw("session", uuid_or_null(e.session))
      .text_or_null("worker", e.worker)
      .boolean("cancel_requested", e.cancel_requested);
  if (e.progress) {
    base::JsonObject progress;
    progress.number("fraction", *e.progress).text("message", e.progress_message);
    object.raw("progress", progress.str());
  } else {
    object.null("progress");
  }
  object.boolean("dead", e.dead)
      .raw("retried_as", uuid_or_null(e.retried_as))
      .text_or_null("note", e.note)
      .raw("tags", base::json_text_array(e.labels.tags))
      .raw("metadata", e.labels.metadata.empty() ? "null" : e.labels.metadata)
      .text_or_null("traceparent", e.labels.traceparent)
      .text_or_null("tracestate", e.labels.tracestate)
      .text_or_null("enqueued_by", e.labels.actor);
  return object.str();
}

std::string shown_execution_json(App app, const model::Execution& execution) {
  store::Store& store = app.state()->store();
  ExecutionDetails details{.attempts = store.attempts(execution.id),
                           .journal = {},
                           .parent_workflow_id = app::parent_workflow_id(store, execution)};
  if (execution.kind == model::Kind::workflow) { details.journal = app.timeline(execution.id); }
  return execution_json(execution, true, &details);
}

std::string queue_json(const model::QueueInfo& q) {
  const model::QueueLimits& limits = q.settings.limits;
  base::JsonObject object;
  object.text("namespace", q.queue.namespace_name)
      .text("queue", q.queue.name)
      .boolean("paused", q.settings.paused)
      .boolean("draining", q.settings.draining)
      .duration("retention", q.settings.retention.value_or(model::task_retention))
      .boolean("retention_is_default", !q.settings.retention)
      .duration("failed_retention", q.settings.failed_retention)
      .duration("dedup_window", q.settings.dedup_window)
      .raw("rate_limit", rate_json(limits.rate))
      .raw("key_rate_limit", rate_json(limits.key_rate))
      .raw("concurrency", number_json(limits.concurrency))
      .raw("worker_concurrency", number_json(limits.worker_concurrency))
      .raw("key_concurrency", number_json(limits.key_concurrency))
      .number("ready", q.ready)
      .number("delayed", q.delayed)
      .number("parked", q.parked)
      .number("running", q.running)
      .number("dead", q.dead)
      .duration("oldest_ready", q.oldest_ready)
      .number("completed_last_minute", q.completed_last_minute)
      .number("failed_last_minute", q.failed_last_minute);
  return object.str();
}

std::string outcome_json(const model::Outcome& outcome) {
  base::JsonObject object;
  object.text("id", outcome.id.to_string()).text("status", to_string(outcome.status));
  if (outcome.status == Status::completed) { object.raw("result", or_null(outcome.result)); }
  if (outcome.error) { object.raw("error", error_json(outcome.error)); }
  return object.str();
}

std::string admission_json(const model::Admission& admission, const std::optional<model::Outcome>& end) {
  const Status status = end ? end->status : admission.status;
  const std::optional<std::string> result = end && end->result ? end->result : admission.result;
  // A batch writes one admission per line, so the members without escapes are appended directly.
  std::string head;
  head.reserve(160);
  head.append(R"({"id":")").append(admission.id.to_string());
  head.append(admission.created() ? R"(","created":true,"status":")" : R"(","created":false,"status":")");
  head.append(to_string(status)).append(R"(","run":)").append(std::to_string(admission.run));
  base::JsonObject object;
  if (admission.deduplicated_from) { object.time("deduplicated_from", admission.deduplicated_from); }
  if (!end && admission.expired) {
    // Only the key is still held; the result is gone, so null would be wrong.
    object.boolean("result_expired", true);
  } else if (status == Status::completed) {
    object.raw("result", or_null(result));
  }
  if (end && end->error) { object.raw("error", error_json(end->error)); }
  return head.append(object.tail()).append("}");
}

std::string explain_json(const model::Execution& execution, const std::vector<model::Reason>& reasons) {
  std::vector<std::string> items;
  for (const model::Reason& reason : reasons) {
    base::JsonObject item;
    item.text("code", reason.code).text("sentence", reason.sentence).text_or_null("remedy", reason.remedy);
    items.push_back(item.str());
  }
  base::JsonObject object;
  object.text("id", execution.id.to_string()).text("status", to_string(execution.status));
  return object.raw("reasons", base::json_array(items)).str();
}

}  // namespace hapax::api
