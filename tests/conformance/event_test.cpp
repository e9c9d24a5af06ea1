// An event starts one run of each activity that subscribes to it.
#include "conformance/schedule_fixture.hpp"

#include "base/sha256.hpp"
#include "schedule/duplicate_log.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

namespace hapax::conformance {

namespace {

using nlohmann::json;

class EventConformance : public ScheduleConformance {
 protected:
  static schedule::Event event(const std::string& id, const std::string& type = "order.created",
                               const json& data = json::object(), const std::string& source = "/shop") {
    return schedule::parse_event(
        json{{"specversion", "1.0"}, {"id", id}, {"source", source}, {"type", type}, {"data", data}}.dump());
  }

  static schedule::Event from(const std::string& source, const std::string& id) {
    return event(id, "order.created", json::object(), source);
  }
  static std::string marked(const std::string& name, const std::string& source) {
    return name + "~" + base::to_hex(base::sha256(source)).substr(0, 16);
  }

  static json on(const json& types, json more = json::object()) {
    more["type"] = "event";
    more["types"] = types;
    return more;
  }

  schedule::Routed route(const schedule::Event& event) { return router().route({&event, 1}).at(0); }

  // A new router reads the activities at once, without a wait for its refresh interval.
  schedule::EventRouter& router() {
    if (!router_) { router_ = std::make_unique<schedule::EventRouter>(*engine_, "default"); }
    return *router_;
  }

  void TearDown() override {
    router_.reset();
    ScheduleConformance::TearDown();
  }

