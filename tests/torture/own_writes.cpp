#include "torture/own_writes.hpp"

#include <hapax/error.hpp>

#include <libpq-fe.h>
#include <sqlite3.h>

#include <stdexcept>
#include <string_view>
#include <utility>

namespace hapax::torture {
namespace {

constexpr const char* tables =
    "DROP TABLE IF EXISTS torture_effects; CREATE TABLE torture_effects (id text, fence bigint);"
    "DROP TABLE IF EXISTS torture_outbox; CREATE TABLE torture_outbox (id text, fence bigint)";

// The tables have no unique key on purpose: a second row must show up in the check instead of being refused.
std::string insert(const OwnRow& row) {
  return "INSERT INTO " + row.table + " VALUES ('" + row.id.to_string() + "', " + std::to_string(row.fence) + ")";
}

class SqliteWrites final : public OwnWrites {
 public:
  explicit SqliteWrites(store::Store& store) : store_(store) {}

  void make_tables() override {
    store_.transaction([](store::Transaction& tx) { run(tx, tables); });
  }

  void write(const OwnRow& row, const std::function<void(store::Transaction&)>& fn) override {
    store_.transaction([&](store::Transaction& tx) {
      run(tx, insert(row));
      fn(tx);
    });
  }

  std::multimap<Uuid, std::int64_t> read(const std::string& table) override {
    std::multimap<Uuid, std::int64_t> rows;
    store_.transaction([&](store::Transaction& tx) {
      auto* db = static_cast<sqlite3*>(tx.native());
      const auto add = [](void* to, int, char** values, char**) {
        static_cast<std::multimap<Uuid, std::int64_t>*>(to)->emplace(Uuid::parse(values[0]).value(),
                                                                     std::stoll(values[1]));
        return 0;
      };
      if (sqlite3_exec(db, ("SELECT id, fence FROM " + table).c_str(), add, &rows, nullptr) != SQLITE_OK) {
        throw std::runtime_error(sqlite3_errmsg(db));
      }
    });
    return rows;
  }

 private:
  static void run(store::Transaction& tx, const std::string& statement) {
    auto* db = static_cast<sqlite3*>(tx.native());
    if (sqlite3_exec(db, statement.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sqlite3_errmsg(db));
    }
  }

  store::Store& store_;
};

// Uses its own connection, as a user of complete_in does.
class PostgresWrites final : public OwnWrites {
 public:
  PostgresWrites(store::Store& store, const std::string& url)
      : store_(store), url_(url.substr(0, url.find('?'))), connection_(nullptr, PQfinish) {}

  void make_tables() override { run(tables); }

  void write(const OwnRow& row, const std::function<void(store::Transaction&)>& fn) override {
    try {
      run("BEGIN");
      run(insert(row));
      const auto tx = store_.attach(connection());
      fn(*tx);
      run("COMMIT");
    } catch (...) {
      connection_.reset();  // its state is unknown
      throw;
    }
  }

  std::multimap<Uuid, std::int64_t> read(const std::string& table) override {
    std::multimap<Uuid, std::int64_t> rows;
    connection_.reset();  // its backend may have been terminated since
    const auto result = run("SELECT id, fence FROM " + table);
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      rows.emplace(Uuid::parse(PQgetvalue(result.get(), row, 0)).value(), std::stoll(PQgetvalue(result.get(), row, 1)));
    }
    return rows;
  }

 private:
  using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

  PGconn* connection() {
    if (!connection_) {
      connection_.reset(PQconnectdb(url_.c_str()));
      PQsetNoticeProcessor(
          connection_.get(), [](void*, const char*) {}, nullptr);
    }
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
      const std::string why = PQerrorMessage(connection_.get());
      connection_.reset();
      throw StoreUnavailable(why);
    }
    return connection_.get();
  }

  Result run(const std::string& statement) {
    Result result(PQexec(connection(), statement.c_str()), PQclear);
    const auto status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      throw StoreUnavailable(statement + ": " + PQerrorMessage(connection_.get()));
    }
    // COMMIT of a failed transaction returns the tag ROLLBACK, which libpq does not treat as an error.
    if (statement == "COMMIT" && std::string_view(PQcmdStatus(result.get())) != "COMMIT") {
      throw std::runtime_error("the transaction was rolled back");
    }
    return result;
  }

  store::Store& store_;
  std::string url_;
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

}  // namespace

std::unique_ptr<OwnWrites> own_writes(store::Store& store, const std::string& url) {
  if (url.starts_with("sqlite:")) return std::make_unique<SqliteWrites>(store);
  return std::make_unique<PostgresWrites>(store, url);
}

}  // namespace hapax::torture
