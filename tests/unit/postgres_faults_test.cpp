// PostgreSQL that misbehaves: settings that change at run time, read-only sessions, hanging hosts, poolers.
#include "base/uuid7.hpp"
#include "store/open.hpp"
#include "unit/own_postgres.hpp"
#include "unit/postgres_fixture.hpp"

#include <hapax/error.hpp>

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <thread>

namespace hapax::store {

namespace {

using SteadyClock = std::chrono::steady_clock;

NewExecution item_of(const std::string& key = "") {
  NewExecution item;
  item.id = base::new_uuid7();
  item.task = "work";
  if (!key.empty()) {
    item.identity = IdentityClaim{
        .hash = identity_hash({.namespace_name = "default", .scope = Scope::task, .name = item.task, .key = key}),
        .key = key};
  }
  return item;
}

std::string shown(Transaction& tx) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(
      PQexec(static_cast<PGconn*>(tx.native()), "SHOW synchronous_commit"), &PQclear);
  return PQgetvalue(result.get(), 0, 0);
}

const Finding* find(const std::vector<Finding>& findings, const std::string& subject) {
  const auto found = std::ranges::find(findings, subject, &Finding::subject);
  return found == findings.end() ? nullptr : &*found;
}

// ---- Durability ----------------------------------------------------------------------------------------------------

TEST_F(PostgresStoreTest, DurabilityIsRaisedFromOffAndLocalAndNeverLowered) {
  for (const char* pooler : {"", "&prepared=off"}) {
    for (const auto& [set, effective] :
         std::vector<std::pair<std::string, std::string>>{{"off", "on"},
                                                          {"local", "on"},
                                                          {"on", "on"},
                                                          {"remote_write", "remote_write"},
                                                          {"remote_apply", "remote_apply"}}) {
      const auto store = open(url_ + pooler + "&options=-c%20synchronous_commit%3D" + set);
      store->transaction([&](Transaction& tx) { EXPECT_EQ(shown(tx), effective) << set << pooler; });
      EXPECT_EQ(store->sql("SELECT current_setting('synchronous_commit')", 1).rows.at(0).at(0), effective) << set;
      const auto findings = store->doctor();
      const Finding* const finding = find(findings, "synchronous_commit");
      ASSERT_NE(finding, nullptr);
      EXPECT_EQ(finding->level, set == effective ? Finding::Level::ok : Finding::Level::warning) << set;
    }
  }
}

TEST_F(PostgresStoreTest, ATransactionOfTheCallersKeepsItsOwnDurability) {
  Psql user(server_url());
  user.run("BEGIN");
  user.run("SET LOCAL synchronous_commit = off");
  const NewExecution item = request();
  EXPECT_TRUE(store_->attach(user.native())->admit({&item, 1}).at(0).created());
  EXPECT_EQ(user.run("SHOW synchronous_commit"), "off");
  user.run("ROLLBACK");
}

// Plain requests, identities, guards, COPY of both kinds: each kind of admission acknowledges on its own.
std::vector<Uuid> admit_each_way(Store& store, const std::string& mark) {
  std::vector<Uuid> acknowledged;
  const auto admit = [&](const std::vector<NewExecution>& items) {
    for (const Admission& admission : store.admit(items)) {
      EXPECT_TRUE(admission.created());
      acknowledged.push_back(admission.id);
    }
  };
  std::vector<NewExecution> many;
  std::vector<NewExecution> many_keyed;
  for (int i = 0; i < 600; ++i) {
    many.push_back(item_of());
    many_keyed.push_back(item_of(mark + "-many-" + std::to_string(i)));
  }
  admit(many);
  admit(many_keyed);
  for (int i = 0; i < 10; ++i) {
    admit({item_of()});
    admit({item_of(mark + std::to_string(i))});
    store.transaction([&](Transaction& tx) {
      const NewExecution item = item_of();
      acknowledged.push_back(tx.admit({&item, 1}).at(0).id);
    });
  }
  return acknowledged;
}

class Durability : public ::testing::TestWithParam<const char*> {};

TEST_P(Durability, NoAcknowledgedEnqueueIsLostWhenSynchronousCommitIsTurnedOffMeanwhile) {
  const std::string how = GetParam();
  OwnServer server;
  std::string url = server.url();
  if (how == "pooler") {
    server.start_pgbouncer();
    url = server.pgbouncer_url();
    (void)migrate(server.url());
  }
  auto store = open(url, {.migrate = Migrate::yes});
  std::vector<Uuid> acknowledged = admit_each_way(*store, "before");
  {
    Psql admin(server.url());
    for (const char* setting : {"wal_writer_delay = '10s'", "wal_writer_flush_after = '1GB'", "autovacuum = off"}) {
      admin.run(std::string("ALTER SYSTEM SET ") + setting);
    }
    admin.run(how == "database" ? "ALTER DATABASE postgres SET synchronous_commit = off"
                                : "ALTER SYSTEM SET synchronous_commit = off");
    admin.run("SELECT pg_reload_conf()");
    const auto give_up = SteadyClock::now() + 30s;
    while (Psql(server.url()).run("SHOW synchronous_commit") != "off" && SteadyClock::now() < give_up) {}
    if (how != "system") {
      admin.run(
          "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
          "backend_type = 'client backend'");
    }
  }
  // A synchronous commit also carries earlier asynchronous ones to the disk, so only the last admission, a plain one,
  // shows that it was synchronous by itself.
  for (const Uuid& id : admit_each_way(*store, "after")) { acknowledged.push_back(id); }
  const NewExecution last = item_of();
  EXPECT_TRUE(store->admit({&last, 1}).at(0).created());
  acknowledged.push_back(last.id);
  server.stop_immediately();
  server.start();
  store = open(server.url());
  int lost = 0;
  for (const Uuid& id : acknowledged) { lost += store->get(id) ? 0 : 1; }
  EXPECT_EQ(lost, 0) << "of " << acknowledged.size();
}

INSTANTIATE_TEST_SUITE_P(Of, Durability, ::testing::Values("system", "database", "pooler"),
                         [](const auto& parameter) { return std::string(parameter.param); });

// ---- Read-only sessions --------------------------------------------------------------------------------------------

TEST(PostgresFaultsTest, AConnectionThatMayNotWriteIsDroppedAndWritesGoOn) {
  OwnServer server;
  const auto store = open(server.url(), {.migrate = Migrate::yes});
  const NewExecution before = item_of();
  EXPECT_TRUE(store->admit({&before, 1}).at(0).created());
  Psql admin(server.url());
  admin.run("ALTER DATABASE postgres SET default_transaction_read_only = on");
  admin.run(
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
      "backend_type = 'client backend'");
  const NewExecution refused = item_of();
  EXPECT_THROW((void)store->admit({&refused, 1}), StoreUnavailable);
  NewSession session;
  session.id = base::new_uuid7();
  session.lease = 1h;
  EXPECT_THROW(store->open_session(session), StoreUnavailable);
  EXPECT_TRUE(store->get(before.id)) << "reads go on";
  admin.run("SET default_transaction_read_only = off");
  admin.run("ALTER DATABASE postgres RESET default_transaction_read_only");
  const NewExecution after = item_of();
  EXPECT_TRUE(store->admit({&after, 1}).at(0).created());
  EXPECT_NO_THROW(store->open_session(session));
  const ClaimRequest claim{.session = session.id, .claim_number = 1, .queues = {{}}, .limit = 5, .idle = 5};
  EXPECT_EQ(store->claim(claim).claims.size(), 2U);
}

// ---- Hosts that hang -----------------------------------------------------------------------------------------------

std::string with_hosts(const OwnServer& first, const OwnServer& second, const std::string& parameters) {
  const std::string& url = second.url();
  std::string whole = url;
  whole.replace(whole.find(second.address()), second.address().size(), first.address() + "," + second.address());
  return whole + "?" + parameters;
}

void share_password(Psql& admin, const OwnServer& with) {
  const std::string& url = with.url();
  const std::size_t at = url.find("postgres:") + 9;
  admin.run("ALTER ROLE postgres PASSWORD '" + url.substr(at, url.find('@') - at) + "'");
}

// Makes each later commit wait for a replica of this name; an empty name: for none.
void wait_for_replica(Psql& admin, const std::string& name) {
  admin.run("CREATE TABLE IF NOT EXISTS probe (n int)");
  admin.run("ALTER SYSTEM SET synchronous_standby_names = '" + name + "'");
  admin.run("SELECT pg_reload_conf()");
  const auto give_up = SteadyClock::now() + 30s;
  while (admin.run("SHOW synchronous_standby_names") != name && SteadyClock::now() < give_up) {
    std::this_thread::sleep_for(20ms);
  }
  // Commits wait only after the checkpointer, a process of its own, has applied the setting too.
  bool waits = name.empty();
  while (!waits && SteadyClock::now() < give_up) {
    PQsendQuery(admin.native(), "INSERT INTO probe VALUES (1)");
    for (int looks = 0; looks < 20 && PQconsumeInput(admin.native()) == 1 && PQisBusy(admin.native()) == 1; ++looks) {
      std::this_thread::sleep_for(10ms);
    }
    waits = PQisBusy(admin.native()) == 1;
    if (waits) {
      const std::unique_ptr<PGcancel, decltype(&PQfreeCancel)> cancel(PQgetCancel(admin.native()), &PQfreeCancel);
      char error[256];
      EXPECT_EQ(PQcancel(cancel.get(), error, sizeof error), 1) << error;
    }
    while (PGresult* result = PQgetResult(admin.native())) { PQclear(result); }
  }
}

TEST(PostgresFaultsTest, AFirstHostThatHangsIsPassedOver) {
  OwnServer first;
  OwnServer second;
  (void)migrate(second.url());
  first.freeze();
  for (const char* parameters : {"", "connect_timeout=2"}) {
    const auto start = SteadyClock::now();
    const auto store = open(with_hosts(first, second, parameters));
    const NewExecution item = item_of();
    EXPECT_TRUE(store->admit({&item, 1}).at(0).created());
    EXPECT_GE(SteadyClock::now() - start, 1s) << "the first host was not even asked";
    EXPECT_LT(SteadyClock::now() - start, 30s);
  }
}

TEST(PostgresFaultsTest, OfSeveralHostsTheOneThatTakesWritesIsUsed) {
  OwnServer reads;
  OwnServer writes;
  // Both servers have the same password and schema, so that only the right to write tells them apart.
  (void)migrate(reads.url());
  (void)migrate(writes.url());
  Psql admin(reads.url());
  share_password(admin, writes);
  admin.run("ALTER DATABASE postgres SET default_transaction_read_only = on");
  ASSERT_EQ(Psql(with_hosts(reads, writes, "target_session_attrs=any")).run("SHOW default_transaction_read_only"), "on")
      << "the first host takes connections";
  const auto store = open(with_hosts(reads, writes, ""));
  const NewExecution item = item_of();
  EXPECT_TRUE(store->admit({&item, 1}).at(0).created());
  EXPECT_EQ(Psql(writes.url()).run("SELECT count(*) FROM hapax.live"), "1");
}

// The standby was promoted, and every commit on the old primary waits for it. Once the store has seen the new primary,
// it never returns to the old one, even when the new one is unavailable.
TEST(PostgresFaultsTest, AnOldPrimaryThatCannotCommitIsLeftForGood) {
  OwnServer old;
  OwnServer promoted;
  (void)migrate(old.url());
  (void)migrate(promoted.url());
  promoted.stop();
  promoted.start_promoted();
  Psql admin(old.url());
  share_password(admin, promoted);
  const auto store = open(with_hosts(old, promoted, "answer_timeout=6s"), {.connect_timeout = 3s});
  const NewExecution before = item_of();
  EXPECT_TRUE(store->admit({&before, 1}).at(0).created());
  ASSERT_EQ(admin.run("SELECT count(*) FROM hapax.live"), "1") << "the old primary was asked first";
  wait_for_replica(admin, "gone");
  const NewExecution during = item_of();
  EXPECT_TRUE(store->admit({&during, 1}).at(0).created());
  EXPECT_EQ(Psql(promoted.url()).run("SELECT count(*) FROM hapax.live"), "1");
  wait_for_replica(admin, "");
  promoted.stop();
  const NewExecution refused = item_of();
  EXPECT_THROW((void)store->admit({&refused, 1}), StoreUnavailable);
  promoted.start();
  const NewExecution after = item_of();
  EXPECT_TRUE(store->admit({&after, 1}).at(0).created());
  EXPECT_EQ(Psql(promoted.url()).run("SELECT count(*) FROM hapax.live"), "2");
}

// ---- A server that hangs -------------------------------------------------------------------------------------------

TEST(PostgresFaultsTest, ACallOfAServerThatHangsEndsWithinItsAnswerTimeout) {
  OwnServer server;
  const auto store = open(server.url() + "?answer_timeout=4s", {.migrate = Migrate::yes});
  const NewExecution before = item_of();
  EXPECT_TRUE(store->admit({&before, 1}).at(0).created());
  (void)store->now();
  server.freeze();
  const auto start = SteadyClock::now();
  const NewExecution during = item_of();
  EXPECT_THROW((void)store->admit({&during, 1}), StoreUnavailable) << "CommitUnknown, as nobody knows";
  EXPECT_LT(SteadyClock::now() - start, 30s);
  const auto again = SteadyClock::now();
  EXPECT_THROW((void)store->now(), StoreUnavailable);
  EXPECT_LT(SteadyClock::now() - again, 30s);
  server.thaw();
  const auto give_up = SteadyClock::now() + 60s;
  bool back = false;
  while (!back && SteadyClock::now() < give_up) {
    try {
      back = store->get(before.id).has_value();
    } catch (const StoreUnavailable&) { std::this_thread::sleep_for(50ms); }
  }
  EXPECT_TRUE(back);
  const NewExecution after = item_of();
  EXPECT_TRUE(store->admit({&after, 1}).at(0).created());
}

// PostgreSQL answers a cancelled wait with success, so the store drops the connection and never cancels the statement.
TEST(PostgresFaultsTest, ACommitThatWaitsForAReplicaIsUnknownWithinTheAnswerTimeoutAndKeptLater) {
  OwnServer server;
  const auto store = open(server.url() + "?answer_timeout=4s", {.migrate = Migrate::yes});
  const NewExecution before = item_of();
  EXPECT_TRUE(store->admit({&before, 1}).at(0).created());
  Psql admin(server.url());
  wait_for_replica(admin, "gone");
  for (const std::string& key : {std::string(), std::string("order-1")}) {
    const NewExecution waits = item_of(key);
    const auto start = SteadyClock::now();
    EXPECT_THROW((void)store->admit({&waits, 1}), CommitUnknown);
    EXPECT_LT(SteadyClock::now() - start, 30s);
    EXPECT_FALSE(store->get(waits.id)) << "it is not acknowledged before the replica has it";
  }
  wait_for_replica(admin, "");
  const auto give_up = SteadyClock::now() + 60s;
  while (admin.run("SELECT count(*) FROM hapax.live") != "3" && SteadyClock::now() < give_up) {
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(admin.run("SELECT count(*) FROM hapax.live"), "3");
}

TEST(PostgresFaultsTest, AnAnswerTimeoutOutOfRangeIsRefused) {
  for (const char* value : {"0s", "2h", "soon", "-1s", ""}) {
    try {
      (void)open(std::string("postgresql://127.0.0.1:1/x?answer_timeout=") + value);
      ADD_FAILURE() << value;
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find("answer_timeout"), std::string::npos) << error.what();
    }
  }
}

// ---- Poolers -------------------------------------------------------------------------------------------------------

TEST_F(PostgresStoreTest, APoolerThatMixesUpPreparedStatementsIsNoticed) {
  std::string url = environment("HAPAX_TEST_PGBOUNCER_URL");
  url = url.substr(0, url.find('?')) + "?schema=" + schema_;
  const auto store = open(url);
  for (int i = 0; i < 20; ++i) {
    const std::vector<NewExecution> items{request(), keyed("k" + std::to_string(i))};
    for (const Admission& admission : store->admit(items)) { EXPECT_TRUE(admission.created()); }
    (void)store->now();
  }
  EXPECT_EQ(count("live"), "40");
  const auto findings = store->doctor();
  const Finding* const finding = find(findings, "pooler");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->advice.find("prepared=off"), std::string::npos);
}

}  // namespace

}  // namespace hapax::store
