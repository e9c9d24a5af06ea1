// A sweep handles each row by itself: a row that cannot be read or changed never stops the others.
#include "conformance/workflow_fixture.hpp"

#include "base/limits.hpp"

#include <libpq-fe.h>
#include <sqlite3.h>

namespace hapax::conformance {

namespace {

// On the memory store no row can be damaged; the expectations about good rows hold there too.
class SweepConformance : public WorkflowConformance {
 protected:
  [[nodiscard]] bool has_rows() { return store().info().backend != "memory"; }

  void execute(const std::string& statement) {
    store().transaction([&](store::Transaction& tx) {
      if (store().info().backend == "sqlite") {
        char* error = nullptr;
        EXPECT_EQ(sqlite3_exec(static_cast<sqlite3*>(tx.native()), statement.c_str(), nullptr, nullptr, &error),
                  SQLITE_OK)
            << error;
        return;
      }
      auto* const connection = static_cast<PGconn*>(tx.native());
      PGresult* const result = PQexec(connection, statement.c_str());
      EXPECT_EQ(PQresultStatus(result), PGRES_COMMAND_OK) << PQerrorMessage(connection);
      PQclear(result);
    });
  }

  void set_labels(const Uuid& id, const std::string& labels) {
    if (!has_rows()) { return; }
    std::string hex;
    for (const char letter : id.to_string()) {
      if (letter != '-') { hex += letter; }
    }
    if (store().info().backend == "sqlite") {
      execute("UPDATE live SET labels = '" + labels + "' WHERE id = x'" + hex + "'");
    } else {
      const std::string schema = url().substr(url().find("schema=") + 7);
      execute("UPDATE " + schema + ".live SET labels = '" + labels + "' WHERE id = '" + id.to_string() + "'");
    }
  }

  struct Family {
    Uuid parent;
    Uuid child;
  };

  // A workflow that waits for its child. The child's labels say whether it outlives its parent, so while they are
  // malformed no cancellation or deadline can end the parent.
  Family bad_family(NewExecution parent) {
    (void)admit_id(parent);
    TestWorker starter = flow_worker(24h, {parent.queue.name});
    const Claim claim = claim_one(starter);
    NewExecution child = flow();
    child.queue.name = "children";
    child.parent = claim.id;
    Turn turn;
    turn.entries.push_back(starting(0, child));
    EXPECT_EQ(finish(turn_finish(claim, FinishKind::waiting, std::move(turn))), FinishVerdict::accepted);
    set_labels(child.id, "{broken");
    return {.parent = claim.id, .child = child.id};
  }

