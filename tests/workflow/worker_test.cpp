// Workflows on workers: lanes, the cache of waiting runs, several workers, restarts.
#include "api/stores.hpp"

#include <hapax/hapax.hpp>
#include <hapax/replay_tester.hpp>

#include <gtest/gtest.h>

#include "app/app_state.hpp"
#include "base/uuid7.hpp"

#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hapax {

namespace {

using namespace std::chrono_literals;

const Task<int, int> worker_twice{"twice"};
const Workflow<int, int> sums{"sums"};

class WorkflowWorker : public OnStore {
 protected:
  // Steps, tasks, short sleeps; the result is 7 n.
  void handle_sums(App& app) {
    app.handle(worker_twice, [this](const int& n) {
      ++sent_;
      return 2 * n;
    });
    app.handle(sums, [this](WorkflowContext& ctx, const int& n) {
      const int a = ctx.step("a", [&] { return count(ctx.execution_id(), "a"), n; });
      const int b = ctx.run(worker_twice, n);
      ctx.sleep(1ms);
      auto left = ctx.start(worker_twice, n);
      auto right = ctx.timer(1ms);
      const auto [c] = ctx.all(left);
      right.get();
      const int d = ctx.step("d", [&] { return count(ctx.execution_id(), "d"), 2 * n; });
      return a + b + c + d;
    });
  }

  void count(const Uuid& id, const std::string& step) {
    const std::lock_guard lock(mutex_);
    ++effects_[id.to_string() + step];
  }

  std::map<std::string, int> effects() {
    const std::lock_guard lock(mutex_);
    return effects_;
  }

  std::atomic<int> sent_{0};
  std::mutex mutex_;
  std::map<std::string, int> effects_;
};

// Asks as a server does: through a workflow of hapax's own (model/question.hpp).
class AskedFromAfar : public WorkflowWorker {
 protected:
  std::string ask(App& app, const std::string& name, const Uuid& id, const std::string& query,
                  const std::string& question = "null") {
    const TaskSpec asking{.name = "hapax.query:" + name, .options = {.queue = "hapax.query"}};
    const nlohmann::json input{{"execution", id.to_string()}, {"query", query}, {"question", question}};
    const auto told = nlohmann::json::parse(
        app.start_json(asking, input.dump(), {.workflow_id = std::to_string(++asked_)}).result_json_for(30s));
    if (told.contains("answer")) { return told["answer"].get<std::string>(); }
    return told["error"]["type"].get<std::string>() + "! " + told["error"]["message"].get<std::string>();
  }

