// A SQLite store's file is deleted, replaced or out of space while the store is in use.
#include "base/uuid7.hpp"
#include "store/open.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

namespace hapax::store {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SqliteFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "hapax-sqlite-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return folder_ + "/store.db"; }
  [[nodiscard]] std::unique_ptr<Store> open() const { return open_sqlite(path(), {}); }
  static void admit(Store& store) {
    NewExecution fresh;
    fresh.id = base::new_uuid7();
    fresh.task = "work";
    fresh.input = "null";
    static_cast<void>(store.admit(std::span(&fresh, 1)));
  }
  static std::int64_t pending(Store& store) {
    const auto queues = store.queues("default");
    return queues.empty() ? 0 : queues.front().ready;
  }
  // The name and the message of the error that `act` throws.
  static std::pair<std::string, std::string> refusal(const std::function<void()>& act) {
    try {
      act();
    } catch (const Error& error) { return {error.name(), error.what()}; }
    return {"nothing", ""};
  }
  void rename_all(const std::string& from, const std::string& to) const {
    for (const std::string ending : {"", "-wal", "-shm"}) {
      if (fs::exists(from + ending)) { fs::rename(from + ending, to + ending); }
    }
  }

  std::string folder_;
};

TEST_F(SqliteFile, a_write_to_a_deleted_file_is_not_acknowledged) {
  const auto store = open();
  admit(*store);
  fs::remove(path());
  const auto [name, message] = refusal([&] { admit(*store); });
  EXPECT_EQ(name, "StoreUnavailable");
  EXPECT_THAT(message, HasSubstr(path()));
  EXPECT_THAT(message, HasSubstr("was deleted"));
}

TEST_F(SqliteFile, a_write_to_a_file_that_was_put_back_is_acknowledged_again) {
  const auto store = open();
  admit(*store);
  rename_all(path(), folder_ + "/aside.db");
  EXPECT_EQ(refusal([&] { admit(*store); }).first, "StoreUnavailable");
  rename_all(folder_ + "/aside.db", path());
  admit(*store);
  EXPECT_EQ(pending(*store), 2);
}

TEST_F(SqliteFile, a_write_to_a_replaced_file_is_not_acknowledged_and_the_new_file_keeps_its_log) {
  auto old = open();
  admit(*old);
  rename_all(path(), folder_ + "/aside.db");
  const auto fresh = open();
  admit(*fresh);
  admit(*fresh);
  const auto [name, message] = refusal([&] { admit(*old); });
  EXPECT_EQ(name, "StoreUnavailable");
  EXPECT_THAT(message, HasSubstr("was replaced by another file"));
  old.reset();
  EXPECT_TRUE(fs::exists(path() + "-wal"));
  EXPECT_EQ(pending(*open()), 2);
}

TEST_F(SqliteFile, a_relative_path_is_the_same_file_after_the_working_directory_changes) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const auto store = open_sqlite("store.db", {});
  fs::current_path(before);
  const auto [name, message] = refusal([&] { admit(*store); });
  fs::current_path(folder_);
  EXPECT_EQ(name, "nothing") << message;
  EXPECT_EQ(pending(*store), 1);
  fs::current_path(before);
}

// The -shm file is the first to find no space, which SQLite reports as an I/O error.
TEST_F(SqliteFile, a_full_disk_is_called_full_at_the_first_error) {
  { admit(*open()); }
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{.rlim_cur = 16 << 10, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tight);
  const auto [name, message] = refusal([&] { static_cast<void>(open()); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  EXPECT_EQ(name, "StoreUnavailable");
  EXPECT_THAT(message, HasSubstr("the disk is full"));
}

TEST_F(SqliteFile, a_log_that_may_not_grow_is_called_full_by_the_commit) {
  const auto store = open();
  admit(*store);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{.rlim_cur = 1, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tight);
  const auto [name, message] = refusal([&] { admit(*store); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  EXPECT_EQ(name, "StoreUnavailable");
  EXPECT_THAT(message, HasSubstr("the disk is full"));
  admit(*store);
  EXPECT_EQ(pending(*store), 2);
}

}  // namespace
}  // namespace hapax::store