  std::unique_ptr<schedule::EventRouter> router_;
};

TEST_F(EventConformance, ARunSaysWhoSentItsEvent) {
  apply("ship", on({"order.*"}));
  const schedule::Event sent = event("e1");
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const auto routed = router().route({&sent, 1}, {.actor = "ann", .traceparent = trace});
  const Execution run = get(routed.at(0).runs.at(0).execution);
  EXPECT_EQ(run.labels.actor, "ann");
  EXPECT_EQ(run.labels.traceparent, trace);
}

TEST_F(EventConformance, AnEventWhoseQueueDrainsSaysSo) {
  apply("ship", on({"order.*"}), {{"target", {{"task", "ship"}, {"queue", "slow"}}}});
  store().configure_queue({.name = "slow"}, {.draining = true});
  const schedule::Routed refused = route(event("e1"));
  ASSERT_EQ(refused.runs.size(), 1U);
  EXPECT_TRUE(refused.runs[0].refusal);
  EXPECT_FALSE(refused.runs[0].created);
  store().configure_queue({.name = "slow"}, {.draining = false});
  const schedule::Routed taken = route(event("e1"));
  EXPECT_TRUE(taken.runs.at(0).created);
  EXPECT_FALSE(taken.runs.at(0).refusal);
}

TEST_F(EventConformance, AnEventStartsEachActivityOnce) {
  apply("ship", on({"order.*"}));
  apply("mail", on({"order.created", "refund.*"}), {{"target", {{"workflow", "mailing"}}}});
  apply("other", on({"refund.*"}));
  const schedule::Routed first = route(event("e1"));
  ASSERT_EQ(first.runs.size(), 2U);
  for (const auto& run : first.runs) {
    EXPECT_TRUE(run.created);
    EXPECT_EQ(run.run_id, "activity-" + run.activity + ":e1");
    EXPECT_EQ(get(run.execution).identity_key, run.run_id);
  }
  const schedule::Routed again = route(event("e1"));
  ASSERT_EQ(again.runs.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_FALSE(again.runs[i].created);
    EXPECT_EQ(again.runs[i].execution, first.runs[i].execution);
  }
  EXPECT_TRUE(route(event("e2", "stock.low")).runs.empty());
  router().flush();
  EXPECT_EQ(counts("ship"), (ActivityCounts{.started = 1, .duplicates = 1}));
  EXPECT_EQ(counts("other"), ActivityCounts{});
  const Execution run = executions("ship").at(0);
  EXPECT_EQ(trigger_of(run)["kind"], "event");
  EXPECT_EQ(trigger_of(run)["event"]["id"], "e1");
  EXPECT_EQ(executions("mail").at(0).kind, Kind::workflow);
}

// Duplicates are counted and logged although no later event arrives and nothing asks for a flush of the counts.
TEST_F(EventConformance, DuplicatesAreCountedAndLoggedByNameWithoutAnotherEvent) {
  apply("ship", on({"order.*"}));
  apply("pack", on({"order.*"}), {{"tasks", {{{"task_type", "label"}}}}});
  std::mutex mutex;
  std::vector<std::string> lines;
  const schedule::DuplicateLog::Listening listening([&](std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  });
  const std::vector<schedule::Event> events = {event("e1"), event("e2"), event("e1"), event("e2"), event("e2")};
  ASSERT_EQ(router().route(events).size(), events.size());
  const auto is_told = [&] {
    const std::lock_guard lock(mutex);
    return lines.size() == 2 && counts("ship") == ActivityCounts{.started = 2, .duplicates = 3};
  };
  for (int i = 0; i < 600 && !is_told(); ++i) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }
  EXPECT_EQ(counts("ship"), (ActivityCounts{.started = 2, .duplicates = 3}));
  EXPECT_EQ(counts("pack"), (ActivityCounts{.started = 2, .duplicates = 3}));
  const std::lock_guard told(mutex);
  EXPECT_THAT(lines, testing::UnorderedElementsAre("activity 'ship' of namespace 'default': 3 duplicate events were "
                                                   "not run again: activity-ship:e1, activity-ship:e2, "
                                                   "activity-ship:e2",
                                                   "activity 'pack' of namespace 'default': 3 duplicate events were "
                                                   "not run again: activity-pack:e1, activity-pack:e2, "
                                                   "activity-pack:e2"));
}

TEST_F(EventConformance, IdsAreUniqueWithinASource) {
  apply("ship", on({"order.*"}));
  EXPECT_TRUE(route(event("1", "order.created", {}, "/shop")).runs.at(0).created);
  EXPECT_TRUE(route(event("1", "order.created", {}, "/market")).runs.at(0).created);
  EXPECT_FALSE(route(event("1", "order.created", {}, "/market")).runs.at(0).created);
}

// ---- Two sources that use one id (decision 58) -------------------------------------------------------------------------

TEST_F(EventConformance, RunsOfOneIdFromTwoSourcesHaveTwoNames) {
  apply("ship", on({"order.*"}), {{"input", {{"run", "{{run_id}}"}}}});
  const schedule::Routed::Run shop = route(from("/shop", "1")).runs.at(0);
  const schedule::Routed::Run market = route(from("/market", "1")).runs.at(0);
  EXPECT_EQ(shop.run_id, "activity-ship:1");
  EXPECT_EQ(market.run_id, marked("activity-ship:1", "/market"));
  EXPECT_TRUE(shop.created && market.created);
  for (const schedule::Routed::Run& run : {shop, market}) {
    EXPECT_EQ(get(run.execution).identity_key, run.run_id);
    EXPECT_EQ(json::parse(get(run.execution).input)["input"]["run"], run.run_id);
  }
  // A replayed event finds its run by identity and returns the stored run ID.
  for (int i = 0; i < 2; ++i) {
    const schedule::Routed::Run again = route(from("/market", "1")).runs.at(0);
    EXPECT_FALSE(again.created);
    EXPECT_EQ(again.execution, market.execution);
    EXPECT_EQ(again.run_id, market.run_id);
    EXPECT_EQ(route(from("/shop", "1")).runs.at(0).run_id, shop.run_id);
  }
  // No other source uses this event ID, so the run ID has no mark of its source.
  EXPECT_EQ(route(from("/market", "2")).runs.at(0).run_id, "activity-ship:2");
  router().flush();
  EXPECT_EQ(counts("ship"), (ActivityCounts{.started = 3, .duplicates = 4}));
}

TEST_F(EventConformance, OneIdFromTwoSourcesInOneBatchGivesTwoNames) {
  apply("ship", on({"order.*"}));
  const std::vector<schedule::Event> events = {from("/shop", "1"), from("/market", "1"), from("/shop", "1"),
                                               from("/market", "1"), from("/fair", "1")};
  const std::vector<schedule::Routed> routed = router().route(events);
  std::vector<std::string> names;
  std::vector<bool> created;
  for (const schedule::Routed& one : routed) {
    names.push_back(one.runs.at(0).run_id);
    created.push_back(one.runs.at(0).created);
    EXPECT_EQ(get(one.runs.at(0).execution).identity_key, names.back());
  }
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 3U);
  EXPECT_EQ(std::ranges::count(names, "activity-ship:1"), 2);
  EXPECT_EQ(names[0], names[2]);
  EXPECT_EQ(names[1], names[3]);
  EXPECT_EQ(std::ranges::count(created, true), 3);
  router().flush();
  EXPECT_EQ(counts("ship"), (ActivityCounts{.started = 3, .duplicates = 2}));
}

