// Random cron expressions whose meaning is known without parsing: each is made as sets of values together with its
// spelling. No code is shared with the code under test.
#pragma once

#include "base/random.hpp"

#include <absl/time/civil_time.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace hapax::cron_oracle {

// An item of a field's list.
struct Item {
  enum class Kind { values, last_day, nearest_workday, last_workday, last_weekday, nth_weekday };
  Kind kind = Kind::values;
  std::string text;
  std::array<bool, 60> values = {};
  int day = 0;     // nearest_workday: the day; last_weekday and nth_weekday: the weekday (Sunday is 0)
  int number = 0;  // days before the last one; nth_weekday: n
};

struct Field {
  std::vector<Item> items;
  bool open = false;  // starts with * or is ?

  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool has_value(int value) const;
};

struct Expression {
  Field second, minute, hour, day, month, weekday;
  bool with_seconds = false;
  std::int64_t every_s = 0;  // more than 0: an @every expression without fields

  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool means_day(absl::CivilDay date) const;
  [[nodiscard]] bool means_minute(int hour_of_day, int minute_of_hour) const {
    return hour.has_value(hour_of_day) && minute.has_value(minute_of_hour);
  }
  [[nodiscard]] bool means_second(int second_of_minute) const {
    return with_seconds ? second.has_value(second_of_minute) : second_of_minute == 0;
  }
};

// A uniform random number below `count`.
[[nodiscard]] int pick(base::Random& random, int count);

[[nodiscard]] Expression random_expression(base::Random& random);

}  // namespace hapax::cron_oracle
