// Guards on SQLite, PostgreSQL and Redis, next to the cheapest raw operations of each: two durable writes for a first
// call, one read for a repeated one.
//
//   eval "$(./dev servers --durable)" &   then   build/release/hapax_bench --benchmark_filter=guard/
//
// The servers are those of HAPAX_TEST_POSTGRES_URL and HAPAX_TEST_REDIS_URL. A server without its variable is left
// out, with a message.
#include <hapax/guard.hpp>

#include "base/uuid7.hpp"
#include "guard/redis_connection.hpp"
#include "guard/redis_pool.hpp"
#include "store/open.hpp"

#include <benchmark/benchmark.h>

#include <libpq-fe.h>
#include <sqlite3.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

std::int64_t twice(std::int64_t number) { return 2 * number; }

std::atomic<std::int64_t> next_number{0};

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string fresh_name() {
  std::string name = "b_";
  for (const char letter : hapax::base::new_uuid7().to_string()) {
    if (letter != '-') { name += letter; }
  }
  return name;
}

void require(bool done, const std::string& what) {
  if (!done) { throw std::runtime_error("the benchmark could not " + what); }
}

auto guarded_on(const hapax::GuardStorePtr& store, const std::string& name) {
  hapax::GuardOptions options;
  options.store = store;
  return hapax::idempotent(name, options, twice);
}

void first_calls(benchmark::State& state, const hapax::GuardStorePtr& store) {
  const auto guarded = guarded_on(store, "first");
  for (auto _ : state) { benchmark::DoNotOptimize(guarded(next_number.fetch_add(1))); }
}

void hits(benchmark::State& state, const hapax::GuardStorePtr& store) {
  const auto guarded = guarded_on(store, "hit");
  for (auto _ : state) { benchmark::DoNotOptimize(guarded(21)); }
}

// ---- SQLite ------------------------------------------------------------------------------------------------------

class SqliteFolder {
 public:
  SqliteFolder() { require(::mkdtemp(path_.data()) != nullptr, "make a folder"); }
  SqliteFolder(const SqliteFolder&) = delete;
  SqliteFolder& operator=(const SqliteFolder&) = delete;
  ~SqliteFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_ = (std::filesystem::current_path() / "hapax-guard-bench.XXXXXX").string();
};

SqliteFolder& sqlite_folder() {
  static SqliteFolder folder;
  return folder;
}

const hapax::GuardStorePtr& sqlite_store() {
  static const hapax::GuardStorePtr store = hapax::open_guard_store("sqlite:" + sqlite_folder().file("guard.db"));
  return store;
}

// A table of one key and one value, as simple as possible.
class RawSqlite {
 public:
  RawSqlite() {
    require(sqlite3_open(sqlite_folder().file("raw.db").c_str(), &db_) == SQLITE_OK, "open SQLite");
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = FULL");
    run("CREATE TABLE IF NOT EXISTS raw(key BLOB PRIMARY KEY, value TEXT) WITHOUT ROWID");
    prepare("INSERT OR REPLACE INTO raw VALUES (?, ?)", insert_);
    prepare("SELECT value FROM raw WHERE key = ?", select_);
  }
  RawSqlite(const RawSqlite&) = delete;
  RawSqlite& operator=(const RawSqlite&) = delete;
  ~RawSqlite() {
    sqlite3_finalize(insert_);
    sqlite3_finalize(select_);
    sqlite3_close(db_);
  }
  void write(const std::string& key) {
    sqlite3_bind_blob64(insert_, 1, key.data(), key.size(), SQLITE_STATIC);
    sqlite3_bind_text(insert_, 2, "42", 2, SQLITE_STATIC);
    require(sqlite3_step(insert_) == SQLITE_DONE, "write");
    sqlite3_reset(insert_);
  }
  void read(const std::string& key) {
    sqlite3_bind_blob64(select_, 1, key.data(), key.size(), SQLITE_STATIC);
    require(sqlite3_step(select_) == SQLITE_ROW, "read");
    benchmark::DoNotOptimize(sqlite3_column_text(select_, 0));
    sqlite3_reset(select_);
  }

 private:
  void run(const char* sql) { require(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK, sql); }
  void prepare(const char* sql, sqlite3_stmt*& statement) {
    require(sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) == SQLITE_OK, sql);
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* select_ = nullptr;
};

void sqlite_raw_writes(benchmark::State& state) {
  RawSqlite raw;
  for (auto _ : state) {
    const std::string key = "key-" + std::to_string(next_number.fetch_add(1));
    raw.write(key);
    raw.write(key);
  }
}
BENCHMARK(sqlite_raw_writes)->Name("guard/sqlite/raw/two_commits")->UseRealTime();

void sqlite_first(benchmark::State& state) { first_calls(state, sqlite_store()); }
BENCHMARK(sqlite_first)->Name("guard/sqlite/first")->UseRealTime()->ThreadRange(1, 8);

void sqlite_raw_read(benchmark::State& state) {
  RawSqlite raw;
  raw.write("key");
  for (auto _ : state) { raw.read("key"); }
}
BENCHMARK(sqlite_raw_read)->Name("guard/sqlite/raw/read")->UseRealTime();

void sqlite_hit(benchmark::State& state) { hits(state, sqlite_store()); }
BENCHMARK(sqlite_hit)->Name("guard/sqlite/hit")->UseRealTime()->ThreadRange(1, 8);

// ---- PostgreSQL --------------------------------------------------------------------------------------------------

std::string postgres_server() {
  const std::string url = environment("HAPAX_TEST_POSTGRES_URL");
  return url.substr(0, url.find('?'));
}

