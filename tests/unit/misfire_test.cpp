#include "schedule/misfire.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace hapax::schedule {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

Time at(std::string_view text) { return parse_time("2026-03-01T" + std::string(text) + "Z"); }

CronTrigger trigger(std::string_view expression, MisfirePolicy policy, std::string_view zone = "UTC") {
  CronTrigger made{.timetable = Timetable(parse_cron(expression), Zone::load(zone))};
  made.misfire_policy = policy;
  return made;
}

std::vector<std::string> times(const std::vector<Tick>& ticks) {
  std::vector<std::string> texts;
  for (const Tick& tick : ticks) { texts.push_back(format_time(tick.scheduled_for).substr(11, 8)); }
  return texts;
}

Situation situation(std::string_view cursor, std::string_view now) {
  return {.activity_id = "a", .cursor = at(cursor), .now = at(now)};
}

TEST(Plan, NothingIsDueBeforeTheNextTick) {
  const Plan made = plan(trigger("*/10 * * * *", MisfirePolicy::skip), situation("09:00:00", "09:09:59.999999"));
  EXPECT_THAT(made.runs, IsEmpty());
  EXPECT_EQ(made.dropped, 0);
  EXPECT_EQ(made.cursor, at("09:00:00"));
  EXPECT_EQ(made.next, at("09:10:00"));
}

TEST(Plan, ATickWithinTheGraceRunsUnderEveryPolicy) {
  for (const MisfirePolicy policy : {MisfirePolicy::skip, MisfirePolicy::catchup, MisfirePolicy::compress}) {
    for (const char* now : {"09:10:00", "09:11:00"}) {
      const Plan made = plan(trigger("*/10 * * * *", policy), situation("09:00:00", now));
      EXPECT_THAT(made.runs, ElementsAre(Tick{.scheduled_for = at("09:10:00")}));
      EXPECT_EQ(made.dropped, 0);
      EXPECT_EQ(made.cursor, at("09:10:00"));
      EXPECT_EQ(made.next, at("09:20:00"));
    }
  }
}

TEST(Plan, OneMicrosecondAfterTheGraceItIsMissed) {
  const Situation late = situation("09:00:00", "09:11:00.000001");
  const Plan skip = plan(trigger("*/10 * * * *", MisfirePolicy::skip), late);
  EXPECT_THAT(skip.runs, IsEmpty());
  EXPECT_EQ(skip.dropped, 1);
  EXPECT_EQ(skip.cursor, at("09:10:00"));
  const Plan catchup = plan(trigger("*/10 * * * *", MisfirePolicy::catchup), late);
  EXPECT_THAT(catchup.runs, ElementsAre(Tick{.scheduled_for = at("09:10:00"), .missed = true}));
  EXPECT_EQ(catchup.dropped, 0);
  const Plan compress = plan(trigger("*/10 * * * *", MisfirePolicy::compress), late);
  const Window window{.from = at("09:10:00"), .to = at("09:10:00"), .missed = 1};
  EXPECT_THAT(compress.runs, ElementsAre(Tick{.scheduled_for = at("09:10:00"), .missed = true, .window = window}));
}

// Down from 09:05 to 11:30:30: fifteen ticks, of which the one at 11:30 is still on time.
TEST(Plan, AnOutageUnderEachPolicy) {
  const Situation back = situation("09:00:00", "11:30:30");
  const Plan skip = plan(trigger("*/10 * * * *", MisfirePolicy::skip), back);
  EXPECT_THAT(times(skip.runs), ElementsAre("11:30:00"));
  EXPECT_FALSE(skip.runs[0].missed);
  EXPECT_EQ(skip.dropped, 14);

  CronTrigger newest = trigger("*/10 * * * *", MisfirePolicy::catchup);
  newest.catchup_limit = 3;
  const Plan catchup = plan(newest, back);
  EXPECT_THAT(times(catchup.runs), ElementsAre("11:00:00", "11:10:00", "11:20:00", "11:30:00"));
  EXPECT_TRUE(catchup.runs[2].missed);
  EXPECT_FALSE(catchup.runs[3].missed);
  EXPECT_EQ(catchup.dropped, 11);

  const Plan compress = plan(trigger("*/10 * * * *", MisfirePolicy::compress), back);
  EXPECT_THAT(times(compress.runs), ElementsAre("11:20:00", "11:30:00"));
  EXPECT_EQ(compress.runs[0].window, (Window{.from = at("09:10:00"), .to = at("11:20:00"), .missed = 14}));
  EXPECT_EQ(compress.runs[1].window, std::nullopt);
  EXPECT_EQ(compress.dropped, 0);

  for (const Plan& made : {skip, catchup, compress}) {
    EXPECT_EQ(made.cursor, at("11:30:00"));
    EXPECT_EQ(made.next, at("11:40:00"));
  }
}

