// Which thread gets which workflow, and which workflows wait for others.
#include "api/stores.hpp"

#include <hapax/hapax.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace hapax {

namespace {

using namespace std::chrono_literals;

class LaneChoice : public OnStore {
 protected:
  static void await(const std::atomic<bool>& flag) {
    while (!flag.load()) { std::this_thread::sleep_for(1ms); }
  }

  // A workflow that keeps its thread until unblock_, so that workflows started meanwhile are claimed together.
  void block(App& app) {
    app.handle(blocker_, [this](WorkflowContext& ctx, const int& n) {
      ctx.step("until told", [this] {
        blocked_.store(true);
        await(unblock_);
      });
      return n;
    });
    (void)app.start(blocker_, 1, {.workflow_id = "blocker"});
    await(blocked_);
  }

  const Workflow<int, int> blocker_{"blocker"};
  std::atomic<bool> blocked_{false};
  std::atomic<bool> unblock_{false};
};

// Each workflow waits in its first step until all have begun, so each needs its own thread although none has been
// measured.
TEST_P(LaneChoice, OnesThatNobodyHasMeasuredDoNotWaitForEachOther) {
  constexpr int many = 4;
  const Workflow<int, int> flow{"meets"};
  const Workflow<int, int> other{"meets later"};
  App app = open();
  std::latch born(many), claimed(many);
  app.handle(flow, [&](WorkflowContext& ctx, const int& n) {
    ctx.step("meet", [&] { born.arrive_and_wait(); });
    return n;
  });
  app.handle(other, [&](WorkflowContext& ctx, const int& n) {
    ctx.step("meet", [&] { claimed.arrive_and_wait(); });
    return n;
  });
  std::vector<WorkflowHandle<int>> handles;
  for (int i = 0; i < many; ++i) { handles.push_back(app.start(other, i, {.workflow_id = "c" + std::to_string(i)})); }
  const Worker worker = app.work({.threads = many});
  for (int i = 0; i < many; ++i) { EXPECT_EQ(handles[static_cast<std::size_t>(i)].result_for(60s), i); }
  handles.clear();
  for (int i = 0; i < many; ++i) { handles.push_back(app.start(flow, i, {.workflow_id = "b" + std::to_string(i)})); }
  for (int i = 0; i < many; ++i) { EXPECT_EQ(handles[static_cast<std::size_t>(i)].result_for(60s), i); }
}

// A slow workflow among many short ones goes to an idle thread and does not delay the short ones' records.
TEST_P(LaneChoice, ALongOneDoesNotHoldUpTheShortOnes) {
  const Workflow<int, int> brief{"brief"};
  const Workflow<int, int> slow{"slow"};
  App app = open();
  std::atomic<bool> over{false};
  app.handle(brief, [&](WorkflowContext& ctx, const int& n) {
    ctx.step("a", [] {});
    return ctx.step("b", [&] { return n; });
  });
  app.handle(slow, [&](WorkflowContext& ctx, const int& n) {
    ctx.step("until told", [&] {
      while (!over.load()) { std::this_thread::sleep_for(1ms); }
    });
    return n;
  });
  const Worker worker = app.work({.threads = 2});
  std::vector<WorkflowHandle<int>> first;
  for (int i = 0; i < 20; ++i) { first.push_back(app.start(brief, i, {.workflow_id = "f" + std::to_string(i)})); }
  auto held = app.start(slow, 5, {.workflow_id = "s"});
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(app.start(brief, i, {.workflow_id = "b" + std::to_string(i)}).result_for(60s), i);
  }
  for (int i = 0; i < 20; ++i) { EXPECT_EQ(first[static_cast<std::size_t>(i)].result_for(60s), i); }
  over.store(true);
  EXPECT_EQ(held.result_for(60s), 5);
}

