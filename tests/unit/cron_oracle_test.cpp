// A small part of the cases that cron_oracle runs by the million in ./dev torture.
#include "schedule/cron/cases.hpp"

#include <gtest/gtest.h>

namespace hapax::cron_oracle {
namespace {

TEST(CronOracle, TimetablesAgreeWithTheBruteForceScan) {
  constexpr std::uint64_t cases = 1000;
  const World world;
  std::uint64_t at_shift = 0;
  std::uint64_t with_ticks = 0;
  for (std::uint64_t number = 0; number < cases; ++number) {
    const Verdict verdict = check_case(world, {.seed = 20'260'301, .number = number});
    ASSERT_FALSE(verdict.disagreement.has_value()) << *verdict.disagreement;
    at_shift += verdict.at_shift ? 1 : 0;
    with_ticks += verdict.ticks > 0 ? 1 : 0;
  }
  EXPECT_GT(at_shift, cases * 45 / 100);
  EXPECT_GT(with_ticks, cases * 6 / 10);
}

// Tests the scan itself, on days whose result is known: clocks in Zurich are set forward from 02:00 to 03:00, and back.
TEST(CronOracle, TheScanSeesShifts) {
  absl::TimeZone zurich;
  ASSERT_TRUE(absl::LoadTimeZone("Europe/Zurich", &zurich));
  Item star{.text = "*"};
  star.values.fill(true);
  Item two{.text = "2"};
  two.values[2] = true;
  const Field any{.items = {star}, .open = true};
  const Expression expression{
      .second = any, .minute = any, .hour = {.items = {two}}, .day = any, .month = any, .weekday = any};
  const std::int64_t shift = 1'774'746'000;  // 2026-03-29T01:00:00Z
  EXPECT_EQ(scan(expression, zurich, {.after_s = shift - 3600, .until_s = shift + 3600}),
            std::vector<std::int64_t>{shift});
  const std::int64_t back = 1'792'890'000;  // 2026-10-25T01:00:00Z
  const std::vector<std::int64_t> once = scan(expression, zurich, {.after_s = back - 3601, .until_s = back + 7200});
  ASSERT_EQ(once.size(), 60U);
  EXPECT_EQ(once.front(), back - 3600);
  EXPECT_EQ(once.back(), back - 60);
}

}  // namespace
}  // namespace hapax::cron_oracle
