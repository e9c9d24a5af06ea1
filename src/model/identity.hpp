// Identity: what makes two requests the same (SPEC I5, I6). Stable for ever; golden vectors in the tests.
#pragma once

#include <hapax/policy.hpp>
#include <hapax/uuid.hpp>

#include "base/sha256.hpp"

#include <string_view>

namespace hapax::model {

using Scope = IdentityScope;

struct IdentityParts {
  std::string_view ns;
  Scope scope = Scope::task;
  std::string_view name;  // the task's or the queue's, by scope; empty for global
  std::string_view key;   // the caller's key, or canonical input
};

// SHA-256 over length-prefixed (namespace, scope, name, key material).
[[nodiscard]] base::Digest identity_hash(const IdentityParts& parts);

// Of what an activity starts (SPEC S2): in the reserved scope "activity", where no request from outside is. The name is
// the activity's, so that it does not matter what it runs.
[[nodiscard]] base::Digest activity_identity_hash(std::string_view ns, std::string_view activity_id,
                                                  std::string_view key);

// Of a guarded call (SPEC G2): in the reserved scope "guard". The name is the guarded function's.
[[nodiscard]] base::Digest guard_identity_hash(std::string_view ns, std::string_view name, std::string_view key);

// What stands for an activity as the parent of its runs, whenever one of that id is made again: version 8 of RFC 9562.
[[nodiscard]] Uuid activity_uuid(std::string_view ns, std::string_view activity_id);

// What is compared to tell the same key with the same input from a mismatch: SHA-256 of the canonical input.
[[nodiscard]] base::Digest input_fingerprint(std::string_view input_json);

}  // namespace hapax::model
