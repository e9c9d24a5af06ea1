// Describes an expression in plain English. A set that no common phrase covers is listed member by member, so a
// description is never less precise than the expression.
#include "schedule/cron.hpp"

#include <array>
#include <bit>
#include <cstdio>
#include <vector>

namespace hapax::schedule {

namespace {

using Members = std::vector<int>;

constexpr std::array<std::string_view, 7> weekday_names = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                           "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 13> month_names = {"",        "January",  "February", "March",  "April",
                                                          "May",     "June",     "July",     "August", "September",
                                                          "October", "November", "December"};

constexpr std::uint64_t all_minutes = (1ULL << 60) - 1;
constexpr std::uint32_t all_hours = (1U << 24) - 1;
constexpr std::uint32_t all_days = 0xFFFF'FFFEU;
constexpr std::uint32_t all_months = (1U << 13) - 2;
constexpr std::uint32_t all_weekdays = (1U << 7) - 1;
constexpr std::uint32_t workdays = 0b011'1110;
constexpr std::uint32_t weekend = 0b100'0001;
constexpr int most_clock_times = 6;  // up to this many are listed: "at 09:00, 12:30 and 18:00"

Members members_of(std::uint64_t set) {
  Members out;
  for (; set != 0; set &= set - 1) { out.push_back(std::countr_zero(set)); }
  return out;
}

// "a", "a and b", "a, b and c"
std::string listed(const std::vector<std::string>& parts) {
  std::string out;
  for (std::size_t index = 0; index < parts.size(); ++index) {
    if (index > 0) { out += index + 1 == parts.size() ? " and " : ", "; }
    out += parts[index];
  }
  return out;
}

// Lists the members; three or more in a row become "a to b".
template <class Word>
std::string listed(std::uint64_t set, Word word) {
  const Members members = members_of(set);
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < members.size();) {
    std::size_t end = begin + 1;
    while (end < members.size() && members[end] == members[end - 1] + 1) { ++end; }
    if (end - begin >= 3) {
      parts.push_back(word(members[begin]) + " to " + word(members[end - 1]));
      begin = end;
    } else {
      parts.push_back(word(members[begin++]));
    }
  }
  return listed(parts);
}

std::string two_digits(int number) { return (number < 10 ? "0" : "") + std::to_string(number); }
std::string plain(int number) { return std::to_string(number); }

std::string ordinal(int number) {
  const int last = number % 10;
  const bool teen = number / 10 == 1;
  if (last == 1 && !teen) { return plain(number) + "st"; }
  if (last == 2 && !teen) { return plain(number) + "nd"; }
  if (last == 3 && !teen) { return plain(number) + "rd"; }
  return plain(number) + "th";
}

bool is_one(std::uint64_t set) { return std::popcount(set) == 1; }
int least(std::uint64_t set) { return std::countr_zero(set); }
int greatest(std::uint64_t set) { return 63 - std::countl_zero(set); }
bool is_run(std::uint64_t set) { return greatest(set) - least(set) + 1 == std::popcount(set); }

// n, if the set is 0, n, 2n, … and n divides `length`; otherwise 0.
int even_step(std::uint64_t set, int length) {
  const int count = std::popcount(set);
  if (count == 0 || length % count != 0) { return 0; }
  const int step = length / count;
  for (int value = 0; value < length; value += step) {
    if ((set >> value & 1) == 0) { return 0; }
  }
  return step;
}

std::string every_unit(int step, const std::string& unit) {
  return step == 1 ? "every " + unit : "every " + plain(step) + " " + unit + "s";
}

// "minute 5", "minutes 5, 20 and 50 to 55"
std::string numbered(const std::string& unit, std::uint64_t set) {
  return unit + (is_one(set) ? " " : "s ") + listed(set, plain);
}

class TimeOfDay {
 public:
  explicit TimeOfDay(const CronFields& fields) : fields_(fields) {}

  // Whether the phrase is an interval within a day, so that "every day" is not added.
  [[nodiscard]] bool is_interval() const { return times_of_day_.starts_with("every"); }

  std::string tell() {
    times_of_day_ = is_one(fields_.seconds) && is_few() ? clock_times() : repeated();
    return times_of_day_;
  }

 private:
  [[nodiscard]] bool is_few() const {
    return std::popcount(fields_.hours) * std::popcount(fields_.minutes) <= most_clock_times;
  }

  [[nodiscard]] std::string clock(int hour, int minute) const {
    const int second = least(fields_.seconds);
    return two_digits(hour) + ":" + two_digits(minute) + (second == 0 ? "" : ":" + two_digits(second));
  }

  [[nodiscard]] std::string clock_times() const {
    std::vector<std::string> times;
    for (const int hour : members_of(fields_.hours)) {
      for (const int minute : members_of(fields_.minutes)) { times.push_back(clock(hour, minute)); }
    }
    return "at " + listed(times);
  }

