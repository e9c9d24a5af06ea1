// The brute-force scan: every minute of a window is looked at, as clocks there show it. Slow and plain.
#pragma once

#include "schedule/cron/expression.hpp"

#include <absl/time/time.h>

#include <cstdint>
#include <vector>

namespace hapax::cron_oracle {

struct Window {
  std::int64_t after_s;  // since the epoch; ticks lie after this
  std::int64_t until_s;  // up to and including this
};

// The ticks in a window, from 1973 on: since then all zones are whole minutes away from UTC and shift at whole minutes.
[[nodiscard]] std::vector<std::int64_t> scan(const Expression& expression, absl::TimeZone zone, const Window& window);

// Looks at each day of a full set of years.
[[nodiscard]] bool has_any_day(const Expression& expression);

}  // namespace hapax::cron_oracle
