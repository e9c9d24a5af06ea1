// The schema of a SQLite file: its migrations, by lists with made-up versions behind the first one, and the columns that
// the table of execution_row.hpp has to name.
#include "store/open.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/execution_row.hpp"
#include "store/sqlite/schema.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>

#include <filesystem>
#include <vector>

namespace hapax::store {
namespace {

using namespace std::chrono_literals;
using sqlite::check_schema;
using sqlite::Connection;
using sqlite::Migration;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

constexpr int first = sqlite::newest_schema;

class SqliteSchema : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "hapax-sqlite-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/store.db";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The releases after this one: the first adds a column, which this build may ignore; the second locks this build out.
  static std::vector<Migration> releases(std::size_t count) {
    const std::vector<Migration> all{
        sqlite::migrations().front(),
        {first + 1, "made up: a column", "ALTER TABLE queues ADD COLUMN made_up INTEGER", first},
        {first + 2, "made up: a table", "CREATE TABLE made_up(of INTEGER); INSERT INTO made_up VALUES (7)", first + 2}};
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  MigrationReport migrate(const std::vector<Migration>& known, int to = 0) {
    Connection db(path_, Connection::Mode::writer, 1s);
    return sqlite::migrate(db, to, Time(42us), known);
  }
  std::int64_t integer(const char* query) {
    Connection db(path_, Connection::Mode::existing, 1s);
    return db.integer(query);
  }
  std::string check(const std::vector<Migration>& known) {
    Connection db(path_, Connection::Mode::existing, 1s);
    try {
      check_schema(db, sqlite::schema_version(db), known);
      return "works";
    } catch (const SchemaMismatch& refusal) { return refusal.what(); }
  }

  std::string folder_;
  std::string path_;
};

TEST_F(SqliteSchema, every_earlier_version_is_brought_to_the_newest_step_by_step) {
  const std::vector<Migration> known = releases(3);
  for (int version = first; version < first + 2; ++version) {
    const MigrationReport to_version = migrate(known, version);
    EXPECT_EQ(to_version.to, version);
    EXPECT_THAT(check(known),
                AllOf(HasSubstr("its schema is version " + std::to_string(version)), HasSubstr("run `hapax migrate`")));
  }
  const MigrationReport rest = migrate(known);
  EXPECT_EQ(rest.from, first + 1);
  EXPECT_EQ(rest.to, first + 2);
  EXPECT_EQ(check(known), "works");
  EXPECT_EQ(integer("SELECT of FROM made_up"), 7);
  EXPECT_EQ(integer("SELECT count(*) FROM migrations WHERE applied_at = 42"), 3);
}

TEST_F(SqliteSchema, an_empty_file_gets_all_versions_in_order_once) {
  EXPECT_EQ(migrate(releases(3)).from, 0);
  const MigrationReport again = migrate(releases(3));
  EXPECT_EQ(again.from, first + 2);
  EXPECT_EQ(again.to, first + 2);
  EXPECT_EQ(integer("SELECT count(*) FROM made_up"), 1);
}

TEST_F(SqliteSchema, never_backwards) {
  migrate(releases(3));
  EXPECT_EQ(migrate(releases(3), first).to, first + 2);
  EXPECT_EQ(integer("SELECT max(version) FROM migrations"), first + 2);
}

TEST_F(SqliteSchema, the_release_before_works_on_the_new_schema_as_far_as_it_is_marked) {
  migrate(releases(2));
  EXPECT_EQ(check(releases(1)), "works");
  EXPECT_EQ(open_sqlite(path_, {})->info().schema_version, first + 1);
  migrate(releases(3));
  EXPECT_THAT(check(releases(1)), HasSubstr("use a newer hapax"));
  EXPECT_THAT(check(releases(2)), HasSubstr("use a newer hapax"));
  EXPECT_THROW(migrate(releases(2)), SchemaMismatch);
}

TEST_F(SqliteSchema, a_file_from_before_the_first_version_of_the_list_is_refused) {
  std::vector<Migration> later = releases(3);
  migrate(releases(1));
  later.erase(later.begin());
  EXPECT_THAT(check(later), AllOf(HasSubstr("before the first release"), HasSubstr("on a new file")));
  EXPECT_THROW(migrate(later), SchemaMismatch);
  EXPECT_EQ(integer("SELECT max(version) FROM migrations"), first);
}

TEST_F(SqliteSchema, a_version_that_the_list_lacks_is_no_target) {
  EXPECT_THROW(migrate(releases(2), first + 2), SchemaMismatch);
  EXPECT_THROW(migrate(releases(2), first - 1), SchemaMismatch);
  EXPECT_THROW(migrate(releases(2), -1), SchemaMismatch);
  EXPECT_EQ(integer("SELECT count(*) FROM sqlite_schema"), 0);
}

TEST_F(SqliteSchema, a_migration_that_fails_leaves_the_file_as_it_was) {
  migrate(releases(1));
  std::vector<Migration> known = releases(3);
  known.back().sql = "CREATE TABLE made_up(of INTEGER); SELECT nonsense";
  EXPECT_THROW(migrate(known), StoreUnavailable);
  EXPECT_EQ(integer("SELECT max(version) FROM migrations"), first);
  EXPECT_EQ(integer("SELECT count(*) FROM sqlite_schema WHERE name = 'made_up'"), 0);
  EXPECT_EQ(integer("SELECT count(*) FROM pragma_table_info('queues') WHERE name = 'made_up'"), 0);
}

template <class... Columns>
std::vector<std::string> names_in(const std::tuple<Columns...>& columns) {
  return std::apply([](const auto&... one) { return std::vector<std::string>{one.name...}; }, columns);
}

TEST_F(SqliteSchema, the_table_of_columns_names_every_column_of_live_and_history) {
  migrate(releases(1));
  const auto stored = [this](const char* table) {
    Connection db(path_, Connection::Mode::existing, 1s);
    const std::string sql = "SELECT name FROM pragma_table_info('" + std::string(table) + "')";
    sqlite::Statement statement(db.handle(), path_, sql, false);
    sqlite::Cursor cursor(statement);
    std::vector<std::string> columns;
    while (cursor.next()) { columns.push_back(cursor.string(0)); }
    return columns;
  };
  EXPECT_THAT(names_in(sqlite::columns::live_columns), UnorderedElementsAreArray(stored("live")));
  std::vector<std::string> ended = names_in(sqlite::columns::copied_columns);
  for (const std::string& name : names_in(sqlite::columns::ended_columns)) { ended.push_back(name); }
  EXPECT_THAT(ended, UnorderedElementsAreArray(stored("history")));
}

}  // namespace
}  // namespace hapax::store
