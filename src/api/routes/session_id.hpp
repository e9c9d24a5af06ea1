// IDs of worker sessions made over HTTP: UUIDv7 whose last four bytes are a checksum over the rest and the namespace.
//
// A session ID is a capability: its owner can renew the session and release its claims. The checksum makes another
// tenant's ID count as unknown on every server, without a store read.
#pragma once

#include <hapax/uuid.hpp>

#include <string_view>

namespace hapax::api {

[[nodiscard]] Uuid new_session_id(std::string_view ns);
[[nodiscard]] bool is_session_of(std::string_view ns, const Uuid& id);

}  // namespace hapax::api
