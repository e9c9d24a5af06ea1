#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "schedule/cron.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>

namespace hapax::schedule {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

CronFields fields(std::string_view text) { return parse_cron(text).fields; }

std::uint64_t set_of(std::initializer_list<int> values) {
  std::uint64_t set = 0;
  for (const int value : values) { set |= std::uint64_t{1} << value; }
  return set;
}

std::string refusal(std::string_view text) {
  try {
    (void)parse_cron(text, "cron");
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.field(), "cron") << text;
    return error.what();
  }
  ADD_FAILURE() << "'" << text << "' was taken";
  return "";
}

TEST(CronParse, FiveFieldsStartAtSecondZero) {
  const CronFields read = fields("5 9 1 2 3");
  EXPECT_EQ(read.seconds, set_of({0}));
  EXPECT_EQ(read.minutes, set_of({5}));
  EXPECT_EQ(read.hours, set_of({9}));
  EXPECT_EQ(read.days, set_of({1}));
  EXPECT_EQ(read.months, set_of({2}));
  EXPECT_EQ(read.weekdays, set_of({3}));
}

TEST(CronParse, SixFieldsHaveTheSecondFirst) {
  const CronFields read = fields("30 5 9 1 2 3");
  EXPECT_EQ(read.seconds, set_of({30}));
  EXPECT_EQ(read.minutes, set_of({5}));
  EXPECT_EQ(read.weekdays, set_of({3}));
}

TEST(CronParse, ListsRangesAndSteps) {
  EXPECT_EQ(fields("0,7,59 * * * *").minutes, set_of({0, 7, 59}));
  EXPECT_EQ(fields("* 9-12,20 * * *").hours, set_of({9, 10, 11, 12, 20}));
  EXPECT_EQ(fields("*/20 * * * *").minutes, set_of({0, 20, 40}));
  EXPECT_EQ(fields("*/25 * * * *").minutes, set_of({0, 25, 50}));
  EXPECT_EQ(fields("10-30/10 * * * *").minutes, set_of({10, 20, 30}));
  EXPECT_EQ(fields("10-30/15 * * * *").minutes, set_of({10, 25}));
  EXPECT_EQ(fields("45/5 * * * *").minutes, set_of({45, 50, 55}));
  EXPECT_EQ(fields("*/60 * * * *").minutes, set_of({0}));
  EXPECT_EQ(fields("0 0 */10 * *").days, set_of({1, 11, 21, 31}));
  EXPECT_EQ(fields("0 0 1 */5 *").months, set_of({1, 6, 11}));
  EXPECT_EQ(fields("05 009 * * *"), fields("5 9 * * *"));
}

TEST(CronParse, NamesOfEitherCase) {
  EXPECT_EQ(fields("0 0 1 jan,Feb,DEC *").months, set_of({1, 2, 12}));
  EXPECT_EQ(fields("0 0 * * sun,Mon,SAT").weekdays, set_of({0, 1, 6}));
  EXPECT_EQ(fields("0 0 * mar-may mon-fri"), fields("0 0 * 3-5 1-5"));
}

