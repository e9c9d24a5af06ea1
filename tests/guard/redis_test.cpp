// Redis that is down, restarted, slow, full or refuses access: a clear error within the timeout, and the function does
// not run unless its caller has allowed it.
#include "own_redis.hpp"
#include "server_rigs.hpp"

#include "guard/redis_url.hpp"

#include <hapax/error.hpp>
#include <hapax/guard.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>

namespace hapax::guard_tests {

namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

}  // namespace

TEST_F(RedisTest, OneThatIsNotThereIsToldAtOnce) {
  EXPECT_THAT(failure([] { return open_guard_store("redis+unix:///nowhere/redis.sock?timeout=300ms"); }),
              HasSubstr("cannot be reached"));
  // No process listens on this port.
  EXPECT_THAT(failure([] { return open_guard_store("redis://127.0.0.1:1?timeout=300ms"); }),
              HasSubstr("redis://127.0.0.1:1"));
}

TEST_F(RedisTest, WhileItIsDownTheFunctionDoesNotRunAndAfterARestartItDoes) {
  OwnRedis server;
  const GuardStorePtr store = open_guard_store(server.url());
  const auto count = guarded(store);
  EXPECT_EQ(count(1), 1);
  server.stop();
  EXPECT_THAT(failure([&] { return count(2); }), HasSubstr("cannot be reached"));
  EXPECT_THAT(failure([&] { return count(1); }), HasSubstr("cannot be reached"));
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(guarded(store, OnStoreError::run)(3), 2);
  server.start();
  EXPECT_EQ(count(1), 1);  // the record survived the restart (appendonly), the scripts did not
  EXPECT_EQ(count(2), 3);
}

TEST_F(RedisTest, ARestartBetweenTwoCallsIsNotSeen) {
  OwnRedis server;
  const auto count = guarded(open_guard_store(server.url("", "2s")));
  EXPECT_EQ(count(1), 1);
  server.stop();
  server.start();
  EXPECT_EQ(count(2), 2);
}

// A failover: the address leads to the new primary; the old one goes on as a replica and keeps its connections.
TEST_F(RedisTest, ConnectionsToAServerThatBecameAReplicaAreNotKept) {
  for (const std::string stale_reads : {"yes", "no"}) {
    OwnRedis old_primary;
    const OwnRedis new_primary;
    const Folder folder;
    const std::string address = folder.path() + "/current.sock";
    std::filesystem::create_symlink(old_primary.socket(), address);
    const GuardStorePtr store = open_guard_store("redis+unix://" + address + "?timeout=5s");
    const auto count = guarded(store);
    const int before = runs_;
    EXPECT_EQ(count(1), before + 1);
    // With "no" a replica without a primary answers MASTERDOWN; with "yes" it answers READONLY to writes.
    old_primary.command("config set replica-serve-stale-data " + stale_reads);
    old_primary.command("replicaof 127.0.0.1 1");
    std::filesystem::remove(address);
    std::filesystem::create_symlink(new_primary.socket(), address);
    EXPECT_EQ(count(2), before + 2);
    EXPECT_EQ(count(2), before + 2);
  }
}

TEST_F(RedisTest, AServerThatStaysAReplicaIsToldWithinTheTimeout) {
  OwnRedis server;
  const auto count = guarded(open_guard_store(server.url("", "300ms")));
  server.command("replicaof 127.0.0.1 1");
  EXPECT_THAT(failure([&] { return count(1); }), HasSubstr("it is a replica"));
  EXPECT_EQ(runs_, 0);
  server.command("replicaof no one");
  EXPECT_EQ(count(1), 1);
}

TEST_F(RedisTest, ScriptsThatItHasForgottenAreSentAgain) {
  OwnRedis server;
  const auto count = guarded(open_guard_store(server.url()));
  EXPECT_EQ(count(1), 1);
  server.command("script flush");
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count(2), 2);
}

