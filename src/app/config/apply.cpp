#include "app/config/apply.hpp"

#include "app/config/queue_keys.hpp"
#include "app/config/reader.hpp"
#include "base/json.hpp"
#include "base/sha256.hpp"
#include "model/queue_patch.hpp"
#include "model/retention.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace hapax::config {
namespace {

using nlohmann::json;

struct QueueStep {
  model::QueueRef queue;
  model::QueuePatch patch;  // only the settings that change
};

struct TaskStep {
  model::TaskEntry entry;
  std::string note;
};

struct Steps {
  std::vector<Change> changes;
  std::vector<QueueStep> queues;
  std::vector<TaskStep> tasks;
  std::vector<model::Setting> settings;
};

void plan_queue(Steps& steps, const model::QueueRef& queue, const model::QueuePatch& wanted,
                const model::QueueSettings& stored) {
  model::QueueSettings after = stored;
  model::apply_patch(after, wanted);
  QueueStep step{.queue = queue, .patch = wanted};
  bool changes = false;
  for (const QueueKey& key : queue_keys()) {
    if (!key.changes(wanted)) { continue; }
    const std::string from = key.shown(stored);
    const std::string to = key.shown(after);
    if (from == to) {
      key.keep(step.patch);
      continue;
    }
    changes = true;
    steps.changes.push_back(
        {.subject = key_path(key_path("queues", queue.name), key.name), .from = from, .to = to, .note = ""});
  }
  if (changes) { steps.queues.push_back(std::move(step)); }
}

// A string without its quotes, any other value as JSON.
std::string shown(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string note_of(const model::TaskEntry& stored, const model::TaskDefinition& wanted, IdentityStrategy usual) {
  if (stored.origin != "code") { return ""; }
  const std::string conflict =
      model::conflict_of(model::decode_definition(stored.definition, "tasks." + stored.name), wanted, usual);
  return "over a declaration in code" + (conflict.empty() ? "" : ": " + conflict);
}

void plan_task(Steps& steps, const model::TaskEntry& wanted, const model::TaskEntry* stored, IdentityStrategy usual) {
  if (stored != nullptr && stored->definition == wanted.definition) { return; }
  const std::string where = key_path("tasks", wanted.name);
  const std::string note =
      stored == nullptr ? "" : note_of(*stored, model::decode_definition(wanted.definition, where), usual);
  const json before = stored == nullptr ? json::object() : json::parse(stored->definition);
  const json after = json::parse(wanted.definition);
  if (stored == nullptr) { steps.changes.push_back({.subject = where, .to = "catalogued"}); }
  json all = before;
  all.update(after);
  for (const auto& [name, ignored] : all.items()) {
    const std::string from = before.contains(name) ? shown(before[name]) : "";
    const std::string to = after.contains(name) ? shown(after[name]) : "";
    if (from != to) { steps.changes.push_back({.subject = where + "." + name, .from = from, .to = to, .note = note}); }
  }
  steps.tasks.push_back({.entry = wanted, .note = note});
}

std::vector<model::Setting> settings_of(const Config& config) {
  std::vector<model::Setting> settings;
  if (config.identity_default) {
    settings.push_back({.name = std::string(model::default_strategy_setting),
                        .value = std::string(model::to_word(*config.identity_default))});
  }
  if (config.cleanup_interval) {
    settings.push_back(
        {.name = std::string(model::cleanup_interval_setting), .value = format_duration(*config.cleanup_interval)});
  }
  if (config.require_event_id) {
    settings.push_back(
        {.name = std::string(model::require_event_id_setting), .value = *config.require_event_id ? "true" : "false"});
  }
  return settings;
}

std::string stored_setting(const model::StoredCatalogue& stored, std::string_view name) {
  const auto found = std::find_if(stored.settings.begin(), stored.settings.end(),
                                  [&](const model::Setting& one) { return one.name == name; });
  return found == stored.settings.end() ? "" : found->value;
}

Steps steps_of(store::Store& store, const std::string& namespace_name, const Config& config) {
  Steps steps;
  const std::vector<model::QueueInfo> queues =
      config.queues.empty() ? std::vector<model::QueueInfo>() : store.queues(namespace_name);
  for (const auto& [name, patch] : config.queues) {
    const auto found = std::find_if(queues.begin(), queues.end(),
                                    [&name = name](const model::QueueInfo& q) { return q.queue.name == name; });
    plan_queue(steps, {.namespace_name = namespace_name, .name = name}, patch,
               found == queues.end() ? model::QueueSettings{} : found->settings);
  }
  const model::StoredCatalogue stored = store.catalogue(namespace_name);
  const std::string usual_word = stored_setting(stored, model::default_strategy_setting);
  const IdentityStrategy usual = config.identity_default.value_or(
      usual_word.empty() ? IdentityStrategy::strict
                         : model::parse_strategy(usual_word, model::default_strategy_setting));
  for (const auto& [name, definition] : config.tasks) {
    const auto found = std::find_if(stored.tasks.begin(), stored.tasks.end(),
                                    [&name = name](const model::TaskEntry& entry) { return entry.name == name; });
    plan_task(steps,
              {.namespace_name = namespace_name,
               .name = name,
               .definition = model::encode_definition(definition),
               .origin = "file"},
              found == stored.tasks.end() ? nullptr : &*found, usual);
  }
  for (const model::Setting& setting : settings_of(config)) {
    const std::string from = stored_setting(stored, setting.name);
    if (from == setting.value) { continue; }
    steps.changes.push_back({.subject = setting.name, .from = from, .to = setting.value});
    steps.settings.push_back(setting);
  }
  return steps;
}

}  // namespace

std::vector<Change> plan(store::Store& store, const std::string& namespace_name, const Config& config) {
  return steps_of(store, namespace_name, config).changes;
}

std::vector<Change> apply(store::Store& store, const std::string& namespace_name, const Config& config,
                          const std::string& actor, const AlsoApply& also) {
  Steps steps = steps_of(store, namespace_name, config);
  // Identity settings come first, because they decide when two requests are the same.
  for (const model::Setting& setting : steps.settings) { store.put_setting(namespace_name, setting, actor); }
  for (const TaskStep& step : steps.tasks) {
    store.put_task(step.entry, step.note.empty() ? actor : actor + ", " + step.note);
  }
  std::vector<model::QueueRef> changed;
  for (QueueStep& step : steps.queues) {
    step.patch.actor = actor;
    store.configure_queue(step.queue, step.patch);
    changed.push_back(step.queue);
  }
  if (!changed.empty()) { store.announce(changed); }
  if (also) { std::ranges::move(also(), std::back_inserter(steps.changes)); }
  // The digest is written last, so that the next start repeats a failed apply.
  store.put_setting(namespace_name, {.name = std::string(applied_setting), .value = content_digest(config)}, actor);
  return std::move(steps.changes);
}

std::vector<Change> apply_at_start(store::Store& store, const std::string& namespace_name, const Config& config,
                                   const std::string& actor, const AlsoApply& also) {
  const bool says_something =
      !config.queues.empty() || !config.tasks.empty() || !config.activities.empty() || !settings_of(config).empty();
  if (!says_something || stored_setting(store.catalogue(namespace_name), applied_setting) == content_digest(config)) {
    return {};
  }
  return apply(store, namespace_name, config, actor, also);
}

std::string content_digest(const Config& config) {
  json content = {{"queues", json::object()}, {"tasks", json::object()}, {"settings", json::object()}};
  for (const auto& [name, patch] : config.queues) {
    content["queues"][name] = json::parse(model::describe_patch(patch));
  }
  for (const auto& [name, definition] : config.tasks) {
    content["tasks"][name] = json::parse(model::encode_definition(definition));
  }
  for (const model::Setting& setting : settings_of(config)) { content["settings"][setting.name] = setting.value; }
  // Without activities the digest equals that of releases without activities, so an upgraded program does not apply its
  // file again.
  for (const auto& [name, table] : config.activities) { content["activities"][name] = json::parse(table.json); }
  return base::to_hex(base::sha256(base::canonical_json(content.dump())));
}

}  // namespace hapax::config
