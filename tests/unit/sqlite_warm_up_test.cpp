// A store that a worker warms up before its first work.
#include "base/uuid7.hpp"
#include "store/open.hpp"
#include "store/sqlite/writer.hpp"
#include "store/store.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace hapax::store {
namespace {

class SqliteWarmUp : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "hapax-sqlite-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return folder_ + "/store.db"; }
  [[nodiscard]] std::unique_ptr<Store> open() const { return open_sqlite(path(), {}); }
  [[nodiscard]] std::uintmax_t log_bytes() const { return std::filesystem::file_size(path() + "-wal"); }
  static void admit(Store& store, int count) {
    for (int i = 0; i < count; ++i) {
      NewExecution item;
      item.id = base::new_uuid7();
      item.task = "work";
      static_cast<void>(store.admit(std::vector{item}));
    }
  }
  static std::string rows(Store& store, const std::string& table) {
    return store.sql("SELECT count(*) FROM " + table, 1).rows.at(0).at(0).value_or("");
  }

 private:
  std::string folder_;
};

TEST_F(SqliteWarmUp, leaves_nothing_but_a_long_log) {
  const auto store = open();
  store->warm_up();
  for (const char* table : {"live", "history", "identities", "journal", "sessions", "queues", "expiries", "attempts"}) {
    EXPECT_EQ(rows(*store, table), "0") << table;
  }
  const std::uintmax_t length = log_bytes();
  EXPECT_GT(length, static_cast<std::uintmax_t>(sqlite::checkpoint_pages) * 4096);
  store->warm_up();
  EXPECT_EQ(log_bytes(), length);
}

TEST_F(SqliteWarmUp, goes_on_beside_another_who_writes) {
  const auto mine = open();
  const auto theirs = open();
  admit(*theirs, 3);
  mine->warm_up();
  admit(*theirs, 3);
  admit(*mine, 3);
  EXPECT_EQ(rows(*theirs, "live"), "9");
}

TEST_F(SqliteWarmUp, what_is_acknowledged_after_it_survives_the_death_of_the_process) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto store = open();
    store->warm_up();
    admit(*store, 5);
    ::_exit(0);
  }
  int answer = 0;
  ASSERT_EQ(::waitpid(child, &answer, 0), child);
  EXPECT_EQ(answer, 0);
  EXPECT_EQ(rows(*open(), "live"), "5");
}

}  // namespace
}  // namespace hapax::store
