#include "store/open.hpp"

#include <hapax/error.hpp>

#include "store/postgres/postgres_store.hpp"
#include "store/postgres/schema.hpp"
#include "store/postgres/settings.hpp"

namespace hapax::store {

namespace {

// A connection for work that comes before there is a store.
template <class Work>
auto on_connection(const postgres::Settings& settings, const Work& work) {
  try {
    postgres::Connection connection(settings, settings.hosts, postgres::Planning::plain);
    return work(connection);
  } catch (const postgres::SqlError& error) {
    postgres::throw_mapped(error, settings.location);
  } catch (const postgres::ConnectionBroken& broken) {
    throw StoreUnavailable(settings.location + ": " + broken.what());
  }
}

}  // namespace

std::unique_ptr<Store> open_postgres(const std::string& url, const OpenOptions& options) {
  postgres::Settings settings = postgres::parse_settings(url, options.connect_timeout);
  const std::vector<postgres::Migration> known = postgres::migrations();
  on_connection(settings, [&](postgres::Connection& connection) {
    if (options.migrate == Migrate::yes) {
      const postgres::Connection::AnswerLimit patience(connection, postgres::migration_answer);
      postgres::migrate(connection, settings, known, 0);
    }
    if (options.must_exist) { postgres::require_schema(connection, settings); }
    postgres::check_schema_version(connection, settings, known);
  });
  return std::make_unique<postgres::PostgresStore>(std::move(settings), options);
}

MigrationReport migrate_postgres(const std::string& url, int to_version) {
  const postgres::Settings settings = postgres::parse_settings(url, OpenOptions().connect_timeout);
  return on_connection(settings, [&](postgres::Connection& connection) {
    const postgres::Connection::AnswerLimit patience(connection, postgres::migration_answer);
    return postgres::migrate(connection, settings, postgres::migrations(), to_version);
  });
}

SchemaStatus schema_status_postgres(const std::string& url) {
  const postgres::Settings settings = postgres::parse_settings(url, OpenOptions().connect_timeout);
  return on_connection(settings, [&](postgres::Connection& connection) {
    return SchemaStatus{.current = postgres::schema_version(connection), .newest = postgres::newest_schema_version};
  });
}

}  // namespace hapax::store
