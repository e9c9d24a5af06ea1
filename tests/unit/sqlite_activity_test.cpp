// Activities in a SQLite file: the views that operators query, and rows that a migration meets.
#include "base/uuid7.hpp"
#include "model/identity.hpp"
#include "store/open.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/schema.hpp"
#include "store/store.hpp"

#include <gmock/gmock.h>

#include <array>
#include <filesystem>

namespace hapax::store {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Row = std::vector<std::optional<std::string>>;

class SqliteActivity : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "hapax-sqlite-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    store_ = open_sqlite(path(), {});
    session_.id = base::new_uuid7();
    store_->open_session(session_);
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] std::string path(const std::string& name = "store.db") const { return folder_ + "/" + name; }

  static NewExecution item(const std::string& task, const std::string& key, const Uuid& parent) {
    NewExecution fresh;
    fresh.id = base::new_uuid7();
    fresh.task = task;
    fresh.identity.emplace();
    fresh.identity->key = key;
    fresh.identity->hash = activity_identity_hash("default", "daily", key);
    fresh.identity->reuse = Reuse::reject;
    fresh.parent = parent;
    return fresh;
  }
  ActivityReply apply(const ActivityChange& change) { return store_->change_activities({&change, 1}).at(0); }

  // The activity "daily" with one run that is a task, and a task instance of it.
  void run_daily() {
    ActivityChange made{.id = "daily", .revision = 0};
    made.definition = {.json = "{}"};
    run_ = item("report", "activity-daily:1", activity_uuid("default", "daily"));
    instance_ = item("extract", "task-activity-daily:1:extract:0", run_.id);
    made.admit = {run_, instance_};
    ASSERT_EQ(apply(made).admissions.size(), 2U);
  }
  void finish(const Uuid& id, FinishKind kind) {
    const ClaimRequest request{
        .session = session_.id, .claim_number = ++claims_, .queues = {{}}, .limit = 9, .idle = 9};
    for (const Claim& claim : store_->claim(request).claims) { claimed_.push_back(claim); }
    for (const Claim& claim : claimed_) {
      if (claim.id != id) { continue; }
      const Finish outcome{.id = id, .fence = claim.fence, .kind = kind, .result = "7"};
      EXPECT_EQ(store_->finish({&outcome, 1}).at(0), FinishVerdict::accepted);
    }
  }
  std::vector<Row> rows(const std::string& statement) { return store_->sql(statement, 100).rows; }
  void execute(const std::string& statement, const std::string& name = "store.db") const {
    sqlite::Connection db(path(name), sqlite::Connection::Mode::existing, 1s);
    db.execute(statement.c_str());
  }

  std::unique_ptr<Store> store_;
  NewSession session_;
  NewExecution run_;
  NewExecution instance_;
  std::vector<Claim> claimed_;
  std::int64_t claims_ = 0;

 private:
  std::string folder_;
};

TEST_F(SqliteActivity, the_views_tell_of_runs_and_of_what_they_started) {
  run_daily();
  const NewExecution stranger = item("other", "order-1", base::new_uuid7());
  static_cast<void>(store_->admit({&stranger, 1}));
  const std::string runs =
      "SELECT namespace, activity, run_id, execution, task, kind, queue, status FROM activity_runs";
  const std::string instances =
      "SELECT namespace, activity, run_id, task_instance_id, execution, task_type, queue, status FROM task_instances";
  const std::string run = run_.id.to_string();
  const std::string instance = instance_.id.to_string();
  const auto run_row = [&](const char* status) {
    return Row{"default", "daily", "activity-daily:1", run, "report", "task", "default", status};
  };
  const auto instance_row = [&](const char* status) {
    return Row{"default", "daily",   "activity-daily:1", "task-activity-daily:1:extract:0",
               instance,  "extract", "default",          status};
  };
  EXPECT_THAT(rows(runs), ElementsAre(run_row("pending")));
  EXPECT_THAT(rows(instances), ElementsAre(instance_row("pending")));
  finish(instance_.id, FinishKind::completed);
  EXPECT_THAT(rows(runs), ElementsAre(run_row("running")));
  EXPECT_THAT(rows(instances), ElementsAre(instance_row("completed")));
  finish(run_.id, FinishKind::completed);
  EXPECT_THAT(rows(runs), ElementsAre(run_row("completed")));
  EXPECT_THAT(rows(instances), ElementsAre(instance_row("completed")));
  EXPECT_THAT(rows("SELECT finished_at FROM activity_runs WHERE activity = 'daily' AND finished_at IS NULL"),
              IsEmpty());
  EXPECT_THAT(rows("SELECT 1 FROM activity_runs WHERE activity = 'weekly'"), IsEmpty());
}

