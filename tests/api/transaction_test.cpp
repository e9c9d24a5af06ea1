// Effects in the store's own database: enqueue and complete inside the caller's transaction.
#include "api/stores.hpp"

#include <libpq-fe.h>
#include <sqlite3.h>

#include <functional>
#include <set>

namespace hapax {
namespace {

using namespace std::chrono_literals;

const Task<int, int> book{"book"};
const RetryPolicy transaction_quick{.base = 1ms, .cap = 1ms, .multiplier = 1, .jitter = Jitter::none};

void run(sqlite3* db, const std::string& sql) {
  char* error = nullptr;
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error) != SQLITE_OK) {
    const std::string text = error != nullptr ? error : "unknown";
    sqlite3_free(error);
    throw std::runtime_error(text);
  }
}

int count_rows(App& app, const std::string& table) {
  int count = 0;
  app.transaction([&](Transaction& tx) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(tx.native<sqlite3>(), ("SELECT count(*) FROM " + table).c_str(), -1, &statement, nullptr);
    sqlite3_step(statement);
    count = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
  });
  return count;
}

class OnSqlite : public OnStore {};
INSTANTIATE_TEST_SUITE_P(Store, OnSqlite, ::testing::Values("sqlite"), [](const auto& tested) { return tested.param; });

TEST_P(OnSqlite, AnEnqueueInATransactionExistsOnlyIfItCommits) {
  auto app = open();
  app.transaction([](Transaction& tx) { run(tx.native<sqlite3>(), "CREATE TABLE orders (id INTEGER)"); });
  EXPECT_THROW(app.transaction([&](Transaction& tx) {
    run(tx.native<sqlite3>(), "INSERT INTO orders VALUES (1)");
    (void)app.enqueue_in(tx, book, 1);
    throw std::runtime_error("changed my mind");
  }),
               std::runtime_error);
  EXPECT_TRUE(app.list().empty());
  EXPECT_EQ(count_rows(app, "orders"), 0);
  Handle<int> handle;
  app.transaction([&](Transaction& tx) {
    run(tx.native<sqlite3>(), "INSERT INTO orders VALUES (1)");
    handle = app.enqueue_in(tx, book, 1);
  });
  EXPECT_EQ(handle.status(), Status::pending);
  EXPECT_EQ(count_rows(app, "orders"), 1);
}

TEST_P(OnSqlite, APlainEnqueueInsideATransactionIsAUsageError) {
  auto app = open();
  app.transaction([&](Transaction&) {
    EXPECT_THROW((void)app.enqueue(book, 1), UsageError);
    EXPECT_THROW(app.transaction([](Transaction&) {}), UsageError);
  });
  EXPECT_NO_THROW((void)app.enqueue(book, 1));
}

TEST_P(OnSqlite, WritesAndOutcomeAreOne) {
  auto app = open();
  app.transaction([](Transaction& tx) { run(tx.native<sqlite3>(), "CREATE TABLE bookings (id INTEGER)"); });
  app.handle(book, [&](TaskContext& ctx, int number) {
    app.transaction([&](Transaction& tx) {
      run(tx.native<sqlite3>(), "INSERT INTO bookings VALUES (" + std::to_string(number) + ")");
      ctx.complete_in(tx, number * 10);
    });
    return -1;  // ignored: the outcome is in the transaction
  });
  auto worker = app.work();
  EXPECT_EQ(app.enqueue(book, 4).result(), 40);
  EXPECT_EQ(count_rows(app, "bookings"), 1);
}

TEST_P(OnSqlite, ACompletionThatNeverCommitsIsAFailedAttempt) {
  auto app = open();
  app.transaction([](Transaction& tx) { run(tx.native<sqlite3>(), "CREATE TABLE bookings (id INTEGER)"); });
  app.handle(book, [&](TaskContext& ctx, int number) {
    try {
      app.transaction([&](Transaction& tx) {
        run(tx.native<sqlite3>(), "INSERT INTO bookings VALUES (1)");
        ctx.complete_in(tx, number);
        if (ctx.attempt() == 1) { throw std::runtime_error("rolled back"); }
      });
    } catch (const std::runtime_error&) {
      return 99;  // claims success, but nothing was committed
    }
    return number;
  });
  auto worker = app.work();
  const auto handle = app.enqueue(book, 4, {.retry = transaction_quick});
  EXPECT_EQ(handle.result(), 4);
  const auto attempts = app.attempts(handle.id());
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].error->type, "TransactionNotCommitted");
  EXPECT_EQ(count_rows(app, "bookings"), 1) << "the write of the first attempt went with it";
}