// One thread has a brief workflow and a slow one. The brief one's records and its end are written before the slow step
// begins.
TEST_P(LaneChoice, ASlowStepBeginsAfterTheOthersAreRecorded) {
  const Workflow<int, int> brief{"brief"};
  const Workflow<int, int> slow{"slow"};
  App app = open();
  std::atomic<bool> looks{false};
  std::atomic<bool> recorded{false};
  Uuid watched;
  app.handle(brief, [](WorkflowContext& ctx, const int& n) {
    ctx.step("a", [] {});
    return ctx.step("b", [&] { return n; });
  });
  app.handle(slow, [&](WorkflowContext& ctx, const int& n) {
    ctx.step("long", [&] {
      if (!looks.load()) { return std::this_thread::sleep_for(20ms); }
      const auto until = std::chrono::steady_clock::now() + 5s;
      while (!recorded.load() && std::chrono::steady_clock::now() < until) {
        recorded.store(app.find(brief, watched).status() == Status::completed);
      }
    });
    return n;
  });
  const Worker worker = app.work({.threads = 1});
  // Earlier runs let the worker measure both workflows.
  EXPECT_EQ(app.start(slow, 1, {.workflow_id = "slow 1"}).result_for(60s), 1);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(app.start(brief, i, {.workflow_id = "brief " + std::to_string(i)}).result_for(60s), i);
  }
  block(app);
  auto first = app.start(brief, 1, {.workflow_id = "brief"});
  watched = first.id();
  looks.store(true);
  auto second = app.start(slow, 2, {.workflow_id = "slow 2"});
  while (first.status() != Status::running || second.status() != Status::running) { std::this_thread::sleep_for(1ms); }
  std::this_thread::sleep_for(50ms);  // longer than a slow workflow waits for a thread of its own
  unblock_.store(true);
  EXPECT_EQ(second.result_for(60s), 2);
  EXPECT_TRUE(recorded.load());
  EXPECT_EQ(first.result_for(60s), 1);
}

// One thread with many slow workflows begins few of them at a time, and records each step when it ends.
TEST_P(LaneChoice, OneThreadBeginsFewSlowOnesAtATime) {
  const Workflow<int, int> slow{"slow"};
  App app = open();
  std::atomic<int> at_once{0};
  std::atomic<int> most{0};
  app.handle(slow, [&](WorkflowContext& ctx, const int& n) {
    most.store(std::max(most.load(), ++at_once));
    for (int i = 0; i < 6; ++i) {
      ctx.step("long", [] { std::this_thread::sleep_for(15ms); });
    }
    --at_once;
    return n;
  });
  const Worker worker = app.work({.threads = 1});
  std::vector<WorkflowHandle<int>> handles;
  for (int i = 0; i < 5; ++i) { handles.push_back(app.start(slow, i, {.workflow_id = std::to_string(i)})); }
  for (int i = 0; i < 5; ++i) { EXPECT_EQ(handles[static_cast<std::size_t>(i)].result_for(60s), i); }
  EXPECT_LE(most.load(), 3);  // the other workflows have not waited for 1 s yet
}

// One workflow's step keeps the only thread beyond the worker's grace. The other workflow's next step must not begin.
TEST_P(LaneChoice, NoStepBeginsOnceTheWorkerHasGivenUp) {
  const Workflow<int, int> pair{"pair"};
  App app = open();
  std::atomic<bool> held{false};
  std::atomic<bool> over{false};
  std::atomic<bool> ended{false};
  std::atomic<int> begun{0};
  app.handle(pair, [&](WorkflowContext& ctx, const int& n) {
    ctx.step("a", [] {});
    ctx.step("b", [&] {
      if (n == 0) { return; }
      ++begun;
      if (held.exchange(true)) { return; }
      await(over);
      ended.store(true);
    });
    return n;
  });
  Worker worker = app.work({.threads = 1, .grace = 50ms});
  for (int i = 0; i < 20; ++i) {  // lets the worker measure that the workflow is quick
    EXPECT_EQ(app.start(pair, 0, {.workflow_id = "known " + std::to_string(i)}).result_for(60s), 0);
  }
  block(app);
  auto one = app.start(pair, 1, {.workflow_id = "one"});
  auto other = app.start(pair, 1, {.workflow_id = "other"});
  while (one.status() != Status::running || other.status() != Status::running) { std::this_thread::sleep_for(1ms); }
  unblock_.store(true);
  await(held);
  worker.stop();
  over.store(true);
  await(ended);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(begun.load(), 1);
}

// Two threads. The first one claims workflows together, and one of these has a step that takes very long; the second
// thread becomes idle later.
class HeldUpThread : public LaneChoice {
 protected:
  void SetUp() override {
    LaneChoice::SetUp();
    app_.emplace(open());
    for (int i = 0; i < 2; ++i) {
      app_->handle(blockers_.at(static_cast<std::size_t>(i)), [this, i](WorkflowContext& ctx, const int& n) {
        ctx.step("until told", [this, i] {
          ++blocking_;
          await(unblocked_.at(static_cast<std::size_t>(i)));
        });
        return n;
      });
    }
    app_->handle(flow_, [this](WorkflowContext& ctx, const int& n) {
      ctx.step("a", [] {});
      ctx.step("b", [this, n] { body(n); });
      try {
        ctx.step("c", [] {});
      } catch (const Cancelled&) {
        ctx.step("undo b", [this] { undone_.store(true); });
        throw;
      }
      return n;
    });
  }
  void TearDown() override {
    over_.store(true);
    for (auto& unblocked : unblocked_) { unblocked.store(true); }
    worker_.reset();
    app_.reset();
    LaneChoice::TearDown();
  }

