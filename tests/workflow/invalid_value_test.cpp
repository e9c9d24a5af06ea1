// Signals and results that do not convert to the requested type make that call fail. The workflow can catch the error,
// which is recorded and replayed; the run is never parked for good.
#include "api/stores.hpp"

#include <hapax/hapax.hpp>
#include <hapax/testing.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <string>

namespace hapax {

namespace {

using namespace std::chrono_literals;

class InvalidValue : public OnStore {
 protected:
  // No run stays in memory, so each turn is a replay.
  static WorkerOptions replaying() { return {.threads = 2, .workflow_cache = 0}; }

  static std::string error_of(App& app, const Uuid& id) {
    const auto found = app.get(id);
    return found && found->error ? found->error->type + ": " + found->error->message : "";
  }
};

TEST_P(InvalidValue, AMalformedSignalIsCaughtAndTheNextOneIsTaken) {
  App app = open();
  const Workflow<int, std::string> flow{"approval"};
  app.handle(flow, [](WorkflowContext& ctx, const int&) {
    std::string told;
    for (int tries = 0; tries < 3; ++tries) {
      try {
        return told + std::to_string(ctx.wait_signal<int>("amount"));
      } catch (const InvalidSignal& error) { told += error.signal + "! "; }
      ctx.step("note", [] {});
      ctx.sleep(1ms);
    }
    return told;
  });
  auto handle = app.start(flow, 1, {.workflow_id = "a"});
  handle.signal("amount", std::string("much"));
  handle.signal("amount", nlohmann::json{{"value", 5}});
  const Worker worker = app.work(replaying());
  handle.signal("amount", 7);
  EXPECT_EQ(handle.result_for(60s), "amount! amount! 7");
}

TEST_P(InvalidValue, AMalformedSignalThatNobodyCatchesFailsTheRunAfterItsCompensation) {
  App app = open();
  const Workflow<int, int> flow{"approval"};
  std::atomic<int> undone{0};
  app.handle(flow, [&](WorkflowContext& ctx, const int&) {
    return saga(ctx, [&](Saga& saga) {
      saga.undo("undo", [&] { ctx.step("undo", [&] { ++undone; }); });
      return ctx.wait_signal<int>("amount");
    });
  });
  auto handle = app.start(flow, 1, {.workflow_id = "a"});
  handle.signal("amount", std::string(1000, 'x'));
  const Worker worker = app.work(replaying());
  EXPECT_THROW((void)handle.result_for(60s), ExecutionFailed);
  EXPECT_EQ(undone, 1);
  const std::string error = error_of(app, handle.id());
  EXPECT_NE(error.find("InvalidSignal: signal 'amount' is \"xxx"), std::string::npos) << error;
  EXPECT_NE(error.find("expected int"), std::string::npos) << error;
  EXPECT_LT(error.size(), 600U) << error;
}

TEST_P(InvalidValue, ATimedWaitTellsOfAMalformedSignalToo) {
  App app = open();
  const Workflow<int, std::string> flow{"approval"};
  app.handle(flow, [](WorkflowContext& ctx, const int&) -> std::string {
    try {
      return ctx.wait_signal<int>("amount", 1h) ? "some" : "none";
    } catch (const InvalidSignal& error) { return error.signal; }
  });
  auto handle = app.start(flow, 1, {.workflow_id = "a"});
  handle.signal("amount", std::string("much"));
  const Worker worker = app.work(replaying());
  EXPECT_EQ(handle.result_for(60s), "amount");
}

TEST_P(InvalidValue, ATasksResultOfAnotherShapeIsCaughtAndTheTaskIsSentAgain) {
  App app = open();
  const Workflow<int, std::string> flow{"order"};
  const Task<int, nlohmann::json> theirs{"price"};
  const Task<int, int> ours{"price"};
  app.handle(theirs, [](const int& n) { return n == 1 ? nlohmann::json("free") : nlohmann::json(n); });
  app.handle(flow, [&](WorkflowContext& ctx, const int&) {
    std::string told;
    for (int n = 1; n < 4; ++n) {
      try {
        return told + std::to_string(ctx.run(ours, n));
      } catch (const InvalidResult& error) { told += error.task + "! "; }
      ctx.sleep(1ms);
    }
    return told;
  });
  const Worker worker = app.work(replaying());
  EXPECT_EQ(app.start(flow, 1, {.workflow_id = "a"}).result_for(60s), "price! 2");
}

TEST_P(InvalidValue, AStepWhoseResultCannotBeReadBackFailsAndIsNotParked) {
  App app = open();
  const Workflow<int, std::string> flow{"mean"};
  app.handle(flow, [](WorkflowContext& ctx, const int&) {
    std::string told;
    try {
      (void)ctx.step("divide", [] { return std::numeric_limits<double>::quiet_NaN(); });
    } catch (const InvalidResult& error) { told = error.task; }
    ctx.sleep(1ms);
    return told;
  });
  const Worker worker = app.work(replaying());
  EXPECT_EQ(app.start(flow, 1, {.workflow_id = "a"}).result_for(60s), "divide");
}

INSTANTIATE_TEST_SUITE_P(Stores, InvalidValue, all_stores, [](const auto& store) { return store.param; });

using Body = std::function<std::string(WorkflowContext&, const int&)>;

class InvalidValueThenNewCode : public ::testing::Test {
 protected:
  WorkflowHandle<std::string> begin(Body body) {
    body_ = std::move(body);
    app_.handle(flow_, [this](WorkflowContext& ctx, const int& n) { return body_(ctx, n); });
    auto handle = app_.start(flow_, 1, {.workflow_id = "a"});
    handle.signal("go", std::string("5"));
    testing::drain(app_);
    return handle;
  }
  void deploy(Body body) {
    body_ = std::move(body);
    testing::advance(app_, 2h);
    testing::drain(app_);
  }

  App app_ = testing::open();
  const Workflow<int, std::string> flow_{"flow"};
  Body body_;
};

TEST_F(InvalidValueThenNewCode, WhatWasThrownIsThrownAgainThoughTheNewTypeFits) {
  const auto with = [](auto payload) {
    return [payload](WorkflowContext& ctx, const int&) -> std::string {
      std::string told = "fits";
      try {
        (void)ctx.wait_signal<std::decay_t<decltype(payload)>>("go");
      } catch (const InvalidSignal& error) { told = error.what(); }
      ctx.sleep(1h);
      return told;
    };
  };
  auto handle = begin(with(0));
  deploy(with(std::string()));
  const std::string told = handle.result_for(30s);
  EXPECT_NE(told.find("signal 'go' is \"5\", expected int"), std::string::npos) << told;
  const auto timeline = app_.timeline(handle.id());
  EXPECT_TRUE(std::ranges::any_of(timeline, [](const TimelineEntry& line) {
    return line.kind == "invalid" && line.error && line.error->type == "InvalidSignal";
  }));
}

TEST_F(InvalidValueThenNewCode, WhatTheOldCodeCouldReadParksTheRunAsAChangedBuild) {
  auto handle = begin([](WorkflowContext& ctx, const int&) {
    std::string got = ctx.wait_signal<std::string>("go");
    ctx.sleep(1h);
    return got;
  });
  deploy([](WorkflowContext& ctx, const int&) {
    const int got = ctx.wait_signal<int>("go");
    ctx.sleep(1h);
    return std::to_string(got);
  });
  EXPECT_EQ(handle.status(), Status::pending);
  EXPECT_NE(app_.get(handle.id())->stuck_reason.find("does not fit the code"), std::string::npos);
}

}  // namespace

}  // namespace hapax
