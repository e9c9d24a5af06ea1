// Behaviour of the SQLite store alone: its file, lock file, log and settings. tests/conformance/ tests what all stores
// share.
#include "base/fault.hpp"
#include "base/uuid7.hpp"
#include "store/open.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/database_file.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/writer.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

namespace hapax::store {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class SqliteStore : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "hapax-sqlite-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    base::arm_faults("");
    std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] std::string path(const std::string& name = "store.db") const { return folder_ + "/" + name; }
  [[nodiscard]] std::unique_ptr<Store> open(OpenOptions options = {}) const { return open_sqlite(path(), options); }

  static NewExecution item(const std::string& input = "null") {
    NewExecution fresh;
    fresh.id = base::new_uuid7();
    fresh.task = "work";
    fresh.input = input;
    return fresh;
  }
  static void admit(Store& store, int count, const std::string& input = "null") {
    std::vector<NewExecution> items;
    for (int index = 0; index < count; ++index) { items.push_back(item(input)); }
    static_cast<void>(store.admit(items));
  }
  static std::int64_t pending(Store& store) {
    const auto queues = store.queues("default");
    return queues.empty() ? 0 : queues.front().ready;
  }

  std::string folder_;
};

// Runs `body` in a forked child and returns its result.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int answer = 99;
    try {
      answer = body();
    } catch (...) { answer = 98; }
    ::_exit(answer);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}

// The name and the message of the typed error that opening throws.
std::pair<std::string, std::string> refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) { return {error.name(), error.what()}; }
  return {"nothing", ""};
}

// ---- Files ---------------------------------------------------------------------------------------------------------

TEST_F(SqliteStore, a_directory_is_refused_and_named) {
  const auto [name, message] = refusal([&] { static_cast<void>(open_sqlite(folder_, {})); });
  EXPECT_EQ(name, "StoreUnavailable");
  EXPECT_THAT(message, HasSubstr(folder_));
  EXPECT_THAT(message, HasSubstr("directory"));
}

TEST_F(SqliteStore, a_folder_that_is_not_there_is_refused) {
  const auto [name, message] = refusal([&] { static_cast<void>(open_sqlite(path("nowhere/store.db"), {})); });
  EXPECT_EQ(name, "StoreUnavailable");
  EXPECT_THAT(message, HasSubstr("nowhere"));
}

TEST_F(SqliteStore, a_file_that_must_exist_is_not_made) {
  EXPECT_EQ(refusal([&] { static_cast<void>(open({.must_exist = true})); }).first, "NotFound");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(SqliteStore, a_file_that_is_no_database_is_refused_and_left_as_it_was) {
  const std::string text(8192, 'x');
  std::ofstream(path()) << text;
  const auto [name, message] = refusal([&] { static_cast<void>(open()); });
  EXPECT_EQ(name, "StoreUnavailable");
  EXPECT_THAT(message, HasSubstr("not a SQLite database"));
  EXPECT_EQ(std::filesystem::file_size(path()), text.size());
}

TEST_F(SqliteStore, a_read_only_file_and_a_read_only_folder_are_refused) {
  { const auto store = open(); }
  const auto open_as_nobody = [&]() -> int {
    // Root may write anywhere, so another user tries.
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) { return 1; }
    return refusal([&] { static_cast<void>(open()); }).first == "StoreUnavailable" ? 0 : 2;
  };
  std::filesystem::permissions(folder_, std::filesystem::perms(0777));
  std::filesystem::permissions(path(), std::filesystem::perms(0444));
  std::filesystem::permissions(path() + ".lock", std::filesystem::perms(0666));
  EXPECT_EQ(in_child(open_as_nobody), 0);
  std::filesystem::permissions(folder_, std::filesystem::perms(0555));
  std::filesystem::permissions(path(), std::filesystem::perms(0666));
  EXPECT_EQ(in_child(open_as_nobody), 0);
  std::filesystem::permissions(folder_, std::filesystem::perms(0755));
}

TEST_F(SqliteStore, a_path_that_looks_like_a_uri_is_a_path) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  { const auto store = open_sqlite("file:odd?mode=memory", {}); }
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::exists(path("file:odd?mode=memory")));
}