TEST(Plan, WhileItIsPausedNothingMovesAndAfterwardsThePauseWasAnOutage) {
  Situation paused = situation("09:00:00", "11:30:30");
  paused.paused = true;
  const CronTrigger compress = trigger("*/10 * * * *", MisfirePolicy::compress);
  const Plan made = plan(compress, paused);
  EXPECT_THAT(made.runs, IsEmpty());
  EXPECT_EQ(made.dropped, 0);
  EXPECT_EQ(made.cursor, at("09:00:00"));
  EXPECT_EQ(made.next, std::nullopt);
  paused.paused = false;
  EXPECT_EQ(plan(compress, paused).runs[0].window->missed, 14);
}

TEST(Plan, AClockThatIsSetBackRunsNothingTwice) {
  const CronTrigger every = trigger("*/10 * * * *", MisfirePolicy::catchup);
  const Plan made = plan(every, situation("11:30:00", "09:15:00"));
  EXPECT_THAT(made.runs, IsEmpty());
  EXPECT_EQ(made.cursor, at("11:30:00"));
  EXPECT_EQ(made.next, at("11:40:00"));
}

TEST(Plan, StartAndEndAreInside) {
  CronTrigger bounded = trigger("*/10 * * * *", MisfirePolicy::catchup);
  bounded.start = at("10:00:00");
  bounded.end = at("10:20:00");
  const Plan before = plan(bounded, situation("09:00:00", "09:30:00"));
  EXPECT_THAT(before.runs, IsEmpty());
  EXPECT_EQ(before.dropped, 0);
  EXPECT_EQ(before.cursor, at("09:00:00"));
  EXPECT_EQ(before.next, at("10:00:00"));
  const Plan after = plan(bounded, situation("09:00:00", "12:00:00"));
  EXPECT_THAT(times(after.runs), ElementsAre("10:00:00", "10:10:00", "10:20:00"));
  EXPECT_EQ(after.dropped, 0);
  EXPECT_EQ(after.next, std::nullopt);
  EXPECT_THAT(times(plan(bounded, situation("10:10:00", "10:20:30")).runs), ElementsAre("10:20:00"));
  EXPECT_THAT(plan(bounded, {.activity_id = "a", .cursor = after.cursor, .now = at("23:00:00")}).runs, IsEmpty());
}

TEST(Plan, AHundredYearsOfSecondsAreNotWalked) {
  CronTrigger seconds = trigger("* * * * * *", MisfirePolicy::catchup);
  const Situation long_out{
      .activity_id = "a", .cursor = parse_time("1990-01-01T00:00:00Z"), .now = parse_time("2090-01-01T00:00:00Z")};
  const Plan catchup = plan(seconds, long_out);
  EXPECT_EQ(catchup.runs.size(), 10U + 61U);  // the ticks of the last minute are on time
  const std::int64_t all = (long_out.now - long_out.cursor) / 1s;
  EXPECT_EQ(catchup.dropped, all - 71);
  seconds.misfire_policy = MisfirePolicy::compress;
  EXPECT_EQ(plan(seconds, long_out).runs[0].window->missed, all - 61);
}

TEST(Plan, MoreThanTheBoundComesWithTheNextPlans) {
  CronTrigger every = trigger("@every 1s", MisfirePolicy::catchup);
  every.catchup_limit = 25;
  Situation back = situation("09:00:00", "10:00:00");
  back.most = 10;
  std::vector<std::string> all;
  std::int64_t dropped = 0;
  int plans = 0;
  for (std::optional<Time> next = back.now; next && *next <= back.now; ++plans) {
    const Plan made = plan(every, back);
    EXPECT_LE(made.runs.size(), 10U);
    for (const std::string& text : times(made.runs)) { all.push_back(text); }
    dropped += made.dropped;
    back.cursor = made.cursor;
    next = made.next;
  }
  EXPECT_EQ(all.size(), 25U + 61U);
  EXPECT_EQ(all.front(), "09:58:35");
  EXPECT_EQ(all.back(), "10:00:00");
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(dropped, 3600 - 86);
  EXPECT_EQ(plans, 9);
}

TEST(Plan, AWindowAcrossAShiftCountsTicksNotHours) {
  const CronTrigger hourly = trigger("30 * * * *", MisfirePolicy::compress, "Europe/Zurich");
  const Plan made = plan(
      hourly,
      {.activity_id = "a", .cursor = parse_time("2026-10-24T22:45:00Z"), .now = parse_time("2026-10-25T03:45:00Z")});
  // 01:30 and 02:30 summer time, not 02:30 again, then 03:30 and 04:30 winter time.
  EXPECT_EQ(
      made.runs[0].window,
      (Window{.from = parse_time("2026-10-24T23:30:00Z"), .to = parse_time("2026-10-25T03:30:00Z"), .missed = 4}));
}

