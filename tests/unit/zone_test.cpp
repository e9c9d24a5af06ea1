#include "schedule/zone.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hapax::schedule {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Instant zone_at(std::string_view text) { return std::chrono::floor<std::chrono::seconds>(parse_time(text)); }
Wall wall(std::string_view text) { return Wall(zone_at(std::string(text) + "Z").time_since_epoch()); }

std::string zone_refusal(std::string_view name) {
  try {
    (void)Zone::load(name);
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.field(), "time_zone");
    return error.what();
  }
  ADD_FAILURE() << "'" << name << "' was taken";
  return "";
}

TEST(Zone, IsUtcUnlessTold) {
  EXPECT_EQ(Zone().name(), "UTC");
  EXPECT_EQ(Zone::load("UTC").name(), "UTC");
  EXPECT_EQ(Zone().wall(zone_at("2026-07-01T12:00:00Z")), wall("2026-07-01T12:00:00"));
  EXPECT_EQ(Zone().next_shift(zone_at("2026-07-01T12:00:00Z")), std::nullopt);
}

TEST(Zone, NamesOfTheDatabaseAreTaken) {
  for (const char* name :
       {"Europe/Zurich", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "EST5EDT", "America/Port-au-Prince"}) {
    EXPECT_EQ(Zone::load(name).name(), name);
  }
}

TEST(Zone, UnknownNamesAreRefusedWithTheNearest) {
  EXPECT_EQ(
      zone_refusal("Europe/Zurch"),
      "time_zone: 'Europe/Zurch' is not a time zone; did you mean \"Europe/Zurich\"?; expected an IANA name such as "
      "\"Europe/Zurich\" or \"UTC\"");
  EXPECT_THAT(zone_refusal("zurich"), HasSubstr("did you mean \"Europe/Zurich\"?"));
  EXPECT_THAT(zone_refusal("new york"), HasSubstr("did you mean \"America/New_York\"?"));
  EXPECT_THAT(zone_refusal("Nowhere/Atlantis"), testing::Not(HasSubstr("did you mean")));
  EXPECT_THAT(zone_refusal(""), HasSubstr("'' is not a time zone"));
}

TEST(Zone, PathsAndTheMachinesOwnZoneAreNoNames) {
  for (const char* name : {"/etc/localtime", "/usr/share/zoneinfo/Europe/Zurich", "../zoneinfo/Europe/Zurich",
                           "localtime", "file:/etc/localtime", "libc:localtime", "Europe", "Europe/",
                           "right/Europe/Zurich", "tzdata.zi", "Fixed/UTC+01:00:00", "posixrules"}) {
    EXPECT_THAT(zone_refusal(name), HasSubstr("is not a time zone"));
  }
  EXPECT_THAT(zone_refusal(std::string(1000, 'a')), HasSubstr("is not a time zone"));
  EXPECT_THAT(zone_refusal(std::string_view("UTC\0x", 5)), HasSubstr("'UTC\\x00x'"));
}

// Zurich, 25 October 2026, 01:00 UTC: clocks are set back from 03:00 to 02:00.
TEST(Zone, TimesShownTwiceAreReachedTheFirstTime) {
  const Zone zurich = Zone::load("Europe/Zurich");
  EXPECT_EQ(zurich.reached(wall("2026-10-25T02:30:00")), zone_at("2026-10-25T00:30:00Z"));
  EXPECT_EQ(zurich.reached(wall("2026-10-25T03:00:00")), zone_at("2026-10-25T02:00:00Z"));
  EXPECT_EQ(zurich.latest_wall(zone_at("2026-10-25T00:30:00Z")), wall("2026-10-25T02:30:00"));
  EXPECT_EQ(zurich.latest_wall(zone_at("2026-10-25T00:59:59Z")), wall("2026-10-25T02:59:59"));
  EXPECT_EQ(zurich.wall(zone_at("2026-10-25T01:00:00Z")), wall("2026-10-25T02:00:00"));
  EXPECT_EQ(zurich.latest_wall(zone_at("2026-10-25T01:00:00Z")), wall("2026-10-25T02:59:59"));
  EXPECT_EQ(zurich.latest_wall(zone_at("2026-10-25T01:59:59Z")), wall("2026-10-25T02:59:59"));
  EXPECT_EQ(zurich.latest_wall(zone_at("2026-10-25T02:00:00Z")), wall("2026-10-25T03:00:00"));
}

// Zurich, 29 March 2026, 01:00 UTC: clocks are set forward from 02:00 to 03:00.
TEST(Zone, TimesLeftOutAreReachedAtTheShift) {
  const Zone zurich = Zone::load("Europe/Zurich");
  EXPECT_EQ(zurich.reached(wall("2026-03-29T01:59:59")), zone_at("2026-03-29T00:59:59Z"));
  EXPECT_EQ(zurich.reached(wall("2026-03-29T02:00:00")), zone_at("2026-03-29T01:00:00Z"));
  EXPECT_EQ(zurich.reached(wall("2026-03-29T02:59:59")), zone_at("2026-03-29T01:00:00Z"));
  EXPECT_EQ(zurich.reached(wall("2026-03-29T03:00:00")), zone_at("2026-03-29T01:00:00Z"));
  EXPECT_EQ(zurich.reached(wall("2026-03-29T03:00:01")), zone_at("2026-03-29T01:00:01Z"));
}

TEST(Zone, ShiftsFollowEachOther) {
  const Zone zurich = Zone::load("Europe/Zurich");
  const auto spring = zurich.next_shift(zone_at("2026-01-01T00:00:00Z"));
  ASSERT_TRUE(spring);
  EXPECT_EQ(spring->at, zone_at("2026-03-29T01:00:00Z"));
  EXPECT_EQ(spring->from, wall("2026-03-29T02:00:00"));
  EXPECT_EQ(spring->to, wall("2026-03-29T03:00:00"));
  const auto autumn = zurich.next_shift(spring->at);
  ASSERT_TRUE(autumn);
  EXPECT_EQ(autumn->at, zone_at("2026-10-25T01:00:00Z"));
  EXPECT_EQ(autumn->from, wall("2026-10-25T03:00:00"));
  EXPECT_EQ(autumn->to, wall("2026-10-25T02:00:00"));
}

}  // namespace
}  // namespace hapax::schedule