TEST_P(OnSqlite, AttachIsForPostgres) {
  auto app = open();
  int nothing = 0;
  EXPECT_THROW((void)app.attach(&nothing), Unsupported);
  EXPECT_THROW((void)app.attach(nullptr), InvalidArgument);
}

class OnPostgres : public OnStore {
 protected:
  void SetUp() override {
    OnStore::SetUp();
    connection = PQconnectdb(std::getenv("HAPAX_TEST_POSTGRES_URL"));
    ASSERT_EQ(PQstatus(connection), CONNECTION_OK) << PQerrorMessage(connection);
    execute("SET client_min_messages = error; CREATE TEMP TABLE bookings (id int)");
  }
  void TearDown() override {
    PQfinish(connection);
    OnStore::TearDown();
  }
  void execute(const std::string& sql) const {
    PGresult* const result = PQexec(connection, sql.c_str());
    const ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      throw std::runtime_error(PQerrorMessage(connection));
    }
  }
  [[nodiscard]] int bookings() const {
    PGresult* const result = PQexec(connection, "SELECT count(*) FROM bookings");
    const int count = std::atoi(PQgetvalue(result, 0, 0));
    PQclear(result);
    return count;
  }

  PGconn* connection = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Store, OnPostgres, ::testing::Values("postgres"),
                         [](const auto& tested) { return tested.param; });

TEST_P(OnPostgres, AnEnqueueInTheCallersTransactionExistsOnlyIfItCommits) {
  auto app = open();
  execute("BEGIN");
  {
    auto tx = app.attach(connection);
    (void)app.enqueue_in(tx, book, 1);
    EXPECT_TRUE(app.list().empty()) << "others do not see it yet";
  }
  execute("ROLLBACK");
  EXPECT_TRUE(app.list().empty());
  execute("BEGIN");
  auto tx = app.attach(connection);
  const auto handle = app.enqueue_in(tx, book, 1);
  execute("COMMIT");
  tx.committed();
  EXPECT_EQ(handle.status(), Status::pending);
}

TEST_P(OnPostgres, WritesAndOutcomeAreOneAndAnUnknownCommitIsReadBack) {
  auto app = open();
  app.handle(book, [&](TaskContext& ctx, int number) {
    execute("BEGIN");
    auto tx = app.attach(connection);
    execute("INSERT INTO bookings VALUES (1)");
    ctx.complete_in(tx, number * 10);
    execute(ctx.attempt() == 1 ? "ROLLBACK" : "COMMIT");
    return -1;
  });
  auto worker = app.work({.threads = 1});
  const auto handle = app.enqueue(book, 4, {.retry = transaction_quick});
  EXPECT_EQ(handle.result(), 40);
  EXPECT_EQ(bookings(), 1);
  const auto attempts = app.attempts(handle.id());
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].error->type, "TransactionNotCommitted");
}

TEST_P(OnPostgres, ATransactionThatAHandlerLeftOpenHoldsUpNoOther) {
  auto app = open();
  app.handle(book, [&](TaskContext& ctx, int number) {
    if (number == 0) {
      execute("BEGIN");
      auto tx = app.attach(connection);
      ctx.complete_in(tx, 7);
    }
    return number;
  });
  auto worker = app.work({.threads = 2});
  const auto left = app.enqueue(book, 0);
  std::vector<Handle<int>> others;
  for (int i = 1; i <= 20; ++i) { others.push_back(app.enqueue(book, i)); }
  for (const auto& other : others) { EXPECT_GT(other.result(), 0); }
  EXPECT_EQ(left.status(), Status::running) << "its transaction is open";
  execute("COMMIT");
  EXPECT_EQ(left.result(), 7) << "and decides";
}

class OnMemory : public OnStore {};
INSTANTIATE_TEST_SUITE_P(Store, OnMemory, ::testing::Values("memory"), [](const auto& tested) { return tested.param; });

TEST_P(OnMemory, HasNoTransactions) {
  auto app = open();
  EXPECT_THROW(app.transaction([](Transaction&) {}), Unsupported);
}

}  // namespace
}  // namespace hapax
