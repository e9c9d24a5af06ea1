#include "store/memory/verbs.hpp"

namespace hapax::store::memory {

namespace {

std::int32_t version_of(const State& state, std::string_view namespace_name) {
  const auto found = state.catalogue_versions.find(namespace_name);
  return found == state.catalogue_versions.end() ? 0 : found->second;
}

void raise_version(State& state, std::string_view namespace_name) {
  ++state.catalogue_versions[std::string(namespace_name)];
}

}  // namespace

void check_catalogues(const State& state, std::span<const NewExecution> items) {
  for (const NewExecution& item : items) {
    if (item.catalogue_version != NewExecution::no_catalogue &&
        version_of(state, item.queue.namespace_name) > item.catalogue_version) {
      throw CatalogueChanged("the catalogue changed while the request was made; nothing was admitted");
    }
  }
}

StoredCatalogue catalogue(const State& state, std::string_view namespace_name) {
  StoredCatalogue all;
  all.version = version_of(state, namespace_name);
  for (const auto& [name, entry] : state.tasks) {
    if (name.first == namespace_name) { all.tasks.push_back(entry); }
  }
  for (const auto& [name, value] : state.settings) {
    if (name.first == namespace_name) { all.settings.push_back({.name = name.second, .value = value}); }
  }
  return all;
}

TaskEntry declare_task(State& state, const TaskEntry& entry, Time now) {
  const auto [at, is_new] = state.tasks.try_emplace({entry.namespace_name, entry.name}, entry);
  if (is_new) {
    at->second.updated_at = now;
    raise_version(state, entry.namespace_name);
    state.write_audit(entry.namespace_name, entry.origin, "task.declare", entry.name, entry.definition, now);
  }
  return at->second;
}

bool put_task(State& state, const TaskEntry& entry, std::string_view actor, Time now) {
  TaskEntry& stored = state.tasks[{entry.namespace_name, entry.name}];
  if (!stored.name.empty() && stored.definition == entry.definition) { return false; }
  stored = entry;
  stored.updated_at = now;
  raise_version(state, entry.namespace_name);
  state.write_audit(entry.namespace_name, actor, "task.replace", entry.name, entry.definition, now);
  return true;
}

bool remove_task(State& state, std::string_view namespace_name, std::string_view name, std::string_view actor,
                 Time now) {
  if (state.tasks.erase({std::string(namespace_name), std::string(name)}) == 0) { return false; }
  raise_version(state, namespace_name);
  state.write_audit(namespace_name, actor, "task.remove", std::string(name), "", now);
  return true;
}

bool put_setting(State& state, std::string_view namespace_name, const Setting& setting, std::string_view actor,
                 Time now) {
  const std::pair<std::string, std::string> key(namespace_name, setting.name);
  const auto found = state.settings.find(key);
  if (found == state.settings.end() ? setting.value.empty() : found->second == setting.value) { return false; }
  if (setting.value.empty()) {
    state.settings.erase(found);
  } else {
    state.settings[key] = setting.value;
  }
  raise_version(state, namespace_name);
  state.write_audit(namespace_name, actor, "setting", setting.name, setting.value, now);
  return true;
}

}  // namespace hapax::store::memory
