// TaskDefinition: a task's entry in the catalogue. C++ descriptors, [tasks.X] tables and the API declare entries; the
// library, the command line and the API read them (decision 18).
#pragma once

#include "model/execution.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::model {

// A member that is not set falls back to the descriptor's value or to the general default.
struct TaskDefinition {
  std::optional<IdentityStrategy> strategy;
  std::vector<std::string> identity_keys;
  std::optional<IdentityScope> scope;
  std::optional<Fingerprint> fingerprint;
  std::optional<Reuse> reuse;
  std::optional<Duration> dedup_window;
  std::optional<std::string> queue;
  std::optional<int> priority;
  std::optional<int> max_attempts;
  std::optional<int> max_lost;
  std::optional<Duration> timeout;
  std::optional<Duration> deadline;
  std::optional<RetryPolicy> retry;
  friend bool operator==(const TaskDefinition&, const TaskDefinition&) = default;
};

// One JSON object with the member names of [tasks.X]: identity_strategy, identity_keys, identity_scope, fingerprint,
// reuse, dedup_window, queue, priority, max_attempts, max_lost, timeout, deadline, retry {base, cap, multiplier,
// jitter}. Equal definitions encode to the same text.
[[nodiscard]] std::string encode_definition(const TaskDefinition& definition);
// Throws InvalidArgument naming the member, with a suggestion for an unknown one. `where` precedes the member's name:
// "tasks.generate-report".
[[nodiscard]] TaskDefinition decode_definition(std::string_view json, std::string_view where);

// Throws InvalidArgument for an invalid definition: contextual without identity_keys, keys that are no JSON Pointers, …
void check_definition(const TaskDefinition& definition, std::string_view where);

// How two declarations differ in the members that decide which requests are duplicates: strategy, keys, scope,
// fingerprint, reuse, dedup_window. Empty: they agree. Settings of how a task runs may differ from program to program.
[[nodiscard]] std::string conflict_of(const TaskDefinition& stored, const TaskDefinition& declared,
                                      IdentityStrategy default_strategy);

// The catalogue of one namespace, decoded.
struct Catalogue {
  std::map<std::string, TaskDefinition, std::less<>> tasks;
  IdentityStrategy default_strategy = IdentityStrategy::strict;  // of entries that name no strategy: [identity] default
  bool require_event_id = false;                                 // events without an id are refused
  std::int32_t version = 0;                                      // StoredCatalogue::version
  [[nodiscard]] const TaskDefinition* find(std::string_view task) const {
    const auto found = tasks.find(task);
    return found == tasks.end() ? nullptr : &found->second;
  }
};
[[nodiscard]] Catalogue decode_catalogue(const StoredCatalogue& stored);

// The enum values' names in configuration, command line and API.
[[nodiscard]] std::string_view to_word(IdentityStrategy strategy);
[[nodiscard]] std::string_view to_word(IdentityScope scope);
[[nodiscard]] std::string_view to_word(Reuse reuse);
[[nodiscard]] std::string_view to_word(Jitter jitter);
[[nodiscard]] IdentityStrategy parse_strategy(std::string_view word, std::string_view field);
[[nodiscard]] IdentityScope parse_scope(std::string_view word, std::string_view field);
[[nodiscard]] Reuse parse_reuse(std::string_view word, std::string_view field);
[[nodiscard]] Jitter parse_jitter(std::string_view word, std::string_view field);

// The names of the settings that store Catalogue::usual and Catalogue::require_event_id ("true" or "false").
inline constexpr std::string_view default_strategy_setting = "identity.default";
inline constexpr std::string_view require_event_id_setting = "events.require_event_id";

}  // namespace hapax::model
