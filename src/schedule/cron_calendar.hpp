// Which times of the wall clock an expression's fields mean, in no zone. Found field by field, so that a search costs
// about as many steps as there are months without a day that is meant.
#pragma once

#include "schedule/cron.hpp"
#include "schedule/zone.hpp"

#include <cstdint>
#include <optional>

namespace hapax::schedule {

// The days of a month that are meant: bit n for the n-th. 0 if there are none.
[[nodiscard]] std::uint32_t days_of(const CronFields& fields, std::chrono::year_month month);

// Whether there is any day that is meant, in any year.
[[nodiscard]] bool ever_fires(const CronFields& fields);

// The first time that is meant at or after `from`, and the last one at or before `to`; none if it would lie outside the
// years in which there are ticks (limits.hpp) by more than the two days that a zone may be away from UTC.
[[nodiscard]] std::optional<Wall> first_from(const CronFields& fields, Wall from);
[[nodiscard]] std::optional<Wall> last_until(const CronFields& fields, Wall to);

// How many times are meant in [from, to).
[[nodiscard]] std::int64_t count_between(const CronFields& fields, Wall from, Wall to);

}  // namespace hapax::schedule
