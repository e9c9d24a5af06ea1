#include "store/memory/verbs.hpp"

namespace hapax::store::memory {

namespace {

std::int32_t version_of(const State& state, std::string_view ns) {
  const auto found = state.catalogue_versions.find(ns);
  return found == state.catalogue_versions.end() ? 0 : found->second;
}

void raise_version(State& state, std::string_view ns) { ++state.catalogue_versions[std::string(ns)]; }

}  // namespace

void check_catalogues(const State& state, std::span<const NewExecution> items) {
  for (const NewExecution& item : items) {
    if (item.catalogue_version != NewExecution::no_catalogue &&
        version_of(state, item.queue.ns) > item.catalogue_version) {
      throw CatalogueChanged("the catalogue changed while the request was made; nothing was admitted");
    }
  }
}

StoredCatalogue catalogue(const State& state, std::string_view ns) {
  StoredCatalogue all;
  all.version = version_of(state, ns);
  for (const auto& [name, entry] : state.tasks) {
    if (name.first == ns) { all.tasks.push_back(entry); }
  }
  for (const auto& [name, value] : state.settings) {
    if (name.first == ns) { all.settings.push_back({.name = name.second, .value = value}); }
  }
  return all;
}

TaskEntry declare_task(State& state, const TaskEntry& entry, Time now) {
  const auto [at, is_new] = state.tasks.try_emplace({entry.ns, entry.name}, entry);
  if (is_new) {
    at->second.updated_at = now;
    raise_version(state, entry.ns);
    state.note(entry.ns, entry.origin, "task.declare", entry.name, entry.definition, now);
  }
  return at->second;
}

bool put_task(State& state, const TaskEntry& entry, std::string_view actor, Time now) {
  TaskEntry& stored = state.tasks[{entry.ns, entry.name}];
  if (!stored.name.empty() && stored.definition == entry.definition) { return false; }
  stored = entry;
  stored.updated_at = now;
  raise_version(state, entry.ns);
  state.note(entry.ns, actor, "task.replace", entry.name, entry.definition, now);
  return true;
}

bool remove_task(State& state, std::string_view ns, std::string_view name, std::string_view actor, Time now) {
  if (state.tasks.erase({std::string(ns), std::string(name)}) == 0) { return false; }
  raise_version(state, ns);
  state.note(ns, actor, "task.remove", std::string(name), "", now);
  return true;
}

bool put_setting(State& state, std::string_view ns, const Setting& setting, std::string_view actor, Time now) {
  const std::pair<std::string, std::string> key(ns, setting.name);
  const auto found = state.settings.find(key);
  if (found == state.settings.end() ? setting.value.empty() : found->second == setting.value) { return false; }
  if (setting.value.empty()) {
    state.settings.erase(found);
  } else {
    state.settings[key] = setting.value;
  }
  raise_version(state, ns);
  state.note(ns, actor, "setting", setting.name, setting.value, now);
  return true;
}

}  // namespace hapax::store::memory
