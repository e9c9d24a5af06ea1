// The testing kit.
#include <hapax/hapax.hpp>
#include <hapax/testing.hpp>

#include <gtest/gtest.h>

namespace hapax {
namespace {

using namespace std::chrono_literals;

const Task<std::string> welcome{"welcome"};
const Task<int, int> testing_kit_add_one{"add_one"};

TEST(TestingKit, RequireEnqueuedLooksAtInputs) {
  auto app = testing::open();
  (void)app.enqueue(welcome, "ada", {.delay = 24h});
  testing::require_enqueued(app, welcome);
  testing::require_enqueued(app, welcome, [](const std::string& to) { return to == "ada"; });
  try {
    testing::require_enqueued(app, welcome, [](const std::string& to) { return to == "bob"; });
    FAIL() << "nothing was enqueued for bob";
  } catch (const testing::RequirementFailed& error) {
    EXPECT_NE(std::string(error.what()).find("ada"), std::string::npos) << "says what there is";
  }
  EXPECT_THROW(testing::require_enqueued(app, testing_kit_add_one), testing::RequirementFailed);
  EXPECT_EQ(testing::enqueued(app, "welcome").size(), 1U);
}

TEST(TestingKit, DrainRunsWhatIsDueAndAdvanceMakesMoreDue) {
  auto app = testing::open();
  std::vector<std::string> welcomed;
  app.handle(welcome, [&](const std::string& to) { welcomed.push_back(to); });
  (void)app.enqueue(welcome, "now");
  (void)app.enqueue(welcome, "tomorrow", {.delay = 24h});
  EXPECT_EQ(testing::drain(app).completed, 1);
  EXPECT_EQ(welcomed, (std::vector<std::string>{"now"}));
  testing::advance(app, 24h);
  EXPECT_EQ(testing::drain(app).completed, 1);
  EXPECT_EQ(welcomed.back(), "tomorrow");
}

TEST(TestingKit, DrainThroughDelaysSeesEveryRetry) {
  auto app = testing::open();
  app.handle(welcome, [](const std::string&) { throw std::runtime_error("down"); });
  const auto handle = app.enqueue(welcome, "x");
  const auto report = testing::drain(app, {.through_delays = true});
  EXPECT_EQ(report.retried, 3);
  EXPECT_EQ(report.failed, 1);
  EXPECT_EQ(handle.status(), Status::failed);
}

TEST(TestingKit, InlineModeRunsAtOnce) {
  auto app = testing::open();
  app.handle(testing_kit_add_one, [](int number) { return number + 1; });
  app.handle(welcome, [](TaskContext& ctx, const std::string&) { (void)ctx.app().enqueue(testing_kit_add_one, 1); });
  testing::inline_mode(app);
  EXPECT_EQ(app.enqueue(testing_kit_add_one, 41).result(), 42);
  EXPECT_EQ(app.enqueue(welcome, "x").status(), Status::completed);
  EXPECT_TRUE(testing::enqueued(app, "add_one").empty()) << "what a handler enqueues runs too";
  testing::inline_mode(app, false);
  EXPECT_EQ(app.enqueue(testing_kit_add_one, 1).status(), Status::pending);
}

TEST(TestingKit, ADrainThatNeverEndsSaysSo) {
  auto app = testing::open();
  app.handle(testing_kit_add_one, [](TaskContext& ctx, int number) {
    (void)ctx.app().enqueue(testing_kit_add_one, number);
    return 0;
  });
  (void)app.enqueue(testing_kit_add_one, 1);
  EXPECT_THROW((void)testing::drain(app, {.limit = 50}), UsageError);
}

TEST(TestingKit, OnlyItsOwnAppsHaveVirtualTime) {
  auto app = hapax::open("memory:");
  EXPECT_THROW(testing::advance(app, 1s), UsageError);
  EXPECT_THROW((void)testing::drain(app), UsageError);
}

TEST(Open, AUrlThatIsNoStoreIsRefused) {
  EXPECT_THROW((void)hapax::open("redis://localhost"), InvalidArgument);
  EXPECT_THROW((void)hapax::open(""), InvalidArgument);
  EXPECT_THROW((void)hapax::open("sqlite:/no/such/folder/x.db"), StoreUnavailable);
  EXPECT_THROW((void)hapax::open("memory:", {.namespace_name = ""}), InvalidArgument);
}

TEST(Handle, OfNothingIsAUsageError) {
  const Handle<int> nothing;
  EXPECT_THROW((void)nothing.result(), UsageError);
}

}  // namespace
}  // namespace hapax
