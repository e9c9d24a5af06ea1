#include "model/queue_patch.hpp"

#include <nlohmann/json.hpp>

namespace hapax::model {

namespace {

nlohmann::json shown(Duration duration) { return format_duration(duration); }
nlohmann::json shown(const RateLimit& limit) { return format_rate_limit(limit); }
nlohmann::json shown(int number) { return number; }

}  // namespace

void apply_patch(QueueSettings& settings, const QueuePatch& patch) {
  settings.paused = patch.paused.value_or(settings.paused);
  settings.draining = patch.draining.value_or(settings.draining);
  settings.retention = patch.retention.value_or(settings.retention);
  settings.failed_retention = patch.failed_retention.value_or(settings.failed_retention);
  settings.dedup_window = patch.dedup_window.value_or(settings.dedup_window);
  settings.limits.rate = patch.rate.value_or(settings.limits.rate);
  settings.limits.key_rate = patch.key_rate.value_or(settings.limits.key_rate);
  settings.limits.concurrency = patch.concurrency.value_or(settings.limits.concurrency);
  settings.limits.worker_concurrency = patch.worker_concurrency.value_or(settings.limits.worker_concurrency);
  settings.limits.key_concurrency = patch.key_concurrency.value_or(settings.limits.key_concurrency);
}

std::string describe_patch(const QueuePatch& patch) {
  nlohmann::json object = nlohmann::json::object();
  const auto add = [&object](const char* name, const auto& value) {
    if (value) { object[name] = *value ? shown(**value) : nlohmann::json(); }
  };
  if (patch.paused) { object["paused"] = *patch.paused; }
  if (patch.draining) { object["draining"] = *patch.draining; }
  add("retention", patch.retention);
  add("failed_retention", patch.failed_retention);
  add("dedup_window", patch.dedup_window);
  add("rate_limit", patch.rate);
  add("key_rate_limit", patch.key_rate);
  add("concurrency", patch.concurrency);
  add("worker_concurrency", patch.worker_concurrency);
  add("key_concurrency", patch.key_concurrency);
  return object.dump();
}

std::string describe_count(int count) { return nlohmann::json{{"count", count}}.dump(); }

std::string describe_move(const QueueRef& to, int count) {
  return nlohmann::json{{"to", to.name}, {"count", count}}.dump();
}

}  // namespace hapax::model
