// The tables of the SQLite store and the steps that bring a file from any earlier version to the newest.
//
// Steps only go forward; one transaction takes a step and records it. The tables have the same names on PostgreSQL.
#pragma once

#include "store/open.hpp"
#include "store/sqlite/connection.hpp"

namespace hapax::store::sqlite {

inline constexpr int newest_schema = 8;

// 0 when the file has no hapax tables.
[[nodiscard]] int schema_version(Connection& db);

// Throws SchemaMismatch when this build cannot work on version `current`: the schema is missing, older, or newer and
// not marked as usable by builds of this version.
void check_schema(Connection& db, int current);

// Called under the lock file. `to_version` 0: the newest. Throws SchemaMismatch for a version that this build does not
// know.
MigrationReport migrate(Connection& db, int to_version, Time now);

}  // namespace hapax::store::sqlite
