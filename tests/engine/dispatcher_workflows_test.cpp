// The dispatcher of a worker that has workflows.
#include "engine/dispatcher.hpp"

#include "engine/world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>

namespace hapax::engine {
namespace {

using namespace std::chrono_literals;

// Accepts workflows and ends none by itself.
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

  // Completes the first `count` workflows.
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

// A worker of four threads with a task and a workflow, or with a workflow alone.
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

  // Steps until the dispatcher has nothing to do at once. Returns the number of exchanges.
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
  std::vector<std::size_t> answered;  // number of outcomes in each call
  std::unique_ptr<Dispatcher> dispatcher;
};

TEST_F(MixedDispatcherTest, OutcomesOfManyWorkflowsGoTogether) {
  open({"flow"});
  admit_flows(40);
  (void)settle();
  flows.complete(40);
  (void)settle();
  EXPECT_EQ(answered, std::vector<std::size_t>{40});
}

TEST_F(MixedDispatcherTest, ATasksOutcomeWaitsForNoWorkflows) {
  open({"flow", "work"});
  admit_flows(40);
  world.admit_many(1);
  (void)settle();
  flows.complete(30);
  (void)settle();
  answered.clear();
  ASSERT_FALSE(pool.running.empty());
  (void)pool.end(Ending::completed("1"));
  (void)dispatcher->step(world.now());
  EXPECT_EQ(answered, std::vector<std::size_t>{1});
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
  (void)settle();  // no time has passed
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
  // The dispatcher looks once and is then idle again.
  EXPECT_EQ(settle(), 1);
  EXPECT_GT(dispatcher->step(world.now()), world.now() + 20ms);
}

TEST_F(MixedDispatcherTest, FullOfWorkflowsItDoesNotLookForQuestionsAllTheTime) {
  questions = model::QueueRef{"default", "hapax.query"};
  open({"flow", "work"});
  (void)settle();
  (void)dispatcher->hint(world.now());
  (void)settle();  // does not ask for questions
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
  (void)settle();  // asks for workflows only
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