  void work(WorkerOptions options = {.threads = 2}) { worker_.emplace(app_->work(std::move(options))); }

  void body(int n) {
    if (n < known) { ++bodies_; }
    if (n == lasting) {
      lasts_.store(true);
      await(over_);
    }
  }

  // Runs enough workflows for the worker to measure that they are quick, then keeps both threads.
  void keep_both_threads() {
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(app_->start(flow_, known, {.workflow_id = "known " + std::to_string(i)}).result_for(60s), known);
    }
    for (const auto& blocker : blockers_) { (void)app_->start(blocker, 1, {.workflow_id = blocker.name()}); }
    while (blocking_.load() < 2) { std::this_thread::sleep_for(1ms); }
  }

  WorkflowHandle<int> start(int n) {
    auto handle = app_->start(flow_, n, {.workflow_id = std::to_string(n)});
    while (handle.status() != Status::running) { std::this_thread::sleep_for(1ms); }
    return handle;
  }

  // On a busy machine a workflow may have ended before it was cancelled.
  void expect_undone_or_ended(const WorkflowHandle<int>& handle) {
    try {
      (void)handle.result_for(60s);
      EXPECT_FALSE(undone_.load());
    } catch (const ExecutionFailed&) {
      EXPECT_EQ(handle.status(), Status::cancelled);
      EXPECT_TRUE(undone_.load());
    }
  }

  static constexpr int lasting = 2;
  static constexpr int known = 100;
  const std::array<Workflow<int, int>, 2> blockers_{Workflow<int, int>{"first"}, Workflow<int, int>{"second"}};
  const Workflow<int, int> flow_{"flow"};
  std::array<std::atomic<bool>, 2> unblocked_{};
  std::atomic<int> blocking_{0};
  std::atomic<int> bodies_{0};
  std::atomic<bool> lasts_{false};
  std::atomic<bool> over_{false};
  std::atomic<bool> undone_{false};
  std::optional<App> app_;
  std::optional<Worker> worker_;
};

TEST_P(HeldUpThread, WorkflowsLeaveItWithTheStepsThatTheyHaveRun) {
  work();
  keep_both_threads();
  auto before = start(1);
  auto held = start(lasting);
  auto behind = start(3);
  unblocked_[0].store(true);
  await(lasts_);
  unblocked_[1].store(true);
  EXPECT_EQ(before.result_for(60s), 1);
  EXPECT_EQ(behind.result_for(60s), 3);
  EXPECT_EQ(held.status(), Status::running);
  over_.store(true);
  EXPECT_EQ(held.result_for(60s), lasting);
  EXPECT_EQ(bodies_.load(), 3);
}

// The step has taken effect, so it is recorded before the workflow learns that it is cancelled, and can be undone.
TEST_P(HeldUpThread, ACancelledWorkflowRecordsItsStepAndUndoesIt) {
  work();
  keep_both_threads();
  auto before = start(1);
  auto held = start(lasting);
  unblocked_[0].store(true);
  await(lasts_);
  before.cancel();
  unblocked_[1].store(true);
  expect_undone_or_ended(before);
  over_.store(true);
  EXPECT_EQ(held.result_for(60s), lasting);
  EXPECT_EQ(bodies_.load(), 2);
}

// The same for a later attempt of a step.
TEST_P(HeldUpThread, ACancelledWorkflowRecordsTheAttemptThatHasRun) {
  const Workflow<int, int> retries{"retries"};
  std::atomic<bool> failed{false};
  app_->handle(retries, [&](WorkflowContext& ctx, const int& n) {
    ctx.step("b", [&] {
      if (n != known && !failed.exchange(true)) { throw RetryAfter(1500ms); }
      body(n);
    });
    try {
      ctx.step("c", [] {});
    } catch (const Cancelled&) {
      ctx.step("undo b", [this] { undone_.store(true); });
      throw;
    }
    return n;
  });
  // Nothing stays in memory, so that the next attempt is run by the thread that is free.
  work({.threads = 2, .workflow_cache = 0});
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(app_->start(retries, known, {.workflow_id = "retry " + std::to_string(i)}).result_for(60s), known);
  }
  auto before = app_->start(retries, 1, {.workflow_id = "retries"});
  while (!failed.load() || before.status() != Status::pending) { std::this_thread::sleep_for(1ms); }
  keep_both_threads();
  while (before.status() != Status::running) { std::this_thread::sleep_for(1ms); }
  auto held = start(lasting);
  unblocked_[0].store(true);
  await(lasts_);
  before.cancel();
  unblocked_[1].store(true);
  expect_undone_or_ended(before);
  EXPECT_EQ(bodies_.load(), 2);
}