  int asked_ = 0;
};

TEST_P(AskedFromAfar, AWorkerThatHasTheFunctionAnswers) {
  App app = open();
  const Workflow<int, int> flow{"asked"};
  app.handle(flow, [](WorkflowContext& ctx, const int&) {
    std::string state = "new";
    ctx.on_query("state", [&] { return state; });
    ctx.on_query<int>("add", [&](const int& n) { return n + 1; });
    ctx.on_query("odd", [&]() -> int { throw 7; });
    ctx.on_query("missing", [&]() -> int { throw NotFound("no such line"); });
    ctx.on_query("wordy", [&]() -> int { throw std::runtime_error(std::string(std::size_t{3} << 20, 'x')); });
    ctx.on_query("large", [&] { return std::string(std::size_t{2} << 20, 'x'); });
    // NOLINTNEXTLINE(misc-no-recursion): uses more stack than a workflow has by default
    std::function<int(int)> deep = [&](int n) { return n == 0 ? ctx.patched("deep") : deep(n - 1) + (n & 1); };
    (void)deep(4000);
    ctx.step("a", [] {});
    state = "after a";
    return ctx.wait_signal<int>("go");
  });
  // Questions are answered whichever queues the worker has.
  const Worker worker = app.work({.queues = {"flows"}, .threads = 1, .workflow_stack = 4 << 20});
  const auto handle = app.start(flow, 1, {.workflow_id = "w", .queue = "flows"});
  while (app.timeline(handle.id()).size() < 3) { std::this_thread::sleep_for(1ms); }
  EXPECT_EQ(ask(app, "asked", handle.id(), "state"), R"("after a")");
  EXPECT_EQ(ask(app, "asked", handle.id(), "add", "41"), "42");
  const auto refused = [&](const std::string& query, const std::string& question = "null") {
    return ask(app, "asked", handle.id(), query, question).substr(0, 15);
  };
  EXPECT_EQ(refused("speed"), "NotFound! workf");
  EXPECT_EQ(refused("add", "\"x\""), "InvalidArgument");
  EXPECT_EQ(refused("add", "{"), "InvalidJson! qu");
  EXPECT_EQ(refused("odd"), "QueryFailed! th");
  EXPECT_EQ(refused("missing"), "QueryFailed! No");
  EXPECT_EQ(refused("wordy"), "QueryFailed! xx");
  EXPECT_EQ(refused("large"), "QueryFailed! th");
  EXPECT_EQ(ask(app, "asked", base::new_uuid7(), "state").substr(0, 9), "NotFound!");
  handle.signal("go", 5);
  EXPECT_EQ(handle.result_for(30s), 5);
  EXPECT_EQ(refused("state"), "WrongStatus! wo");
}

TEST_P(AskedFromAfar, StepsThatTakeLongKeepNoQuestionWaiting) {
  App app = open();
  std::latch over(1);
  const Workflow<int, int> slow{"slow"};
  app.handle(slow, [&](WorkflowContext& ctx, const int&) {
    std::string state = "begun";
    ctx.on_query("state", [&] { return state; });
    ctx.step("long", [&] { over.wait(); });
    return 1;
  });
  const Worker worker = app.work({.threads = 1});
  std::vector<WorkflowHandle<int>> handles;
  for (int i = 0; i < 20; ++i) { handles.push_back(app.start(slow, i, {.workflow_id = std::to_string(i)})); }
  EXPECT_EQ(ask(app, "slow", handles.front().id(), "state"), R"("begun")");
  EXPECT_EQ(ask(app, "slow", handles.back().id(), "state"), R"("begun")");
  over.count_down();
  for (const auto& handle : handles) { EXPECT_EQ(handle.result_for(60s), 1); }
}

TEST_P(AskedFromAfar, AQuestionIsNoneOfTheWorkersQueues) {
  App app = open();
  app.handle(sums, [](WorkflowContext&, const int& n) { return n; });
  Worker worker = app.work({.threads = 1});
  // A question to a workflow that no worker has stays pending, and the worker still counts its queues as empty.
  const TaskSpec asking{.name = "hapax.query:other", .options = {.queue = "hapax.query"}};
  const auto asked = app.start_json(asking, "{}", {.workflow_id = "q"});
  EXPECT_TRUE(worker.wait_until_empty(30s));
  EXPECT_EQ(asked.status(), Status::pending);
  EXPECT_THROW(app.handle(Workflow<int, int>{"hapax.query:mine"}, [](WorkflowContext&, const int& n) { return n; }),
               InvalidArgument);
  EXPECT_THROW(app.handle(Task<int, int>{"hapax.query:mine"}, [](const int& n) { return n; }), InvalidArgument);
}

TEST_P(WorkflowWorker, AWorkerThatBeganWithoutWorkflowsGetsNone) {
  App app = open();
  app.handle(worker_twice, [](const int& n) { return 2 * n; });
  const Worker worker = app.work({.threads = 1});
  EXPECT_THROW(app.handle(sums, [](WorkflowContext&, const int& n) { return n; }), UsageError);
}

TEST_P(WorkflowWorker, ManyRunAtOnce) {
  App app = open();
  handle_sums(app);
  const Worker worker = app.work({.threads = 2});
  std::vector<WorkflowHandle<int>> handles;
  for (int i = 0; i < 60; ++i) { handles.push_back(app.start(sums, i, {.workflow_id = std::to_string(i)})); }
  for (int i = 0; i < 60; ++i) { EXPECT_EQ(handles[static_cast<std::size_t>(i)].result_for(60s), 7 * i); }
  EXPECT_EQ(sent_, 120);
  for (const auto& [step, times] : effects()) { EXPECT_EQ(times, 1) << step; }
}

// Each long step gets its own thread, even if quick steps of the same workflow came before.
TEST_P(WorkflowWorker, LongStepsRunSideBySide) {
  constexpr int together = 4;
  App app = open();
  std::atomic<int> inside{0};
  std::atomic<bool> all_met{false};
  app.handle(sums, [&](WorkflowContext& ctx, const int& n) {
    ctx.step("quick", [] {});
    return ctx.step("long", [&] {
      if (n < 0) { return n; }
      if (++inside == together) { all_met = true; }
      for (int i = 0; i < 3000 && !all_met; ++i) { std::this_thread::sleep_for(10ms); }
      --inside;
      return n;
    });
  });
  const Worker worker = app.work({.threads = together});
  for (int i = 1; i <= 50; ++i) { (void)app.start(sums, -i, {.workflow_id = std::to_string(-i)}).result_for(60s); }
  std::vector<WorkflowHandle<int>> handles;
  for (int i = 0; i < together; ++i) { handles.push_back(app.start(sums, i, {.workflow_id = std::to_string(i)})); }
  for (const auto& handle : handles) { (void)handle.result_for(60s); }
  EXPECT_TRUE(all_met);
}

TEST_P(WorkflowWorker, IsStartedWithoutWaiting) {
  App app = open();
  handle_sums(app);
  const Worker worker = app.work({.threads = 2});
  std::vector<std::future<WorkflowHandle<int>>> started;
  for (int i = 0; i < 10; ++i) { started.push_back(app.start_async(sums, i, {.workflow_id = std::to_string(i)})); }
  auto again = app.start_async(sums, 3, {.workflow_id = "3"});
  for (int i = 0; i < 10; ++i) { EXPECT_EQ(started[static_cast<std::size_t>(i)].get().result_for(60s), 7 * i); }
  EXPECT_EQ(again.get().result_for(60s), 21);
  EXPECT_EQ(sent_, 20);
  EXPECT_THROW((void)app.start_async(sums, 3, {}).get(), InvalidArgument);
}

TEST_P(WorkflowWorker, WhoWaitsForItsHolderWaitsForTheRunItGoesOnAs) {
  const Workflow<int, int> flow{"relay"};
  App app = open();
  app.handle(flow, [](WorkflowContext& ctx, const int& n) {
    if (n == 0) { return ctx.wait_signal<int>("go"); }
    (void)ctx.wait_signal<int>("next");
    ctx.continue_as_new(n - 1);
  });
  const Worker worker = app.work({.threads = 2});
  auto first = app.start(flow, 1, {.workflow_id = "a"});
  const StartOptions wait{.workflow_id = "a", .on_conflict = OnConflict::wait};
  auto waiting = std::async(std::launch::async, [&] { return app.start(flow, 1, wait); });
  auto asynchronous = app.start_async(flow, 1, wait);
  std::this_thread::sleep_for(100ms);
  first.signal("next", 1);
  EXPECT_EQ(waiting.wait_for(500ms), std::future_status::timeout) << "it goes on as a new run";
  EXPECT_EQ(asynchronous.wait_for(0s), std::future_status::timeout);
  app.find(flow, "a").signal("go", 7);
  EXPECT_EQ(waiting.get().result_for(60s), 7);
  EXPECT_EQ(asynchronous.get().result_for(60s), 7);
}

TEST_P(WorkflowWorker, WithoutACacheEachTurnIsAReplay) {
  App app = open();
  handle_sums(app);
  const Worker worker = app.work({.threads = 2, .workflow_cache = 0});
  std::vector<WorkflowHandle<int>> handles;
  for (int i = 0; i < 20; ++i) { handles.push_back(app.start(sums, i, {.workflow_id = std::to_string(i)})); }
  for (int i = 0; i < 20; ++i) { EXPECT_EQ(handles[static_cast<std::size_t>(i)].result_for(60s), 7 * i); }
  EXPECT_EQ(sent_, 40);
  for (const auto& [step, times] : effects()) { EXPECT_EQ(times, 1) << step; }
}

TEST_P(WorkflowWorker, GoesOnAfterAWorkerIsGone) {
  const Workflow<int, int> flow{"long"};
  App app = open();
  std::atomic<int> steps{0};
  app.handle(flow, [&](WorkflowContext& ctx, const int&) {
    ctx.step("first", [&] { ++steps; });
    const int n = ctx.wait_signal<int>("go");
    ctx.step("second", [&] { ++steps; });
    return n;
  });
  WorkflowHandle<int> handle;
  {
    Worker worker = app.work({.threads = 1});
    handle = app.start(flow, 1, {.workflow_id = "a"});
    while (!app.get(handle.id())->waiting) { std::this_thread::sleep_for(1ms); }
    worker.stop();
  }
  handle.signal("go", 5);
  const Worker worker = app.work({.threads = 1});
  EXPECT_EQ(handle.result_for(60s), 5);
  EXPECT_EQ(steps, 2);
}

TEST_P(WorkflowWorker, ARunningOneIsCancelledAtItsNextCall) {
  const Workflow<int, int> flow{"busy"};
  App app = open();
  std::atomic<bool> in_step{false};
  std::atomic<bool> go{false};
  std::atomic<bool> compensated{false};
  app.handle(flow, [&](WorkflowContext& ctx, const int&) {
    try {
      ctx.step("wait", [&] {
        in_step = true;
        while (!go) { std::this_thread::sleep_for(1ms); }
      });
      ctx.sleep(1h);
    } catch (const Cancelled&) {
      ctx.step("undo", [&] { compensated = true; });
      throw;
    }
    return 1;
  });
  const Worker worker = app.work({.threads = 1});
  auto handle = app.start(flow, 1, {.workflow_id = "a"});
  while (!in_step) { std::this_thread::sleep_for(1ms); }
  EXPECT_EQ(handle.cancel(), CancelAnswer::requested);
  go = true;
  EXPECT_EQ(handle.wait(), Status::cancelled);
  EXPECT_TRUE(compensated);
}

TEST_P(WorkflowWorker, ManyWaitInsideCatchBlocksOnOneThread) {
  const Workflow<int, std::string> flow{"undoing"};
  App app = open();
  app.handle(flow, [](WorkflowContext& ctx, const int& n) -> std::string {
    try {
      throw std::runtime_error("error " + std::to_string(n));
    } catch (...) {
      ctx.sleep(std::chrono::milliseconds(1 + n % 7));
      const int undone = ctx.step("undo", [&] { return n; });
      try {
        throw;
      } catch (const std::exception& error) { return std::string(error.what()) + " undone " + std::to_string(undone); }
    }
  });
  const Worker worker = app.work({.threads = 1, .workflow_cache = 4});
  std::vector<WorkflowHandle<std::string>> handles;
  for (int i = 0; i < 50; ++i) { handles.push_back(app.start(flow, i, {.workflow_id = std::to_string(i)})); }
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(handles[static_cast<std::size_t>(i)].result_for(60s),
              "error " + std::to_string(i) + " undone " + std::to_string(i));
  }
}

