#include "schedule/cron_calendar.hpp"

#include "base/limits.hpp"

#include <algorithm>
#include <bit>

namespace hapax::schedule {

namespace {

using std::chrono::days;
using std::chrono::local_days;
using std::chrono::months;
using std::chrono::seconds;
using std::chrono::year_month;
using std::chrono::year_month_day;

constexpr int none = -1;
constexpr int day_seconds = 86'400;

constexpr local_days first_day(std::chrono::floor<days>(limits::first_tick).time_since_epoch() - days(2));
constexpr local_days last_day(std::chrono::floor<days>(limits::ticks_end).time_since_epoch() + days(2));

// The bits of a set below and from `bit`, which is at most 64.
constexpr std::uint64_t below(std::uint64_t set, int bit) { return bit >= 64 ? set : set & ((1ULL << bit) - 1); }
constexpr std::uint64_t from(std::uint64_t set, int bit) { return set & ~below(~0ULL, bit); }

// The least member of the set at or after `bit`, and the greatest at or before it; or none.
constexpr int least_from(std::uint64_t set, int bit) {
  const std::uint64_t left = from(set, bit);
  return left == 0 ? none : std::countr_zero(left);
}
constexpr int greatest_until(std::uint64_t set, int bit) {
  const std::uint64_t left = below(set, bit + 1);
  return left == 0 ? none : 63 - std::countl_zero(left);
}
constexpr bool has(std::uint64_t set, int bit) { return (set >> bit & 1) != 0; }
constexpr std::uint32_t only(int bit) { return std::uint32_t{1} << bit; }

// The layout of a month's days.
struct Month {
  int length;    // in days
  int first_is;  // the weekday of the 1st, Sunday is 0

