// From a request to its identity (SPEC I1, I2, I5–I8, I16): one rule for all doors.
#pragma once

#include "model/task_definition.hpp"

#include <optional>
#include <string>

namespace hapax::model {

// How a task's requests are told apart; of a name that nobody catalogued: always_unique.
struct IdentityRules {
  IdentityStrategy strategy = IdentityStrategy::always_unique;
  std::vector<std::string> keys;
  IdentityScope scope = IdentityScope::task;
  Fingerprint fingerprint;
  Reuse reuse = Reuse::failed_only;
  std::optional<Duration> dedup_window;
};

[[nodiscard]] IdentityRules rules_of(const TaskDefinition* catalogued, IdentityStrategy usual);

// What the request itself says.
struct IdentityAsked {
  std::optional<std::string> key;
  OnConflict on_conflict = OnConflict::return_existing;
  std::optional<Reuse> reuse;
  std::optional<Duration> throttle;
  std::optional<Duration> debounce;
  bool keep_last = false;
};

// Gives the request its identity, if it is to have one; namespace, queue, task, input and id are set already. Throws
// IdempotencyKeyRequired, InvalidIdempotencyKey, InvalidJson and InvalidArgument.
void identify(NewExecution& request, const IdentityRules& rules, const IdentityAsked& asked);

// The key material of a request without a key: canonical JSON behind a control character, which no caller's key has,
// and under a scope wider than the task behind the task's name too. Nothing for strategies that make none.
struct KeyMaterial {
  std::string canonical;  // for people: the canonical input, or an array of [pointer, value]
  std::string material;
};
[[nodiscard]] std::optional<KeyMaterial> key_material(const IdentityRules& rules, std::string_view task,
                                                      std::string_view input);

// The identity that a key has under these rules, for those who look a holder up.
[[nodiscard]] base::Digest identity_of_key(const IdentityRules& rules, const NewExecution& request,
                                           std::string_view key);

}  // namespace hapax::model
