// What a store keeps of activities, and the one way in which it changes (SPEC S1, S5, S7, S9).
#include "conformance/fixture.hpp"

#include "model/identity.hpp"

#include <thread>

namespace hapax::conformance {

namespace {

class ActivityConformance : public Conformance {
 protected:
  static ActivityChange change(const std::string& id, std::int64_t revision, const std::string& ns = "default") {
    ActivityChange change;
    change.ns = ns;
    change.id = id;
    change.revision = revision;
    return change;
  }

  static ActivityChange definition(const std::string& id, std::int64_t revision, const std::string& json,
                                   ActivityKind kind = ActivityKind::cron, const std::string& ns = "default") {
    ActivityChange made = change(id, revision, ns);
    made.definition = {.json = json, .kind = kind};
    made.actor = "ann";
    made.action = "activity.apply";
    made.detail = json;
    return made;
  }

  ActivityReply apply(const ActivityChange& change) { return store().change_activities({&change, 1}).at(0); }

  // An activity whose next tick is after so long.
  std::int64_t make(const std::string& id, Duration next_due, const std::string& ns = "default") {
    ActivityChange made = definition(id, 0, "{\"id\":\"" + id + "\"}", ActivityKind::cron, ns);
    const Time now = store().now();
    made.schedule = {.cursor = now, .next_due = now + next_due};
    const ActivityReply reply = apply(made);
    EXPECT_TRUE(reply.applied);
    return reply.revision;
  }

  std::optional<ActivityState> find(const std::string& id, const std::string& ns = "default") {
    const std::vector<ActivityState> found = store().activities({.ns = ns, .id = id});
    return found.empty() ? std::nullopt : std::optional(found.at(0));
  }