TEST(Jitter, IsTheSameForEveryoneNeverEarlyAndBeforeTheNextTick) {
  CronTrigger jittered = trigger("*/10 * * * *", MisfirePolicy::skip);
  jittered.jitter = 5min;
  // Never changes: two releases that run side by side must agree.
  EXPECT_EQ(format_time(due_at(jittered, "daily-report", at("09:00:00"))), "2026-03-01T09:03:59.406124Z");
  Time tick = at("00:00:00");
  std::vector<Duration> delays;
  for (int i = 0; i < 100; ++i, tick += 10min) {
    delays.push_back(due_at(jittered, "a", tick) - tick);
    EXPECT_GE(delays.back(), 0s);
    EXPECT_LE(delays.back(), 5min);
  }
  EXPECT_LT(*std::min_element(delays.begin(), delays.end()), 30s);
  EXPECT_GT(*std::max_element(delays.begin(), delays.end()), 4min + 30s);
  EXPECT_NE(due_at(jittered, "a", at("09:00:00")), due_at(jittered, "b", at("09:00:00")));
  jittered.jitter = 24h;
  for (int i = 0; i < 100; ++i, tick += 10min) { EXPECT_LT(due_at(jittered, "a", tick), tick + 10min); }
}

TEST(Jitter, ATickIsDueAndMissedByItsJitteredTime) {
  CronTrigger jittered = trigger("*/10 * * * *", MisfirePolicy::skip);
  jittered.jitter = 9min;
  const Time due = due_at(jittered, "a", at("09:10:00"));
  ASSERT_GT(due, at("09:11:30"));  // otherwise the test proves nothing
  Situation now = situation("09:00:00", "09:10:00");
  now.now = due - 1us;
  EXPECT_THAT(plan(jittered, now).runs, IsEmpty());
  EXPECT_EQ(plan(jittered, now).dropped, 0);
  EXPECT_EQ(plan(jittered, now).next, due);
  now.now = due + 60s;
  EXPECT_THAT(times(plan(jittered, now).runs), ElementsAre("09:10:00"));
  now.now = due + 60s + 1us;
  EXPECT_EQ(plan(jittered, now).dropped, 1);
}

// The misfire rules in their simplest form, one tick after the other.
Plan naive_plan(const CronTrigger& trigger, const Situation& now) {
  std::vector<Tick> missed;
  std::vector<Tick> on_time;
  Plan made{.cursor = now.cursor};
  for (auto tick = trigger.timetable.next(now.cursor); tick; tick = trigger.timetable.next(*tick)) {
    if (trigger.start && *tick < *trigger.start) { continue; }
    if (trigger.end && *tick > *trigger.end) { break; }
    const Time due = due_at(trigger, now.activity_id, *tick);
    if (due > now.now) {
      made.next = due;
      break;
    }
    const bool late = now.now - due > trigger.misfire_grace;
    (late ? missed : on_time).push_back({.scheduled_for = *tick, .missed = late});
    made.cursor = *tick;
  }
  const auto count = static_cast<std::int64_t>(missed.size());
  if (trigger.misfire_policy == MisfirePolicy::skip) {
    made.dropped = count;
  } else if (trigger.misfire_policy == MisfirePolicy::catchup) {
    made.dropped = std::max<std::int64_t>(0, count - trigger.catchup_limit);
    made.runs.assign(missed.begin() + made.dropped, missed.end());
  } else if (count > 0) {
    made.runs.push_back(missed.back());
    made.runs[0].window = {.from = missed.front().scheduled_for, .to = missed.back().scheduled_for, .missed = count};
  }
  made.runs.insert(made.runs.end(), on_time.begin(), on_time.end());
  return made;
}