TEST_P(WorkflowWorker, AFunctionThatSwallowsItsUnwindingHarmsNobody) {
  const Workflow<int, int> bad{"swallower"};
  const Workflow<int, int> good{"good"};
  std::mutex mutex;
  std::string troubles;
  App app = open();
  app.state()->observe({.on_log = [&](LogLevel, std::string_view what, const LogFields&) {
    const std::lock_guard lock(mutex);
    troubles += std::string(what) + "\n";
  }});
  app.handle(bad, [](WorkflowContext& ctx, const int&) {
    while (true) {
      try {
        ctx.wait_signal<int>("never");
      } catch (...) { continue; }
    }
    return 0;
  });
  app.handle(good, [](WorkflowContext& ctx, const int& n) {
    ctx.sleep(5ms);
    return n;
  });
  Worker worker = app.work({.threads = 1, .workflow_cache = 0});
  (void)app.start(bad, 1, {.workflow_id = "bad"});
  auto handle = app.start(good, 3, {.workflow_id = "good"});
  EXPECT_EQ(handle.result_for(60s), 3);
  worker.stop();
  EXPECT_NE(troubles.find("'swallower' catches what puts it aside"), std::string::npos) << troubles;
}

TEST_P(WorkflowWorker, AForkDoesNotRepeatTheStepsItBegan) {
  const Workflow<int, int> flow{"weighed"};
  App app = open();
  std::atomic<int> weighed{0};
  app.handle(flow, [&](WorkflowContext& ctx, const int& n) {
    const int weight = ctx.step("weigh", [&] { return weighed.fetch_add(1) + n; });
    ctx.sleep(1ms);
    return ctx.step("send", [&] { return weight * 10; });
  });
  const Worker worker = app.work({.threads = 1});
  auto first = app.start(flow, 7, {.workflow_id = "a"});
  EXPECT_EQ(first.result_for(60s), 70);
  for (const int steps : {2, 3}) {  // copies the journal up to the step, or up to the sleep
    auto fork = app.find(flow, app.fork(first.id(), steps, {.workflow_id = "from " + std::to_string(steps)}).id());
    EXPECT_EQ(fork.result_for(60s), 70) << steps;
    EXPECT_EQ(weighed.load(), 1) << steps;
  }
}