  Uuid task_due_within(Duration deadline) {
    NewExecution item = request("work", "tasks");
    item.deadline = deadline;
    return admit_id(item);
  }
};

TEST_F(SweepConformance, ABadRowAmongTheDeadlinesNeverStopsTheOthers) {
  NewExecution parent = flow();
  parent.deadline = 1min;
  const Family family = bad_family(parent);
  const Uuid first = task_due_within(30s);
  const Uuid last = task_due_within(90s);
  const NewExecution lost = request("work", "lost");
  (void)admit_id(lost);
  TestWorker doomed = worker(30s, {"lost"});
  (void)claim_one(doomed);
  advance(2min);

  const SweepReport report = sweep(true);

  EXPECT_EQ(status(first), Status::timed_out);
  EXPECT_EQ(status(last), Status::timed_out);
  EXPECT_EQ(status(lost.id), Status::pending);
  EXPECT_EQ(report.requeued, 1);
  if (!has_rows()) { return; }
  EXPECT_EQ(report.timed_out, 2);
  EXPECT_EQ(report.bad, 1);
  EXPECT_NE(report.first_error.find("labels"), std::string::npos) << report.first_error;
  EXPECT_LE(report.first_error.size(), limits::sweep_error_bytes);
  set_labels(family.child, "{}");
  EXPECT_EQ(status(family.parent), Status::pending);
  EXPECT_EQ(sweep().bad, 1) << "it is passed over for a while, and told";
  advance(limits::sweep_set_aside_for + 1s);
  EXPECT_EQ(sweep(), (SweepReport{.timed_out = 1})) << "it was mended";
  EXPECT_EQ(status(family.parent), Status::timed_out);
  EXPECT_EQ(status(family.child), Status::cancelled);
}

// No row is at fault: the sweep fails as a whole, and the next one succeeds once the store is repaired.
TEST_F(SweepConformance, APartThatFailsAsAWholeIsAFailedSweep) {
  if (!has_rows()) { return; }
  const bool sqlite = store().info().backend == "sqlite";
  const std::string table = sqlite ? "sessions" : url().substr(url().find("schema=") + 7) + ".sessions";
  const std::string away = "sessions_away";
  const Uuid due = task_due_within(30s);
  advance(1min);
  execute("ALTER TABLE " + table + " RENAME TO " + away);
  std::string failure;
  try {
    const SweepReport report = sweep();
    failure = report.failure;
    EXPECT_EQ(report.bad, 0);
  } catch (const Error& error) { failure = error.what(); }
  execute("ALTER TABLE " + table.substr(0, table.size() - 8) + away + " RENAME TO sessions");
  EXPECT_NE(failure.find("sessions"), std::string::npos) << failure;
  EXPECT_EQ(sweep().failure, "");
  EXPECT_EQ(status(due), Status::timed_out);
}

TEST_F(SweepConformance, BadRowsBeforeTheOthersDoNotUseUpTheLimit) {
  for (const char* queue : {"a", "b", "c"}) {
    NewExecution parent = flow();
    parent.queue.name = queue;
    parent.deadline = 30s;
    (void)bad_family(parent);
  }
  std::vector<Uuid> good;
  for (int i = 0; i < 5; ++i) { good.push_back(task_due_within(1min)); }
  advance(2min);
  for (int passes = 0; passes < 20; ++passes) { (void)store().sweep({.limit = 2}); }
  for (const Uuid& id : good) { EXPECT_EQ(status(id), Status::timed_out); }
}

TEST_F(SweepConformance, ABadRowOfALostSessionNeverStopsTheOthers) {
  NewExecution parent = flow();
  parent.max_lost = 1;
  const Family family = bad_family(parent);
  EXPECT_EQ(send(family.parent, "go").verdict, SignalVerdict::accepted);
  TestWorker doomed = flow_worker(10s, {"flows", "tasks"});
  EXPECT_EQ(claim_one(doomed).id, family.parent);
  doomed.tasks.clear();
  const NewExecution beside = request("work", "tasks");
  (void)admit_id(beside);
  EXPECT_EQ(claim_one(doomed).id, beside.id);
  const NewExecution apart = request("work", "apart");
  (void)admit_id(apart);
  TestWorker other = worker(10s, {"apart"});
  (void)claim_one(other);
  advance(11s);

  const SweepReport report = sweep();

  EXPECT_EQ(status(beside.id), Status::pending) << "it was lost with the bad one's session";
  EXPECT_EQ(status(apart.id), Status::pending);
  EXPECT_EQ(report.requeued, 2);
  if (!has_rows()) { return; }
  EXPECT_EQ(report.bad, 1);
  set_labels(family.child, "{}");
  EXPECT_EQ(status(family.parent), Status::running);
  advance(limits::sweep_set_aside_for + 1s);
  EXPECT_EQ(sweep().dead, 1) << "it was mended";
  EXPECT_EQ(status(family.parent), Status::failed);
}

TEST_F(SweepConformance, ADoctorTellsOfWhatNoSweepHasEnded) {
  const auto level = [&] {
    for (const store::Finding& finding : store().doctor()) {
      if (finding.subject == "overdue deadlines") { return finding.level; }
    }
    return store::Finding::Level::ok;
  };
  (void)task_due_within(1h);
  EXPECT_EQ(level(), store::Finding::Level::ok);
  advance(1h + 30s);
  EXPECT_EQ(level(), store::Finding::Level::ok) << "a sweep may still be on its way";
  advance(2min);
  EXPECT_EQ(level(), store::Finding::Level::warning) << "nobody who would sweep is alive";
  (void)worker();
  EXPECT_EQ(level(), store::Finding::Level::problem) << "a worker is alive, and sweeps in vain";
  (void)sweep();
  EXPECT_EQ(level(), store::Finding::Level::ok);
}

}  // namespace

}  // namespace hapax::conformance
