// The Idempotency-Key header. The IETF draft makes it a structured field's string, "in quotes"; many clients send the
// key without quotes, which is accepted as it is.
#pragma once

#include "http/request.hpp"

#include <optional>
#include <string>

namespace hapax::api {

// Throws InvalidIdempotencyKey for two headers, or quotes that are not closed.
[[nodiscard]] std::optional<std::string> idempotency_key(const http::Request& request);

}  // namespace hapax::api
