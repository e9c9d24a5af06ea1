// `explain` of real workflows: their journal shows what they wait for.
#include "api/stores.hpp"

#include <hapax/hapax.hpp>

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace hapax {

namespace {

using namespace std::chrono_literals;

class WorkflowExplained : public OnStore {};

TEST_P(WorkflowExplained, SaysWhichSignalItWaitsForAndWhichCameInVain) {
  App app = open();
  const Workflow<int, int> flow{"approval"};
  app.handle(flow, [](WorkflowContext& ctx, const int&) { return ctx.wait_signal<int>("approve", 1h).value_or(0); });
  auto handle = app.start(flow, 1, {.workflow_id = "a"});
  EXPECT_EQ(app.explain(handle.id()).at(0).code, "no_worker");
  EXPECT_EQ(app.explain(handle.id()).at(0).remedy.find("hapax work"), std::string::npos);
  const Worker worker = app.work({.threads = 1});
  handle.signal("aprove", 1);
  const auto waits = [&] {
    const auto reasons = app.explain(handle.id());
    return reasons.at(0).code == "waiting" && reasons.at(1).code == "signals_not_taken";
  };
  for (int looks = 0; looks < 3000 && !waits(); ++looks) { std::this_thread::sleep_for(20ms); }
  const auto reasons = app.explain(handle.id());
  EXPECT_NE(reasons.at(0).sentence.find("waits for signal 'approve', until "), std::string::npos)
      << reasons.at(0).sentence;
  EXPECT_NE(reasons.at(1).sentence.find("'aprove'"), std::string::npos) << reasons.at(1).sentence;
  handle.signal("approve", 7);
  EXPECT_EQ(handle.result_for(60s), 7);
}

INSTANTIATE_TEST_SUITE_P(Stores, WorkflowExplained, all_stores, [](const auto& store) { return store.param; });

}  // namespace

}  // namespace hapax
