// The dispatcher, one step at a time.
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
  (void)step();  // finds the pool full
  const int before = world.store.exchanges;
  for (int i = 0; i < 4; ++i) { (void)pool.end(Ending::completed("1")); }
  (void)step();
  EXPECT_EQ(world.store.exchanges, before + 1);
  EXPECT_EQ(dispatcher.stats().completed, 4);
  EXPECT_EQ(pool.running.size(), 4U);
}

TEST_F(DispatcherTest, AQueueWithLimitsGivesNoMoreThanCanStartAtOnce) {
  world.store.configure_queue({}, {.concurrency = 100});
  pool.rate = 100'000;  // quick handlers: for a queue without limits the dispatcher would prefetch
  world.admit_many(50);
  (void)step();
  EXPECT_EQ(pool.running.size(), 4U);
}

TEST_F(DispatcherTest, AnOutcomeOfAQueueWithLimitsIsFollowedByTheNextAtOnce) {
  world.store.configure_queue({}, {.concurrency = 1});
  world.admit_many(3);
  (void)step();
  EXPECT_EQ(pool.running.size(), 1U);
  (void)step();  // no execution may start; the next claim is due later
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
  EXPECT_EQ(last, 400ms) << "with the sweeper's interval within a second";
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

// An execution that was lost once: claimed by a session that then sends no beat.
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
  (void)step();  // claims again and learns of the suspect
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
  // Executions that were born running fill the pool, so no claim reply has said that more is due.
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

}  // namespace
}  // namespace hapax::engine