// Enough events for COPY on PostgreSQL; for one in fifty, another source has already used the event ID.
TEST_F(EventConformance, ALongCallTellsTheNamesOfItsRuns) {
  apply("ship", on({"order.*"}));
  for (int i = 0; i < 20; ++i) { route(from("/shop", std::to_string(i * 50))); }
  std::vector<schedule::Event> events;
  for (int i = 0; i < 1000; ++i) { events.push_back(from("/market", std::to_string(i))); }
  for (const bool first : {true, false}) {
    const std::vector<schedule::Routed> routed = router().route(events);
    for (int i = 0; i < 1000; ++i) {
      const schedule::Routed::Run& run = routed[static_cast<std::size_t>(i)].runs.at(0);
      const std::string plain = "activity-ship:" + std::to_string(i);
      ASSERT_EQ(run.created, first) << i;
      ASSERT_EQ(run.run_id, i % 50 == 0 ? marked(plain, "/market") : plain);
      ASSERT_EQ(get(run.execution).identity_key, run.run_id);
    }
  }
}

TEST_F(EventConformance, TaskInstancesHaveTheNameOfTheirRun) {
  apply("ship", on({"order.*"}), {{"tasks", {{{"task_type", "pack"}}, {{"task_type", "pack"}}}}});
  const std::vector<schedule::Event> events = {from("/shop", "1"), from("/market", "1"), from("/shop", "2")};
  const std::vector<schedule::Routed> routed = router().route(events);
  EXPECT_EQ(route(from("/market", "1")).runs.at(0).run_id, marked("activity-ship:1", "/market"));
  for (const schedule::Routed& one : routed) {
    EXPECT_TRUE(one.runs.at(0).created);
    ListQuery query;
    query.parent = one.runs.at(0).execution;
    std::set<std::string> names;
    for (const Execution& instance : store().list(query)) { names.insert(instance.identity_key); }
    const std::string start = "task-" + one.runs.at(0).run_id + ":pack:";
    EXPECT_EQ(names, (std::set<std::string>{start + "0", start + "1"}));
  }
  EXPECT_EQ(routed[0].runs.at(0).run_id, "activity-ship:1");
  EXPECT_EQ(routed[1].runs.at(0).run_id, marked("activity-ship:1", "/market"));
}

TEST_F(EventConformance, ANameIsFreeOnceItsRunIsGone) {
  apply("ship", on({"order.*"}));
  const Uuid first = route(from("/shop", "1")).runs.at(0).execution;
  const Uuid second = route(from("/market", "1")).runs.at(0).execution;
  TestWorker anne = worker();
  for (const Claim& claimed : claim(anne)) {
    if (claimed.id == first) { EXPECT_EQ(finish(completed(claimed)), FinishVerdict::accepted); }
  }
  advance(8 * 24h);
  while (store().sweep({.limit = 1000, .retention = true}).expired > 0) {}
  // The run of /market keeps the run ID that was stored with it.
  const schedule::Routed::Run again = route(from("/market", "1")).runs.at(0);
  EXPECT_EQ(again.execution, second);
  EXPECT_EQ(again.run_id, marked("activity-ship:1", "/market"));
  EXPECT_EQ(route(from("/fair", "1")).runs.at(0).run_id, "activity-ship:1");
}

// Several servers route the same event IDs of several sources: each source has one run, and run IDs are unique.
TEST_F(EventConformance, SourcesThatRaceForANameShareNone) {
  apply("ship", on({"order.*"}));
  apply("pack", on({"order.*"}), {{"tasks", {{{"task_type", "label"}}}}});
  constexpr int rounds = 10;
  std::vector<std::jthread> senders;
  for (int sender = 0; sender < 4; ++sender) {
    senders.emplace_back([this, sender] {
      engine::Engine engine(second());
      schedule::EventRouter mine(engine, "default");
      for (int round = 0; round < rounds; ++round) {
        std::vector<schedule::Event> events;
        for (int i = 0; i < 5; ++i) {
          events.push_back(from("/" + std::to_string((sender + i) % 3), std::to_string(round)));
        }
        for (const schedule::Routed& routed : mine.route(events)) {
          for (const auto& run : routed.runs) { EXPECT_EQ(run.error, ""); }
        }
      }
    });
  }
  senders.clear();
  for (const std::string activity : {"ship", "pack"}) {
    const std::vector<std::string> names = runs(activity);
    EXPECT_EQ(names.size(), 3U * rounds) << activity;
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 3U * rounds) << activity;
    for (int round = 0; round < rounds; ++round) {
      EXPECT_EQ(std::ranges::count(names, "activity-" + activity + ":" + std::to_string(round)), 1) << activity;
    }
  }
}

