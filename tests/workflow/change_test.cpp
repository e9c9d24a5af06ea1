// Changing code under running workflows: divergence, patches, exported journals, forks.
#include <hapax/hapax.hpp>
#include <hapax/replay_tester.hpp>
#include <hapax/testing.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace hapax {

namespace {

using namespace std::chrono_literals;

const Workflow<int, std::string> flow{"flow"};
using Body = std::function<std::string(WorkflowContext&, const int&)>;

class Change : public ::testing::Test {
 protected:
  void SetUp() override {
    app_.handle(flow, [this](WorkflowContext& ctx, const int& n) { return body_(ctx, n); });
  }
  WorkflowHandle<std::string> begin(Body body) {
    body_ = std::move(body);
    auto handle = app_.start(flow, 1, {.workflow_id = "a"});
    testing::drain(app_);
    return handle;
  }
  void deploy(Body body) {
    body_ = std::move(body);
    testing::advance(app_, 10min);
    testing::drain(app_);
  }

  App app_ = testing::open();
  Body body_;
};

TEST_F(Change, AnotherStepParksTheRunUntilFittingCodeComes) {
  int effects = 0;
  const Body right = [](WorkflowContext& ctx, const int&) -> std::string {
    ctx.step("charge", [] {});
    ctx.sleep(1h);
    return ctx.step("ship", [] { return std::string("shipped"); });
  };
  auto handle = begin(right);
  deploy([&](WorkflowContext& ctx, const int&) -> std::string {
    ctx.step("refund", [&] { ++effects; });
    ctx.sleep(1h);
    return "wrong";
  });
  EXPECT_EQ(handle.status(), Status::pending);
  testing::advance(app_, 1h);
  testing::drain(app_);
  const auto record = app_.get(handle.id());
  EXPECT_EQ(record->status, Status::pending);
  EXPECT_EQ(record->stuck_reason, "at place 1 the journal has step 'charge', the code asks for step 'refund'");
  EXPECT_EQ(app_.explain(handle.id()).at(0).code, "stuck");
  EXPECT_EQ(effects, 0);
  deploy(right);
  EXPECT_EQ(handle.result(), "shipped");
  EXPECT_EQ(app_.get(handle.id())->stuck_reason, "");
}

TEST_F(Change, APatchLetsOldRunsGoOnAsTheyBegan) {
  const auto code = [](bool with_patch) {
    return [with_patch](WorkflowContext& ctx, const int&) -> std::string {
      std::string trace;
      ctx.step("a", [] {});
      if (with_patch && ctx.patched("audit")) {
        trace += ctx.step("audit", [] { return std::string("audited "); });
      }
      ctx.wait_signal<int>("go");
      if (with_patch && ctx.patched("audit")) { trace += "and told "; }
      return trace + ctx.step("b", [] { return std::string("b"); });
    };
  };
  auto old = begin(code(false));
  body_ = code(true);
  auto fresh = app_.start(flow, 1, {.workflow_id = "b"});
  testing::drain(app_);
  old.signal("go", 1);
  fresh.signal("go", 1);
  testing::drain(app_);
  EXPECT_EQ(old.result(), "b");
  EXPECT_EQ(fresh.result(), "audited and told b");
}

TEST_F(Change, AnExportedJournalTellsWhetherCodeFits) {
  auto handle = begin([](WorkflowContext& ctx, const int&) -> std::string {
    ctx.step("a", [] { return 1; });
    (void)ctx.now();
    ctx.wait_signal<int>("go");
    return ctx.step("b", [] { return std::string("b"); });
  });
  handle.signal("go", 1);
  const std::string half = app_.export_journal(handle.id());
  testing::drain(app_);
  const std::string whole = app_.export_journal(handle.id());
  int effects = 0;
  const auto report = [&](const std::string& journal, Body body) {
    testing::ReplayTester tester;
    tester.handle(flow, [body = std::move(body)](WorkflowContext& ctx, const int& n) { return body(ctx, n); });
    return tester.replay(journal);
  };
  const Body same = [&](WorkflowContext& ctx, const int&) -> std::string {
    ctx.step("a", [&] { return ++effects; });
    (void)ctx.now();
    ctx.wait_signal<int>("go");
    return ctx.step("b", [&] { return std::to_string(++effects); });
  };
  EXPECT_TRUE(report(half, same).fits) << report(half, same).reason;
  EXPECT_TRUE(report(whole, same).fits) << report(whole, same).reason;
  const Body renamed = [&](WorkflowContext& ctx, const int&) -> std::string {
    ctx.step("A", [&] { return ++effects; });
    return "";
  };
  EXPECT_EQ(report(half, renamed).reason, "at place 1 the journal has step 'a', the code asks for step 'A'");
  const Body longer = [&](WorkflowContext& ctx, const int& n) -> std::string {
    same(ctx, n);
    return ctx.step("c", [&] { return std::to_string(++effects); });
  };
  EXPECT_TRUE(report(half, longer).fits);
  EXPECT_FALSE(report(whole, longer).fits);
  EXPECT_EQ(effects, 0);
  EXPECT_THROW((void)report("{}", same), InvalidArgument);
}

TEST_F(Change, AForkGoesOnFromAStepOfAnotherRun) {
  std::vector<std::string> trace;
  auto handle = begin([&](WorkflowContext& ctx, const int&) -> std::string {
    const int a = ctx.step("a", [&] { return trace.emplace_back("a"), 1; });
    const int signal = ctx.wait_signal<int>("go");
    const int b = ctx.step("b", [&] { return trace.emplace_back("b"), 10; });
    return std::to_string(a + b + signal);
  });
  handle.signal("go", 100);
  testing::drain(app_);
  EXPECT_EQ(handle.result(), "111");
  trace.clear();
  const WorkflowHandle<std::string> forked(app_.fork(handle.id(), 3, {.workflow_id = "again"}));
  testing::drain(app_);
  EXPECT_EQ(forked.result(), "111");
  EXPECT_EQ(trace, std::vector<std::string>{"b"});
  EXPECT_THROW((void)app_.fork(handle.id(), 99, {.workflow_id = "x"}), InvalidArgument);
  EXPECT_THROW((void)app_.fork(handle.id(), 1, {}), InvalidArgument);
}

TEST_F(Change, ATimelineTellsWhatARunDid) {
  const Task<int, int> twice{"twice"};
  app_.handle(twice, [](const int& n) { return 2 * n; });
  auto handle = begin([&](WorkflowContext& ctx, const int&) -> std::string {
    ctx.step("a", [] { return 5; });
    (void)ctx.run(twice, 4);
    ctx.wait_signal<int>("go");
    return "";
  });
  const auto lines = app_.timeline(handle.id());
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].kind, "started");
  EXPECT_EQ(lines[1].kind, "step");
  EXPECT_EQ(lines[1].result, "5");
  EXPECT_EQ(lines[2].kind, "task");
  EXPECT_EQ(lines[2].input, "4");
  EXPECT_EQ(lines[2].result, "8");
  EXPECT_EQ(lines[2].status, "completed");
  EXPECT_EQ(lines[3].kind, "signal");
  EXPECT_EQ(lines[3].status, "waiting");
}

TEST_F(Change, AWaitThatTimedOutTookNoSignal) {
  auto handle = begin([](WorkflowContext& ctx, const int&) -> std::string {
    if (ctx.wait_signal<int>("go", 1min)) { return "early"; }
    return std::to_string(ctx.wait_signal<int>("go"));
  });
  testing::advance(app_, 1h);
  testing::drain(app_);
  handle.signal("go", 7);
  testing::drain(app_);
  EXPECT_EQ(handle.result(), "7");
  const auto lines = app_.timeline(handle.id());
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[1].status, "timed_out");
  EXPECT_EQ(lines[1].result, std::nullopt);
  EXPECT_EQ(lines[4].status, "completed");
  EXPECT_EQ(lines[4].result, "7");
  const auto forked = app_.fork(handle.id(), 4, {.workflow_id = "again"});
  testing::drain(app_);
  EXPECT_EQ(forked.status(), Status::pending) << "the signal came after what the fork has behind it";
}

}  // namespace

}  // namespace hapax
