#include "store/postgres/schema.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"
#include "store/postgres/migrations.hpp"
#include "store/postgres/partitions.hpp"
#include "store/postgres/sql_error.hpp"

namespace hapax::store::postgres {

namespace {

int applied_version(Connection& connection) {
  const Result result =
      connection.query_text(connection.sql("SELECT coalesce(max(version), 0)::int FROM {s}.schema_version"), Params());
  return RowReader(result, 0).int4();
}

// Applies one version, if it is still the next one: another process may have applied it while this one waited for the
// lock.
void apply(Connection& connection, const Settings& settings, int version) {
  connection.begin();
  connection.query_text("SELECT pg_advisory_xact_lock(hashtext($1)::bigint)",
                        Params().text("hapax migrate " + settings.schema), false);
  if (version == 1) {
    // A query rather than IF NOT EXISTS, which relies on what this server process knew before it waited for the lock.
    const Result there = connection.query_text("SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = $1",
                                               Params().text(settings.schema));
    if (RowReader(there, 0).int8() == 0) { connection.command(connection.sql("CREATE SCHEMA {s}")); }
    connection.command(
        connection.sql("CREATE TABLE IF NOT EXISTS {s}.schema_version"
                       " (version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),"
                       " usable_from int)"));
  }
  if (applied_version(connection) == version - 1) {
    for (const std::string_view statement : migration(version)) { connection.command(connection.sql(statement)); }
    connection.query_text(connection.sql("INSERT INTO {s}.schema_version (version, usable_from) VALUES ($1, $2)"),
                          Params().int4(version).int4(usable_from(version)));
  }
  connection.command("COMMIT");
}

}  // namespace

int schema_version(Connection& connection) {
  const Result table =
      connection.query_text("SELECT to_regclass($1) IS NOT NULL", Params().text(connection.sql("{s}.schema_version")));
  return RowReader(table, 0).boolean() ? applied_version(connection) : 0;
}

MigrationReport migrate(Connection& connection, const Settings& settings, int to_version) {
  if (to_version < 0 || to_version > newest_schema_version) {
    throw InvalidArgument("to_version", std::to_string(to_version) + "; this build knows versions 1 to " +
                                            std::to_string(newest_schema_version));
  }
  const int target = to_version == 0 ? newest_schema_version : to_version;
  MigrationReport report;
  report.from = schema_version(connection);
  report.to = report.from;
  if (report.from > newest_schema_version) { check_schema_version(connection, settings); }
  for (int version = report.from + 1; version <= target; ++version) {
    try {
      apply(connection, settings, version);
    } catch (const SqlError&) {
      connection.command("ROLLBACK");
      throw;
    }
    report.to = version;
  }
  if (report.to >= 1) { make_partitions(connection, 0); }
  return report;
}

void require_schema(Connection& connection, const Settings& settings) {
  if (schema_version(connection) > 0) { return; }
  const Result found = connection.query_text(
      "SELECT n.nspname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
      "WHERE c.relname = 'schema_version' AND c.relkind = 'r' ORDER BY 1 LIMIT $1::int4",
      Params().text(std::to_string(limits::list_page)));
  std::vector<std::string> names;
  for (int row = 0; row < found.rows(); ++row) { names.emplace_back(RowReader(found, row).bytes()); }
  const std::string near = base::closest(settings.schema, names);
  throw NotFound(
      settings.location + ": there is no hapax schema '" + settings.schema + "'" +
      (near.empty() ? "; hapax migrate makes it" : "; did you mean schema=" + near + "? (hapax migrate makes it)"));
}

void check_schema_version(Connection& connection, const Settings& settings) {
  const int version = schema_version(connection);
  if (version == newest_schema_version) { return; }
  const std::string where = settings.location + ", schema " + settings.schema;
  if (version == 0) { throw SchemaMismatch(where + ": there is no hapax schema; run hapax migrate"); }
  const std::string versions = where + ": the schema has version " + std::to_string(version) + ", this build uses " +
                               std::to_string(newest_schema_version);
  if (version < newest_schema_version) { throw SchemaMismatch(versions + "; run hapax migrate"); }
  const Result mark = connection.query_text(
      connection.sql("SELECT coalesce(usable_from, version) FROM {s}.schema_version ORDER BY version DESC LIMIT 1"),
      Params());
  if (RowReader(mark, 0).int4() > newest_schema_version) { throw SchemaMismatch(versions + "; use a newer hapax"); }
}

}  // namespace hapax::store::postgres
