// Ids of worker sessions that are made over HTTP: UUIDv7 whose last four bytes say to which namespace it belongs.
//
// A session is a capability: whoever has its id can renew it and give back what it holds. So that another tenant's id is as
// good as unknown on every server, without a look into the store, the id is checked against the caller's namespace.
#pragma once

#include <hapax/uuid.hpp>

#include <string_view>

namespace hapax::server {

[[nodiscard]] Uuid new_session_id(std::string_view ns);
[[nodiscard]] bool is_session_of(std::string_view ns, const Uuid& id);

}  // namespace hapax::server
