// The wall clock times that match an expression's fields, without a time zone. A search goes field by field, so it
// takes about one step per month that has no matching day.
#pragma once

#include "schedule/cron.hpp"
#include "schedule/zone.hpp"

#include <cstdint>
#include <optional>

namespace hapax::schedule {

// The matching days of a month: bit n stands for the n-th. 0: none.
[[nodiscard]] std::uint32_t days_of(const CronFields& fields, std::chrono::year_month month);

// Whether any day of any year matches.
[[nodiscard]] bool ever_fires(const CronFields& fields);

// The first matching time at or after `from`, and the last one at or before `to`. The search ends two days outside the
// years of ticks (limits.hpp), which covers every zone's offset from UTC; none: no matching time up to there.
[[nodiscard]] std::optional<Wall> first_from(const CronFields& fields, Wall from);
[[nodiscard]] std::optional<Wall> last_until(const CronFields& fields, Wall to);

// The number of matching times in [from, to).
[[nodiscard]] std::int64_t count_between(const CronFields& fields, Wall from, Wall to);

}  // namespace hapax::schedule