TEST_F(RedisTest, OneThatDoesNotAnswerIsGivenUpAfterTheTimeout) {
  OwnRedis server;
  const auto count = guarded(open_guard_store(server.url()));
  EXPECT_EQ(count(1), 1);
  server.signal(SIGSTOP);
  EXPECT_THAT(failure([&] { return count(1); }), HasSubstr("no answer within 2s"));
  EXPECT_THAT(failure([&] { return count(2); }), HasSubstr("no answer within 2s"));
  EXPECT_EQ(runs_, 1);
  server.signal(SIGCONT);
  EXPECT_EQ(count(1), 1);
}

// The server may execute a begin after its caller has given up. No caller runs it, so it must not hold the key; with
// takeover disabled it would hold it for ever.
TEST_F(RedisTest, ABeginThatWasGivenUpIsTakenBack) {
  OwnRedis server;
  const GuardStorePtr store = open_guard_store(server.url());
  const GuardStorePtr other = open_guard_store(server.url("", "5s"));
  GuardBegin request;
  request.takeover_after.reset();
  // Loads the script into the server, which would otherwise refuse a late begin as unknown.
  request.key = {.name = "count", .key = "[0]"};
  EXPECT_EQ(store->begin(request).begun, GuardBegun::started);
  request.key.key = "[1]";
  server.signal(SIGSTOP);
  EXPECT_THROW((void)store->begin(request), CommitUnknown);
  server.signal(SIGCONT);
  // The server now executes the begin that waited in its socket.
  for (int i = 0; i < 2000 && !other->read(request.key); ++i) { usleep(10'000); }
  EXPECT_EQ(other->begin(request).begun, GuardBegun::in_progress);
  request.key.key = "[2]";
  EXPECT_EQ(store->begin(request).begun, GuardBegun::started);
  request.key.key = "[1]";
  const GuardAnswer begun = other->begin(request);
  ASSERT_EQ(begun.begun, GuardBegun::started);
  EXPECT_EQ(other->finish(begun.hold, {.result = "1"}), GuardVerdict::accepted);
  EXPECT_EQ(store->begin(request).record.result, "1");
}

TEST_F(RedisTest, AHeartbeatTakesGivenUpBeginsBackToo) {
  OwnRedis server;
  const GuardStorePtr store = open_guard_store(server.url());
  GuardBegin request;
  request.key = {.name = "count", .key = "[0]"};
  request.takeover_after.reset();
  const GuardAnswer held = store->begin(request);
  ASSERT_EQ(held.begun, GuardBegun::started);
  request.key.key = "[1]";
  server.signal(SIGSTOP);
  EXPECT_THROW((void)store->begin(request), CommitUnknown);
  server.signal(SIGCONT);
  for (int i = 0; i < 2000 && !store->read(request.key); ++i) { usleep(10'000); }
  EXPECT_TRUE(store->beat(std::span(&held.hold, 1)).empty());
  EXPECT_FALSE(store->read(request.key).has_value());
}

// In every kind of failure: under `fail` the function does not run, under `run` it does, and both within the time
// limit.
TEST_F(RedisTest, InEveryTroubleTheCallerSaysWhetherTheFunctionRuns) {
  struct Trouble {
    std::string name;
    std::function<void(OwnRedis&)> begin;
    std::function<void(OwnRedis&)> end;
  };
  const std::vector<Trouble> troubles{
      {"down", [](OwnRedis& server) { server.stop(); }, [](OwnRedis& server) { server.start(); }},
      {"slow", [](OwnRedis& server) { server.signal(SIGSTOP); }, [](OwnRedis& server) { server.signal(SIGCONT); }},
      {"full", [](OwnRedis& server) { server.command("config set maxmemory 1"); },
       [](OwnRedis& server) { server.command("config set maxmemory 0"); }},
      {"another password",
       [](OwnRedis& server) {
         server.command("config set requirepass sesame");
         server.command("-a sesame client kill type normal");
       },
       [](OwnRedis& server) { server.command("-a sesame config set requirepass ''"); }}};
  for (const Trouble& trouble : troubles) {
    SCOPED_TRACE(trouble.name);
    OwnRedis server("maxmemory-policy noeviction");
    runs_ = 0;
    const GuardStorePtr store = open_guard_store(server.url());
    const auto fails = guarded(store);
    const auto goes_on = guarded(store, OnStoreError::run);
    EXPECT_EQ(fails(1), 1);
    trouble.begin(server);
    EXPECT_NE(failure([&] { return fails(2); }), "nothing was thrown");
    EXPECT_EQ(runs_, 1);
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(goes_on(3), 2);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 15s);
    trouble.end(server);
    EXPECT_EQ(fails(1), 1);
    EXPECT_EQ(fails(2), 3);
    // The function ran unguarded and left no record.
    EXPECT_EQ(goes_on(3), 4);
    EXPECT_EQ(goes_on(3), 4);
  }
}

TEST_F(RedisTest, OneThatIsFullSaysSoAndKeepsOutcomes) {
  OwnRedis server("maxmemory-policy noeviction");
  const GuardStorePtr store = open_guard_store(server.url());
  const auto count = guarded(store);
  EXPECT_EQ(count(1), 1);
  GuardBegin request;
  request.key = {.name = "held", .key = "k"};
  const GuardAnswer held = store->begin(request);
  ASSERT_EQ(held.begun, GuardBegun::started);
  server.command("config set maxmemory 1");
  const std::string told = failure([&] { return count(2); });
  EXPECT_THAT(told, HasSubstr("OOM"));
  EXPECT_THAT(told, HasSubstr("maxmemory"));
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(count(1), 1);  // reading needs no room
  // A finish is recorded even without room; otherwise the function would run again.
  EXPECT_TRUE(store->beat(std::span(&held.hold, 1)).empty());
  EXPECT_EQ(store->finish(held.hold, {.result = "7"}), GuardVerdict::accepted);
  EXPECT_EQ(store->read(request.key)->result, "7");
  server.command("config set maxmemory 0");
  EXPECT_EQ(count(2), 2);
}

TEST_F(RedisTest, AWrongPasswordIsToldWithoutIt) {
  OwnRedis server("requirepass sesame");
  const std::string wrong = failure([&] { return open_guard_store(server.url(":open-barley@")); });
  EXPECT_THAT(wrong, HasSubstr("WRONGPASS"));
  EXPECT_THAT(wrong, Not(HasSubstr("open-barley")));
  EXPECT_THAT(failure([&] { return open_guard_store(server.url()); }), HasSubstr("NOAUTH"));
  EXPECT_EQ(guarded(open_guard_store(server.url(":sesame@")))(1), 1);
}

TEST_F(RedisTest, AUserOfItsOwnMayDoNoMoreThanItNeeds) {
  OwnRedis server;
  server.command(
      "acl setuser guard on '>s3cr:t' '~hapax:guard:*' +evalsha +eval +hmget +hset +del +zadd +zrem "
      "+zrangebylex +pexpireat +persist +time +ping");
  const GuardStorePtr store = open_guard_store(server.url("guard:s3cr%3At@"));
  EXPECT_EQ(guarded(store)(1), 1);
  EXPECT_EQ(store->list({}).records.size(), 1U);
  EXPECT_EQ(store->sweep(10), 0U);
  const std::string refused =
      failure([&] { return guarded(open_guard_store(server.url("guard:s3cr%3At@") + "&prefix=other:"))(1); });
  EXPECT_THAT(refused, HasSubstr("NOPERM"));
  EXPECT_THAT(refused, Not(HasSubstr("s3cr:t")));
}

TEST_F(RedisTest, DatabasesAndPrefixesAreApart) {
  OwnRedis server;
  const auto first = guarded(open_guard_store(server.url()));
  const auto database = guarded(open_guard_store(server.url() + "&database=3"));
  const auto prefix = guarded(open_guard_store(server.url() + "&prefix=other:"));
  EXPECT_EQ(first(1), 1);
  EXPECT_EQ(database(1), 2);
  EXPECT_EQ(prefix(1), 3);
  EXPECT_EQ(server.command("-n 3 dbsize"), "2");
}

TEST_F(RedisTest, TheServerRemovesExpiredRecordsAndASweepTheirEntries) {
  OwnRedis server;
  const GuardStorePtr store = open_guard_store(server.url());
  GuardBegin request;
  request.key = {.name = "short", .key = "k"};
  const GuardAnswer held = store->begin(request);
  EXPECT_EQ(store->finish(held.hold, {.ttl = 1ms}), GuardVerdict::accepted);
  for (int i = 0; i < 2000 && server.command("dbsize") != "1"; ++i) { usleep(10'000); }
  EXPECT_EQ(server.command("dbsize"), "1");  // only the index is left
  EXPECT_FALSE(store->read(request.key).has_value());
  EXPECT_EQ(store->sweep(100), 1U);
  EXPECT_EQ(server.command("dbsize"), "0");
}

TEST(RedisUrl, SaysWhereAndWho) {
  const guard::RedisPlace place = guard::parse_redis_url(
      "redis://ann:p%40ss@db.example:7000/4?prefix=a:&timeout=250ms&connect_timeout=1s&connections=3");
  EXPECT_EQ(place.host, "db.example");
  EXPECT_EQ(place.port, 7000);
  EXPECT_EQ(place.user, "ann");
  EXPECT_EQ(place.password, "p@ss");
  EXPECT_EQ(place.database, 4);
  EXPECT_EQ(place.prefix, "a:");
  EXPECT_EQ(place.timeout, Duration(250ms));
  EXPECT_EQ(place.connect_timeout, Duration(1s));
  EXPECT_EQ(place.connections, 3U);
  EXPECT_THAT(place.shown, Not(HasSubstr("p%40ss")));
  EXPECT_EQ(guard::parse_redis_url("redis://[::1]:7001").host, "::1");
  EXPECT_EQ(guard::parse_redis_url("redis://[::1]:7001").port, 7001);
  EXPECT_EQ(guard::parse_redis_url("redis://localhost").port, 6379);
  EXPECT_EQ(guard::parse_redis_url("redis+unix://:secret@/run/r.sock").socket, "/run/r.sock");
  EXPECT_EQ(guard::parse_redis_url("redis+unix://:secret@/run/r.sock").password, "secret");
}

TEST(RedisUrl, BadOnesAreRefusedWithoutTheirPassword) {
  for (const std::string url :
       {"rediss://:sesame@host?cert_file=x", "redis://:sesame@host?ca_file=x", "redis://:sesame@host:0",
        "redis://:sesame@host:99999", "redis://:sesame@host/x", "redis://:sesame@host?what=1",
        "redis://:sesame@host?timeout=0s", "redis://:sesame@host?timeout=soon", "redis://:sesame@host?connections=0",
        "redis+unix://:sesame@relative.sock", "redis://:sesame@host?prefix="}) {
    try {
      (void)guard::parse_redis_url(url);
      ADD_FAILURE() << url;
    } catch (const InvalidArgument& error) { EXPECT_THAT(error.what(), Not(HasSubstr("sesame"))) << url; }
  }
}

TEST(RedisUrl, AsksForTls) {
  const guard::RedisPlace place =
      guard::parse_redis_url("rediss://:secret@db.example/2?ca_file=/a%20b/ca.pem&cert_file=c&key_file=k");
  EXPECT_TRUE(place.tls);
  EXPECT_EQ(place.host, "db.example");
  EXPECT_EQ(place.port, 6379);
  EXPECT_EQ(place.password, "secret");
  EXPECT_EQ(place.database, 2);
  EXPECT_EQ(place.tls_files.ca, "/a b/ca.pem");
  EXPECT_EQ(place.tls_files.cert, "c");
  EXPECT_EQ(place.tls_files.key, "k");
  EXPECT_FALSE(guard::parse_redis_url("redis://db.example").tls);
}

}  // namespace hapax::guard_tests
