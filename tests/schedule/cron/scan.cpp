#include "schedule/cron/scan.hpp"

#include <utility>

namespace hapax::cron_oracle {

namespace {

using absl::CivilDay;
using absl::CivilMinute;

// No zone was ever set back by more than a day, so after this run-up the times that clocks have shown before the window
// are known.
constexpr std::int64_t run_up_s = 26 * 3600;

class Scanner {
 public:
  Scanner(const Expression& expression, const Window& window) : expression_(expression), window_(window) {
    for (int hour = 0; hour < 24; ++hour) {
      for (int minute = 0; minute < 60; ++minute) {
        clocks_[static_cast<std::size_t>(hour * 60 + minute)] = expression.means_minute(hour, minute);
      }
    }
  }

  // For one minute from `at` on, clocks have this offset from UTC and show `shown`.
  void minute(std::int64_t at, int offset_s, CivilMinute shown) {
    const std::int64_t number = (at + offset_s) / 60;  // counts the minutes that clocks can show
    if (!begun_) { highest_ = number - 1; }
    begun_ = true;
    if (number <= highest_) { return; }  // shown before
    for (std::int64_t left_out = number - highest_ - 1; left_out > 0; --left_out) {
      if (means(shown - left_out)) { tick(at); }
    }
    if (means(shown)) { seconds(at); }
    highest_ = number;
  }

  std::vector<std::int64_t> ticks;

 private:
  bool means(CivilMinute minute) {
    if (!clocks_[static_cast<std::size_t>(minute.hour() * 60 + minute.minute())]) { return false; }
    if (const CivilDay day(minute); day != known_day_) {
      known_day_ = day;
      known_ = expression_.means_day(day);
    }
    return known_;
  }

  void seconds(std::int64_t at) {
    for (int second = 0; second < 60; ++second) {
      if (expression_.means_second(second)) { tick(at + second); }
    }
  }

  void tick(std::int64_t at) {
    const bool again = !ticks.empty() && ticks.back() == at;
    if (at > window_.after_s && at <= window_.until_s && !again) { ticks.push_back(at); }
  }

  const Expression& expression_;
  const Window& window_;
  std::array<bool, 24 * 60> clocks_ = {};
  std::int64_t highest_ = 0;  // the latest minute shown so far
  CivilDay known_day_;
  bool known_ = false;
  bool begun_ = false;
};

std::vector<std::int64_t> scan_every(std::int64_t period_s, const Window& window) {
  std::vector<std::int64_t> ticks;
  for (std::int64_t at = window.after_s + 1; at <= window.until_s; ++at) {
    if (at % period_s == 0) { ticks.push_back(at); }
  }
  return ticks;
}

}  // namespace

std::vector<std::int64_t> scan(const Expression& expression, absl::TimeZone zone, const Window& window) {
  if (expression.every_s > 0) { return scan_every(expression.every_s, window); }
  Scanner scanner(expression, window);
  const std::int64_t begin = (window.after_s - run_up_s) / 60 * 60;
  for (std::int64_t at = begin; at <= window.until_s; at += 60) {
    const absl::TimeZone::CivilInfo shown = zone.At(absl::FromUnixSeconds(at));
    scanner.minute(at, shown.offset, CivilMinute(shown.cs));
  }
  return std::move(scanner.ticks);
}

bool has_any_day(const Expression& expression) {
  for (CivilDay day(2001, 1, 1); day.year() < 2029; ++day) {
    if (expression.means_day(day)) { return true; }
  }
  return false;
}

}  // namespace hapax::cron_oracle
