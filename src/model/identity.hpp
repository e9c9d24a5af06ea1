// Identity: the hash that makes two requests the same. Stable for ever: tests have golden vectors.
#pragma once

#include <hapax/policy.hpp>
#include <hapax/uuid.hpp>

#include "base/sha256.hpp"
#include "model/execution.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hapax::model {

using Scope = IdentityScope;

// The material of an identity.
struct IdentityParts {
  std::string_view namespace_name;
  Scope scope = Scope::task;
  std::string_view name;  // the task's or the queue's name, by scope; empty for global
  std::string_view key;   // the caller's key, or canonical input
};

// SHA-256 over length-prefixed (namespace, scope, name, key material).
[[nodiscard]] base::Digest identity_hash(const IdentityParts& parts);

// The identity of an activity's run, in the reserved scope "activity", which no request from outside can use. The name
// is the activity's ID, so changing its target does not change the identity.
[[nodiscard]] base::Digest activity_identity_hash(std::string_view namespace_name, std::string_view activity_id,
                                                  std::string_view key);

// The identity of a guarded call, in the reserved scope "guard". The name is the guarded function's.
[[nodiscard]] base::Digest guard_identity_hash(std::string_view namespace_name, std::string_view name,
                                               std::string_view key);

// The UUID that is the parent of an activity's runs, the same when an activity is deleted and created again under its
// ID: version 8 of RFC 9562.
[[nodiscard]] Uuid activity_uuid(std::string_view namespace_name, std::string_view activity_id);

// The fingerprint compared when a key is used again: SHA-256 of the canonical input.
[[nodiscard]] base::Digest input_fingerprint(std::string_view input_json);

// The parts of a run's ID, "activity-daily-report:2026-03-01T09:00:00+00:00", or of a task instance's ID,
// "task-activity-daily-report:…:extract:0". For display and search only: the execution's stored key and parent say
// which activity started it.
struct RunName {
  std::string activity;  // "daily-report"
  std::string run_id;    // the run's ID, also when the text is a task instance's ID
  bool is_instance = false;
};
// Returns nothing for text that names no run. An event's id may contain colons, so a task instance's ID is split at its
// last two colons only; a task type is assumed to contain none.
[[nodiscard]] std::optional<RunName> parse_run_name(std::string_view text);

// The run of the activity that started the execution; nothing if no activity did.
[[nodiscard]] std::optional<RunName> activity_origin(const Execution& execution);

}  // namespace hapax::model
