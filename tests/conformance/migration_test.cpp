// Schema migrations: versioned, forward only, run once, and existing data stays usable.
#include "conformance/fixture.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>
#include <libpq-fe.h>
#include <sqlite3.h>

#include <filesystem>
#include <thread>

namespace hapax::conformance {

namespace {

// Uses places other than the fixture's store: other files on SQLite, schemas that the test drops on PostgreSQL.
class MigrationConformance : public Conformance {
 protected:
  void TearDown() override {
    for (const std::string& made : schemas_) { run_sql(url(), "DROP SCHEMA IF EXISTS " + made + " CASCADE"); }
    Conformance::TearDown();
  }

  // A place of the same kind without any tables.
  std::string empty_place() {
    if (!capabilities().durable) { return url(); }
    places_ += 1;
    if (!capabilities().attaches_transaction) { return url() + "." + std::to_string(places_); }
    const std::size_t at = url().rfind("schema=") + 7;
    schemas_.push_back(url().substr(at) + "_" + std::to_string(places_));
    return url().substr(0, at) + schemas_.back();
  }

  // Runs SQL on the tables directly, as a newer build or an operator would.
  static void run_sql(const std::string& place, const std::string& statement) {
    if (place.starts_with("sqlite:")) {
      sqlite3* db = nullptr;
      ASSERT_EQ(sqlite3_open(place.substr(7).c_str(), &db), SQLITE_OK);
      EXPECT_EQ(sqlite3_exec(db, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
      sqlite3_close(db);
      return;
    }
    PGconn* const connection = PQconnectdb(place.substr(0, place.find('?')).c_str());
    PGresult* const result = PQexec(connection, ("SET client_min_messages = error; " + statement).c_str());
    EXPECT_EQ(PQresultStatus(result), PGRES_COMMAND_OK) << PQerrorMessage(connection);
    PQclear(result);
    PQfinish(connection);
  }

  // Makes the place look as if the next release had migrated it and locked older builds out.
  static void pretend_newer(const std::string& place, int version) {
    run_sql(place, "INSERT INTO " + versions_table(place) + "(version) VALUES (" + std::to_string(version) + ")");
  }
  // Like pretend_newer, but builds that know version `oldest` may still use the store.
  static void pretend_usable_from(const std::string& place, int oldest) {
    run_sql(place, "UPDATE " + versions_table(place) + " SET usable_from = " + std::to_string(oldest));
  }
  // Makes the place look as if a build from before the first release had made it.
  static void pretend_version(const std::string& place, int version) {
    run_sql(place, "DELETE FROM " + versions_table(place));
    run_sql(place, "INSERT INTO " + versions_table(place) + "(version, usable_from) VALUES (" +
                       std::to_string(version) + ", 1)");
  }
  static std::string versions_table(const std::string& place) {
    return place.starts_with("sqlite:") ? "migrations" : place.substr(place.rfind("schema=") + 7) + ".schema_version";
  }

  static std::unique_ptr<Store> reopen(const std::string& place) {
    return store::open(place, {.migrate = store::Migrate::no});
  }

  // An execution can be admitted, claimed and completed there.
  static void expect_works(const std::string& place) {
    const std::unique_ptr<Store> opened = reopen(place);
    const NewExecution item = request();
    EXPECT_TRUE(opened->admit({&item, 1}).at(0).created());
    NewSession session;
    session.id = base::new_uuid7();
    opened->open_session(session);
    const ClaimReply reply = opened->claim({.session = session.id, .claim_number = 1, .queues = {{}}});
    ASSERT_EQ(reply.claims.size(), 1U);
    const Finish done = completed(reply.claims.front());
    EXPECT_EQ(opened->finish({&done, 1}).at(0), FinishVerdict::accepted);
    EXPECT_EQ(opened->get(item.id)->status, Status::completed);
  }

 private:
  int places_ = 0;
  std::vector<std::string> schemas_;
};

TEST_F(MigrationConformance, AnEmptyPlaceIsBroughtToTheNewestVersion) {
  const std::string place = empty_place();
  const int newest = store::schema_status(place).newest;
  EXPECT_EQ(store::schema_status(place).current, 0);
  const store::MigrationReport report = store::migrate(place);
  EXPECT_EQ(report.from, 0);
  EXPECT_EQ(report.to, newest);
  EXPECT_EQ(store::schema_status(place).current, newest);
  EXPECT_EQ(store().info().schema_version, newest);
  EXPECT_EQ(newest > 0, capabilities().durable) << "what survives its process has a schema";
}

TEST_F(MigrationConformance, AVersionFromBeforeTheFirstReleaseIsRefusedByName) {
  if (!capabilities().durable) { return; }
  for (int version = 1; version < 9; ++version) {
    const std::string place = empty_place();
    store::migrate(place);
    pretend_version(place, version);
    for (const auto migrate : {store::Migrate::no, store::Migrate::yes}) {
      try {
        (void)store::open(place, {.migrate = migrate});
        ADD_FAILURE() << "version " << version << " was opened";
      } catch (const SchemaMismatch& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("version " + std::to_string(version)));
        EXPECT_THAT(error.what(), ::testing::HasSubstr("before the first release"));
      }
    }
    EXPECT_THROW(store::migrate(place), SchemaMismatch);
    EXPECT_EQ(store::schema_status(place).current, version);
  }
}

TEST_F(MigrationConformance, MigratingAgainChangesNothing) {
  const std::string place = empty_place();
  const int newest = store::migrate(place).to;
  const store::MigrationReport again = store::migrate(place);
  EXPECT_EQ(again.from, newest);
  EXPECT_EQ(again.to, newest);
}

TEST_F(MigrationConformance, AVersionThisBuildDoesNotKnowIsNoTarget) {
  if (!capabilities().durable) { return; }
  const std::string place = empty_place();
  const int newest = store::schema_status(place).newest;
  for (const int version : {1, newest - 1, newest + 1}) { EXPECT_THROW(store::migrate(place, version), Error); }
  EXPECT_EQ(store::schema_status(place).current, 0);
}

TEST_F(MigrationConformance, WhatWasWrittenIsThereAfterMigratingAndOpeningAgain) {
  if (!capabilities().durable) { return; }
  const std::string place = empty_place();
  store::migrate(place);
  const NewExecution item = keyed("kept", R"({"amount":7})");
  {
    const std::unique_ptr<Store> first = reopen(place);
    EXPECT_TRUE(first->admit({&item, 1}).at(0).created());
    first->configure_queue(item.queue, {.retention = 3h});
  }
  store::migrate(place);
  const std::unique_ptr<Store> second = reopen(place);
  const std::optional<Execution> found = second->get(item.id);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->input, item.input);
  EXPECT_EQ(found->identity, item.identity->hash);
  EXPECT_EQ(second->holder(item.identity->hash), item.id);
  EXPECT_EQ(second->queues("default").at(0).settings.retention, 3h);
}

TEST_F(MigrationConformance, ANewerSchemaIsRefusedAndLeftAlone) {
  if (!capabilities().durable) { return; }
  const std::string place = empty_place();
  const int newest = store::migrate(place).to;
  pretend_newer(place, newest + 1);
  EXPECT_THROW(reopen(place), SchemaMismatch);
  EXPECT_THROW((void)store::open(place, {.migrate = store::Migrate::yes}), SchemaMismatch);
  EXPECT_EQ(store::schema_status(place).current, newest + 1);
}

TEST_F(MigrationConformance, ANewerSchemaThatThisBuildMayUseIsUsed) {
  if (!capabilities().durable) { return; }
  const std::string place = empty_place();
  const int newest = store::migrate(place).to;
  pretend_newer(place, newest + 1);
  pretend_usable_from(place, newest);
  expect_works(place);
  EXPECT_EQ(store::migrate(place).to, newest + 1) << "nothing to do, and nothing undone";
  pretend_usable_from(place, newest + 1);
  EXPECT_THROW(reopen(place), SchemaMismatch);
}

TEST_F(MigrationConformance, AnEmptyPlaceIsNotOpenedWithoutLeaveToMigrate) {
  if (!capabilities().durable) { return; }
  EXPECT_THROW(reopen(empty_place()), SchemaMismatch);
}

TEST_F(MigrationConformance, ManyAtOnceMigrateOnce) {
  const std::string place = empty_place();
  const int newest = store::schema_status(place).newest;
  constexpr int crowd = 6;
  std::atomic<int> ready = 0;
  std::atomic<int> arrived = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < crowd; ++i) {
    threads.emplace_back([&] {
      ready += 1;
      while (ready < crowd) { std::this_thread::yield(); }
      try {
        arrived += store::migrate(place).to == newest ? 1 : 0;
      } catch (const std::exception& error) { ADD_FAILURE() << error.what(); }
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  EXPECT_EQ(arrived, crowd);
  expect_works(place);
}

}  // namespace

}  // namespace hapax::conformance
