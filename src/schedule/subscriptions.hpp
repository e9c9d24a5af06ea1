// Subscriptions: an index that finds the event triggers that match an event.
//
// Built once from a set of triggers and asked for every event. A query costs a few hash lookups by the event's type,
// then a check of each trigger that matches the type. A JSON Pointer that several filters use is evaluated once per
// event. Immutable; any thread.
#pragma once

#include "schedule/event.hpp"
#include "schedule/event_trigger.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hapax::schedule {

class Subscriptions {
 public:
  Subscriptions() = default;
  explicit Subscriptions(const std::vector<const EventTrigger*>& triggers);

  // The indexes, ascending, of the matching triggers in the constructor's argument.
  [[nodiscard]] std::vector<std::size_t> matching(const Event& event) const;

 private:
  struct Check {
    std::size_t pointer = 0;  // in pointers_
    Condition::Test test = Condition::Test::exists;
    std::vector<std::string> values;
  };
  struct Entry {
    std::string source;  // a pattern; empty: any
    std::vector<Check> checks;
  };
  struct Pattern {
    std::string text;
    std::vector<std::size_t> entries;
  };
  struct Lookup;
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  template <class Value>
  using Map = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;

  void add_type(const std::string& type, std::size_t entry);
  [[nodiscard]] std::vector<std::size_t> wanting(std::string_view type) const;
  [[nodiscard]] static bool holds(const Check& check, Lookup& lookup);

  std::vector<Entry> entries_;
  std::vector<std::string> pointers_;
  Map<std::size_t> pointer_numbers_;
  Map<std::vector<std::size_t>> exact_;  // by type
  std::vector<Pattern> patterns_;
  Map<std::size_t> pattern_numbers_;
  Map<std::vector<std::size_t>> by_prefix_;  // patterns by the text before their first *
  std::vector<std::size_t> prefix_lengths_;  // ascending
};

}  // namespace hapax::schedule
