#include "schedule/cron.hpp"

#include "base/random.hpp"

#include <gtest/gtest.h>

#include <unordered_map>
#include <vector>

namespace hapax::schedule {
namespace {

std::string said(std::string_view expression) { return describe(parse_cron(expression), "UTC"); }

TEST(CronDescribe, ZoneComesLast) {
  EXPECT_EQ(describe(parse_cron("0 9 * * 1-5"), "Europe/Zurich"), "at 09:00 on weekdays, Europe/Zurich");
}

TEST(CronDescribe, TimesOfDay) {
  EXPECT_EQ(said("0 9 * * *"), "at 09:00 every day, UTC");
  EXPECT_EQ(said("30 8,17 * * *"), "at 08:30 and 17:30 every day, UTC");
  EXPECT_EQ(said("15 30 8 * * *"), "at 08:30:15 every day, UTC");
  EXPECT_EQ(said("@daily"), "at 00:00 every day, UTC");
}

TEST(CronDescribe, Intervals) {
  EXPECT_EQ(said("* * * * *"), "every minute, UTC");
  EXPECT_EQ(said("*/5 * * * *"), "every 5 minutes, UTC");
  EXPECT_EQ(said("@hourly"), "every hour, UTC");
  EXPECT_EQ(said("0 */2 * * *"), "every 2 hours, UTC");
  EXPECT_EQ(said("* * * * * *"), "every second, UTC");
  EXPECT_EQ(said("*/10 * * * * *"), "every 10 seconds, UTC");
  EXPECT_EQ(said("*/15 9-17 * * MON-FRI"), "every 15 minutes from 09:00 to 17:45 on weekdays, UTC");
  EXPECT_EQ(said("30 9-17 * * *"), "every hour from 09:30 to 17:30, UTC");
  EXPECT_EQ(said("* 9 * * *"), "every minute from 09:00 to 09:59, UTC");
  EXPECT_EQ(said("@every 90s"), "every 1m30s of real time");
}

TEST(CronDescribe, WhatIsNotEvenIsToldMemberByMember) {
  EXPECT_EQ(said("15 * * * *"), "at minute 15 of every hour every day, UTC");
  EXPECT_EQ(said("*/25 * * * *"), "at minutes 0, 25 and 50 of every hour every day, UTC");
  EXPECT_EQ(said("0-10,30 */2 * * *"),
            "at minutes 0 to 10 and 30 of hours 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20 and 22 every day, UTC");
  EXPECT_EQ(said("5 * * * * *"), "at second 5 of every minute every day, UTC");
  EXPECT_EQ(said("*/7 0-30 9-17 * * *"),
            "at seconds 0, 7, 14, 21, 28, 35, 42, 49 and 56 of minutes 0 to 30 of hours 9 to 17 every day, UTC");
}

TEST(CronDescribe, Days) {
  EXPECT_EQ(said("0 0 * * SAT,SUN"), "at 00:00 on weekends, UTC");
  EXPECT_EQ(said("@weekly"), "at 00:00 on Sundays, UTC");
  EXPECT_EQ(said("0 0 * * SUN,MON,WED"), "at 00:00 on Mondays, Wednesdays and Sundays, UTC");
  EXPECT_EQ(said("@monthly"), "at 00:00 on the 1st of the month, UTC");
  EXPECT_EQ(said("@yearly"), "at 00:00 on the 1st of January, UTC");
  EXPECT_EQ(said("0 0 1-7,11-13,22 * *"), "at 00:00 on the 1st to 7th, 11th to 13th and 22nd of the month, UTC");
  EXPECT_EQ(said("0 0 1 */3 *"), "at 00:00 on the 1st of January, April, July and October, UTC");
  EXPECT_EQ(said("0 0 * 6 *"), "at 00:00 every day in June, UTC");
  EXPECT_EQ(said("0 0 * 6 MON"), "at 00:00 on Mondays in June, UTC");
}

TEST(CronDescribe, SpecialDays) {
  EXPECT_EQ(said("0 0 L * *"), "at 00:00 on the last day of the month, UTC");
  EXPECT_EQ(said("0 0 L-1 * *"), "at 00:00 on the day before the last of the month, UTC");
  EXPECT_EQ(said("0 0 L-3 2 *"), "at 00:00 on the 3rd day before the last of February, UTC");
  EXPECT_EQ(said("0 0 15W * *"), "at 00:00 on the weekday nearest to the 15th of the month, UTC");
  EXPECT_EQ(said("0 0 LW * *"), "at 00:00 on the last weekday of the month, UTC");
  EXPECT_EQ(said("0 0 * * FRIL"), "at 00:00 on the last Friday of the month, UTC");
  EXPECT_EQ(said("0 0 * * TUE#2"), "at 00:00 on the 2nd Tuesday of the month, UTC");
  EXPECT_EQ(said("0 0 * * MON,FRI#2"), "at 00:00 on Mondays and on the 2nd Friday of the month, UTC");
}

TEST(CronDescribe, BothDayFields) {
  EXPECT_EQ(said("0 0 1,15 * MON"), "at 00:00 on the 1st and 15th of the month and also on Mondays, UTC");
  EXPECT_EQ(said("0 0 */10 * MON"), "at 00:00 on the 1st, 11th, 21st and 31st of the month, but only on Mondays, UTC");
  EXPECT_EQ(said("0 0 5 * */2"),
            "at 00:00 on the 5th of the month, but only on Tuesdays, Thursdays, Saturdays and Sundays, UTC");
}

// Normalises the fields, so that two spellings of the same days compare as equal.
CronFields meaning(CronFields fields) {
  const bool any_day = fields.days == 0xFFFF'FFFEU;
  const bool any_weekday = fields.weekdays == 0x7F;
  if (fields.either_day && (any_day || any_weekday)) {
    fields.either_day = false;
    fields.days = 0xFFFF'FFFEU;
    fields.weekdays = 0x7F;
  }
  if (fields.days == 0xFFFF'FFFEU) {
    fields.days_before_last = fields.nearest_workdays = 0;
    fields.last_workday = false;
  }
  if (fields.weekdays == 0x7F) {
    fields.last_weekdays = 0;
    fields.nth_weekdays = {};
  }
  return fields;
}

// Few choices per field, so that expressions collide, but every form of each field.
TEST(CronDescribe, TwoThatAreSaidAlikeMeanTheSame) {
  const std::vector<std::vector<const char*>> choices = {
      {"0", "5", "*", "*/2", "0,30", "1-7"},
      {"0", "5", "*", "*/2", "0,30", "0-30", "*/7", "*/30"},
      {"0", "9", "*", "*/2", "9-17", "8-18/2", "0,12", "0-5"},
      {"*", "1", "1-3", "*/2", "L", "L-1", "L-2", "1W", "LW", "1,L", "?", "1-31", "2,1W"},
      {"*", "1", "1-3", "*/2", "1-12"},
      {"*", "MON", "1-5", "0,6", "*/2", "FRIL", "FRI#1", "MON,FRIL", "?", "0-6", "MON#1,FRI"}};
  base::SeededRandom random(5);
  std::unordered_map<std::string, std::pair<std::string, CronFields>> known;
  std::size_t met = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (const auto& field : choices) {
      text += (text.empty() ? "" : " ") + std::string(field[random.next() % field.size()]);
    }
    const Cron cron = parse_cron(text);
    const auto [at, fresh] = known.try_emplace(describe(cron, "UTC"), text, meaning(cron.fields));
    if (fresh) { continue; }
    ++met;
    ASSERT_EQ(at->second.second, meaning(cron.fields))
        << "'" << at->second.first << "' and '" << text << "' are both said as: " << at->first;
  }
  EXPECT_GT(met, 1000U);
}

}  // namespace
}  // namespace hapax::schedule
