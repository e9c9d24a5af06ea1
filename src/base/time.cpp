#include <hapax/error.hpp>
#include <hapax/time.hpp>

#include "base/text.hpp"

namespace hapax {

namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// Reads a fixed format from left to right and records whether the text has all of it.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  int digits(std::size_t count) {
    int value = 0;
    for (std::size_t index = 0; index < count; ++index) {
      if (!digit_next()) {
        good_ = false;
        return 0;
      }
      value = value * 10 + take() - '0';
    }
    return value;
  }

  char one_of(std::string_view choices) {
    if (rest_.empty() || choices.find(rest_.front()) == std::string_view::npos) {
      good_ = false;
      return '\0';
    }
    return take();
  }

  // Reads the digits after a point as microseconds; finer digits are dropped.
  std::int64_t fraction() {
    std::int64_t microseconds = 0;
    std::int64_t weight = 100'000;
    good_ = good_ && digit_next();
    while (digit_next()) {
      microseconds += (take() - '0') * weight;
      weight /= 10;
    }
    return microseconds;
  }

  [[nodiscard]] bool next_is(char expected) const { return !rest_.empty() && rest_.front() == expected; }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool done() const { return good_ && rest_.empty(); }

 private:
  [[nodiscard]] bool digit_next() const { return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; }
  char take() {
    const char taken = rest_.front();
    rest_.remove_prefix(1);
    return taken;
  }

  std::string_view rest_;
  bool good_ = true;
};

// Written by hand for speed: every log line has a time.
void append_padded(std::string& out, int value, std::size_t width) {
  const std::string digits = std::to_string(value < 0 ? -value : value);
  if (value < 0) {
    out.push_back('-');
    --width;
  }
  if (digits.size() < width) { out.append(width - digits.size(), '0'); }
  out += digits;
}

[[noreturn]] void refuse(std::string_view text, std::string_view field) {
  throw InvalidArgument(std::string(field), base::quoted(text) +
                                                " is not an instant; expected one with an offset such as "
                                                "\"2026-03-01T09:00:00Z\" or \"2026-03-01T10:00:00+01:00\"");
}

}  // namespace

std::string format_time(Time time) {
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::string out;
  out.reserve(28);
  append_padded(out, static_cast<int>(date.year()), 4);
  append_padded(out.append("-"), static_cast<int>(static_cast<unsigned>(date.month())), 2);
  append_padded(out.append("-"), static_cast<int>(static_cast<unsigned>(date.day())), 2);
  append_padded(out.append("T"), static_cast<int>(clock.hours().count()), 2);
  append_padded(out.append(":"), static_cast<int>(clock.minutes().count()), 2);
  append_padded(out.append(":"), static_cast<int>(clock.seconds().count()), 2);
  if (const auto fraction = static_cast<int>(clock.subseconds().count()); fraction != 0) {
    const bool millis = fraction % 1000 == 0;
    append_padded(out.append("."), millis ? fraction / 1000 : fraction, millis ? 3 : 6);
  }
  out.push_back('Z');
  return out;
}

Time parse_time(std::string_view text, std::string_view field) {
  Reader reader(text);
  const int year = reader.digits(4);
  reader.one_of("-");
  const auto month = static_cast<unsigned>(reader.digits(2));
  reader.one_of("-");
  const auto day = static_cast<unsigned>(reader.digits(2));
  reader.one_of("Tt ");
  const int hour = reader.digits(2);
  reader.one_of(":");
  const int minute = reader.digits(2);
  reader.one_of(":");
  const int second = reader.digits(2);
  std::int64_t fraction = 0;
  if (reader.next_is('.')) {
    reader.one_of(".");
    fraction = reader.fraction();
  }
  const char zone = reader.one_of("Zz+-");
  int offset_hour = 0;
  int offset_minute = 0;
  if (zone == '+' || zone == '-') {
    offset_hour = reader.digits(2);
    reader.one_of(":");
    offset_minute = reader.digits(2);
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!reader.done() || !date.ok() || hour > 23 || minute > 59 || second > 60 || offset_hour > 23 ||
      offset_minute > 59) {
    refuse(text, field);
  }
  const minutes offset = hours(offset_hour) + minutes(offset_minute);
  const auto whole =
      std::chrono::sys_days(date) + hours(hour) + minutes(minute) + seconds(second) - (zone == '-' ? -offset : offset);
  // A leap second is the last second of a UTC day; it counts as the first second of the next day.
  if (second == 60 && std::chrono::floor<days>(whole) != whole) { refuse(text, field); }
  return Time(whole) + Duration(fraction);
}

}  // namespace hapax
