// The dispatcher, a step at a time.
#include "engine/dispatcher.hpp"

#include "engine/world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>

namespace hapax::engine {
namespace {

using namespace std::chrono_literals;

class DispatcherTest : public ::testing::Test {
 protected:
  void SetUp() override { session.opened(world.open_session()); }

  Time step() { return dispatcher.step(world.now()); }

  World world;
  Session session;
  HandPool pool;
  int doubts = 0;
  std::vector<std::string> troubles;
  Dispatcher dispatcher{world.store,
                        session,
                        pool,
                        {.queues = {model::QueueRef{}},
                         .tasks = {},
                         .prefetch = 0,
                         .on_answered = {},
                         .on_trouble = [this](std::string_view what) { troubles.emplace_back(what); },
                         .on_doubt = [this] { ++doubts; }}};
};

TEST_F(DispatcherTest, ClaimsAsMuchAsThePoolWillRun) {
  world.admit_many(10);
  (void)step();
  EXPECT_EQ(pool.running.size(), 4U);
  EXPECT_EQ(session.held(), 4);
}

TEST_F(DispatcherTest, SendsOutcomesAndTheNextClaimInOneExchange) {
  world.admit_many(10);
  (void)step();
  (void)step();  // finds that the pool is full
  const int before = world.store.exchanges;
  for (int i = 0; i < 4; ++i) { (void)pool.end(Ending::completed("1")); }
  (void)step();
  EXPECT_EQ(world.store.exchanges, before + 1);
  EXPECT_EQ(dispatcher.stats().completed, 4);
  EXPECT_EQ(pool.running.size(), 4U);
}

TEST_F(DispatcherTest, AQueueWithLimitsGivesNoMoreThanCanStartAtOnce) {
  world.store.configure_queue({}, {.concurrency = 100});
  pool.rate = 100'000;  // quick handlers: a queue without limits would be fetched from ahead
  world.admit_many(50);
  (void)step();
  EXPECT_EQ(pool.running.size(), 4U);
}

TEST_F(DispatcherTest, AnOutcomeOfAQueueWithLimitsIsFollowedByTheNextAtOnce) {
  world.store.configure_queue({}, {.concurrency = 1});
  world.admit_many(3);
  (void)step();
  EXPECT_EQ(pool.running.size(), 1U);
  (void)step();  // nothing more may start; the next look is a while away
  for (int left = 2; left > 0; --left) {
    (void)pool.end(Ending::completed("1"));
    (void)step();
    EXPECT_EQ(pool.running.size(), 1U) << "without waiting for the next look";
  }
}

TEST_F(DispatcherTest, LooksAgainWhenARateAllowsTheNext) {
  world.store.configure_queue({}, {.rate = RateLimit{.count = 40, .per = 1s}});
  world.admit_many(3);
  (void)step();
  EXPECT_EQ(pool.running.size(), 1U);
  const Time next = step();
  EXPECT_LE(next - world.now(), 6ms);
  world.advance(next - world.now());
  (void)step();
  EXPECT_EQ(pool.running.size(), 2U);
}

TEST_F(DispatcherTest, WaitsLongerAndLongerWhenNothingIsThere) {
  Duration last{0};
  for (int i = 0; i < 8; ++i) {
    const Time next = step();
    const Duration wait = next - world.now();
    EXPECT_GE(wait, last);
    EXPECT_LE(wait, 400ms);
    last = wait;
    world.advance(wait);
  }
  EXPECT_EQ(last, 400ms) << "with the sweeper's interval within a second (SPEC P4)";
}

TEST_F(DispatcherTest, LooksAgainExactlyWhenTheNextDelayedOneIsDue) {
  auto delayed = new_execution();
  delayed.delay = 30ms;
  const Uuid id = world.admit(delayed);
  const Time next = step();
  EXPECT_EQ(next - world.now(), 30ms);
  world.advance(30ms);
  (void)step();
  ASSERT_EQ(pool.running.size(), 1U);
  EXPECT_EQ(pool.running.front()->claim().id, id);
}

TEST_F(DispatcherTest, AHintMakesItLookAtOnce) {
  for (int i = 0; i < 6; ++i) { world.advance(step() - world.now()); }
  (void)step();
  world.admit_many(1);
  world.advance(1ms);
  (void)step();
  EXPECT_TRUE(pool.running.empty()) << "it is not time to look yet";
  EXPECT_TRUE(dispatcher.hint(world.now()));
  (void)step();
  EXPECT_EQ(pool.running.size(), 1U);
}

TEST_F(DispatcherTest, KeepsOutcomesWhileTheStoreIsAway) {
  world.admit_many(1);
  (void)step();
  const RunPtr run = pool.end(Ending::completed("7"));
  world.store.away = true;
  for (int i = 0; i < 10; ++i) {
    const Time next = step();
    EXPECT_GT(next, world.now()) << "a store that is away is not asked without a pause";
    world.advance(next - world.now());
  }
  EXPECT_TRUE(dispatcher.store_away());
  EXPECT_FALSE(dispatcher.all_sent());
  EXPECT_EQ(session.held(), 1) << "what is not recorded is still held";
  world.store.away = false;
  world.advance(5s);
  (void)step();
  EXPECT_EQ(world.get(run->claim().id).status, Status::completed);
  EXPECT_TRUE(dispatcher.all_sent());
}

TEST_F(DispatcherTest, AnOutcomeWhoseAnswerWasLostIsSentAgainAndAccepted) {
  world.admit_many(1);
  (void)step();
  const RunPtr run = pool.end(Ending::completed("7"));
  world.store.lose_replies = 1;
  (void)step();
  world.advance(5s);
  (void)step();
  EXPECT_EQ(dispatcher.stats().completed, 1);
  EXPECT_EQ(dispatcher.stats().stale, 0);
  EXPECT_EQ(session.held(), 0);
}

TEST_F(DispatcherTest, AClaimWhoseAnswerWasLostIsReleasedByTheNextBeat) {
  world.admit_many(1);
  world.store.lose_replies = 1;
  (void)step();
  EXPECT_TRUE(pool.running.empty());
  EXPECT_EQ(doubts, 1) << "the heartbeat is asked to hurry";
  EXPECT_EQ(world.store.inner().beat(session.beat(30s)).released, 1);
  world.advance(5s);
  (void)step();
  ASSERT_EQ(pool.running.size(), 1U);
  EXPECT_EQ(pool.running.front()->claim().attempt, 1) << "no attempt was spent";
}

TEST_F(DispatcherTest, AnOutcomeThatCannotBeWrittenBecomesAFailureAndHurtsNoOther) {
  world.admit_many(3);
  (void)step();
  const RunPtr good = pool.end(Ending::completed("1"));
  const RunPtr bad = pool.end(Ending::completed("\"unwritable\""));
  const RunPtr other = pool.end(Ending::completed("2"));
  (void)step();
  EXPECT_EQ(world.get(good->claim().id).status, Status::completed);
  EXPECT_EQ(world.get(other->claim().id).status, Status::completed);
  EXPECT_EQ(world.get(bad->claim().id).status, Status::failed);
  EXPECT_EQ(world.get(bad->claim().id).error->type, "OutcomeRefused");
}

TEST_F(DispatcherTest, AnOutcomeWhoseRowSomebodyHasWaitsApartAndHurtsNoOther) {
  world.admit_many(3);
  (void)step();
  const RunPtr good = pool.end(Ending::completed("1"));
  const RunPtr held = pool.end(Ending::completed("\"held\""));
  const RunPtr other = pool.end(Ending::completed("2"));
  world.store.blocking = true;
  (void)step();
  EXPECT_EQ(world.get(good->claim().id).status, Status::completed);
  EXPECT_EQ(world.get(other->claim().id).status, Status::completed);
  EXPECT_EQ(world.get(held->claim().id).status, Status::running);
  EXPECT_FALSE(dispatcher.all_sent());
  const int before = world.store.exchanges;
  (void)step();
  EXPECT_LE(world.store.exchanges, before + 1) << "it is not tried at every turn";
  world.store.blocking = false;
  world.advance(5s);
  (void)step();
  EXPECT_EQ(world.get(held->claim().id).status, Status::completed);
  EXPECT_TRUE(dispatcher.all_sent());
}

TEST_F(DispatcherTest, WhatALostSessionHeldIsDropped) {
  world.admit_many(2);
  (void)step();
  (void)pool.end(Ending::completed("1"));
  const int before = world.store.exchanges;
  EXPECT_EQ(session.lose(session.id()).size(), 2U);
  (void)step();
  EXPECT_EQ(world.store.exchanges, before) << "nothing is sent and nothing claimed without a session";
  EXPECT_TRUE(pool.running.front()->should_stop());
}

// Lost before: a claim, and a session that is never heard of again.
Uuid make_suspect(World& world) {
  const Uuid id = world.admit(new_execution("suspect"));
  const Uuid session = world.open_session(1s);
  model::ClaimRequest request;
  request.session = session;
  request.claim_number = 1;
  request.queues = {model::QueueRef{}};
  request.tasks = {"suspect"};
  EXPECT_EQ(world.store.claim(request).claims.size(), 1U);
  world.advance(2s);
  EXPECT_EQ(world.store.sweep({.limit = 100}).requeued, 1);
  return id;
}

TEST_F(DispatcherTest, ALostBeforeExecutionRunsAlone) {
  const Uuid suspect = make_suspect(world);
  world.admit_many(5);
  (void)step();
  ASSERT_EQ(pool.running.size(), 1U);
  EXPECT_EQ(pool.running.front()->claim().id, suspect);
  EXPECT_TRUE(dispatcher.exclusive());
  (void)dispatcher.hint(world.now());
  (void)step();
  EXPECT_EQ(pool.running.size(), 1U) << "nothing beside it";
  (void)pool.end(Ending::completed("1"));
  (void)step();
  (void)step();
  EXPECT_EQ(pool.running.size(), 4U);
  EXPECT_FALSE(dispatcher.exclusive());
}

TEST_F(DispatcherTest, ABusyWorkerEmptiesItselfForALostBeforeExecution) {
  world.admit_many(6);
  (void)step();
  ASSERT_EQ(pool.running.size(), 4U);
  const Uuid suspect = make_suspect(world);
  (void)pool.end(Ending::completed("1"));
  (void)step();  // claims once more and learns of the suspect
  (void)step();
  const std::size_t busy = pool.running.size();
  for (std::size_t i = 0; i < busy; ++i) {
    (void)pool.end(Ending::completed("1"));
    (void)step();
  }
  (void)step();
  ASSERT_EQ(pool.running.size(), 1U);
  EXPECT_EQ(pool.running.front()->claim().id, suspect);
}

TEST_F(DispatcherTest, PatienceWithALongHandlerEndsAfterFiveSeconds) {
  world.admit_many(1);
  (void)step();
  const Uuid suspect = make_suspect(world);
  world.advance(1s);
  (void)dispatcher.hint(world.now());
  (void)step();
  EXPECT_EQ(pool.running.size(), 1U);
  world.advance(5s);
  (void)step();
  ASSERT_EQ(pool.running.size(), 2U);
  EXPECT_EQ(pool.running.back()->claim().id, suspect);
}

TEST_F(DispatcherTest, ClaimsOnlyTasksItHasHandlersFor) {
  dispatcher.set_tasks({"known"});
  world.admit(new_execution("unknown"));
  const Uuid known = world.admit(new_execution("known"));
  (void)step();
  ASSERT_EQ(pool.running.size(), 1U);
  EXPECT_EQ(pool.running.front()->claim().id, known);
}

TEST_F(DispatcherTest, AFullPoolIsNotAskedAgainAndAgain) {
  world.advance(step() - world.now());
  // Filled by executions that were born running, so that no claim ever said that there is more.
  for (int i = 0; i < 4; ++i) { pool.submit({std::make_shared<engine::Run>(model::Claim{})}); }
  (void)dispatcher.hint(world.now());
  EXPECT_GT(step(), world.now()) << "it would turn without a pause";
  world.admit_many(1);
  (void)pool.end(Ending::settled());
  (void)step();
  EXPECT_EQ(pool.running.size(), 4U) << "room is used as soon as there is some";
}

TEST_F(DispatcherTest, DrainingClaimsNothing) {
  world.admit_many(1);
  dispatcher.drain();
  (void)step();
  EXPECT_TRUE(pool.running.empty());
}

// Takes workflows and ends none.
class HandFlows final : public WorkflowPool {
 public:
  [[nodiscard]] std::vector<std::string> names() const override { return {"flow"}; }
  [[nodiscard]] std::vector<std::string> questions() const override { return {"hapax.query:flow"}; }
  void start(std::function<void()> /*on_settled*/) override {}
  void submit(std::vector<RunPtr> runs) override { std::ranges::move(runs, std::back_inserter(running)); }
  void collect(std::vector<Settled>& into) override {
    std::ranges::move(ended, std::back_inserter(into));
    ended.clear();
  }
  void withdraw(std::vector<RunPtr>& /*into*/) override {}
  [[nodiscard]] int room() const override { return most - active(); }
  [[nodiscard]] int active() const override { return static_cast<int>(running.size()); }
  void look(Time /*now*/) override {}
  void hold() override {}
  void stop(Time /*until*/) override {}

