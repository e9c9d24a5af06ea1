#include <hapax/time_bucket.hpp>

namespace hapax {

namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::sys_days;
using std::chrono::year_month_day;

void time_bucket_append_padded(std::string& key, int number, std::size_t width) {
  const std::string digits = std::to_string(number);
  if (digits.size() < width) { key.append(width - digits.size(), '0'); }
  key += digits;
}

void append_year(std::string& key, std::chrono::year year) {
  key.push_back('-');
  time_bucket_append_padded(key, static_cast<int>(year), 4);
}

void append_part(std::string& key, int number) {
  key.push_back('-');
  time_bucket_append_padded(key, number, 2);
}

// How many whole units have passed since midnight UTC.
template <class Unit>
int units_since_midnight(Time at) {
  return static_cast<int>(floor<Unit>(at - floor<days>(at)).count());
}

}  // namespace

std::string per_month(std::string_view job, Time at) {
  const year_month_day date(floor<days>(at));
  std::string key(job);
  append_year(key, date.year());
  append_part(key, static_cast<int>(static_cast<unsigned>(date.month())));
  return key;
}

std::string per_day(std::string_view job, Time at) {
  const year_month_day date(floor<days>(at));
  std::string key = per_month(job, at);
  append_part(key, static_cast<int>(static_cast<unsigned>(date.day())));
  return key;
}

std::string per_hour(std::string_view job, Time at) {
  std::string key = per_day(job, at);
  append_part(key, units_since_midnight<std::chrono::hours>(at));
  return key;
}

std::string per_minute(std::string_view job, Time at) {
  std::string key = per_hour(job, at);
  append_part(key, units_since_midnight<std::chrono::minutes>(at) % 60);
  return key;
}

std::string per_iso_week(std::string_view job, Time at) {
  const sys_days day = floor<days>(at);
  const sys_days monday = day - (std::chrono::weekday(day) - std::chrono::Monday);
  const sys_days thursday = monday + days(3);
  const std::chrono::year year = year_month_day(thursday).year();
  const days into_year = thursday - sys_days(year / std::chrono::January / 1);
  std::string key(job);
  append_year(key, year);
  key += "-W";
  time_bucket_append_padded(key, static_cast<int>(into_year / days(7)) + 1, 2);
  return key;
}

}  // namespace hapax
