// Each tick starts one execution, whatever the clock and the processes do.
#include "conformance/schedule_fixture.hpp"

namespace hapax::conformance {

namespace {

using Strings = std::vector<std::string>;
using nlohmann::json;

TEST_F(ScheduleConformance, EachTickIsOneRunUnderItsId) {
  apply("daily", every_minute());
  tick();
  EXPECT_TRUE(runs("daily").empty()) << "not before its time";
  advance(1min);
  tick();
  tick();
  EXPECT_EQ(runs("daily"), Strings{id_of("daily", 1)});
  advance(1min);
  tick();
  EXPECT_EQ(runs("daily"), (Strings{id_of("daily", 1), id_of("daily", 2)}));
  const Execution run = executions("daily").at(0);
  EXPECT_EQ(run.task, "report");
  EXPECT_EQ(json::parse(run.input),
            json::parse(R"({"input": null, "trigger": {"kind": "cron", "scheduled_for": ")" +
                        schedule::format_scheduled_for(minute(1)) + R"(", "window": null, "last_result": null}})"));
  EXPECT_EQ(counts("daily"), (ActivityCounts{.started = 2}));
  EXPECT_EQ(activities_->get("daily").cursor, minute(2));
  EXPECT_EQ(activities_->get("daily").next_due, minute(3));
}

// Five ticks pass while every server is down. The fifth is within the grace, the four before it are missed.
TEST_F(ScheduleConformance, SkipDropsWhatWasMissed) {
  apply("daily", every_minute());
  advance(5min + 30s);
  tick();
  EXPECT_EQ(runs("daily"), Strings{id_of("daily", 5)});
  EXPECT_EQ(counts("daily"), (ActivityCounts{.started = 1, .missed = 4}));
  EXPECT_EQ(activities_->get("daily").next_due, minute(6));
}

TEST_F(ScheduleConformance, CatchupRunsTheNewestOldestFirst) {
  apply("daily", every_minute({{"misfire_policy", "catchup"}, {"catchup_limit", 3}}));
  advance(5min + 30s);
  tick();
  EXPECT_EQ(runs("daily"), (Strings{id_of("daily", 2), id_of("daily", 3), id_of("daily", 4), id_of("daily", 5)}));
  EXPECT_EQ(counts("daily"), (ActivityCounts{.started = 4, .missed = 1}));
  for (const Execution& run : executions("daily")) { EXPECT_TRUE(trigger_of(run)["window"].is_null()); }
}

TEST_F(ScheduleConformance, CatchupGoesOnInBatches) {
  apply("daily", every_minute({{"misfire_policy", "catchup"}, {"catchup_limit", 1000}}));
  advance(350min + 30s);
  tick();
  const Strings ids = runs("daily");
  ASSERT_EQ(ids.size(), 350U);
  for (int i = 0; i < 350; ++i) { EXPECT_EQ(ids[static_cast<std::size_t>(i)], id_of("daily", i + 1)); }
  EXPECT_EQ(counts("daily"), (ActivityCounts{.started = 350}));
}

TEST_F(ScheduleConformance, CompressRunsOnceWithTheWindow) {
  apply("daily", every_minute({{"misfire_policy", "compress"}}));
  advance(5min + 30s);
  tick();
  ASSERT_EQ(runs("daily"), (Strings{id_of("daily", 4), id_of("daily", 5)}));
  const json expected = {{"from", schedule::format_scheduled_for(minute(1))},
                         {"to", schedule::format_scheduled_for(minute(4))},
                         {"missed", 4}};
  EXPECT_EQ(trigger_of(executions("daily")[0])["window"], expected);
  EXPECT_TRUE(trigger_of(executions("daily")[1])["window"].is_null());
  EXPECT_EQ(counts("daily"), (ActivityCounts{.started = 2}));
}

TEST_F(ScheduleConformance, ThePauseIsAnOutage) {
  apply("daily", every_minute({{"misfire_policy", "compress"}}));
  activities_->pause("daily", "stock-taking", "ann");
  advance(5min + 30s);
  tick();
  EXPECT_TRUE(runs("daily").empty());
  activities_->resume("daily", "ann");
  tick();
  EXPECT_EQ(runs("daily"), (Strings{id_of("daily", 4), id_of("daily", 5)}));
  EXPECT_EQ(trigger_of(executions("daily")[0])["window"]["missed"], 4);
}

