#include <hapax/time_bucket.hpp>

#include "base/sha256.hpp"

#include <gtest/gtest.h>

namespace hapax {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;

struct Row {
  std::string_view at;
  std::string_view minute;
  std::string_view hour;
  std::string_view day;
  std::string_view week;
  std::string_view month;
};

// Keys are stored in identities, so these never change.
constexpr Row rows[] = {
    {"1970-01-01T00:00:00Z", "j-1970-01-01-00-00", "j-1970-01-01-00", "j-1970-01-01", "j-1970-W01", "j-1970-01"},
    {"1969-12-31T23:59:59.999999Z", "j-1969-12-31-23-59", "j-1969-12-31-23", "j-1969-12-31", "j-1970-W01", "j-1969-12"},
    {"1999-12-31T23:59:59.999999Z", "j-1999-12-31-23-59", "j-1999-12-31-23", "j-1999-12-31", "j-1999-W52", "j-1999-12"},
    {"2000-01-01T00:00:00Z", "j-2000-01-01-00-00", "j-2000-01-01-00", "j-2000-01-01", "j-1999-W52", "j-2000-01"},
    {"2000-02-29T12:30:00Z", "j-2000-02-29-12-30", "j-2000-02-29-12", "j-2000-02-29", "j-2000-W09", "j-2000-02"},
    {"2024-02-29T23:59:59.999999Z", "j-2024-02-29-23-59", "j-2024-02-29-23", "j-2024-02-29", "j-2024-W09", "j-2024-02"},
    {"2024-03-01T00:00:00Z", "j-2024-03-01-00-00", "j-2024-03-01-00", "j-2024-03-01", "j-2024-W09", "j-2024-03"},
    {"2026-03-01T09:05:59.999999Z", "j-2026-03-01-09-05", "j-2026-03-01-09", "j-2026-03-01", "j-2026-W09", "j-2026-03"},
    {"2026-03-01T09:06:00Z", "j-2026-03-01-09-06", "j-2026-03-01-09", "j-2026-03-01", "j-2026-W09", "j-2026-03"},
    {"2026-03-01T10:00:00+01:00", "j-2026-03-01-09-00", "j-2026-03-01-09", "j-2026-03-01", "j-2026-W09", "j-2026-03"},
    {"2026-12-31T20:00:00-05:00", "j-2027-01-01-01-00", "j-2027-01-01-01", "j-2027-01-01", "j-2026-W53", "j-2027-01"},
    {"2099-12-31T23:59:59.999999Z", "j-2099-12-31-23-59", "j-2099-12-31-23", "j-2099-12-31", "j-2099-W53", "j-2099-12"},
    {"2100-02-28T00:00:00Z", "j-2100-02-28-00-00", "j-2100-02-28-00", "j-2100-02-28", "j-2100-W08", "j-2100-02"},
    {"2100-03-01T00:00:00Z", "j-2100-03-01-00-00", "j-2100-03-01-00", "j-2100-03-01", "j-2100-W09", "j-2100-03"},
};

TEST(TimeBucket, NamesThePeriodAnInstantLiesIn) {
  for (const Row& row : rows) {
    const Time at = parse_time(row.at);
    EXPECT_EQ(per_minute("j", at), row.minute) << row.at;
    EXPECT_EQ(per_hour("j", at), row.hour) << row.at;
    EXPECT_EQ(per_day("j", at), row.day) << row.at;
    EXPECT_EQ(per_iso_week("j", at), row.week) << row.at;
    EXPECT_EQ(per_month("j", at), row.month) << row.at;
  }
}

TEST(TimeBucket, StartsWithTheJobAsItIsSpelt) {
  const Time at = parse_time("2026-03-01T09:30:00Z");
  EXPECT_EQ(per_minute("sales-report", at), "sales-report-2026-03-01-09-30");
  EXPECT_EQ(per_iso_week("Zürich %d", at), "Zürich %d-2026-W09");
  EXPECT_EQ(per_month("", at), "-2026-03");
}

struct Week {
  std::string_view day;
  std::string_view week;
};

// Years of 53 and of 52 weeks, and the days at their ends that belong to the year before or after.
constexpr Week weeks[] = {
    {"1970-12-31", "1970-W53"}, {"1971-01-03", "1970-W53"}, {"1971-01-04", "1971-W01"}, {"1977-01-02", "1976-W53"},
    {"2000-01-02", "1999-W52"}, {"2000-01-03", "2000-W01"}, {"2005-01-02", "2004-W53"}, {"2008-12-28", "2008-W52"},
    {"2008-12-29", "2009-W01"}, {"2009-12-31", "2009-W53"}, {"2010-01-03", "2009-W53"}, {"2010-01-04", "2010-W01"},
    {"2012-01-01", "2011-W52"}, {"2018-12-31", "2019-W01"}, {"2020-12-31", "2020-W53"}, {"2021-01-03", "2020-W53"},
    {"2021-01-04", "2021-W01"}, {"2024-12-29", "2024-W52"}, {"2024-12-30", "2025-W01"}, {"2025-12-28", "2025-W52"},
    {"2025-12-29", "2026-W01"}, {"2026-01-01", "2026-W01"}, {"2026-01-04", "2026-W01"}, {"2026-01-05", "2026-W02"},
    {"2026-12-27", "2026-W52"}, {"2026-12-28", "2026-W53"}, {"2027-01-03", "2026-W53"}, {"2027-01-04", "2027-W01"},
    {"2098-12-29", "2099-W01"}, {"2099-01-01", "2099-W01"}, {"2099-12-31", "2099-W53"}, {"2100-01-03", "2099-W53"},
};

TEST(TimeBucket, WeeksAreThoseOfIso8601) {
  for (const Week& row : weeks) {
    const Time midnight = parse_time(std::string(row.day) + "T00:00:00Z");
    EXPECT_EQ(per_iso_week("j", midnight), "j-" + std::string(row.week)) << row.day;
    EXPECT_EQ(per_iso_week("j", midnight + 24h - 1us), "j-" + std::string(row.week)) << row.day;
  }
}

// Every day from 1970 to 2099 against another implementation, Python's:
//   import datetime, hashlib
//   days = [datetime.date(1970, 1, 1) + datetime.timedelta(n) for n in range(47482)]
//   print(hashlib.sha256("".join("j-%d-W%02d\n" % d.isocalendar()[:2] for d in days).encode()).hexdigest())
//   print(hashlib.sha256("".join("j-%s\n" % d for d in days).encode()).hexdigest())
TEST(TimeBucket, AgreesWithPythonOnEveryDay) {
  std::string by_week;
  std::string by_day;
  for (sys_days day{}; day < sys_days(std::chrono::year(2100) / 1 / 1); day += std::chrono::days(1)) {
    by_week += per_iso_week("j", day) + "\n";
    by_day += per_day("j", day) + "\n";
  }
  EXPECT_EQ(base::to_hex(base::sha256(by_week)), "c7baac9b710b9e86f7db43835b2b82b60547a3b6fc75bacb9601ab6fc120d832");
  EXPECT_EQ(base::to_hex(base::sha256(by_day)), "6e8a4e6021f4cdcf7f59a7862932740756bdf46bf8c1a4eb6faa5921abd364de");
}

TEST(TimeBucket, ChangesAtTheBorderOfItsPeriodAndNowhereElse) {
  const Time monday = parse_time("2026-06-01T00:00:00Z");
  EXPECT_NE(per_minute("j", monday - 1us), per_minute("j", monday));
  EXPECT_EQ(per_minute("j", monday), per_minute("j", monday + 1min - 1us));
  EXPECT_EQ(per_hour("j", monday), per_hour("j", monday + 1h - 1us));
  EXPECT_EQ(per_day("j", monday), per_day("j", monday + 24h - 1us));
  EXPECT_EQ(per_iso_week("j", monday), per_iso_week("j", monday + 7 * 24h - 1us));
  EXPECT_NE(per_iso_week("j", monday), per_iso_week("j", monday + 7 * 24h));
  EXPECT_NE(per_iso_week("j", monday - 1us), per_iso_week("j", monday));
  EXPECT_EQ(per_month("j", monday), per_month("j", monday + 30 * 24h - 1us));
  EXPECT_NE(per_month("j", monday), per_month("j", monday + 30 * 24h));
}

}  // namespace
}  // namespace hapax