// The function does not learn that it is cancelled before it has come to the step that has been run.
TEST_P(HeldUpThread, TheCodeBeforeAStepThatHasRunSeesNoCancellation) {
  const Workflow<int, int> looks{"looks"};
  std::atomic<int> lines{0};
  app_->handle(looks, [&](WorkflowContext& ctx, const int& n) {
    ctx.step("a", [] {});
    if (ctx.cancelled()) { return -1; }
    if (!ctx.replaying() && n != known) { ++lines; }
    ctx.step("b", [this, n] { body(n); });
    return ctx.cancelled() ? -2 : n;
  });
  work();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(app_->start(looks, known, {.workflow_id = "look " + std::to_string(i)}).result_for(60s), known);
  }
  keep_both_threads();
  auto before = app_->start(looks, 1, {.workflow_id = "looks"});
  while (before.status() != Status::running) { std::this_thread::sleep_for(1ms); }
  auto held = start(lasting);
  unblocked_[0].store(true);
  await(lasts_);
  before.cancel();
  unblocked_[1].store(true);
  // On a busy machine it may have ended before it was cancelled.
  const int result = before.result_for(60s);
  EXPECT_TRUE(result == -2 || result == 1) << result;
  EXPECT_EQ(lines.load(), 1);
}

// A question's function keeps the answer to itself until it ends, so a question stays on its thread.
TEST_P(HeldUpThread, AnsweredQuestionsWaitForALongAnswer) {
  const Workflow<int, int> asked{"asked"};
  const Workflow<int, int> other{"other"};
  const auto function = [](WorkflowContext& ctx, const int&) {
    ctx.on_query<int>("rest", [](const int& milliseconds) {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      return milliseconds;
    });
    return ctx.wait_signal<int>("go");
  };
  app_->handle(asked, function);
  app_->handle(other, function);
  work();
  const auto about = app_->start(asked, 1, {.workflow_id = "asked"});
  const auto about_other = app_->start(other, 1, {.workflow_id = "other"});
  int number = 0;
  const auto ask = [&](const WorkflowHandle<int>& whom, int milliseconds) {
    const std::string name = whom.id() == about.id() ? "asked" : "other";
    const TaskSpec asking{.name = "hapax.query:" + name, .options = {.queue = "hapax.query"}};
    const nlohmann::json question{
        {"execution", whom.id().to_string()}, {"query", "rest"}, {"question", std::to_string(milliseconds)}};
    return app_->start_json(asking, question.dump(), {.workflow_id = "question " + std::to_string(number++)});
  };
  while (about.status() != Status::pending || about_other.status() != Status::pending) {
    std::this_thread::sleep_for(1ms);
  }
  for (int round = 0; round < 3; ++round) {
    // Measured as quick, they are taken together after the question to the other workflow.
    for (int i = 0; i < 40; ++i) { (void)ask(about, 0).result_json_for(60s); }
    const auto first = ask(about_other, 80);
    std::vector<AnyHandle> answers;
    for (int i = 0; i < 6; ++i) { answers.push_back(ask(about, i == 5 ? 400 : 0)); }
    for (const AnyHandle& answer : answers) {
      const std::string told = answer.result_json_for(60s);
      EXPECT_NE(told.find("answer"), std::string::npos) << told;
    }
  }
}

// A workflow that waits for a signal is kept in memory on the thread that ran it.
TEST_P(HeldUpThread, AWorkflowThatWaitedOnItGoesOnElsewhere) {
  const Workflow<int, int> waits{"waits"};
  std::atomic<bool> began{false};
  app_->handle(waits, [&](WorkflowContext& ctx, const int& n) {
    began.store(true);
    return n + ctx.wait_signal<int>("go");
  });
  work();
  auto waiting = app_->start(waits, 1, {.workflow_id = "waiting"});
  while (!began.load() || waiting.status() != Status::pending) { std::this_thread::sleep_for(1ms); }
  (void)app_->start(blockers_[0], 1, {.workflow_id = "first"});
  while (blocking_.load() < 1) { std::this_thread::sleep_for(1ms); }
  waiting.signal("go", 41);
  EXPECT_EQ(waiting.result_for(60s), 42);
  unblocked_[0].store(true);
}

INSTANTIATE_TEST_SUITE_P(Stores, HeldUpThread, all_stores, [](const auto& store) { return store.param; });
INSTANTIATE_TEST_SUITE_P(Stores, LaneChoice, all_stores, [](const auto& store) { return store.param; });

}  // namespace

}  // namespace hapax