TEST_F(ScheduleConformance, OfTwoTickersOneCatchesUp) {
  engine::Engine other_engine(second());
  schedule::Ticker other(other_engine, {});
  apply("daily", every_minute({{"misfire_policy", "catchup"}}));
  for (int round = 0; round < 3; ++round) {
    advance(4min);
    std::jthread beside([&other] { tick(other); });
    tick();
    beside.join();
  }
  const Strings ids = runs("daily");
  ASSERT_EQ(ids.size(), 12U);
  for (int i = 0; i < 12; ++i) { EXPECT_EQ(ids[static_cast<std::size_t>(i)], id_of("daily", i + 1)); }
  EXPECT_EQ(counts("daily"), (ActivityCounts{.started = 12}));
}

TEST_F(ScheduleConformance, AClockThatIsSetBackRunsNothingTwice) {
  apply("daily", every_minute());
  advance(2min);
  tick();
  advance(-90s);
  tick();
  advance(60s);
  tick();
  EXPECT_EQ(runs("daily").size(), 1U) << "the second within the grace; nothing until the clock has caught up";
  advance(90s);
  tick();
  EXPECT_EQ(runs("daily"), (Strings{id_of("daily", 2), id_of("daily", 3)}));
}

TEST_F(ScheduleConformance, AClockThatJumpsForwardIsAnOutage) {
  apply("daily", every_minute());
  advance(24h * 365);
  tick();
  EXPECT_EQ(runs("daily").size(), 1U);
  EXPECT_EQ(counts("daily").missed, 365 * 24 * 60 - 1);
}

TEST_F(ScheduleConformance, OverlapSkipDropsWhileTheLastRunGoesOn) {
  apply("daily", every_minute({{"overlap", "skip"}}));
  advance(1min);
  tick();
  advance(1min);
  tick();
  EXPECT_EQ(runs("daily").size(), 1U);
  EXPECT_EQ(counts("daily"), (ActivityCounts{.started = 1, .overlapped = 1}));
  TestWorker anne = worker();
  EXPECT_EQ(finish(completed(claim_one(anne))), FinishVerdict::accepted);
  advance(1min);
  tick();
  EXPECT_EQ(runs("daily"), (Strings{id_of("daily", 1), id_of("daily", 3)}));
}

TEST_F(ScheduleConformance, BufferOneKeepsTheFirstThatWaits) {
  apply("daily", every_minute({{"overlap", "buffer_one"}}));
  for (int i = 0; i < 4; ++i) {
    advance(1min);
    tick();
  }
  EXPECT_EQ(runs("daily"), (Strings{id_of("daily", 1), id_of("daily", 2)}));
  EXPECT_EQ(counts("daily"), (ActivityCounts{.started = 2, .overlapped = 2}));
  TestWorker anne = worker();
  const std::vector<Claim> first = claim(anne);
  ASSERT_EQ(first.size(), 1U) << "one after the other";
  EXPECT_TRUE(claim(anne).empty());
  EXPECT_EQ(finish(completed(first[0])), FinishVerdict::accepted);
  EXPECT_EQ(claim_one(anne).id, executions("daily")[1].id);
}

TEST_F(ScheduleConformance, BufferAllRunsThemInOrder) {
  apply("daily", every_minute({{"overlap", "buffer_all"}}));
  for (int i = 0; i < 3; ++i) {
    advance(1min);
    tick();
  }
  TestWorker anne = worker();
  for (const Execution& run : executions("daily")) {
    const Claim next = claim_one(anne);
    EXPECT_EQ(next.id, run.id);
    EXPECT_EQ(finish(failed(next)), FinishVerdict::accepted) << "a failed one has ended too";
  }
  EXPECT_EQ(counts("daily"), (ActivityCounts{.started = 3}));
}

