// A change of an activity starts the activity's runs in the same transaction.
#include "conformance/activity_fixture.hpp"

#include <atomic>
#include <thread>

namespace hapax::conformance {

namespace {

TEST_F(ActivityRunsConformance, ATickAdmitsAndAdvancesAtOnce) {
  const std::int64_t revision = make("daily", 0s);
  const Time now = store().now();
  ActivityChange tick = change("daily", revision);
  tick.schedule = {.cursor = now, .next_due = now + 1h};
  tick.admit = {run("daily", "1"), run("daily", "2"), run("daily", "1")};
  NewExecution instance = request("extract", "etl");
  instance.parent = tick.admit[0].id;
  tick.admit.push_back(instance);
  tick.add.missed = 3;
  const ActivityReply reply = apply(tick);
  ASSERT_TRUE(reply.applied);
  EXPECT_EQ(reply.revision, revision + 1);
  ASSERT_EQ(reply.admissions.size(), 4U);
  EXPECT_TRUE(reply.admissions[0].created());
  EXPECT_TRUE(reply.admissions[1].created());
  EXPECT_EQ(reply.admissions[2].verdict, AdmissionVerdict::deduplicated);
  EXPECT_EQ(reply.admissions[2].id, tick.admit[0].id);
  EXPECT_TRUE(reply.admissions[3].created());
  const ActivityState state = *find("daily");
  EXPECT_EQ(state.counts, (ActivityCounts{.started = 2, .duplicates = 1, .missed = 3}));
  EXPECT_EQ(state.cursor, now);
  EXPECT_EQ(state.next_due, now + 1h);
  ASSERT_TRUE(state.last_started);
  EXPECT_GE(*state.last_started, now);
  EXPECT_TRUE(store().due_activities(10).due.empty());
  const std::vector<Execution> runs = store().list({.parent = state.uuid});
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].id, tick.admit[1].id) << "newest first";
  EXPECT_EQ(runs[1].identity_key, "activity-daily:1");
  EXPECT_EQ(store().list({.parent = tick.admit[0].id}).at(0).task, "extract");
  EXPECT_FALSE(apply(tick).applied) << "two never do the same tick";
  EXPECT_EQ(store().list({}).size(), 3U);
}

TEST_F(ActivityRunsConformance, TheIdentityIsTheSecondWall) {
  std::int64_t revision = make("daily", 0s);
  ActivityChange tick = change("daily", revision);
  tick.admit = {run("daily", "1")};
  revision = apply(tick).revision;
  bring_to(tick.admit[0].id, Status::failed);
  ActivityChange again = change("daily", revision);
  again.admit = {run("daily", "1")};
  const ActivityReply reply = apply(again);
  EXPECT_FALSE(reply.admissions.at(0).created()) << "a failed tick is retried by people, not by the clock";
  EXPECT_EQ(find("daily")->counts, (ActivityCounts{.started = 1, .duplicates = 1}));
}

TEST_F(ActivityRunsConformance, WhatIsDueTellsOfItsRuns) {
  std::int64_t revision = make("daily", 0s);
  ActivityChange tick = change("daily", revision);
  for (const char* key : {"1", "2", "3", "4"}) { tick.admit.push_back(run("daily", key)); }
  NewExecution stranger = request("report");
  stranger.parent = activity_uuid("default", "another");
  tick.admit.push_back(stranger);
  apply(tick);
  DueActivity due = store().due_activities(1).due.at(0);
  EXPECT_EQ(due.live, (std::vector<Uuid>{tick.admit[0].id, tick.admit[1].id, tick.admit[2].id, tick.admit[3].id}));
  EXPECT_FALSE(due.last_result);
  TestWorker anne = worker();
  std::vector<Claim> claims = claim(anne);
  ASSERT_EQ(claims.size(), 5U);
  EXPECT_EQ(finish(completed(claims[1], R"({"rows":2})")), FinishVerdict::accepted);
  EXPECT_EQ(finish(completed(claims[0], R"({"rows":1})")), FinishVerdict::accepted);
  EXPECT_EQ(finish(failed(claims[2])), FinishVerdict::accepted);
  due = store().due_activities(1).due.at(0);
  EXPECT_EQ(due.live, std::vector<Uuid>{tick.admit[3].id});
  EXPECT_EQ(due.last_result, R"({"rows":2})") << "of the newest run, not of the one that ended last";
}

