// Cron expressions: read, checked, and said in plain English (SPEC S3).
//
//   ┌ second, 0-59; may be left out, then 0
//   │ ┌ minute, 0-59
//   │ │ ┌ hour, 0-23
//   │ │ │ ┌ day of the month, 1-31
//   │ │ │ │ ┌ month, 1-12 or JAN-DEC
//   │ │ │ │ │ ┌ day of the week, 0-7 or SUN-SAT; 0 and 7 are Sunday
//   0 0 9 * * MON-FRI
//
// A field is a list, with commas, of
//   *            every value; ? says the same in the two day fields
//   a   a-b      a value, or a range. Days of the week and months may run over their end: FRI-MON, NOV-FEB. Minutes
//                and hours may not: 22-6 is refused, and "22-23,0-6" named as the way to say it.
//   */n a-b/n    each n-th of them, counted from the first
//   a/n          each n-th from a to the field's last value (of the week: Saturday)
// and in the day of the month L (the last day), L-3 (three days before it), 15W (the Monday-to-Friday nearest to the
// 15th, in the same month), LW (the last Monday-to-Friday); in the day of the week FRIL or 5L (the last Friday) and
// FRI#2 or 5#2 (the second). Names and letters may be of either case.
//
// Both day fields. As in Vixie cron, a day is meant if either of them matches, when both are restricted; when one of
// them begins with *, or is ?, both have to match. */2 begins with * too: "0 0 */2 * MON" is the Mondays among the odd
// days, "0 0 1-31/2 * MON" the odd days and also all Mondays.
//
// In place of fields: @yearly (@annually), @monthly, @weekly (on Sunday), @daily (@midnight), @hourly; and @every 90s,
// which has nothing to do with the wall clock: its ticks lie at whole multiples of the period from an anchor
// (cron_timetable.hpp). The period is whole seconds, as a tick's identity is its second.
#pragma once

#include <hapax/time.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace hapax::schedule {

// What the fields mean, as sets: bit n of a set stands for the value n.
struct CronFields {
  std::uint64_t seconds = 0;
  std::uint64_t minutes = 0;
  std::uint32_t hours = 0;
  std::uint32_t days = 0;                          // 1 to 31
  std::uint32_t days_before_last = 0;              // bit 0 is L, bit 3 is L-3
  std::uint32_t nearest_workdays = 0;              // bit 15 is 15W
  bool last_workday = false;                       // LW
  std::uint32_t months = 0;                        // 1 to 12
  std::uint32_t weekdays = 0;                      // Sunday is bit 0
  std::uint32_t last_weekdays = 0;                 // bit 5 is FRIL
  std::array<std::uint32_t, 6> nth_weekdays = {};  // bit 5 of number 2 is FRI#2; number 0 stays empty
  bool either_day = false;                         // a day is meant if one day field matches; else both have to

  bool operator==(const CronFields&) const = default;
};

struct Cron {
  std::string text;               // as it was given, without white space around it
  CronFields fields;              // of an expression with fields, and of a macro that stands for one
  std::chrono::seconds every{0};  // more than 0 for @every; then the fields are empty
};

// Throws InvalidArgument naming `field`, the field of the expression and where it begins, and showing an example; also
// for what could never fire, such as 30 February.
[[nodiscard]] Cron parse_cron(std::string_view text, std::string_view field = "cron");

// "at 09:00 on weekdays, Europe/Zurich". Two expressions that are described alike mean the same ticks.
[[nodiscard]] std::string describe(const Cron& cron, std::string_view zone);

}  // namespace hapax::schedule
