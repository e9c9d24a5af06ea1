// Instants as flags name them.
#pragma once

#include "schedule/zone.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace hapax::wire {

// What a date alone stands for: the first instant of that day, or its last; of a day that is not over, now.
enum class DayEdge : std::uint8_t { begin, end };

struct InstantRules {
  schedule::Zone zone;  // of dates and times without an offset
  Time now;
  DayEdge edge = DayEdge::begin;
};

// 2026-03-01T09:00:00Z and any other RFC 3339 instant; 2026-03-01T09:00 and 2026-03-01 of the zone; now. Throws
// InvalidArgument naming `flag`.
[[nodiscard]] Time parse_instant(const std::string& text, const InstantRules& rules, std::string_view flag);

}  // namespace hapax::wire
