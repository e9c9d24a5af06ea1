// The effect key, which a handler passes on to the outside world, e.g. as an Idempotency-Key. The key is the same for
// all attempts, and for all runs under one identity.
#pragma once

#include <hapax/uuid.hpp>

#include "base/sha256.hpp"
#include "model/execution.hpp"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hapax::model {

// The stored key if there is one (a retried dead letter keeps its key; a retry may ask for a new one). Otherwise "hx_"
// and 32 hex digits, derived from the identity or, without one, from the execution's id.
[[nodiscard]] inline std::string effect_key(const std::optional<std::string>& stored,
                                            const std::optional<base::Digest>& identity, const Uuid& id) {
  if (stored) { return *stored; }
  const auto as_text = [](const auto& bytes) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  // The identity is hashed again, so that nobody can compare the effect key with stored identities.
  const std::array<std::string_view, 3> parts = {"hapax effect key", identity ? "identity" : "execution",
                                                 identity ? as_text(*identity) : as_text(id.bytes)};
  const base::Digest digest = base::sha256_parts(parts);
  return "hx_" + base::to_hex(std::span(digest).first(16));
}
// Computed only when a handler asks for it, as it costs a hash.
[[nodiscard]] inline std::string effect_key(const Claim& claim) {
  return effect_key(claim.effect_key, claim.identity, claim.id);
}

}  // namespace hapax::model
