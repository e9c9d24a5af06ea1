// The durability of what this store acknowledges (SPEC P1), stated in each transaction of its own.
//
// synchronous_commit may be turned off for the server, the database or the role while hapax runs, and a pooler hands every
// transaction another session. So no check and no setting of a session lasts: each transaction raises `off` and `local` to
// `on` for itself, and pins any other value (`remote_write`, `remote_apply`) against a reload before its commit
// (docs/decisions/0044).
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

// Whether it is one of those values.
[[nodiscard]] inline bool is_raised(std::string_view synchronous_commit) {
  return synchronous_commit == "off" || synchronous_commit == "local";
}

// What a session begins with, beneath what transactions state for themselves.
[[nodiscard]] std::string synchronous_commit_beneath(Connection& connection);

}  // namespace hapax::store::postgres
