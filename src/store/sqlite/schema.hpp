// The tables of the SQLite store and the steps that bring a file from any earlier version to the newest.
//
// Forward only, each step in the one transaction that also records it. The same table names as on PostgreSQL.
#pragma once

#include "store/open.hpp"
#include "store/sqlite/connection.hpp"

namespace hapax::store::sqlite {

inline constexpr int newest_schema = 8;

// 0 when the file has none of our tables.
[[nodiscard]] int schema_version(Connection& db);

// Throws SchemaMismatch when this build cannot work on version `current`: older or missing, or newer and not marked as
// usable by builds of this one's age.
void check_schema(Connection& db, int current);

// Under the lock file. 0: the newest. Throws SchemaMismatch for a version this build does not know.
MigrationReport migrate(Connection& db, int to_version, Time now);

}  // namespace hapax::store::sqlite
