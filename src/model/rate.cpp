#include "model/rate.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace hapax {

namespace {

constexpr std::int64_t most = 1'000'000;  // of count and burst

struct Unit {
  std::string_view name;
  Duration per;
};

// The first name of each unit is the one that format_rate_limit writes.
constexpr std::array units = {
    Unit{"sec", std::chrono::seconds(1)}, Unit{"s", std::chrono::seconds(1)}, Unit{"second", std::chrono::seconds(1)},
    Unit{"min", std::chrono::minutes(1)}, Unit{"m", std::chrono::minutes(1)}, Unit{"minute", std::chrono::minutes(1)},
    Unit{"hour", std::chrono::hours(1)},  Unit{"h", std::chrono::hours(1)},   Unit{"day", std::chrono::days(1)},
    Unit{"d", std::chrono::days(1)},
};

std::optional<std::int64_t> number(std::string_view text, std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return std::nullopt;
  }
  return value;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) { return {}; }
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

RateLimit parse_rate_limit(std::string_view text, std::string_view field) {
  const auto refuse = [&]() {
    return InvalidArgument(std::string(field),
                           base::quoted(text) +
                               " is not a rate; expected a number of starts from 1 to 1000000 "
                               "and sec, min, hour or day, as in \"100/sec\" or \"30/min burst 5\"");
  };
  std::string_view rate = text;
  RateLimit limit;
  if (const auto burst = text.find("burst"); burst != std::string_view::npos) {
    rate = text.substr(0, burst);
    const auto given = number(trimmed(text.substr(burst + 5)), 0);
    if (!given || rate.empty() || rate.back() != ' ') { throw refuse(); }
    limit.burst = *given;
  }
  const auto slash = rate.find('/');
  if (slash == std::string_view::npos) { throw refuse(); }
  const auto count = number(trimmed(rate.substr(0, slash)), 1);
  const std::string_view name = trimmed(rate.substr(slash + 1));
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& one) { return one.name == name; });
  if (!count || unit == units.end()) { throw refuse(); }
  limit.count = *count;
  limit.per = unit->per;
  return limit;
}

std::string format_rate_limit(const RateLimit& limit) {
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& one) { return one.per == limit.per; });
  const std::string per = unit == units.end() ? format_duration(limit.per) : std::string(unit->name);
  return std::to_string(limit.count) + "/" + per +
         (limit.burst > 0 ? " burst " + std::to_string(limit.burst) : std::string());
}

}  // namespace hapax

namespace hapax::model {

namespace {

constexpr double slack_share = 0.02;
constexpr double slack_max_us = 5e6;

double microseconds(Duration duration) { return static_cast<double>(duration.count()); }

double slack_us(const RateLimit& limit) { return std::min(microseconds(limit.per) * slack_share, slack_max_us); }

double interval_us(const RateLimit& limit) {
  return (microseconds(limit.per) + slack_us(limit)) / static_cast<double>(limit.count);
}

double tolerance_us(const RateLimit& limit) {
  return slack_us(limit) + static_cast<double>(limit.burst) * interval_us(limit);
}

// An arrival further ahead than starts can move it was stored before the clock was set back. Such an arrival is
// ignored: it would stop the queue for as long as the clock was set back.
double ahead_us(const RateLimit& limit, const std::optional<Time>& arrival, Time now) {
  if (!arrival) { return 0.0; }
  const double ahead = microseconds(*arrival - now);
  const double furthest = tolerance_us(limit) + static_cast<double>(limits::weight) * interval_us(limit);
  return ahead > furthest ? 0.0 : std::max(0.0, ahead);
}

}  // namespace

RateMeter::RateMeter(const RateLimit& limit, const std::optional<Time>& arrival, Time now)
    : interval_us_(interval_us(limit)),
      tolerance_us_(tolerance_us(limit)),
      ahead_us_(ahead_us(limit, arrival, now)),
      now_(now) {}

Duration debt_carried_over(const RateLimit& limit) { return Duration(static_cast<Duration::rep>(tolerance_us(limit))); }

std::optional<Time> arrival_under(const std::optional<RateLimit>& limit, const std::optional<Time>& arrival, Time now) {
  if (!limit || !arrival) { return std::nullopt; }
  return std::min(*arrival, now + debt_carried_over(*limit));
}

bool RateMeter::allows(int weight) const {
  return ahead_us_ == 0 || ahead_us_ + (weight - 1) * interval_us_ <= tolerance_us_;
}

Duration RateMeter::wait(int weight) const {
  if (allows(weight)) { return Duration{0}; }
  const double enough = std::max(0.0, tolerance_us_ - (weight - 1) * interval_us_);
  return Duration(static_cast<Duration::rep>(std::ceil(ahead_us_ - enough)));
}

int RateMeter::heaviest() const {
  constexpr int any = std::numeric_limits<int>::max();
  if (!allows(1)) { return 0; }
  if (ahead_us_ == 0) { return any; }
  int weight = static_cast<int>(std::min((tolerance_us_ - ahead_us_) / interval_us_ + 1, any - 1.0));
  // Division and multiplication may round to different sides of a whole number.
  while (weight > 1 && !allows(weight)) { weight -= 1; }
  return weight;
}

void RateMeter::start(int weight) { ahead_us_ += weight * interval_us_; }

Time RateMeter::arrival() const { return now_ + Duration(static_cast<Duration::rep>(std::ceil(ahead_us_))); }

}  // namespace hapax::model