  // The first `count` of them complete.
  void complete(int count) {
    for (int i = 0; i < count; ++i) {
      const RunPtr run = running[static_cast<std::size_t>(i)];
      (void)run->settle();
      ended.push_back({run,
                       model::Finish{.id = run->claim().id,
                                     .fence = run->claim().fence,
                                     .kind = model::FinishKind::completed,
                                     .result = "null"},
                       {}});
    }
    running.erase(running.begin(), running.begin() + count);
  }

  int most = 1000;
  std::vector<RunPtr> running;
  std::vector<Settled> ended;
};

// A worker of four threads that has a task and a workflow, or a workflow alone.
class MixedDispatcherTest : public ::testing::Test {
 protected:
  void SetUp() override { session.opened(world.open_session()); }

  void open(std::vector<std::string> names) {
    dispatcher = std::make_unique<Dispatcher>(
        world.store, session, pool,
        Dispatcher::Options{
            .queues = {model::QueueRef{}},
            .tasks = std::move(names),
            .prefetch = 0,
            .workflows = &flows,
            .questions = questions,
            .remote = remote,
            .on_answered = [this](std::span<const Settled> batch, auto) { answered.push_back(batch.size()); },
            .on_woken = {},
            .on_trouble = {},
            .on_doubt = [] {}});
  }

