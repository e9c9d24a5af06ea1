#include "store/sqlite/schema.hpp"

#include "base/text.hpp"
#include "store/sqlite/schema_sql.hpp"
#include "store/sqlite/schema_sql_v4.hpp"
#include "store/sqlite/schema_sql_v5.hpp"
#include "store/sqlite/schema_sql_v6.hpp"
#include "store/sqlite/schema_sql_v7.hpp"
#include "store/sqlite/schema_sql_v8.hpp"

#include <hapax/error.hpp>

namespace hapax::store::sqlite {

namespace {

struct Step {
  int version;
  const char* name;
  const char* sql;
  // The oldest build that works on this version, named by the newest schema version it knows: deploys roll, so the
  // previous release must work on the new schema.
  int usable_from;
};

constexpr Step steps[] = {
    {1, "executions, queues, identities, attempts, sessions", schema_v1, 1},
    {2, "journal, queue statistics", schema_v2, 1},
    // An older build would ignore the limits of queues.
    {3, "limits, identity windows, catalogue, audit", schema_v3, 3},
    // An older build would not notify waiters when it ends an execution.
    {4, "workflows: events, waiters", schema_v4, 4},
    // An older build has no ticker; the new indexes have the executions that it admits and ends.
    {5, "activities", schema_v5, 4},
    // An older build serves nothing that tokens protect, and the sweep deletes its audit lines like any others.
    {6, "tokens, the audit's indexes", schema_v6, 4},
    // An older build never reads the view; the triggers raise the version for its changes, and its admissions do not
    // check the version.
    {7, "task_id in the view executions, versions of catalogues, queues of tombstones", schema_v7, 4},
    // An older build gives events' runs no names, as before this version.
    {8, "names of events' runs", schema_v8, 4},
};

constexpr const char* migrations_table = R"sql(
  CREATE TABLE IF NOT EXISTS migrations(
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL DEFAULT '',
    applied_at INTEGER NOT NULL DEFAULT 0,
    usable_from INTEGER          -- NULL: only builds that know this version
  ))sql";

constexpr const char* insert_migration =
    "INSERT INTO migrations(version, name, applied_at, usable_from) VALUES (?, ?, ?, ?)";

bool has_migrations(Connection& db) {
  return db.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'") != 0;
}

std::string store_at(const Connection& db) { return "SQLite store " + base::echo(db.path()) + ": "; }

}  // namespace

int schema_version(Connection& db) {
  return has_migrations(db) ? static_cast<int>(db.integer("SELECT coalesce(max(version), 0) FROM migrations")) : 0;
}

void check_schema(Connection& db, int current) {
  if (current == newest_schema) { return; }
  const std::string versions =
      "its schema is version " + std::to_string(current) + ", this build uses version " + std::to_string(newest_schema);
  if (current < newest_schema) {
    throw SchemaMismatch(store_at(db) + (current == 0 ? "it has no hapax tables" : versions) + "; run `hapax migrate`");
  }
  const auto usable_from =
      db.integer("SELECT coalesce(usable_from, version) FROM migrations ORDER BY version DESC LIMIT 1");
  if (usable_from > newest_schema) { throw SchemaMismatch(store_at(db) + versions + "; use a newer hapax"); }
}

MigrationReport migrate(Connection& db, int to_version, Time now) {
  const int target = to_version == 0 ? newest_schema : to_version;
  if (target < 1 || target > newest_schema) {
    throw SchemaMismatch("this build knows schema versions 1 to " + std::to_string(newest_schema) + ", not " +
                         std::to_string(target));
  }
  MigrationReport report;
  db.execute("BEGIN IMMEDIATE");
  try {
    report.from = schema_version(db);
    report.to = report.from;
    db.execute(migrations_table);
    for (const Step& step : steps) {
      if (step.version > report.from && step.version <= target) {
        db.execute(step.sql);
        db.use(insert_migration).bind(step.version, std::string_view(step.name), now, step.usable_from).run();
        report.to = step.version;
      }
    }
    db.execute("COMMIT");
  } catch (...) {
    sqlite3_exec(db.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
  return report;
}

}  // namespace hapax::store::sqlite