TEST_P(WorkflowWorker, OneThatRecordsNothingHasATimelineToo) {
  const Workflow<int, int> flow{"silent"};
  App app = open();
  app.handle(flow, [](WorkflowContext&, const int& n) { return n; });
  for (const std::string& build : {std::string(), std::string("7")}) {
    const Worker worker = app.work({.threads = 1, .build = build});
    auto handle = app.start(flow, 3, {.workflow_id = "of build " + build});
    EXPECT_EQ(handle.result_for(60s), 3);
    const auto lines = app.timeline(handle.id());
    ASSERT_EQ(lines.size(), 1U) << build;
    EXPECT_EQ(lines[0].kind, "started");
    EXPECT_EQ(app.find(flow, app.fork(handle.id(), 1, {.workflow_id = "fork of " + build}).id()).result_for(60s), 3);
  }
}

TEST_P(WorkflowWorker, ATransactionalStepIsOneCommitWithItsRecord) {
  if (GetParam() == "memory") { return; }
  const Workflow<int, int> flow{"ledger"};
  const auto body = [](WorkflowContext& ctx, const int& n) {
    return ctx.transaction("enqueue", [&](Transaction& tx) {
      EXPECT_NE(tx.native_handle(), nullptr);
      return n + 1;
    });
  };
  App app = open();
  app.handle(flow, body);
  testing::ReplayTester tester;
  tester.handle(flow, body);
  for (const std::string& build : {std::string(), std::string("7")}) {
    const Worker worker = app.work({.threads = 1, .build = build});
    auto handle = app.start(flow, 1, {.workflow_id = "of build " + build});
    EXPECT_EQ(handle.result_for(60s), 2);
    EXPECT_EQ(tester.replay(app.export_journal(handle.id())).reason, "") << build;
    const auto lines = app.timeline(handle.id());
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0].kind, "started");
    EXPECT_EQ(lines[0].detail, "{\"build\":\"" + build + "\"}");
    EXPECT_EQ(lines[1].position, 1);
    EXPECT_EQ(lines[1].name, "enqueue");
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, WorkflowWorker, all_stores, [](const auto& store) { return store.param; });
INSTANTIATE_TEST_SUITE_P(Stores, AskedFromAfar, all_stores, [](const auto& store) { return store.param; });

}  // namespace

}  // namespace hapax
