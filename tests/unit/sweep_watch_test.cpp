#include "engine/sweep_watch.hpp"

#include "base/limits.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace hapax::engine {
namespace {

using namespace std::chrono_literals;

struct SweepWatchTest : ::testing::Test {
  std::vector<std::string> told;
  std::shared_ptr<TroubleListener> listener =
      std::make_shared<TroubleListener>([this](std::string_view text) { told.emplace_back(text); });
  SweepWatch watch;
  Time now{std::chrono::hours(24)};

  SweepWatchTest() { watch.add(listener); }
};

TEST_F(SweepWatchTest, FailuresInARowAreCountedUntilASweepSucceeds) {
  EXPECT_EQ(watch.failures(), 0);
  for (int i = 1; i <= limits::sweep_failures; ++i) {
    watch.failed("away", now);
    EXPECT_EQ(watch.failures(), i);
  }
  watch.swept({}, now);
  EXPECT_EQ(watch.failures(), 0);
}

TEST_F(SweepWatchTest, AFailureThatLastsIsToldOnceAMinuteAndAnotherAtOnce) {
  for (int i = 0; i < 50; ++i) { watch.failed("away", now + i * 1s); }
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told.front().find("away"), std::string::npos);
  watch.failed("away", now + 61s);
  EXPECT_EQ(told.size(), 2U);
  watch.failed("full", now + 62s);
  EXPECT_EQ(told.size(), 3U);
  watch.swept({}, now + 63s);
  watch.failed("full", now + 64s);
  EXPECT_EQ(told.size(), 4U) << "it had gone in between";
}

TEST_F(SweepWatchTest, RowsThatASweepLeavesAreToldWithTheFirstError) {
  const model::SweepReport report{.bad = 2, .first_error = "labels: not JSON"};
  watch.swept(report, now);
  watch.swept(report, now + 1s);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told.front().find("2 rows"), std::string::npos) << told.front();
  EXPECT_NE(told.front().find("labels: not JSON"), std::string::npos) << told.front();
  EXPECT_EQ(watch.failures(), 0) << "the sweep itself went well";
}

TEST_F(SweepWatchTest, ASweepOfWhichAPartFailsEveryTimeIsNoSweepThatWentWell) {
  const model::SweepReport report{.requeued = 1, .failure = "no such table"};
  for (int i = 0; i < 3; ++i) {
    watch.swept(report, now + i * 1s);
    watch.failed(report.failure, now + i * 1s);
  }
  EXPECT_EQ(watch.failures(), 3);
  EXPECT_EQ(told.size(), 1U);
}

TEST_F(SweepWatchTest, AListenerThatHasGoneIsNotCalled) {
  listener->forget();
  watch.failed("away", now);
  listener.reset();
  watch.failed("full", now);
  EXPECT_TRUE(told.empty());
}

}  // namespace
}  // namespace hapax::engine