  [[nodiscard]] std::string repeated() const {
    if (fields_.seconds != 1) { return by_second(); }
    const int minutes = even_step(fields_.minutes, 60);
    if (fields_.hours == all_hours) {
      if (minutes == 60) { return "every hour"; }
      return minutes > 0 ? every_unit(minutes, "minute")
                         : "at " + numbered("minute", fields_.minutes) + " of every hour";
    }
    const int hours = even_step(fields_.hours, 24);
    if (minutes == 60 && hours > 0) { return every_unit(hours, "hour"); }
    if (is_run(fields_.hours) && (minutes > 0 || is_one(fields_.minutes))) {
      return (minutes > 0 && minutes < 60 ? every_unit(minutes, "minute") : "every hour") + " from " +
             clock(least(fields_.hours), least(fields_.minutes)) + " to " +
             clock(greatest(fields_.hours), greatest(fields_.minutes));
    }
    return (minutes > 0 && minutes < 60 ? every_unit(minutes, "minute") : "at " + numbered("minute", fields_.minutes)) +
           " of " + hours_text();
  }

  [[nodiscard]] std::string by_second() const {
    const int seconds = even_step(fields_.seconds, 60);
    std::string out =
        seconds > 0 && seconds < 60 ? every_unit(seconds, "second") : "at " + numbered("second", fields_.seconds);
    const bool any_minute = fields_.minutes == all_minutes;
    if (!any_minute) {
      out += " of " + numbered("minute", fields_.minutes);
    } else if (seconds == 0 || seconds == 60) {
      out += " of every minute";
    }
    if (fields_.hours != all_hours) { return out + " of " + hours_text(); }
    return any_minute ? out : out + " of every hour";
  }

  [[nodiscard]] std::string hours_text() const { return numbered("hour", fields_.hours); }

  const CronFields& fields_;
  std::string times_of_day_;
};

class Days {
 public:
  explicit Days(const CronFields& fields) : fields_(fields), any_month_((fields.months & all_months) == all_months) {
    if (!any_month_) { months_ = listed_names(fields_.months, month_names, ""); }
  }

  // Empty if every day of the year matches.
  [[nodiscard]] std::string tell() const {
    const bool any_day = fields_.days == all_days;
    const bool any_weekday = fields_.weekdays == all_weekdays;
    if (fields_.either_day ? any_day || any_weekday : any_day && any_weekday) {
      return any_month_ ? "" : "every day in " + months_;
    }
    if (fields_.either_day) { return by_day() + " and also " + by_weekday(); }
    if (any_day) { return by_weekday(); }
    if (any_weekday) { return by_day(); }
    return by_day() + ", but only " + by_weekday();
  }

 private:
  template <class Names>
  static std::string listed_names(std::uint64_t set, const Names& names, const std::string& ending) {
    std::vector<std::string> parts;
    for (const int member : members_of(set)) {
      parts.push_back(std::string(names[static_cast<std::size_t>(member)]) + ending);
    }
    return listed(parts);
  }

  [[nodiscard]] std::string of_month() const { return " of " + (any_month_ ? "the month" : months_); }

  [[nodiscard]] std::string by_day() const {
    std::vector<std::string> parts;
    if (fields_.days != 0) { parts.push_back("the " + listed(fields_.days, ordinal)); }
    for (const int day : members_of(fields_.nearest_workdays)) {
      parts.push_back("the weekday nearest to the " + ordinal(day));
    }
    for (const int before : members_of(fields_.days_before_last)) {
      parts.push_back(before == 0   ? "the last day"
                      : before == 1 ? "the day before the last"
                                    : "the " + ordinal(before) + " day before the last");
    }
    if (fields_.last_workday) { parts.emplace_back("the last weekday"); }
    return "on " + listed(parts) + of_month();
  }

  [[nodiscard]] std::string by_weekday() const {
    std::vector<std::string> parts;
    if (fields_.weekdays != 0) { parts.push_back("on " + plain_weekdays() + (any_month_ ? "" : " in " + months_)); }
    std::vector<std::string> of;
    for (std::size_t number = 1; number < fields_.nth_weekdays.size(); ++number) {
      for (const int weekday : members_of(fields_.nth_weekdays[number])) {
        of.push_back("the " + ordinal(static_cast<int>(number)) + " " + name_of(weekday));
      }
    }
    for (const int weekday : members_of(fields_.last_weekdays)) { of.push_back("the last " + name_of(weekday)); }
    if (!of.empty()) { parts.push_back("on " + listed(of) + of_month()); }
    return listed(parts);
  }

  static std::string name_of(int weekday) { return std::string(weekday_names[static_cast<std::size_t>(weekday)]); }

  // Listed from Monday to Sunday.
  [[nodiscard]] std::string plain_weekdays() const {
    if (fields_.weekdays == workdays) { return "weekdays"; }
    if (fields_.weekdays == weekend) { return "weekends"; }
    if (fields_.weekdays == all_weekdays) { return "all days of the week"; }
    std::vector<std::string> parts;
    for (int day = 1; day <= 7; ++day) {
      if ((fields_.weekdays >> day % 7 & 1) != 0) { parts.push_back(name_of(day % 7) + "s"); }
    }
    return listed(parts);
  }

  const CronFields& fields_;
  bool any_month_;
  std::string months_;
};

}  // namespace

std::string describe(const Cron& cron, std::string_view zone) {
  if (cron.every > std::chrono::seconds(0)) { return "every " + format_duration(cron.every) + " of real time"; }
  TimeOfDay time(cron.fields);
  std::string out = time.tell();
  const std::string days = Days(cron.fields).tell();
  if (!days.empty()) {
    out += " " + days;
  } else if (!time.is_interval()) {
    out += " every day";
  }
  return out + ", " + std::string(zone);
}

}  // namespace hapax::schedule
