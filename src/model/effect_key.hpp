// The effect key: what a handler passes on to the outside world, the same for all attempts and runs (SPEC §1).
#pragma once

#include <hapax/uuid.hpp>

#include "base/sha256.hpp"
#include "model/execution.hpp"

#include <optional>
#include <string>

namespace hapax::model {

// "hx_" and 32 hex digits. From the stored key if there is one (a retried dead letter's, a new one asked for), else from
// the identity, else from the execution's own id.
[[nodiscard]] std::string effect_key(const std::optional<std::string>& stored,
                                     const std::optional<base::Digest>& identity, const Uuid& id);
// Costs a hash, which most handlers never need.
[[nodiscard]] inline std::string effect_key(const Claim& claim) {
  return effect_key(claim.effect_key, claim.identity, claim.id);
}

}  // namespace hapax::model
