#include "schedule/cron_timetable.hpp"

#include "base/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hapax::schedule {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using Ticks = std::vector<std::string>;

Timetable timetable(std::string_view expression, std::string_view zone = "UTC") {
  return Timetable(parse_cron(expression), Zone::load(zone));
}

Ticks after(const Timetable& timetable, std::string_view from, std::size_t count) {
  Ticks ticks;
  Time at = parse_time(from);
  while (ticks.size() < count) {
    const auto next = timetable.next(at);
    if (!next) { break; }
    EXPECT_GT(*next, at);
    EXPECT_EQ(timetable.previous(*next), *next);
    EXPECT_EQ(timetable.count(at, *next), 1);
    at = *next;
    ticks.push_back(format_time(at));
  }
  return ticks;
}

TEST(Timetable, TicksFollowStrictlyAfterAndPreviousIncludesItsInstant) {
  const Timetable nine = timetable("0 9 * * *");
  EXPECT_EQ(nine.next(parse_time("2026-03-01T08:59:59.999999Z")), parse_time("2026-03-01T09:00:00Z"));
  EXPECT_EQ(nine.next(parse_time("2026-03-01T09:00:00Z")), parse_time("2026-03-02T09:00:00Z"));
  EXPECT_EQ(nine.previous(parse_time("2026-03-01T09:00:00Z")), parse_time("2026-03-01T09:00:00Z"));
  EXPECT_EQ(nine.previous(parse_time("2026-03-01T08:59:59.999999Z")), parse_time("2026-02-28T09:00:00Z"));
}

TEST(Timetable, WeekdaysInZurich) {
  EXPECT_THAT(after(timetable("0 9 * * MON-FRI", "Europe/Zurich"), "2026-03-26T12:00:00Z", 3),
              ElementsAre("2026-03-27T08:00:00Z", "2026-03-30T07:00:00Z", "2026-03-31T07:00:00Z"));
}

TEST(Timetable, Seconds) {
  EXPECT_THAT(
      after(timetable("*/25 59 23 31 12 *"), "2026-01-01T00:00:00Z", 4),
      ElementsAre("2026-12-31T23:59:00Z", "2026-12-31T23:59:25Z", "2026-12-31T23:59:50Z", "2027-12-31T23:59:00Z"));
}

TEST(Timetable, EitherDayFieldOrBoth) {
  // January 2026 begins on a Thursday.
  EXPECT_THAT(
      after(timetable("0 0 8-9 * MON"), "2026-01-01T12:00:00Z", 4),
      ElementsAre("2026-01-05T00:00:00Z", "2026-01-08T00:00:00Z", "2026-01-09T00:00:00Z", "2026-01-12T00:00:00Z"));
  EXPECT_THAT(after(timetable("0 0 */2 * MON"), "2026-01-01T12:00:00Z", 3),
              ElementsAre("2026-01-05T00:00:00Z", "2026-01-19T00:00:00Z", "2026-02-09T00:00:00Z"));
}

TEST(Timetable, LastDaysAndNearestWeekdays) {
  EXPECT_THAT(after(timetable("0 0 L * *"), "2028-01-15T00:00:00Z", 3),
              ElementsAre("2028-01-31T00:00:00Z", "2028-02-29T00:00:00Z", "2028-03-31T00:00:00Z"));
  EXPECT_THAT(after(timetable("0 0 L-3 * *"), "2026-02-01T00:00:00Z", 2),
              ElementsAre("2026-02-25T00:00:00Z", "2026-03-28T00:00:00Z"));
  // 15 February 2026 is a Sunday, 15 August a Saturday.
  EXPECT_THAT(after(timetable("0 0 15W 2,8 *"), "2026-01-01T00:00:00Z", 2),
              ElementsAre("2026-02-16T00:00:00Z", "2026-08-14T00:00:00Z"));
  // 1 August 2026 is a Saturday and 31 May a Sunday: the nearest workday stays within the month.
  EXPECT_THAT(after(timetable("0 0 1W 8 *"), "2026-01-01T00:00:00Z", 1), ElementsAre("2026-08-03T00:00:00Z"));
  EXPECT_THAT(after(timetable("0 0 31W 5 *"), "2026-01-01T00:00:00Z", 1), ElementsAre("2026-05-29T00:00:00Z"));
  EXPECT_THAT(after(timetable("0 0 LW 1,2 *"), "2026-01-01T00:00:00Z", 2),
              ElementsAre("2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z"));
  // A month without a 31st has no workday nearest to it.
  EXPECT_THAT(after(timetable("0 0 31W * *"), "2026-03-31T12:00:00Z", 1), ElementsAre("2026-05-29T00:00:00Z"));
}

