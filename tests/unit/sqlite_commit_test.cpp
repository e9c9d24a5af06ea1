// Concurrent writers share a commit: one sync for all, no answer before it, and an error only for the writer whose own
// call failed. A commit reaches the log in few writes.
#include "base/fault.hpp"
#include "base/uuid7.hpp"
#include "store/open.hpp"
#include "store/store.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>

#include <sqlite3.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

namespace hapax::store {
namespace {

using namespace std::chrono_literals;

constexpr int callers = 8;

class SqliteCommit : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "hapax-sqlite-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    store_ = open_sqlite(path(), {});
    static_cast<void>(store_->admit(items(1)));  // creates the queue
    store_->transaction([this](Transaction& tx) {
      const auto note = [](unsigned, void* commits, void*, void* sql) {
        if (std::string_view(static_cast<const char*>(sql)) == "COMMIT") { ++*static_cast<std::atomic<int>*>(commits); }
        return 0;
      };
      sqlite3_trace_v2(static_cast<sqlite3*>(tx.native()), SQLITE_TRACE_STMT, note, &commits_);
    });
    commits_ = 0;
  }
  void TearDown() override {
    base::arm_faults("");
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  static std::vector<NewExecution> items(int count) {
    std::vector<NewExecution> fresh(static_cast<std::size_t>(count));
    for (NewExecution& one : fresh) {
      one.id = base::new_uuid7();
      one.task = "work";
    }
    return fresh;
  }

  // Runs `call` in `callers` threads, all of which find the writer locked.
  void at_once(const std::function<void(int)>& call) {
    std::vector<std::thread> threads;
    std::atomic<int> begun{0};
    const auto wait_for_all = [&](Transaction&) {
      for (int i = 0; i < callers; ++i) {
        threads.emplace_back([&, i] {
          ++begun;
          call(i);
        });
      }
      while (begun < callers) { std::this_thread::yield(); }
      std::this_thread::sleep_for(300ms);  // lets the threads reach the writer's lock
    };
    try {
      store_->transaction(wait_for_all);
    } catch (const StoreUnavailable&) { lent_failed_ = true; }
    for (std::thread& thread : threads) { thread.join(); }
  }

  [[nodiscard]] std::string path() const { return folder_ + "/store.db"; }
  [[nodiscard]] std::string integrity() const {
    sqlite3* db = nullptr;
    sqlite3_open_v2(path().c_str(), &db, SQLITE_OPEN_READONLY, nullptr);
    std::string answer;
    const auto keep = [](void* into, int, char** values, char**) {
      *static_cast<std::string*>(into) += values[0];
      return 0;
    };
    sqlite3_exec(db, "PRAGMA integrity_check", keep, &answer, nullptr);
    sqlite3_close(db);
    return answer;
  }
  [[nodiscard]] bool is_there(const Uuid& id) const { return store_->get(id).has_value(); }

  std::unique_ptr<Store> store_;
  std::atomic<int> commits_{0};
  bool lent_failed_ = false;  // the lent transaction may share the others' commit

 private:
  std::string folder_;
};

TEST_F(SqliteCommit, callers_at_once_share_one) {
  std::vector<std::vector<NewExecution>> requests;
  for (int i = 0; i < callers; ++i) { requests.push_back(items(3)); }
  std::vector<char> seen(callers, 0);
  at_once([&](int i) {
    static_cast<void>(store_->admit(requests[static_cast<std::size_t>(i)]));
    // An acknowledged admission is committed: another connection sees it.
    seen[static_cast<std::size_t>(i)] = is_there(requests[static_cast<std::size_t>(i)].front().id) ? 1 : 0;
  });
  EXPECT_THAT(seen, ::testing::Each(1));
  EXPECT_FALSE(lent_failed_);
  EXPECT_LT(commits_, callers / 2 + 1) << "with the lent transaction's own";
}

TEST_F(SqliteCommit, one_that_fails_takes_nobody_along) {
  std::vector<std::vector<NewExecution>> requests;
  for (int i = 0; i < callers; ++i) { requests.push_back(items(3)); }
  std::atomic<int> failed{0};
  std::vector<char> answered(callers, 0);
  base::arm_faults("sqlite.admit.before_commit=throw@4");
  at_once([&](int i) {
    try {
      static_cast<void>(store_->admit(requests[static_cast<std::size_t>(i)]));
      answered[static_cast<std::size_t>(i)] = 1;
    } catch (const StoreUnavailable&) { ++failed; }
  });
  EXPECT_FALSE(lent_failed_);
  EXPECT_EQ(failed, 1);
  for (int i = 0; i < callers; ++i) {
    for (const NewExecution& one : requests[static_cast<std::size_t>(i)]) {
      EXPECT_EQ(is_there(one.id), answered[static_cast<std::size_t>(i)] == 1);
    }
  }
}

// On a full disk SQLite rolls back the whole transaction: every call in it fails, and later calls are unaffected.
TEST_F(SqliteCommit, what_sqlite_rolls_back_fails_for_all_in_it) {
  const auto pages = [this](const char* most) {
    store_->transaction([&](Transaction& tx) {
      const std::string sql = std::string("PRAGMA max_page_count = ") + most;
      sqlite3_exec(static_cast<sqlite3*>(tx.native()), sql.c_str(), nullptr, nullptr, nullptr);
    });
  };
  std::vector<std::vector<NewExecution>> requests;
  for (int i = 0; i < callers; ++i) { requests.push_back(items(2)); }
  requests[3].back().input = '"' + std::string(900'000, 'x') + '"';
  std::vector<char> answered(callers, 0);
  pages("1");  // no more pages than the file has
  at_once([&](int i) {
    try {
      static_cast<void>(store_->admit(requests[static_cast<std::size_t>(i)]));
      answered[static_cast<std::size_t>(i)] = 1;
    } catch (const StoreUnavailable&) { answered[static_cast<std::size_t>(i)] = 0; }
  });
  EXPECT_EQ(answered[3], 0);
  for (int i = 0; i < callers; ++i) {
    for (const NewExecution& one : requests[static_cast<std::size_t>(i)]) {
      EXPECT_EQ(is_there(one.id), answered[static_cast<std::size_t>(i)] == 1) << i;
    }
  }
  pages("1000000");
  static_cast<void>(store_->admit(requests[3]));
  EXPECT_TRUE(is_there(requests[3].back().id));
}

// Nothing of a transaction reaches the log before its commit. Pages that SQLite writes early and rolls back to a
// savepoint, or leaves in a buffer, would corrupt what others commit at the same place.
TEST_F(SqliteCommit, nothing_of_an_open_transaction_is_in_the_log) {
  const auto other = open_sqlite(path(), {});
  const auto log_bytes = [this] { return std::filesystem::file_size(path() + "-wal"); };
  const auto before = log_bytes();
  const auto fill = [&](Transaction& tx) {
    auto* const db = static_cast<sqlite3*>(tx.native());
    sqlite3_exec(db, "CREATE TABLE own(data)", nullptr, nullptr, nullptr);
    for (int i = 0; i < 80; ++i) {
      ASSERT_EQ(sqlite3_exec(db, "INSERT INTO own VALUES (randomblob(1000000))", nullptr, nullptr, nullptr), SQLITE_OK);
    }
    EXPECT_LT(log_bytes(), before + (4 << 20)) << "more than the cache, and none of it there";
    throw std::runtime_error("no");
  };
  EXPECT_THROW(store_->transaction(fill), std::runtime_error);
  for (int i = 0; i < 20; ++i) {
    const auto first = items(1);
    const auto second = items(1);
    static_cast<void>(other->admit(first));
    static_cast<void>(store_->admit(second));
    EXPECT_TRUE(is_there(first.front().id));
    EXPECT_TRUE(is_there(second.front().id));
  }
  EXPECT_EQ(integrity(), "ok");
}

TEST_F(SqliteCommit, a_statement_left_in_the_middle_of_a_lent_transaction_holds_up_nobody) {
  sqlite3_stmt* left = nullptr;
  store_->transaction([&](Transaction& tx) {
    auto* const db = static_cast<sqlite3*>(tx.native());
    sqlite3_exec(db, "CREATE TABLE own(data)", nullptr, nullptr, nullptr);
    sqlite3_prepare_v2(db, "INSERT INTO own VALUES (1), (2) RETURNING data", -1, &left, nullptr);
    ASSERT_EQ(sqlite3_step(left), SQLITE_ROW);
  });
  const auto after = items(1);
  static_cast<void>(store_->admit(after));
  EXPECT_TRUE(is_there(after.front().id));
  EXPECT_EQ(store_->sql("SELECT count(*) FROM own", 1).rows.at(0).at(0), "2");
  sqlite3_finalize(left);
}

std::int64_t write_calls() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::int64_t count = 0;
  while (io >> name >> count) {
    if (name == "syscw:") { return count; }
  }
  return -1;
}

TEST_F(SqliteCommit, goes_to_the_log_in_few_writes) {
  const auto many = items(1000);  // fills hundreds of pages
  const std::int64_t before = write_calls();
  ASSERT_GE(before, 0);
  static_cast<void>(store_->admit(many));
  EXPECT_LT(write_calls() - before, 60);
}

}  // namespace
}  // namespace hapax::store
