// Activities in the store: what is stored, and `change_activities`, the only call that changes it.
#include "conformance/activity_fixture.hpp"

namespace hapax::conformance {

namespace {

TEST_F(ActivityConformance, IsMadeReadAndTold) {
  const Time before = store().now();
  ActivityChange made = definition("daily", 0, R"({"id":"daily"})");
  made.schedule = {.cursor = before, .next_due = before + 1h};
  const ActivityReply reply = apply(made);
  EXPECT_TRUE(reply.applied);
  EXPECT_GT(reply.revision, 0);
  const ActivityState state = second()->activities({.id = "daily"}).at(0);
  EXPECT_EQ(state.namespace_name, "default");
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
  EXPECT_EQ(store().due_activities(3).due.at(2).state.namespace_name, "shop");
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
  EXPECT_TRUE(state.last_started);
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
  EXPECT_EQ(store().activities({.namespace_name = "shop"}).size(), 1U);
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

}  // namespace

}  // namespace hapax::conformance