TEST_F(ActivityRunsConformance, WhatHasExpiredOrGoesOnGaveNoResult) {
  store().configure_queue({}, {.retention = 1h});
  ActivityChange tick = change("daily", make("daily", 0s));
  tick.admit = {run("daily", "1"), run("daily", "2")};
  tick.admit[1].kind = Kind::workflow;
  apply(tick);
  TestWorker anne = worker();
  anne.tasks = {"report"};
  const std::vector<Claim> claims = claim(anne);
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(finish(completed(claims[0], R"({"rows":1})")), FinishVerdict::accepted);
  const auto next = std::make_shared<const NewExecution>(request("report"));
  Finish goes_on = ending(claims[1], FinishKind::continued);
  goes_on.turn = std::make_shared<const Turn>(Turn{.next = next});
  EXPECT_EQ(finish(goes_on), FinishVerdict::accepted);
  DueActivity due = store().due_activities(1).due.at(0);
  EXPECT_EQ(due.live, std::vector<Uuid>{next->id}) << "the run it went on as";
  EXPECT_EQ(due.last_result, R"({"rows":1})");
  advance(1h);
  EXPECT_FALSE(store().due_activities(1).due.at(0).last_result) << "expired, swept or not";
}

TEST_F(ActivityRunsConformance, OthersAreCancelledOrTerminatedBeforeANewRunStarts) {
  std::int64_t revision = make("daily", 0s);
  ActivityChange tick = change("daily", revision);
  const LimitKey one_at_a_time{.text = "activity:daily", .ordered = true};
  for (const char* key : {"1", "2"}) {
    tick.admit.push_back(run("daily", key));
    tick.admit.back().limit_key = one_at_a_time;
  }
  revision = apply(tick).revision;
  TestWorker anne = worker();
  const Claim first = claim_one(anne);
  EXPECT_EQ(first.id, tick.admit[0].id);
  ActivityChange cancelling = change("daily", revision);
  cancelling.cancel = {tick.admit[0].id, tick.admit[1].id, base::new_uuid7()};
  cancelling.admit = {run("daily", "3")};
  cancelling.admit[0].limit_key = one_at_a_time;
  revision = apply(cancelling).revision;
  EXPECT_TRUE(get(tick.admit[0].id).cancel_requested);
  EXPECT_EQ(status(tick.admit[1].id), Status::cancelled);
  EXPECT_TRUE(claim(anne).empty()) << "the first has not ended";
  EXPECT_EQ(finish(ending(first, FinishKind::cancelled)), FinishVerdict::accepted);
  EXPECT_EQ(get(tick.admit[0].id).error->message, newer_run);
  const Claim third = claim_one(anne);
  EXPECT_EQ(third.id, cancelling.admit[0].id);
  ActivityChange terminating = change("daily", revision);
  terminating.terminate = {third.id, tick.admit[1].id};
  terminating.admit = {run("daily", "4")};
  terminating.admit[0].limit_key = one_at_a_time;
  apply(terminating);
  EXPECT_EQ(status(third.id), Status::cancelled);
  EXPECT_EQ(get(third.id).error->message, newer_run);
  EXPECT_EQ(finish(completed(third)), FinishVerdict::stale);
  EXPECT_EQ(claim_one(anne).id, terminating.admit[0].id);
}

TEST_F(ActivityRunsConformance, NobodyIsStoppedForARunThatIsNotStarted) {
  std::int64_t revision = make("daily", 0s);
  ActivityChange tick = change("daily", revision);
  tick.admit = {run("daily", "1")};
  revision = apply(tick).revision;
  ActivityChange again = change("daily", revision);
  again.admit = {run("daily", "1")};
  again.terminate = {tick.admit[0].id};
  revision = apply(again).revision;
  EXPECT_EQ(status(tick.admit[0].id), Status::pending) << "it is the very run that was asked for";
  QueuePatch drain;
  drain.draining = true;
  store().configure_queue({.namespace_name = "default", .name = "default"}, drain);
  ActivityChange refused = change("daily", revision);
  refused.admit = {run("daily", "2")};
  refused.cancel = {tick.admit[0].id};
  EXPECT_TRUE(apply(refused).applied);
  EXPECT_EQ(status(tick.admit[0].id), Status::pending);
}