TEST(Plan, AgreesWithAWalkOverEveryTick) {
  constexpr unsigned seed = 20261116;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
  };
  const std::array expressions = {"* * * * *",      "*/7 * * * *",      "0 9 * * MON-FRI", "@every 90s",
                                  "30 1,2,3 * * *", "*/20 */5 * * * *", "@hourly",         "0 0 L * *"};
  const std::array zones = {"UTC", "Europe/Zurich", "Australia/Lord_Howe", "America/Sao_Paulo"};
  const std::array starts = {"2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z", "2026-04-04T10:00:00Z"};
  std::size_t runs = 0;
  for (int i = 0; i < 3000; ++i) {
    CronTrigger made = trigger(expressions[static_cast<std::size_t>(below(8))], static_cast<MisfirePolicy>(below(3)),
                               zones[static_cast<std::size_t>(below(4))]);
    made.misfire_grace = std::chrono::seconds(1 + below(below(2) == 0 ? 90 : 7200));
    made.catchup_limit = static_cast<int>(1 + below(20));
    if (below(2) == 0) { made.jitter = Duration(below(3'600'000'000)); }
    const Time from = parse_time(starts[static_cast<std::size_t>(below(3))]) + Duration(below(4'000'000'000));
    if (below(4) == 0) { made.start = from + std::chrono::seconds(below(40'000)) - 10'000s; }
    if (below(4) == 0) { made.end = made.start.value_or(from) + std::chrono::seconds(below(40'000)); }
    Situation now{
        .activity_id = "a", .cursor = from, .now = from + std::chrono::seconds(below(80'000)), .most = 100000};
    if (below(20) == 0) { now.now = from - 1h; }
    const Plan expected = naive_plan(made, now);
    const Plan got = plan(made, now);
    SCOPED_TRACE(made.timetable.describe() + " " + std::string(to_word(made.misfire_policy)) + " from " +
                 format_time(now.cursor) + " at " + format_time(now.now) + " jitter " + format_duration(made.jitter));
    ASSERT_EQ(got.runs, expected.runs);
    ASSERT_EQ(got.dropped, expected.dropped);
    ASSERT_EQ(got.cursor, expected.cursor);
    ASSERT_EQ(got.next, expected.next);
    runs += got.runs.size();
  }
  EXPECT_GT(runs, 3000U);
}

// Whenever tickers look, every tick is either run once or dropped once.
TEST(Plan, LooksAtAnyTimesHandleEveryTickOnce) {
  std::mt19937 random(7);
  for (const MisfirePolicy policy : {MisfirePolicy::skip, MisfirePolicy::catchup, MisfirePolicy::compress}) {
    CronTrigger made = trigger("*/20 * * * * *", policy);
    made.catchup_limit = 5;
    made.jitter = 30s;
    const Time from = at("00:00:00");
    Situation now{.activity_id = "a", .cursor = from, .now = from, .most = 4};
    std::int64_t handled = 0;
    for (int i = 0; i < 2000; ++i) {
      now.now += Duration(static_cast<std::int64_t>(random() % 200'000'000)) - 20s;  // the clock may go back too
      const Plan plan_now = plan(made, now);
      ASSERT_GE(plan_now.cursor, now.cursor);
      handled += plan_now.dropped;
      for (const Tick& tick : plan_now.runs) {
        ASSERT_GT(tick.scheduled_for, now.cursor);
        handled += tick.window ? tick.window->missed : 1;
      }
      now.cursor = plan_now.cursor;
    }
    EXPECT_EQ(handled, made.timetable.count(from, now.cursor));
    EXPECT_GT(handled, 1000);
  }
}

TEST(Backfill, HasTheTicksOfARangeBothEndsInsideByPages) {
  CronTrigger every = trigger("*/10 * * * *", MisfirePolicy::skip);
  const TickPage all = ticks_in(every, {.from = at("09:00:00"), .to = at("09:30:00")});
  EXPECT_THAT(all.ticks, ElementsAre(at("09:00:00"), at("09:10:00"), at("09:20:00"), at("09:30:00")));
  EXPECT_EQ(all.left, 0);
  EXPECT_EQ(all.next_from, std::nullopt);
  const TickPage first = ticks_in(every, {.from = at("09:00:00"), .to = at("09:30:00")}, 3);
  EXPECT_EQ(first.left, 1);
  EXPECT_THAT(ticks_in(every, {.from = *first.next_from, .to = at("09:30:00")}, 3).ticks, ElementsAre(at("09:30:00")));
  every.start = at("09:15:00");
  every.end = at("09:25:00");
  EXPECT_THAT(ticks_in(every, {.from = at("00:00:00"), .to = at("23:30:00")}).ticks, ElementsAre(at("09:20:00")));
}

TEST(Backfill, GoesForwardAndNotBeyondNow) {
  EXPECT_NO_THROW(check_backfill({.from = at("09:00:00"), .to = at("10:00:00")}, at("10:00:00")));
  EXPECT_THROW(check_backfill({.from = at("10:00:00"), .to = at("09:00:00")}, at("12:00:00")), InvalidArgument);
  EXPECT_THROW(check_backfill({.from = at("09:00:00"), .to = at("10:00:01")}, at("10:00:00")), InvalidArgument);
}

}  // namespace
}  // namespace hapax::schedule
