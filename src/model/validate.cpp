#include "model/validate.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/text.hpp"
#include "base/uuid7.hpp"

#include <cmath>

namespace hapax::model {

namespace {

constexpr std::string_view key_example = "charge-order-456";

std::string expected_text(std::size_t limit, std::string_view example) {
  std::string text = "; expected 1 to " + std::to_string(limit) + " bytes of UTF-8 without control characters";
  if (!example.empty()) { text.append(", such as ").append(example); }
  return text;
}

// The problem with a name or key; empty: none.
std::string problem_of(std::string_view text, std::size_t limit, std::string_view example = {}) {
  const auto problem = [&](const std::string& what) { return what + expected_text(limit, example); };
  if (text.empty()) { return problem("is empty"); }
  if (text.size() > limit) { return problem(base::quoted(text) + " is too long"); }
  if (!base::is_valid_utf8(text)) { return problem(base::quoted(text) + " is not UTF-8"); }
  if (base::has_control_characters(text)) { return problem(base::quoted(text) + " has control characters"); }
  return {};
}

void check_text(std::string_view text, std::string_view field, std::size_t limit) {
  if (const std::string problem = problem_of(text, limit); !problem.empty()) {
    throw InvalidArgument(std::string(field), problem);
  }
}

void check_range(std::int64_t value, std::string_view field, std::int64_t least, std::int64_t most) {
  if (value < least || value > most) {
    throw InvalidArgument(std::string(field), std::to_string(value) + " is out of range; expected " +
                                                  std::to_string(least) + " to " + std::to_string(most));
  }
}

void check_duration(Duration value, std::string_view field, Duration least) {
  if (value < least || value > limits::delay_max) {
    const std::string from = least == Duration(0) ? "0" : "more than 0";
    throw InvalidArgument(std::string(field), format_duration(value) + " is out of range; expected " + from + " to " +
                                                  format_duration(limits::delay_max));
  }
}

void check_run_at(const NewExecution& request) {
  check_duration(request.delay, "delay", Duration(0));
  if (!request.run_at) { return; }
  if (request.delay != Duration(0)) {
    throw InvalidArgument("run_at", "was given together with a delay; expected one of them");
  }
  if (*request.run_at < Time{}) {
    throw InvalidArgument("run_at", format_time(*request.run_at) + " is out of range; expected 1970 or later");
  }
  // src/model has no clock. The timestamp in the request's id (UUIDv7) is close enough to now for a bound of ten years.
  const Time asked = Time(std::chrono::milliseconds(base::uuid7_milliseconds(request.id)));
  const bool has_instant = (request.id.bytes[6] >> 4) == 7;
  if (has_instant && *request.run_at > asked + limits::delay_max) {
    throw InvalidArgument("run_at", format_time(*request.run_at) + " is too far away; expected at most " +
                                        format_duration(limits::delay_max) + " from now");
  }
}

void check_retry(const RetryPolicy& policy) {
  check_duration(policy.base, "retry.base", Duration(0));
  check_duration(policy.cap, "retry.cap", Duration(0));
  if (!std::isfinite(policy.multiplier) || policy.multiplier < 1 || policy.multiplier > 1000) {
    throw InvalidArgument("retry.multiplier",
                          std::to_string(policy.multiplier) + " is out of range; expected 1 to 1000");
  }
}

void check_labels(const Labels& labels) {
  if (labels.tags.size() > limits::tags) {
    throw InvalidArgument("tags", std::to_string(labels.tags.size()) + " tags were given; expected at most " +
                                      std::to_string(limits::tags));
  }
  for (const std::string& tag : labels.tags) { check_name(tag, "tags"); }
  if (labels.metadata.size() > limits::metadata_bytes) {
    throw PayloadTooLarge("metadata", labels.metadata.size(), limits::metadata_bytes);
  }
  if (!labels.metadata.empty()) {
    base::check_json(labels.metadata, "metadata");
    if (labels.metadata[labels.metadata.find_first_not_of(" \t\r\n")] != '{') {
      throw InvalidArgument("metadata", base::quoted(labels.metadata) +
                                            " is not a JSON object; expected one such as "
                                            "{\"customer\": \"acme\"}");
    }
  }
}

}  // namespace

void check_name(std::string_view name, std::string_view field) { check_text(name, field, limits::name_bytes); }

void check_key(std::string_view key, std::string_view field) {
  if (const std::string problem = problem_of(key, limits::key_bytes, key_example); !problem.empty()) {
    throw InvalidIdempotencyKey(problem, std::string(field));
  }
}

void check_queue_patch(const QueuePatch& patch) {
  const auto duration = [](const auto& value, std::string_view field) {
    if (value && *value) { check_duration(**value, field, Duration(0)); }
  };
  duration(patch.retention, "retention");
  duration(patch.failed_retention, "failed_retention");
  duration(patch.dedup_window, "dedup_window");
  const auto number = [](const auto& value, std::string_view field) {
    if (value && *value) { check_range(**value, field, 1, limits::concurrency); }
  };
  number(patch.concurrency, "concurrency");
  number(patch.worker_concurrency, "worker_concurrency");
  number(patch.key_concurrency, "key_concurrency");
  const auto rate = [](const auto& value, std::string_view field) {
    if (!value || !*value) { return; }
    check_range((*value)->count, std::string(field) + ".count", 1, limits::rate);
    check_range((*value)->burst, std::string(field) + ".burst", 0, limits::rate);
    check_duration((*value)->per, std::string(field) + ".per", std::chrono::milliseconds(1));
  };
  rate(patch.rate, "rate_limit");
  rate(patch.key_rate, "key_rate_limit");
}

void check_new_execution(const NewExecution& request) {
  check_composed_execution(request);
  base::check_json(request.input, "input");
}

void check_composed_execution(const NewExecution& request) {
  check_name(request.queue.namespace_name, "namespace");
  check_name(request.queue.name, "queue");
  check_name(request.task, "task");
  check_range(request.priority, "priority", limits::priority_min, limits::priority_max);
  check_run_at(request);
  check_range(request.max_attempts, "max_attempts", 1, limits::max_attempts);
  check_range(request.max_lost, "max_lost", 1, limits::max_attempts);
  if (request.retry) { check_retry(*request.retry); }
  if (request.attempt_timeout) { check_duration(*request.attempt_timeout, "timeout", Duration(1)); }
  if (request.deadline) { check_duration(*request.deadline, "deadline", Duration(1)); }
  if (request.effect_key) { check_text(*request.effect_key, "effect_key", limits::key_bytes); }
  if (request.limit_key) {
    check_text(request.limit_key->text, request.limit_key->ordered ? "ordering_key" : "concurrency_key",
               limits::key_bytes);
  }
  check_range(request.weight, "weight", 1, limits::weight);
  check_labels(request.labels);
  if (request.input.size() > base::payload_limit()) {
    throw PayloadTooLarge("input", request.input.size(), base::payload_limit());
  }
}

}  // namespace hapax::model
