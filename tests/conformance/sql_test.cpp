// The SQL prompt: operators can read, and nothing can write.
#include "conformance/fixture.hpp"

#include <hapax/error.hpp>

#include <algorithm>

namespace hapax::conformance {

namespace {

using store::TextTable;

class SqlConformance : public Conformance {
 protected:
  TextTable query(const std::string& statement, int max_rows = 100) { return store().sql(statement, max_rows); }

  void expect_refused(const std::string& statement) {
    EXPECT_THROW(std::ignore = query(statement), InvalidArgument) << statement;
  }
};

TEST_F(SqlConformance, AStoreWithoutItSaysSo) {
  if (capabilities().speaks_sql) {
    EXPECT_EQ(query("SELECT 1").rows.at(0).at(0), "1");
  } else {
    EXPECT_THROW(std::ignore = query("SELECT 1"), Unsupported);
  }
}

TEST_F(SqlConformance, TheExecutionsViewReadsLikeTheExecutions) {
  if (!capabilities().speaks_sql) { return; }
  const NewExecution item = keyed("order-1", R"({"amount":7})");
  admit_id(item);
  const std::string columns = "SELECT id, namespace, queue, task, kind, status, run, attempt, task_id FROM executions";
  TextTable table = query(columns);
  EXPECT_EQ(table.columns, (std::vector<std::string>{"id", "namespace", "queue", "task", "kind", "status", "run",
                                                     "attempt", "task_id"}));
  using Row = std::vector<std::optional<std::string>>;
  const std::string id = item.id.to_string();
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0], (Row{id, "default", "default", "work", "task", "pending", "1", "0", "order-1"}));
  bring_to(item.id, Status::running);
  EXPECT_EQ(query(columns).rows.at(0).at(5), "running");
  bring_to(item.id, Status::failed);
  EXPECT_EQ(query(columns).rows.at(0), (Row{id, "default", "default", "work", "task", "failed", "1", "1", "order-1"}));
  EXPECT_FALSE(table.truncated);
}

TEST_F(SqlConformance, TheViewHasTheColumnsThatPeopleAskFor) {
  if (!capabilities().speaks_sql) { return; }
  const TextTable table = query("SELECT * FROM executions");
  for (const char* name : {"priority",    "max_attempts", "lost",     "fence",  "created_at", "run_at", "started_at",
                           "finished_at", "expires_at",   "deadline", "labels", "input",      "result", "error",
                           "progress",    "session",      "worker",   "parent", "dead",       "note"}) {
    EXPECT_NE(std::find(table.columns.begin(), table.columns.end(), name), table.columns.end()) << name;
  }
}

TEST_F(SqlConformance, TimesAndPayloadsAreReadable) {
  if (!capabilities().speaks_sql) { return; }
  NewExecution item = request();
  item.input = R"({"amount":7})";
  admit_id(item);
  const TextTable table = query("SELECT created_at, input, finished_at FROM executions");
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0][0].value_or("").substr(0, 10), format_time(get(item.id).created_at).substr(0, 10));
  EXPECT_NE(table.rows[0][1].value_or("").find("\"amount\""), std::string::npos);
  EXPECT_EQ(table.rows[0][2], std::nullopt) << "what is not there is null";
}

TEST_F(SqlConformance, AnOddPayloadDoesNotSpoilTheView) {
  if (!capabilities().speaks_sql) { return; }
  NewExecution item = request();
  item.input = R"({"a":"\u0000","b":"\\u0000"})";
  item.labels = {.tags = {"red"}, .metadata = R"({"a":"\u0000"})", .traceparent = ""};
  admit_id(item);
  EXPECT_EQ(query("SELECT * FROM executions").rows.size(), 1U);
  TestWorker one = worker();
  EXPECT_EQ(finish(completed(claim_one(one), item.input)), FinishVerdict::accepted);
  EXPECT_EQ(query("SELECT * FROM executions").rows.size(), 1U);
}

TEST_F(SqlConformance, WhateverWritesIsRefusedAndChangesNothing) {
  if (!capabilities().speaks_sql) { return; }
  const Uuid id = admit_id(request());
  for (const char* statement :
       {"INSERT INTO queues(ns, name) VALUES ('a', 'b')", "UPDATE live SET priority = 9", "DELETE FROM live",
        "DROP TABLE live", "DROP VIEW executions", "CREATE TABLE mine(a int)", "ALTER TABLE live ADD COLUMN mine int",
        "CREATE INDEX mine ON live(task)", "VACUUM", "BEGIN", "COMMIT", "ATTACH DATABASE 'other.db' AS other",
        "PRAGMA journal_mode = DELETE", "TRUNCATE live", "COPY live TO '/dev/null'", "SET search_path = public",
        "WITH gone AS (DELETE FROM live RETURNING id) SELECT * FROM gone", "EXPLAIN ANALYZE DELETE FROM live"}) {
    expect_refused(statement);
  }
  EXPECT_EQ(get(id).priority, 0);
  EXPECT_TRUE(admit(request()).created());
  EXPECT_EQ(query("SELECT count(*) FROM executions").rows.at(0).at(0), "2");
}

TEST_F(SqlConformance, OneStatementAtATime) {
  if (!capabilities().speaks_sql) { return; }
  const Uuid id = admit_id(request());
  expect_refused("SELECT 1; DELETE FROM live");
  expect_refused("SELECT 1; SELECT 2");
  expect_refused("SELECT 1; COMMIT; DELETE FROM live");
  EXPECT_EQ(status(id), Status::pending);
  EXPECT_EQ(query("SELECT 1 ; ").rows.size(), 1U) << "a closing semicolon is no second statement";
}

TEST_F(SqlConformance, NonsenseIsRefusedWithTheDatabasesWords) {
  if (!capabilities().speaks_sql) { return; }
  expect_refused("");
  expect_refused("  ;  ");
  expect_refused("SELEKT 1");
  expect_refused("SELECT nothing FROM nowhere");
  expect_refused("SELECT 'no end");
}

TEST_F(SqlConformance, NoMoreRowsThanAskedFor) {
  if (!capabilities().speaks_sql) { return; }
  for (int i = 0; i < 5; ++i) { admit_id(request()); }
  TextTable table = query("SELECT id FROM executions ORDER BY id", 3);
  EXPECT_EQ(table.rows.size(), 3U);
  EXPECT_TRUE(table.truncated);
  table = query("SELECT id FROM executions", 5);
  EXPECT_EQ(table.rows.size(), 5U);
  EXPECT_FALSE(table.truncated);
}

TEST_F(SqlConformance, AnEndlessAnswerIsCutShort) {
  if (!capabilities().speaks_sql) { return; }
  const TextTable table =
      query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) SELECT i FROM n", 10);
  EXPECT_EQ(table.rows.size(), 10U);
  EXPECT_TRUE(table.truncated);
  EXPECT_EQ(query("SELECT 1").rows.size(), 1U) << "and leaves nothing behind";
}

TEST_F(SqlConformance, AnEmptyAnswerStillNamesItsColumns) {
  if (!capabilities().speaks_sql) { return; }
  const TextTable table = query("SELECT id, status FROM executions");
  EXPECT_EQ(table.columns, (std::vector<std::string>{"id", "status"}));
  EXPECT_TRUE(table.rows.empty());
}

}  // namespace

}  // namespace hapax::conformance
