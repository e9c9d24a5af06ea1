// Cron expressions: parses, checks and describes them in plain English.
//
//   ┌ second, 0-59; optional, default 0
//   │ ┌ minute, 0-59
//   │ │ ┌ hour, 0-23
//   │ │ │ ┌ day of the month, 1-31
//   │ │ │ │ ┌ month, 1-12 or JAN-DEC
//   │ │ │ │ │ ┌ day of the week, 0-7 or SUN-SAT; 0 and 7 are Sunday
//   0 0 9 * * MON-FRI
//
// A field is a list, with commas, of
//   *            every value; in the two day fields ? means the same
//   a   a-b      a value, or a range. Ranges of weekdays and months may wrap around: FRI-MON, NOV-FEB. Ranges of other
//                fields may not: 22-6 is refused, and the error suggests "22-23,0-6".
//   */n a-b/n    every n-th value, counted from the first
//   a/n          every n-th value from a to the field's last one (for weekdays: Saturday)
// The day of the month also takes L (the last day), L-3 (three days before the last), 15W (the Monday-to-Friday nearest
// to the 15th, in the same month) and LW (the last Monday-to-Friday). The day of the week also takes FRIL or 5L (the
// last Friday) and FRI#2 or 5#2 (the second Friday). Names and letters may be of either case.
//
// Both day fields. As in Vixie cron: if both fields are restricted, a day matches when either field does. If one of
// them begins with * or is ?, both must match. */2 begins with * too: "0 0 */2 * MON" means the Mondays among the odd
// days, "0 0 1-31/2 * MON" the odd days and also all Mondays.
//
// In place of fields: @yearly (@annually), @monthly, @weekly (on Sunday), @daily (@midnight), @hourly; and @every 90s,
// which does not depend on the wall clock: the ticks lie at whole multiples of the period from an anchor
// (cron_timetable.hpp). The period is in whole seconds, as a tick's ID has a resolution of one second.
#pragma once

#include <hapax/time.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace hapax::schedule {

// The values of each field as sets: bit n of a set stands for the value n.
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
  bool either_day = false;                         // a day matches if one day field does; otherwise both must

  bool operator==(const CronFields&) const = default;
};

struct Cron {
  std::string text;               // as it was given, without white space around it
  CronFields fields;              // of an expression with fields, or of a macro such as @daily
  std::chrono::seconds every{0};  // more than 0 for @every; then the fields are empty
};

// Throws InvalidArgument that names `field`, the expression's field and its position, and shows an example. An
// expression that could never fire, such as 30 February, is refused too.
[[nodiscard]] Cron parse_cron(std::string_view text, std::string_view field = "cron");

// "at 09:00 on weekdays, Europe/Zurich". Two expressions with the same description have the same ticks.
[[nodiscard]] std::string describe(const Cron& cron, std::string_view zone);

}  // namespace hapax::schedule
