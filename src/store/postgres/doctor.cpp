#include "store/overdue_finding.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/retention.hpp"
#include "store/postgres/schema.hpp"

namespace hapax::store::postgres {

namespace {

std::string setting(Connection& connection, const std::string& name) {
  const Result result = connection.query_text("SELECT current_setting($1::text)", Params().text(name));
  return RowReader(result, 0).bytes();
}

std::int64_t number(Connection& connection, std::string_view text, const Params& params = Params()) {
  const Result result = connection.query_text(connection.sql(text), params);
  return result.rows() == 0 ? 0 : RowReader(result, 0).int8();
}

Finding finding(Finding::Level level, std::string subject, std::string detail, std::string advice = "") {
  return {.level = level, .subject = std::move(subject), .detail = std::move(detail), .advice = std::move(advice)};
}

}  // namespace

std::string synchronous_commit_beneath(Connection& connection) {
  const Result result =
      connection.query_text("SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'", Params());
  return RowReader(result, 0).bytes();
}

namespace {

void check_durability(Connection& connection, std::vector<Finding>& findings) {
  for (const char* name : {"fsync", "full_page_writes"}) {
    const std::string value = setting(connection, name);
    const bool off = value == "off";
    findings.push_back(finding(off ? Finding::Level::problem : Finding::Level::ok, name, value,
                               off ? "an acknowledged enqueue can be lost in a power cut; turn it on" : ""));
  }
  const std::string value = synchronous_commit_beneath(connection);
  const bool raised = is_raised(value);
  findings.push_back(finding(raised ? Finding::Level::warning : Finding::Level::ok, "synchronous_commit",
                             raised ? value + "; the transactions of hapax raise it to on" : value,
                             raised
                                 ? "a transaction that a caller commits (enqueue_in, complete_in) is only as durable "
                                   "as this; ALTER SYSTEM, DATABASE or ROLE ... SET synchronous_commit = on"
                                 : ""));
}

void check_vacuum(Connection& connection, const Settings& settings, std::vector<Finding>& findings) {
  const Result result = connection.query_text(
      "SELECT n_live_tup, n_dead_tup FROM pg_stat_user_tables WHERE schemaname = $1::text AND relname = 'live'",
      Params().text(settings.schema));
  if (result.rows() > 0) {
    RowReader reader(result, 0);
    const std::int64_t live = reader.int8();
    const std::int64_t dead = reader.int8();
    const bool many = dead > 100'000 && dead > live;
    findings.push_back(finding(many ? Finding::Level::warning : Finding::Level::ok, "live",
                               std::to_string(live) + " rows, " + std::to_string(dead) + " dead",
                               many ? "claims step over dead rows: see what holds vacuum back, or VACUUM it" : ""));
  }
  const std::int64_t oldest_s = number(connection, R"(
SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::bigint FROM pg_stat_activity
WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend')");
  findings.push_back(finding(oldest_s > 300 ? Finding::Level::warning : Finding::Level::ok, "oldest transaction",
                             std::to_string(oldest_s) + " s",
                             oldest_s > 300 ? "it keeps dead rows from being removed and slows claims; end it" : ""));
}

void check_rows(Connection& connection, std::int64_t offset_us, std::vector<Finding>& findings) {
  const std::int64_t lost =
      number(connection, "SELECT count(*) FROM {s}.sessions WHERE expires_at < {now} + $1::bigint - 5000000",
             Params().int8(offset_us));
  findings.push_back(finding(lost > 0 ? Finding::Level::warning : Finding::Level::ok, "lost sessions",
                             std::to_string(lost),
                             lost > 0 ? "their leases are over but no worker has swept them; start one" : ""));
  const std::int64_t overdue =
      number(connection, "SELECT count(*) FROM {s}.activities WHERE next_due < {now} + $1::bigint - 60000000",
             Params().int8(offset_us));
  findings.push_back(finding(
      overdue > 0 ? Finding::Level::warning : Finding::Level::ok, "overdue activities", std::to_string(overdue),
      overdue > 0
          ? "they were due a minute ago or longer, but no process starts their ticks; start a worker or a server"
          : ""));
  const std::int64_t passed = number(connection, "SELECT count(*) FROM {s}.live WHERE deadline < {now} + $1::bigint",
                                     Params().int8(offset_us - overdue_patience.count()));
  const std::int64_t alive = number(
      connection, "SELECT count(*) FROM {s}.sessions WHERE expires_at > {now} + $1::bigint", Params().int8(offset_us));
  findings.push_back(overdue_finding(passed, alive > 0));
  const std::int64_t stray = number(connection, "SELECT count(*) FROM (SELECT FROM {s}.history_default LIMIT 10000) x");
  findings.push_back(finding(stray >= 10000 ? Finding::Level::note : Finding::Level::ok, "history_default",
                             std::to_string(stray) + " rows",
                             stray >= 10000 ? "rows of days without a partition; run hapax cleanup" : ""));
  constexpr std::int64_t day_us = 86'400'000'000;
  const int past = past_partitions(connection, offset_us - day_us);
  findings.push_back(
      finding(past > 0 ? Finding::Level::warning : Finding::Level::ok, "expired partitions", std::to_string(past),
              past > 0 ? "no process has dropped them; run hapax cleanup as the owner of the schema" : ""));
}

void check_connections(Connection& connection, std::vector<Finding>& findings) {
  const std::int64_t used =
      number(connection, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'");
  const std::int64_t most = std::stoll(setting(connection, "max_connections"));
  const bool tight = used * 10 > most * 8;
  findings.push_back(finding(tight ? Finding::Level::warning : Finding::Level::ok, "connections",
                             std::to_string(used) + " of " + std::to_string(most),
                             tight ? "raise max_connections or lower pool= in the store's URL" : ""));
}

}  // namespace

std::vector<Finding> PostgresStore::doctor() {
  return read(Planning::plain, [&](Connection& connection) {
    std::vector<Finding> findings;
    const std::string version = setting(connection, "server_version");
    const bool old = PQserverVersion(connection.native()) < 140000;
    findings.push_back(finding(old ? Finding::Level::problem : Finding::Level::ok, "server", "PostgreSQL " + version,
                               old ? "PostgreSQL 14 or newer is needed" : ""));
    findings.push_back(finding(Finding::Level::ok, "schema",
                               settings_.schema + ", version " + std::to_string(schema_version(connection))));
    if (settings_.prepared && !settings_.prepares()) {
      findings.push_back(finding(Finding::Level::warning, "pooler",
                                 "it mixes up prepared statements, so hapax no longer prepares any",
                                 "add prepared=off to the store's URL, and listen_url for wake-ups"));
    }
    check_durability(connection, findings);
    check_vacuum(connection, settings_, findings);
    check_rows(connection, offset_us(), findings);
    check_connections(connection, findings);
    return findings;
  });
}

}  // namespace hapax::store::postgres