  void admit_flows(int count) {
    for (int i = 0; i < count; ++i) {
      model::NewExecution flow = new_execution("flow");
      flow.kind = model::Kind::workflow;
      (void)world.admit(flow);
    }
  }

  // Steps until it has nothing to do at once; how many exchanges that took.
  int settle() {
    const int before = world.store.exchanges;
    for (int steps = 0; dispatcher->step(world.now()) <= world.now(); ++steps) {
      if (steps > 1000) {
        ADD_FAILURE() << "it does not come to rest";
        break;
      }
    }
    return world.store.exchanges - before;
  }

  World world;
  Session session;
  HandPool pool;
  HandFlows flows;
  std::optional<model::QueueRef> questions;
  bool remote = false;
  std::vector<std::size_t> answered;  // outcomes of each call
  std::unique_ptr<Dispatcher> dispatcher;
};

TEST_F(MixedDispatcherTest, WhenAllWorkflowsEndAtOnceARemoteStoreGetsThemInTwoHalves) {
  remote = true;
  open({"flow"});
  admit_flows(40);
  (void)settle();
  flows.complete(40);
  (void)settle();
  EXPECT_EQ(answered, (std::vector<std::size_t>{20, 20}));
}

TEST_F(MixedDispatcherTest, TheFewWaitForTheManyThatEndedTogetherAMomentAgo) {
  open({"flow"});
  admit_flows(40);
  (void)settle();
  flows.complete(30);  // of 40
  (void)settle();
  admit_flows(30);
  world.advance(1s);
  (void)settle();  // claims them
  flows.complete(30);
  (void)settle();
  ASSERT_EQ(answered, (std::vector<std::size_t>{30, 30}));
  admit_flows(30);
  EXPECT_EQ(flows.active(), 10);
  flows.complete(4);
  const Time until = dispatcher->step(world.now());
  EXPECT_EQ(answered.size(), 2U) << "six are under way, and many went a moment ago";
  EXPECT_GT(until, world.now());
  EXPECT_LE(until, world.now() + 1ms);
  flows.complete(1);
  (void)dispatcher->step(world.now());
  EXPECT_EQ(answered.size(), 3U) << "five of ten are no longer few";
}

TEST_F(MixedDispatcherTest, TheFewDoNotWaitLongerThanACall) {
  open({"flow"});
  admit_flows(40);
  (void)settle();
  flows.complete(30);
  (void)settle();
  flows.complete(1);
  (void)dispatcher->step(world.now());
  ASSERT_EQ(answered.size(), 1U);
  world.advance(1ms);
  (void)dispatcher->step(world.now());
  EXPECT_EQ(answered, (std::vector<std::size_t>{30, 1}));
}

TEST_F(MixedDispatcherTest, TheFewDoNotWaitForACrowdOfLongAgoNorWhileDrainingNorOnARemoteStore) {
  const auto sends_one_of_many = [&](const auto& before) {
    answered.clear();
    flows.running.clear();
    open({"flow"});
    admit_flows(40);
    (void)settle();
    flows.complete(30);
    (void)settle();
    before();
    flows.complete(1);
    (void)dispatcher->step(world.now());
    return answered.size() > 1;
  };
  EXPECT_FALSE(sends_one_of_many([] {}));
  EXPECT_TRUE(sends_one_of_many([&] { world.advance(11ms); }));
  EXPECT_TRUE(sends_one_of_many([&] { dispatcher->drain(); }));
  remote = true;
  EXPECT_TRUE(sends_one_of_many([] {}));
}

TEST_F(MixedDispatcherTest, HalvesAreNotHalvedAgain) {
  remote = true;
  open({"flow"});
  admit_flows(40);
  (void)settle();
  flows.complete(20);
  (void)settle();
  flows.complete(20);
  (void)settle();
  EXPECT_EQ(answered, (std::vector<std::size_t>{20, 20}));
}

TEST_F(MixedDispatcherTest, FewOutcomesAndThoseOfAStoreAtHandGoTogether) {
  open({"flow"});
  admit_flows(40);
  (void)settle();
  flows.complete(40);
  (void)settle();
  remote = true;
  open({"flow"});
  admit_flows(15);
  (void)settle();
  flows.complete(15);
  (void)settle();
  EXPECT_EQ(answered, (std::vector<std::size_t>{40, 15}));
}

TEST_F(MixedDispatcherTest, WorkflowsAloneAreClaimedUpToTheirOwnRoom) {
  open({"flow"});
  admit_flows(500);
  EXPECT_EQ(settle(), 1);
  EXPECT_EQ(flows.active(), 500);
}

TEST_F(MixedDispatcherTest, WorkflowsDueAtOnceAreNotClaimedByTheNumberOfThreads) {
  open({"flow", "work"});
  (void)settle();
  world.advance(1s);
  admit_flows(500);
  EXPECT_LE(settle(), 4);
  EXPECT_EQ(flows.active(), 500);
  EXPECT_TRUE(pool.running.empty());
}

TEST_F(MixedDispatcherTest, QuestionsAreClaimedBeforeABacklogAndCostQuickClaimsNothing) {
  questions = model::QueueRef{"default", "hapax.query"};
  open({"flow"});
  flows.most = 5;
  admit_flows(500);
  const auto admit_question = [&] {
    model::NewExecution question = new_execution("hapax.query:flow");
    question.kind = model::Kind::workflow;
    question.queue = *questions;
    (void)world.admit(question);
  };
  const auto asked = [&] {
    return std::ranges::count_if(flows.running, [](const RunPtr& run) { return run->claim().task != "flow"; });
  };
  admit_question();
  (void)settle();
  EXPECT_EQ(flows.active(), 5);
  EXPECT_EQ(asked(), 1);
  flows.running.clear();
  admit_question();
  (void)settle();  // the same instant
  EXPECT_EQ(flows.active(), 5);
  EXPECT_EQ(asked(), 0);
  flows.running.clear();
  world.advance(20ms);
  (void)settle();
  EXPECT_EQ(asked(), 1);
}

TEST_F(MixedDispatcherTest, AQuestionThatCameRightAfterALookIsLookedForInAMoment) {
  questions = model::QueueRef{"default", "hapax.query"};
  open({"flow"});
  (void)settle();
  (void)dispatcher->hint(world.now());
  EXPECT_EQ(settle(), 1);
  EXPECT_EQ(dispatcher->step(world.now()), world.now() + 20ms);
  world.advance(20ms);
  // Looked for once; then it is as idle as ever.
  EXPECT_EQ(settle(), 1);
  EXPECT_GT(dispatcher->step(world.now()), world.now() + 20ms);
}

TEST_F(MixedDispatcherTest, FullOfWorkflowsItDoesNotLookForQuestionsAllTheTime) {
  questions = model::QueueRef{"default", "hapax.query"};
  open({"flow", "work"});
  (void)settle();
  (void)dispatcher->hint(world.now());
  (void)settle();  // leaves questions out
  flows.most = 0;
  world.advance(20ms);
  (void)settle();
  for (int i = 0; i < 10; ++i) { EXPECT_GT(dispatcher->step(world.now()), world.now()); }
}

TEST_F(MixedDispatcherTest, ABacklogOfBothKindsFillsBoth) {
  open({"flow", "work"});
  world.admit_many(50);
  admit_flows(500);
  EXPECT_LE(settle(), 6);
  EXPECT_EQ(flows.active(), 500);
  EXPECT_EQ(pool.running.size(), 4U);
}

TEST_F(MixedDispatcherTest, ATaskThatHadNoRoomIsClaimedWithTheOutcomeThatMakesSome) {
  open({"flow", "work"});
  world.admit_many(5);
  (void)settle();
  ASSERT_EQ(pool.running.size(), 4U);
  world.advance(10s);
  (void)settle();  // looks for workflows only
  (void)pool.end(Ending::completed("1"));
  (void)dispatcher->step(world.now());
  EXPECT_EQ(pool.running.size(), 4U);
}

TEST_F(MixedDispatcherTest, FullOfEverythingItAsksForNothing) {
  open({"flow", "work"});
  flows.most = 10;
  world.admit_many(10);
  admit_flows(20);
  (void)settle();
  EXPECT_EQ(flows.active(), 10);
  EXPECT_EQ(pool.running.size(), 4U);
  world.advance(10s);
  EXPECT_EQ(settle(), 0);
}

}  // namespace
}  // namespace hapax::engine
