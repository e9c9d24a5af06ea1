// The Idempotency-Key header, by the IETF draft: a structured field's string, "in quotes". Many clients send it bare; that
// is taken too, as it comes.
#pragma once

#include "server/request.hpp"

#include <optional>
#include <string>

namespace hapax::server {

// Throws InvalidIdempotencyKey for two headers, or quotes that are not closed.
[[nodiscard]] std::optional<std::string> idempotency_key(const Request& request);

}  // namespace hapax::server