TEST(Timetable, NumberedAndLastWeekdays) {
  EXPECT_THAT(after(timetable("0 0 * * FRI#2"), "2026-01-01T00:00:00Z", 2),
              ElementsAre("2026-01-09T00:00:00Z", "2026-02-13T00:00:00Z"));
  EXPECT_THAT(after(timetable("0 0 * * 5L"), "2026-01-01T00:00:00Z", 2),
              ElementsAre("2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z"));
  EXPECT_THAT(after(timetable("0 0 * * MON#5"), "2026-01-01T00:00:00Z", 2),
              ElementsAre("2026-03-30T00:00:00Z", "2026-06-29T00:00:00Z"));
}

TEST(Timetable, RareDaysAreFound) {
  EXPECT_THAT(after(timetable("0 0 29 2 *"), "2096-03-01T00:00:00Z", 2),
              ElementsAre("2104-02-29T00:00:00Z", "2108-02-29T00:00:00Z"));
  EXPECT_THAT(after(timetable("0 0 ? 2 MON#5"), "2072-03-01T00:00:00Z", 2),
              ElementsAre("2112-02-29T00:00:00Z", "2140-02-29T00:00:00Z"));
  EXPECT_EQ(timetable("0 0 29 2 *").previous(parse_time("2103-12-31T00:00:00Z")), parse_time("2096-02-29T00:00:00Z"));
}

TEST(Timetable, Year2099InAZoneWithShifts) {
  EXPECT_THAT(after(timetable("30 2 * * SUN", "Europe/Zurich"), "2099-03-22T12:00:00Z", 2),
              ElementsAre("2099-03-29T01:00:00Z", "2099-04-05T00:30:00Z"));
}

TEST(Timetable, ATimeThatDoesNotExistRunsOnceAtTheShift) {
  EXPECT_THAT(after(timetable("30 2 * * *", "Europe/Zurich"), "2026-03-28T00:00:00Z", 3),
              ElementsAre("2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"));
}

TEST(Timetable, SeveralTimesThatDoNotExistShareOneTick) {
  EXPECT_THAT(after(timetable("*/10 2 * * *", "Europe/Zurich"), "2026-03-28T02:00:00Z", 2),
              ElementsAre("2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"));
  EXPECT_THAT(
      after(timetable("*/30 * * * *", "Europe/Zurich"), "2026-03-29T00:00:00Z", 4),
      ElementsAre("2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z", "2026-03-29T02:00:00Z"));
}

TEST(Timetable, ATimeThatExistsTwiceRunsOnce) {
  EXPECT_THAT(after(timetable("30 2 * * *", "Europe/Zurich"), "2026-10-24T00:00:00Z", 3),
              ElementsAre("2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"));
}

TEST(Timetable, WhatFiresThroughoutIsStillForTheRepeatedHour) {
  EXPECT_THAT(after(timetable("*/30 * * * *", "Europe/Zurich"), "2026-10-25T00:00:00Z", 3),
              ElementsAre("2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z", "2026-10-25T02:30:00Z"));
  const Timetable minutes = timetable("* * * * *", "Europe/Zurich");
  EXPECT_EQ(minutes.next(parse_time("2026-10-25T01:15:00Z")), parse_time("2026-10-25T02:00:00Z"));
  EXPECT_EQ(minutes.previous(parse_time("2026-10-25T01:15:00Z")), parse_time("2026-10-25T00:59:00Z"));
}

// When clocks have been set back, a time shown twice is past, even if it is about to be shown again.
TEST(Timetable, NothingIsDueInTheSecondPass) {
  const Timetable late = timetable("50 2 * * *", "Europe/Zurich");
  EXPECT_EQ(late.next(parse_time("2026-10-25T01:10:00Z")), parse_time("2026-10-26T01:50:00Z"));
  EXPECT_EQ(late.previous(parse_time("2026-10-25T01:10:00Z")), parse_time("2026-10-25T00:50:00Z"));
}

TEST(Timetable, LordHoweShiftsByHalfAnHour) {
  // 5 April 2026: 02:00 back to 01:30; 4 October 2026: 02:00 forward to 02:30.
  EXPECT_THAT(
      after(timetable("*/15 1-2 * * *", "Australia/Lord_Howe"), "2026-04-04T14:20:00Z", 4),
      ElementsAre("2026-04-04T14:30:00Z", "2026-04-04T14:45:00Z", "2026-04-04T15:30:00Z", "2026-04-04T15:45:00Z"));
  EXPECT_THAT(
      after(timetable("*/15 1-2 * * *", "Australia/Lord_Howe"), "2026-10-03T15:00:00Z", 4),
      ElementsAre("2026-10-03T15:15:00Z", "2026-10-03T15:30:00Z", "2026-10-03T15:45:00Z", "2026-10-04T14:00:00Z"));
}

