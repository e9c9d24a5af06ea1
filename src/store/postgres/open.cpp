#include "store/open.hpp"

#include <hapax/error.hpp>

#include "store/postgres/postgres_store.hpp"
#include "store/postgres/schema.hpp"
#include "store/postgres/settings.hpp"

namespace hapax::store {

namespace {

// One connection for what is done before there is a store.
template <class Work>
auto on_connection(const postgres::Settings& settings, const Work& work) {
  try {
    postgres::Connection connection(settings, settings.options, postgres::Planning::plain);
    return work(connection);
  } catch (const postgres::SqlError& error) {
    postgres::throw_mapped(error, settings.location);
  } catch (const postgres::ConnectionBroken& broken) {
    throw StoreUnavailable(settings.location + ": " + broken.what());
  }
}

// An acknowledged enqueue is on disk (SPEC P1), whatever the role, the database or the URL says of synchronous_commit. A
// connection of our own is told so as it starts; behind a pooler in transaction mode it cannot be. 1 round trip.
void make_durable(postgres::Connection& connection, postgres::Settings& settings) {
  static constexpr postgres::Statement statement{"hapax_durability", "SELECT current_setting('synchronous_commit')"};
  const postgres::Result result = connection.query(statement, postgres::Params());
  if (postgres::RowReader(result, 0).bytes() != "off") { return; }
  if (!settings.prepared) {
    throw ConfigurationError(settings.location +
                             ": synchronous_commit is off, so that what was acknowledged could be lost; run ALTER ROLE "
                             "... SET synchronous_commit = on (or ALTER DATABASE), then reconnect the pooler");
  }
  const std::string on = "-c synchronous_commit=on";
  for (auto& [name, value] : settings.options) {
    if (name == "options") {
      value += " " + on;
      return;
    }
  }
  settings.options.emplace_back("options", on);
}

}  // namespace

std::unique_ptr<Store> open_postgres(const std::string& url, const OpenOptions& options) {
  postgres::Settings settings = postgres::parse_settings(url, options.connect_timeout);
  on_connection(settings, [&](postgres::Connection& connection) {
    if (options.migrate == Migrate::yes) { postgres::migrate(connection, settings, 0); }
    if (options.must_exist) { postgres::require_schema(connection, settings); }
    postgres::check_schema_version(connection, settings);
    make_durable(connection, settings);
  });
  return std::make_unique<postgres::PostgresStore>(std::move(settings), options);
}

MigrationReport migrate_postgres(const std::string& url, int to_version) {
  const postgres::Settings settings = postgres::parse_settings(url, OpenOptions().connect_timeout);
  return on_connection(
      settings, [&](postgres::Connection& connection) { return postgres::migrate(connection, settings, to_version); });
}

SchemaStatus schema_status_postgres(const std::string& url) {
  const postgres::Settings settings = postgres::parse_settings(url, OpenOptions().connect_timeout);
  return on_connection(settings, [&](postgres::Connection& connection) {
    return SchemaStatus{.current = postgres::schema_version(connection), .newest = postgres::newest_schema_version};
  });
}

}  // namespace hapax::store