TEST_F(EventConformance, DuplicatesWithinABatchAreMet) {
  apply("ship", on({"order.*"}));
  const std::vector<schedule::Event> events = {event("1"), event("2"), event("1"), event("3", "stock.low"), event("2")};
  const std::vector<schedule::Routed> routed = router().route(events);
  ASSERT_EQ(routed.size(), 5U);
  EXPECT_TRUE(routed[0].runs.at(0).created);
  EXPECT_TRUE(routed[1].runs.at(0).created);
  EXPECT_FALSE(routed[2].runs.at(0).created);
  EXPECT_EQ(routed[2].runs.at(0).execution, routed[0].runs.at(0).execution);
  EXPECT_TRUE(routed[3].runs.empty());
  EXPECT_FALSE(routed[4].runs.at(0).created);
}

TEST_F(EventConformance, ABatchMayBeLongerThanATransaction) {
  apply("ship", on({"order.*"}), {{"tasks", {{{"task_type", "pack"}}, {{"task_type", "label"}}}}});
  std::vector<schedule::Event> events;
  for (int i = 0; i < 2000; ++i) { events.push_back(event("e" + std::to_string(i % 1900))); }
  int created = 0;
  for (const schedule::Routed& routed : router().route(events)) { created += routed.runs.at(0).created ? 1 : 0; }
  EXPECT_EQ(created, 1900);
  router().flush();
  EXPECT_EQ(counts("ship"), (ActivityCounts{.started = 1900, .duplicates = 100}));
  ListQuery query;
  query.parent = executions("ship").at(0).id;
  EXPECT_EQ(store().list(query).size(), 2U);
}

// The batches of one long call share transactions or are written in parallel: an event that is in two batches still
// starts one run.
TEST_F(EventConformance, DuplicatesInALongCallAreMet) {
  apply("ship", on({"order.*"}));
  constexpr std::size_t distinct = 4500;
  std::vector<schedule::Event> events;
  for (std::size_t i = 0; i < 2 * distinct; ++i) { events.push_back(event(std::to_string(i % distinct))); }
  const std::vector<schedule::Routed> routed = router().route(events);
  ASSERT_EQ(routed.size(), events.size());
  for (std::size_t i = 0; i < distinct; ++i) {
    const schedule::Routed::Run& one = routed[i].runs.at(0);
    const schedule::Routed::Run& other = routed[i + distinct].runs.at(0);
    ASSERT_NE(one.created, other.created) << i;
    ASSERT_EQ(one.execution, other.execution) << i;
    ASSERT_EQ(one.error + other.error, "");
  }
  router().flush();
  EXPECT_EQ(counts("ship"), (ActivityCounts{.started = distinct, .duplicates = distinct}));
  EXPECT_TRUE(router().route(std::span(events).first(0)).empty());
}

