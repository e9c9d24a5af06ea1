#include "telemetry/tracer.hpp"

#include "telemetry/trace_ids.hpp"

#include <array>
#include <charconv>
#include <optional>

namespace hapax::telemetry {

namespace {

std::int64_t nanoseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

// The trace in which an execution's attempts are; none: its trace is not sampled.
std::optional<TraceParent> trace_of_execution(const ObservedTask& task) {
  std::optional<TraceParent> kept = parse_traceparent(task.traceparent);
  if (!kept) { return TraceParent{.trace = trace_of(task.id), .span = {}}; }
  if (!kept->sampled) { return std::nullopt; }
  return kept;
}

Attributes attributes_of(const ObservedTask& task, const Uuid& execution) {
  return {{"hapax.execution.id", execution.to_string()},
          {"hapax.namespace", std::string(task.namespace_name)},
          {"hapax.queue", std::string(task.queue)},
          {"hapax.task", std::string(task.task)}};
}

int severity_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return 5;
    case LogLevel::info: return 9;
    case LogLevel::warning: return 13;
    case LogLevel::error: break;
  }
  return 17;
}

bool is_failure(AttemptOutcome outcome) {
  return outcome == AttemptOutcome::failed || outcome == AttemptOutcome::retried ||
         outcome == AttemptOutcome::timed_out || outcome == AttemptOutcome::stale || outcome == AttemptOutcome::lost;
}

}  // namespace

void Tracer::trace_request(const Uuid& id, TraceContext& trace) {
  if (!outputs_.span) { return; }
  const std::optional<TraceParent> caller = parse_traceparent(trace.traceparent);
  if (caller && !caller->sampled) { return; }
  trace.traceparent = to_text({.trace = caller ? caller->trace : trace_of(id), .span = span_of_request(id)});
}

void Tracer::trace_attempt(const Uuid& id, std::int64_t fence, TraceContext& trace) {
  if (!outputs_.span) { return; }
  const std::optional<TraceParent> kept = parse_traceparent(trace.traceparent);
  if (kept && !kept->sampled) { return; }
  trace.traceparent = to_text({.trace = kept ? kept->trace : trace_of(id), .span = span_of_attempt(id, fence)});
}

void Tracer::on_admissions(const AdmissionBatch& batch) {
  if (!outputs_.span) { return; }
  const std::int64_t now = outputs_.now_ns();
  for (const ObservedAdmission& admission : batch.admissions) {
    const std::optional<TraceParent> own = parse_traceparent(admission.task.traceparent);
    // Not sampled, or a request that did not come through trace_request(), such as a schedule's.
    if (!own || own->span != span_of_request(admission.task.id)) { continue; }
    const std::optional<TraceParent> caller = parse_traceparent(admission.caller_trace);
    Span span{.trace = own->trace,
              .id = own->span,
              .parent = caller ? caller->span : "",
              .state = std::string(admission.task.tracestate),
              .name = "enqueue " + std::string(admission.task.task),
              .kind = SpanKind::producer,
              .began_ns = now - nanoseconds(batch.took.value_or(Duration::zero())),
              .ended_ns = now,
              .error = {},
              .attributes = attributes_of(admission.task, admission.execution)};
    span.attributes.emplace_back("hapax.outcome", to_string(admission.outcome));
    outputs_.span(span_json(span));
  }
}

void Tracer::on_attempt_ended(const AttemptEnd& end) {
  const std::optional<TraceParent> trace = trace_of_execution(end.task);
  if (!outputs_.span || !trace) { return; }
  const std::int64_t ended = outputs_.now_ns() - nanoseconds(end.ended_ago);
  Span span{.trace = trace->trace,
            .id = span_of_attempt(end.task.id, end.fence),
            .parent = trace->span,
            .state = std::string(end.task.tracestate),
            .name = std::string(end.task.task),
            .kind = SpanKind::consumer,
            .began_ns = ended - nanoseconds(end.ran_for),
            .ended_ns = ended,
            .error = {},
            .attributes = attributes_of(end.task, end.task.id)};
  if (is_failure(end.outcome)) { span.error = end.error_type.empty() ? to_string(end.outcome) : end.error_type; }
  span.attributes.emplace_back("hapax.outcome", to_string(end.outcome));
  span.attributes.emplace_back("hapax.attempt", std::to_string(end.attempt));
  span.attributes.emplace_back("hapax.waited_ms", std::to_string(end.waited.count() / 1000));
  outputs_.span(span_json(span));
}

void Tracer::on_step_ended(const StepEnd& end) {
  const std::optional<TraceParent> trace = trace_of_execution(end.task);
  if (!outputs_.span || !trace) { return; }
  const std::int64_t now = outputs_.now_ns();
  std::array<char, 16> digits{};
  const auto [last, error] = std::to_chars(digits.data(), digits.data() + digits.size(), random_.next() | 1U, 16);
  const std::string hex(digits.data(), last);
  Span span{.trace = trace->trace,
            .id = std::string(digits.size() - hex.size(), '0') + hex,
            .parent = span_of_attempt(end.task.id, end.fence),
            .state = std::string(end.task.tracestate),
            .name = "step " + std::string(end.step),
            .kind = SpanKind::internal,
            .began_ns = now - nanoseconds(end.ran_for),
            .ended_ns = now,
            .error = {},
            .attributes = attributes_of(end.task, end.task.id)};
  if (end.failed) { span.error = end.error_type.empty() ? "failed" : end.error_type; }
  outputs_.span(span_json(span));
}

void Tracer::on_log(LogLevel level, std::string_view message, const LogFields& fields) {
  if (!outputs_.log) { return; }
  outputs_.log(log_json({.at_ns = outputs_.now_ns(),
                         .severity = severity_of(level),
                         .level = to_string(level),
                         .message = message,
                         .attributes = fields}));
}

}  // namespace hapax::telemetry