TEST_F(SqliteStore, a_full_disk_fails_the_call_changes_nothing_and_passes_when_there_is_room) {
  const auto store = open();
  admit(*store, 1);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{.rlim_cur = 256 << 10, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tight);
  const auto [name, message] = refusal([&] { admit(*store, 2000, "\"" + std::string(1000, 'x') + "\""); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  EXPECT_EQ(name, "StoreUnavailable");
  EXPECT_THAT(message, HasSubstr(path()));
  EXPECT_EQ(pending(*store), 1);
  admit(*store, 2);
  EXPECT_EQ(pending(*store), 3);
}

// ---- Schema --------------------------------------------------------------------------------------------------------

TEST_F(SqliteStore, a_newer_schema_is_refused_unless_it_says_this_build_may_use_it) {
  { const auto store = open(); }
  const auto execute = [&](const std::string& statement) {
    sqlite::Connection db(path(), sqlite::Connection::Mode::existing, 1s);
    db.execute(statement.c_str());
  };
  execute("INSERT INTO migrations(version) VALUES (99)");
  EXPECT_EQ(refusal([&] { static_cast<void>(open()); }).first, "SchemaMismatch");
  EXPECT_EQ(refusal([&] { migrate_sqlite(path(), 0); }).first, "SchemaMismatch");
  execute("UPDATE migrations SET usable_from = 9 WHERE version = 99");
  const auto store = open();
  EXPECT_EQ(store->info().schema_version, 99);
  admit(*store, 1);
}

TEST_F(SqliteStore, somebody_elses_table_of_our_name_stops_the_migration_as_a_whole) {
  {
    sqlite::Connection db(path(), sqlite::Connection::Mode::writer, 1s);
    db.execute("CREATE TABLE attempts(mine)");
  }
  EXPECT_NE(refusal([&] { static_cast<void>(open()); }).first, "nothing");
  sqlite::Connection db(path(), sqlite::Connection::Mode::existing, 1s);
  EXPECT_EQ(db.integer("SELECT count(*) FROM sqlite_schema"), 1);
}

TEST_F(SqliteStore, the_schema_of_a_file_that_is_not_there_is_zero_and_asking_makes_no_file) {
  EXPECT_EQ(schema_status_sqlite(path()).current, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// ---- Durability ----------------------------------------------------------------------------------------------------

TEST_F(SqliteStore, commits_are_synchronised_in_full_and_never_checkpointed_by_themselves) {
  const auto store = open();
  store->transaction([](Transaction& tx) {
    auto* const db = static_cast<sqlite3*>(tx.native());
    const auto setting = [db](const char* pragma) {
      sqlite3_stmt* statement = nullptr;
      sqlite3_prepare_v2(db, pragma, -1, &statement, nullptr);
      sqlite3_step(statement);
      const std::string value = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      sqlite3_finalize(statement);
      return value;
    };
    EXPECT_EQ(setting("PRAGMA journal_mode"), "wal");
    EXPECT_EQ(setting("PRAGMA synchronous"), "2");
    EXPECT_EQ(setting("PRAGMA wal_autocheckpoint"), "0");
    EXPECT_EQ(setting("PRAGMA secure_delete"), "0");
  });
}

TEST_F(SqliteStore, what_was_acknowledged_survives_the_death_of_its_process) {
  EXPECT_EQ(in_child([&] {
              const auto store = open();
              admit(*store, 10);
              return 0;  // the child ends with _exit, which closes nothing
            }),
            0);
  const auto store = open();
  EXPECT_EQ(pending(*store), 10);
}

TEST_F(SqliteStore, the_log_is_recycled_while_writing_goes_on) {
  const auto store = open();
  const std::string input = "\"" + std::string(2000, 'x') + "\"";
  for (int batch = 0; batch < 60; ++batch) { admit(*store, 100, input); }
  // 12 MB and their indexes were written; without checkpoints the log would hold all of it.
  EXPECT_LT(std::filesystem::file_size(path() + "-wal"),
            static_cast<std::uintmax_t>(2 * sqlite::checkpoint_pages) * 4096);
  EXPECT_GT(std::filesystem::file_size(path()), 8U << 20);
}

TEST_F(SqliteStore, the_log_is_filled_ahead_and_what_was_acknowledged_survives_under_the_zeros) {
  const int answer = in_child([&] {
    const auto store = open();
    for (int commit = 0; commit < 100; ++commit) { admit(*store, 1); }
    // Frames alone would make 32 bytes plus a multiple of 4120.
    ::_exit((std::filesystem::file_size(path() + "-wal") - 32) % 4120 != 0 ? 0 : 1);
    return 0;
  });
  EXPECT_EQ(answer, 0) << "a step ahead";
  EXPECT_EQ(pending(*open()), 100);
}

TEST_F(SqliteStore, two_names_of_one_store_meet_at_one_lock) {
  const auto store = open();
  std::filesystem::create_symlink(path(), path("link.db"));
  const auto other = open_sqlite(path("link.db"), {});
  admit(*other, 1);
  EXPECT_TRUE(std::filesystem::exists(path() + ".lock"));
  EXPECT_FALSE(std::filesystem::exists(path("link.db") + ".lock"));
  EXPECT_EQ(pending(*store), 1);
}

TEST_F(SqliteStore, a_reader_in_the_way_lets_the_log_grow_and_stops_nobody) {
  const auto store = open();
  admit(*store, 1);
  sqlite::Connection reader(path(), sqlite::Connection::Mode::reader, 1s);
  reader.execute("BEGIN; SELECT count(*) FROM live");
  const std::string input = "\"" + std::string(2000, 'x') + "\"";
  for (int batch = 0; batch < 60; ++batch) { admit(*store, 100, input); }
  EXPECT_EQ(reader.integer("SELECT count(*) FROM live"), 1);
  EXPECT_EQ(pending(*store), 6001);
  reader.execute("COMMIT");
  const auto grown = std::filesystem::file_size(path() + "-wal");
  for (int batch = 0; batch < 60; ++batch) { admit(*store, 100, input); }
  EXPECT_LT(std::filesystem::file_size(path() + "-wal"), grown + (8U << 20));
}

TEST_F(SqliteStore, a_commit_whose_answer_is_lost_is_unknown_to_the_caller_and_there) {
  const auto store = open();
  base::arm_faults("sqlite.admit.after_commit=throw");
  EXPECT_EQ(refusal([&] { admit(*store, 1); }).first, "CommitUnknown");
  base::arm_faults("sqlite.admit.before_commit=throw");
  EXPECT_EQ(refusal([&] { admit(*store, 1); }).first, "StoreUnavailable");
  base::arm_faults("");
  EXPECT_EQ(pending(*store), 1);
}

// ---- The lock file between processes -------------------------------------------------------------------------------

TEST_F(SqliteStore, a_writer_that_stays_in_its_transaction_makes_others_busy_and_is_named) {
  const auto store = open({.busy_timeout = 50ms});
  sqlite::FileLock other(path());
  other.acquire(1s);
  const auto [name, message] = refusal([&] { admit(*store, 1); });
  EXPECT_EQ(name, "StoreBusy");
  EXPECT_THAT(message, HasSubstr(std::to_string(::getpid())));
  EXPECT_EQ(sqlite::FileLock::holder(path()), static_cast<int>(::getpid()));
  other.release();
  EXPECT_EQ(sqlite::FileLock::holder(path()), std::nullopt);
  admit(*store, 1);
  EXPECT_EQ(pending(*store), 1);
}

TEST_F(SqliteStore, threads_that_wait_for_one_holder_are_refused_together) {
  const auto store = open({.busy_timeout = 1s});
  sqlite::FileLock other(path());
  other.acquire(1s);
  const auto begun = std::chrono::steady_clock::now();
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 20; ++i) {
      threads.emplace_back([&] { refused += refusal([&] { admit(*store, 1); }).first == "StoreBusy" ? 1 : 0; });
    }
  }
  other.release();
  EXPECT_EQ(refused.load(), 20);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 15s)
      << "a second, and a tenth for each of the others; not twenty";
}

// For example the sqlite3 shell inside a transaction, which does not use the lock file.
TEST_F(SqliteStore, threads_that_wait_for_a_foreign_transaction_are_refused_together) {
  const auto store = open({.busy_timeout = 1s});
  sqlite::Connection foreign(path(), sqlite::Connection::Mode::existing, 1s);
  ASSERT_EQ(sqlite3_exec(foreign.handle(), "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto begun = std::chrono::steady_clock::now();
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 20; ++i) {
      threads.emplace_back([&] { refused += refusal([&] { admit(*store, 1); }).first == "StoreBusy" ? 1 : 0; });
    }
  }
  EXPECT_EQ(refused.load(), 20);
  const auto took = std::chrono::steady_clock::now() - begun;
  EXPECT_GE(took, 1s);
  EXPECT_LT(took, 15s) << "a second, and a tenth for each of the others; not twenty";
  ASSERT_EQ(sqlite3_exec(foreign.handle(), "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  admit(*store, 1);
  EXPECT_EQ(pending(*store), 1);
}

TEST_F(SqliteStore, a_holder_that_dies_leaves_the_lock_free) {
  const auto store = open({.busy_timeout = 1s});
  EXPECT_EQ(in_child([&] {
              sqlite::FileLock lock(path());
              lock.acquire(1s);
              return 0;
            }),
            0);
  admit(*store, 1);
}

TEST_F(SqliteStore, processes_that_write_at_once_lose_nothing) {
  constexpr int processes = 4;
  constexpr int batches = 25;
  std::vector<pid_t> children;
  { const auto store = open(); }
  for (int index = 0; index < processes; ++index) {
    const pid_t child = ::fork();
    if (child == 0) {
      int answer = 1;
      try {
        const auto store = open();
        for (int batch = 0; batch < batches; ++batch) { admit(*store, 4); }
        answer = 0;
      } catch (...) {}
      ::_exit(answer);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const auto store = open();
  EXPECT_EQ(pending(*store), processes * batches * 4);
  EXPECT_EQ(store->sql("SELECT count(DISTINCT id) FROM live", 1).rows.front().front(),
            std::to_string(processes * batches * 4));
}

TEST_F(SqliteStore, a_waiting_process_is_not_overtaken_for_ever) {
  sqlite::FileLock busy(path());
  sqlite::FileLock patient(path());
  std::atomic<bool> got_in{false};
  std::thread waiter([&] {
    patient.acquire(10s);
    got_in = true;
    patient.release();
  });
  // Takes the lock again as soon as it is released. Without the turnstile this could go on without end.
  int rounds = 0;
  for (; !got_in && rounds < 1'000'000; ++rounds) {
    busy.acquire(10s);
    busy.release();
  }
  waiter.join();
  EXPECT_TRUE(got_in);
  EXPECT_LT(rounds, 1'000'000);
}

TEST_F(SqliteStore, a_forked_child_may_not_use_its_parents_store) {
  auto store = open();
  EXPECT_EQ(in_child([&] {
              const bool wrote = refusal([&] { admit(*store, 1); }).first != "UsageError";
              const bool read = refusal([&] { static_cast<void>(store->queues("default")); }).first != "UsageError";
              store.reset();  // must not disturb the parent's store
              return wrote || read ? 1 : 0;
            }),
            0);
  admit(*store, 1);
  EXPECT_EQ(pending(*store), 1);
}

// ---- Lent transactions ---------------------------------------------------------------------------------------------

TEST_F(SqliteStore, a_plain_call_inside_a_lent_transaction_is_an_error_and_no_deadlock) {
  const auto store = open();
  store->transaction([&](Transaction&) { EXPECT_EQ(refusal([&] { admit(*store, 1); }).first, "UsageError"); });
  admit(*store, 1);
  EXPECT_EQ(pending(*store), 1);
}

TEST_F(SqliteStore, a_callers_own_commit_commits_nothing) {
  const auto store = open();
  const auto [name, message] = refusal([&] {
    store->transaction([&](Transaction& tx) {
      auto* const db = static_cast<sqlite3*>(tx.native());
      static_cast<void>(tx.admit(std::vector{item()}));
      EXPECT_NE(sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
      sqlite3_exec(db, "BEGIN", nullptr, nullptr, nullptr);
      sqlite3_exec(db, "CREATE TABLE mine(x)", nullptr, nullptr, nullptr);
    });
  });
  EXPECT_EQ(name, "UsageError");
  EXPECT_EQ(pending(*store), 0);
  EXPECT_EQ(store->sql("SELECT count(*) FROM sqlite_schema WHERE name = 'mine'", 1).rows.front().front(), "0");
  admit(*store, 1);
  EXPECT_EQ(pending(*store), 1);
}

// ---- For people ----------------------------------------------------------------------------------------------------

TEST_F(SqliteStore, the_sql_prompt_reads_and_refuses_all_else) {
  const auto store = open();
  admit(*store, 3);
  EXPECT_EQ(store->sql("SELECT id FROM executions WHERE status = 'pending'", 2).rows.size(), 2U);
  for (const char* statement :
       {"DELETE FROM live", "ATTACH 'x.db' AS x", "PRAGMA synchronous = 0", "PRAGMA journal_mode = DELETE", "BEGIN",
        "VACUUM", "SELECT 1; DELETE FROM live", "SELECT load_extension('x')", "", "SELECT nonsense FROM"}) {
    EXPECT_EQ(refusal([&] { static_cast<void>(store->sql(statement, 10)); }).first, "InvalidArgument") << statement;
  }
  EXPECT_EQ(pending(*store), 3);
}

TEST_F(SqliteStore, the_executions_view_tells_of_workflows) {
  const auto store = open();
  NewExecution flow = item();
  flow.kind = Kind::workflow;
  static_cast<void>(store->admit(std::vector{flow}));
  NewSession session;
  session.id = base::new_uuid7();
  store->open_session(session);
  const auto leave = [&](FinishKind kind, Turn turn) {
    const ClaimRequest request{.session = session.id, .claim_number = 1, .queues = {{}}, .tasks = {flow.task}};
    const Claim claim = store->claim(request).claims.at(0);
    Finish outcome{.id = claim.id, .fence = claim.fence, .kind = kind};
    outcome.turn = std::make_shared<const Turn>(std::move(turn));
    EXPECT_EQ(store->finish({&outcome, 1}).at(0), FinishVerdict::accepted);
  };
  const auto row = [&](const std::string& columns) {
    return store->sql("SELECT " + columns + " FROM executions ORDER BY id", 1).rows.at(0);
  };
  using Row = std::vector<std::optional<std::string>>;
  leave(FinishKind::waiting, {.wake_at = store->now(), .stuck = "why"});
  EXPECT_EQ(row("waiting, stuck, continued_as"), (Row{"1", "why", std::nullopt}));
  leave(FinishKind::waiting, {});
  EXPECT_EQ(row("waiting, stuck, run_at"), (Row{"1", std::nullopt, "9999-12-31T23:59:59.000Z"}));
  const Signal signal{.execution = flow.id, .name = "go"};
  EXPECT_TRUE(store->signal({&signal, 1}).at(0).woken);
  const auto next = std::make_shared<NewExecution>(flow);
  next->id = base::new_uuid7();
  leave(FinishKind::continued, {.next = next});
  EXPECT_EQ(row("status, waiting, continued_as"), (Row{"completed", "0", next->id.to_string()}));
}

TEST_F(SqliteStore, a_claim_is_a_walk_along_one_index_without_sorting) {
  const auto store = open();
  sqlite::Connection db(path(), sqlite::Connection::Mode::reader, 1s);
  sqlite::Statement statement(db.handle(), db.path(),
                              "EXPLAIN QUERY PLAN SELECT id, input FROM live INDEXED BY live_line"
                              " WHERE line BETWEEN 1 AND 2 ORDER BY line, run_at, id",
                              false);
  sqlite::Cursor cursor(statement);
  ASSERT_TRUE(cursor.next());
  EXPECT_THAT(cursor.string(3), HasSubstr("SEARCH live USING INDEX live_line"));
  EXPECT_FALSE(cursor.next());
}

}  // namespace
}  // namespace hapax::store