// The transaction of earlier events is not kept open while a long stretch of events has no subscriber.
TEST_F(EventConformance, ALongCallMayStartLittleInTheMiddle) {
  apply("ship", on({"order.*"}));
  std::vector<schedule::Event> events;
  for (int i = 0; i < 1500; ++i) { events.push_back(event("early" + std::to_string(i))); }
  events.resize(40'000, event("1", "stock.low"));
  for (int i = 0; i < 1500; ++i) { events.push_back(event("late" + std::to_string(i))); }
  const std::vector<schedule::Routed> routed = router().route(events);
  ASSERT_EQ(routed.size(), events.size());
  int created = 0;
  for (const schedule::Routed& one : routed) {
    for (const schedule::Routed::Run& run : one.runs) {
      created += run.created ? 1 : 0;
      ASSERT_EQ(run.error, "");
    }
  }
  EXPECT_EQ(created, 3000);
  router().flush();
  EXPECT_EQ(counts("ship"), (ActivityCounts{.started = 3000}));
}

TEST_F(EventConformance, EventsOfAPauseAreDropped) {
  apply("ship", on({"order.*"}));
  activities_->pause("ship", "", "ann");
  EXPECT_TRUE(route(event("1")).runs.empty());
  router_.reset();
  EXPECT_EQ(counts("ship"), (ActivityCounts{.missed = 1})) << "counts are written when the router goes";
  activities_->resume("ship", "ann");
  EXPECT_TRUE(route(event("1")).runs.at(0).created);
}

TEST_F(EventConformance, FiltersAndTemplatesSeeTheEnvelope) {
  apply("ship", on({"*"}, {{"source", "/shop*"}, {"filter", {{"/data/country", {"CH", "AT"}}}}}),
        {{"input", {{"order", "{{event.data/order}}"}, {"text", "Order of {{event.source}}"}}}});
  EXPECT_TRUE(route(event("1", "order", {{"country", "DE"}})).runs.empty());
  EXPECT_TRUE(route(event("2", "order", {{"country", "CH"}}, "/market")).runs.empty());
  EXPECT_TRUE(route(event("3", "order", {{"country", "CH"}, {"order", 7}}, "/shop/eu")).runs.at(0).created);
  EXPECT_EQ(json::parse(executions("ship").at(0).input)["input"],
            json::parse(R"({"order": 7, "text": "Order of /shop/eu"})"));
}

TEST_F(EventConformance, ADrainingQueueIsSaid) {
  apply("ship", on({"order.*"}), {{"target", {{"task", "pack"}, {"queue", "packing"}}}});
  QueuePatch drain;
  drain.draining = true;
  store().configure_queue({.namespace_name = "default", .name = "packing"}, drain);
  const schedule::Routed routed = route(event("1"));
  EXPECT_FALSE(routed.runs.at(0).created);
  EXPECT_EQ(routed.runs.at(0).error.rfind("QueueDraining", 0), 0U);
  router().flush();
  EXPECT_EQ(counts("ship"), (ActivityCounts{.refused = 1}));
}

TEST_F(EventConformance, WhatThisProcessChangesCountsAtOnce) {
  EXPECT_TRUE(route(event("1")).runs.empty());
  apply("ship", on({"order.*"}));
  EXPECT_TRUE(route(event("1")).runs.at(0).created);
  activities_->pause("ship", "", "ann");
  EXPECT_TRUE(route(event("2")).runs.empty());
  activities_->resume("ship", "ann");
  EXPECT_EQ(route(event("3")).runs.size(), 1U);
  activities_->remove("ship", "ann");
  EXPECT_TRUE(route(event("4")).runs.empty());
}

TEST_F(EventConformance, InstancesAreNotStartedAgainWhenTheirIdentityHasLapsed) {
  apply("ship", on({"order.*"}), {{"target", {{"workflow", "shipping"}}}, {"tasks", {{{"task_type", "pack"}}}}});
  const schedule::Routed first = route(event("1"));
  ListQuery query;
  query.parent = first.runs.at(0).execution;
  const std::vector<Execution> packing = store().list(query);
  ASSERT_EQ(packing.size(), 1U);
  TestWorker anne = worker();
  for (const Claim& claimed : claim(anne)) {
    if (claimed.task == "pack") { EXPECT_EQ(finish(completed(claimed)), FinishVerdict::accepted); }
  }
  advance(8 * 24h);  // tasks are kept for 7 days, the workflow goes on
  const schedule::Routed again = route(event("1"));
  EXPECT_FALSE(again.runs.at(0).created);
  query.parent.reset();
  query.task = "pack";
  EXPECT_TRUE(store().list(query).empty());
}

TEST_F(EventConformance, AnActivityMadeElsewhereIsSeenWithinTwoSeconds) {
  EXPECT_TRUE(route(event("1")).runs.empty());
  engine::Engine other(second());
  schedule::Activities(other, "default")
      .apply(schedule::parse_activity(
                 R"({"id": "ship", "trigger": {"type": "event", "types": ["order.*"]}, "target": {"task": "report"}})"),
             "bob");
  // The time limit only allows for a slow machine.
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (route(event("1")).runs.empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(route(event("1")).runs.size(), 1U);
}

TEST_F(EventConformance, ManySendersOfTheSameEventsStartEachOnce) {
  apply("ship", on({"order.*"}));
  apply("mail", on({"order.*"}));
  std::atomic<int> created{0};
  std::vector<std::jthread> senders;
  for (int sender = 0; sender < 4; ++sender) {
    senders.emplace_back([this, &created, sender] {
      engine::Engine engine(second());
      schedule::EventRouter mine(engine, "default");
      for (int round = 0; round < 5; ++round) {
        std::vector<schedule::Event> events;
        for (int i = 0; i < 20; ++i) { events.push_back(event(std::to_string((i * (sender + 1)) % 20 + 20 * round))); }
        for (const schedule::Routed& routed : mine.route(events)) {
          for (const auto& run : routed.runs) { created += run.created ? 1 : 0; }
        }
      }
    });
  }
  senders.clear();
  EXPECT_EQ(static_cast<std::size_t>(created.load()), runs("ship").size() + runs("mail").size());
  EXPECT_EQ(runs("ship").size(), runs("mail").size());
  EXPECT_EQ(runs("ship").size(), 100U);
}

}  // namespace

}  // namespace hapax::conformance
