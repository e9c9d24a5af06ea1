// Workflows on a worker whose store is away for longer than its lease.
#include "api/stores.hpp"
#include "app/app_state.hpp"
#include "engine/faulty_store.hpp"
#include "store/open.hpp"

#include <hapax/hapax.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace hapax {

namespace {

using namespace std::chrono_literals;

class WorkflowOutage : public OnStore {
 protected:
  // An app on this test's store, which the test can make unavailable.
  App open_faulty() {
    auto store = std::make_unique<engine::FaultyStore>(store::open(url_, {.migrate = store::Migrate::yes}));
    faulty_ = store.get();
    return App(detail::make_app_state(std::move(store), "default"));
  }

  engine::FaultyStore* faulty_ = nullptr;
};

// The store goes away during the step. The outcome that waits for the timer, with the step's record, is never sent, and
// the session is lost. The worker's memory is then ahead of the journal.
TEST_P(WorkflowOutage, OneThatWaitsIsTakenUpFromItsJournalIfItsOutcomeWasLost) {
  const Workflow<int, int> flow{"paused"};
  App app = open_faulty();
  std::atomic<int> before{0};
  std::atomic<int> after{0};
  app.handle(flow, [&](WorkflowContext& ctx, const int& n) {
    const int first = ctx.step("first", [&] { return n; });
    const int second = ctx.step("second", [&] {
      if (before.fetch_add(1) == 0) { faulty_->away.store(true); }
      return first + 1;
    });
    ctx.sleep(1ms);
    return ctx.step("third", [&] { return ++after, second + 1; });
  });
  const Worker worker = app.work({.threads = 1, .lease = 1s});
  auto handle = app.start(flow, 1, {.workflow_id = "a"});
  while (!faulty_->away.load()) { std::this_thread::sleep_for(1ms); }
  // Another process's sweep finds that the session is lost.
  while (faulty_->inner().get(handle.id()).value().status == Status::running) {
    std::this_thread::sleep_for(20ms);
    (void)faulty_->inner().sweep({});
  }
  faulty_->away.store(false);
  EXPECT_EQ(handle.result_for(60s), 3);
  EXPECT_EQ(before.load(), 2) << "its first record was kept: the outcome was not lost, and nothing was tested";
  EXPECT_EQ(after.load(), 1);
  std::string names;
  for (const TimelineEntry& line : app.timeline(handle.id())) { names += line.name + ";"; }
  EXPECT_NE(names.find("first;second;"), std::string::npos) << names;
}

TEST_P(WorkflowOutage, OneUnreadableJournalIsSnoozedAndToldAndItsNeighboursGoOn) {
  const Workflow<int, int> flow{"patient"};
  std::mutex mutex;
  std::string told;
  App app = open_faulty();
  app.state()->observe({.on_log = [&](LogLevel, std::string_view text, const LogFields&) {
    const std::lock_guard lock(mutex);
    told += text;
  }});
  app.handle(flow, [](WorkflowContext& ctx, const int& n) { return n + ctx.wait_signal<int>("go"); });
  // No run stays in memory, so that each claim reads the journal.
  const Worker worker = app.work({.threads = 1, .workflow_cache = 0});
  auto bad = app.start(flow, 1, {.workflow_id = "bad"});
  auto good = app.start(flow, 2, {.workflow_id = "good"});
  const auto waits = [&](const Uuid& id) {
    const auto found = faulty_->inner().get(id);
    return found && found->status == Status::pending && found->fence > 0;
  };
  while (!waits(bad.id()) || !waits(good.id())) { std::this_thread::sleep_for(5ms); }
  faulty_->away.store(true);  // makes both workflows due at the worker's next claim
  faulty_->unreadable = bad.id();
  for (const Uuid& id : {bad.id(), good.id()}) {
    const model::Signal signal{.execution = id, .name = "go", .data = "40"};
    ASSERT_EQ(faulty_->inner().signal({&signal, 1}).at(0).verdict, model::SignalVerdict::accepted);
  }
  faulty_->away.store(false);
  EXPECT_EQ(good.result_for(60s), 42);
  std::vector<model::Attempt> attempts;
  for (int looks = 0; looks < 3000 && attempts.empty(); ++looks) {
    attempts = faulty_->inner().attempts(bad.id());
    std::this_thread::sleep_for(20ms);
  }
  ASSERT_FALSE(attempts.empty());
  EXPECT_EQ(attempts.front().outcome, "snoozed");
  ASSERT_TRUE(attempts.front().error);
  EXPECT_EQ(attempts.front().error->type, "JournalUnreadable");
  const model::Execution later = faulty_->inner().get(bad.id()).value();
  EXPECT_EQ(later.status, Status::pending);
  EXPECT_GT(later.run_at, faulty_->inner().now() + 1min) << "it is not claimed again at once";
  const std::lock_guard lock(mutex);
  EXPECT_NE(told.find(bad.id().to_string()), std::string::npos) << told;
  EXPECT_NE(told.find("damaged by the test"), std::string::npos) << told;
}

INSTANTIATE_TEST_SUITE_P(Stores, WorkflowOutage, all_stores, [](const auto& store) { return store.param; });

}  // namespace

}  // namespace hapax
