// The schema's versions: forward only, each applied once, in one transaction under a lock.
#pragma once

#include "store/open.hpp"
#include "store/postgres/connection.hpp"

namespace hapax::store::postgres {

inline constexpr int newest_schema_version = 2;

// 0 when there is nothing yet.
[[nodiscard]] int schema_version(Connection& connection);

MigrationReport migrate(Connection& connection, const Settings& settings, int to_version);

// Throws SchemaMismatch, saying what to run, unless `version` is what this build works with.
void check_schema_version(int version, const Settings& settings);

}  // namespace hapax::store::postgres
