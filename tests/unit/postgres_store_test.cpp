// Behaviour of the PostgreSQL store alone: broken connections, other sessions' transactions, plans, notifications.
#include "base/fault.hpp"
#include "base/uuid7.hpp"
#include "store/open.hpp"
#include "unit/own_postgres.hpp"
#include "unit/postgres_fixture.hpp"

#include <hapax/error.hpp>

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <set>
#include <thread>

namespace hapax::store {

namespace {

// ---- Answers that get lost -----------------------------------------------------------------------------------------

TEST_F(PostgresStoreTest, AnEnqueueWhoseReplyIsLostIsReadBackAndNotDoneTwice) {
  for (const bool with_identity : {false, true}) {
    for (const char* point : {"postgres.admit.after_commit", "postgres.admit.before_commit"}) {
      const NewExecution item = with_identity ? keyed(point) : request();
      const std::string before = count("live");
      base::arm_faults(std::string(point) + "=throw");
      const Admission admission = store_->admit({&item, 1}).at(0);
      EXPECT_TRUE(admission.created()) << point;
      EXPECT_EQ(admission.id, item.id);
      EXPECT_EQ(std::stoi(count("live")), std::stoi(before) + 1) << point;
    }
  }
}

TEST_F(PostgresStoreTest, ABulkEnqueueWhoseReplyIsLostIsReadBack) {
  std::vector<NewExecution> items;
  for (int i = 0; i < 1200; ++i) { items.push_back(request()); }
  base::arm_faults("postgres.admit.after_commit=throw");
  for (const Admission& admission : store_->admit(items)) { EXPECT_TRUE(admission.created()); }
  EXPECT_EQ(count("live"), "1200");
}

TEST_F(PostgresStoreTest, ABulkOfIdentitiesWhoseReplyIsLostIsReadBack) {
  int made = 0;
  for (const char* point : {"postgres.admit.after_commit", "postgres.admit.before_commit"}) {
    std::vector<NewExecution> items;
    for (int i = 0; i < 1200; ++i) { items.push_back(keyed("k" + std::to_string(made++))); }
    base::arm_faults(std::string(point) + "=throw");
    for (const Admission& admission : store_->admit(items)) { EXPECT_TRUE(admission.created()) << point; }
    EXPECT_EQ(count("live"), std::to_string(made)) << point;
    EXPECT_EQ(count("identities"), std::to_string(made)) << point;
  }
}

TEST_F(PostgresStoreTest, ABulkOfIdentitiesDoesNotWaitForOneThatAnOpenTransactionHas) {
  Psql user(server_url());
  user.run("BEGIN");
  const NewExecution theirs = keyed("k7");
  EXPECT_TRUE(store_->attach(user.native())->admit({&theirs, 1}).at(0).created());
  std::vector<NewExecution> items;
  for (int i = 0; i < 600; ++i) { items.push_back(keyed("k" + std::to_string(i))); }
  EXPECT_THROW((void)store_->try_admit(items), Blocked);
  EXPECT_EQ(count("live"), "0") << "a blocked batch changes nothing";
  user.run("ROLLBACK");
  for (const Admission& admission : store_->admit(items)) { EXPECT_TRUE(admission.created()); }
  EXPECT_EQ(count("live"), "600");
}

TEST_F(PostgresStoreTest, AClaimWhoseReplyIsLostIsReadBackWithItsFinishes) {
  const Uuid worker = session();
  std::vector<NewExecution> items;
  for (int i = 0; i < 10; ++i) { items.push_back(request()); }
  (void)store_->admit(items);
  const ClaimRequest first = claim_of(worker, 1, 5);
  const std::vector<Claim> held = store_->claim(first).claims;
  ASSERT_EQ(held.size(), 5U);
  std::vector<Finish> finishes;
  for (const Claim& claim : held) { finishes.push_back(completed(claim)); }
  for (const char* point : {"postgres.exchange.before_commit", "postgres.exchange.after_commit"}) {
    base::arm_faults(std::string(point) + "=throw");
    const ClaimRequest next = claim_of(worker, 2, 5);
    const Exchange exchange = store_->exchange(finishes, &next);
    for (const FinishVerdict verdict : exchange.verdicts) { EXPECT_EQ(verdict, FinishVerdict::accepted); }
    ASSERT_EQ(exchange.claim.claims.size(), 5U) << point;
    EXPECT_EQ(exchange.claim.claims.front().fence, 1);
    EXPECT_EQ(count("history"), "5");
    EXPECT_EQ(psql_.run("SELECT count(*) FROM " + schema_ + ".live WHERE state = 1"), "5");
    // The second crash point uses the same five executions: they are released and claimed again.
    if (std::string(point) == "postgres.exchange.before_commit") {
      std::vector<Finish> released;
      for (const Claim& claim : exchange.claim.claims) {
        released.push_back({.id = claim.id, .fence = claim.fence, .kind = FinishKind::released});
      }
      (void)store_->finish(released);
      psql_.run("UPDATE " + schema_ + ".live SET fence = 0");
    }
  }
}

TEST_F(PostgresStoreTest, ATurnWhoseReplyIsLostIsKeptOnce) {
  const Uuid worker = session();
  NewExecution flow = request();
  flow.kind = Kind::workflow;
  (void)store_->admit({&flow, 1});
  ClaimRequest request_of_flows = claim_of(worker, 1, 1);
  request_of_flows.tasks = {flow.task};
  const Claim claim = store_->claim(request_of_flows).claims.at(0);
  std::int32_t position = 0;
  for (const bool starts : {false, true}) {
    JournalEntry entry{.position = position++, .kind = 1, .name = "a", .data = "1"};
    if (starts) { entry.start = std::make_shared<const NewExecution>(request()); }
    const Advance turn{.execution = claim.id, .fence = claim.fence, .entries = {entry}};
    base::arm_faults("postgres.advance.after_commit=throw");
    EXPECT_EQ(store_->advance({&turn, 1}).at(0).verdict, FinishVerdict::accepted);
    EXPECT_EQ(store_->advance({&turn, 1}).at(0).verdict, FinishVerdict::stale) << "sent a second time";
    EXPECT_EQ(count("journal"), std::to_string(position));
  }
  EXPECT_EQ(count("live"), "2");
  Finish waits{.id = claim.id, .fence = claim.fence, .kind = FinishKind::waiting};
  JournalEntry last{.position = position, .kind = 1, .name = "b"};
  last.start = std::make_shared<const NewExecution>(request());
  waits.turn = std::make_shared<const Turn>(Turn{.entries = {last}});
  base::arm_faults("postgres.exchange.after_commit=throw");
  EXPECT_EQ(store_->finish({&waits, 1}).at(0), FinishVerdict::accepted);
  EXPECT_EQ(count("live"), "3");
}

TEST_F(PostgresStoreTest, ALentTransactionWhoseReplyIsLostSaysThatNobodyKnows) {
  const NewExecution item = request();
  base::arm_faults("postgres.transaction.after_commit=throw");
  EXPECT_THROW(store_->transaction([&](Transaction& tx) { (void)tx.admit({&item, 1}); }), CommitUnknown);
  EXPECT_TRUE(store_->get(item.id)) << "it was kept";
}

TEST_F(PostgresStoreTest, ACancelWhoseReplyIsLostIsAnsweredAsDone) {
  const NewExecution item = request();
  (void)store_->admit({&item, 1});
  base::arm_faults("postgres.cancel.after_commit=throw");
  const CancelResult done = store_->cancel({&item.id, 1}, "no more").at(0);
  EXPECT_EQ(done.verdict, CancelVerdict::cancelled);
  EXPECT_EQ(done.status, Status::cancelled);
  EXPECT_EQ(store_->cancel({&item.id, 1}, "no more").at(0).verdict, CancelVerdict::finished);
}

TEST_F(PostgresStoreTest, ASignalWhoseReplyIsLostIsKeptOnce) {
  NewExecution flow = request();
  flow.kind = Kind::workflow;
  (void)store_->admit({&flow, 1});
  const std::vector<Signal> signals(3, Signal{.execution = flow.id, .name = "paid"});
  int sent = 0;
  for (const std::size_t many : {1U, 3U}) {
    base::arm_faults("postgres.signal.after_commit=throw");
    for (const SignalResult& result : store_->signal(std::span(signals).first(many))) {
      EXPECT_EQ(result.verdict, SignalVerdict::accepted);
    }
    sent += static_cast<int>(many);
    EXPECT_EQ(count("events"), std::to_string(sent));
  }
}

TEST_F(PostgresStoreTest, TerminatedBackendsLoseNothingAndDoubleNothing) {
  const Uuid worker = session();
  std::atomic<bool> stop = false;
  std::thread terminator([&] {
    Psql killer(server_url());
    while (!stop) {
      killer.run("SELECT pg_terminate_backend(pid), pg_sleep(0.03) FROM pg_stat_activity WHERE application_name = '" +
                 schema_ + "'");
    }
  });
  std::set<Uuid> acknowledged;
  std::set<Uuid> accepted;
  std::vector<Finish> finishes;
  std::int64_t number = 0;
  // On a busy machine no call may succeed for a while.
  for (int round = 0; round < 30 || (acknowledged.empty() && round < 300); ++round) {
    std::vector<NewExecution> items;
    for (int i = 0; i < 5; ++i) { items.push_back(i == 0 ? keyed("key-" + std::to_string(round)) : request()); }
    try {
      for (const Admission& admission : store_->admit(items)) {
        EXPECT_TRUE(admission.created());
        acknowledged.insert(admission.id);
      }
    } catch (const StoreUnavailable&) {
      // Too many kills in a row: nothing was acknowledged.
    }
    try {
      const ClaimRequest next = claim_of(worker, ++number, 5);
      const Exchange exchange = store_->exchange(finishes, &next);
      for (std::size_t i = 0; i < finishes.size(); ++i) {
        EXPECT_EQ(exchange.verdicts[i], FinishVerdict::accepted);
        EXPECT_TRUE(accepted.insert(finishes[i].id).second) << "a second accepted outcome";
      }
      finishes.clear();
      for (const Claim& claim : exchange.claim.claims) { finishes.push_back(completed(claim)); }
    } catch (const StoreUnavailable&) {
      // The same outcomes are sent again.
    }
  }
  stop = true;
  terminator.join();
  for (const Uuid& id : acknowledged) {
    EXPECT_TRUE(store_->get(id).has_value()) << "an acknowledged enqueue is gone: " << id.to_string();
  }
  EXPECT_EQ(psql_.run("SELECT count(*) - count(DISTINCT id) FROM (SELECT id FROM " + schema_ +
                      ".live UNION ALL SELECT id FROM " + schema_ + ".history) x"),
            "0");
  EXPECT_GT(acknowledged.size(), 0U);
}

// ---- Another server that may be stopped ----------------------------------------------------------------------------

TEST(PostgresServerTest, AServerThatWasStoppedImmediatelyAndRestartedIsUsedAgain) {
  OwnServer server;
  const auto store = open(server.url(), {.migrate = Migrate::yes, .connect_timeout = 2s});
  NewExecution before;
  before.id = base::new_uuid7();
  before.task = "work";
  EXPECT_TRUE(store->admit({&before, 1}).at(0).created());
  server.stop_immediately();
  NewExecution during = before;
  during.id = base::new_uuid7();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW((void)store->admit({&during, 1}), StoreUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
  EXPECT_THROW((void)store->now(), StoreUnavailable);
  EXPECT_THROW((void)open(server.url(), {.connect_timeout = 2s}), StoreUnavailable);
  server.start();
  EXPECT_TRUE(store->get(before.id).has_value());
  EXPECT_FALSE(store->get(during.id).has_value());
  EXPECT_TRUE(store->admit({&during, 1}).at(0).created());
}

TEST_F(PostgresStoreTest, OneConnectionIsEnoughForDoctor) {
  const auto lone = open(url_ + "&pool=1");
  const auto findings = lone->doctor();
  ASSERT_GE(findings.size(), 2U);
  EXPECT_EQ(findings[1].subject, "schema");
}

TEST(PostgresServerTest, MessagesNeverCarryThePassword) {
  for (const char* url : {"postgresql://someone:s3cret@127.0.0.1:1/nowhere", "postgresql://a:s3cret@[broken",
                          "postgresql://a:s3cret@127.0.0.1:1/x?schema=", "postgresql://a:s3cret@127.0.0.1:1/x?pool=0",
                          "postgresql://a:s3cret@127.0.0.1:1/x?awake=maybe",
                          "postgresql://a:s3cret@127.0.0.1:1/x?listen_url=postgresql%3A%2F%2Fb%3As3cret%40%5B"}) {
    try {
      (void)open(url, {.connect_timeout = 2s});
      ADD_FAILURE() << url << " was opened";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("s3cret"), std::string::npos) << error.what();
    }
  }
}

// ---- Plans ---------------------------------------------------------------------------------------------------------

TEST_F(PostgresStoreTest, AClaimReadsWhatItTakesHoweverLongTheQueueIs) {
  constexpr int backlog = 20'000;
  constexpr int taken = 10;
  const Uuid worker = session();
  {
    // This connection plans its statements while the table is empty; a bad plan would later scan the whole table.
    const auto other = open(url_, {.migrate = Migrate::no});
    for (std::int64_t number = 1; number <= 8; ++number) {
      const ClaimRequest empty = claim_of(worker, number, taken);
      EXPECT_TRUE(other->claim(empty).claims.empty());
    }
    for (int done = 0; done < backlog; done += 5000) {
      std::vector<NewExecution> items;
      for (int i = 0; i < 5000; ++i) { items.push_back(request()); }
      (void)other->admit(items);
    }
    std::vector<Finish> finishes;
    for (std::int64_t number = 9; number <= 18; ++number) {
      const ClaimRequest next = claim_of(worker, number, taken);
      const Exchange exchange = other->exchange(finishes, &next);
      finishes.clear();
      for (const Claim& claim : exchange.claim.claims) { finishes.push_back(completed(claim)); }
      ASSERT_EQ(finishes.size(), static_cast<std::size_t>(taken));
    }
  }
  // Closed connections report what they have read, but the server may take a moment.
  const std::string statistics = "FROM pg_stat_user_tables WHERE relname = 'live' AND schemaname = '" + schema_ + "'";
  while (psql_.run("SELECT n_tup_ins " + statistics) != std::to_string(backlog)) { std::this_thread::yield(); }
  while (psql_.run("SELECT n_tup_del " + statistics) == "0") { std::this_thread::yield(); }
  const int whole_reads = std::stoi(psql_.run("SELECT seq_tup_read " + statistics));
  const int index_reads = std::stoi(psql_.run("SELECT idx_tup_fetch " + statistics));
  EXPECT_EQ(whole_reads, 0);
  EXPECT_LT(index_reads, 2000) << "ten claims of ten, and their finishes, read " << index_reads << " of " << backlog;
}

TEST_F(PostgresStoreTest, ARepeatedCallReadsItsOwnRecordHoweverManyLastForEver) {
  constexpr int others = 300;
  constexpr int repeated = 20;
  const Uuid caller = session();
  const auto hash = [](int number) { return guard_identity_hash("default", "charge", std::to_string(number)); };
  {
    const auto other = open(url_, {.migrate = Migrate::no});
    const auto call = [&](int number) {
      NewExecution item = request();
      item.queue.name = guard_queue;
      item.kind = Kind::guard;
      item.identity = IdentityClaim{.hash = hash(number), .key = std::to_string(number), .reuse = Reuse::reject};
      item.born_running = BornRunning{.session = caller, .claim_number = number + 1};
      const Admission begun = other->admit({&item, 1}).at(0);
      Finish finish;
      finish.id = begun.id;
      finish.fence = begun.fence.value_or(0);
      finish.keep = Keep{};
      EXPECT_EQ(other->finish({&finish, 1}).at(0), FinishVerdict::accepted);
    };
    // Plans are made while one record exists; a bad plan would later scan all records that never expire.
    call(0);
    for (int i = 0; i < repeated; ++i) { EXPECT_TRUE(other->guard_outcome(hash(0)).has_value()); }
    for (int number = 1; number <= others; ++number) { call(number); }
    for (int i = 0; i < repeated; ++i) { EXPECT_TRUE(other->guard_outcome(hash(0)).has_value()); }
  }
  const std::string statistics =
      "FROM pg_stat_user_tables WHERE relname = 'history_default' AND schemaname = '" + schema_ + "'";
  while (psql_.run("SELECT n_tup_ins " + statistics) != std::to_string(others + 1)) { std::this_thread::yield(); }
  EXPECT_EQ(psql_.run("SELECT seq_tup_read " + statistics), "0");
  EXPECT_LE(std::stoi(psql_.run("SELECT idx_tup_fetch " + statistics)), 2 * repeated);
}

// ---- Wake-ups ------------------------------------------------------------------------------------------------------

TEST_F(PostgresStoreTest, AnAnnouncementWakesAListener) {
  const auto other = open(url_, {.migrate = Migrate::no});
  const auto listener = other->listen();
  EXPECT_FALSE(listener->wait(20ms)) << "nobody said anything";
  const std::vector<QueueRef> queues{{}};
  store_->announce(queues);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(listener->wait(10s));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

TEST_F(PostgresStoreTest, AListenerIsInterruptedAtOnce) {
  const auto listener = store_->listen();
  listener->interrupt();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(listener->wait(1min));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
}

TEST_F(PostgresStoreTest, AListenerWhoseConnectionBreaksSaysMaybeAndListensAgain) {
  const auto listener = store_->listen();
  EXPECT_GE(terminate_backends(), 1);
  EXPECT_TRUE(listener->wait(10s)) << "what came meanwhile may have been missed";
  const std::string listening =
      "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND "
      "application_name = '" +
      schema_ + "'";
  const auto give_up = std::chrono::steady_clock::now() + 20s;
  while (psql_.run(listening) == "0" && std::chrono::steady_clock::now() < give_up) { (void)listener->wait(100ms); }
  EXPECT_EQ(psql_.run(listening), "1");
  const std::vector<QueueRef> queues{{}};
  store_->announce(queues);
  EXPECT_TRUE(listener->wait(10s));
}

TEST_F(PostgresStoreTest, BehindAPoolerAListenerPolls) {
  const auto pooled = open(url_ + "&prepared=off", {.migrate = Migrate::no});
  const auto listener = pooled->listen();
  EXPECT_TRUE(listener->wait(10s));
}

// ---- Processes -----------------------------------------------------------------------------------------------------

TEST_F(PostgresStoreTest, AForkedChildMayNotUseItsParentsStore) {
  (void)store_->now();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int code = 1;
    try {
      (void)store_->now();
    } catch (const UsageError&) { code = 0; } catch (...) {
      code = 2;
    }
    _exit(code);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_NO_THROW((void)store_->now());
}

}  // namespace

}  // namespace hapax::store