  [[nodiscard]] int weekday(int day) const { return (first_is + day - 1) % 7; }
  [[nodiscard]] int first(int weekday_wanted) const { return 1 + (weekday_wanted - first_is + 7) % 7; }
  [[nodiscard]] std::uint32_t all() const { return static_cast<std::uint32_t>((1ULL << (length + 1)) - 2); }
};

Month look_up(year_month month) {
  const year_month_day last = month / std::chrono::last;
  return {.length = static_cast<int>(static_cast<unsigned>(last.day())),
          .first_is = static_cast<int>(std::chrono::weekday(local_days(month / 1)).c_encoding())};
}

// The Monday-to-Friday nearest to a day of the month, within the month.
int nearest_workday(const Month& month, int day) {
  const int weekday = month.weekday(day);
  if (weekday == 6) { return day > 1 ? day - 1 : day + 2; }
  if (weekday == 0) { return day < month.length ? day + 1 : day - 2; }
  return day;
}

std::uint32_t by_day(const CronFields& fields, const Month& month) {
  std::uint32_t out = fields.days;
  for (std::uint32_t rest = fields.days_before_last; rest != 0; rest &= rest - 1) {
    const int day = month.length - std::countr_zero(rest);
    if (day >= 1) { out |= only(day); }
  }
  for (std::uint32_t rest = fields.nearest_workdays; rest != 0; rest &= rest - 1) {
    const int day = std::countr_zero(rest);
    if (day <= month.length) { out |= only(nearest_workday(month, day)); }
  }
  if (fields.last_workday) { out |= only(nearest_workday(month, month.length)); }
  return out & month.all();
}

std::uint32_t by_weekday(const CronFields& fields, const Month& month) {
  std::uint32_t out = 0;
  std::uint32_t special = fields.last_weekdays;
  for (const std::uint32_t nth : fields.nth_weekdays) { special |= nth; }
  for (int weekday = 0; weekday < 7; ++weekday) {
    const int first = month.first(weekday);
    if (has(fields.weekdays, weekday)) { out |= 0x1020'4081U << first; }  // every seventh day
    for (int number = 1; number <= 5 && has(special, weekday); ++number) {
      const int day = first + 7 * (number - 1);
      if (day > month.length) { break; }
      const bool is_last = day + 7 > month.length;
      if (has(fields.nth_weekdays[static_cast<std::size_t>(number)], weekday) ||
          (is_last && has(fields.last_weekdays, weekday))) {
        out |= only(day);
      }
    }
  }
  return out & month.all();
}

std::uint32_t days_in(const CronFields& fields, unsigned number, const Month& month) {
  if (!has(fields.months, static_cast<int>(number))) { return 0; }
  const std::uint32_t one = by_day(fields, month);
  const std::uint32_t other = by_weekday(fields, month);
  return fields.either_day ? one | other : one & other;
}

struct Clock {
  int hour;
  int minute;
  int second;
};

Clock clock_of(seconds into_day) {
  const int count = static_cast<int>(into_day.count());
  return {.hour = count / 3600, .minute = count / 60 % 60, .second = count % 60};
}

seconds into_day(int hour, int minute, int second) { return seconds(hour * 3600 + minute * 60 + second); }

std::optional<seconds> first_clock(const CronFields& fields, seconds earliest) {
  const Clock clock = clock_of(earliest);
  const int first_minute = std::countr_zero(fields.minutes);
  const int first_second = std::countr_zero(fields.seconds);
  if (has(fields.hours, clock.hour)) {
    if (has(fields.minutes, clock.minute)) {
      const int second = least_from(fields.seconds, clock.second);
      if (second != none) { return into_day(clock.hour, clock.minute, second); }
    }
    const int minute = least_from(fields.minutes, clock.minute + 1);
    if (minute != none) { return into_day(clock.hour, minute, first_second); }
  }
  const int hour = least_from(fields.hours, clock.hour + 1);
  if (hour == none) { return std::nullopt; }
  return into_day(hour, first_minute, first_second);
}

std::optional<seconds> last_clock(const CronFields& fields, seconds latest) {
  const Clock clock = clock_of(latest);
  const int last_minute = greatest_until(fields.minutes, 59);
  const int last_second = greatest_until(fields.seconds, 59);
  if (has(fields.hours, clock.hour)) {
    if (has(fields.minutes, clock.minute)) {
      const int second = greatest_until(fields.seconds, clock.second);
      if (second != none) { return into_day(clock.hour, clock.minute, second); }
    }
    const int minute = greatest_until(fields.minutes, clock.minute - 1);
    if (minute != none) { return into_day(clock.hour, minute, last_second); }
  }
  const int hour = greatest_until(fields.hours, clock.hour - 1);
  if (hour == none) { return std::nullopt; }
  return into_day(hour, last_minute, last_second);
}

// The number of matching times of a day before `end`.
std::int64_t count_clocks(const CronFields& fields, seconds end) {
  const std::int64_t a_minute = std::popcount(fields.seconds);
  const std::int64_t an_hour = std::popcount(fields.minutes) * a_minute;
  if (end.count() >= day_seconds) { return std::popcount(fields.hours) * an_hour; }
  const Clock clock = clock_of(end);
  std::int64_t count = std::popcount(below(fields.hours, clock.hour)) * an_hour;
  if (!has(fields.hours, clock.hour)) { return count; }
  count += std::popcount(below(fields.minutes, clock.minute)) * a_minute;
  if (!has(fields.minutes, clock.minute)) { return count; }
  return count + std::popcount(below(fields.seconds, clock.second));
}

year_month month_of(const year_month_day& date) { return date.year() / date.month(); }
int day_of(const year_month_day& date) { return static_cast<int>(static_cast<unsigned>(date.day())); }

std::optional<local_days> first_day_from(const CronFields& fields, local_days earliest) {
  if (earliest > last_day) { return std::nullopt; }
  const year_month_day date(std::max(earliest, first_day));
  const year_month end = month_of(year_month_day(last_day));
  int from_day = day_of(date);
  for (year_month month = month_of(date); month <= end; month += months(1)) {
    const int day = least_from(days_of(fields, month), from_day);
    if (day != none) { return local_days(month / day); }
    from_day = 1;
  }
  return std::nullopt;
}

std::optional<local_days> last_day_until(const CronFields& fields, local_days latest) {
  if (latest < first_day) { return std::nullopt; }
  const year_month_day date(std::min(latest, last_day));
  const year_month end = month_of(year_month_day(first_day));
  int until_day = day_of(date);
  for (year_month month = month_of(date); month >= end; month -= months(1)) {
    const int day = greatest_until(days_of(fields, month), until_day);
    if (day != none) { return local_days(month / day); }
    until_day = 31;
  }
  return std::nullopt;
}

// The number of matching days in [from_day, to_day).
std::int64_t count_days(const CronFields& fields, local_days from_day, local_days to_day) {
  std::int64_t count = 0;
  for (local_days at = from_day; at < to_day;) {
    const year_month_day date(at);
    const local_days next_month(month_of(date) / 1 + months(1));
    const std::uint64_t left = from(days_of(fields, month_of(date)), day_of(date));
    const auto length = static_cast<int>((std::min(next_month, to_day) - at).count());
    count += std::popcount(below(left, day_of(date) + length));
    at = next_month;
  }
  return count;
}

bool is_meant(const CronFields& fields, local_days day) {
  const year_month_day date(day);
  return has(days_of(fields, month_of(date)), day_of(date));
}

}  // namespace

std::uint32_t days_of(const CronFields& fields, year_month month) {
  const auto number = static_cast<unsigned>(month.month());
  // Most months of a search have no match by their number alone; for those the calendar is not computed.
  if (!has(fields.months, static_cast<int>(number))) { return 0; }
  return days_in(fields, number, look_up(month));
}

bool ever_fires(const CronFields& fields) {
  // A month is fully described by its length and first weekday, so these combinations cover all years.
  static constexpr int longest[] = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (unsigned number = 1; number <= 12; ++number) {
    for (int length = number == 2 ? 28 : longest[number]; length <= longest[number]; ++length) {
      for (int weekday = 0; weekday < 7; ++weekday) {
        if (days_in(fields, number, {.length = length, .first_is = weekday}) != 0) { return true; }
      }
    }
  }
  return false;
}

std::optional<Wall> first_from(const CronFields& fields, Wall earliest) {
  const auto today = std::chrono::floor<days>(earliest);
  auto day = first_day_from(fields, today);
  if (day && *day == today) {
    if (const auto clock = first_clock(fields, earliest - today)) { return *day + *clock; }
    day = first_day_from(fields, today + days(1));
  }
  if (!day) { return std::nullopt; }
  return *day + into_day(least_from(fields.hours, 0), least_from(fields.minutes, 0), least_from(fields.seconds, 0));
}

std::optional<Wall> last_until(const CronFields& fields, Wall latest) {
  const auto today = std::chrono::floor<days>(latest);
  auto day = last_day_until(fields, today);
  if (day && *day == today) {
    if (const auto clock = last_clock(fields, latest - today)) { return *day + *clock; }
    day = last_day_until(fields, today - days(1));
  }
  if (!day) { return std::nullopt; }
  return *day + into_day(greatest_until(fields.hours, 23), greatest_until(fields.minutes, 59),
                         greatest_until(fields.seconds, 59));
}

std::int64_t count_between(const CronFields& fields, Wall begin, Wall end) {
  if (begin >= end) { return 0; }
  const auto begin_day = std::chrono::floor<days>(begin);
  const auto end_day = std::chrono::floor<days>(end);
  std::int64_t count = count_days(fields, begin_day, end_day) * count_clocks(fields, seconds(day_seconds));
  if (is_meant(fields, begin_day)) { count -= count_clocks(fields, begin - begin_day); }
  if (is_meant(fields, end_day)) { count += count_clocks(fields, end - end_day); }
  return count;
}

}  // namespace hapax::schedule
