// The durability of what this store acknowledges, stated in each transaction of its own: an acknowledged write survives
// power loss.
//
// synchronous_commit may be turned off for the server, the database or the role while hapax runs, and a pooler gives
// every transaction another session. So no check at start and no session setting lasts: each transaction raises `off`
// and `local` to `on` for itself, and pins any other value (`remote_write`, `remote_apply`) against a reload before its
// commit (decision 44).
#pragma once

#include "store/postgres/connection.hpp"
#include "store/postgres/statement.hpp"

#include <string>
#include <string_view>

namespace hapax::store::postgres {

inline constexpr const char* durability_text =
    "SELECT pg_catalog.set_config('synchronous_commit', CASE WHEN pg_catalog.current_setting('synchronous_commit') IN "
    "('off', 'local') THEN 'on' ELSE pg_catalog.current_setting('synchronous_commit') END, true)";

inline constexpr Statement durability_statement{"hapax_durability", durability_text};

// Whether each transaction raises this value to `on`.
[[nodiscard]] inline bool is_raised(std::string_view synchronous_commit) {
  return synchronous_commit == "off" || synchronous_commit == "local";
}

// The session's own default, beneath what transactions state for themselves.
[[nodiscard]] std::string synchronous_commit_beneath(Connection& connection);

}  // namespace hapax::store::postgres
