// Activities by code: what a program writes, with virtual time.
#include <hapax/hapax.hpp>
#include <hapax/testing.hpp>

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace hapax {

struct Report {
  std::string kind;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Report, kind)
};

namespace {

using namespace std::chrono_literals;

const Task<Fired<Report>, int> generate_report{"generate-report", {.queue = "reports"}};
const Task<Fired<nlohmann::json>> ship{"ship"};
const Workflow<Fired<nlohmann::json>, std::string> process_order{"process_order"};

Activity daily(const std::string& cron = "0 9 * * *") {
  return {.id = "daily-report",
          .name = "Daily report",
          .trigger = CronTrigger{.cron = cron, .misfire_policy = MisfirePolicy::compress},
          .target = generate_report,
          .input = {{"kind", "daily"}}};
}

TEST(ActivityApi, ATickReachesTheHandlerWithItsTrigger) {
  App app = testing::open();
  std::vector<Fired<Report>> seen;
  app.handle(generate_report, [&seen](const Fired<Report>& fired) {
    seen.push_back(fired);
    return 7;
  });
  const AppliedActivity applied = app.apply(daily());
  EXPECT_TRUE(applied.created);
  EXPECT_EQ(applied.activity.description, "at 09:00 every day, UTC");
  EXPECT_EQ(applied.activity.next_due, parse_time("2026-01-01T09:00:00Z"));
  EXPECT_FALSE(app.apply(daily()).changed);
  testing::drain(app);
  EXPECT_TRUE(seen.empty());
  testing::advance(app, 9h);
  testing::drain(app);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].input.kind, "daily");
  EXPECT_EQ(seen[0].trigger.kind, "cron");
  EXPECT_EQ(seen[0].trigger.scheduled_for, parse_time("2026-01-01T09:00:00Z"));
  EXPECT_FALSE(seen[0].trigger.window);
  testing::advance(app, 24h * 3 + 1h);
  testing::drain(app);
  ASSERT_EQ(seen.size(), 2U);
  ASSERT_TRUE(seen[1].trigger.window);
  EXPECT_EQ(seen[1].trigger.window->from, parse_time("2026-01-02T09:00:00Z"));
  EXPECT_EQ(seen[1].trigger.window->to, parse_time("2026-01-04T09:00:00Z"));
  EXPECT_EQ(seen[1].trigger.window->missed, 3);
  EXPECT_EQ(seen[1].trigger.last_result, 7);
  EXPECT_EQ(app.activity("daily-report")->started, 2);
}

TEST(ActivityApi, AnEventStartsAWorkflowOnce) {
  App app = testing::open();
  app.handle(process_order, [](WorkflowContext&, const Fired<nlohmann::json>& fired) {
    return fired.trigger.event.at("data").at("order").get<std::string>();
  });
  app.apply({.id = "on-order",
             .trigger = EventTrigger{.types = {"order.*"}, .source = "/shop", .filter = {{"/data/country", "CH"}}},
             .target = process_order});
  const std::string event =
      R"({"specversion":"1.0","id":"evt_1","source":"/shop","type":"order.created","data":{"country":"CH","order":"o-1"}})";
  const RoutedEvent first = app.send_event(event);
  const RoutedEvent again = app.send_event(event);
  ASSERT_EQ(first.runs.size(), 1U);
  EXPECT_EQ(first.runs[0].run_id, "activity-on-order:evt_1");
  EXPECT_TRUE(first.runs[0].created);
  EXPECT_FALSE(again.runs.at(0).created);
  EXPECT_EQ(again.runs[0].execution, first.runs[0].execution);
  testing::drain(app);
  EXPECT_EQ(app.get(first.runs[0].execution)->result, "\"o-1\"");
  EXPECT_THROW((void)app.send_event(R"({"specversion":"1.0","id":"x","type":"order.created"})"), InvalidArgument);
  const std::vector<std::string> batch = {event, "{"};
  try {
    (void)app.send_events(batch);
    FAIL() << "a broken one is refused";
  } catch (const InvalidArgument& error) { EXPECT_EQ(error.field(), "events[1]"); }
}

