#include "api/execution_read.hpp"

#include "base/json_view.hpp"

namespace hapax::api {
namespace {

model::Kind read_kind(const std::string& word) {
  if (word == "workflow") return model::Kind::workflow;
  if (word == "guard") return model::Kind::guard;
  return model::Kind::task;
}

Status read_status(const std::string& word) {
  if (const std::optional<Status> status = parse_status(word)) { return *status; }
  throw base::BadAnswer("the answer has a status that this build does not know; is the server a later release?");
}

std::optional<base::Digest> read_digest(const std::string& hex) {
  base::Digest digest{};
  if (hex.size() != digest.size() * 2 || hex.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return std::nullopt;
  }
  const auto digit = [](char c) { return static_cast<std::uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
  }
  return digest;
}

std::optional<std::string> optional_raw(const base::JsonView& view, std::string_view name) {
  return view.has(name) ? std::optional<std::string>(view.raw(name)) : std::nullopt;
}

RetryPolicy read_retry(const base::JsonView& view) {
  RetryPolicy policy;
  policy.base = view.duration("base").value_or(policy.base);
  policy.cap = view.duration("cap").value_or(policy.cap);
  policy.multiplier = view.number("multiplier").value_or(policy.multiplier);
  const std::string jitter = view.text("jitter");
  policy.jitter = jitter == "none" ? Jitter::none : jitter == "equal" ? Jitter::equal : Jitter::full;
  return policy;
}

std::optional<RateLimit> read_rate(const base::JsonView& view, std::string_view name) {
  const std::string text = view.text(name);
  if (text.empty()) { return std::nullopt; }
  try {
    return parse_rate_limit(text, name);
  } catch (const InvalidArgument& error) {
    throw base::BadAnswer(std::string("the answer's rate limit cannot be read: ") + error.what());
  }
}

std::optional<int> optional_small(const base::JsonView& view, std::string_view name) {
  return view.has(name) ? std::optional(view.small(name)) : std::nullopt;
}

}  // namespace

std::optional<model::ErrorInfo> read_error(std::string_view document) {
  if (document == "null") { return std::nullopt; }
  const base::JsonView view(document);
  return model::ErrorInfo{view.text("type"), view.text("message"), view.text("detail")};
}

model::Execution read_execution(std::string_view document) {
  const base::JsonView view(document);
  model::Execution e;
  e.id = view.uuid("id").value_or(Uuid{});
  e.queue = {.namespace_name = view.text("namespace"), .name = view.text("queue")};
  e.task = view.text("task");
  e.kind = read_kind(view.text("kind"));
  e.status = read_status(view.text("status"));
  if (view.has("input")) { e.input = view.raw("input"); }
  e.result = optional_raw(view, "result");
  e.error = read_error(view.raw("error"));
  e.attempt = view.small("attempt");
  e.max_attempts = view.small("max_attempts");
  e.lost = view.small("lost");
  e.max_lost = view.small("max_lost");
  e.run = view.small("run", 1);
  e.identity = read_digest(view.text("identity"));
  e.identity_key = view.text("task_id");
  e.effect_key = view.text("effect_key");
  e.fence = view.integer("fence");
  e.priority = view.small("priority");
  e.created_at = view.time("created_at").value_or(Time{});
  e.run_at = view.time("run_at").value_or(Time{});
  e.started_at = view.time("started_at");
  e.finished_at = view.time("finished_at");
  e.expires_at = view.time("expires_at");
  e.deadline = view.time("deadline");
  e.attempt_timeout = view.duration("timeout");
  if (view.has("retry")) { e.retry = read_retry(base::JsonView(view.raw("retry"))); }
  e.parent = view.uuid("parent");
  e.waiting = view.flag("waiting");
  e.stuck = view.text("stuck_reason");
  e.continued_as = view.uuid("continued_as");
  e.session = view.uuid("session");
  e.worker = view.text("worker");
  e.cancel_requested = view.flag("cancel_requested");
  if (view.has("progress")) {
    const base::JsonView progress(view.raw("progress"));
    e.progress = progress.number("fraction");
    e.progress_message = progress.text("message");
  }
  e.dead = view.flag("dead");
  e.retried_as = view.uuid("retried_as");
  e.note = view.text("note");
  e.labels.tags = view.texts("tags");
  if (view.has("metadata")) { e.labels.metadata = view.raw("metadata"); }
  e.labels.traceparent = view.text("traceparent");
  e.labels.tracestate = view.text("tracestate");
  e.labels.actor = view.text("enqueued_by");
  return e;
}

std::vector<model::Attempt> read_attempts(std::string_view array) {
  std::vector<model::Attempt> attempts;
  for (const std::string_view item : base::array_items(array)) {
    const base::JsonView view(item);
    attempts.push_back({.number = view.small("number", 1),
                        .worker = view.text("worker"),
                        .started_at = view.time("started_at"),
                        .ended_at = view.time("ended_at"),
                        .outcome = view.text("outcome"),
                        .error = read_error(view.raw("error"))});
  }
  return attempts;
}

std::vector<TimelineEntry> read_timeline(std::string_view array) {
  std::vector<TimelineEntry> timeline;
  for (const std::string_view item : base::array_items(array)) {
    const base::JsonView view(item);
    TimelineEntry entry;
    entry.position = view.small("position");
    entry.kind = view.text("kind");
    entry.name = view.text("name");
    entry.status = view.text("status");
    entry.at = view.time("at").value_or(Time{});
    entry.ended_at = view.time("ended_at");
    entry.attempts = view.small("attempts", 1);
    entry.child = view.uuid("child");
    entry.input = optional_raw(view, "input");
    entry.result = optional_raw(view, "result");
    entry.error = read_error(view.raw("error"));
    entry.detail = view.text("detail");
    timeline.push_back(std::move(entry));
  }
  return timeline;
}

model::Outcome read_outcome(std::string_view document) {
  const base::JsonView view(document);
  return {.id = view.uuid("id").value_or(Uuid{}),
          .status = read_status(view.text("status")),
          .result = optional_raw(view, "result"),
          .error = read_error(view.raw("error")),
          .continued_as = std::nullopt};
}

model::Admission read_admission(std::string_view document) {
  const base::JsonView view(document);
  model::Admission admission;
  admission.verdict = view.flag("created") ? model::AdmissionVerdict::created : model::AdmissionVerdict::deduplicated;
  admission.id = view.uuid("id").value_or(Uuid{});
  admission.status = read_status(view.text("status"));
  admission.run = view.small("run", 1);
  admission.deduplicated_from = view.time("deduplicated_from");
  admission.result = optional_raw(view, "result");
  admission.expired = view.flag("result_expired");
  return admission;
}

model::QueueInfo read_queue(std::string_view document) {
  const base::JsonView view(document);
  model::QueueInfo q;
  q.queue = {.namespace_name = view.text("namespace"), .name = view.text("queue")};
  q.settings.paused = view.flag("paused");
  q.settings.draining = view.flag("draining");
  if (!view.flag("retention_is_default")) { q.settings.retention = view.duration("retention"); }
  q.settings.failed_retention = view.duration("failed_retention");
  q.settings.dedup_window = view.duration("dedup_window");
  q.settings.limits = {.rate = read_rate(view, "rate_limit"),
                       .key_rate = read_rate(view, "key_rate_limit"),
                       .concurrency = optional_small(view, "concurrency"),
                       .worker_concurrency = optional_small(view, "worker_concurrency"),
                       .key_concurrency = optional_small(view, "key_concurrency")};
  q.ready = view.integer("ready");
  q.delayed = view.integer("delayed");
  q.parked = view.integer("parked");
  q.running = view.integer("running");
  q.dead = view.integer("dead");
  q.oldest_ready = view.duration("oldest_ready");
  q.completed_last_minute = view.integer("completed_last_minute");
  q.failed_last_minute = view.integer("failed_last_minute");
  return q;
}

}  // namespace hapax::api
