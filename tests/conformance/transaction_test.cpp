// Transactions that contain the caller's own writes, in each form a store has: SQLite lends its writer connection;
// PostgreSQL lends a connection or attaches to the caller's. All forms keep the same promises.
#include "conformance/fixture.hpp"

#include <hapax/error.hpp>

#include <libpq-fe.h>
#include <sqlite3.h>

#include <functional>
#include <stdexcept>
#include <thread>

namespace hapax::conformance {

namespace {

using store::Transaction;

enum class Form { lent, attached };

class TransactionConformance : public Conformance, public ::testing::WithParamInterface<Form> {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (capabilities().attaches_transaction) {
      connection_ = PQconnectdb(url().substr(0, url().find('?')).c_str());
      ASSERT_EQ(PQstatus(connection_), CONNECTION_OK) << PQerrorMessage(connection_);
      table_ = url().substr(url().rfind("schema=") + 7) + ".own_rows";
    }
    if (has_transactions()) {
      ASSERT_TRUE(run([this](Transaction& tx) { execute(tx, "CREATE TABLE " + table_ + "(number INTEGER)"); }));
    }
  }

  void TearDown() override {
    if (connection_ != nullptr) { PQfinish(connection_); }
    Conformance::TearDown();
  }

  bool has_transactions() const {
    return GetParam() == Form::lent ? capabilities().lends_transaction : capabilities().attaches_transaction;
  }

  // Runs `work` in a transaction and commits it. Returns false if the commit is refused because a finish in it was
  // stale.
  bool run(const std::function<void(Transaction&)>& work) {
    return GetParam() == Form::lent ? run_lent(work) : run_attached(work);
  }

