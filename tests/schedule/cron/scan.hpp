// The brute-force scan: goes through every minute of a window as clocks show it. Slow and simple.
#pragma once

#include "schedule/cron/expression.hpp"

#include <absl/time/time.h>

#include <cstdint>
#include <vector>

namespace hapax::cron_oracle {

struct Window {
  std::int64_t after_s;  // seconds since the epoch; ticks are later
  std::int64_t until_s;  // seconds since the epoch, inclusive
};

// The ticks in a window, from 1973 on: since then every zone's offset and shifts are whole minutes.
[[nodiscard]] std::vector<std::int64_t> scan(const Expression& expression, absl::TimeZone zone, const Window& window);

// Whether any day of a full cycle of years matches.
[[nodiscard]] bool has_any_day(const Expression& expression);

}  // namespace hapax::cron_oracle
