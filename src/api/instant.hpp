// Points in time as command-line flags spell them.
#pragma once

#include "schedule/zone.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace hapax::api {

// The instant that a date without a time means: the first of that day, or its last; the last instant of today is now.
enum class DayEdge : std::uint8_t { begin, end };

struct InstantRules {
  schedule::Zone zone;  // for dates and times without an offset
  Time now;
  DayEdge edge = DayEdge::begin;
};

// Accepts any RFC 3339 instant such as 2026-03-01T09:00:00Z; 2026-03-01T09:00 and 2026-03-01, in the zone; now. Throws
// InvalidArgument naming `flag`.
[[nodiscard]] Time parse_instant(const std::string& text, const InstantRules& rules, std::string_view flag);

}  // namespace hapax::api
