// Operators' actions and searches, as a program performs them, on every store.
#include "api/stores.hpp"

#include <latch>
#include <thread>

namespace hapax {
namespace {

using namespace std::chrono_literals;

const Task<std::string> operating_say{"say"};

class OperatingTest : public OnStore {};
INSTANTIATE_TEST_SUITE_P(Stores, OperatingTest, all_stores, [](const auto& tested) { return tested.param; });

TEST_P(OperatingTest, WhoeverWaitsHereIsToldWhyItWasCancelled) {
  auto app = open();
  std::latch running(1);
  app.handle(operating_say, [&](TaskContext& ctx, const std::string&) {
    running.count_down();
    while (!ctx.cancelled()) { std::this_thread::sleep_for(1ms); }
    throw std::runtime_error("stopped after page 3");
  });
  auto worker = app.work();
  const auto handle = app.enqueue(operating_say, "x");
  running.wait();
  (void)handle.cancel("ordered twice");
  try {
    (void)handle.result();
    FAIL() << "it was cancelled";
  } catch (const ExecutionFailed& failed) {
    EXPECT_NE(std::string(failed.what()).find("ordered twice"), std::string::npos) << failed.what();
  }
  EXPECT_EQ(app.get(handle.id())->error->detail, "stopped after page 3");
}

TEST_P(OperatingTest, ADeadlineIsSeenByWhoWaitsWhereNoWorkerIs) {
  auto app = open();
  const auto handle = app.enqueue(operating_say, "x", {.deadline = 50ms});
  EXPECT_TRUE(handle.wait_for(20s));
  EXPECT_EQ(handle.status(), Status::timed_out);
}

TEST_P(OperatingTest, WithoutStatusesOnlyWhatFailedIsRetried) {
  auto app = open();
  app.handle(operating_say, [](const std::string&) { throw Permanent("no"); });
  const auto cancelled = app.enqueue(operating_say, "x", {.delay = 1h});
  (void)cancelled.cancel();
  const auto failed = app.enqueue(operating_say, "y");
  {
    auto worker = app.work();
    EXPECT_EQ(failed.wait(), Status::failed);
  }
  EXPECT_EQ(app.admin().retry_all({}), 1U);
  EXPECT_TRUE(app.get(failed.id())->retried_as.has_value());
  EXPECT_FALSE(app.get(cancelled.id())->retried_as.has_value());
  EXPECT_EQ(app.admin().retry_all({.statuses = {Status::cancelled}}), 1U);
}

TEST_P(OperatingTest, MetadataIsAFilter) {
  auto app = open();
  const auto ada = app.enqueue(operating_say, "x", {.metadata = {{"customer", "ada"}, {"n", 7}}});
  (void)app.enqueue(operating_say, "y", {.metadata = {{"customer", "bob"}, {"n", 7}}});
  EXPECT_EQ(app.list({.metadata = {{.key = "n", .value = "7"}}}).size(), 2U);
  EXPECT_EQ(app.admin().cancel_all({.metadata = {{.key = "n", .value = "7"}, {.key = "customer", .value = "ada"}}}),
            1U);
  EXPECT_EQ(ada.status(), Status::cancelled);
  EXPECT_THROW((void)app.list({.metadata = {{.key = std::string("a\0b", 3), .value = ""}}}), InvalidArgument);
}

}  // namespace
}  // namespace hapax
