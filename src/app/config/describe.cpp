// Describes a configuration for people: effective values and their meaning.
#include "app/config/config.hpp"
#include "app/config/reader.hpp"
#include "base/limits.hpp"
#include "model/retention.hpp"

namespace hapax::config {
namespace {

std::string joined(const std::vector<std::string>& parts, const std::string& between) {
  std::string text;
  for (const std::string& part : parts) { text += (text.empty() ? "" : between) + part; }
  return text;
}

std::string retention_words(Duration retention) {
  return retention == Duration(0) ? "keeps nothing of what completed"
                                  : "keeps what has ended for " + format_duration(retention);
}

// Adds a clause for a setting that the patch sets (said(value)) or removes (`taken`).
template <class Value, class Said>
void clause(std::vector<std::string>& clauses, const std::optional<std::optional<Value>>& value, Said said,
            const std::string& taken) {
  if (value) { clauses.push_back(*value ? said(**value) : taken); }
}

std::string queue_words(const std::string& name, const model::QueuePatch& patch) {
  std::vector<std::string> clauses;
  if (patch.paused) { clauses.emplace_back(*patch.paused ? "is paused" : "is open"); }
  clause(clauses, patch.retention, retention_words,
         "keeps what has ended for " + format_duration(model::task_retention) + ", the default");
  clause(
      clauses, patch.failed_retention,
      [](Duration d) { return "keeps what failed, was cancelled or timed out for " + format_duration(d); },
      "keeps what failed as long as the rest");
  clause(
      clauses, patch.dedup_window,
      [](Duration d) { return "holds keys for at least " + format_duration(d) + " after the end"; },
      "holds keys as long as it keeps what has ended");
  const auto starts = [](const std::string& whose) {
    return [whose](const RateLimit& limit) { return "starts at most " + format_rate_limit(limit) + " " + whose; };
  };
  clause(clauses, patch.rate, starts("over all workers"), "has no rate limit");
  clause(clauses, patch.key_rate, starts("of one key"), "has no rate limit for keys");
  const auto runs = [](const std::string& whose) {
    return [whose](int number) { return "runs at most " + std::to_string(number) + " at once " + whose; };
  };
  clause(clauses, patch.concurrency, runs("over all workers"), "runs any number at once");
  clause(clauses, patch.worker_concurrency, runs("on one worker"), "runs any number at once on one worker");
  clause(clauses, patch.key_concurrency, runs("of one concurrency key"), "runs 1 at once of one concurrency key");
  return "Queue " + name + (clauses.empty() ? " has the usual settings" : " " + joined(clauses, "; ")) + ".";
}

std::string identity_words(const model::TaskDefinition& task, IdentityStrategy usual) {
  switch (task.strategy.value_or(usual)) {
    case IdentityStrategy::strict: return "two requests are the same when their whole input is the same";
    case IdentityStrategy::caller_provided: return "two requests are the same when their key is, and each needs a key";
    case IdentityStrategy::always_unique: return "each request runs";
    case IdentityStrategy::contextual:
      return "two requests are the same when " + joined(task.identity_keys, " and ") + " of their input are the same";
  }
  return "";
}

std::string task_words(const std::string& name, const model::TaskDefinition& task, IdentityStrategy usual) {
  std::vector<std::string> clauses = {identity_words(task, usual)};
  if (task.scope == IdentityScope::queue) { clauses.emplace_back("also among other tasks of its queue"); }
  if (task.scope == IdentityScope::global) { clauses.emplace_back("also among other tasks of the namespace"); }
  if (task.reuse == Reuse::reject) { clauses.emplace_back("a key is never used for a second run"); }
  if (task.reuse == Reuse::allow) { clauses.emplace_back("a key may be used again after any ending"); }
  if (task.fingerprint && !task.fingerprint->compare) {
    clauses.emplace_back("a key met again is not compared by its input");
  }
  if (task.dedup_window) {
    clauses.push_back("its keys are held for at least " + format_duration(*task.dedup_window) + " after the end");
  }
  if (task.queue) { clauses.push_back("it goes to queue " + *task.queue); }
  if (task.priority) { clauses.push_back("its priority is " + std::to_string(*task.priority)); }
  if (task.max_attempts) { clauses.push_back("it has " + std::to_string(*task.max_attempts) + " attempts"); }
  if (task.max_lost) {
    clauses.push_back("it may be lost with its worker " + std::to_string(*task.max_lost) + " times");
  }
  if (task.timeout) { clauses.push_back("an attempt may take " + format_duration(*task.timeout)); }
  if (task.deadline) { clauses.push_back("all of it may take " + format_duration(*task.deadline)); }
  if (task.retry) {
    clauses.push_back("retries wait " + format_duration(task.retry->base) + " to " + format_duration(task.retry->cap));
  }
  return "Task " + name + ": " + joined(clauses, "; ") + ".";
}

}  // namespace

std::vector<Stated> effective(const Config& config) {
  const Duration lease = config.worker.lease.value_or(usual_lease);
  const std::vector<Stated> usual = {
      {.key = "store.url", .value = "sqlite:hapax.db"},
      {.key = "namespace", .value = "default"},
      {.key = "identity.default", .value = "strict"},
      {.key = "events.require_event_id", .value = "false"},
      {.key = "cleanup.interval", .value = format_duration(model::default_cleanup_interval)},
      {.key = "limits.payload", .value = std::to_string(limits::payload_default >> 20) + "MiB"},
      {.key = "worker.lease", .value = format_duration(usual_lease)},
      {.key = "worker.heartbeat", .value = format_duration(lease / 3)},
      {.key = "worker.grace", .value = format_duration(usual_grace)},
  };
  std::vector<Stated> values = config.stated;
  for (const Stated& one : usual) {
    if (config.source_of(one.key).empty()) {
      values.push_back({.key = one.key, .value = one.value, .source = "default"});
    }
  }
  return values;
}

std::vector<std::string> describe_configuration(const Config& config) {
  const IdentityStrategy usual = config.identity_default.value_or(IdentityStrategy::strict);
  std::vector<std::string> sentences;
  for (const auto& [name, patch] : config.queues) { sentences.push_back(queue_words(name, patch)); }
  for (const auto& [name, task] : config.tasks) { sentences.push_back(task_words(name, task, usual)); }
  return sentences;
}

}  // namespace hapax::config
