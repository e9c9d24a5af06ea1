// Computes a request's identity from the task's rules and the request's key. Library, command line, API and
// configuration all use this one function, identify().
#pragma once

#include <hapax/options.hpp>

#include "model/task_definition.hpp"

#include <optional>
#include <string>

namespace hapax::model {

// The identity rules of a task. The defaults are those of a task without a catalogue entry: always_unique.
struct IdentityRules {
  IdentityStrategy strategy = IdentityStrategy::always_unique;
  std::vector<std::string> keys;
  IdentityScope scope = IdentityScope::task;
  Fingerprint fingerprint;
  Reuse reuse = Reuse::failed_only;
  std::optional<Duration> dedup_window;
};

[[nodiscard]] IdentityRules rules_of(const TaskDefinition* catalogued, IdentityStrategy default_strategy);

// Sets request.identity, if the request has an identity, by the key and the identity options in `asked`. The caller has
// set namespace, queue, task, input and id. The input is checked as far as it is compared. Throws
// IdempotencyKeyRequired, InvalidIdempotencyKey, InvalidJson and InvalidArgument.
void identify(NewExecution& request, const IdentityRules& rules, const EnqueueOptions& asked);

// The key material of a request without a key: a control character (which no caller's key may contain), then, if the
// scope is wider than the task, the task's name, then canonical JSON. None for strategies that derive no identity.
struct KeyMaterial {
  std::string canonical;  // for display: the canonical input, or an array of [pointer, value]
  std::string material;
};
[[nodiscard]] std::optional<KeyMaterial> key_material(const IdentityRules& rules, std::string_view task,
                                                      std::string_view input);

// The identity of a key under these rules. Also used to look up a key's holder.
[[nodiscard]] base::Digest identity_of_key(const IdentityRules& rules, const NewExecution& request,
                                           std::string_view key);

}  // namespace hapax::model