TEST_F(ActivityRunsConformance, WhatBelongsToARunStartsWithItOnly) {
  std::int64_t revision = make("etl", 0s);
  const auto instances = [](const NewExecution& target, const std::string& queue) {
    std::vector<NewExecution> all = {target};
    for (const char* task : {"extract", "load"}) {
      all.push_back(request(task, queue));
      all.back().parent = target.id;
    }
    return all;
  };
  ActivityChange tick = change("etl", revision);
  tick.admit = instances(run("etl", "1"), "db");
  revision = apply(tick).revision;
  EXPECT_EQ(store().list({}).size(), 3U);
  ActivityChange again = change("etl", revision);
  again.admit = instances(run("etl", "1"), "db");
  const ActivityReply met = apply(again);
  for (const Admission& admission : met.admissions) {
    EXPECT_FALSE(admission.created());
    EXPECT_EQ(admission.id, tick.admit[0].id);
  }
  EXPECT_EQ(store().list({}).size(), 3U) << "they have no identity, and are not started again all the same";
  QueuePatch drain;
  drain.draining = true;
  store().configure_queue({.namespace_name = "default", .name = "db"}, drain);
  ActivityChange half;  // no revision given, as when an event starts runs
  half.id = "etl";
  half.admit = instances(run("etl", "2"), "db");
  const ActivityReply reply = apply(half);
  EXPECT_TRUE(reply.applied);
  EXPECT_EQ(reply.revision, met.revision);
  EXPECT_TRUE(reply.admissions.at(0).created());
  EXPECT_EQ(reply.admissions.at(1).verdict, AdmissionVerdict::queue_draining);
  EXPECT_EQ(find("etl")->counts, (ActivityCounts{.started = 2, .duplicates = 1, .refused = 2}));
  EXPECT_NE(find("etl")->trouble, "");
}

TEST_F(ActivityRunsConformance, ADrainingQueueRefuses) {
  const std::int64_t revision = make("daily", 0s);
  QueuePatch drain;
  drain.draining = true;
  store().configure_queue({.namespace_name = "default", .name = "reports"}, drain);
  ActivityChange tick = change("daily", revision);
  tick.admit = {run("daily", "1", "reports")};
  const ActivityReply reply = apply(tick);
  EXPECT_TRUE(reply.applied);
  EXPECT_EQ(reply.admissions.at(0).verdict, AdmissionVerdict::queue_draining);
  const ActivityState state = *find("daily");
  EXPECT_EQ(state.counts, (ActivityCounts{.refused = 1}));
  EXPECT_EQ(state.trouble, "QueueDraining: queue 'reports' is draining and takes nothing new");
  EXPECT_FALSE(state.last_started);
}

TEST_F(ActivityRunsConformance, ABatchOfChangesIsJudgedOneByOne) {
  const std::int64_t a = make("a", 0s);
  const std::int64_t b = make("b", 0s);
  const std::int64_t c = make("c", 0s);
  std::vector<ActivityChange> changes = {change("a", a), change("b", b + 1), change("c", c), definition("d", 0, "{}")};
  for (ActivityChange& one : changes) {
    if (one.id != "d") {
      one.admit = {run(one.id, "1"), run(one.id, "2")};
      one.schedule = {.cursor = store().now(), .next_due = std::nullopt};
    }
  }
  const std::vector<ActivityReply> replies = store().change_activities(changes);
  ASSERT_EQ(replies.size(), 4U);
  EXPECT_TRUE(replies[0].applied);
  EXPECT_FALSE(replies[1].applied);
  EXPECT_TRUE(replies[2].applied);
  EXPECT_TRUE(replies[3].applied);
  EXPECT_EQ(replies[0].admissions.size(), 2U);
  EXPECT_TRUE(replies[1].admissions.empty());
  EXPECT_EQ(replies[2].admissions.at(1).id, changes[2].admit[1].id);
  EXPECT_EQ(store().list({}).size(), 4U);
  EXPECT_EQ(find("a")->counts.started, 2);
  EXPECT_EQ(find("b")->counts.started, 0);
  EXPECT_TRUE(store().due_activities(10).due.size() == 1);
  EXPECT_TRUE(store().change_activities({}).empty());
}

// When several tickers meet the same tick, exactly one advances the activity, in every round.
TEST_F(ActivityRunsConformance, OfManyTickersOneAdvances) {
  constexpr int tickers = 8;
  constexpr int rounds = 25;
  make("daily", 0s);
  std::atomic<int> applied{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < tickers; ++t) {
    threads.emplace_back([this, &applied] {
      const auto mine = second();
      while (true) {
        const DueActivities due = mine->due_activities(1);
        if (due.due.empty()) { return; }
        const ActivityState& state = due.due[0].state;
        ActivityChange tick = change("daily", state.revision);
        // The cursor advances by 1 µs per round.
        const Time cursor = state.cursor + 1us;
        const bool last = state.counts.started + 1 == rounds;
        tick.schedule = {.cursor = cursor, .next_due = last ? std::nullopt : state.next_due};
        tick.admit = {run("daily", std::to_string(state.counts.started))};
        const ActivityReply reply = mine->change_activities({&tick, 1}).at(0);
        if (reply.applied) {
          EXPECT_TRUE(reply.admissions.at(0).created());
          ++applied;
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(applied.load(), rounds);
  EXPECT_EQ(find("daily")->counts, (ActivityCounts{.started = rounds}));
  EXPECT_EQ(store().list({.parent = activity_uuid("default", "daily"), .limit = 100}).size(),
            static_cast<std::size_t>(rounds));
}

}  // namespace

}  // namespace hapax::conformance
