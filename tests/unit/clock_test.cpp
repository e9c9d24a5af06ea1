#include "base/clock.hpp"

#include <gtest/gtest.h>

namespace hapax::base {
namespace {

using namespace std::chrono_literals;

TEST(ManualClock, StandsStillUntilItIsMoved) {
  ManualClock clock(Time(5s));
  EXPECT_EQ(clock.now(), Time(5s));
  EXPECT_EQ(clock.now(), Time(5s));
  clock.advance(250ms);
  EXPECT_EQ(clock.now(), Time(5s + 250ms));
}

TEST(SystemClock, IsTheMachinesInMicroseconds) {
  const auto before = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  const Time now = SystemClock().now();
  const auto after = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
}

}  // namespace
}  // namespace hapax::base
