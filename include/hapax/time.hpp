// Durations and instants as hapax uses them everywhere.
//
// An instant is always read from the store's clock (the database server's on PostgreSQL, the machine's on SQLite), in
// whole microseconds of UTC. Callers give hapax durations, never their own "now".
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace hapax {

using Duration = std::chrono::microseconds;
using Time = std::chrono::sys_time<std::chrono::microseconds>;

// Reads "90s" "15m" "12h" "30d" "2w" "1h30m" "500ms" "0". Anything else (no unit, negative, fractions, overflow) throws
// InvalidArgument, naming `field` and showing an example.
Duration parse_duration(std::string_view text, std::string_view field = "duration");

// The shortest spelling parse_duration reads back: 5400 s is "1h30m". Sub-millisecond parts are written as "us".
std::string format_duration(Duration duration);

// Writes "2026-03-01T09:00:00Z", with a fraction only when there is one.
std::string format_time(Time time);

// Reads what format_time writes, and any RFC 3339 instant with an offset. Throws InvalidArgument naming `field`.
Time parse_time(std::string_view text, std::string_view field = "time");

}  // namespace hapax
