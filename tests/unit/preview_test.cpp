#include "schedule/preview.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hapax::schedule {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;

CronTrigger trigger(std::string_view expression, std::string_view zone = "UTC") {
  return {.timetable = Timetable(parse_cron(expression), Zone::load(zone))};
}

std::vector<std::pair<std::string, std::string>> fires(const CronTrigger& of, std::string_view from, int count) {
  std::vector<std::pair<std::string, std::string>> shown;
  for (const PreviewedFire& fire : preview_fires(of, "a", parse_time(from), count)) {
    shown.emplace_back(fire.local, fire.note);
  }
  return shown;
}

TEST(Preview, ShowsLocalTimesWithTheirOffsetAndATickAtItsBeginning) {
  EXPECT_THAT(fires(trigger("0 9 * * *", "Europe/Zurich"), "2026-01-01T08:00:00Z", 2),
              ElementsAre(Pair("2026-01-01T09:00:00+01:00", ""), Pair("2026-01-02T09:00:00+01:00", "")));
  EXPECT_THAT(fires(trigger("15 30 12 * * *", "America/St_Johns"), "2026-01-01T00:00:00Z", 1),
              ElementsAre(Pair("2026-01-01T12:30:15-03:30", "")));
  EXPECT_THAT(fires(trigger("@daily"), "2026-01-01T08:00:00Z", 1), ElementsAre(Pair("2026-01-02T00:00:00+00:00", "")));
}

TEST(Preview, NotesThatATimeDoesNotExist) {
  EXPECT_THAT(fires(trigger("30 2 * * *", "Europe/Zurich"), "2026-03-28T00:00:00Z", 3),
              ElementsAre(Pair("2026-03-28T02:30:00+01:00", ""),
                          Pair("2026-03-29T03:00:00+02:00",
                               "02:30 does not exist on this day, as clocks go from 02:00 to 03:00; runs once, at the "
                               "shift"),
                          Pair("2026-03-30T02:30:00+02:00", "")));
}

TEST(Preview, ATimeAtWhichClocksArriveExists) {
  EXPECT_THAT(fires(trigger("0 3 * * *", "Europe/Zurich"), "2026-03-29T00:00:00Z", 1),
              ElementsAre(Pair("2026-03-29T03:00:00+02:00", "clocks went forward by 1h on 2026-03-29")));
}

TEST(Preview, NotesThatATimeComesTwiceAndThatClocksWentBack) {
  EXPECT_THAT(fires(trigger("30 2 * * *", "Europe/Zurich"), "2026-10-24T12:00:00Z", 2),
              ElementsAre(Pair("2026-10-25T02:30:00+02:00",
                               "02:30 comes twice on this day, as clocks go from 03:00 to 02:00; runs once, the first "
                               "time"),
                          Pair("2026-10-26T02:30:00+01:00", "clocks went back by 1h on 2026-10-25")));
}

TEST(Preview, NotesThatClocksWentForward) {
  EXPECT_THAT(fires(trigger("0 9 * * *", "Europe/Zurich"), "2026-03-28T00:00:00Z", 3),
              ElementsAre(Pair("2026-03-28T09:00:00+01:00", ""),
                          Pair("2026-03-29T09:00:00+02:00", "clocks went forward by 1h on 2026-03-29"),
                          Pair("2026-03-30T09:00:00+02:00", "")));
  EXPECT_THAT(fires(trigger("0 9 * * *", "Australia/Lord_Howe"), "2026-04-03T23:00:00Z", 2),
              ElementsAre(Pair("2026-04-05T09:00:00+10:30", "clocks went back by 30m on 2026-04-05"),
                          Pair("2026-04-06T09:00:00+10:30", "")));
  // A year later clocks have the same offset again.
  EXPECT_THAT(fires(trigger("0 9 1 1 *", "Europe/Zurich"), "2026-01-01T00:00:00Z", 2),
              ElementsAre(Pair("2026-01-01T09:00:00+01:00", ""), Pair("2027-01-01T09:00:00+01:00", "")));
}

TEST(Preview, PeriodsOfRealTimeHaveNoTimesThatAreLeftOut) {
  CronTrigger every = trigger("@every 30m", "Europe/Zurich");
  EXPECT_THAT(fires(every, "2026-03-29T00:30:00Z", 3),
              ElementsAre(Pair("2026-03-29T01:30:00+01:00", ""),
                          Pair("2026-03-29T03:00:00+02:00", "clocks went forward by 1h on 2026-03-29"),
                          Pair("2026-03-29T03:30:00+02:00", "")));
}

