#include "schedule/subscriptions.hpp"

#include "base/json.hpp"

#include <algorithm>
#include <optional>

namespace hapax::schedule {

// The values of the pointers in one event; each is looked up at its first use.
struct Subscriptions::Lookup {
  struct Found {
    bool looked = false;
    bool canonical = false;
    std::optional<std::string> json;
  };
  const Event& event;
  const std::vector<std::string>& pointers;
  std::vector<Found> found;

  bool has(std::size_t pointer) { return look(pointer).json.has_value(); }

  bool is_one_of(std::size_t pointer, const std::vector<std::string>& values) {
    Found& slot = look(pointer);
    if (!slot.json) { return false; }
    if (!slot.canonical) {
      slot.canonical = true;
      slot.json = base::canonical_json(*slot.json);
    }
    return std::binary_search(values.begin(), values.end(), *slot.json);
  }

  Found& look(std::size_t pointer) {
    if (found.empty()) { found.resize(pointers.size()); }
    Found& slot = found[pointer];
    if (!slot.looked) {
      slot.looked = true;
      slot.json = value_at(event, pointers[pointer]);
    }
    return slot;
  }
};

Subscriptions::Subscriptions(const std::vector<const EventTrigger*>& triggers) {
  entries_.reserve(triggers.size());
  for (const EventTrigger* const trigger : triggers) {
    Entry entry{.source = trigger->source.value_or(""), .checks = {}};
    for (const Condition& condition : trigger->filter) {
      const auto [number, added] = pointer_numbers_.try_emplace(condition.pointer, pointers_.size());
      if (added) { pointers_.push_back(condition.pointer); }
      entry.checks.push_back({.pointer = number->second, .test = condition.test, .values = condition.values});
    }
    for (const std::string& type : trigger->types) { add_type(type, entries_.size()); }
    entries_.push_back(std::move(entry));
  }
  for (const auto& [prefix, patterns] : by_prefix_) { prefix_lengths_.push_back(prefix.size()); }
  std::sort(prefix_lengths_.begin(), prefix_lengths_.end());
  prefix_lengths_.erase(std::unique(prefix_lengths_.begin(), prefix_lengths_.end()), prefix_lengths_.end());
}

void Subscriptions::add_type(const std::string& type, std::size_t entry) {
  const std::size_t star = type.find('*');
  if (star == std::string::npos) {
    exact_[type].push_back(entry);
    return;
  }
  const auto [number, added] = pattern_numbers_.try_emplace(type, patterns_.size());
  if (added) {
    by_prefix_[type.substr(0, star)].push_back(patterns_.size());
    patterns_.push_back({.text = type, .entries = {}});
  }
  patterns_[number->second].entries.push_back(entry);
}

std::vector<std::size_t> Subscriptions::wanting(std::string_view type) const {
  std::vector<std::size_t> found;
  if (const auto exact = exact_.find(type); exact != exact_.end()) { found = exact->second; }
  for (const std::size_t length : prefix_lengths_) {
    if (length > type.size()) { break; }
    const auto patterns = by_prefix_.find(type.substr(0, length));
    if (patterns == by_prefix_.end()) { continue; }
    for (const std::size_t number : patterns->second) {
      const Pattern& pattern = patterns_[number];
      if (matches_pattern(pattern.text, type)) {
        found.insert(found.end(), pattern.entries.begin(), pattern.entries.end());
      }
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

bool Subscriptions::holds(const Check& check, Lookup& lookup) {
  switch (check.test) {
    case Condition::Test::exists: return lookup.has(check.pointer);
    case Condition::Test::absent: return !lookup.has(check.pointer);
    case Condition::Test::any_of: return lookup.is_one_of(check.pointer, check.values);
  }
  return false;
}

std::vector<std::size_t> Subscriptions::matching(const Event& event) const {
  std::vector<std::size_t> matched = wanting(event.type);
  Lookup lookup{.event = event, .pointers = pointers_, .found = {}};
  std::erase_if(matched, [&](std::size_t number) {
    const Entry& entry = entries_[number];
    if (!entry.source.empty() && !matches_pattern(entry.source, event.source)) { return true; }
    return !std::all_of(entry.checks.begin(), entry.checks.end(),
                        [&](const Check& check) { return holds(check, lookup); });
  });
  return matched;
}

}  // namespace hapax::schedule
