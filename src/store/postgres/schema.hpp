// The schema's versions: forward only, each applied once, in one transaction under a lock.
#pragma once

#include "store/open.hpp"
#include "store/postgres/connection.hpp"

namespace hapax::store::postgres {

inline constexpr int newest_schema_version = 8;

// 0 when there is no schema yet.
[[nodiscard]] int schema_version(Connection& connection);

MigrationReport migrate(Connection& connection, const Settings& settings, int to_version);

// Throws NotFound, with the name of a similar schema, unless the schema has hapax tables.
void require_schema(Connection& connection, const Settings& settings);

// Throws SchemaMismatch, saying what to run, unless this build works with the stored schema: its own version, or a
// newer one that allows this build (schema_version.usable_from), so that deploys can roll.
void check_schema_version(Connection& connection, const Settings& settings);

}  // namespace hapax::store::postgres