TEST_F(ScheduleConformance, CancelOtherWaitsForTheOneItCancelled) {
  apply("daily", every_minute({{"overlap", "cancel_other"}}));
  advance(1min);
  tick();
  TestWorker anne = worker();
  const Claim first = claim_one(anne);
  for (int i = 0; i < 2; ++i) {
    advance(1min);
    tick();
  }
  EXPECT_TRUE(get(first.id).cancel_requested);
  EXPECT_EQ(executions("daily").at(1).status, Status::cancelled) << "of several only the newest waits";
  EXPECT_TRUE(claim(anne).empty());
  EXPECT_EQ(finish(ending(first, FinishKind::cancelled)), FinishVerdict::accepted);
  EXPECT_EQ(claim_one(anne).id, executions("daily").at(2).id);
}

TEST_F(ScheduleConformance, TerminateOtherEndsItAtOnce) {
  apply("daily", every_minute({{"overlap", "terminate_other"}}));
  advance(1min);
  tick();
  TestWorker anne = worker();
  const Claim first = claim_one(anne);
  advance(1min);
  tick();
  EXPECT_EQ(status(first.id), Status::cancelled);
  EXPECT_EQ(finish(completed(first)), FinishVerdict::stale);
  EXPECT_EQ(claim_one(anne).id, executions("daily").at(1).id);
}

TEST_F(ScheduleConformance, CaughtUpTicksMeetTheOverlapPolicyOneAfterTheOther) {
  apply("daily", every_minute({{"misfire_policy", "catchup"}, {"overlap", "skip"}}));
  apply("newest", every_minute({{"misfire_policy", "catchup"}, {"overlap", "terminate_other"}}));
  advance(4min);
  tick();
  EXPECT_EQ(runs("daily"), Strings{id_of("daily", 1)});
  EXPECT_EQ(counts("daily"), (ActivityCounts{.started = 1, .overlapped = 3}));
  EXPECT_EQ(runs("newest"), Strings{id_of("newest", 4)});
  EXPECT_EQ(counts("newest"), (ActivityCounts{.started = 1, .overlapped = 3}));
}

TEST_F(ScheduleConformance, ABackfilledTickDoesNotEndItself) {
  apply("daily", every_minute({{"overlap", "terminate_other"}}));
  advance(70s);
  EXPECT_EQ(activities_->backfill("daily", {.from = minute(0), .to = minute(1)}, "ann").started, 2);
  tick();
  ASSERT_EQ(runs("daily").size(), 2U);
  for (const Execution& run : executions("daily")) { EXPECT_EQ(run.status, Status::pending); }
}

TEST_F(ScheduleConformance, AnEndThatIsMovedMakesNoOutage) {
  apply("daily", every_minute({{"misfire_policy", "catchup"}, {"end", format_time(minute(2))}}));
  advance(1min);
  tick();
  advance(1min);
  tick();
  EXPECT_EQ(runs("daily").size(), 2U);
  EXPECT_FALSE(activities_->get("daily").next_due);
  advance(60min);
  apply("daily", every_minute({{"misfire_policy", "catchup"}}));
  tick();
  EXPECT_EQ(runs("daily").size(), 2U) << "nobody had scheduled the hour gone by";
  advance(1min);
  tick();
  EXPECT_EQ(runs("daily").size(), 3U);
}

TEST_F(ScheduleConformance, OptionsOfTheTargetGoBeforeTheCatalogues) {
  ASSERT_TRUE(store().put_task({.namespace_name = "default",
                                .name = "report",
                                .definition = R"({"queue":"reports","max_attempts":9,"priority":3})",
                                .origin = "file",
                                .updated_at = {}},
                               "ann"));
  apply("daily", every_minute(),
        {{"target", {{"task", "report"}, {"options", {{"max_attempts", 1}, {"timeout", "30s"}}}}}});
  advance(1min);
  tick();
  const Execution run = executions("daily").at(0);
  EXPECT_EQ(run.queue.name, "reports");
  EXPECT_EQ(run.max_attempts, 1);
  EXPECT_EQ(run.priority, 3);
  EXPECT_EQ(run.attempt_timeout, Duration(30s));
}

