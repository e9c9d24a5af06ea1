// Workflow behaviour on virtual time. Each turn starts from the journal, so each of these tests is a replay test as
// well.
#include <hapax/hapax.hpp>
#include <hapax/saga.hpp>
#include <hapax/testing.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

namespace hapax {

namespace {

using namespace std::chrono_literals;

const Task<int, int> twice{"twice"};
const Task<int, int> broken{"broken", {.max_attempts = 1}};

class InlineWorkflow : public ::testing::Test {
 protected:
  void SetUp() override {
    app_.handle(twice, [this](const int& n) {
      ++sent_;
      return 2 * n;
    });
    app_.handle(broken, [](const int& n) -> int { throw std::runtime_error("no " + std::to_string(n)); });
  }

  void drain() { testing::drain(app_, {.through_delays = true}); }

  template <class Out, class Fn>
  WorkflowHandle<Out> run(Fn fn, const std::string& id = "one") {
    const Workflow<int, Out> flow{"flow"};
    app_.handle(flow, std::move(fn));
    auto handle = app_.start(flow, 1, {.workflow_id = id});
    drain();
    return handle;
  }

  App app_ = testing::open();
  int sent_ = 0;
};

TEST_F(InlineWorkflow, ReturnsWhatItsFunctionReturns) {
  EXPECT_EQ(run<std::string>([](WorkflowContext&, const int& n) { return "got " + std::to_string(n); }).result(),
            "got 1");
}

TEST_F(InlineWorkflow, AStepRunsOnce) {
  int effects = 0;
  int calls = 0;
  auto handle = run<int>([&](WorkflowContext& ctx, const int&) {
    ++calls;
    const int a = ctx.step("a", [&] { return ++effects; });
    ctx.sleep(1h);
    const int b = ctx.step("b", [&] { return ++effects; });
    ctx.sleep(1h);
    return 10 * a + b;
  });
  EXPECT_EQ(handle.result(), 12);
  EXPECT_EQ(effects, 2);
  EXPECT_EQ(calls, 3) << "played again after each sleep";
}

TEST_F(InlineWorkflow, ATaskIsSentOnceAndItsResultComesBack) {
  auto handle = run<int>([&](WorkflowContext& ctx, const int& n) {
    const int a = ctx.run(twice, n);
    return ctx.run(twice, a);
  });
  EXPECT_EQ(handle.result(), 4);
  EXPECT_EQ(sent_, 2);
  const auto tasks = app_.list({.task = "twice"});
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(tasks[0].parent, handle.id());
  EXPECT_EQ(tasks[1].task_id, "task-" + handle.id().to_string() + ":twice:0");
  EXPECT_EQ(tasks[0].task_id, "task-" + handle.id().to_string() + ":twice:1");
}

TEST_F(InlineWorkflow, AFailedTaskIsThrown) {
  auto handle = run<std::string>([&](WorkflowContext& ctx, const int& n) -> std::string {
    try {
      ctx.run(broken, n);
    } catch (const ExecutionFailed& error) { return error.what(); }
    return "";
  });
  EXPECT_EQ(handle.result(), "no 1");
}

TEST_F(InlineWorkflow, WhatItThrowsIsItsFailure) {
  auto handle = run<int>([&](WorkflowContext& ctx, const int& n) -> int { return ctx.run(broken, n); });
  EXPECT_EQ(handle.status(), Status::failed);
  EXPECT_EQ(app_.get(handle.id())->error->type, "ExecutionFailed");
}

TEST_F(InlineWorkflow, AStepIsTriedAgainAndThenFails) {
  int calls = 0;
  auto handle = run<std::string>([&](WorkflowContext& ctx, const int&) -> std::string {
    try {
      ctx.step("shaky",
               [&]() -> int {
                 ++calls;
                 throw std::runtime_error("down " + std::to_string(calls));
               },
               {.max_attempts = 3});
    } catch (const StepFailed& error) { return error.type + ": " + error.what(); }
    return "";
  });
  EXPECT_EQ(handle.result(), "std::runtime_error: down 3");
  EXPECT_EQ(calls, 3);
}

TEST_F(InlineWorkflow, AStepThatSucceedsAtLastIsOneStep) {
  int calls = 0;
  auto handle = run<int>([&](WorkflowContext& ctx, const int&) {
    const int n = ctx.step("shaky", [&]() -> int {
      if (++calls < 3) { throw std::runtime_error("down"); }
      return calls;
    });
    ctx.sleep(1s);
    return n + ctx.step("next", [] { return 10; });
  });
  EXPECT_EQ(handle.result(), 13);
  EXPECT_EQ(calls, 3);
}

TEST_F(InlineWorkflow, TimeRandomnessAndIdsStayWhatTheyWere) {
  std::vector<std::string> seen;
  auto handle = run<int>([&](WorkflowContext& ctx, const int&) {
    seen.push_back(format_time(ctx.now()) + std::to_string(ctx.random_bits()) + ctx.uuid().to_string());
    ctx.sleep(24h);
    seen.push_back(format_time(ctx.now()));
    return 0;
  });
  EXPECT_EQ(handle.result(), 0);
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[2].substr(0, 10), "2026-01-02");
}

TEST_F(InlineWorkflow, FansOutAndIn) {
  auto handle = run<int>([&](WorkflowContext& ctx, const int&) {
    std::vector<Started<int>> started;
    for (int i = 0; i < 20; ++i) { started.push_back(ctx.start(twice, i)); }
    int sum = 0;
    for (const int n : ctx.all(started)) { sum += n; }
    return sum;
  });
  EXPECT_EQ(handle.result(), 380);
  EXPECT_EQ(sent_, 20);
}

TEST_F(InlineWorkflow, TheFirstOfSeveralIsRememberedAsSuch) {
  auto handle = run<std::string>([&](WorkflowContext& ctx, const int&) -> std::string {
    auto slow = ctx.timer(10h);
    auto quick = ctx.timer(1h);
    auto task = ctx.start(twice, 21, {.delay = 5h});
    const std::size_t first = ctx.any(slow, quick, task);
    const std::size_t second = ctx.any(slow, task);
    ctx.sleep(20h);
    return std::to_string(first) + std::to_string(second) + ":" + std::to_string(task.get());
  });
  EXPECT_EQ(handle.result(), "11:42");
}

TEST_F(InlineWorkflow, ARaceCancelsWhoIsLate) {
  auto handle = run<std::size_t>([&](WorkflowContext& ctx, const int&) {
    auto task = ctx.start(twice, 1, {.delay = 5h});
    auto timer = ctx.timer(1h);
    return ctx.race(task, timer);
  });
  EXPECT_EQ(handle.result(), 1U);
  EXPECT_EQ(app_.list({.task = "twice"}).at(0).status, Status::cancelled);
  EXPECT_EQ(sent_, 0);
}

TEST_F(InlineWorkflow, ASignalIsWaitedForAndBuffered) {
  const Workflow<int, std::string> flow{"approval"};
  app_.handle(flow, [](WorkflowContext& ctx, const int&) {
    auto first = ctx.wait_signal<std::string>("say");
    auto second = ctx.wait_signal<std::string>("say");
    return first + second;
  });
  auto handle = app_.start(flow, 1, {.workflow_id = "a"});
  handle.signal("say", std::string("early"));
  drain();
  EXPECT_EQ(handle.status(), Status::pending);
  EXPECT_TRUE(app_.get(handle.id())->waiting);
  handle.signal("other", 5);
  handle.signal("say", std::string("late"), "key");
  handle.signal("say", std::string("late"), "key");
  drain();
  EXPECT_EQ(handle.result(), "earlylate");
  EXPECT_THROW(handle.signal("say", std::string("too late")), WrongStatus);
}

TEST_F(InlineWorkflow, ASignalMayNotComeInTime) {
  auto handle = run<std::string>([](WorkflowContext& ctx, const int&) -> std::string {
    const auto none = ctx.wait_signal<int>("go", 1h);
    const auto again = ctx.wait_signal<int>("go", 1h);
    return std::string(none ? "some" : "none") + (again ? "some" : "none");
  });
  EXPECT_EQ(handle.result(), "nonenone");
}

TEST_F(InlineWorkflow, ASignalAfterATimeoutIsNotLost) {
  const Workflow<int, int> flow{"patient"};
  app_.handle(flow, [](WorkflowContext& ctx, const int&) {
    if (ctx.wait_signal<int>("go", 1h)) { return -1; }
    return ctx.wait_signal<int>("go");
  });
  auto handle = app_.start(flow, 1, {.workflow_id = "a"});
  drain();
  handle.signal("go", 7);
  drain();
  EXPECT_EQ(handle.result(), 7);
}

TEST_F(InlineWorkflow, AChildWorkflowIsWaitedFor) {
  const Workflow<int, int> child{"child"};
  app_.handle(child, [](WorkflowContext& ctx, const int& n) {
    ctx.sleep(1h);
    return ctx.run(twice, n);
  });
  auto handle = run<int>([&](WorkflowContext& ctx, const int&) { return ctx.run(child, 4); });
  EXPECT_EQ(handle.result(), 8);
  EXPECT_EQ(app_.list({.task = "child"}).at(0).parent, handle.id());
}

TEST_F(InlineWorkflow, ChildrenEndWithTheirParentUnlessAbandoned) {
  const Workflow<int, int> child{"child"};
  app_.handle(child, [](WorkflowContext& ctx, const int& n) {
    ctx.sleep(100h);
    return n;
  });
  auto handle = run<int>([&](WorkflowContext& ctx, const int&) {
    (void)ctx.start(child, 1, {.workflow_id = "kept", .parent_close = ParentClose::abandon});
    (void)ctx.start(child, 2, {.workflow_id = "ended"});
    ctx.sleep(1h);
    return 0;
  });
  EXPECT_EQ(handle.result(), 0);
  EXPECT_EQ(app_.find(child, "kept").status(), Status::completed);
  EXPECT_EQ(app_.find(child, "ended").status(), Status::cancelled);
}

TEST_F(InlineWorkflow, AChildThatWentOnAsAnotherRunEndsWithItsParentToo) {
  const Workflow<int, int> child{"child"};
  app_.handle(child, [](WorkflowContext& ctx, const int& n) {
    if (n > 0) { ctx.continue_as_new(n - 1); }
    ctx.sleep(100h);
    return n;
  });
  auto handle = run<int>([&](WorkflowContext& ctx, const int&) {
    (void)ctx.start(child, 2, {.workflow_id = "kept", .parent_close = ParentClose::abandon});
    (void)ctx.start(child, 2, {.workflow_id = "ended"});
    ctx.sleep(1h);
    return 0;
  });
  EXPECT_EQ(handle.result(), 0);
  EXPECT_EQ(app_.find(child, "kept").status(), Status::completed);
  EXPECT_EQ(app_.find(child, "ended").status(), Status::cancelled);
}

TEST_F(InlineWorkflow, ContinuesAsNewUnderItsId) {
  const Workflow<int, int> flow{"countdown"};
  app_.handle(flow, [](WorkflowContext& ctx, const int& n) {
    if (n == 0) { return ctx.run_number(); }
    ctx.step("work", [] {});
    ctx.continue_as_new(n - 1);
  });
  auto handle = app_.start(flow, 3, {.workflow_id = "a"});
  drain();
  EXPECT_EQ(handle.result(), 4);
  EXPECT_NE(app_.find(flow, "a").id(), handle.id());
  EXPECT_EQ(app_.get(app_.find(flow, "a").id())->run, 4);
}

TEST_F(InlineWorkflow, SignalsThatNobodyGotGoOverToTheNextRun) {
  const Workflow<int, int> flow{"relay"};
  app_.handle(flow, [](WorkflowContext& ctx, const int& n) {
    if (n > 0) { return ctx.wait_signal<int>("go"); }
    auto go = ctx.signal<int>("go");  // waited for, but its value is never read
    auto enough = ctx.timer(1h);
    (void)ctx.any(enough, go);
    ctx.continue_as_new(n + 1);
  });
  auto handle = app_.start(flow, 0, {.workflow_id = "a"});
  testing::drain(app_);
  handle.signal("go", 9);
  drain();
  EXPECT_EQ(handle.result(), 9);
}

TEST_F(InlineWorkflow, CancellationUnwindsAndCompensates) {
  std::vector<std::string> trace;
  const Workflow<int, int> flow{"trip"};
  app_.handle(flow, [&](WorkflowContext& ctx, const int&) {
    return saga(ctx, [&](Saga& undo) {
      ctx.step("hotel", [&] { trace.emplace_back("hotel"); });
      undo.undo("hotel", [&] { ctx.step("no hotel", [&] { trace.emplace_back("no hotel"); }); });
      ctx.step("car", [&] { trace.emplace_back("car"); });
      undo.undo("car", [&] {
        ctx.sleep(1h);  // durable, inside a catch block
        ctx.step("no car", [&] { trace.emplace_back("no car"); });
      });
      ctx.sleep(1000h);
      return 1;
    });
  });
  auto handle = app_.start(flow, 1, {.workflow_id = "a"});
  testing::drain(app_);
  EXPECT_EQ(handle.cancel("ill"), CancelAnswer::requested);
  drain();
  EXPECT_EQ(handle.status(), Status::cancelled);
  EXPECT_EQ(trace, (std::vector<std::string>{"hotel", "car", "no car", "no hotel"}));
  EXPECT_EQ(app_.get(handle.id())->error->message, "ill");
}

TEST_F(InlineWorkflow, APurgeUnwindsWhatHasBegunAndEndsTheRest) {
  std::vector<std::string> trace;
  const Workflow<int, int> flow{"trip"};
  app_.handle(flow, [&](WorkflowContext& ctx, const int&) {
    return saga(ctx, [&](Saga& undo) {
      ctx.step("hotel", [&] { trace.emplace_back("hotel"); });
      undo.undo("hotel", [&] { ctx.step("no hotel", [&] { trace.emplace_back("no hotel"); }); });
      ctx.sleep(1000h);
      return 1;
    });
  });
  auto begun = app_.start(flow, 1, {.workflow_id = "begun"});
  testing::drain(app_);
  auto fresh = app_.start(flow, 1, {.workflow_id = "fresh", .delay = 1h});
  const PurgeAnswer answer = app_.admin().purge("default");
  EXPECT_EQ(answer.cancelled, 1U);
  EXPECT_EQ(answer.requested, 1U);
  const PurgeAnswer again = app_.admin().purge("default");
  EXPECT_EQ(again.cancelled, 0U);
  EXPECT_EQ(again.requested, 0U) << "it has been asked";
  EXPECT_EQ(fresh.status(), Status::cancelled);
  drain();
  EXPECT_EQ(begun.status(), Status::cancelled);
  EXPECT_EQ(trace, (std::vector<std::string>{"hotel", "no hotel"}));
  EXPECT_EQ(app_.get(begun.id())->error->message, "purged");
}

TEST_F(InlineWorkflow, ACancelledStepIsNotTriedAgain) {
  const Workflow<int, int> flow{"shaky"};
  int calls = 0;
  app_.handle(flow, [&](WorkflowContext& ctx, const int&) {
    return ctx.step("shaky",
                    [&]() -> int {
                      ++calls;
                      throw std::runtime_error("down");
                    },
                    {.retry = {.base = 1h, .cap = 1h, .jitter = Jitter::none}});
  });
  auto handle = app_.start(flow, 1, {.workflow_id = "a"});
  testing::drain(app_);
  EXPECT_EQ(handle.cancel("ill"), CancelAnswer::requested);
  testing::advance(app_, 2h);  // the next attempt is due too
  drain();
  EXPECT_EQ(handle.status(), Status::cancelled);
  EXPECT_EQ(calls, 1);
}

TEST_F(InlineWorkflow, ACancellationThatIsHandledIsNone) {
  const Workflow<int, std::string> flow{"stubborn"};
  app_.handle(flow, [&](WorkflowContext& ctx, const int&) -> std::string {
    try {
      ctx.sleep(1000h);
    } catch (const Cancelled& why) { return std::string("no: ") + why.what(); }
    return "slept";
  });
  auto handle = app_.start(flow, 1, {.workflow_id = "a"});
  testing::drain(app_);
  (void)handle.cancel("stop");
  drain();
  EXPECT_EQ(handle.result(), "no: stop");
}

TEST_F(InlineWorkflow, ACancellationIsFoundAgainByCodeWithAPatch) {
  const Workflow<int, int> flow{"changed"};
  bool changed = false;
  std::vector<std::string> trace;
  app_.handle(flow, [&](WorkflowContext& ctx, const int&) {
    try {
      if (changed) {
        ctx.on_query("state", [] { return 1; });
        ctx.progress(0.5);
        if (ctx.patched("more")) {
          ctx.step("more", [&] { trace.emplace_back("more"); });
        }
      }
      ctx.step("work", [&] { trace.emplace_back("work"); });
      ctx.sleep(1000h);
    } catch (const Cancelled&) {
      ctx.sleep(1h);
      ctx.step("undo", [&] { trace.emplace_back("undo"); });
      throw;
    }
    return 1;
  });
  auto handle = app_.start(flow, 1, {.workflow_id = "a"});
  testing::drain(app_);
  (void)handle.cancel("ill");
  testing::drain(app_);
  changed = true;
  drain();
  EXPECT_EQ(handle.status(), Status::cancelled);
  EXPECT_EQ(app_.get(handle.id())->stuck_reason, "");
  EXPECT_EQ(trace, (std::vector<std::string>{"work", "undo"}));
}

TEST_F(InlineWorkflow, QueriesSeeWhereItStands) {
  const Workflow<int, int> flow{"asked"};
  const auto alive = std::make_shared<int>(0);
  app_.handle(flow, [&alive](WorkflowContext& ctx, const int&) {
    const std::shared_ptr<int> local = alive;
    std::string state = "new";
    ctx.on_query("state", [&] { return state; });
    ctx.on_query<int>("add", [&](const int& n) { return n + 1; });
    ctx.step("a", [] {});
    state = "after a";
    ctx.wait_signal<int>("go");
    state = "done";
    return 0;
  });
  auto handle = app_.start(flow, 1, {.workflow_id = "a"});
  EXPECT_EQ(handle.query<std::string>("state"), "new");
  drain();
  EXPECT_EQ(handle.query<std::string>("state"), "after a");
  EXPECT_EQ((handle.query<int, int>("add", 41)), 42);
  EXPECT_THROW((void)handle.query<int>("nothing"), NotFound);
  // A question that cannot be answered leaves nothing in memory, not even its locals.
  EXPECT_THROW((void)(handle.query<int, std::string>("add", "x")), std::exception);
  EXPECT_EQ(alive.use_count(), 1);
  handle.signal("go", 1);
  drain();
  EXPECT_THROW((void)handle.query<std::string>("state"), WrongStatus);
}

// ---- Bad use --------------------------------------------------------------------------------------------------------

TEST_F(InlineWorkflow, NeedsAnId) {
  const Workflow<int, int> flow{"flow"};
  EXPECT_THROW((void)app_.start(flow, 1, {}), InvalidArgument);
  EXPECT_THROW((void)app_.start(flow, 1, {.workflow_id = std::string(256, 'x')}), InvalidIdempotencyKey);
}

TEST_F(InlineWorkflow, TheContextIsNotForSteps) {
  std::string said;
  auto handle = run<int>([&](WorkflowContext& ctx, const int&) -> int {
    try {
      ctx.step("outer", [&] { ctx.step("inner", [] {}); }, {.max_attempts = 1});
    } catch (const StepFailed& error) { said = error.what(); }
    return 0;
  });
  EXPECT_EQ(handle.result(), 0);
  EXPECT_NE(said.find("inside a step"), std::string::npos) << said;
}

TEST_F(InlineWorkflow, TheContextIsNotForOtherThreads) {
  std::string said;
  auto handle = run<int>([&](WorkflowContext& ctx, const int&) {
    std::thread([&] {
      try {
        (void)ctx.now();
      } catch (const UsageError& error) { said = error.what(); }
    }).join();
    return 0;
  });
  EXPECT_EQ(handle.result(), 0);
  EXPECT_NE(said.find("another thread"), std::string::npos) << said;
}

TEST_F(InlineWorkflow, TheContextEndsWithItsRun) {
  std::optional<WorkflowContext> kept;
  auto handle = run<int>([&](WorkflowContext& ctx, const int&) {
    kept = ctx;
    return 0;
  });
  EXPECT_EQ(handle.result(), 0);
  EXPECT_THROW((void)kept->now(), UsageError);
}

TEST_F(InlineWorkflow, AResultThatIsNoJsonFailsIt) {
  auto handle = run<double>([&](WorkflowContext&, const int&) { return std::nan(""); });
  EXPECT_TRUE(is_terminal(handle.status()));
}

}  // namespace

}  // namespace hapax