TEST(CronParse, SundayIsZeroAndSeven) {
  for (const char* text : {"0 0 * * 0", "0 0 * * 7", "0 0 * * SUN", "0 0 * * 7-7", "0 0 * * 0-0", "0 0 * * 7-0"}) {
    EXPECT_EQ(fields(text).weekdays, set_of({0})) << text;
  }
  EXPECT_EQ(fields("0 0 * * 5-7").weekdays, set_of({5, 6, 0}));
  EXPECT_EQ(fields("0 0 * * 0-7").weekdays, set_of({0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(fields("0 0 * * 1-7/2").weekdays, set_of({1, 3, 5, 0}));
  EXPECT_EQ(fields("0 0 * * 0/3").weekdays, set_of({0, 3, 6}));
  EXPECT_EQ(fields("0 0 * * 5/1").weekdays, set_of({5, 6}));
  EXPECT_EQ(fields("0 0 * * */3").weekdays, set_of({0, 3, 6}));
}

// As in robfig/cron and croniter, the week of a/n ends with Saturday. No two programs agree on 7/n.
TEST(CronParse, StepsFromAWeekdayEndWithSaturdayAndFromSevenAreRefused) {
  EXPECT_EQ(fields("0 0 * * 1/2").weekdays, set_of({1, 3, 5}));
  EXPECT_EQ(fields("0 0 * * MON/3").weekdays, set_of({1, 4}));
  EXPECT_EQ(fields("0 0 * * SUN/2").weekdays, set_of({0, 2, 4, 6}));
  for (const char* text : {"0 0 * * 7/1", "0 0 * * 7/3", "0 0 * * 1,7/2"}) {
    EXPECT_THAT(refusal(text), HasSubstr("means different days to different programs; write 0/")) << text;
  }
  EXPECT_EQ(fields("0 0 7/7 * *").days, set_of({7, 14, 21, 28}));
}

TEST(CronParse, WeekdaysAndMonthsMayRunOverTheirEnd) {
  EXPECT_EQ(fields("0 0 * * FRI-MON").weekdays, set_of({5, 6, 0, 1}));
  EXPECT_EQ(fields("0 0 * * 7-2").weekdays, set_of({0, 1, 2}));
  EXPECT_EQ(fields("0 0 * * SAT-TUE/2").weekdays, set_of({6, 1}));
  EXPECT_EQ(fields("0 0 * NOV-FEB *").months, set_of({11, 12, 1, 2}));
  EXPECT_THAT(refusal("0 22-6 * * *"), HasSubstr("write 22-23,0-6"));
  EXPECT_THAT(refusal("50-10 * * * *"), HasSubstr("runs backwards"));
  EXPECT_THAT(refusal("0 0 28-3 * *"), HasSubstr("write 28-31,1-3"));
}

TEST(CronParse, SpecialDays) {
  EXPECT_EQ(fields("0 0 L * *").days_before_last, set_of({0}));
  EXPECT_EQ(fields("0 0 l-3,L-30 * *").days_before_last, set_of({3, 30}));
  EXPECT_EQ(fields("0 0 15W,1w * *").nearest_workdays, set_of({15, 1}));
  EXPECT_TRUE(fields("0 0 LW * *").last_workday);
  EXPECT_EQ(fields("0 0 * * FRIL,0L").last_weekdays, set_of({5, 0}));
  EXPECT_EQ(fields("0 0 * * 7l").last_weekdays, set_of({0}));
  EXPECT_EQ(fields("0 0 * * fri#2,5#4,7#2").nth_weekdays[2], set_of({5, 0}));
  EXPECT_EQ(fields("0 0 * * fri#2,5#4,7#2").nth_weekdays[4], set_of({5}));
  const CronFields mixed = fields("0 0 1,L * MON,FRI#1");
  EXPECT_EQ(mixed.days, set_of({1}));
  EXPECT_EQ(mixed.days_before_last, set_of({0}));
  EXPECT_EQ(mixed.weekdays, set_of({1}));
  EXPECT_EQ(mixed.nth_weekdays[1], set_of({5}));
}

TEST(CronParse, EitherDayFieldCountsOnlyIfNeitherBeginsWithAStar) {
  for (const char* text : {"0 0 1 * MON", "0 0 1-31 * 0-6", "0 0 5,* * MON", "0 0 L * MON"}) {
    EXPECT_TRUE(fields(text).either_day) << text;
  }
  for (const char* text :
       {"0 0 * * MON", "0 0 1 * *", "0 0 */2 * MON", "0 0 1 * */2", "0 0 ? * MON", "0 0 1 * ?", "0 0 *,5 * MON"}) {
    EXPECT_FALSE(fields(text).either_day) << text;
  }
}

TEST(CronParse, MacrosStandForFields) {
  EXPECT_EQ(fields("@yearly"), fields("0 0 1 1 *"));
  EXPECT_EQ(fields("@annually"), fields("0 0 1 1 *"));
  EXPECT_EQ(fields("@monthly"), fields("0 0 1 * *"));
  EXPECT_EQ(fields("@weekly"), fields("0 0 * * SUN"));
  EXPECT_EQ(fields("@DAILY"), fields("0 0 * * *"));
  EXPECT_EQ(fields("@midnight"), fields("0 0 * * *"));
  EXPECT_EQ(fields("@hourly"), fields("0 * * * *"));
}

TEST(CronParse, EveryTakesADuration) {
  EXPECT_EQ(parse_cron("@every 90s").every, 90s);
  EXPECT_EQ(parse_cron("@every 1h30m10s").every, 5410s);
  EXPECT_EQ(parse_cron("@Every \t 2d").every, 48h);
  EXPECT_EQ(parse_cron("@every 1s").every, 1s);
  EXPECT_EQ(parse_cron("@every 3660d").every, limits::delay_max);
  EXPECT_EQ(parse_cron("0 9 * * *").every, 0s);
  EXPECT_THAT(refusal("@every"), StartsWith("cron: @every: '' is empty; expected a duration such as \"90s\""));
  EXPECT_THAT(refusal("@every 90"), HasSubstr("has no unit"));
  EXPECT_THAT(refusal("@every 0"), HasSubstr("is not whole seconds from 1s to"));
  EXPECT_THAT(refusal("@every 999ms"), HasSubstr("is not whole seconds from 1s to"));
  EXPECT_THAT(refusal("@every 1500ms"), HasSubstr("for example \"@every 90s\""));
  EXPECT_THAT(refusal("@every 3661d"), HasSubstr("3660d"));
  EXPECT_THAT(refusal("@every 1h 5m"), HasSubstr("has an unknown unit"));
}

TEST(CronParse, WhiteSpaceAroundAndBetweenIsNoMatter) {
  EXPECT_EQ(fields("  0\t9  * * MON-FRI \t"), fields("0 9 * * MON-FRI"));
  EXPECT_EQ(parse_cron("  0 9 * * * ").text, "0 9 * * *");
}

TEST(CronParse, RefusalsNameTheFieldItsPlaceAndAnExample) {
  EXPECT_EQ(
      refusal("61 * * * *"),
      "cron: minute (field 1 of 5, at character 1): '61' is not in 0-59; for example \"0\", \"*/15\" or \"5,35\"");
  EXPECT_EQ(
      refusal("0 0  9 32 * MON"),
      "cron: day of month (field 4 of 6, at character 8): '32' is not in 1-31; for example \"1\", \"1,15\", \"L\" or "
      "\"15W\"");
  EXPECT_THAT(refusal("0 24 * * *"), StartsWith("cron: hour (field 2 of 5, at character 3): '24' is not in 0-23"));
  EXPECT_THAT(refusal("0 0 0 * *"), HasSubstr("'0' is not in 1-31"));
  EXPECT_THAT(refusal("0 0 * 13 *"), StartsWith("cron: month (field 4 of 5, at character 7): '13' is not in 1-12"));
  EXPECT_THAT(refusal("0 0 * 0 *"), HasSubstr("'0' is not in 1-12"));
  EXPECT_THAT(refusal("0 0 * * 8"), StartsWith("cron: day of week (field 5 of 5, at character 9): '8' is not in 0-7"));
  EXPECT_THAT(refusal("60 0 0 * * *"), StartsWith("cron: second (field 1 of 6, at character 1): '60' is not in 0-59"));
}

TEST(CronParse, WordsThatAreNotKnown) {
  EXPECT_THAT(refusal("0 9 * * FRIDAY"), HasSubstr("did you mean FRI?"));
  EXPECT_THAT(refusal("0 9 * JULY *"), HasSubstr("did you mean JUL?"));
  EXPECT_THAT(refusal("x * * * *"), HasSubstr("'X' is not a number from 0 to 59"));
  EXPECT_THAT(refusal("-5 * * * *"), HasSubstr("a value is missing"));
  EXPECT_THAT(refusal("5- * * * *"), HasSubstr("a value is missing"));
  EXPECT_THAT(refusal("1.5 * * * *"), HasSubstr("'1.5' is not a number"));
  EXPECT_THAT(refusal("+5 * * * *"), HasSubstr("'+5' is not a number"));
  EXPECT_THAT(refusal("1-2-3 * * * *"), HasSubstr("'2-3' is not a number"));
  EXPECT_THAT(refusal("** * * * *"), HasSubstr("'**' is not a number"));
  EXPECT_THAT(refusal("L * * * *"), HasSubstr("L, W and # are for the day fields"));
  EXPECT_THAT(refusal("99999999999999999999 * * * *"), HasSubstr("is not in 0-59"));
  EXPECT_THAT(refusal("\x1b[31m * * * *"), HasSubstr("'\\x1b[31M'"));
}

TEST(CronParse, NonsenseIsRefused) {
  EXPECT_THAT(refusal("1,,2 * * * *"), HasSubstr("empty place in its list"));
  EXPECT_THAT(refusal(", * * * *"), HasSubstr("empty place in its list"));
  EXPECT_THAT(refusal("1, * * * *"), HasSubstr("empty place in its list"));
  EXPECT_THAT(refusal("*/0 * * * *"), HasSubstr("'0' is not a step of 1 to 60"));
  EXPECT_THAT(refusal("*/ * * * *"), HasSubstr("'' is not a step"));
  EXPECT_THAT(refusal("*/x * * * *"), HasSubstr("'X' is not a step"));
  EXPECT_THAT(refusal("*/5/5 * * * *"), HasSubstr("'5/5' is not a step"));
  EXPECT_THAT(refusal("*/90 * * * *"), AllOf(HasSubstr("does not go on in the next hour"), HasSubstr("@every 90m")));
  EXPECT_THAT(refusal("0 */25 * * *"), HasSubstr("does not go on in the next day"));
  EXPECT_THAT(refusal("0 0 */32 * *"), HasSubstr("is not a step of 1 to 31;"));
  EXPECT_THAT(refusal("? * * * *"), HasSubstr("'?' is for the two day fields"));
  EXPECT_THAT(refusal("0 0 ?,5 * *"), HasSubstr("'?' stands alone"));
  EXPECT_THAT(refusal("0 0 ?/2 * *"), HasSubstr("'?' stands alone"));
  EXPECT_THAT(refusal("0 0 L-0 * *"), HasSubstr("from 1 to 30"));
  EXPECT_THAT(refusal("0 0 L-31 * *"), HasSubstr("from 1 to 30"));
  EXPECT_THAT(refusal("0 0 L/2 * *"), HasSubstr("'L' is not a number"));
  EXPECT_THAT(refusal("0 0 32W * *"), HasSubstr("from 1 to 31, or L"));
  EXPECT_THAT(refusal("0 0 W * *"), HasSubstr("from 1 to 31, or L"));
  EXPECT_THAT(refusal("0 0 1-5W * *"), HasSubstr("from 1 to 31, or L"));
  EXPECT_THAT(refusal("0 0 * * L"), HasSubstr("FRIL is the last Friday"));
  EXPECT_THAT(refusal("0 0 * * MON-FRIL"), HasSubstr("L and # take one day each"));
  EXPECT_THAT(refusal("0 0 * * MON-FRI#2"), HasSubstr("L and # take one day each"));
  EXPECT_THAT(refusal("0 0 * * FRI#6"), HasSubstr("from 1 to 5"));
  EXPECT_THAT(refusal("0 0 * * FRI#0"), HasSubstr("from 1 to 5"));
  EXPECT_THAT(refusal("0 0 * * #2"), HasSubstr("a value is missing"));
  EXPECT_THAT(refusal("0 0 * * 8L"), HasSubstr("'8' is not in 0-7"));
}

TEST(CronParse, ADayThatNoYearHasIsRefused) {
  EXPECT_THAT(refusal("0 0 30 2 *"),
              StartsWith("cron: day of month (field 3 of 5, at character 5): '0 0 30 2 *' never fires"));
  EXPECT_THAT(refusal("0 0 31 4,6,9,11 *"), HasSubstr("never fires"));
  EXPECT_THAT(refusal("0 0 31W 2 ?"), HasSubstr("never fires"));
  EXPECT_THAT(refusal("0 0 L-29 2 *"), HasSubstr("never fires"));
  EXPECT_NO_THROW((void)parse_cron("0 0 29 2 *"));
  EXPECT_NO_THROW((void)parse_cron("0 0 L-28 2 *"));
  EXPECT_NO_THROW((void)parse_cron("0 0 30 2 MON"));                   // either field matches: Mondays
  EXPECT_NO_THROW((void)parse_cron("0 0 ? 2 MON#5"));                  // 29 February on a Monday
  EXPECT_THAT(refusal("0 0 */30 2 MON#2"), HasSubstr("never fires"));  // the second Monday is never the 1st
}

TEST(CronParse, TheWholeThatIsNone) {
  EXPECT_THAT(refusal(""), StartsWith("cron: is empty; for example \"0 9 * * MON-FRI\""));
  EXPECT_THAT(refusal(" \t "), HasSubstr("is empty"));
  EXPECT_THAT(refusal("0 9 * *"), AllOf(HasSubstr("has 4 fields"), HasSubstr("for example \"0 9 * * MON-FRI\"")));
  EXPECT_THAT(refusal("9"), HasSubstr("has 1 field;"));
  EXPECT_THAT(refusal("0 0 9 * * ? 2026"), HasSubstr("there is none for the year"));
  EXPECT_THAT(refusal("0 9 * *\n*"), HasSubstr("has 4 fields"));
  EXPECT_THAT(refusal("CRON_TZ=Europe/Zurich 0 9 * * *"), HasSubstr("the zone is given as time_zone"));
  EXPECT_THAT(refusal("TZ=UTC 0 9 * * *"), HasSubstr("the zone is given as time_zone"));
  EXPECT_THAT(refusal("@dayly"), HasSubstr("did you mean @daily?"));
  EXPECT_THAT(refusal("@reboot"), AllOf(HasSubstr("'@reboot' is not known"), HasSubstr("@every 90s")));
  EXPECT_THAT(refusal("@"), HasSubstr("'@' is not known"));
  EXPECT_THAT(refusal("@daily 5"), HasSubstr("'5' after @daily"));
  EXPECT_THAT(refusal("0 9 * * *" + std::string(300, ' ')), HasSubstr("the limit is 255 bytes"));
}

TEST(CronParse, TheCallerNamesTheArgument) {
  try {
    (void)parse_cron("0 25 * * *", "trigger.cron");
    ADD_FAILURE();
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.field(), "trigger.cron");
    EXPECT_THAT(error.what(), StartsWith("trigger.cron: hour (field 2 of 5"));
  }
}

}  // namespace
}  // namespace hapax::schedule