TEST(Preview, StaysWithinStartEndAndItsBound) {
  CronTrigger bounded = trigger("@hourly");
  bounded.start = parse_time("2026-03-01T10:00:00Z");
  bounded.end = parse_time("2026-03-01T11:30:00Z");
  EXPECT_EQ(fires(bounded, "2026-01-01T00:00:00Z", 20).size(), 2U);
  EXPECT_EQ(fires(trigger("@hourly"), "2026-01-01T00:00:00Z", 5000).size(), 1000U);
  EXPECT_EQ(fires(trigger("@hourly"), "2026-01-01T00:00:00Z", -1).size(), 0U);
}

TEST(Preview, ShowsWhenAJitteredTickIsDue) {
  CronTrigger jittered = trigger("@hourly");
  jittered.jitter = 5min;
  const PreviewedFire fire = preview_fires(jittered, "a", parse_time("2026-03-01T09:00:00Z"), 1).front();
  EXPECT_EQ(fire.scheduled_for, parse_time("2026-03-01T09:00:00Z"));
  EXPECT_EQ(fire.due, due_at(jittered, "a", fire.scheduled_for));
  EXPECT_GT(fire.due, fire.scheduled_for);
}

TEST(Preview, AnOutageUnderEachPolicy) {
  CronTrigger ten_minutes = trigger("*/10 * * * *");
  ten_minutes.catchup_limit = 2;
  const auto [skip, catchup, compress] =
      preview_outage(ten_minutes, "sync", {.from = parse_time("2026-03-01T09:05:00Z"), .length = 2h + 25min + 30s});
  const auto ids = [](const PreviewedPolicy& policy) {
    std::vector<std::string> all;
    for (const PreviewedRun& run : policy.runs) { all.push_back(run.id); }
    return all;
  };
  EXPECT_EQ(skip.policy, MisfirePolicy::skip);
  EXPECT_THAT(ids(skip), ElementsAre("activity-sync:2026-03-01T11:30:00+00:00"));
  EXPECT_EQ(skip.dropped, 14);
  EXPECT_EQ(catchup.policy, MisfirePolicy::catchup);
  EXPECT_THAT(ids(catchup),
              ElementsAre("activity-sync:2026-03-01T11:10:00+00:00", "activity-sync:2026-03-01T11:20:00+00:00",
                          "activity-sync:2026-03-01T11:30:00+00:00"));
  EXPECT_EQ(catchup.dropped, 12);
  EXPECT_EQ(compress.policy, MisfirePolicy::compress);
  EXPECT_THAT(ids(compress),
              ElementsAre("activity-sync:2026-03-01T11:20:00+00:00", "activity-sync:2026-03-01T11:30:00+00:00"));
  EXPECT_EQ(
      compress.runs[0].tick.window,
      (Window{.from = parse_time("2026-03-01T09:10:00Z"), .to = parse_time("2026-03-01T11:20:00Z"), .missed = 14}));
  EXPECT_EQ(compress.dropped, 0);
}

TEST(Preview, ATickWhoseJitterReachesIntoTheOutageIsPartOfIt) {
  CronTrigger jittered = trigger("0 9 * * *");
  jittered.jitter = 30min;
  const Time tick = parse_time("2026-03-01T09:00:00Z");
  const Time due = due_at(jittered, "a", tick);
  ASSERT_GT(due, tick);
  EXPECT_EQ(preview_outage(jittered, "a", {.from = tick, .length = 2h})[0].dropped, 1);
  EXPECT_EQ(preview_outage(jittered, "a", {.from = due, .length = 2h})[0].dropped, 0);
}

TEST(Preview, FromAnInstantOutsideTheYearsThatHaveTicksSaysSo) {
  for (const char* from : {"1969-12-31T23:59:59Z", "2200-01-01T00:00:00Z", "2262-01-01T00:00:00Z"}) {
    try {
      (void)fires(trigger("@daily"), from, 1);
      ADD_FAILURE() << from;
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.field(), "from");
      EXPECT_THAT(error.what(), testing::HasSubstr("1970-01-01T00:00:00Z to 2199-12-31T23:59:59Z")) << from;
    }
  }
  EXPECT_EQ(fires(trigger("@daily"), "1970-01-01T00:00:00Z", 1).size(), 1U);
  EXPECT_EQ(fires(trigger("@daily"), "2199-12-31T23:59:59Z", 1).size(), 0U);
}

TEST(Preview, OfAnOutageIsBounded) {
  CronTrigger seconds = trigger("* * * * * *");
  seconds.misfire_grace = 2h;
  const auto skip = preview_outage(seconds, "a", {.from = parse_time("2026-03-01T09:00:00Z"), .length = 1h})[0];
  EXPECT_EQ(skip.runs.size(), static_cast<std::size_t>(limits::preview_fires));
  EXPECT_TRUE(skip.more);
  EXPECT_THROW((void)preview_outage(seconds, "a", {.from = parse_time("2199-12-31T23:00:00Z"), .length = 2h}),
               InvalidArgument);
}

}  // namespace
}  // namespace hapax::schedule
