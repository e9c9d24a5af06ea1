// Activities where PostgreSQL differs from the memory model: lost answers, other sessions' locks, plans, views,
// upgrades.
#include "base/fault.hpp"
#include "model/identity.hpp"
#include "unit/postgres_fixture.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

namespace hapax::store {

namespace {

class PostgresActivitiesTest : public PostgresStoreTest {
 protected:
  static ActivityChange change(const std::string& id, std::optional<std::int64_t> revision) {
    ActivityChange change;
    change.id = id;
    change.revision = revision;
    return change;
  }
  ActivityChange definition(const std::string& id, Duration next_due) {
    ActivityChange made = change(id, 0);
    made.definition = {.json = "{}"};
    made.schedule = {.cursor = begun_, .next_due = begun_ + next_due};
    return made;
  }
  static NewExecution run(const std::string& activity, const std::string& key) {
    NewExecution item = request();
    IdentityClaim& identity = item.identity.emplace();
    identity.key = "activity-" + activity + ":" + key;
    identity.hash = activity_identity_hash("default", activity, identity.key);
    identity.reuse = Reuse::reject;
    item.parent = activity_uuid("default", activity);
    return item;
  }
  ActivityReply apply(const ActivityChange& change) { return store_->change_activities({&change, 1}).at(0); }
  ActivityState find(const std::string& id) { return store_->activities({.id = id}).at(0); }
  // Rows read from a table, once its statistics show this many changes: connections report them with a delay, at the
  // latest when they are closed.
  int reads(const std::string& table, int changes) {
    const std::string from =
        " FROM pg_stat_user_tables WHERE relname = '" + table + "' AND schemaname = '" + schema_ + "'";
    while (std::stoi("0" + psql_.run("SELECT n_tup_ins + n_tup_upd" + from)) < changes) { std::this_thread::yield(); }
    return std::stoi("0" + psql_.run("SELECT seq_tup_read + idx_tup_fetch" + from));
  }

