// The schema's versions: forward only, each applied once, in one transaction under a lock.
#pragma once

#include "store/open.hpp"
#include "store/postgres/connection.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace hapax::store::postgres {

// One version of the schema. A released one is never edited: a change is a new version.
struct Migration {
  int version = 0;
  std::vector<std::string_view> statements;  // bring the schema here from the version before; {s} stands for its name
  // The oldest build, by the newest schema version it knows, that works on this version: deploys can roll.
  int usable_from = 0;
};

// The statements that make the whole schema.
[[nodiscard]] std::vector<std::string_view> execution_tables();
[[nodiscard]] std::vector<std::string_view> definition_tables();
[[nodiscard]] std::vector<std::string_view> schema_views();  // over both

// This build's versions in order. The first makes the whole schema from nothing.
[[nodiscard]] std::vector<Migration> migrations();

inline constexpr int newest_schema_version = 9;

// 0 when there is no schema yet.
[[nodiscard]] int schema_version(Connection& connection);

// Brings the schema up to `to_version` (0: the newest of `known`). Throws SchemaMismatch for a schema that is older than
// the first of `known`, or newer than the last and not usable by this build.
MigrationReport migrate(Connection& connection, const Settings& settings, std::span<const Migration> known,
                        int to_version);

// Throws NotFound, with the name of a similar schema, unless the schema has hapax tables.
void require_schema(Connection& connection, const Settings& settings);

// Throws SchemaMismatch, saying what to do, unless this build works with the stored schema: its own version, or a
// newer one that allows this build (schema_version.usable_from), so that deploys can roll.
void check_schema_version(Connection& connection, const Settings& settings, std::span<const Migration> known);

}  // namespace hapax::store::postgres