  void execute(Transaction& tx, const std::string& statement) {
    if (!capabilities().attaches_transaction) {
      auto* const db = static_cast<sqlite3*>(tx.native());
      ASSERT_EQ(sqlite3_exec(db, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
      return;
    }
    auto* const connection = static_cast<PGconn*>(tx.native());
    ASSERT_EQ(connection == connection_, GetParam() == Form::attached);
    EXPECT_EQ(command(statement, connection).substr(0, 6), statement.substr(0, 6)) << PQerrorMessage(connection);
  }

  // The caller's own write.
  void write_row(Transaction& tx) { execute(tx, "INSERT INTO " + table_ + " VALUES (1)"); }
  std::string own_rows() { return store().sql("SELECT count(*) FROM own_rows", 1).rows.at(0).at(0).value_or("?"); }

  // Runs a command and returns the server's command tag, or an empty string if the server refused it.
  static std::string command(const std::string& statement, PGconn* connection) {
    PGresult* const result = PQexec(connection, statement.c_str());
    const std::string tag = PQresultStatus(result) == PGRES_COMMAND_OK ? PQcmdStatus(result) : "";
    PQclear(result);
    return tag;
  }

  std::string command(const std::string& statement) { return command(statement, connection_); }

  PGconn* connection_ = nullptr;

 private:
  bool run_lent(const std::function<void(Transaction&)>& work) {
    try {
      store().transaction(work);
      return true;
    } catch (const StaleLease&) { return false; }
  }

  bool run_attached(const std::function<void(Transaction&)>& work) {
    EXPECT_EQ(command("BEGIN"), "BEGIN");
    try {
      work(*store().attach(connection_));
    } catch (const StaleLease&) {
      // The commit below is the test: the caller commits although a call in the transaction has thrown.
    } catch (...) {
      command("ROLLBACK");
      throw;
    }
    return command("COMMIT") == "COMMIT";
  }

  std::string table_ = "own_rows";
};

TEST_P(TransactionConformance, AStoreWithoutThemSaysSo) {
  if (!capabilities().lends_transaction) {
    EXPECT_THROW(store().transaction([](Transaction&) { FAIL() << "called"; }), Unsupported);
  }
  if (!capabilities().attaches_transaction) { EXPECT_THROW(std::ignore = store().attach(nullptr), Unsupported); }
}

TEST_P(TransactionConformance, AnEnqueueAndTheCallersWritesCommitTogether) {
  if (!has_transactions()) { return; }
  const NewExecution item = keyed("order-1");
  const std::shared_ptr<Store> other = second();
  EXPECT_TRUE(run([&](Transaction& tx) {
    write_row(tx);
    const std::vector<Admission> admissions = tx.admit({&item, 1});
    ASSERT_EQ(admissions.size(), 1U);
    EXPECT_TRUE(admissions[0].created());
    EXPECT_FALSE(other->get(item.id).has_value()) << "not before the commit";
  }));
  EXPECT_EQ(status(item.id), Status::pending);
  EXPECT_EQ(store().holder(item.identity->hash), item.id);
  EXPECT_EQ(own_rows(), "1");
  TestWorker one = worker();
  EXPECT_EQ(claim_one(one).id, item.id);
}

TEST_P(TransactionConformance, NothingOfARolledBackTransactionIsThere) {
  if (!has_transactions()) { return; }
  const NewExecution item = keyed("order-1");
  EXPECT_THROW(run([&](Transaction& tx) {
                 write_row(tx);
                 EXPECT_TRUE(tx.admit({&item, 1}).at(0).created());
                 throw std::domain_error("the caller changed its mind");
               }),
               std::domain_error);
  EXPECT_FALSE(store().get(item.id).has_value());
  EXPECT_EQ(store().holder(item.identity->hash), std::nullopt);
  EXPECT_EQ(own_rows(), "0");
  EXPECT_TRUE(admit(keyed("order-1")).created()) << "the store goes on";
}

TEST_P(TransactionConformance, AHeldIdentityAnswersInsideToo) {
  if (!has_transactions()) { return; }
  const NewExecution first = keyed("order-1");
  admit_id(first);
  EXPECT_TRUE(run([&](Transaction& tx) {
    const NewExecution again = keyed("order-1");
    const Admission admission = tx.admit({&again, 1}).at(0);
    EXPECT_EQ(admission.verdict, AdmissionVerdict::deduplicated);
    EXPECT_EQ(admission.id, first.id);
  }));
}

TEST_P(TransactionConformance, TwoEnqueuesOfOneKeyInsideAreOne) {
  if (!has_transactions()) { return; }
  const NewExecution first = keyed("order-1");
  const NewExecution again = keyed("order-1");
  EXPECT_TRUE(run([&](Transaction& tx) {
    EXPECT_TRUE(tx.admit({&first, 1}).at(0).created());
    EXPECT_EQ(tx.admit({&again, 1}).at(0).id, first.id);
  }));
  EXPECT_FALSE(store().get(again.id).has_value());
}

TEST_P(TransactionConformance, AnOutcomeAndTheCallersWritesCommitTogether) {
  if (!has_transactions()) { return; }
  const Uuid id = admit_id(request());
  TestWorker one = worker();
  const Claim claim = claim_one(one);
  const std::shared_ptr<Store> other = second();
  EXPECT_TRUE(run([&](Transaction& tx) {
    write_row(tx);
    tx.finish(completed(claim, "7"));
    EXPECT_EQ(other->get(id)->status, Status::running) << "not before the commit";
  }));
  EXPECT_EQ(status(id), Status::completed);
  EXPECT_EQ(get(id).result, "7");
  EXPECT_EQ(own_rows(), "1");
  EXPECT_EQ(finish(completed(claim, "7")), FinishVerdict::accepted) << "asked again";
}

TEST_P(TransactionConformance, AnOutcomeThatIsRolledBackNeverWas) {
  if (!has_transactions()) { return; }
  const Uuid id = admit_id(request());
  TestWorker one = worker();
  const Claim claim = claim_one(one);
  EXPECT_THROW(run([&](Transaction& tx) {
                 write_row(tx);
                 tx.finish(completed(claim));
                 throw std::domain_error("after all");
               }),
               std::domain_error);
  EXPECT_EQ(status(id), Status::running);
  EXPECT_EQ(own_rows(), "0");
  EXPECT_EQ(finish(ending(claim, FinishKind::retry)), FinishVerdict::accepted);
}

TEST_P(TransactionConformance, AStaleFinishThrowsAndNothingCommits) {
  if (!has_transactions()) { return; }
  const Uuid id = admit_id(request());
  TestWorker one = worker();
  const Claim old = claim_one(one);
  EXPECT_EQ(finish(ending(old, FinishKind::retry)), FinishVerdict::accepted);
  const Claim present = claim_one(one);
  const NewExecution item = request();
  EXPECT_FALSE(run([&](Transaction& tx) {
    write_row(tx);
    EXPECT_TRUE(tx.admit({&item, 1}).at(0).created());
    tx.finish(completed(old));
    ADD_FAILURE() << "the stale finish did not throw";
  }));
  EXPECT_EQ(own_rows(), "0");
  EXPECT_FALSE(store().get(item.id).has_value());
  EXPECT_EQ(status(id), Status::running);
  EXPECT_EQ(finish(completed(present)), FinishVerdict::accepted);
}

TEST_P(TransactionConformance, AStaleFinishThatTheCallerSwallowsStillCommitsNothing) {
  if (!has_transactions()) { return; }
  Claim nobody;
  nobody.id = base::new_uuid7();
  EXPECT_FALSE(run([&](Transaction& tx) {
    write_row(tx);
    EXPECT_THROW(tx.finish(completed(nobody)), StaleLease);
  }));
  EXPECT_EQ(own_rows(), "0");
  EXPECT_TRUE(run([&](Transaction& tx) { write_row(tx); })) << "the next transaction is not its concern";
  EXPECT_EQ(own_rows(), "1");
}

TEST_P(TransactionConformance, SomebodyWhoWaitsForTheKeySeesWhatWasCommitted) {
  if (!has_transactions()) { return; }
  const NewExecution ours = keyed("order-1");
  const NewExecution theirs = keyed("order-1");
  Admission answer;
  std::thread other;
  const std::shared_ptr<Store> handle = second();
  EXPECT_TRUE(run([&](Transaction& tx) {
    EXPECT_TRUE(tx.admit({&ours, 1}).at(0).created());
    other = std::thread([&] { answer = handle->admit({&theirs, 1}).at(0); });
  }));
  other.join();
  EXPECT_EQ(answer.verdict, AdmissionVerdict::deduplicated);
  EXPECT_EQ(answer.id, ours.id);
}

TEST_P(TransactionConformance, SomebodyWhoWaitsForTheKeyGetsItWhenItIsRolledBack) {
  if (!has_transactions()) { return; }
  const NewExecution ours = keyed("order-1");
  const NewExecution theirs = keyed("order-1");
  Admission answer;
  std::thread other;
  const std::shared_ptr<Store> handle = second();
  EXPECT_THROW(run([&](Transaction& tx) {
                 EXPECT_TRUE(tx.admit({&ours, 1}).at(0).created());
                 other = std::thread([&] { answer = handle->admit({&theirs, 1}).at(0); });
                 throw std::domain_error("never mind");
               }),
               std::domain_error);
  other.join();
  EXPECT_TRUE(answer.created());
  EXPECT_EQ(answer.id, theirs.id);
}

TEST_P(TransactionConformance, APlainEnqueueInsideALentTransactionIsAnError) {
  if (!has_transactions() || GetParam() != Form::lent) { return; }
  const NewExecution item = request();
  EXPECT_TRUE(run([&](Transaction& tx) {
    EXPECT_THROW(std::ignore = store().admit({&item, 1}), UsageError);
    EXPECT_THROW(store().transaction([](Transaction&) {}), UsageError);
    write_row(tx);
  }));
  EXPECT_FALSE(store().get(item.id).has_value());
  EXPECT_EQ(own_rows(), "1");
}

TEST_P(TransactionConformance, AnotherThreadMayEnqueueWhileATransactionIsLent) {
  if (!has_transactions() || GetParam() != Form::lent) { return; }
  const NewExecution item = request();
  std::thread other;
  EXPECT_TRUE(run([&](Transaction& tx) {
    other = std::thread([&] { EXPECT_TRUE(store().admit({&item, 1}).at(0).created()); });
    write_row(tx);
  }));
  other.join();
  EXPECT_EQ(status(item.id), Status::pending);
}

TEST_P(TransactionConformance, ACallersOwnCommitInsideALentTransactionIsAnError) {
  if (!capabilities().attaches_transaction || GetParam() != Form::lent) { return; }
  EXPECT_THROW(run([&](Transaction& tx) { execute(tx, "COMMIT"); }), UsageError);
  EXPECT_TRUE(run([&](Transaction& tx) { write_row(tx); })) << "the next transaction is not its concern";
  EXPECT_EQ(own_rows(), "1");
}

TEST_P(TransactionConformance, AConnectionWithoutAnOpenTransactionCannotBeAttached) {
  if (!has_transactions() || GetParam() != Form::attached) { return; }
  EXPECT_THROW(std::ignore = store().attach(connection_), UsageError);
  EXPECT_THROW(std::ignore = store().attach(nullptr), UsageError);
  EXPECT_EQ(command("BEGIN"), "BEGIN");
  const std::unique_ptr<Transaction> tx = store().attach(connection_);
  EXPECT_EQ(command("COMMIT"), "COMMIT");
  const NewExecution item = request();
  EXPECT_THROW(std::ignore = tx->admit({&item, 1}), UsageError) << "its transaction is over";
}

TEST_P(TransactionConformance, TheCallersSettingsAreAsTheyWere) {
  if (!has_transactions() || GetParam() != Form::attached) { return; }
  EXPECT_EQ(command("SET search_path = pg_catalog"), "SET");
  const NewExecution item = keyed("order-1");
  EXPECT_TRUE(run([&](Transaction& tx) {
    EXPECT_TRUE(tx.admit({&item, 1}).at(0).created());
    PGresult* const result = PQexec(connection_, "SHOW search_path");
    EXPECT_STREQ(PQgetvalue(result, 0, 0), "pg_catalog");
    PQclear(result);
  }));
}

TEST_P(TransactionConformance, ARequestMadeByAnOlderCatalogueLeavesTheTransactionAsItWas) {
  if (!has_transactions()) { return; }
  (void)store().declare_task({.namespace_name = "default", .name = "pay", .definition = "{}", .origin = "code"});
  std::vector<NewExecution> items{request(), keyed("a")};
  for (NewExecution& item : items) { item.catalogue_version = 0; }
  EXPECT_TRUE(run([&](Transaction& tx) {
    write_row(tx);
    for (NewExecution& item : items) {
      EXPECT_THROW((void)tx.admit({&item, 1}), store::CatalogueChanged);
      item.catalogue_version = 1;
      EXPECT_TRUE(tx.admit({&item, 1}).front().created());
    }
  }));
  EXPECT_EQ(own_rows(), "1");
  for (const NewExecution& item : items) { EXPECT_EQ(status(item.id), Status::pending); }
}

INSTANTIATE_TEST_SUITE_P(Forms, TransactionConformance, ::testing::Values(Form::lent, Form::attached),
                         [](const auto& tested) { return tested.param == Form::lent ? "lent" : "attached"; });

}  // namespace

}  // namespace hapax::conformance