TEST_F(SqliteActivity, a_run_that_was_retried_is_one_run) {
  run_daily();
  finish(run_.id, FinishKind::failed);
  const RetryRequest again{.id = run_.id, .new_id = base::new_uuid7()};
  EXPECT_EQ(store_->retry({&again, 1}).at(0).verdict, RetryVerdict::created);
  EXPECT_THAT(rows("SELECT run_id, execution, run, status FROM activity_runs"),
              ElementsAre(Row{"activity-daily:1", again.new_id.to_string(), "2", "pending"}));
  EXPECT_THAT(rows("SELECT run_id, execution FROM task_instances"),
              ElementsAre(Row{"activity-daily:1", instance_.id.to_string()}))
      << "that the first attempt at it started";
}

TEST_F(SqliteActivity, the_doctor_tells_of_ticks_that_nobody_starts) {
  const auto level = [&] {
    for (const Finding& finding : store_->doctor()) {
      if (finding.subject == "overdue activities") { return finding.level; }
    }
    return Finding::Level::problem;
  };
  ActivityChange made{.id = "daily", .revision = 0};
  made.definition = {.json = "{}"};
  made.schedule = {.cursor = store_->now(), .next_due = store_->now()};
  made.revision = apply(made).revision;
  EXPECT_EQ(level(), Finding::Level::ok);
  made.schedule->next_due = store_->now() - 1min;
  EXPECT_TRUE(apply(made).applied);
  EXPECT_EQ(level(), Finding::Level::warning);
}

TEST_F(SqliteActivity, what_a_file_has_before_a_migration_is_found_after_it) {
  run_daily();
  finish(run_.id, FinishKind::completed);
  store_.reset();
  const std::vector<sqlite::Migration> known{
      sqlite::migrations().front(),
      {sqlite::newest_schema + 1, "made up: the parents' indexes anew",
       "DROP INDEX live_parent; DROP INDEX history_parent;"
       " CREATE INDEX live_parent ON live(parent, id) WHERE parent IS NOT NULL;"
       " CREATE INDEX history_parent ON history(parent, status, id) WHERE parent IS NOT NULL",
       sqlite::newest_schema}};
  {
    sqlite::Connection db(path(), sqlite::Connection::Mode::existing, 1s);
    EXPECT_EQ(sqlite::migrate(db, 0, Time(1us), known).to, sqlite::newest_schema + 1);
  }

  store_ = open_sqlite(path(), {});
  EXPECT_EQ(store_->info().schema_version, sqlite::newest_schema + 1) << "deploys roll: this build goes on beside";
  ASSERT_EQ(store_->activities({}).size(), 1U);
  EXPECT_EQ(store_->list({.parent = run_.parent}).at(0).id, run_.id);
  EXPECT_EQ(store_->list({.parent = run_.id}).at(0).id, instance_.id);
  ActivityChange made{.id = "daily", .revision = store_->activities({}).at(0).revision};
  made.schedule = {.cursor = store_->now(), .next_due = store_->now()};
  EXPECT_TRUE(apply(made).applied);
  EXPECT_EQ(store_->due_activities(1).due.at(0).last_result, "7");
  EXPECT_EQ(rows("SELECT 1 FROM activity_runs").size(), 1U);
}

TEST_F(SqliteActivity, what_a_parent_started_is_listed_in_pages_whatever_became_of_it) {
  const Uuid parent = base::new_uuid7();
  std::vector<NewExecution> items;
  for (int i = 0; i < 9; ++i) { items.push_back(item("report", std::to_string(i), parent)); }
  static_cast<void>(store_->admit(items));
  const std::array<FinishKind, 4> ends{FinishKind::completed, FinishKind::failed, FinishKind::cancelled,
                                       FinishKind::timed_out};
  for (std::size_t i = 0; i < 7; ++i) { finish(items[i].id, ends[i % ends.size()]); }
  std::vector<Uuid> told;
  ListQuery query{.parent = parent, .limit = 2};
  for (std::vector<Execution> page = store_->list(query); !page.empty(); page = store_->list(query)) {
    for (const Execution& execution : page) { told.push_back(execution.id); }
    query.after = told.back();
  }
  std::vector<Uuid> expected;
  for (auto one = items.rbegin(); one != items.rend(); ++one) { expected.push_back(one->id); }
  EXPECT_EQ(told, expected);
  EXPECT_THAT(store_->list({.statuses = {Status::failed, Status::running}, .parent = parent}).size(), 4U);
  EXPECT_THAT(store_->list({.parent = parent, .dead_only = true}).size(), 2U);
  EXPECT_THAT(store_->list({.identity = items[3].identity->hash, .parent = parent}).size(), 1U);
  EXPECT_TRUE(store_->list({.namespace_name = "shop", .parent = parent}).empty());
}

}  // namespace
}  // namespace hapax::store
