// Base of the tests of the PostgreSQL store: a new schema on the server that HAPAX_TEST_POSTGRES_URL names, and a
// connection that bypasses the store.
#pragma once

#include "base/fault.hpp"
#include "base/uuid7.hpp"
#include "model/identity.hpp"
#include "store/open.hpp"

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

namespace hapax::store {

using namespace std::chrono_literals;

inline std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    throw std::runtime_error(std::string(name) + " is not set: ./dev test sets it");
  }
  return value;
}

inline std::string server_url() { return environment("HAPAX_TEST_POSTGRES_URL"); }

// A plain connection, as a user of the library has one.
class Psql {
 public:
  explicit Psql(const std::string& url) : connection_(PQconnectdb(url.substr(0, url.find('?')).c_str()), &PQfinish) {
    EXPECT_EQ(PQstatus(connection_.get()), CONNECTION_OK) << PQerrorMessage(connection_.get());
  }
  // The first column of the first row, or empty.
  std::string run(const std::string& sql) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection_.get(), sql.c_str()), &PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) << sql << ": " << PQerrorMessage(native());
    return status == PGRES_TUPLES_OK && PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
  }
  [[nodiscard]] PGconn* native() { return connection_.get(); }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

class PostgresStoreTest : public ::testing::Test {
 protected:
  PostgresStoreTest() : psql_(server_url()) {
    schema_ = "u_";
    for (const char letter : base::new_uuid7().to_string()) {
      if (letter != '-') { schema_ += letter; }
    }
    url_ = server_url() + (server_url().find('?') == std::string::npos ? "?" : "&") + "schema=" + schema_ +
           "&application_name=" + schema_;
    store_ = open(url_, {.migrate = Migrate::yes});
  }
  ~PostgresStoreTest() override {
    base::arm_faults("");
    store_.reset();
    psql_.run("SET client_min_messages = error; DROP SCHEMA " + schema_ + " CASCADE");
  }

  static NewExecution request(const std::string& queue = "default") {
    NewExecution item;
    item.id = base::new_uuid7();
    item.queue.name = queue;
    item.task = "work";
    return item;
  }
  static NewExecution keyed(const std::string& key) {
    NewExecution item = request();
    item.identity = IdentityClaim{
        .hash = identity_hash({.namespace_name = "default", .scope = Scope::task, .name = item.task, .key = key}),
        .key = key};
    return item;
  }
  Uuid session() {
    NewSession session;
    session.id = base::new_uuid7();
    session.lease = 1h;
    store_->open_session(session);
    return session.id;
  }
  static ClaimRequest claim_of(const Uuid& session, std::int64_t number, int limit) {
    return {.session = session, .claim_number = number, .queues = {{}}, .limit = limit, .idle = limit};
  }
  static Finish completed(const Claim& claim) { return {.id = claim.id, .fence = claim.fence}; }

  int terminate_backends() {
    return std::stoi("0" + psql_.run("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                                     "application_name = '" +
                                     schema_ + "'"));
  }
  std::string count(const std::string& table) { return psql_.run("SELECT count(*) FROM " + schema_ + "." + table); }

  Psql psql_;
  std::string schema_;
  std::string url_;
  std::unique_ptr<Store> store_;
};

}  // namespace hapax::store
