// The effect key, which a handler passes on to the outside world, e.g. as an Idempotency-Key. The key is the same for
// all attempts, and for all runs under one identity.
#pragma once

#include <hapax/uuid.hpp>

#include "base/sha256.hpp"
#include "model/execution.hpp"

#include <optional>
#include <string>

namespace hapax::model {

// The stored key if there is one (a retried dead letter keeps its key; a retry may ask for a new one). Otherwise "hx_"
// and 32 hex digits, derived from the identity or, without one, from the execution's id.
[[nodiscard]] std::string effect_key(const std::optional<std::string>& stored,
                                     const std::optional<base::Digest>& identity, const Uuid& id);
// Costs a hash, so it is computed only when a handler asks for it.
[[nodiscard]] inline std::string effect_key(const Claim& claim) {
  return effect_key(claim.effect_key, claim.identity, claim.id);
}

}  // namespace hapax::model
