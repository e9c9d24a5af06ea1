#include "store/postgres/schema.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"
#include "store/postgres/result.hpp"
#include "store/postgres/retention.hpp"
#include "store/unreleased_schema.hpp"

namespace hapax::store::postgres {

namespace {

int applied_version(Connection& connection) {
  const Result result =
      connection.query_text(connection.sql("SELECT coalesce(max(version), 0)::int FROM {s}.schema_version"), Params());
  return RowReader(result, 0).int4();
}

std::string schema_at(const Settings& settings) { return settings.location + ", schema " + settings.schema + ": "; }

void make_version_table(Connection& connection, const Settings& settings) {
  // A query rather than IF NOT EXISTS, which relies on what this server process knew before it waited for the lock.
  const Result there = connection.query_text("SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = $1",
                                             Params().text(settings.schema));
  if (RowReader(there, 0).int8() == 0) { connection.command(connection.sql("CREATE SCHEMA {s}")); }
  connection.command(
      connection.sql("CREATE TABLE IF NOT EXISTS {s}.schema_version"
                     " (version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),"
                     " usable_from int)"));
}

// Applies `next` if the schema still has version `before`: another process may have applied it while this one waited
// for the lock.
void apply(Connection& connection, const Settings& settings, int before, const Migration& next) {
  connection.begin();
  connection.query_text("SELECT pg_advisory_xact_lock(hashtext($1)::bigint)",
                        Params().text("hapax migrate " + settings.schema), false);
  if (before == 0) { make_version_table(connection, settings); }
  if (applied_version(connection) == before) {
    for (const std::string_view statement : next.statements) { connection.command(connection.sql(statement)); }
    connection.query_text(connection.sql("INSERT INTO {s}.schema_version (version, usable_from) VALUES ($1, $2)"),
                          Params().int4(next.version).int4(next.usable_from));
  }
  connection.command("COMMIT");
}

[[noreturn]] void refuse_unreleased(const Settings& settings, int version) {
  throw SchemaMismatch(schema_at(settings) + unreleased_schema(version) +
                       "; run hapax migrate with another schema= or on an empty database");
}

}  // namespace

int schema_version(Connection& connection) {
  const Result table =
      connection.query_text("SELECT to_regclass($1) IS NOT NULL", Params().text(connection.sql("{s}.schema_version")));
  return RowReader(table, 0).boolean() ? applied_version(connection) : 0;
}

std::vector<Migration> migrations() {
  std::vector<std::string_view> whole;
  for (const auto& part : {execution_tables(), definition_tables(), schema_views()}) {
    whole.insert(whole.end(), part.begin(), part.end());
  }
  // After the first release each change is a migration of its own behind this one.
  return {{.version = first_released_schema, .statements = std::move(whole), .usable_from = first_released_schema}};
}

MigrationReport migrate(Connection& connection, const Settings& settings, std::span<const Migration> known,
                        int to_version) {
  const int first = known.front().version, newest = known.back().version;
  if (to_version != 0 && (to_version < first || to_version > newest)) {
    throw InvalidArgument("to_version", std::to_string(to_version) + "; this build knows versions " +
                                            std::to_string(first) + " to " + std::to_string(newest));
  }
  const int target = to_version == 0 ? newest : to_version;
  MigrationReport report;
  report.from = schema_version(connection);
  report.to = report.from;
  if (report.from > newest) { check_schema_version(connection, settings, known); }
  if (report.from > 0 && report.from < first) { refuse_unreleased(settings, report.from); }
  for (const Migration& next : known) {
    if (next.version <= report.to || next.version > target) { continue; }
    try {
      apply(connection, settings, report.to, next);
    } catch (const SqlError&) {
      connection.command("ROLLBACK");
      throw;
    }
    report.to = next.version;
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
  for (RowReader reader : found) { names.emplace_back(reader.bytes()); }
  const std::string near = base::closest(settings.schema, names);
  throw NotFound(
      settings.location + ": there is no hapax schema '" + settings.schema + "'" +
      (near.empty() ? "; hapax migrate makes it" : "; did you mean schema=" + near + "? (hapax migrate makes it)"));
}

void check_schema_version(Connection& connection, const Settings& settings, std::span<const Migration> known) {
  const int version = schema_version(connection), newest = known.back().version;
  if (version == newest) { return; }
  const std::string where = schema_at(settings);
  if (version == 0) { throw SchemaMismatch(where + "there is no hapax schema; run hapax migrate"); }
  if (version < known.front().version) { refuse_unreleased(settings, version); }
  const std::string versions =
      where + "the schema has version " + std::to_string(version) + ", this build uses " + std::to_string(newest);
  if (version < newest) { throw SchemaMismatch(versions + "; run hapax migrate"); }
  const Result mark = connection.query_text(
      connection.sql("SELECT coalesce(usable_from, version) FROM {s}.schema_version ORDER BY version DESC LIMIT 1"),
      Params());
  if (RowReader(mark, 0).int4() > newest) { throw SchemaMismatch(versions + "; use a newer hapax"); }
}

}  // namespace hapax::store::postgres
