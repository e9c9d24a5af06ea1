// The versions of PostgreSQL's schema: a made-up list of migrations stands for the releases to come.
#include "store/postgres/execution_row.hpp"
#include "store/postgres/result.hpp"
#include "store/postgres/schema.hpp"
#include "unit/postgres_fixture.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

namespace hapax::store::postgres {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A schema of its own, made and migrated on a connection of its own.
class PostgresSchemaTest : public ::testing::Test {
 protected:
  PostgresSchemaTest()
      : psql_(server_url()),
        schema_("v_" + base::new_uuid7().to_string().substr(24)),
        url_(server_url() + "?schema=" + schema_),
        settings_(parse_settings(url_, 10s)),
        connection_(settings_, settings_.hosts, Planning::plain) {}
  ~PostgresSchemaTest() override {
    psql_.run("SET client_min_messages = error; DROP SCHEMA IF EXISTS " + schema_ + " CASCADE");
  }

  // This build's versions and two that come later; builds of this version still work on the first of the two.
  static std::vector<Migration> later() {
    std::vector<Migration> known = migrations();
    known.push_back({.version = newest_schema_version + 1,
                     .statements = {"ALTER TABLE {s}.live ADD COLUMN colour text DEFAULT 'grey'",
                                    "CREATE INDEX live_colour ON {s}.live (colour)"},
                     .usable_from = newest_schema_version});
    known.push_back({.version = newest_schema_version + 2,
                     .statements = {"CREATE TABLE {s}.colours (name text PRIMARY KEY)",
                                    "INSERT INTO {s}.colours SELECT DISTINCT colour FROM {s}.live"},
                     .usable_from = newest_schema_version + 2});
    return known;
  }

  MigrationReport bring(const std::vector<Migration>& known, int to_version = 0) {
    return migrate(connection_, settings_, known, to_version);
  }
  std::string row(const std::string& what) { return psql_.run("SELECT " + what); }
  void pretend_version(int version) {
    psql_.run("DELETE FROM " + schema_ + ".schema_version; INSERT INTO " + schema_ +
              ".schema_version (version, usable_from) VALUES (" + std::to_string(version) + ", 1)");
  }
  // The message of the SchemaMismatch that `act` throws.
  template <class Act>
  static std::string refusal(const Act& act) {
    try {
      act();
    } catch (const SchemaMismatch& error) { return error.what(); }
    return "not refused";
  }