  // A run of an activity as the ticker asks for it.
  static NewExecution run(const std::string& activity, const std::string& key, const std::string& queue = "default") {
    NewExecution item = request("report", queue);
    IdentityClaim& identity = item.identity.emplace();
    identity.key = "activity-" + activity + ":" + key;
    identity.hash = activity_identity_hash("default", activity, identity.key);
    identity.reuse = Reuse::reject;
    item.parent = activity_uuid("default", activity);
    return item;
  }
};

TEST_F(ActivityConformance, IsMadeReadAndTold) {
  const Time before = store().now();
  ActivityChange made = definition("daily", 0, R"({"id":"daily"})");
  made.schedule = {.cursor = before, .next_due = before + 1h};
  const ActivityReply reply = apply(made);
  EXPECT_TRUE(reply.applied);
  EXPECT_GT(reply.revision, 0);
  const ActivityState state = second()->activities({.id = "daily"}).at(0);
  EXPECT_EQ(state.ns, "default");
  EXPECT_EQ(state.id, "daily");
  EXPECT_EQ(state.uuid, activity_uuid("default", "daily"));
  EXPECT_EQ(state.revision, reply.revision);
  EXPECT_EQ(state.version, 1);
  EXPECT_EQ(state.definition, R"({"id":"daily"})");
  EXPECT_EQ(state.kind, ActivityKind::cron);
  EXPECT_FALSE(state.paused);
  EXPECT_EQ(state.cursor, before);
  EXPECT_EQ(state.next_due, before + 1h);
  EXPECT_FALSE(state.last_started);
  EXPECT_EQ(state.counts, ActivityCounts{});
  EXPECT_GE(state.created_at, before);
  EXPECT_EQ(state.updated_at, state.created_at);
  const AuditLine line = store().audit("default", 1).at(0);
  EXPECT_EQ(line.action, "activity.apply");
  EXPECT_EQ(line.actor, "ann");
  EXPECT_EQ(line.subject, "daily");
  EXPECT_EQ(line.detail, R"({"id":"daily"})");
}

TEST_F(ActivityConformance, OneThatIsThereIsNotMadeAgain) {
  const std::int64_t revision = make("daily", 1h);
  const ActivityReply reply = apply(definition("daily", 0, R"({"other":1})"));
  EXPECT_FALSE(reply.applied);
  EXPECT_EQ(reply.revision, revision);
  EXPECT_EQ(find("daily")->definition, R"({"id":"daily"})");
  EXPECT_EQ(store().audit("default", 10).size(), 1U) << "what was not done is not in the audit";
}

TEST_F(ActivityConformance, AChangeOfAnotherRevisionDoesNothing) {
  const std::int64_t revision = make("daily", 1h);
  const ActivityState before = *find("daily");
  ActivityChange late = definition("daily", revision + 1, R"({"other":1})");
  late.pause = {.paused = true, .note = "no"};
  late.schedule = {.cursor = store().now() + 1h, .next_due = std::nullopt};
  late.add.missed = 5;
  late.trouble = "trouble";
  late.admit.push_back(run("daily", "1"));
  const ActivityReply reply = apply(late);
  EXPECT_FALSE(reply.applied);
  EXPECT_EQ(reply.revision, revision);
  EXPECT_TRUE(reply.admissions.empty());
  EXPECT_EQ(*find("daily"), before);
  EXPECT_TRUE(store().list({}).empty());
  EXPECT_FALSE(apply(change("nobody", 7)).applied);
  EXPECT_FALSE(apply(change("nobody", 0)).applied) << "there is nothing that could be made of it";
}

TEST_F(ActivityConformance, VersionsAreKept) {
  std::int64_t revision = make("daily", 1h);
  advance(1min);
  revision = apply(definition("daily", revision, R"({"id":"daily","v":2})")).revision;
  const ActivityState state = *find("daily");
  EXPECT_EQ(state.version, 2);
  EXPECT_GE(state.updated_at - state.created_at, 1min);
  EXPECT_TRUE(state.next_due) << "a definition alone leaves the schedule as it is";
  revision = apply(definition("daily", revision, R"({"id":"daily","v":2})")).revision;
  EXPECT_EQ(find("daily")->version, 2) << "the same text is no new version";
  const std::vector<ActivityVersion> versions = store().activity_versions("default", "daily");
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_EQ(versions[0].version, 2);
  EXPECT_EQ(versions[0].definition, R"({"id":"daily","v":2})");
  EXPECT_EQ(versions[0].actor, "ann");
  EXPECT_EQ(versions[1].version, 1);
  EXPECT_GE(versions[0].at - versions[1].at, 1min);
  EXPECT_TRUE(store().activity_versions("default", "nobody").empty());
  EXPECT_TRUE(store().activity_versions("shop", "daily").empty());
}

TEST_F(ActivityConformance, WhatIsRemovedIsAbsentAndGoesOnWhenMadeAgain) {
  std::int64_t revision = make("daily", 0s);
  ActivityChange tick = change("daily", revision);
  tick.admit.push_back(run("daily", "1"));
  revision = apply(tick).revision;
  ActivityChange removal = change("daily", revision);
  removal.remove = true;
  const ActivityReply removed = apply(removal);
  EXPECT_TRUE(removed.applied);
  EXPECT_EQ(removed.revision, 0);
  EXPECT_FALSE(find("daily"));
  EXPECT_TRUE(store().due_activities(10).due.empty());
  EXPECT_FALSE(store().due_activities(10).next);
  EXPECT_FALSE(apply(removal).applied);
  ActivityChange counted;
  counted.id = "daily";
  EXPECT_FALSE(apply(counted).applied);
  EXPECT_EQ(store().list({.parent = activity_uuid("default", "daily")}).size(), 1U) << "its runs stay";
  advance(1min);
  const ActivityReply again = apply(definition("daily", 0, R"({"id":"daily"})"));
  EXPECT_TRUE(again.applied);
  EXPECT_GT(again.revision, revision) << "a change that was meant for the removed one must not meet the new one";
  const ActivityState state = *find("daily");
  EXPECT_EQ(state.version, 2);
  EXPECT_EQ(state.counts.started, 1);
  EXPECT_FALSE(state.next_due);
  EXPECT_EQ(store().activity_versions("default", "daily").size(), 2U);
}

TEST_F(ActivityConformance, APausedOneIsNeverDue) {
  std::int64_t revision = make("daily", 0s);
  ActivityChange pause = change("daily", revision);
  pause.pause = {.paused = true, .note = "stock-taking"};
  revision = apply(pause).revision;
  EXPECT_TRUE(find("daily")->paused);
  EXPECT_EQ(find("daily")->note, "stock-taking");
  EXPECT_FALSE(find("daily")->next_due);
  EXPECT_TRUE(store().due_activities(10).due.empty());
  ActivityChange schedule = change("daily", revision);
  schedule.schedule = {.cursor = store().now(), .next_due = store().now()};
  revision = apply(schedule).revision;
  EXPECT_FALSE(find("daily")->next_due) << "whatever a change says";
  ActivityChange resume = change("daily", revision);
  resume.pause = {.paused = false, .note = ""};
  resume.schedule = {.cursor = store().now(), .next_due = store().now()};
  apply(resume);
  EXPECT_FALSE(find("daily")->paused);
  EXPECT_EQ(find("daily")->note, "");
  EXPECT_EQ(store().due_activities(10).due.size(), 1U);
}

TEST_F(ActivityConformance, DueOnesComeTheLongestDueFirst) {
  make("b", 10s);
  make("a", 20s);
  make("c", 30s, "shop");
  ActivityChange by_event = definition("on-order", 0, "{}", ActivityKind::event);
  by_event.schedule = {.cursor = store().now(), .next_due = store().now()};
  apply(by_event);
  EXPECT_FALSE(find("on-order")->next_due) << "events have no ticks";
  DueActivities due = store().due_activities(10);
  EXPECT_TRUE(due.due.empty());
  ASSERT_TRUE(due.next);
  EXPECT_EQ(*due.next, *find("b")->next_due);
  advance(25s);
  due = store().due_activities(10);
  ASSERT_EQ(due.due.size(), 2U);
  EXPECT_EQ(due.due[0].state, *find("b"));
  EXPECT_EQ(due.due[1].state, *find("a"));
  EXPECT_EQ(due.next, find("c", "shop")->next_due);
  EXPECT_GE(due.now, *find("a")->next_due);
  advance(25s);
  due = store().due_activities(2);
  ASSERT_EQ(due.due.size(), 2U);
  EXPECT_EQ(due.due[1].state.id, "a");
  EXPECT_EQ(due.next, find("c", "shop")->next_due) << "more is due: the next is in the past";
  EXPECT_EQ(store().due_activities(3).due.at(2).state.ns, "shop");
}

TEST_F(ActivityConformance, ATickAdmitsAndAdvancesAtOnce) {
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

TEST_F(ActivityConformance, TheIdentityIsTheSecondWall) {
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

TEST_F(ActivityConformance, WhatIsDueTellsOfItsRuns) {
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

TEST_F(ActivityConformance, WhatHasExpiredOrGoesOnGaveNoResult) {
  store().configure_queue({}, {.retention = 1h});
  ActivityChange tick = change("daily", make("daily", 0s));
  tick.admit = {run("daily", "1"), run("daily", "2")};
  tick.admit[1].kind = Kind::workflow;
  apply(tick);
  TestWorker anne = worker();
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

TEST_F(ActivityConformance, OthersAreCancelledOrTerminatedBeforeANewRunStarts) {
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

TEST_F(ActivityConformance, ADrainingQueueRefuses) {
  const std::int64_t revision = make("daily", 0s);
  QueuePatch drain;
  drain.draining = true;
  store().configure_queue({.ns = "default", .name = "reports"}, drain);
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

TEST_F(ActivityConformance, CountsAreAddedWithoutARevision) {
  const std::int64_t revision = make("on-order", 1h);
  ActivityChange counted;
  counted.id = "on-order";
  counted.add = {.started = 7, .duplicates = 2, .refused = 1};
  counted.trouble = "PayloadTooLarge: input";
  const ActivityReply reply = apply(counted);
  EXPECT_TRUE(reply.applied);
  EXPECT_EQ(reply.revision, revision);
  apply(counted);
  const ActivityState state = *find("on-order");
  EXPECT_EQ(state.counts, (ActivityCounts{.started = 14, .duplicates = 4, .refused = 2}));
  EXPECT_EQ(state.trouble, "PayloadTooLarge: input");
  EXPECT_EQ(state.revision, revision);
  counted.id = "nobody";
  EXPECT_FALSE(apply(counted).applied);
}

TEST_F(ActivityConformance, TextOfPeopleIsMadeStorable) {
  const std::int64_t revision = make("daily", 1h);
  ActivityChange pause = change("daily", revision);
  pause.pause = {.paused = true, .note = std::string("a\0b\xff", 4) + std::string(5000, 'x')};
  pause.trouble = std::string("c\0d\xff", 4);
  EXPECT_TRUE(apply(pause).applied);
  EXPECT_LE(find("daily")->note.size(), 2048U);
  EXPECT_EQ(find("daily")->note.substr(0, 1), "a");
  EXPECT_FALSE(find("daily")->trouble.empty());
}

TEST_F(ActivityConformance, PagesGoByIdWithinANamespace) {
  for (const char* id : {"b", "a", "d", "c"}) { make(id, 1h); }
  make("aa", 1h, "shop");
  apply(definition("on-order", 0, "{}", ActivityKind::event));
  std::vector<ActivityState> page = store().activities({.limit = 3});
  ASSERT_EQ(page.size(), 3U);
  EXPECT_EQ(page[0].id, "a");
  EXPECT_EQ(page[2].id, "c");
  page = store().activities({.after = "c", .limit = 3});
  ASSERT_EQ(page.size(), 2U);
  EXPECT_EQ(page[0].id, "d");
  EXPECT_EQ(page[1].id, "on-order");
  page = store().activities({.kind = ActivityKind::event});
  ASSERT_EQ(page.size(), 1U);
  EXPECT_EQ(page[0].kind, ActivityKind::event);
  EXPECT_EQ(store().activities({.ns = "shop"}).size(), 1U);
}

TEST_F(ActivityConformance, TheGenerationTellsOfDefinitionsPausesAndRemovals) {
  EXPECT_EQ(store().activity_generation("default"), 0);
  std::int64_t revision = make("daily", 1h);
  std::int64_t generation = store().activity_generation("default");
  EXPECT_GT(generation, 0);
  EXPECT_EQ(store().activity_generation("shop"), 0);
  ActivityChange tick = change("daily", revision);
  tick.schedule = {.cursor = store().now(), .next_due = store().now()};
  revision = apply(tick).revision;
  EXPECT_EQ(store().activity_generation("default"), generation) << "a tick changes no definition";
  ActivityChange pause = change("daily", revision);
  pause.pause = {.paused = true, .note = ""};
  revision = apply(pause).revision;
  EXPECT_GT(store().activity_generation("default"), generation);
  generation = store().activity_generation("default");
  revision = apply(definition("daily", revision, "{}")).revision;
  EXPECT_GT(store().activity_generation("default"), generation);
  generation = store().activity_generation("default");
  ActivityChange removal = change("daily", revision);
  removal.remove = true;
  apply(removal);
  EXPECT_GT(second()->activity_generation("default"), generation);
}

TEST_F(ActivityConformance, ABatchOfChangesIsJudgedOneByOne) {
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

// Many tickers meet the same tick: one advances, whatever the order.
TEST_F(ActivityConformance, OfManyTickersOneAdvances) {
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
        // The cursor counts the rounds.
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