TEST_F(ScheduleConformance, TheLastResultIsHandedOn) {
  apply("daily", every_minute(), {{"input", {{"since", "{{last_result/cursor}}"}}}});
  advance(1min);
  tick();
  TestWorker anne = worker();
  EXPECT_EQ(finish(completed(claim_one(anne), R"({"cursor":17})")), FinishVerdict::accepted);
  advance(1min);
  tick();
  const Execution second_run = executions("daily").at(1);
  EXPECT_EQ(trigger_of(second_run)["last_result"], json::parse(R"({"cursor":17})"));
  EXPECT_EQ(json::parse(second_run.input)["input"], json::parse(R"({"since":17})"));
  EXPECT_EQ(finish(failed(claim_one(anne))), FinishVerdict::accepted);
  advance(1min);
  tick();
  EXPECT_EQ(trigger_of(executions("daily").at(2))["last_result"], json::parse(R"({"cursor":17})"));
}

TEST_F(ScheduleConformance, TriggerRunsItNowAndAKeyOnce) {
  apply("daily", every_minute());
  activities_->pause("daily", "", "ann");
  const auto first = activities_->trigger("daily", {.key = "rerun-1", .event = {}}, "ann");
  const auto again = activities_->trigger("daily", {.key = "rerun-1", .event = {}}, "bob");
  const auto free = activities_->trigger("daily", {}, "bob");
  EXPECT_EQ(first.run_id, "activity-daily:manual-rerun-1");
  EXPECT_TRUE(first.admission.created());
  EXPECT_FALSE(again.admission.created());
  EXPECT_EQ(again.admission.id, first.admission.id);
  EXPECT_TRUE(free.admission.created());
  EXPECT_EQ(trigger_of(executions("daily").at(0))["kind"], "manual");
  EXPECT_EQ(counts("daily"), (ActivityCounts{.started = 2, .duplicates = 1}));
  EXPECT_THROW((void)activities_->trigger("nobody", {}, "ann"), NotFound);
}

TEST_F(ScheduleConformance, BackfillRunsWhatDidNotRun) {
  apply("daily", every_minute());
  advance(2min);
  tick();
  EXPECT_EQ(counts("daily").missed, 1);
  std::vector<std::int64_t> left;
  const auto report = activities_->backfill("daily", {.from = minute(-150), .to = minute(2)}, "ann",
                                            [&](const auto&, std::int64_t more) {
                                              left.push_back(more);
                                              return true;
                                            });
  EXPECT_EQ(report.ticks, 153);
  EXPECT_EQ(report.started, 152);
  EXPECT_EQ(report.existing, 1);
  EXPECT_EQ(left, (std::vector<std::int64_t>{53, 0}));
  const auto again = activities_->backfill("daily", {.from = minute(-150), .to = minute(2)}, "ann");
  EXPECT_EQ(again.started, 0);
  EXPECT_EQ(again.existing, 153);
  EXPECT_EQ(trigger_of(executions("daily").at(1))["backfill"], true);
  EXPECT_THROW((void)activities_->backfill("daily", {.from = minute(1), .to = minute(0)}, "ann"), InvalidArgument);
  EXPECT_THROW((void)activities_->backfill("daily", {.from = minute(1), .to = minute(9)}, "ann"), InvalidArgument);
  EXPECT_THROW((void)activities_->backfill("nobody", {.from = minute(0), .to = minute(1)}, "ann"), NotFound);
}

TEST_F(ScheduleConformance, AnotherTimetableCountsFromNow) {
  apply("daily", every_minute());
  advance(30s);
  apply("daily", {{"type", "cron"}, {"cron", "@every 10s"}});
  tick();
  EXPECT_TRUE(runs("daily").empty()) << "the ten seconds gone by were nobody's ticks";
  advance(30s);
  tick();
  EXPECT_EQ(runs("daily").size(), 3U);
  advance(3s);
  apply("daily", {{"type", "cron"}, {"cron", "@every 10s"}}, {{"input", 7}});
  advance(7s);
  tick();
  EXPECT_EQ(runs("daily").size(), 4U) << "another input leaves the cursor where it is";
  EXPECT_EQ(activities_->get("daily").version, 3);
  EXPECT_FALSE(activities_->apply(schedule::parse_activity(activities_->get("daily").definition), "ann").changed);
}