const hapax::GuardStorePtr& postgres_store() {
  static const hapax::GuardStorePtr store = [] {
    const std::string url = postgres_server() + "?schema=" + fresh_name();
    hapax::store::migrate(url);
    return hapax::open_guard_store(url);
  }();
  return store;
}

class RawPostgres {
 public:
  RawPostgres() : connection_(PQconnectdb(postgres_server().c_str()), PQfinish) {
    require(PQstatus(connection_.get()) == CONNECTION_OK, "connect to PostgreSQL");
    done(PQexec(connection_.get(), "SET client_min_messages = error"));
    done(PQexec(connection_.get(), "CREATE TABLE IF NOT EXISTS raw_guard(key bytea PRIMARY KEY, value bytea)"));
    done(PQprepare(connection_.get(), "w",
                   "INSERT INTO raw_guard VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = $2", 2, nullptr));
    done(PQprepare(connection_.get(), "r", "SELECT value FROM raw_guard WHERE key = $1", 1, nullptr));
  }
  void write(const std::string& key) {
    const std::array<const char*, 2> values{key.c_str(), "42"};
    done(PQexecPrepared(connection_.get(), "w", 2, values.data(), nullptr, nullptr, 1));
  }
  void read(const std::string& key) {
    const std::array<const char*, 1> values{key.c_str()};
    done(PQexecPrepared(connection_.get(), "r", 1, values.data(), nullptr, nullptr, 1));
  }

 private:
  static void done(PGresult* result) {
    const ExecStatusType status = PQresultStatus(result);
    const std::string message = PQresultErrorMessage(result);
    PQclear(result);
    require(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, "use PostgreSQL: " + message);
  }

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

bool lacks(benchmark::State& state, const char* variable) {
  if (!environment(variable).empty()) { return false; }
  state.SkipWithError((std::string(variable) + " is not set").c_str());
  return true;
}

void postgres_raw_writes(benchmark::State& state) {
  if (lacks(state, "HAPAX_TEST_POSTGRES_URL")) { return; }
  RawPostgres raw;
  const std::string stem = fresh_name();
  for (auto _ : state) {
    const std::string key = stem + std::to_string(next_number.fetch_add(1));
    raw.write(key);
    raw.write(key);
  }
}
BENCHMARK(postgres_raw_writes)->Name("guard/postgres/raw/two_commits")->UseRealTime();

void postgres_first(benchmark::State& state) {
  if (!lacks(state, "HAPAX_TEST_POSTGRES_URL")) { first_calls(state, postgres_store()); }
}
BENCHMARK(postgres_first)->Name("guard/postgres/first")->UseRealTime()->ThreadRange(1, 8);

void postgres_raw_read(benchmark::State& state) {
  if (lacks(state, "HAPAX_TEST_POSTGRES_URL")) { return; }
  RawPostgres raw;
  raw.write("key");
  for (auto _ : state) { raw.read("key"); }
}
BENCHMARK(postgres_raw_read)->Name("guard/postgres/raw/read")->UseRealTime();

void postgres_hit(benchmark::State& state) {
  if (!lacks(state, "HAPAX_TEST_POSTGRES_URL")) { hits(state, postgres_store()); }
}
BENCHMARK(postgres_hit)->Name("guard/postgres/hit")->UseRealTime()->ThreadRange(1, 8);

// ---- Redis -------------------------------------------------------------------------------------------------------

const hapax::GuardStorePtr& redis_store() {
  static const hapax::GuardStorePtr store =
      hapax::open_guard_store(environment("HAPAX_TEST_REDIS_URL") + "?prefix=" + fresh_name() + ":");
  return store;
}

void redis_raw(benchmark::State& state, const char* lua, int times) {
  hapax::guard::RedisConnection raw(hapax::guard::parse_redis_url(environment("HAPAX_TEST_REDIS_URL")));
  const hapax::guard::RedisScript script(lua);
  raw.call({"SCRIPT", "LOAD", script.text});
  raw.call({"HSET", "raw-guard", "value", "42"});
  const std::string stem = fresh_name();
  for (auto _ : state) {
    const std::string key = stem + std::to_string(next_number.fetch_add(1));
    for (int i = 0; i < times; ++i) { benchmark::DoNotOptimize(raw.call({"EVALSHA", script.sha, "1", key})); }
  }
}

void redis_raw_writes(benchmark::State& state) {
  if (!lacks(state, "HAPAX_TEST_REDIS_URL")) {
    redis_raw(state, "return redis.call('HSET', KEYS[1], 'value', '42')", 2);
  }
}
BENCHMARK(redis_raw_writes)->Name("guard/redis/raw/two_scripts")->UseRealTime();

void redis_first(benchmark::State& state) {
  if (!lacks(state, "HAPAX_TEST_REDIS_URL")) { first_calls(state, redis_store()); }
}
BENCHMARK(redis_first)->Name("guard/redis/first")->UseRealTime()->ThreadRange(1, 8);

void redis_raw_read(benchmark::State& state) {
  if (!lacks(state, "HAPAX_TEST_REDIS_URL")) { redis_raw(state, "return redis.call('HGET', 'raw-guard', 'value')", 1); }
}
BENCHMARK(redis_raw_read)->Name("guard/redis/raw/read")->UseRealTime();

void redis_hit(benchmark::State& state) {
  if (!lacks(state, "HAPAX_TEST_REDIS_URL")) { hits(state, redis_store()); }
}
BENCHMARK(redis_hit)->Name("guard/redis/hit")->UseRealTime()->ThreadRange(1, 8);

}  // namespace