  const Time begun_ = store_->now();
};

TEST_F(PostgresActivitiesTest, AChangeWhoseReplyIsLostIsKnownAndNotDoneTwice) {
  for (const std::string point : {"postgres.activities.before_commit", "postgres.activities.after_commit"}) {
    base::arm_faults(point + "=throw");
    const ActivityReply made = apply(definition(point, 1h));
    EXPECT_TRUE(made.applied) << point;
    EXPECT_EQ(made.revision, 1);
    ActivityChange tick = change(point, made.revision);
    tick.admit = {run(point, "1"), run(point, "2")};
    base::arm_faults(point + "=throw");
    const ActivityReply ticked = apply(tick);
    EXPECT_TRUE(ticked.applied) << point;
    EXPECT_EQ(ticked.revision, 2);
    ASSERT_EQ(ticked.admissions.size(), 2U);
    EXPECT_TRUE(ticked.admissions[1].created());
    ActivityChange counted = change(point, std::nullopt);
    counted.add.missed = 3;
    base::arm_faults(point + "=throw");
    EXPECT_TRUE(apply(counted).applied);
    EXPECT_EQ(find(point).counts, (ActivityCounts{.started = 2, .missed = 3})) << point;
    EXPECT_EQ(find(point).revision, 2);
  }
  EXPECT_EQ(count("live"), "4");
}

// Four tickers take due activities in any order.
TEST_F(PostgresActivitiesTest, TickersWhoseSpansOverlapDoEachTickOnce) {
  constexpr int activities = 20;
  constexpr int rounds = 10;
  std::vector<ActivityChange> made;
  for (int i = 0; i < activities; ++i) { made.push_back(definition("a" + std::to_string(i), 0s)); }
  (void)store_->change_activities(made);
  std::atomic<int> applied{0};
  {
    std::vector<std::jthread> tickers;
    for (unsigned seed = 1; seed <= 4; ++seed) {
      tickers.emplace_back([&, seed] {
        const auto mine = open(url_, {.migrate = Migrate::no});
        std::mt19937 random(seed);
        while (true) {
          std::vector<ActivityChange> span;
          for (const DueActivity& due : mine->due_activities(activities).due) {
            ActivityChange& tick = span.emplace_back(change(due.state.id, due.state.revision));
            const bool last = due.state.counts.started + 1 == rounds;
            tick.schedule = {.cursor = due.state.cursor, .next_due = last ? std::nullopt : due.state.next_due};
            tick.admit = {run(due.state.id, std::to_string(due.state.counts.started))};
          }
          if (span.empty()) { return; }
          std::shuffle(span.begin(), span.end(), random);
          for (const ActivityReply& reply : mine->change_activities(span)) {
            if (reply.applied) {
              EXPECT_TRUE(reply.admissions.at(0).created());
              ++applied;
            }
          }
        }
      });
    }
  }
  EXPECT_EQ(applied.load(), activities * rounds);
  EXPECT_EQ(count("live"), std::to_string(activities * rounds));
  for (const ActivityState& state : store_->activities({})) { EXPECT_EQ(state.counts.started, rounds); }
}

TEST_F(PostgresActivitiesTest, ARunThatAnOpenTransactionHasMakesItBusyAndChangesNothing) {
  ActivityChange first = change("daily", apply(definition("daily", 1h)).revision);
  first.admit = {run("daily", "1")};
  ActivityChange next = change("daily", apply(first).revision);
  next.terminate = {first.admit[0].id};
  next.admit = {run("daily", "2")};
  Psql user(server_url());
  user.run("BEGIN");
  user.run("SELECT id FROM " + schema_ + ".live FOR UPDATE");
  EXPECT_THROW((void)apply(next), StoreBusy);
  user.run("COMMIT");
  EXPECT_EQ(find("daily").revision, 2);
  EXPECT_TRUE(apply(next).applied);
  EXPECT_EQ(store_->get(first.admit[0].id)->status, Status::cancelled);
}

TEST_F(PostgresActivitiesTest, TheTickerReadsWhatIsDueHoweverManyThereAre) {
  constexpr int many = 10'000;
  {
    const auto other = open(url_, {.migrate = Migrate::no});
    EXPECT_TRUE(other->due_activities(100).due.empty());
    for (int done = 0; done < many; done += 1000) {
      std::vector<ActivityChange> made;
      for (int i = 0; i < 1000; ++i) { made.push_back(definition("a" + std::to_string(done + i), 1h)); }
      (void)other->change_activities(made);
    }
  }
  psql_.run("UPDATE " + schema_ + ".activities SET next_due = 1 WHERE id IN ('a7', 'a77')");
  const int before = reads("activities", 2 * many + 2);
  {
    const auto other = open(url_, {.migrate = Migrate::no});
    for (int i = 0; i < 20; ++i) { EXPECT_EQ(other->due_activities(100).due.size(), 2U); }
    ActivityChange tick = change("a7", 1);
    tick.schedule = {.cursor = other->now(), .next_due = std::nullopt};
    EXPECT_TRUE(other->change_activities({&tick, 1}).at(0).applied);
  }
  const int after = reads("activities", 2 * many + 3);
  EXPECT_LT(after - before, 200) << "twenty looks at two due ones, and a tick";
}

TEST_F(PostgresActivitiesTest, WhatAParentStartedIsFoundByItsIndex) {
  constexpr int strangers = 5000;
  const auto another = base::new_uuid7();
  std::vector<NewExecution> items;
  for (int i = 0; i < strangers; ++i) {
    items.push_back(request());
    if (i % 2 == 0) { items.back().parent = base::new_uuid7(); }
    if (i % 500 == 0) { items.back().parent = another; }
  }
  (void)store_->admit(items);
  psql_.run("ANALYZE " + schema_ + ".live");
  store_.reset();
  const int before = reads("live", strangers);
  store_ = open(url_, {.migrate = Migrate::no});
  const std::vector<Execution> page = store_->list({.parent = another, .limit = 4});
  ASSERT_EQ(page.size(), 4U);
  EXPECT_EQ(page[0].id, items[4500].id);
  const std::vector<Execution> rest = store_->list({.parent = another, .after = page.back().id});
  ASSERT_EQ(rest.size(), 6U);
  EXPECT_EQ(rest.back().id, items[0].id);
  EXPECT_TRUE(store_->list({.statuses = {Status::running}, .parent = another}).empty());
  NewExecution marker = request();
  (void)store_->admit({&marker, 1});
  store_.reset();
  EXPECT_LT(reads("live", strangers + 1) - before, 100);
}

TEST_F(PostgresActivitiesTest, ViewsTellOfRunsAndTheirTaskInstances) {
  ActivityChange tick = change("daily", apply(definition("daily", 1h)).revision);
  tick.admit = {run("daily", "1"), run("daily", "2")};
  NewExecution instance = keyed("extract-1");
  instance.parent = tick.admit[0].id;
  tick.admit.push_back(instance);
  (void)apply(tick);
  const std::vector<Claim> claims = store_->claim(claim_of(session(), 1, 10)).claims;
  ASSERT_EQ(claims.size(), 3U);
  const std::vector<Finish> finishes{
      completed(claims[0]),
      {.id = claims[1].id, .fence = claims[1].fence, .kind = FinishKind::failed, .error = ErrorInfo{.type = "Bad"}},
      completed(claims[2])};
  (void)store_->finish(finishes);
  const RetryRequest again{.id = claims[1].id, .new_id = base::new_uuid7()};
  EXPECT_EQ(store_->retry({&again, 1}).at(0).verdict, RetryVerdict::created);
  const TextTable runs = store_->sql(
      "SELECT namespace, activity, run_id, status, queue, task, finished_at IS NULL FROM activity_runs ORDER BY run_id",
      10);
  using Row = std::vector<std::optional<std::string>>;
  ASSERT_EQ(runs.rows.size(), 2U) << "a retry makes no second record";
  EXPECT_EQ(runs.rows[0], (Row{"default", "daily", "activity-daily:1", "completed", "default", "work", "false"}));
  EXPECT_EQ(runs.rows[1], (Row{"default", "daily", "activity-daily:2", "pending", "default", "work", "true"}));
  const TextTable instances = store_->sql(
      "SELECT activity, run_id, task_instance_id, task_type, status, execution, created_at <= finished_at FROM "
      "task_instances",
      10);
  ASSERT_EQ(instances.rows.size(), 1U);
  EXPECT_EQ(instances.rows[0],
            (Row{"daily", "activity-daily:1", "extract-1", "work", "completed", instance.id.to_string(), "true"}));
}

}  // namespace

}  // namespace hapax::store
