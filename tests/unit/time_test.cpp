#include <hapax/error.hpp>
#include <hapax/time.hpp>

#include <gtest/gtest.h>

namespace hapax {
namespace {

using namespace std::chrono_literals;

// 2026-03-01T09:00:00Z
const Time morning = Time(std::chrono::sys_days(std::chrono::year(2026) / 3 / 1)) + 9h;

TEST(FormatTime, WritesUtcWithAFractionOnlyWhenThereIsOne) {
  EXPECT_EQ(format_time(morning), "2026-03-01T09:00:00Z");
  EXPECT_EQ(format_time(morning + 250ms), "2026-03-01T09:00:00.250Z");
  EXPECT_EQ(format_time(morning + 7us), "2026-03-01T09:00:00.000007Z");
  EXPECT_EQ(format_time(Time{}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_time(Time{} - 1us), "1969-12-31T23:59:59.999999Z");
}

TEST(ParseTime, ReadsWhatFormatTimeWrites) {
  for (const Time time : {morning, morning + 250ms, morning + 1us, Time{}, Time{} - 1us}) {
    EXPECT_EQ(parse_time(format_time(time)), time) << format_time(time);
  }
}

TEST(ParseTime, ReadsAnyRfc3339Offset) {
  for (const std::string_view text :
       {"2026-03-01T10:00:00+01:00", "2026-03-01T03:30:00-05:30", "2026-03-01T09:00:00+00:00", "2026-03-01t09:00:00z",
        "2026-03-01 09:00:00.000Z", "2026-02-28T23:00:00-10:00"}) {
    EXPECT_EQ(parse_time(text), morning) << text;
  }
}

TEST(ParseTime, CutsFractionsFinerThanMicroseconds) {
  EXPECT_EQ(parse_time("2026-03-01T09:00:00.1234567899999999999999999Z"), morning + 123'456us);
}

TEST(ParseTime, ALeapSecondIsTheStartOfTheNextDay) {
  const Time expected = Time(std::chrono::sys_days(std::chrono::year(2017) / 1 / 1));
  EXPECT_EQ(parse_time("2016-12-31T23:59:60Z"), expected);
  EXPECT_EQ(parse_time("2017-01-01T00:59:60+01:00"), expected);
  EXPECT_THROW((void)parse_time("2016-12-31T22:59:60Z"), InvalidArgument);
}

TEST(ParseTime, KnowsTheCalendar) {
  EXPECT_NO_THROW((void)parse_time("2024-02-29T00:00:00Z"));
  EXPECT_THROW((void)parse_time("2026-02-29T00:00:00Z"), InvalidArgument);
}

TEST(ParseTime, EverythingElseIsRefused) {
  for (const std::string_view text : {"",
                                      "now",
                                      "2026-03-01",
                                      "2026-03-01T09:00:00",
                                      "2026-03-01T09:00Z",
                                      "2026-13-01T09:00:00Z",
                                      "2026-00-01T09:00:00Z",
                                      "2026-03-00T09:00:00Z",
                                      "2026-03-01T24:00:00Z",
                                      "2026-03-01T09:60:00Z",
                                      "2026-03-01T09:00:61Z",
                                      "2026-03-01T09:00:00.Z",
                                      "2026-03-01T09:00:00+0100",
                                      "2026-03-01T09:00:00+24:00",
                                      "2026-03-01T09:00:00+01:60",
                                      "2026-03-01T09:00:00Z ",
                                      " 2026-03-01T09:00:00Z",
                                      "26-03-01T09:00:00Z",
                                      "12026-03-01T09:00:00Z",
                                      "2026-3-1T9:00:00Z",
                                      "-026-03-01T09:00:00Z",
                                      "1772355600"}) {
    EXPECT_THROW((void)parse_time(text), InvalidArgument) << text;
  }
}

TEST(ParseTime, RefusalsNameTheFieldWhatCameAndAnExample) {
  try {
    (void)parse_time("tomorrow", "run_at");
    FAIL() << "'tomorrow' was taken";
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.field(), "run_at");
    EXPECT_STREQ(
        error.what(),
        "run_at: 'tomorrow' is not an instant; expected one with an offset such as \"2026-03-01T09:00:00Z\" or "
        "\"2026-03-01T10:00:00+01:00\"");
  }
}

}  // namespace
}  // namespace hapax