TEST(ActivityApi, OfManyEventsAllAreReadBeforeOneIsRouted) {
  App app = testing::open();
  app.handle(process_order, [](WorkflowContext&, const Fired<nlohmann::json>&) { return std::string(); });
  app.apply({.id = "on-order", .trigger = EventTrigger{.types = {"order.*"}}, .target = process_order});
  std::vector<std::string> events;
  for (int i = 0; i < 7000; ++i) {
    events.push_back(R"({"specversion":"1.0","id":"e)" + std::to_string(i) + R"(","source":"/s","type":"order.x"})");
  }
  for (const std::size_t broken : {std::size_t{6999}, std::size_t{3}}) {
    const std::string good = std::exchange(events[broken], "{");
    try {
      (void)app.send_events(events);
      FAIL() << "a broken one is refused";
    } catch (const InvalidArgument& error) { EXPECT_EQ(error.field(), "events[" + std::to_string(broken) + "]"); }
    EXPECT_TRUE(app.list({.limit = 1}).empty());
    if (broken == 3) { events[6999] = good; }
  }
  events[3] = events[6999];
  const std::vector<RoutedEvent> routed = app.send_events(events);
  ASSERT_EQ(routed.size(), events.size());
  for (std::size_t i = 0; i < routed.size(); ++i) {
    ASSERT_EQ(routed[i].runs.size(), 1U);
    ASSERT_EQ(routed[i].runs[0].run_id, "activity-on-order:" + routed[i].id);
    ASSERT_EQ(routed[i].runs[0].created, i != 6999) << i;
  }
}

TEST(ActivityApi, PauseTriggerBackfillRemove) {
  App app = testing::open();
  app.handle(generate_report, [](const Fired<Report>&) { return 1; });
  app.apply(daily("0 * * * *"));
  app.pause_activity("daily-report", "stock-taking");
  EXPECT_EQ(app.activity("daily-report")->note, "stock-taking");
  const AnyHandle run = app.trigger_activity("daily-report", "once");
  EXPECT_TRUE(run.created());
  EXPECT_EQ(app.trigger_activity("daily-report", "once").id(), run.id());
  testing::advance(app, 5h);
  const BackfillReport report =
      app.backfill_activity("daily-report", parse_time("2026-01-01T01:00:00Z"), parse_time("2026-01-01T03:00:00Z"));
  EXPECT_EQ(report.ticks, 3);
  EXPECT_EQ(report.started, 3);
  app.resume_activity("daily-report");
  testing::drain(app);
  const ActivityRecord record = app.activity("daily-report").value();
  EXPECT_EQ(record.started, 6) << "by hand, three of the backfill, one for the four missed, and the fifth on time";
  EXPECT_EQ(record.duplicates, 1);
  EXPECT_EQ(app.next_fires("daily-report", 2),
            (std::vector{parse_time("2026-01-01T05:00:00Z"), parse_time("2026-01-01T06:00:00Z")}));
  EXPECT_EQ(app.activities().size(), 1U);
  app.remove_activity("daily-report");
  EXPECT_FALSE(app.activity("daily-report"));
  EXPECT_THROW(app.remove_activity("daily-report"), NotFound);
  EXPECT_THROW((void)app.trigger_activity("daily-report"), NotFound);
}

TEST(ActivityApi, TheTaskIsRunAsItWasDeclared) {
  App app = testing::open();
  const Task<Fired<nlohmann::json>> careful{"careful", {.queue = "slow", .max_attempts = 1, .timeout = 30s}};
  app.apply({.id = "often",
             .trigger = CronTrigger{.cron = "@every 1m"},
             .target = careful,
             .tasks = {{.task = "elsewhere", .input = 1}}});
  app.handle(careful, [](const Fired<nlohmann::json>&) {});
  testing::advance(app, 1min);
  testing::drain(app);
  const std::vector<ExecutionRecord> runs = app.activity_runs("often");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].queue, "slow");
  EXPECT_EQ(runs[0].max_attempts, 1);
  EXPECT_EQ(app.list({.parent = runs[0].id}).at(0).task, "elsewhere");
  EXPECT_THROW(
      (void)app.apply(
          {.id = "x", .trigger = CronTrigger{.cron = "@daily"}, .target = careful, .tasks = {{.task = process_order}}}),
      InvalidArgument);
}

TEST(ActivityApi, WhatIsWrongIsNamed) {
  App app = testing::open();
  Activity bad = daily("61 * * * *");
  try {
    (void)app.apply(bad);
    FAIL() << "a bad expression is refused";
  } catch (const InvalidArgument& error) { EXPECT_EQ(error.field(), "trigger.cron"); }
  bad = daily();
  bad.id = "a:b";
  EXPECT_THROW((void)app.apply(bad), InvalidArgument);
  bad = daily();
  bad.input = {{"x", "{{nothing}}"}};
  EXPECT_THROW((void)app.apply(bad), InvalidArgument);
  EXPECT_TRUE(app.activities().empty());
}

TEST(ActivityApi, AWorkerSeesToSchedules) {
  App app = open("memory:");
  std::atomic<int> runs{0};
  app.handle(ship, [&runs](const Fired<nlohmann::json>&) { ++runs; });
  const Worker worker = app.work({.queues = {"default"}, .threads = 1});
  app.apply({.id = "often", .trigger = CronTrigger{.cron = "@every 1s"}, .target = ship});
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (runs < 2 && std::chrono::steady_clock::now() < until) { std::this_thread::sleep_for(10ms); }
  EXPECT_GE(runs.load(), 2);
}

}  // namespace

}  // namespace hapax