  Psql psql_;
  std::string schema_;
  std::string url_;
  Settings settings_;
  Connection connection_;
};

TEST_F(PostgresSchemaTest, EachVersionIsAppliedInOrderAndTheRowsComeAlong) {
  EXPECT_EQ(bring(migrations()).to, newest_schema_version);
  psql_.run("INSERT INTO " + schema_ + ".queues (ns, name) VALUES ('default', 'default')");
  psql_.run("INSERT INTO " + schema_ +
            ".live (id, run_at, created_at, queue_id, state, task, input) SELECT gen_random_uuid(), 1, 1, 1, 0, "
            "'work', 'null' FROM generate_series(1, 50)");
  const MigrationReport one = bring(later(), newest_schema_version + 1);
  EXPECT_EQ(one.from, newest_schema_version);
  EXPECT_EQ(one.to, newest_schema_version + 1);
  EXPECT_EQ(row("count(*) FROM " + schema_ + ".live WHERE colour = 'grey'"), "50");
  EXPECT_EQ(row("to_regclass('" + schema_ + ".colours') IS NULL"), "t") << "only as far as told";
  EXPECT_EQ(bring(later()).to, newest_schema_version + 2);
  EXPECT_EQ(row("string_agg(name, ',') FROM " + schema_ + ".colours"), "grey");
  EXPECT_EQ(row("string_agg(version || ':' || usable_from, ' ' ORDER BY version) FROM " + schema_ + ".schema_version"),
            "9:9 10:9 11:11");
}

TEST_F(PostgresSchemaTest, AnEmptyPlaceGoesThroughEveryVersion) {
  const MigrationReport report = bring(later());
  EXPECT_EQ(report.from, 0);
  EXPECT_EQ(report.to, newest_schema_version + 2);
  EXPECT_EQ(row("count(*) FROM " + schema_ + ".schema_version"), "3");
  const MigrationReport again = bring(later());
  EXPECT_EQ(again.from, again.to);
  EXPECT_EQ(row("count(*) FROM " + schema_ + ".colours"), "0") << "the last version was not applied twice";
}

TEST_F(PostgresSchemaTest, NeverBackwards) {
  (void)bring(later());
  EXPECT_EQ(bring(later(), newest_schema_version).to, newest_schema_version + 2);
  EXPECT_EQ(schema_version(connection_), newest_schema_version + 2);
}

TEST_F(PostgresSchemaTest, AnEarlierVersionIsRefusedUntilItIsMigrated) {
  (void)bring(migrations());
  EXPECT_THAT(refusal([&] { check_schema_version(connection_, settings_, later()); }),
              AllOf(HasSubstr("the schema has version 9, this build uses 11"), HasSubstr("run hapax migrate")));
  (void)bring(later());
  check_schema_version(connection_, settings_, later());
}

TEST_F(PostgresSchemaTest, ANewerVersionSaysWhichBuildsMayUseIt) {
  (void)bring(later(), newest_schema_version + 1);
  check_schema_version(connection_, settings_, migrations());
  EXPECT_EQ(bring(migrations()).to, newest_schema_version + 1) << "nothing to do, and nothing undone";
  (void)bring(later());
  const auto use_a_newer = HasSubstr("use a newer hapax");
  EXPECT_THAT(refusal([&] { check_schema_version(connection_, settings_, migrations()); }), use_a_newer);
  EXPECT_THAT(refusal([&] { (void)bring(migrations()); }), use_a_newer);
}

TEST_F(PostgresSchemaTest, AVersionThatFailsLeavesTheOneBefore) {
  std::vector<Migration> known = later();
  known.back().statements.emplace_back("SELECT no_such_function()");
  EXPECT_THROW((void)bring(known), SqlError);
  EXPECT_EQ(schema_version(connection_), newest_schema_version + 1);
  EXPECT_EQ(row("to_regclass('" + schema_ + ".colours') IS NULL"), "t");
  EXPECT_EQ(bring(later()).to, newest_schema_version + 2);
}

TEST_F(PostgresSchemaTest, OfManyAtOnceOneAppliesEachVersion) {
  (void)bring(migrations());
  constexpr int crowd = 6;
  std::atomic<int> arrived = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < crowd; ++i) {
    threads.emplace_back([&] {
      try {
        Connection mine(settings_, settings_.hosts, Planning::plain);
        arrived += migrate(mine, settings_, later(), 0).to == newest_schema_version + 2 ? 1 : 0;
      } catch (const std::exception& error) { ADD_FAILURE() << error.what(); }
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  EXPECT_EQ(arrived, crowd);
  EXPECT_EQ(row("count(*) FROM " + schema_ + ".schema_version"), "3");
}

TEST_F(PostgresSchemaTest, AVersionThatNoBuildHasIsNoTarget) {
  for (const int version : {-1, 1, newest_schema_version - 1, newest_schema_version + 1}) {
    EXPECT_THROW((void)bring(migrations(), version), InvalidArgument) << version;
  }
  EXPECT_EQ(schema_version(connection_), 0);
}

TEST_F(PostgresSchemaTest, AVersionFromBeforeTheFirstReleaseIsRefusedByName) {
  (void)bring(migrations());
  for (const int version : {1, 8}) {
    pretend_version(version);
    const auto by_name = AllOf(HasSubstr("schema " + schema_), HasSubstr("version " + std::to_string(version)),
                               HasSubstr("before the first release"), HasSubstr("run hapax migrate with another"));
    EXPECT_THAT(refusal([&] { (void)open(url_, {.migrate = Migrate::no}); }), by_name);
    EXPECT_THAT(refusal([&] { (void)open(url_, {.migrate = Migrate::yes}); }), by_name);
    EXPECT_THAT(refusal([&] { (void)store::migrate(url_); }), by_name);
    EXPECT_EQ(schema_status(url_).current, version) << "left alone";
  }
}

// Columns that only statements of their own write, beside those of the table.
TEST_F(PostgresSchemaTest, EveryColumnOfAnExecutionIsInTheTable) {
  (void)bring(migrations());
  std::string known = "'left_by','cancel_error','held','waiters','waiter_positions','stub'";
  for (const Column& column : all_columns()) { known += ",'" + std::string(column.name) + "'"; }
  EXPECT_EQ(row("string_agg(table_name || '.' || column_name, ', ') FROM information_schema.columns"
                " WHERE table_schema = '" +
                schema_ + "' AND table_name IN ('live', 'history') AND column_name NOT IN (" + known + ")"),
            "")
      << "columns that no statement knows";
}

}  // namespace

}  // namespace hapax::store::postgres