TEST_F(ScheduleConformance, RetargetingDoesNotRunATickAgain) {
  apply("daily", every_minute());
  advance(1min);
  tick();
  activities_->remove("daily", "ann");
  apply("daily", every_minute(), {{"target", {{"workflow", "other"}}}});
  const auto report = activities_->backfill("daily", {.from = minute(1), .to = minute(1)}, "ann");
  EXPECT_EQ(report.existing, 1);
  EXPECT_EQ(runs("daily").size(), 1U);
}

TEST_F(ScheduleConformance, TaskInstancesAreStartedOnceARun) {
  apply("etl", every_minute(),
        {{"tasks",
          {{{"task_type", "extract"}, {"input", 1}},
           {{"task_type", "load"}, {"queue", "db"}},
           {{"task_type", "extract"}, {"input", 2}}}}});
  advance(1min);
  tick();
  const Execution run = executions("etl").at(0);
  ListQuery query;
  query.parent = run.id;
  const std::vector<Execution> instances = store().list(query);
  ASSERT_EQ(instances.size(), 3U);
  EXPECT_EQ(instances[2].identity_key, "task-" + run.identity_key + ":extract:0");
  EXPECT_EQ(instances[1].identity_key, "task-" + run.identity_key + ":load:0");
  EXPECT_EQ(instances[1].queue.name, "db");
  EXPECT_EQ(instances[0].identity_key, "task-" + run.identity_key + ":extract:1");
  EXPECT_EQ(activities_->backfill("etl", {.from = minute(1), .to = minute(1)}, "ann").started, 0);
  EXPECT_EQ(store().list({}).size(), 4U);
}

TEST_F(ScheduleConformance, WhatCannotBeStartedIsToldAndPassed) {
  apply("daily", every_minute(),
        {{"input",
          {{"a", "{{last_result}}"}, {"b", "{{last_result}}"}, {"c", "{{last_result}}"}, {"d", "{{last_result}}"}}}});
  advance(1min);
  tick();
  TestWorker anne = worker();
  EXPECT_EQ(finish(completed(claim_one(anne), '"' + std::string(250 << 10, 'x') + '"')), FinishVerdict::accepted);
  advance(1min);
  tick();
  EXPECT_EQ(runs("daily").size(), 1U);
  const ActivityState state = activities_->get("daily");
  EXPECT_EQ(state.counts, (ActivityCounts{.started = 1, .refused = 1}));
  EXPECT_EQ(state.trouble.rfind("PayloadTooLarge", 0), 0U) << state.trouble;
  EXPECT_EQ(state.cursor, minute(2));
}

TEST_F(ScheduleConformance, ADefinitionOfALaterReleaseIsPostponed) {
  ActivityChange made;
  made.id = "future";
  made.revision = 0;
  made.definition = {.json = R"({"id":"future","trigger":{"type":"tide"}})", .kind = ActivityKind::cron};
  made.schedule = {.cursor = store().now(), .next_due = store().now()};
  ASSERT_TRUE(store().change_activities({&made, 1}).at(0).applied);
  apply("daily", every_minute());
  advance(1min);
  EXPECT_EQ(ticker_->look().activities, 2);
  EXPECT_EQ(runs("daily").size(), 1U) << "it holds up nobody";
  const ActivityState state = activities_->get("future");
  EXPECT_NE(state.trouble.find("cannot read"), std::string::npos);
  EXPECT_GT(*state.next_due, store().now());
}

TEST_F(ScheduleConformance, ManyAreDueAtOnce) {
  for (int i = 0; i < 150; ++i) { apply("a" + std::to_string(i), every_minute()); }
  advance(1min);
  tick();
  for (int i = 0; i < 150; ++i) { EXPECT_EQ(runs("a" + std::to_string(i)).size(), 1U); }
}

TEST_F(ScheduleConformance, TheCatalogueSaysHowATaskIsRun) {
  ASSERT_TRUE(store().put_task({.namespace_name = "default",
                                .name = "report",
                                .definition = R"({"queue":"reports","max_attempts":9})",
                                .origin = "file",
                                .updated_at = {}},
                               "ann"));
  apply("daily", every_minute());
  advance(1min);
  tick();
  const Execution run = executions("daily").at(0);
  EXPECT_EQ(run.queue.name, "reports");
  EXPECT_EQ(run.max_attempts, 9);
}

}  // namespace

}  // namespace hapax::conformance