TEST(Timetable, ZonesThatShiftAtMidnight) {
  // São Paulo, 4 November 2018: 00:00 forward to 01:00; 18 February 2018: 00:00 back to 23:00.
  EXPECT_THAT(after(timetable("0 0 * * *", "America/Sao_Paulo"), "2018-11-03T12:00:00Z", 2),
              ElementsAre("2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"));
  EXPECT_THAT(after(timetable("30 23 * * *", "America/Sao_Paulo"), "2018-02-17T12:00:00Z", 2),
              ElementsAre("2018-02-18T01:30:00Z", "2018-02-19T02:30:00Z"));
  EXPECT_THAT(after(timetable("0 0 * * *", "America/Sao_Paulo"), "2018-02-17T12:00:00Z", 2),
              ElementsAre("2018-02-18T03:00:00Z", "2018-02-19T03:00:00Z"));
  // Beirut, 29 March 2026: 00:00 forward to 01:00.
  EXPECT_THAT(after(timetable("@daily", "Asia/Beirut"), "2026-03-28T12:00:00Z", 2),
              ElementsAre("2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"));
}

TEST(Timetable, ADayThatAZoneLeftOut) {
  // Samoa had no 30 December 2011; clocks were set forward to the 31st at 10:00 UTC.
  EXPECT_THAT(after(timetable("0 9 * * *", "Pacific/Apia"), "2011-12-29T00:00:00Z", 3),
              ElementsAre("2011-12-29T19:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T19:00:00Z"));
  EXPECT_EQ(timetable("* * 30 12 *", "Pacific/Apia")
                .count(parse_time("2011-12-01T00:00:00Z"), parse_time("2012-01-02T00:00:00Z")),
            1);
}

TEST(Timetable, EveryIsCountedFromTheEpoch) {
  EXPECT_THAT(after(timetable("@every 90s", "Europe/Zurich"), "1970-01-01T00:00:00Z", 2),
              ElementsAre("1970-01-01T00:01:30Z", "1970-01-01T00:03:00Z"));
  EXPECT_THAT(after(timetable("@every 7h"), "2026-10-25T00:00:00Z", 2),
              ElementsAre("2026-10-25T05:00:00Z", "2026-10-25T12:00:00Z"));
}

TEST(Timetable, EveryIsCountedFromAnAnchorRoundedUpToItsSecond) {
  const Timetable anchored(parse_cron("@every 1h"), Zone(), parse_time("2026-03-01T09:20:30.5Z"));
  EXPECT_THAT(after(anchored, "2026-03-01T09:00:00Z", 2), ElementsAre("2026-03-01T09:20:31Z", "2026-03-01T10:20:31Z"));
  EXPECT_EQ(anchored.previous(parse_time("2026-03-01T09:20:30.9Z")), parse_time("2026-03-01T08:20:31Z"));
  EXPECT_EQ(anchored.count(parse_time("2026-03-01T08:20:31Z"), parse_time("2026-03-01T10:20:31Z")), 2);
}

TEST(Timetable, CountsWithoutWalking) {
  const Time begin = parse_time("2026-01-01T00:00:00Z");
  const Time end = parse_time("2027-01-01T00:00:00Z");
  EXPECT_EQ(timetable("* * * * * *").count(begin, end), 365 * 86'400);
  EXPECT_EQ(timetable("@daily").count(begin - 1us, end), 366);
  // The hour that does not exist shares one tick with the time after it; the hour that exists twice has ticks once.
  EXPECT_EQ(timetable("* * * * *", "Europe/Zurich").count(begin, end), 365 * 1440 - 60);
  EXPECT_EQ(timetable("0 0 29 2 *").count(limits::first_tick, limits::ticks_end), 56);
  EXPECT_EQ(timetable("@every 1s").count(begin, end), 365 * 86'400);
  EXPECT_EQ(timetable("@daily").count(end, begin), 0);
  EXPECT_EQ(timetable("@daily").count(begin, begin), 0);
}

TEST(Timetable, TicksLieInTheYearsThatHaveThem) {
  for (const char* zone : {"UTC", "Pacific/Auckland", "America/Los_Angeles"}) {
    const Timetable hourly = timetable("@hourly", zone);
    EXPECT_EQ(hourly.next(Time::min()), limits::first_tick) << zone;
    EXPECT_EQ(hourly.previous(limits::first_tick), limits::first_tick) << zone;
    EXPECT_EQ(hourly.previous(limits::first_tick - 1us), std::nullopt) << zone;
    EXPECT_EQ(hourly.previous(Time::min()), std::nullopt) << zone;
    EXPECT_EQ(hourly.next(limits::ticks_end - 1h), std::nullopt) << zone;
    EXPECT_EQ(hourly.next(Time::max()), std::nullopt) << zone;
    EXPECT_EQ(hourly.previous(Time::max()), limits::ticks_end - 1h) << zone;
    EXPECT_EQ(hourly.count(Time::min(), limits::first_tick), 1) << zone;
    EXPECT_EQ(hourly.count(limits::ticks_end, Time::max()), 0) << zone;
  }
  const Timetable every = timetable("@every 1d");
  EXPECT_EQ(every.next(Time::min()), limits::first_tick);
  EXPECT_EQ(every.previous(limits::first_tick - 1us), std::nullopt);
  EXPECT_EQ(every.next(Time::max()), std::nullopt);
  EXPECT_EQ(every.count(Time::min(), Time::max()), 84'006);
}

}  // namespace
}  // namespace hapax::schedule
