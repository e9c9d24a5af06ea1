#include <hapax/error.hpp>
#include <hapax/time.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace hapax {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string refusal(std::string_view text, std::string_view field = "retention") {
  try {
    (void)parse_duration(text, field);
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.field(), field);
    return error.what();
  }
  ADD_FAILURE() << "'" << text << "' was taken";
  return "";
}

TEST(ParseDuration, ReadsEachUnit) {
  EXPECT_EQ(parse_duration("7us"), 7us);
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("90s"), 90s);
  EXPECT_EQ(parse_duration("15m"), 15min);
  EXPECT_EQ(parse_duration("12h"), 12h);
  EXPECT_EQ(parse_duration("30d"), 720h);
  EXPECT_EQ(parse_duration("2w"), 336h);
}

TEST(ParseDuration, ReadsSumsFromTheLargestUnitDown) {
  EXPECT_EQ(parse_duration("1h30m"), 90min);
  EXPECT_EQ(parse_duration("1w2d3h4m5s6ms7us"), 168h + 48h + 3h + 4min + 5s + 6ms + 7us);
}

TEST(ParseDuration, ZeroNeedsNoUnit) {
  EXPECT_EQ(parse_duration("0"), 0us);
  EXPECT_EQ(parse_duration("0s"), 0us);
}

TEST(ParseDuration, RefusalsNameTheFieldWhatCameAndAnExample) {
  EXPECT_EQ(refusal("90"),
            "retention: '90' has no unit; expected a duration such as \"90s\", \"15m\", \"1h30m\", \"30d\" or \"0\"");
}

TEST(ParseDuration, EverythingElseIsRefused) {
  EXPECT_THAT(refusal(""), HasSubstr("is empty"));
  EXPECT_THAT(refusal("-5s"), HasSubstr("is negative"));
  EXPECT_THAT(refusal("1.5h"), HasSubstr("has a fraction"));
  EXPECT_THAT(refusal("00"), HasSubstr("has no unit"));
  EXPECT_THAT(refusal("1h30"), HasSubstr("has no unit"));
  EXPECT_THAT(refusal("5y"), HasSubstr("has an unknown unit"));
  EXPECT_THAT(refusal("5 s"), HasSubstr("has an unknown unit"));
  EXPECT_THAT(refusal("5S"), HasSubstr("has an unknown unit"));
  EXPECT_THAT(refusal("30m1h"), HasSubstr("largest first"));
  EXPECT_THAT(refusal("1h1h"), HasSubstr("once each"));
  EXPECT_THAT(refusal("s"), HasSubstr("is not a duration"));
  EXPECT_THAT(refusal("+5s"), HasSubstr("is not a duration"));
  EXPECT_THAT(refusal("soon"), HasSubstr("is not a duration"));
  EXPECT_THAT(refusal("\x1b[31m"), HasSubstr("'\\x1b[31m'"));
}

TEST(ParseDuration, OverflowIsRefusedAtItsExactBorder) {
  EXPECT_EQ(parse_duration("9223372036854775807us").count(), std::numeric_limits<std::int64_t>::max());
  EXPECT_THAT(refusal("9223372036854775808us"), HasSubstr("is too long"));
  EXPECT_THAT(refusal("99999999999999999999us"), HasSubstr("is too long"));
  EXPECT_THAT(refusal("15250285w"), HasSubstr("is too long"));
  EXPECT_THAT(refusal("9223372036854s776ms"), HasSubstr("is too long"));
}

TEST(FormatDuration, UsesTheLargestUnitsThatFit) {
  EXPECT_EQ(format_duration(0us), "0");
  EXPECT_EQ(format_duration(1us), "1us");
  EXPECT_EQ(format_duration(1500us), "1ms500us");
  EXPECT_EQ(format_duration(90s), "1m30s");
  EXPECT_EQ(format_duration(5400s), "1h30m");
  EXPECT_EQ(format_duration(24h), "1d");
  EXPECT_EQ(format_duration(-90s), "-1m30s");
}

TEST(FormatDuration, SaysDaysAndNeverWeeks) {
  EXPECT_EQ(format_duration(7 * 24h), "7d");
  EXPECT_EQ(format_duration(14 * 24h), "14d");
  EXPECT_EQ(format_duration(30 * 24h), "30d");
  EXPECT_EQ(format_duration(7 * 24h + 1s), "7d1s");
}

TEST(FormatDuration, IsReadBackAsTheSame) {
  for (const Duration duration : {Duration(1), Duration(999'999), Duration(1'000'001), Duration(86'399'999'999),
                                  Duration(604'800'000'001), Duration(std::numeric_limits<std::int64_t>::max())}) {
    EXPECT_EQ(parse_duration(format_duration(duration)), duration) << format_duration(duration);
  }
  EXPECT_EQ(format_duration(Duration(std::numeric_limits<std::int64_t>::min())), "-106751991d4h54s775ms808us");
}

}  // namespace
}  // namespace hapax
