// The versions of the SQLite store's schema, and the migrations that bring a file to the newest one.
//
// Migrations only go forward; one transaction makes a migration and records it. The tables have the same names on
// PostgreSQL. Decision 60 says why the first version is 9.
#pragma once

#include "store/open.hpp"
#include "store/sqlite/connection.hpp"

#include <span>

namespace hapax::store::sqlite {

inline constexpr int newest_schema = 9;

struct Migration {
  int version = 0;
  const char* name = "";
  const char* sql = "";
  // The oldest build that works on this version, named by the newest schema version it knows: deploys roll, so the
  // previous release must work on the new schema.
  int usable_from = 0;
};
// Migrations by version, without gaps. The first one makes the whole schema in a file without hapax tables.
using Migrations = std::span<const Migration>;

// The migrations of this build. Tests pass lists with made-up versions instead.
[[nodiscard]] Migrations migrations();

// 0 when the file has no hapax tables.
[[nodiscard]] int schema_version(Connection& db);

// Throws SchemaMismatch when a build with these migrations cannot work on version `current`: the schema is missing,
// older, or newer and not marked as usable by builds of its newest version. A schema from before the first migration is
// refused for good.
void check_schema(Connection& db, int current, Migrations known = migrations());

// Called under the lock file. `to_version` 0: the newest. Throws SchemaMismatch for a version that `known` lacks, and
// for a file that check_schema refuses as newer or from before the first migration.
MigrationReport migrate(Connection& db, int to_version, Time now, Migrations known = migrations());

// Implements migrate_sqlite of store/open.hpp.
MigrationReport migrate_file(const std::string& path, int to_version);

}  // namespace hapax::store::sqlite
