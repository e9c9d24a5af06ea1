#include "store/sqlite/schema.hpp"

#include "base/text.hpp"
#include "store/sqlite/database_file.hpp"
#include "store/sqlite/schema_sql.hpp"
#include "store/unreleased_schema.hpp"

#include <hapax/error.hpp>

#include <array>

namespace hapax::store::sqlite {

namespace {

constexpr std::array<Migration, 1> all_migrations{{
    {newest_schema, "the whole schema", schema_sql, newest_schema},
}};
static_assert(all_migrations.front().version == first_released_schema);
static_assert(all_migrations.back().version == newest_schema);

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

std::string known_versions(Migrations known) {
  const std::string newest = std::to_string(known.back().version);
  return known.size() == 1 ? "version " + newest
                           : "versions " + std::to_string(known.front().version) + " to " + newest;
}

bool is_unknown(int version, Migrations known) {
  return version != 0 && (version < known.front().version || version > known.back().version);
}

}  // namespace

Migrations migrations() { return all_migrations; }

int schema_version(Connection& db) {
  return has_migrations(db) ? static_cast<int>(db.integer("SELECT coalesce(max(version), 0) FROM migrations")) : 0;
}

void check_schema(Connection& db, int current, Migrations known) {
  const int newest = known.back().version;
  if (current == newest) { return; }
  const std::string store = "SQLite store " + base::echo(db.path()) + ": ";
  if (current == 0) { throw SchemaMismatch(store + "it has no hapax tables; run `hapax migrate`"); }
  if (current < known.front().version) {
    throw SchemaMismatch(store + unreleased_schema(current) + "; run hapax migrate on a new file");
  }
  const std::string versions = store + "its schema is version " + std::to_string(current) +
                               ", this build uses version " + std::to_string(newest);
  if (current < newest) { throw SchemaMismatch(versions + "; run `hapax migrate`"); }
  const auto usable_from =
      db.integer("SELECT coalesce(usable_from, version) FROM migrations ORDER BY version DESC LIMIT 1");
  if (usable_from > newest) { throw SchemaMismatch(versions + "; use a newer hapax"); }
}

MigrationReport migrate(Connection& db, int to_version, Time now, Migrations known) {
  const int target = to_version == 0 ? known.back().version : to_version;
  if (target == 0 || is_unknown(target, known)) {
    throw SchemaMismatch("this build knows schema " + known_versions(known) + ", not " + std::to_string(target));
  }
  MigrationReport report;
  db.execute("BEGIN IMMEDIATE");
  try {
    report.from = schema_version(db);
    report.to = report.from;
    if (is_unknown(report.from, known)) { check_schema(db, report.from, known); }
    db.execute(migrations_table);
    for (const Migration& one : known) {
      if (one.version > report.from && one.version <= target) {
        db.execute(one.sql);
        db.use(insert_migration).bind(one.version, std::string_view(one.name), now, one.usable_from).run();
        report.to = one.version;
      }
    }
    db.execute("COMMIT");
  } catch (...) {
    sqlite3_exec(db.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
  return report;
}

MigrationReport migrate_file(const std::string& path, int to_version) {
  const Duration patience = OpenOptions{}.busy_timeout;
  FileLock lock(checked_path(path, false));
  const Locked locked(lock, patience);
  Connection db(path, Connection::Mode::writer, patience);
  db.set_up_writer();
  return migrate(db, to_version, std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()));
}

}  // namespace hapax::store::sqlite
